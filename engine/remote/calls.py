"""Put tool calls together that a server tells in pieces, whatever it leaves out: places, ids, or both."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from engine.errors import InvalidRequest
from engine.messages.parts import ToolCall
from engine.remote.texts import NotUnderstood, text_of
from engine.translatable import Translatable

_MOST_CALLS = 256
_LONGEST_NAME = 60
_MOST_NAMED = 10


@dataclass(slots=True)
class _Call:
    """Hold what was told of one call so far. `index`: its place as the server counts, None where it does not."""

    index: int | None
    id: str = ""
    name: str = ""
    arguments: str = ""

    @property
    def whole(self) -> bool:
        """Return whether its arguments are complete: what follows is another call's."""
        try:
            return isinstance(json.loads(self.arguments), dict)
        except (ValueError, RecursionError):
            return False


@dataclass(frozen=True, slots=True)
class _Delta:
    """Hold one piece of a call. `place`: among the pieces that came with it, None where it came alone."""

    place: int | None
    index: int | None
    id: str
    name: str
    arguments: str
    begins: bool
    """Whether the server marked it as the begin of a call: OpenAI's interface tells the type with it."""

    @property
    def says_nothing(self) -> bool:
        return not (self.id or self.name or self.arguments)


class CallPieces:
    """Gather the calls of one reply."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []

    def __bool__(self) -> bool:
        return bool(self._calls)

    def take(self, told: object) -> int:
        """Take what a piece of a reply tells of calls; return how many letters that is. Raises NotUnderstood."""
        letters = 0
        for delta in _deltas(told):
            letters += len(delta.id) + len(delta.name) + len(delta.arguments)
            if not delta.says_nothing:  # Data of the server's own belong to no call.
                self._add(delta)
        return letters

    def finished(self) -> tuple[tuple[ToolCall, ...], tuple[str, ...]]:
        """Return the calls, and a note on those that are left out since they are not complete."""
        calls, broken = [], list[str]()
        for call in self._calls:
            try:
                calls.append(ToolCall(call.id, call.name, call.arguments))
            except InvalidRequest:
                broken.append(_shown(call.name))
        names = ", ".join([*broken[:_MOST_NAMED], *["…"][: len(broken) - _MOST_NAMED]])
        note = Translatable("A call of {names} was left out: it is not complete.", names=names)
        return tuple(calls), (note,) if broken else ()

    def _add(self, delta: _Delta) -> None:
        call = self._meant(delta)
        if call is None:
            if len(self._calls) >= _MOST_CALLS:
                raise NotUnderstood(Translatable("a tool call is malformed"))
            call = _Call(delta.index)
            self._calls.append(call)
        call.id = call.id or delta.id
        if delta.name.startswith(call.name):  # The first name, the whole name again, or one that has grown.
            call.name = delta.name
        elif delta.name:
            call.name += delta.name
        if delta.arguments and call.arguments == "{}":  # It kept the place of those to come.
            call.arguments = delta.arguments
        elif not (delta.arguments == call.arguments and call.whole):  # Told again as a whole.
            call.arguments += delta.arguments

    def _meant(self, delta: _Delta) -> _Call | None:
        """Return the call that a piece goes on with, None for a new one."""
        known = self._calls if delta.index is None else [each for each in self._calls if each.index == delta.index]
        same = next((each for each in reversed(known) if delta.id and each.id == delta.id), None)
        if same is not None or not known:
            return same
        if not delta.name:  # No call begins without a name.
            counted = delta.index is None and not delta.id and delta.place is not None and delta.place < len(known)
            return known[delta.place if counted and delta.place is not None else -1]
        last = known[-1]
        return None if _is_another(last, delta) else last


def _is_another(last: _Call, delta: _Delta) -> bool:
    """Return whether a piece with a name is of another call than the last one of its place."""
    if delta.id and last.id:
        return True  # Those of the same id were found before.
    if last.name == delta.name or not last.name:
        return last.whole and bool(delta.arguments) and bool(last.name)
    grows = delta.name.startswith(last.name) and not last.arguments
    return not grows and (delta.index is None or delta.begins or bool(last.arguments))


def _deltas(told: object) -> Iterator[_Delta]:
    """Return the pieces of calls that a piece of a reply has. Raises NotUnderstood."""
    if told is None:
        return
    if not isinstance(told, list):
        raise NotUnderstood(Translatable('"tool_calls" is no list'))
    for place, each in enumerate(told):
        if not isinstance(each, dict):
            raise NotUnderstood(Translatable("a tool call is malformed"))
        index, function = each.get("index"), each.get("function")
        index = index if type(index) is int else None
        if index is not None and not 0 <= index < _MOST_CALLS:
            raise NotUnderstood(Translatable("a tool call is malformed"))
        said = function if isinstance(function, dict) else {}
        name, begins = text_of(said.get("name")), isinstance(each.get("type"), str)
        yield _Delta(
            place if len(told) > 1 else None,
            index,
            _id(each.get("id")),
            name,
            _arguments(said.get("arguments")),
            begins,
        )


def _id(value: object) -> str:
    return str(value) if type(value) is int else text_of(value)


def _arguments(value: Any) -> str:
    """Return arguments as JSON text, also those that are told as an object. Raises NotUnderstood."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else text_of(value)


def _shown(name: str) -> str:
    short = name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
    return "".join(letter if letter.isprintable() else " " for letter in short) or "?"
