"""Read the address of a server."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from engine.errors import InvalidRequest
from engine.translatable import Translatable

_SCHEME = re.compile(r"https?:/", re.IGNORECASE)
_VERSION = re.compile(r"/v\d+$")


@dataclass(frozen=True, slots=True)
class Address:
    """Hold a server's address. `root`: without a path of a version; `base`: the beginning of its interface's paths."""

    root: str
    base: str

    def __str__(self) -> str:
        return self.root


def is_server_address(text: object) -> bool:
    """Return True if the name of a target is the address of a server: it begins with http:// or https://."""
    return isinstance(text, str) and _SCHEME.match(text) is not None


def read_address(text: str) -> Address:
    """Return the address that a person wrote: http://host:port, with or without /v1. Raises InvalidRequest."""
    written = text.strip().rstrip("/")
    try:
        parts = urlsplit(written)
        host, _port = parts.hostname or "", parts.port
    except ValueError:
        host, parts = "", urlsplit("")
    if parts.scheme not in ("http", "https") or not host or any(letter.isspace() for letter in written):
        raise InvalidRequest(
            "{address!r} is no address of a server. Write it like http://localhost:8080.", address=text
        )
    if parts.username or parts.password:
        raise InvalidRequest(
            Translatable("An address cannot hold a name or a password. A key is given by itself, not in the address.")
        )
    if parts.query or parts.fragment:
        raise InvalidRequest(Translatable("The address of a server has no ? and no #. Write it without them."))
    path = re.sub(r"/(chat/completions|completions|models)$", "", parts.path.rstrip("/"))
    root = f"{parts.scheme}://{parts.netloc}{_VERSION.sub('', path)}"
    version = _VERSION.search(path)
    return Address(root, root + (version.group() if version else "/v1"))
