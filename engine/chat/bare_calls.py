"""Read a reply that is nothing but calls of offered tools, written as plain JSON: in a fence, in tags, or bare."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any

from engine.messages.parts import ToolCall

_OPENERS = (re.compile(r"```[\w.+-]{0,16}[ \t]*\r?\n\s*"), re.compile(r"<[\w:|-]{1,24}>\s*"))
_OPENING = re.compile(r"`{1,3}|```[\w.+-]{0,16}[ \t]*\r?|<[\w:|-]{0,24}")
"""Wrappings of calls, whole and as far as they have come."""
_FIRST_KEYS = ("name", "function", "type", "id", "arguments", "parameters", "tool", "tool_name", "tool_calls")
_WRAPPED = (
    re.compile(r"```[\w.+-]*[ \t]*\r?\n(.*?)\r?\n?[ \t]*```", re.DOTALL),
    re.compile(r"<([\w:|-]+)>\s*(?P<inner>.*?)\s*</\1>", re.DOTALL),
)
_MOST_LETTERS = 200_000
_decode = json.JSONDecoder().raw_decode


class BareCalls:
    """Hold the beginning of a reply back as long as it may be such calls.

    `names`: of the tools that were offered. Attribute: calls, what the whole reply turned out to be, () for content.
    """

    def __init__(self, names: Collection[str]) -> None:
        self._names = frozenset(names)
        self._held = ""
        self._open = bool(self._names)
        self.calls: tuple[ToolCall, ...] = ()

    @property
    def begun(self) -> bool:
        """Return True if the reply may be in the middle of such a call."""
        return self._open and "{" in self._held

    def take(self, text: str) -> str:
        """Take more content; return the part that is content for sure."""
        if not self._open:
            return text
        self._held += text
        if self._may_be():
            return ""
        return self._release()

    def end(self, *, read: bool = True) -> str:
        """End the content; return the held text, if it is no call. `read` False: it is none in any case."""
        if read and self._open and self._held.strip():
            self.calls = read_calls(self._held, self._names)
        self._held = "" if self.calls else self._held
        return self._release()

    def _release(self) -> str:
        text, self._held, self._open = self._held, "", False
        return text

    def _may_be(self) -> bool:
        """Return True if the held text may be the beginning of calls."""
        left = self._held.lstrip()
        for _ in range(2):  # A fence within tags, or tags within a fence.
            if _OPENING.fullmatch(left):
                return True
            found = next((found for opener in _OPENERS if (found := opener.match(left))), None)
            left = left if found is None else left[found.end() :]
        left = left.removeprefix("[").lstrip()
        if not left.startswith("{"):
            return not left and len(self._held) <= _MOST_LETTERS
        quote, key = left[1:].lstrip()[:1], left[1:].lstrip()[1:]
        begun, whole, _ = key.partition('"')
        fits = begun in _FIRST_KEYS if whole else any(name.startswith(begun) for name in _FIRST_KEYS)
        return (not quote or (quote == '"' and fits)) and len(self._held) <= _MOST_LETTERS


def read_calls(text: str, names: Collection[str]) -> tuple[ToolCall, ...]:
    """Return the calls of a text that consists of nothing else; () for any other text."""
    values: list[Any] = []
    left = _unwrapped(text.strip())
    while left:
        try:
            value, end = _decode(left)
        except (ValueError, RecursionError):
            return ()
        values += value if isinstance(value, list) else [value]
        left = left[end:].lstrip(" \t\r\n,;")
    with suppress(ValueError):
        return tuple(_call(value, names) for value in values)
    return ()


def _unwrapped(text: str) -> str:
    """Return the content of the fences or tags that a text is made of, or the text itself."""
    for pattern in _WRAPPED:
        inner, place = [], 0
        for found in pattern.finditer(text):
            if text[place : found.start()].strip():
                break
            inner.append(found["inner"] if "inner" in found.groupdict() else found[1])
            place = found.end()
        if inner and not text[place:].strip():
            return _unwrapped("\n".join(inner).strip())
    return text


def _call(value: object, names: Collection[str]) -> ToolCall:
    """Return the call that a JSON value says. Raises ValueError."""
    value = value if isinstance(value, Mapping) else {}
    inner = value.get("function")
    function: Mapping[str, Any] = inner if isinstance(inner, Mapping) else value
    name = next(
        (function[key] for key in ("name", "tool_name", "tool", "function") if isinstance(function.get(key), str)), None
    )
    arguments = next((function[key] for key in ("arguments", "parameters", "input") if key in function), None)
    if isinstance(arguments, str):
        arguments = json.loads(arguments or "{}")
    if not isinstance(name, str) or name not in names or not isinstance(arguments, Mapping):
        raise ValueError(name)
    return ToolCall("", name, arguments)
