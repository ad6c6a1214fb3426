"""Hold a race: two ways of decoding write the same text, each with its clock."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RaceMark:
    """Report a token of a lane (0: plain, 1: speculative): seconds since its start, its text, tokens so far."""

    lane: int
    seconds: float
    text: str
    tokens: int
    over: bool = False


class Lane:
    """Play back the text of one way by its recorded times. Attributes: seconds (its clock), tokens, over."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.tokens = 0
        self.over = False
        self._times: list[float] = []
        self._ends: list[int] = []
        self._text = ""

    def take(self, mark: RaceMark) -> None:
        """Take a token, or the end."""
        self.seconds, self.tokens, self.over = mark.seconds, mark.tokens, mark.over
        self._text += mark.text
        self._times.append(mark.seconds)
        self._ends.append(len(self._text))

    def text(self, seconds: float | None = None) -> str:
        """Return the text written by then; None: all by now."""
        if seconds is None:
            return self._text
        place = bisect_right(self._times, seconds)
        return self._text[: self._ends[place - 1]] if place else ""

    @property
    def speed(self) -> float | None:
        """Return tokens/s; None if there are none."""
        return self.tokens / self.seconds if self.tokens and self.seconds > 0.0 else None

    @property
    def times(self) -> list[float]:
        return list(self._times)

    def clock(self, seconds: float | None = None) -> float:
        """Return its clock at that time: it stands still once the text is complete."""
        return self.seconds if seconds is None else min(seconds, self.seconds)


class Race:
    """Hold both lanes. Attribute: lanes (plain, speculative)."""

    def __init__(self) -> None:
        self.lanes = (Lane(), Lane())

    def take(self, mark: RaceMark) -> None:
        self.lanes[mark.lane].take(mark)

    @property
    def started(self) -> bool:
        return self.lanes[0].tokens > 0

    @property
    def over(self) -> bool:
        """Return True if both are complete."""
        return all(lane.over for lane in self.lanes)

    @property
    def seconds(self) -> float:
        """Return the time of the slower one."""
        return max(lane.seconds for lane in self.lanes)

    @property
    def identical(self) -> bool:
        return self.over and self.lanes[0].text() == self.lanes[1].text()

    @property
    def speedup(self) -> float | None:
        """Return the speedup of the speculative one, in tokens/s; None before both are complete."""
        plain, other = (lane.speed for lane in self.lanes)
        return other / plain if self.over and plain and other else None

    @property
    def faster(self) -> int | None:
        """Return the lane that was faster: by its clock for the same text, else by tokens/s; None until both are."""
        if self.speedup is None:
            return None
        plain, other = self.lanes
        ahead = other.seconds < plain.seconds if self.identical else self.speedup > 1.0
        return int(ahead)

    def moments(self, least_s: float = 0.066) -> list[float]:
        """Return the times at which a picture of the race changes, at least so far apart, and its end."""
        found = [0.0]
        for seconds in sorted(time for lane in self.lanes for time in lane.times):
            if seconds - found[-1] >= least_s:
                found.append(seconds)
        if self.seconds > found[-1]:
            found.append(self.seconds)
        return found
