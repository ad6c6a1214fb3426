"""Count a generation and derive figures from the counters (words: ARCHITECTURE.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import zip_longest
from typing import Any, Literal

Untold = Literal["prompt", "cached", "tokens", "acceptance", "rounds", "endings", "times"]
UNTOLD: Mapping[Untold, tuple[str, ...]] = {
    "prompt": (),
    "cached": (),
    "tokens": ("emitted", "plain_tokens", "mean_length", "tokens_per_second"),
    "acceptance": ("proposed", "accepted", "rejected", "acceptance_rate"),
    "rounds": (
        "rounds",
        "target_forwards",
        "draft_forwards",
        "mean_length",
        "average_lookahead",
        "overlapped_rounds",
        "n1_fallbacks",
    ),
    "endings": (
        "corrections",
        "bonus_tokens",
        "plain_tokens",
        "forced_tokens",
        "by_method",
        "forwards_by_size",
        "target_ms_by_size",
    ),
    "times": ("draft_ms", "target_ms", "estimated_speedup"),
}
"""Figures that a server may not report, with the keys of the JSON form that are unknown then. `prompt`: its length;
`cached`: how much of it was in the cache; `endings`: how each round ended; `times`: what draft and target took."""
POOR_ACCEPTANCE = 0.3
_ADVISED_FROM = 20
"""Proposals from which on their acceptance is reported."""
_FROM_TEXT = ("ngram", "prediction", "own-texts", "constraint")
"""Sources without a draft that could be another one."""
_ENDINGS = {"correction": "corrections", "bonus": "bonus_tokens", "plain": "plain_tokens"}
_IN_JSON = (
    *("rounds", "proposed", "accepted", "rejected", "corrections", "bonus_tokens", "plain_tokens", "forced_tokens"),
    *("emitted", "n1_fallbacks", "overlapped_rounds", "target_forwards", "draft_forwards", "acceptance_rate"),
    *("mean_length", "average_lookahead", "acceptance_by_position", "proposed_by_position", "accepted_by_position"),
    *("forwards_by_size", "target_ms_by_size", "by_method", "draft_ms", "target_ms", "prompt_ms", "total_ms"),
    *("tokens_per_second", "plain_tokens_per_second", "speedup", "estimated_speedup", "time_saved_ms"),
)
"""Keys of the JSON form, in their order."""
ADVICE = "Only {:.0%} of the proposed tokens were accepted. Choose a smaller lookahead or another draft."


@dataclass(frozen=True, slots=True)
class MethodStats:
    """Hold the rounds in which one method (or source) proposed. Times in milliseconds."""

    name: str
    rounds: int = 0
    proposed: int = 0
    accepted: int = 0
    emitted: int = 0
    draft_ms: float = 0.0
    target_ms: float = 0.0

    @property
    def acceptance_rate(self) -> float:
        """Return accepted / proposed; 0 if nothing was proposed."""
        return self.accepted / self.proposed if self.proposed else 0.0

    def __add__(self, other: MethodStats) -> MethodStats:
        """Return both together, under the name of the first."""
        mine, theirs = asdict(self), asdict(other)
        return MethodStats(self.name, **{key: mine[key] + theirs[key] for key in mine if key != "name"})

    def to_dict(self) -> dict[str, float]:
        """Return the counters and the acceptance rate, without the name."""
        return {key: value for key, value in asdict(self).items() if key != "name"} | {
            "acceptance_rate": self.acceptance_rate
        }


@dataclass(frozen=True, slots=True)
class GenerationStats:
    """Hold the statistics of one generation, or of several added up.

    Attributes count tokens, rounds or forwards; times are milliseconds of wall clock.
    `emitted = accepted + corrections + bonus_tokens + plain_tokens + forced_tokens` and `proposed = accepted +
    rejected`. Forced tokens, such as those that end reasoning early, belong to no round, and count only in times.
    `proposed_by_position[i]` and `accepted_by_position[i]` count the drafts' tokens at index i.
    `target_forwards` and `draft_forwards` exclude the reading of the prompt. `forwards_by_size[n - 1]` counts the
    target's forwards of n tokens, `target_ms_by_size` their time. `draft_ms` is the time that the reply waited for the
    draft. `by_method`: the rounds of each method that proposed, those without a proposal as autoregressive.
    `speedup` is measured, None until plain decoding of this target was measured.
    `untold`: figures that the reply's server did not report: they are 0 here and null in JSON. Its tokens count as
    plain unless they are known to be accepted.
    """

    rounds: int = 0
    proposed: int = 0
    accepted: int = 0
    rejected: int = 0
    corrections: int = 0
    bonus_tokens: int = 0
    plain_tokens: int = 0
    forced_tokens: int = 0
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
    forwards_by_size: tuple[int, ...] = ()
    target_ms_by_size: tuple[float, ...] = ()
    by_method: tuple[MethodStats, ...] = ()
    plain_tokens_per_second: float | None = None
    untold: tuple[Untold, ...] = ()

    @property
    def emitted(self) -> int:
        """Return tokens in the result."""
        return self.accepted + self.corrections + self.bonus_tokens + self.plain_tokens + self.forced_tokens

    @property
    def acceptance_rate(self) -> float:
        """Return accepted / proposed; 0 if nothing was proposed."""
        return self.accepted / self.proposed if self.proposed else 0.0

    @property
    def mean_length(self) -> float:
        """Return the emitted tokens per round, without forced ones."""
        return (self.emitted - self.forced_tokens) / self.rounds if self.rounds else 0.0

    @property
    def average_lookahead(self) -> float:
        """Return the mean number of tokens proposed per round, as drafted."""
        return self.lookahead_sum / self.rounds if self.rounds else 0.0

    @property
    def acceptance_by_position(self) -> tuple[float, ...]:
        """Return accepted / proposed at each index of a draft."""
        pairs = zip(self.accepted_by_position, self.proposed_by_position, strict=True)
        return tuple(accepted / proposed if proposed else 0.0 for accepted, proposed in pairs)

    @property
    def tokens_per_second(self) -> float:
        """Return the emitted tokens over the time after the prompt was read."""
        seconds = (self.total_ms - self.prompt_ms) / 1000.0
        return self.emitted / seconds if seconds > 0 else 0.0

    @property
    def speedup(self) -> float | None:
        """Return measured tokens/s over the measured tokens/s of plain decoding, or None if that was not measured."""
        plain = self.plain_tokens_per_second
        return self.tokens_per_second / plain if plain else None

    @property
    def estimated_speedup(self) -> float | None:
        """Return an estimate from the measured cost of a forward of each size.

        It is None if the cost of one token is unknown.

        E[tokens] / (v(K + 1) + K·c): v(n) is the time of a forward of n tokens and c that of a draft token, both over
        the time of a forward of one token; K is the mean length of the drafts. Source: Leviathan et al. 2023, theorem
        3.8, with the measured curve in place of v = 1.
        """
        drafted = [(n, times) for n, times in enumerate(self.forwards_by_size) if n and times]
        rounds = sum(times for _, times in drafted)
        one = self._one_token_ms()
        if not rounds or not one:
            return None
        forward_ms = sum(self.target_ms_by_size[n] for n, _ in drafted) / rounds
        return (1.0 + self.accepted / rounds) * one / (forward_ms + self.draft_ms / rounds)

    def _one_token_ms(self) -> float | None:
        """Return milliseconds of a forward of one token, here or in plain decoding before."""
        if self.forwards_by_size and self.forwards_by_size[0]:
            return self.target_ms_by_size[0] / self.forwards_by_size[0]
        return 1000.0 / self.plain_tokens_per_second if self.plain_tokens_per_second else None

    @property
    def advice(self) -> str | None:
        """Return advice, in a sentence for a person, if less than 30 % of the proposals were accepted.

        None after too few proposals, and for those from the text itself or from masks.
        """
        if self.proposed < _ADVISED_FROM or self.acceptance_rate >= POOR_ACCEPTANCE:
            return None
        if self.by_method and not any(each.proposed for each in self.by_method if each.name not in _FROM_TEXT):
            return None
        if 0 < self.lookahead_sum < self.proposed:  # Of a tree at most one path can be accepted.
            return None
        return ADVICE.format(self.acceptance_rate)

    @property
    def time_saved_ms(self) -> float | None:
        """Return milliseconds that plain decoding would have taken longer, or None if it was not measured."""
        plain = self.plain_tokens_per_second
        if not plain:
            return None
        return 1000.0 * self.emitted / plain - (self.total_ms - self.prompt_ms)

    def __add__(self, other: GenerationStats) -> GenerationStats:
        """Return both together; a plain speed that only one knows is kept."""
        summed: dict[str, Any] = {}
        for field in fields(self):
            mine, theirs = getattr(self, field.name), getattr(other, field.name)
            if field.name == "untold":
                summed[field.name] = tuple(name for name in UNTOLD if name in (*mine, *theirs))
            elif field.name == "plain_tokens_per_second":
                summed[field.name] = theirs or mine
            elif field.name == "by_method":
                summed[field.name] = _add_by_name(mine, theirs)
            elif isinstance(mine, tuple):
                summed[field.name] = tuple(map(sum, zip_longest(mine, theirs, fillvalue=0)))
            else:
                summed[field.name] = mine + theirs
        return GenerationStats(**summed)

    def to_dict(self) -> dict[str, Any]:
        """Return the stable JSON form: every counter and every derived figure, null where a server did not tell it."""
        data: dict[str, Any] = {name: getattr(self, name) for name in _IN_JSON}
        data = {name: list(value) if isinstance(value, tuple) else value for name, value in data.items()}
        data["by_method"] = {method.name: method.to_dict() for method in self.by_method}
        if self.untold:
            data |= {name: None for group in self.untold for name in UNTOLD[group]} | {"untold": list(self.untold)}
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> GenerationStats:
        """Return the inverse of `to_dict`: derived figures are computed again, unknown keys ignored."""
        known = {field.name for field in fields(cls)}
        values: dict[str, Any] = {
            key: tuple(v) if isinstance(v, list) else v
            for key, v in data.items()
            if key in known and (v is not None or key == "plain_tokens_per_second")
        }
        if "lookahead_sum" not in values and data.get("average_lookahead") is not None:
            values["lookahead_sum"] = round(data["average_lookahead"] * (data.get("rounds") or 0))
        if "by_method" in values:
            counted = {field.name for field in fields(MethodStats)}
            values["by_method"] = tuple(
                MethodStats(name, **{key: count for key, count in counts.items() if key in counted})
                for name, counts in values["by_method"].items()
            )
        return cls(**values)


_NOTHING = asdict(GenerationStats())


class StatsRecorder:
    """Count one generation while it runs; `snapshot()` gives the figures so far."""

    def __init__(self) -> None:
        self._stats = dict(_NOTHING)
        self._drafts: list[list[int]] = []
        self._levels: list[int] = []
        """The numbers of tokens proposed at each depth of trees."""
        self._forwards_by_size: list[int] = []
        self._target_ms_by_size: list[float] = []
        self._by_method: dict[str, list[float]] = {}

    def add(self, **counts: float) -> None:
        """Add to counters by name."""
        for name, count in counts.items():
            self._stats[name] += count

    def put(self, **values: float | None) -> None:
        """Set values by name."""
        self._stats.update(values)

    def add_round(
        self,
        lookahead: int,
        proposed: int,
        accepted: int,
        ending: str | None,
        times: tuple[float, float],
        levels: Sequence[int] | None = None,
    ) -> None:
        """Count one round; `ending`: the kind of its last token, None if it is an accepted one.

        `levels`: a tree's proposed tokens at each depth.
        """
        stats = self._stats
        stats["rounds"] += 1
        stats["target_forwards"] += 1
        stats["proposed"] += proposed
        stats["accepted"] += accepted
        stats["rejected"] += proposed - accepted
        stats["lookahead_sum"] += lookahead
        stats["draft_ms"] += times[0]
        stats["target_ms"] += times[1]
        if ending is not None:
            stats[_ENDINGS[ending]] += 1
        self.add_draft(proposed if levels is None else 0, accepted)
        for depth, count in enumerate(levels or ()):
            while len(self._levels) <= depth:
                self._levels.append(0)
            self._levels[depth] += count

    def add_draft(self, proposed: int, accepted: int) -> None:
        """Count one verified draft by position: its first `accepted` of `proposed` tokens were kept."""
        drafts = self._drafts
        while len(drafts) <= max(proposed, accepted):
            drafts.append([0, 0])
        drafts[proposed][0] += 1
        drafts[accepted][1] += 1

    def add_forward(self, size: int, milliseconds: float) -> None:
        """Count one forward of the target with `size` tokens."""
        while len(self._forwards_by_size) < size:
            self._forwards_by_size.append(0)
            self._target_ms_by_size.append(0.0)
        self._forwards_by_size[size - 1] += 1
        self._target_ms_by_size[size - 1] += milliseconds

    def add_method(self, name: str, proposed: int, accepted: int, emitted: int, times: tuple[float, float]) -> None:
        """Count one round under the method that proposed; `times`: of draft and target in milliseconds."""
        counts = self._by_method.get(name)
        if counts is None:
            counts = self._by_method[name] = [0, 0, 0, 0, 0.0, 0.0]
        counts[0] += 1
        counts[1] += proposed
        counts[2] += accepted
        counts[3] += emitted
        counts[4] += times[0]
        counts[5] += times[1]

    def snapshot(self) -> GenerationStats:
        """Return the figures so far."""
        values: dict[str, Any] = dict(self._stats)
        values["proposed_by_position"], values["accepted_by_position"] = (
            tuple(sum(counts[which] for counts in self._drafts[length:]) for length in range(1, len(self._drafts)))
            for which in (0, 1)
        )
        values["proposed_by_position"] = tuple(
            map(sum, zip_longest(values["proposed_by_position"], self._levels, fillvalue=0))
        )
        missing = len(values["proposed_by_position"]) - len(values["accepted_by_position"])
        values["accepted_by_position"] += (0,) * missing
        values["forwards_by_size"] = tuple(self._forwards_by_size)
        values["target_ms_by_size"] = tuple(self._target_ms_by_size)
        values["by_method"] = tuple(
            MethodStats(name, *map(int, counts[:4]), *counts[4:]) for name, counts in self._by_method.items()
        )
        return GenerationStats(**values)


def _add_by_name(first: Sequence[MethodStats], second: Sequence[MethodStats]) -> tuple[MethodStats, ...]:
    summed = {method.name: method for method in first}
    for method in second:
        summed[method.name] = summed[method.name] + method if method.name in summed else method
    return tuple(summed.values())
