"""Describe the use of the context: the size of a chat's prompt, and the messages that would be dropped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.state.chat.transcript import Entry, Exchange

if TYPE_CHECKING:
    from engine.host import PromptFit

_ROOM = 16
"""One part in so many of a context that is offered stays free for the reply, as the engine keeps it."""


@dataclass(frozen=True, slots=True)
class TokenCount:
    """Hold the tokens counted at one time: of a chat, and of texts beside it."""

    fit: PromptFit
    texts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ContextUse:
    """Hold the tokens used and available, for the conversation on the screen with the typed text.

    `used`: the prompt with the reply so far; `typed`: the question's part of it; `dropped`: number of oldest messages
    that do not fit. `fits` False: the question alone is too long. `kept_free`: reserved for a reply, by dropping the
    oldest messages.
    """

    used: int
    available: int
    typed: int = 0
    dropped: int = 0
    fits: bool = True
    kept_free: int = 0

    @property
    def fraction(self) -> float:
        """Return its filled share, 0..1."""
        return min(self.used / self.available, 1.0) if self.available > 0 else 1.0


def use_of(fit: PromptFit) -> ContextUse:
    return ContextUse(fit.tokens, fit.context_length, fit.typed, fit.dropped_turns, fit.fits, fit.kept_free)


def longer_context(use: ContextUse, most: int) -> int | None:
    """Return the context to load for a message that does not fit: a power of two, or all that a model was trained for.

    None if that helps nothing: `most` tokens are too few as well, or not known (0).
    """
    if use.fits or most <= max(use.used, use.available):
        return None
    length = 1
    while length - length // _ROOM < use.used:
        length *= 2
    return min(length, most)


def last_dropped(entries: Sequence[Entry], dropped: int) -> Exchange | None:
    """Return the last exchange that the model is not shown where the `dropped` oldest messages are left out.

    None if there is none.

    Questions without a reply count nowhere: the model is shown none of them (see Transcript.messages_for).
    """
    left, last = dropped, None
    for entry in entries:
        if left <= 0:
            break
        if isinstance(entry, Exchange) and entry.answered:
            left, last = left - 2, entry
    return last
