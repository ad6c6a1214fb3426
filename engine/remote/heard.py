"""Put together what a server tells, piece by piece: text, reasoning, tool calls, and the figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.errors import InvalidRequest
from engine.events import Channel, FinishReason
from engine.messages.parts import ToolCall
from engine.translatable import Translatable

Added = tuple[tuple[Channel, str], ...]
_REASONS: Mapping[str, FinishReason] = {"length": "length", "max_tokens": "length"}
_MOST_CALLS = 256
_MOST_LETTERS = 64 * 2**20


class NotUnderstood(Exception):
    """Report a piece that is not as OpenAI's interface says. Its text is the reason."""


@dataclass
class Heard:
    """Hold what was told of one reply.

    Attributes: usage, timings (llama.cpp's), meta (SGLang's), each as the server said it last; ended (its finish reason
    as it said it, None before). `echo`: a message that the reply goes on with, which is left out where it is repeated.
    """

    echo: str = ""

    content: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    usage: dict[str, Any] = field(default_factory=dict)
    timings: dict[str, Any] = field(default_factory=dict)
    meta: dict[str, Any] = field(default_factory=dict)
    ended: str | None = None
    _calls: dict[int, dict[str, str]] = field(default_factory=dict)
    _letters: int = 0
    _echoed: str = ""

    def take(self, piece: object) -> Added:
        """Take one piece; return what it adds to the reasoning and to the content. Raises NotUnderstood."""
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
            told = choice.get("meta_info") or piece.get("meta_info")
            if isinstance(told, dict):
                self.meta |= told
            added += self._choice(choice)
            if isinstance(choice.get("finish_reason"), str):
                self.ended = choice["finish_reason"]
        self._letters += sum(len(text) for _, text in added)
        if self._letters > _MOST_LETTERS:
            raise NotUnderstood(Translatable("it is longer than any reply should be"))
        return tuple(added)

    def _choice(self, choice: dict[str, Any]) -> Added:
        said = choice.get("delta") or choice.get("message") or {}
        if not isinstance(said, dict):
            raise NotUnderstood(Translatable('"delta" is no object'))
        thought = _text(said.get("reasoning_content") or said.get("reasoning"))
        text = _text(said.get("content") if "text" not in choice else choice["text"])
        self._take_calls(said.get("tool_calls"))
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
        if self.echo.startswith(text):
            self.echo, self._echoed = self.echo[len(text) :], self._echoed + text
            return ""
        echo, self.echo = self.echo, ""
        return text[len(echo) :] if text.startswith(echo) else self._echoed + text

    def _take_calls(self, calls: object) -> None:
        if calls is None:
            return
        if not isinstance(calls, list):
            raise NotUnderstood(Translatable('"tool_calls" is no list'))
        for place, told in enumerate(calls):
            function = told.get("function") if isinstance(told, dict) else None
            index = told.get("index", place) if isinstance(told, dict) else None
            if not isinstance(function, dict) or not isinstance(index, int) or not 0 <= index < _MOST_CALLS:
                raise NotUnderstood(Translatable("a tool call is malformed"))
            call = self._calls.setdefault(index, {"id": "", "name": "", "arguments": ""})
            call["id"] = call["id"] or _text(told.get("id"))
            call["name"] += _text(function.get("name"))
            arguments = _text(function.get("arguments"))
            self._letters += len(arguments)
            call["arguments"] += arguments

    @property
    def begun(self) -> bool:
        """Return whether anything of the reply has come."""
        return bool(self.content or self.reasoning or self._calls)

    @property
    def text(self) -> str:
        """Return what the reply says, without its reasoning."""
        return "".join(self.content)

    @property
    def finish_reason(self) -> FinishReason:
        """Return why the reply ended, in the engine's words."""
        return _REASONS.get(self.ended or "", "stop")

    def tool_calls(self) -> tuple[tuple[ToolCall, ...], tuple[str, ...]]:
        """Return the calls, and a note on those that are left out since they are not complete."""
        calls, broken = [], []
        for _, call in sorted(self._calls.items()):
            try:
                calls.append(ToolCall(call["id"], call["name"], call["arguments"]))
            except InvalidRequest:
                broken.append(call["name"])
        note = Translatable("A call of {names} was left out: it is not complete.", names=", ".join(broken))
        return tuple(calls), (note,) if broken else ()


def _text(value: object) -> str:
    """Return a text, also one that is told as a list of parts. Raises NotUnderstood."""
    if value is None:
        return ""
    if isinstance(value, list):
        texts = [part.get("text", "") for part in value if isinstance(part, dict) and part.get("type") == "text"]
        value = "".join(text for text in texts if isinstance(text, str))
    if not isinstance(value, str):
        raise NotUnderstood(Translatable("a text in it is something else"))
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if not value.isascii() else value
