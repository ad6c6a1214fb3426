"""Counters of a generation and the figures derived from them (words: see the design, section 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class GenerationStats:
    """What happened in one generation, or in several added up.

    Attributes count tokens, rounds or forwards; times are milliseconds of wall clock.
    `emitted = accepted + corrections + bonus_tokens + plain_tokens` and `proposed = accepted + rejected`.
    `proposed_by_position[i]` and `accepted_by_position[i]` count the drafts' tokens at index i.
    `target_forwards` and `draft_forwards` leave the reading of the prompt out.
    `speedup` is measured, None until plain decoding of this target was measured.
    """

    rounds: int = 0
    proposed: int = 0
    accepted: int = 0
    rejected: int = 0
    corrections: int = 0
    bonus_tokens: int = 0
    plain_tokens: int = 0
    n1_fallbacks: int = 0
    overlapped_rounds: int = 0
    target_forwards: int = 0
    draft_forwards: int = 0
    lookahead_sum: int = 0
    draft_ms: float = 0.0
    target_ms: float = 0.0
    prompt_ms: float = 0.0
    total_ms: float = 0.0
    proposed_by_position: tuple[int, ...] = ()
    accepted_by_position: tuple[int, ...] = ()
    plain_tokens_per_second: float | None = None

    @property
    def emitted(self) -> int:
        """Tokens in the result."""
        return self.accepted + self.corrections + self.bonus_tokens + self.plain_tokens

    @property
    def acceptance_rate(self) -> float:
        """Accepted / proposed; 0 where nothing was proposed."""
        return self.accepted / self.proposed if self.proposed else 0.0

    @property
    def mean_length(self) -> float:
        """Emitted tokens per round."""
        return self.emitted / self.rounds if self.rounds else 0.0

    @property
    def average_lookahead(self) -> float:
        """Mean number of tokens proposed per round, as drafted."""
        return self.lookahead_sum / self.rounds if self.rounds else 0.0

    @property
    def acceptance_by_position(self) -> tuple[float, ...]:
        """Accepted / proposed at each index of a draft."""
        pairs = zip(self.accepted_by_position, self.proposed_by_position, strict=True)
        return tuple(accepted / proposed if proposed else 0.0 for accepted, proposed in pairs)

    @property
    def tokens_per_second(self) -> float:
        """Emitted tokens over the time after the prompt was read."""
        seconds = (self.total_ms - self.prompt_ms) / 1000.0
        return self.emitted / seconds if seconds > 0 else 0.0

    @property
    def speedup(self) -> float | None:
        """Measured tokens/s over the measured tokens/s of plain decoding, or None if that was not measured."""
        plain = self.plain_tokens_per_second
        return self.tokens_per_second / plain if plain else None

    @property
    def time_saved_ms(self) -> float | None:
        """Milliseconds that plain decoding would have taken longer, or None if plain decoding was not measured."""
        plain = self.plain_tokens_per_second
        if not plain:
            return None
        return 1000.0 * self.emitted / plain - (self.total_ms - self.prompt_ms)

    def __add__(self, other: GenerationStats) -> GenerationStats:
        """Both together; a plain speed that only one knows is kept."""
        summed: dict[str, Any] = {}
        for field in fields(self):
            mine, theirs = getattr(self, field.name), getattr(other, field.name)
            if field.name == "plain_tokens_per_second":
                summed[field.name] = theirs or mine
            elif isinstance(mine, tuple):
                summed[field.name] = _add_by_position(mine, theirs)
            else:
                summed[field.name] = mine + theirs
        return GenerationStats(**summed)

    def to_dict(self) -> dict[str, Any]:
        """The stable JSON form: every counter and every derived figure."""
        return {
            "rounds": self.rounds,
            "proposed": self.proposed,
            "accepted": self.accepted,
            "rejected": self.rejected,
            "corrections": self.corrections,
            "bonus_tokens": self.bonus_tokens,
            "plain_tokens": self.plain_tokens,
            "emitted": self.emitted,
            "n1_fallbacks": self.n1_fallbacks,
            "overlapped_rounds": self.overlapped_rounds,
            "target_forwards": self.target_forwards,
            "draft_forwards": self.draft_forwards,
            "acceptance_rate": self.acceptance_rate,
            "mean_length": self.mean_length,
            "average_lookahead": self.average_lookahead,
            "acceptance_by_position": list(self.acceptance_by_position),
            "proposed_by_position": list(self.proposed_by_position),
            "accepted_by_position": list(self.accepted_by_position),
            "draft_ms": self.draft_ms,
            "target_ms": self.target_ms,
            "prompt_ms": self.prompt_ms,
            "total_ms": self.total_ms,
            "tokens_per_second": self.tokens_per_second,
            "plain_tokens_per_second": self.plain_tokens_per_second,
            "speedup": self.speedup,
            "time_saved_ms": self.time_saved_ms,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> GenerationStats:
        """The inverse of `to_dict`: derived figures are computed again, unknown keys ignored."""
        known = {field.name for field in fields(cls)}
        values: dict[str, Any] = {
            key: tuple(v) if isinstance(v, list) else v for key, v in data.items() if key in known
        }
        if "lookahead_sum" not in values and "average_lookahead" in data:
            values["lookahead_sum"] = round(data["average_lookahead"] * data.get("rounds", 0))
        return cls(**values)


class StatsRecorder:
    """Counts one generation while it runs; `snapshot()` gives the figures so far."""

    def __init__(self) -> None:
        self._stats = asdict(GenerationStats())
        self._proposed_by_position: list[int] = []
        self._accepted_by_position: list[int] = []

    def add(self, **counts: float) -> None:
        """Add to counters by name."""
        for name, count in counts.items():
            self._stats[name] += count

    def put(self, **values: float | None) -> None:
        """Set values by name."""
        self._stats.update(values)

    def add_draft(self, proposed: int, accepted: int) -> None:
        """Count one verified draft by position: its first `accepted` of `proposed` tokens were kept."""
        missing = proposed - len(self._proposed_by_position)
        if missing > 0:
            self._proposed_by_position.extend([0] * missing)
            self._accepted_by_position.extend([0] * missing)
        for index in range(proposed):
            self._proposed_by_position[index] += 1
        for index in range(accepted):
            self._accepted_by_position[index] += 1

    def snapshot(self) -> GenerationStats:
        """The figures so far."""
        values: dict[str, Any] = dict(self._stats)
        values["proposed_by_position"] = tuple(self._proposed_by_position)
        values["accepted_by_position"] = tuple(self._accepted_by_position)
        return GenerationStats(**values)


def _add_by_position(first: Sequence[int], second: Sequence[int]) -> tuple[int, ...]:
    longest = max(len(first), len(second))
    padded = [tuple(counts) + (0,) * (longest - len(counts)) for counts in (first, second)]
    return tuple(a + b for a, b in zip(*padded, strict=True))
