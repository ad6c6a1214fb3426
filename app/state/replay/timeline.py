"""Play back a recorded reply, round by round: the visible state at each moment."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import Literal

from app.state.chat.rounds import Guess
from app.state.chat.trace import TokenTrace
from engine import Origin

Pace = float | Literal["real"]
"""Times of the pace at which one can read along, or the times that the rounds really took."""
PACES: tuple[Pace, ...] = (0.25, 1.0, 4.0, "real")
_APPEAR_S, _LOOK_S, _REST_S, _PLAIN_REST_S = 0.11, 0.3, 0.45, 0.12
"""Durations at pace 1: from one ghost to the next, before the target judges, after the round, after a plain one."""
_APART_S, _FADE_S, _DROP_S = 0.04, 0.2, 0.2
"""The longest durations of movements, however slow the pace."""


@dataclass(frozen=True, slots=True)
class ReplayRound:
    """Hold one round.

    Attributes: start and end (indices of its tokens), kept (how many of them the draft guessed), guessed (how many
    guesses the target judged; None: the record does not tell), rejected (those that were not kept), ending (origin of
    the token that the target wrote, None if there is none), milliseconds (None: the record does not tell).
    """

    start: int
    end: int
    kept: int
    guessed: int | None
    rejected: tuple[Guess, ...]
    ending: Origin | None
    milliseconds: float | None

    @property
    def ghosts(self) -> int:
        """Return the number of guesses that are seen."""
        return self.kept + len(self.rejected)


@dataclass(frozen=True, slots=True)
class Scene:
    """Hold the visible state of a round at a moment.

    Attributes: ghosts (guesses that have appeared), filled (kept ones that have their colour, with a fraction), struck
    (0..1: how far the rejected ones have faded; 0 is not judged yet), dropped (0..1: the target's own token), over.
    """

    ghosts: int
    filled: float
    struck: float
    dropped: float
    over: bool = False


class Replay:
    """Hold the rounds of a recorded reply. `plain_ms`: of a token in plain decoding, None if it was not measured."""

    def __init__(self, trace: TokenTrace, title: str = "", plain_ms: float | None = None) -> None:
        self.title, self.plain_ms = title, plain_ms
        self.has_guesses = trace.has_rounds
        self.texts = [trace.text_of(index) for index in range(len(trace))]
        self.origins = [trace.origin(index) for index in range(len(trace))]
        self.rounds = _rounds(trace)
        self._starts = [each.start for each in self.rounds]

    def __len__(self) -> int:
        return len(self.rounds)

    def round_at(self, token: int) -> int:
        """Return the index of the round that wrote this token."""
        return max(bisect_right(self._starts, token) - 1, 0)

    def seconds(self, index: int, pace: Pace) -> float:
        """Return the time for which a round is shown."""
        return self._times(index, pace)[-1]

    def scene(self, index: int, seconds: float, pace: Pace, *, still: bool = False) -> Scene:
        """Return the view of a round so long after its beginning. `still`: nothing moves, states change at once."""
        shown = self.rounds[index]
        appear, judge, strike, drop, end = self._times(index, pace)
        ghosts = shown.ghosts if appear <= 0 else min(int(seconds / appear * shown.ghosts) + 1, shown.ghosts)
        if seconds < judge:
            return Scene(ghosts if shown.ghosts else 0, 0.0, 0.0, 0.0)
        if still:
            return Scene(shown.ghosts, shown.kept, 1.0, 1.0, seconds >= end)
        filled = shown.kept * _share(seconds, judge, strike)
        return Scene(shown.ghosts, filled, _share(seconds, strike, drop), _share(seconds, drop, _drop_end(drop, end)),
                     seconds >= end)  # fmt: skip

    def _times(self, index: int, pace: Pace) -> tuple[float, float, float, float, float]:
        """Return the times at which ghosts are there, the target judges, strikes, writes, and the round ends."""
        shown = self.rounds[index]
        if pace == "real":
            whole = (shown.milliseconds or 0.0) / 1000.0
            first = self._times(index, 1.0)
            if whole >= first[-1]:
                moved = first[3] - first[1]
                judge = max(whole - moved - _DROP_S, 0.0)
                return min(first[0], judge), judge, judge + first[2] - first[1], judge + moved, whole
            share = whole / first[-1] if first[-1] else 0.0
            return first[0] * share, first[1] * share, first[2] * share, first[3] * share, whole
        quick = min(1.0, 1.0 / pace)
        appear = _APPEAR_S / pace * max(shown.ghosts - 1, 0)
        judge = appear + _LOOK_S / pace if shown.ghosts else 0.0
        strike = judge + _APART_S * quick * shown.kept
        drop = strike + (_FADE_S * quick if shown.rejected else 0.0)
        rest = _REST_S if shown.ghosts else _PLAIN_REST_S
        return appear, judge, strike, drop, drop + _DROP_S * quick + rest / pace


def _drop_end(drop: float, end: float) -> float:
    return min(drop + _DROP_S, end)


def _share(now: float, begin: float, end: float) -> float:
    if now >= end:
        return 1.0
    return (now - begin) / (end - begin) if now > begin else 0.0


def _rounds(trace: TokenTrace) -> tuple[ReplayRound, ...]:
    found: list[ReplayRound] = []
    start = 0
    while start < len(trace):
        forced, number = trace.origin(start) == "forced", trace.round_of(start)
        end = start + 1
        while end < len(trace) and trace.round_of(end) == number and (trace.origin(end) == "forced") == forced:
            end += 1
        found.append(_round(trace, start, end, None if forced else number))
        start = end
    return tuple(found)


def _round(trace: TokenTrace, start: int, end: int, number: int | None) -> ReplayRound:
    kept = sum(trace.origin(index) == "accepted" for index in range(start, end))
    last = trace.origin(end - 1)
    ending = None if last == "accepted" else last
    judged = None if number is None else trace.round(number)
    if judged is None:
        return ReplayRound(start, end, kept, None, (), ending, None)
    milliseconds = judged.draft_ms + judged.target_ms
    return ReplayRound(start, end, kept, judged.proposed, judged.rejected, ending, milliseconds)
