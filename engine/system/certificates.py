"""Find the certificates by which servers are trusted."""

from __future__ import annotations

import os
import ssl
from functools import cache

_BUNDLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
"""Other programs' variables for further certificates; OpenSSL reads SSL_CERT_FILE and SSL_CERT_DIR by itself."""


def system_certificates() -> ssl.SSLContext:
    """Return a context that trusts the system's certificates; if it has none at its usual place, certifi's."""
    places = ssl.get_default_verify_paths()
    if places.cafile or places.capath:
        return ssl.create_default_context()
    import certifi  # noqa: PLC0415 - for few systems; it comes with httpx

    return ssl.create_default_context(cafile=certifi.where())


@cache
def trusted(bundle: str | None = None) -> ssl.SSLContext:
    """Return a context that trusts the system's certificates and those of the environment and of `bundle`.

    Raises OSError if a file of them cannot be read.
    """
    context = system_certificates()
    for place in (bundle, *map(os.environ.get, _BUNDLES)):
        if place:
            context.load_verify_locations(**{"capath" if os.path.isdir(place) else "cafile": place})  # noqa: PTH112
    return context
