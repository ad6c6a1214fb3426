"""Assemble a server's reply piece by piece: text, reasoning, tool calls, and the figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.events import Channel, FinishReason
from engine.messages.parts import ToolCall
from engine.remote.calls import CallPieces
from engine.remote.texts import NotUnderstood, count_of, text_of
from engine.translatable import Translatable

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
