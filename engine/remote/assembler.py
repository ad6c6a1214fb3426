"""Assemble a server's reply piece by piece: text, reasoning, tool calls, and the figures."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.errors import InvalidRequest
from engine.events import Channel, FinishReason
from engine.messages.parts import ToolCall
from engine.translatable import Translatable

_MOST_CALLS = 256
_LONGEST_NAME = 60
_MOST_NAMED = 10
_MOST_CODED = 4
_MOST_LOOKED_AT = 64 * 2**20


@dataclass(slots=True)
class _Call:
    """Collect the pieces of one call. `index`: its place as the server counts, None if it does not.

    `pieces`: of its arguments; `grows`: each of them begins with the one before it, so the last says all.
    """

    index: int | None
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    size: int = 0
    grows: bool = True

    def add(self, arguments: str) -> None:
        """Add a piece of its arguments."""
        if self.pieces == ["{}"]:  # It kept the place of those to come.
            self.pieces, self.size = [], 0
        self.grows = self.grows and (not self.pieces or arguments.startswith(self.pieces[-1]))
        self.pieces.append(arguments)
        self.size += len(arguments)

    @property
    def argument_letters(self) -> int:
        """Return the number of letters of arguments that have come, each once."""
        return len(self.pieces[-1]) if self.grows and self.pieces else self.size

    @property
    def whole(self) -> str:
        """Return its arguments as the text of an object; "" while they are not complete."""
        readings = ["".join(self.pieces), self.pieces[-1] if self.grows and self.pieces else "", _uncoded(self.pieces)]
        return next(filter(None, map(_object, readings)), "")


@dataclass(frozen=True, slots=True)
class _Delta:
    """Hold one piece of a call. `place`: among the pieces that came with it, None if it came alone."""

    place: int | None
    index: int | None
    id: str
    name: str
    arguments: str
    begins: bool
    """True if the server marked it as the begin of a call: OpenAI's interface tells the type with it."""

    @property
    def says_nothing(self) -> bool:
        return not (self.id or self.name or self.arguments)


