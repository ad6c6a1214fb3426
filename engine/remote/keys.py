"""Keep the keys of servers: in the environment or the system's keyring, and never in a file of ours."""

from __future__ import annotations

import importlib
import os
from typing import Any

ENVIRONMENT = "OUTRIDER_API_KEY"
_SERVICE = "Outrider"


def server_key(address: str | None = None) -> str | None:
    """Return the key for a server: that of the keyring for its address, else that of the environment, else None."""
    kept = None if address is None else _kept(address)
    return kept or os.environ.get(ENVIRONMENT) or None


def keep_server_key(address: str, key: str) -> bool:
    """Keep a key in the system's keyring; "" removes it. False: there is no keyring that can keep it."""
    keyring = _keyring()
    if keyring is None:
        return False
    try:
        if key:
            keyring.set_password(_SERVICE, address, key)
        elif keyring.get_password(_SERVICE, address) is not None:
            keyring.delete_password(_SERVICE, address)
    except Exception:  # noqa: BLE001 - a keyring may be locked, refused or broken in its own ways
        return False
    return True


def _kept(address: str) -> str | None:
    keyring = _keyring()
    try:
        found = None if keyring is None else keyring.get_password(_SERVICE, address)
    except Exception:  # noqa: BLE001 - as above
        return None
    return found if isinstance(found, str) else None


def _keyring() -> Any | None:
    """Return the module `keyring` where it is installed and has a keyring behind it."""
    try:
        keyring: Any = importlib.import_module("keyring")
        backend: Any = keyring.get_keyring()
        return keyring if backend.priority > 0 else None
    except Exception:  # noqa: BLE001 - without a desktop session a keyring may fail in its own ways
        return None
