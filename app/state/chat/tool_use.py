"""Track the tool calls of a reply: those without a result, and the question to a person about them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from app.state.chat.messages import Messages
from engine import Permission, ToolCall

Stage = Literal["asking", "running", "limit", "unknown"]
_MOST_FIELDS = 20
_LONGEST_NAME, _LONGEST_VALUE = 200, 2_000


@dataclass(frozen=True, slots=True)
class ToolField:
    """Hold one argument of a call for display. `cut`: hidden characters; `is_text`: it is no JSON."""

    name: str
    text: str
    cut: int = 0
    is_text: bool = True


@dataclass(frozen=True, slots=True)
class ToolQuestion:
    """Hold the contents of the card below a reply's open calls.

    `stage`: asking (the user decides), running, limit (the maximum of calls is reached: `made`), unknown (no such tool
    is available, so it is not run). `title`, `server`: of the tool; `answers`: the possible ones; `more`: the number
    of arguments that are not shown.
    """

    stage: Stage
    title: str = ""
    server: str = ""
    fields: tuple[ToolField, ...] = ()
    more: int = 0
    answers: tuple[Permission, ...] = ()
    made: int = 0


def open_calls(messages: Messages) -> tuple[ToolCall, ...]:
    """Return the calls of a reply that have no result yet. Results stand in the order of the calls."""
    calls: list[ToolCall] = []
    for message in messages:
        calls += message.tool_calls
        if message.tool_result is not None and calls:
            calls.pop(0)
    return tuple(calls)


def results_in(messages: Messages) -> int:
    """Count the calls of a reply that have a result."""
    return sum(message.tool_result is not None for message in messages)


def fields_of(arguments: Mapping[str, object]) -> tuple[tuple[ToolField, ...], int]:
    """Return the arguments of a call for display, and the number of further ones."""
    shown = [_field(name, value) for name, value in list(arguments.items())[:_MOST_FIELDS]]
    return tuple(shown), max(len(arguments) - _MOST_FIELDS, 0)


def _field(name: str, value: object) -> ToolField:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    cut = max(len(text) - _LONGEST_VALUE, len(name) - _LONGEST_NAME, 0)
    return ToolField(name[:_LONGEST_NAME], text[:_LONGEST_VALUE], cut, isinstance(value, str))
