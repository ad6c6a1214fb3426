"""Validate values of the file of a conversation: each is returned in its stored form, or refused with a reason."""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Mapping
from typing import Any, TypeGuard

from app.state.chat.messages import Messages, messages_from_json
from app.state.conversations.conversation import clean
from app.state.conversations.json_stream import Senseless
from engine import EngineError, Translatable

_LARGEST_TRACE = 16 * 2**20
_DEEPEST = 16
_LAST_DAY = 253_402_300_799  # the end of the year 9999, in seconds since 1970


def is_id(value: object) -> TypeGuard[int]:
    """Return True if a value is a whole number, as ids are."""
    return isinstance(value, int) and not isinstance(value, bool)


def time_in(data: Mapping[str, Any], name: str) -> float:
    """Return a time, in seconds since 1970. Raises Senseless."""
    value = data.get(name)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= _LAST_DAY:
        raise Senseless("“{name}” is not a valid time", name=name)
    return float(value)


def flag_in(data: Mapping[str, Any], name: str) -> bool:
    """Return true or false, false if it is missing. Raises Senseless."""
    value = data.get(name, False)
    if not isinstance(value, bool):
        raise Senseless("“{name}” must be true or false", name=name)
    return value


def text_in(data: Mapping[str, Any], name: str, default: str | None = None) -> str:
    """Return a text; `default`: if it is missing. Raises Senseless."""
    value = data.get(name, default)
    if not isinstance(value, str) or clean(value) != value:
        raise Senseless("“{name}” is not text", name=name)
    return value


def maybe_text_in(data: Mapping[str, Any], name: str) -> str | None:
    """Return a text, or None if it is missing. Raises Senseless."""
    return None if data.get(name) is None else text_in(data, name)


def values_in(data: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    """Return an object, or None if it is missing. Raises Senseless."""
    value = data.get(name)
    if value is None:
        return None
    if not isinstance(value, dict):
        raise Senseless("“{name}” is not an object", name=name)
    check_values(value, name)
    return value


def messages_in(data: Mapping[str, Any]) -> Messages:
    """Read the parts of a message beside its text."""
    if data.get("messages") is None:
        return ()
    check_values(data["messages"], "messages")
    try:
        return messages_from_json(data["messages"])
    except EngineError as error:
        raise Senseless(error.message) from error


def check_values(value: object, name: str) -> None:
    """Check that texts and numbers within a value can be kept. Raises Senseless."""
    level: list[Any] = [value]
    for _ in range(_DEEPEST):
        inner: list[Any] = []
        for each in level:
            if isinstance(each, dict):
                inner += [*each, *each.values()]
            elif isinstance(each, list):
                inner += each
            elif isinstance(each, float) and not math.isfinite(each):
                raise Senseless("a number in “{name}” is too large", name=name)
            elif isinstance(each, str) and clean(each) != each:
                raise Senseless("a text in “{name}” contains invalid characters", name=name)
        level = inner
    if level:
        raise Senseless("“{name}” is nested too deeply", name=name)


def bytes_of(value: object) -> bytes:
    """Return the bytes of a token record. Raises Senseless."""
    try:
        if isinstance(value, str) and len(value) <= 2 * _LARGEST_TRACE:
            return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        pass
    raise Senseless(Translatable("its token record is damaged"))
