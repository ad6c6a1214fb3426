"""Keep the keys of servers: in the environment or the system's keyring, and never in a file of ours.

Each key is one server's: what the environment holds is never sent to two.
"""

from __future__ import annotations

import importlib
import os
from threading import Lock
from typing import Any

from engine.errors import InvalidRequest
from engine.hub.hugging_face import environment_token, hub_address
from engine.remote.address import read_address
from engine.translatable import Translatable

ENVIRONMENT = "OUTRIDER_API_KEY"
ITS_ADDRESS = "OUTRIDER_API_KEY_ADDRESS"
_SERVICE = "Outrider"
_lock = Lock()
_first: dict[str, str] = {}
"""The address to which the key of the environment was sent first, by key: it stays there unless it has its own."""


def server_key(address: str | None = None, *, bound: bool = False) -> str | None:
    """Return the key for a server: that of the keyring for its address, else that of the environment, else None.

    The key of the environment is for the server of OUTRIDER_API_KEY_ADDRESS alone, where that is set; `bound`: only
    where it is. Raises InvalidRequest if that is no address.
    """
    kept = None if address is None else _kept(_root(address))
    given, place = os.environ.get(ENVIRONMENT) or None, os.environ.get(ITS_ADDRESS)
    if kept or given is None:
        return kept or None
    if not place:
        return None if bound else given
    return given if address is None or _same(place, address) else None


def hub_token() -> str | None:
    """Return the token for the hub that models come from: that of the environment, else that of the keyring."""
    return environment_token() or server_key(hub_address(), bound=True)


def keep_hub_token(token: str) -> bool:
    """Store a token for the hub in the system's keyring; "" removes it. False: there is no usable keyring.

    Raises InvalidRequest for what is no token.
    """
    return keep_server_key(_root(hub_address()), token)


def key_to_send(address: str, key: str | None) -> str | None:
    """Return the key that a server is sent, if any: `key`, "" for none; None: the one that is kept for it.

    A key of the environment without an address is sent to the server that is asked first, and to no other one.
    Raises InvalidRequest for a key that none can be.
    """
    if key is not None:
        return check_key(key) or None
    found = server_key(address, bound=True)
    if found is None and (unbound := server_key(address)) is not None:
        with _lock:
            found = unbound if _same(_first.setdefault(unbound, address), address) else None
    return None if found is None else check_key(found) or None


def check_key(key: str) -> str:
    """Return a key without the blanks around it. Raises InvalidRequest for one that cannot be sent."""
    stripped = key.strip()
    if not (stripped.isascii() and stripped.isprintable()):
        raise InvalidRequest(Translatable("A key is one line of ASCII letters, digits and signs. Copy the key again."))
    return stripped


def _same(one: str, other: str) -> bool:
    return str(read_address(one)).casefold() == str(read_address(other)).casefold()


def _root(address: str) -> str:
    """Return an address without its optional parts, as keys are stored by it."""
    try:
        return str(read_address(address))
    except InvalidRequest:
        return address


def keep_server_key(address: str, key: str) -> bool:
    """Store a key in the system's keyring; "" removes it. False: there is no usable keyring.

    Raises InvalidRequest for a key that none can be.
    """
    key = check_key(key)
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
    """Return the module `keyring` if it is installed and has a keyring behind it."""
    try:
        keyring: Any = importlib.import_module("keyring")
        backend: Any = keyring.get_keyring()
        return keyring if backend.priority > 0 else None
    except Exception:  # noqa: BLE001 - without a desktop session a keyring may fail in its own ways
        return None
