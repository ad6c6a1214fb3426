"""How full the context is: what the model would read of a conversation, and what it would be shown no more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.state.transcript import Entry, Exchange
from engine import PromptFit


@dataclass(frozen=True, slots=True)
class TokenCount:
    """What was counted at one time: a conversation, and texts beside it (their tokens)."""

    fit: PromptFit
    texts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ContextUse:
    """Tokens used of those available, for the conversation on the screen with what is typed.

    `used` is what the model reads, with the reply as far as it is written; `typed` the part of the question; `dropped`
    the oldest messages that it would not be shown. `fits` False: the question alone is too long.
    """

    used: int
    available: int
    typed: int = 0
    dropped: int = 0
    fits: bool = True

    @property
    def fraction(self) -> float:
        """How full it is, 0..1."""
        return min(self.used / self.available, 1.0) if self.available > 0 else 1.0


def use_of(fit: PromptFit) -> ContextUse:
    """What the meter shows of a count."""
    return ContextUse(fit.tokens, fit.context_length, fit.typed, fit.dropped_turns, fit.fits)


def first_read(entries: Sequence[Entry], dropped: int) -> Exchange | None:
    """The first exchange that the model reads where it is not shown the `dropped` oldest messages. None: all of them.

    Where it reads nothing of what is there, that is the last one, which is being answered or was last.
    """
    if dropped <= 0:
        return None
    left = dropped
    last: Exchange | None = None
    for entry in entries:
        if not isinstance(entry, Exchange):
            continue
        last = entry
        if left <= 0:
            return entry
        left -= 2 if entry.answered else 0
    return last
