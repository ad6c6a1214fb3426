"""Part a reply into reasoning, content and tool calls while its text comes."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from engine.chat.reply_grammar import Grammar, ParsedText, Place, SeenCall, beginning_of
from engine.errors import ChatTemplateFailed, InvalidRequest
from engine.events import Channel
from engine.messages.parts import ToolCall
from engine.translatable import Translatable

Delta = tuple[Channel, str]
"""A part of a reply, and the text added to it."""

_SHARE, _CALL_SHARE, _CALL_LETTERS, _AT_ONCE = 256, 64, 32, 16
"""A text is parsed anew when it has grown by this share, within a call at least by so many characters; between two
parts so many times at once. So the cost of a token does not grow with the reply."""


@dataclass(frozen=True, slots=True)
class ReplyParts:
    """Hold the parts of a reply, without the markers between them."""

    reasoning: str = ""
    content: str = ""
    tool_calls: tuple[SeenCall, ...] = ()

    @property
    def complete_calls(self) -> tuple[ToolCall, ...]:
        """Return the calls whose arguments are whole, as parts of a message."""
        calls = []
        for call in self.tool_calls:
            with suppress(InvalidRequest):
                calls.append(ToolCall(call.id, call.name, call.arguments or "{}"))
        return tuple(calls)


class ReplyParser:
    """Split the text of a reply into its parts as it comes. Text that was returned is never taken back.

    Within reasoning and content, text without an end marker of the part belongs to it; only at a marker the whole text
    is parsed again. A possible marker is held back.

    `before`: the beginning of the reply, written earlier; it is in the parts, but in no delta. `tools`: names of the
    offered tools: a reply of nothing but calls to them, as plain JSON, is parsed as calls. `one_call`: at most one
    call. Attribute: notes, for the user, on the parsing.
    """

    def __init__(
        self, grammar: Grammar, before: str = "", *, tools: Collection[str] = (), one_call: bool = False
    ) -> None:
        self._grammar, self._one_call = grammar, one_call
        self._bare = BareCalls(() if before else tools)
        self.notes: tuple[str, ...] = ()
        self._patterns = {place: _pattern(ends) for place, ends in grammar.ends.items()}
        self._firsts = {place: frozenset(end[:1] for end in ends or ()) for place, ends in grammar.ends.items()}
        self._pieces: list[str] = []
        self._length = self._parsed_at = self._released = 0
        self._between = 0
        self._shown = {"reasoning": 0, "content": 0}
        self._grown: dict[str, list[str]] = {"reasoning": [], "content": []}
        self._parsed = ParsedText()
        self._place: Place = ""
        self._held = ""
        self._lost = False
        self._ended = False
        # What the prompt has of the reply already.
        self._first = self._anew()
        if before:
            self.feed(before)

    @property
    def channel(self) -> Channel:
        """Return the current part of the reply, or the last one; content before the first."""
        return self._place or self._parsed.last or "content"

    @property
    def in_thought(self) -> bool:
        """Return True if the reply is in a thought: one that the prompt began and ended is over."""
        over = not self._pieces and self._grammar.begun.rstrip().endswith(self.thought_ends)
        return self.channel == "reasoning" and not over

    @property
    def content(self) -> str:
        """Return the content as far as it was given."""
        return "".join(self._grown["content"])

    @property
    def thought_ends(self) -> tuple[str, ...]:
        """Return the markers that end a thought, as far as they are known."""
        return tuple(self._grammar.ends.get("reasoning") or ())

    @property
    def enough(self) -> bool:
        """Return True if a second call has begun and only one is wanted."""
        return self._one_call and len(self._parsed.calls) > 1

    @property
    def tool_calls(self) -> tuple[SeenCall, ...]:
        """Return the calls that were seen so far; the last one may be growing still."""
        return self._parsed.calls

    def feed(self, text: str) -> list[Delta]:
        """Take more text; return the text that it adds to the parts."""
        if not text:
            return []
        first, self._first = self._first, []
        return first + self._take(text)

    def _take(self, text: str) -> list[Delta]:
        self._pieces.append(text)
        self._length += len(text)
        if self._lost:
            return self._give("content", text)
        if self._place in ("reasoning", "content"):
            return self._go_on(self._place, text)
        if self._length == len(text) and text[:1].isalnum() and self._grammar.plain:
            self._place = "content"
            return self._go_on("content", text)
        return self._anew() if self._length - self._parsed_at >= self._least() else []

    def _least(self) -> int:
        """Return the number of characters by which the text grows before it is parsed anew."""
        if self._place == "tool":
            return max(_CALL_LETTERS, self._length // _CALL_SHARE)
        self._between += 1
        return 1 if self._between <= _AT_ONCE else self._length // _SHARE

    def flush(self, *, ended: bool = True) -> list[Delta]:
        """End the text; return the held text. `ended`: the model ended it, so that half a marker is text."""
        if self._ended:
            return []
        self._ended = True
        return self._flushed(ended=ended) + self._bare_end()

    @property
    def in_bare_call(self) -> bool:
        """Return True if the reply may be in the middle of a call that is written as plain JSON."""
        return self._bare.begun

    def _bare_end(self) -> list[Delta]:
        """End the text of possible plain JSON calls; return it as content if it held none."""
        text = self._bare.end(read=not self._parsed.calls)
        if self._bare.calls:
            names = ", ".join(dict.fromkeys(call.name for call in self._bare.calls))
            self.notes = (
                Translatable("The reply was a call of {names} as plain JSON; it was read as one.", names=names),
            )
        if text:
            self._grown["content"].append(text)
        return [("content", text)] if text else []

    def _flushed(self, *, ended: bool) -> list[Delta]:
        if self._place == "content" and not self._held:  # All of it is in its part already.
            self._place, self._parsed = "", self._parsed._replace(last="content", settled=self._length)
            return []
        deltas = [] if self._lost else self._anew()
        tail = self._text()[self._parsed.settled :]
        last = self._parsed.last
        if ended and not self._lost and last in ("reasoning", "content") and tail:
            ends = self._grammar.ends[last] or ()
            if beginning_of(tail, ends) == len(tail):
                deltas += self._give(last, tail)
        self._place = ""
        return deltas

    def finish(self, *, ended: bool = True) -> ReplyParts:
        """End the text, and return its parts."""
        self.flush(ended=ended)
        bare = tuple(SeenCall(call.id, call.name, call.arguments_json) for call in self._bare.calls)
        calls = self._parsed.calls or bare
        return ReplyParts(
            "".join(self._grown["reasoning"]), "".join(self._grown["content"]), calls[:1] if self._one_call else calls
        )

    def _go_on(self, place: Literal["reasoning", "content"], text: str) -> list[Delta]:
        """Take more text of a part whose ends are known."""
        if not self._held and self._shown[place] and self._firsts[place].isdisjoint(text):
            self._released = self._length
            return self._give(place, text)
        held = self._held + text
        pattern = self._patterns[place]
        if pattern is not None and pattern.search(held):
            return self._anew()
        if place == "reasoning" and not self._shown["reasoning"]:
            # Blanks alone are no thought.
            if held.isspace():
                self._held = held
                return []
            return self._anew()
        kept = beginning_of(held, self._grammar.ends[place] or ())
        self._held, self._released = held[len(held) - kept :], self._length - kept
        return self._give(place, held[: len(held) - kept])

    def _give(self, channel: Literal["reasoning", "content"], text: str) -> list[Delta]:
        if not text:
            return []
        self._shown[channel] += len(text)
        if channel == "content":
            text = self._bare.take(text)
        if text:
            self._grown[channel].append(text)
        return [(channel, text)] if text else []

    def _text(self) -> str:
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    def _anew(self) -> list[Delta]:
        """Part the whole text."""
        text = self._text()
        self._parsed_at = len(text)
        try:
            self._parsed = parsed = self._grammar.parse(text)
        except ChatTemplateFailed:
            return self._lose(self._released)
        deltas = self._grow("reasoning", parsed.reasoning) + self._grow("content", parsed.content)
        if not parsed.whole:
            return deltas + self._lose(parsed.settled)
        self._place, self._held, self._released = parsed.place, "", parsed.settled
        tail = text[parsed.settled :]
        if not self._place and parsed.last in ("reasoning", "content") and tail:
            # Perhaps a marker, and perhaps not: the part goes on where it is none.
            ends = self._grammar.ends[parsed.last] or ()
            if beginning_of(tail, ends) == len(tail):
                self._place, self._held = parsed.last, tail
        if self._place in ("reasoning", "content") and self._grammar.ends[self._place] is None:
            self._place = ""
        if self._place in ("reasoning", "content"):
            self._between = 0
        return deltas

    def _grow(self, channel: Literal["reasoning", "content"], text: str) -> list[Delta]:
        """Return the text of a part beyond the text already returned."""
        return self._give(channel, text[self._shown[channel] :])

    def _lose(self, settled: int) -> list[Delta]:
        """Return the unsettled text as content, and all later text too: the grammar does not fit the reply."""
        self._lost, self._place = True, "content"
        return self._give("content", self._text()[settled:])


def _pattern(ends: Sequence[str] | None) -> re.Pattern[str] | None:
    return re.compile("|".join(map(re.escape, ends))) if ends else None


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
        left = left[left.startswith("{{") :]
        if not left.startswith("{"):
            return not left and len(self._held) <= _MOST_LETTERS
        quote, key = left[1:].lstrip()[:1], left[1:].lstrip()[1:]
        begun, whole, _ = key.partition('"')
        fits = begun in _FIRST_KEYS if whole else any(name.startswith(begun) for name in _FIRST_KEYS)
        return (not quote or (quote == '"' and fits)) and len(self._held) <= _MOST_LETTERS


def read_calls(text: str, names: Collection[str]) -> tuple[ToolCall, ...]:
    """Return the calls of a text that consists of nothing else; () for any other text.

    Braces may be doubled, as the template of Qwen2.5-Coder shows them to its model.
    """
    values: list[Any] = []
    left = _unwrapped(text.strip())
    while left:
        doubled = left.startswith("{{")
        left = left[doubled:]
        try:
            value, end = _decode(left)
        except (ValueError, RecursionError):
            return ()
        values += value if isinstance(value, list) else [value]
        left = left[end:].lstrip(" \t\r\n,;" + "}" * doubled)
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
