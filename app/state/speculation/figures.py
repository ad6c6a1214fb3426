"""Hold the figures of the Speculation panel at one moment: kept while the reply goes on, and saved as a table."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass, field

from engine import GenerationStats

Points = tuple[list[float], list[float]]
"""x values and y values."""


@dataclass(frozen=True, slots=True)
class TimeSplit:
    """Split the time after the prompt, in milliseconds: waiting for the draft, the target, and all the rest."""

    draft_ms: float = 0.0
    target_ms: float = 0.0
    rest_ms: float = 0.0

    @classmethod
    def of_stats(cls, stats: GenerationStats) -> TimeSplit:
        rest = stats.total_ms - stats.prompt_ms - stats.draft_ms - stats.target_ms
        return cls(stats.draft_ms, stats.target_ms, max(rest, 0.0))

    @property
    def total_ms(self) -> float:
        return self.draft_ms + self.target_ms + self.rest_ms

    def parts(self) -> tuple[tuple[str, float], ...]:
        """Return the parts by name: draft, target, rest."""
        return (("draft", self.draft_ms), ("target", self.target_ms), ("rest", self.rest_ms))


class PositionCounts:
    """Count proposed and accepted tokens by their place in a draft. A round accepts the first ones that it proposed."""

    def __init__(self) -> None:
        self._proposed: list[int] = []
        self._accepted: list[int] = []

    @classmethod
    def of_stats(cls, stats: GenerationStats) -> PositionCounts:
        counts = cls()
        counts._proposed, counts._accepted = list(stats.proposed_by_position), list(stats.accepted_by_position)
        return counts

    def add(self, proposed: int, accepted: int) -> None:
        missing = max(proposed, accepted) - len(self._proposed)
        self._proposed.extend([0] * missing)
        self._accepted.extend([0] * missing)
        for place in range(proposed):
            self._proposed[place] += 1
        for place in range(accepted):
            self._accepted[place] += 1

    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Return (proposed, accepted) at each place, from the first."""
        return tuple(zip(self._proposed, self._accepted, strict=True))


@dataclass(frozen=True, slots=True)
class Figures:
    """Hold all series of the panel.

    `rates` and `smoothed`: round numbers and acceptance rates in per cent; `speeds`: seconds since the prompt was read
    and tokens/s; `plain_speed`: tokens/s of plain decoding of this target, None if it was not measured; `positions`:
    (proposed, accepted) by place in the draft.
    """

    rates: Points = field(default_factory=lambda: ([], []))
    smoothed: Points = field(default_factory=lambda: ([], []))
    speeds: Points = field(default_factory=lambda: ([], []))
    plain_speed: float | None = None
    positions: tuple[tuple[int, int], ...] = ()
    times: TimeSplit = TimeSplit()

    @property
    def empty(self) -> bool:
        """Return True if there is nothing to save."""
        return not (self.rates[0] or self.speeds[0] or self.times.total_ms)

    def to_csv(self) -> str:
        """Return a table with one value a line: series, x, unit of x, value, unit."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(("series", "x", "x_unit", "value", "unit"))
        writer.writerows(self._rows())
        return text.getvalue()

    def _rows(self) -> Iterator[tuple[str, str, str, str, str]]:
        series = (
            ("acceptance_rate", self.rates, "round", "%"),
            ("acceptance_rate_smoothed", self.smoothed, "round", "%"),
            ("tokens_per_second", self.speeds, "s", "tok/s"),
        )
        for name, (xs, ys), x_unit, unit in series:
            for x, y in zip(xs, ys, strict=True):
                yield name, f"{x:g}" if x_unit == "round" else f"{x:.3f}", x_unit, f"{y:.3f}", unit
        if self.plain_speed is not None:
            yield "plain_tokens_per_second", "", "", f"{self.plain_speed:.3f}", "tok/s"
        for place, (proposed, accepted) in enumerate(self.positions, 1):
            yield "proposed_by_position", str(place), "position", str(proposed), "tokens"
            yield "accepted_by_position", str(place), "position", str(accepted), "tokens"
        for name, milliseconds in self.times.parts():
            yield f"{name}_time", "", "", f"{milliseconds:.1f}", "ms"
