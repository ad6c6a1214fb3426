"""Put together how a reply is shown while it grows: thoughts between their markers, whatever markers the model has."""

from __future__ import annotations

from collections.abc import Iterable

from app.state.chat.said import Said
from app.state.chat.thoughts import CLOSING, OPENING
from engine import GenerationResult

Added = Iterable[tuple[str, str]]
"""What is added to a reply: the part, reasoning or content, and its text."""


class ShownReply:
    """Hold a growing reply as it is shown. `text`: what there is of it already."""

    def __init__(self, text: str = "") -> None:
        # Of a thought that goes on, the end is no end.
        text = text.removesuffix(f"\n{CLOSING}")
        self._pieces = [text] if text else []
        self._thinking = text.rfind(OPENING) > text.rfind(CLOSING)

    @property
    def text(self) -> str:
        """Return all of it."""
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    def add(self, added: Added) -> None:
        """Add to its parts."""
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


def said_of(result: GenerationResult, before: str = "") -> Said:
    """Return what a reply says beside its text, `before` and that of the result: (), where they say everything."""
    if not (result.reasoning.strip() or result.content.strip() or result.tool_calls):
        return ()
    if not result.tool_calls and result.content.strip() == (before + result.text).strip():
        return ()
    return (result.message,)