class CallPieces:
    """Gather the calls of one reply."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._looked_at = 0

    def __bool__(self) -> bool:
        return bool(self._calls)

    def take(self, data: object) -> int:
        """Add the calls in a piece of a reply, and return their length in letters. Raises NotUnderstood."""
        letters, named = 0, list[_Call]()
        for delta in _deltas(data):
            letters += len(delta.id) + len(delta.name) + len(delta.arguments)
            if not delta.says_nothing:  # Data of the server's own belong to no call.
                call = self._add(delta, named)
                named += [call] if delta.name else []
        return letters

    def finished(self) -> tuple[tuple[ToolCall, ...], tuple[str, ...]]:
        """Return the calls, and a note on those that are left out since they are not complete."""
        calls, broken = [], list[str]()
        for call in self._calls:
            try:
                calls.append(ToolCall(call.id, call.name, call.whole or "".join(call.pieces)))
            except InvalidRequest:
                broken.append(_shown(call.name))
        names = ", ".join([*broken[:_MOST_NAMED], *["…"][: len(broken) - _MOST_NAMED]])
        note = Translatable("A call of {names} was left out: it is not complete.", names=names)
        return tuple(calls), (note,) if broken else ()

    def _add(self, delta: _Delta, named: Sequence[_Call]) -> _Call:
        """Add a piece to its call. `named`: those that were named with it."""
        call = self._meant(delta, named)
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
        if delta.arguments and not self._repeats(call, delta):
            call.add(delta.arguments)
        return call

    def _meant(self, delta: _Delta, named: Sequence[_Call]) -> _Call | None:
        """Return the call that a piece goes on with, None for a new one."""
        known = self._calls if delta.index is None else [each for each in self._calls if each.index == delta.index]
        same = next((each for each in reversed(known) if delta.id and each.id == delta.id), None)
        if same is not None or not known:
            return same
        if not delta.name:  # No call begins without a name.
            counted = delta.index is None and not delta.id and delta.place is not None and delta.place < len(known)
            return known[delta.place if counted and delta.place is not None else -1]
        if not delta.id:
            left = [each for each in known if each.name == delta.name and not any(each is other for other in named)]
            again = next((each for each in left if self._says_more(each, delta)), None)
            if again is not None:
                return again
        last = known[-1]
        if any(last is other for other in named):
            return None  # Of two that are named together, each is a call.
        return None if self._is_another(last, delta) else last

    def _says_more(self, call: _Call, delta: _Delta) -> bool:
        """Return True if a piece tells all that is known of the arguments of a call, and perhaps more."""
        grows = bool(call.pieces) and call.grows and delta.arguments.startswith(call.pieces[-1])
        return grows or self._repeats(call, delta)

    def _repeats(self, call: _Call, delta: _Delta) -> bool:
        """Return True if a piece tells the whole arguments of a call again, perhaps with other blanks."""
        arguments = _object(delta.arguments) if 2 * len(delta.arguments) >= call.argument_letters else ""
        whole = self._look_at(call) if arguments else ""
        return bool(whole) and (whole == arguments or json.loads(whole) == json.loads(arguments))

    def _is_another(self, last: _Call, delta: _Delta) -> bool:
        """Return True if a piece with a name is of another call than the last one of its place."""
        if delta.id and last.id:  # Those of the same id were found before.
            return delta.index is None or not last.pieces or bool(self._look_at(last))
        if last.name == delta.name or not last.name:
            return bool(delta.arguments) and bool(last.name) and bool(self._look_at(last))
        grows = delta.name.startswith(last.name) and not last.pieces
        return not grows and (delta.index is None or delta.begins or bool(last.pieces))

    def _look_at(self, call: _Call) -> str:
        """Return the arguments of a call, "" where they are not complete; a server may not have us look for ever."""
        ends = bool(call.pieces) and call.pieces[-1].rstrip().endswith(("}", '"'))
        if not ends or self._looked_at > _MOST_LOOKED_AT:
            return ""
        self._looked_at += call.size
        return call.whole


def _object(text: str) -> str:
    """Return the text of an object, also if it was encoded as JSON once more; "" for anything else."""
    for _again in range(_MOST_CODED):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return ""
        if not isinstance(value, str):
            return text if isinstance(value, dict) else ""
        text = value
    return ""


def _uncoded(pieces: Sequence[str]) -> str:
    """Return pieces that were written as JSON one by one as one text; "" where they were not."""
    texts = []
    for piece in pieces:
        try:
            value = json.loads(piece)
        except (ValueError, RecursionError):
            return ""
        if not isinstance(value, str):
            return ""
        texts.append(value)
    return "".join(texts)


def _deltas(data: object) -> Iterator[_Delta]:
    """Return the pieces of calls that a piece of a reply has. Raises NotUnderstood."""
    if data is None:
        return
    if not isinstance(data, list):
        raise NotUnderstood(Translatable('"tool_calls" is no list'))
    for place, each in enumerate(data):
        if not isinstance(each, dict):
            raise NotUnderstood(Translatable("a tool call is malformed"))
        index, function = each.get("index"), each.get("function")
        index = index if type(index) is int else None
        if index is not None and not 0 <= index < _MOST_CALLS:
            raise NotUnderstood(Translatable("a tool call is malformed"))
        said = function if isinstance(function, dict) else {}
        name, begins = text_of(said.get("name")), isinstance(each.get("type"), str)
        yield _Delta(
            place if len(data) > 1 else None,
            index,
            _id(each.get("id")),
            name,
            _arguments(said.get("arguments")),
            begins,
        )


def _id(value: object) -> str:
    return str(value) if type(value) is int else text_of(value)


def _arguments(value: Any) -> str:
    """Return arguments as JSON text, also those given as an object. Raises NotUnderstood."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else text_of(value)


def _shown(name: str) -> str:
    short = name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
    return "".join(letter if letter.isprintable() else " " for letter in short) or "?"


Added = tuple[tuple[Channel, str], ...]
_REASONS: Mapping[str, FinishReason] = {
    **dict.fromkeys(("length", "max_tokens", "model_length", "max_output_tokens", "incomplete"), "length"),
    **dict.fromkeys(("error", "failed", "abort", "aborted", "cancelled", "canceled", "network_error"), "error"),
}
"""Finish reasons for replies without an end of their own, by the servers' names; anything else is an end."""
_MOST_LETTERS = 64 * 2**20
_PIECE = 16
_META = ("spec_verify_ct", "spec_draft_token_num", "spec_accept_token_num")
"""The entries that are read of SGLang's account of a reply."""


