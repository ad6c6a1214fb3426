"""Ask the server once as a program would, and return its answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from engine.cancel import CancelToken
from engine.connect.programs import Interface, ServerPlace
from engine.errors import ServerFailed
from engine.remote.address import read_address
from engine.remote.http import Connection, Patience
from engine.remote.refusals import not_understood
from engine.translatable import Translatable

_QUESTION = "Say hello in one word."
_MOST_TOKENS = 32
_PATHS: Mapping[Interface, str] = {
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "messages": "/v1/messages",
}


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """Hold a server's answer: `text`, after `seconds`; `model`: the name that it reports; `path`: the one requested."""

    path: str
    text: str
    model: str
    seconds: float


def ask_as_program(place: ServerPlace, interface: Interface, *, cancel: CancelToken | None = None) -> RoundTrip:
    """Ask a short question in the form of an interface. Raises InvalidRequest, NotAvailable, ServerFailed."""
    address = read_address(place.root)
    connection = Connection(address, place.key or None, Patience(5.0, 300.0, 120.0))
    began = perf_counter()
    said = connection.read(f"{address.root}{_PATHS[interface]}", cancel or CancelToken(), _body(place, interface))
    try:
        answer = json.loads(said)
        text, model = _text(answer, interface), str(answer.get("model") or "")
    except (ValueError, RecursionError, KeyError, IndexError, TypeError, AttributeError):
        raise _odd(connection) from None
    return RoundTrip(_PATHS[interface], text[:500], model[:100], perf_counter() - began)


def _odd(connection: Connection) -> ServerFailed:
    return not_understood(connection.address, Translatable("the answer is not of the form that was asked for"))


def _body(place: ServerPlace, interface: Interface) -> dict[str, Any]:
    messages = [{"role": "user", "content": _QUESTION}]
    if interface == "responses":
        return {"model": place.model, "input": messages, "max_output_tokens": _MOST_TOKENS, "store": False}
    return {"model": place.model, "messages": messages, "max_tokens": _MOST_TOKENS}


def _text(answer: Any, interface: Interface) -> str:
    """Return the text of an answer, of thoughts where it got no further. Raises KeyError and its like."""
    if interface == "chat":
        message = answer["choices"][0]["message"]
        return str(message.get("content") or message.get("reasoning_content") or "")
    parts = (
        answer["content"]
        if interface == "messages"
        else [part for item in answer["output"] for part in item["content"]]
    )
    return "".join(str(part.get("text") or part.get("thinking") or "") for part in parts)
