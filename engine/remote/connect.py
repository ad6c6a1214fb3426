"""Connect to a server: find its models, and its kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.cancel import CancelToken
from engine.config import SamplingConfig
from engine.errors import InvalidRequest, ServerFailed
from engine.hub.refusals import message_of
from engine.remote.address import read_address
from engine.remote.client import RemoteDecoder
from engine.remote.http import Connection, Patience
from engine.remote.keys import key_to_send
from engine.remote.kinds import UNKNOWN, ServerKind, kind_of
from engine.remote.refusals import not_understood
from engine.translatable import Translatable

_MOST_MODELS = 10_000


@dataclass(frozen=True, slots=True)
class FoundServer:
    """Describe a server: its address without /v1, its models, and its kind, for people."""

    address: str
    models: tuple[str, ...]
    kind: str


def find_server(address: str, *, key: str | None = None, cancel: CancelToken | None = None) -> FoundServer:
    """Ask a server which models it has. Arguments as of `connect_server`.

    Raises InvalidRequest, NotAvailable, ServerFailed, Cancelled.
    """
    connection = _open(address, key, None)
    names, kind = _models(connection, cancel or CancelToken())
    return FoundServer(str(connection.address), names, kind.name)


def _open(address: str, key: str | None, patience: Patience | None) -> Connection:
    place = read_address(address)
    return Connection(place, key_to_send(str(place), key), patience or Patience())


def connect_server(
    address: str,
    model: str | None = None,
    *,
    key: str | None = None,
    sampling: SamplingConfig | None = None,
    cancel: CancelToken | None = None,
    patience: Patience | None = None,
) -> RemoteDecoder:
    """Return a decoder whose replies come from a server with OpenAI's interface.

    `address`: http://host:port, with or without /v1. `model`: its name there; None: the only one. `key`: None:
    that of the keyring or of the environment (OUTRIDER_API_KEY), if any; "": none. Requests the list of models.
    Raises InvalidRequest, NotAvailable, ServerFailed, Cancelled.
    """
    connection = _open(address, key, patience)
    place = connection.address
    names, kind = _models(connection, cancel or CancelToken())
    if model is None and len(names) != 1:
        if not names:
            raise ServerFailed(
                address, "The server at {address} names no model. Say which with --model.", address=str(place)
            )
        raise InvalidRequest(
            "The server at {address} has several models. Choose one: {names}.", address=str(place), names=_listed(names)
        )
    if model is not None and names and model not in names:
        raise InvalidRequest(
            "The server at {address} has no model {model!r}. It has: {names}.",
            address=str(place),
            model=model,
            names=_listed(names),
        )
    return RemoteDecoder(connection, model if model is not None else names[0], names, kind, sampling)


def _listed(names: Sequence[str]) -> str:
    more = Translatable(" and {count} more", count=len(names) - 20) if len(names) > 20 else ""
    return ", ".join(names[:20]) + more


def _models(connection: Connection, cancel: CancelToken) -> tuple[tuple[str, ...], ServerKind]:
    """Return the names of a server's models, and its kind. Raises ServerFailed, Cancelled."""
    address = connection.address
    answer = connection.read_json(f"{address.base}/models", cancel)
    listed = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(listed, list):
        said = message_of(answer)
        raise not_understood(address, said or Translatable("it lists no models"))
    found: list[str] = []
    kind = UNKNOWN
    for entry in listed[:_MOST_MODELS]:
        name = entry.get("id") if isinstance(entry, dict) else None
        if isinstance(name, str) and name and name.isprintable() and len(name) <= 500:
            found.append(name)
            kind = kind if kind is not UNKNOWN else kind_of(entry.get("owned_by"))
    return tuple(dict.fromkeys(found)), kind