@dataclass
class ReplyAssembler:
    """Collect the events of one reply.

    Attributes: usage, timings (llama.cpp's), meta (SGLang's), each as the server said it last; ended (its finish reason
    as it said it, None before); calls. `echo`: a message that the reply goes on with, left out where it is repeated.
    """

    echo: str = ""

    content: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    usage: dict[str, Any] = field(default_factory=dict)
    timings: dict[str, Any] = field(default_factory=dict)
    meta: dict[str, Any] = field(default_factory=dict)
    ended: str | None = None
    calls: CallPieces = field(default_factory=CallPieces)
    _letters: int = 0

    def take(self, piece: object) -> Added:
        """Take one piece; return its additions to the reasoning and to the content. Raises NotUnderstood."""
        if not isinstance(piece, dict):
            raise NotUnderstood(Translatable("a piece of it is no JSON object"))
        for name in ("usage", "timings"):
            if isinstance(piece.get(name), dict):
                setattr(self, name, piece[name])
        choices = piece.get("choices") or []
        if not isinstance(choices, list) or not all(isinstance(choice, dict) for choice in choices):
            raise NotUnderstood(Translatable('"choices" is no list of objects'))
        added: list[tuple[Channel, str]] = []
        for choice in choices[:1]:
            meta = choice.get("meta_info") or piece.get("meta_info")
            if isinstance(meta, dict):
                self.meta |= {name: meta[name] for name in _META if name in meta}
            added += self._choice(choice)
            if isinstance(choice.get("finish_reason"), str):
                self.ended = choice["finish_reason"]
        # Of many pieces that say little what is kept of each weighs more than their letters.
        self._letters += _PIECE + sum(len(text) + _PIECE for _, text in added)
        if self._letters > _MOST_LETTERS:
            raise NotUnderstood(Translatable("it is longer than any reply should be"))
        return tuple(added)

    def _choice(self, choice: dict[str, Any]) -> Added:
        said = choice.get("delta") or choice.get("message") or {}
        if not isinstance(said, dict):
            raise NotUnderstood(Translatable('"delta" is no object'))
        thought = text_of(said.get("reasoning_content") or said.get("reasoning"))
        text = text_of(said.get("content") if "text" not in choice else choice["text"])
        self._letters += self.calls.take(said.get("tool_calls"))
        added: list[tuple[Channel, str]] = []
        if thought:
            self.reasoning.append(thought)
            added.append(("reasoning", thought))
        if self.echo and text:
            text = self._without_echo(text)
        if text:
            self.content.append(text)
            added.append(("content", text))
        return tuple(added)

    def _without_echo(self, text: str) -> str:
        """Return a text without the message that the reply goes on with, where the server shows that it repeats it.

        It does where the first of its text has more words than the tokens that it says to have written.
        """
        echo, self.echo = self.echo, ""
        written = count_of(self.timings.get("predicted_n"))
        repeats = written is not None and len(echo.split()) > written and text.startswith(echo)
        return text[len(echo) :] if repeats else text

    @property
    def begun(self) -> bool:
        """Return True if anything of the reply has come."""
        return bool(self.content or self.reasoning or self.calls)

    @property
    def text(self) -> str:
        """Return the content of the reply, without its reasoning."""
        return "".join(self.content)

    @property
    def finish_reason(self) -> FinishReason:
        """Return the finish reason, in the engine's words."""
        return _REASONS.get(self.ended or "", "stop")

    def tool_calls(self) -> tuple[tuple[ToolCall, ...], tuple[str, ...]]:
        """Return the calls, and a note on those that are left out since they are not complete."""
        return self.calls.finished()


_MOST_COUNT = 2**53


class NotUnderstood(Exception):
    """Report a piece that is not as OpenAI's interface says. Its text is the reason."""


def text_of(value: object) -> str:
    """Return a text, also one given as a list of parts; '' for None. Raises NotUnderstood."""
    if value is None:
        return ""
    if isinstance(value, list):
        texts = [part.get("text", "") for part in value if isinstance(part, dict) and part.get("type") == "text"]
        value = "".join(text for text in texts if isinstance(text, str))
    if not isinstance(value, str):
        raise NotUnderstood(Translatable("a text in it is something else"))
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if not value.isascii() else value


def count_of(value: object) -> int | None:
    """Return a whole number that counts something; None for anything else, and for impossible counts."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _MOST_COUNT:
        return None
    return int(value) if value == int(value) else None
