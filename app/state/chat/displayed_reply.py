"""Assemble a growing reply's display text: thoughts between their markers, whatever markers the model has."""

from __future__ import annotations

from collections.abc import Iterable

from app.state.chat.messages import Messages
from app.state.chat.thoughts import CLOSING, OPENING
from engine import GenerationResult

Added = Iterable[tuple[str, str]]
"""Additions to a reply: the part, reasoning or content, and its text."""


class DisplayedReply:
    """Hold a growing reply's display text. `text`: the beginning."""

    def __init__(self, text: str = "") -> None:
        # Of a thought that goes on, the end is no end.
        text = text.removesuffix(f"\n{CLOSING}")
        self._pieces = [text] if text else []
        self._thinking = text.rfind(OPENING) > text.rfind(CLOSING)

    @property
    def text(self) -> str:
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    def add(self, added: Added) -> None:
        for channel, text in added:
            if not text:
                continue
            thinks = channel == "reasoning"
            if thinks and not self._thinking:
                gap = "\n\n" if self._pieces else ""
                self._pieces.append(f"{gap}{OPENING}\n")
            elif self._thinking and not thinks:
                self._pieces.append(f"\n{CLOSING}\n\n")
            self._thinking = thinks
            self._pieces.append(text)


def shown_pieces(reply: str, shown: str) -> list[tuple[int, int, int]]:
    """Map the shown parts of a reply: each one's beginning in the shown text and in the reply, its length.

    Reasoning that the engine split off has other markers there.
    """
    if reply == shown:
        return [(0, 0, len(reply))]
    pieces: list[tuple[int, int, int]] = []
    at = begin = 0
    for piece in shown.replace(CLOSING, OPENING.ljust(len(CLOSING), "\0")).split(OPENING):
        text = piece.strip("\0\n ")
        found = reply.find(text, at) if text else -1
        if found >= 0:
            pieces.append((begin + piece.index(text), found, len(text)))
            at = found + len(text)
        begin += len(piece) + len(OPENING)
    return pieces


def shown_until(reply: str, shown: str, place: int) -> str:
    """Return the shown part of the first `place` characters of a reply."""
    if reply == shown:
        return shown[:place]
    end = 0
    for begin, at, length in shown_pieces(reply, shown):
        if at >= place:
            break
        end = begin + min(place - at, length)
    return shown[:end]


def messages_of(result: GenerationResult, before: str = "") -> Messages:
    """Return the parts of a reply beside its text, `before` and the result's: () where they say everything."""
    if not (result.reasoning.strip() or result.content.strip() or result.tool_calls):
        return ()
    if not result.tool_calls and result.content.strip() == (before + result.text).strip():
        return ()
    return (result.message,)
