"""Conclusions of the benchmark of published models: requirements, and auto against the best other way."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.bench.runs import AUTO

Table = Mapping[str, NDArray[np.float64]]
"""By way: a row of tokens and seconds for each turn."""
_SAMPLES, _SPREAD = 1000, (0.05, 0.95)


@dataclass(frozen=True)
class Must:
    """One requirement: its words, its lower bound, and the measured value by set."""

    name: str
    least: float
    measured: Mapping[str, float]

    @property
    def misses(self) -> list[str]:
        """The sets that fall short."""
        return [name for name, value in self.measured.items() if value < self.least]

    @property
    def met(self) -> bool:
        """True if no set falls short; also without any set."""
        return not self.misses


def must_line(must: Must) -> str:
    """Describe a requirement in a line: its lowest set's value, the verdict, the sets that fall short."""
    if not must.measured:
        return f"- {must.name}: no such set"
    misses = f" (below: {', '.join(must.misses)})" if must.misses else ""
    verdict = "met" if must.met else "NOT met"
    return f"- {must.name}: {min(must.measured.values()):.3f}, must {must.least:g}: {verdict}{misses}"


@dataclass(frozen=True)
class Compared:
    """Auto's speed over another way's: of all turns, and the ends of its spread. `other`: the other way."""

    other: str
    ratio: float
    low: float
    high: float


def compare_best(table: Table) -> Compared:
    """Auto over the way that won the turns of the other half; `other` names both winners."""
    count = len(table[AUTO])
    halves = [np.arange(half, count, 2) for half in (0, 1)]
    best = [_best(table, half) for half in reversed(halves)]

    def ratio(turns: NDArray[np.int64]) -> float:
        parts = [turns[turns % 2 == half] for half in (0, 1)]
        found = [_ratio(table, part, way) for part, way in zip(parts, best, strict=True) if len(part)]
        return float(np.exp(np.mean(np.log(found))))

    return _compared("/".join(dict.fromkeys(best)), table, ratio)


def _compared(other: str, table: Table, ratio: Callable[[NDArray[np.int64]], float]) -> Compared:
    count, random = len(table[AUTO]), np.random.default_rng(0)
    samples = [ratio(random.integers(count, size=count)) for _ in range(_SAMPLES)]
    low, high = np.quantile(samples, _SPREAD)
    return Compared(other, ratio(np.arange(count)), float(low), float(high))


def _best(table: Table, turns: NDArray[np.int64]) -> str:
    return max((way for way in table if way != AUTO), key=lambda way: _speed(table[way][turns]))


def _ratio(table: Table, turns: NDArray[np.int64], way: str) -> float:
    return _speed(table[AUTO][turns]) / _speed(table[way][turns])


def _speed(rows: NDArray[np.float64]) -> float:
    tokens, seconds = rows.sum(axis=0)
    return float(tokens / seconds)
