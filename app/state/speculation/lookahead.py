"""Describe the lookahead and its reasons, calmly enough to be read while a reply is written."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from statistics import fmean, median_low
from typing import Literal

from app.state.models.selection import MODEL_FREE, Selection
from app.state.models.targets import Server
from engine import RoundEvent

ROUNDS = 8
"""The last rounds, from which the note is derived."""
HOLD_S = 0.5
"""The shortest time that a note stays."""
MOST = 6
"""The number of plain rounds, or of others, after which the note changes."""
_NO_GAIN = 1.005
"""The largest speedup that two decimals show as 1.00×."""

Kind = Literal["ready", "drafting", "trying", "plain", "fixed", "off", "server"]


@dataclass(frozen=True, slots=True)
class LookaheadNote:
    """Describe the lookahead for a reader.

    `kind`: ready (auto, and nothing was written yet), drafting, trying (proposing to see whether it pays), plain
    (nothing pays), fixed (a number was chosen), off (0 was chosen, or there is nothing to propose from), server (a
    server is the target, and drafts by itself).
    `lookahead`: K, typical of the last rounds or chosen; `speedup`: expected, against plain decoding; `from_text`: the
    proposals come from the text so far, not from the draft; `has_draft`: whether a draft is chosen;
    `automatic`: whether the program was to choose it.
    """

    kind: Kind
    lookahead: int = 0
    speedup: float | None = None
    from_text: bool = False
    has_draft: bool = True
    automatic: bool = False


class LookaheadWatch:
    """Follow the rounds of a reply. Attributes: note (the current note)."""

    def __init__(self) -> None:
        self._selection = Selection()
        self._rounds: deque[RoundEvent] = deque(maxlen=ROUNDS)
        self._changed_at: float | None = None
        self.note = LookaheadNote("ready")
        self.clear()

    def choose(self, selection: Selection) -> bool:
        """Set the selection for the next reply; return True if it is new: then the last note is reset."""
        if selection == self._selection:
            return False
        self._selection = selection
        self.clear()
        return True

    def clear(self) -> None:
        self.begin()
        lookahead, has_draft = self._selection.lookahead, bool(self._selection.sources)
        if isinstance(self._selection.target, Server):
            self.note = LookaheadNote("server")
        elif self._selection.drafting == "none":
            self.note = LookaheadNote("off", 0, has_draft=False)
        elif lookahead == "auto":
            self.note = LookaheadNote("ready", has_draft=has_draft)
        elif lookahead and (has_draft or self._selection.drafting in MODEL_FREE):
            self.note = LookaheadNote("fixed", lookahead)
        else:
            automatic = self._selection.drafting == "automatic"
            self.note = LookaheadNote("off", lookahead, has_draft=has_draft, automatic=automatic)

    def begin(self) -> None:
        """Begin a reply. The note on the last one stands until there are new rounds."""
        self._rounds.clear()
        self._changed_at = None

    def take(self, now: float, event: RoundEvent) -> None:
        """Take a round and the time (seconds) at which it was over."""
        if self._selection.lookahead != "auto" or self.note.kind == "server":
            return
        self._rounds.append(event)
        if self._changed_at is None or now - self._changed_at >= HOLD_S:
            self._tell(now)

    def end(self) -> None:
        """End the reply: the last rounds are the last word."""
        if self._rounds:
            self._tell(self._changed_at or 0.0)

    def _tell(self, now: float) -> None:
        note = self._of_rounds()
        if note != self.note or self._changed_at is None:
            self.note, self._changed_at = note, now

    def _of_rounds(self) -> LookaheadNote:
        has_draft = bool(self._selection.sources)
        guided = [event for event in self._rounds if event.speedup is not None]
        if not guided:
            return LookaheadNote("off", has_draft=False)
        drafted = [event for event in guided if event.proposed]
        if not drafted or self._is_plain(guided):
            return LookaheadNote("plain", has_draft=has_draft)
        speedup = fmean(event.speedup or 1.0 for event in drafted)
        return LookaheadNote(
            "drafting" if speedup > _NO_GAIN else "trying",
            median_low(event.proposed for event in drafted),
            round(speedup, 2),
            2 * sum(event.source in MODEL_FREE for event in drafted) > len(drafted),
            has_draft,
        )

    def _is_plain(self, rounds: list[RoundEvent]) -> bool:
        """Return True if the rounds went plain. A rare probe, or a round that only explored, changes nothing."""
        plain = sum(not event.proposed and (event.speedup or 1.0) <= 1.0 for event in rounds)
        if self.note.kind == "plain":
            return len(rounds) - plain < MOST
        if self.note.kind in ("drafting", "trying"):
            return plain >= MOST
        return 2 * plain > len(rounds)
