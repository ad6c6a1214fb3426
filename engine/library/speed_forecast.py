"""Forecast the speed of models from this machine's measured pace: matrices of each format, layers, sizes.

A forward of n tokens goes through all matrices once, which takes longer with n and depends on the format of their
numbers; and they are read from memory, or from the processor's cache where they fit into it. Both overlap, but not
wholly. Each layer costs something besides. A target with a draft is forecast by the rule of the automatic lookahead:
the length that promises the most tokens a second, 0 included.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate, repeat
from operator import mul
from typing import Any

import numpy as np

from engine.formats.gguf.work import ForwardWork

ACCEPTED = 0.7
"""The assumed chance of a draft's token to be accepted in an unknown pair, as in the automatic lookahead."""
_CHAT = 300
"""Tokens that a short chat has in its context."""
_OVERHEAD_MS = 0.15
"""The overhead of a round: choosing the token, its text, the loop."""
_OVERLAP = 3
"""How far computing and reading overlap: the power in which their times add up. On the Xeon where this was fitted,
two models of 0.3 and 1.5 B parameters came within 3 %; the longer time alone promised 9 and 14 % too much."""
_LONGEST = 8
_BITS = {"F32": 32.0, "F16": 16.0, "BF16": 16.0, "Q8_0": 8.5, "Q6_K": 6.6, "Q5_K": 5.5, "Q5_1": 6.0, "Q5_0": 5.5,
         "Q4_K": 4.5, "Q4_1": 5.0, "Q4_0": 4.5, "IQ4_NL": 4.5, "IQ4_XS": 4.25, "Q3_K": 3.44, "Q2_K": 2.63}  # fmt: skip


@dataclass(frozen=True, slots=True)
class MachinePace:
    """Hold a machine's measured speed.

    `matrices`: by format, milliseconds for a megabyte of matrices in a forward of so many tokens; `layer`:
    milliseconds of a layer besides; `memory`: milliseconds for a megabyte that is read, by how many megabytes are read
    over and over.
    """

    matrices: Mapping[str, Mapping[int, float]]
    layer: Mapping[int, float]
    memory: Mapping[int, float]

    def forward_ms(self, work: ForwardWork, tokens: int = 1, other_bytes: int = 0) -> float:
        """Return the milliseconds of a forward of so many tokens in a short chat. An estimate.

        `other_bytes`: those that another model reads in turns with this one.
        """
        computed = sum(size / 1e6 * _at(self._format(name), tokens) for name, size in work.matrices.items())
        cache = _CHAT * work.cache
        pace = _at(self.memory, (work.size + cache + other_bytes) // 10**6)
        read = work.size / 1e6 * pace
        return (
            float(np.linalg.norm((computed, read), _OVERLAP))
            + cache / 1e6 * pace
            + work.layers * _at(self.layer, tokens)
        )

    def _format(self, name: str) -> Mapping[int, float]:
        """Return the times of a format; of one that was not measured, those of the next in bits."""
        if name in self.matrices:
            return self.matrices[name]
        bits = _BITS.get(name, 4.5)
        return self.matrices[min(self.matrices, key=lambda known: abs(_BITS.get(known, 4.5) - bits))]

    def to_json(self) -> dict[str, Any]:
        """Return all of it, for `from_json`."""
        return {"matrices": {name: dict(each) for name, each in self.matrices.items()}, "layer": dict(self.layer),
                "memory": dict(self.memory)}  # fmt: skip

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> MachinePace | None:
        """Read the form of `to_json`; None if it is invalid."""
        try:
            matrices = {str(name): _times(each) for name, each in data["matrices"].items()}
            return cls(matrices, _times(data["layer"]), _times(data["memory"])) if matrices else None
        except (KeyError, TypeError, ValueError, AttributeError):
            return None


@dataclass(frozen=True, slots=True)
class Forecast:
    """Hold tokens a second that are expected: `plain`, and `drafted` with the draft at its best length. Estimates.

    Without a draft both are the same. N-grams and other sources from the text are left out: their gain depends on the
    reply.
    """

    plain: float
    drafted: float


def forecast(pace: MachinePace, target: ForwardWork, draft: ForwardWork | None = None) -> Forecast:
    """Return the speed to expect of a target, and with a draft."""
    plain = pace.forward_ms(target) + _OVERHEAD_MS
    best = 1.0 / plain
    if draft is not None:
        token = pace.forward_ms(draft, 1, target.size) + _OVERHEAD_MS
        kept = list(accumulate(accumulate(repeat(ACCEPTED, _LONGEST), mul), initial=1.0))
        for length in range(1, _LONGEST + 1):
            took = pace.forward_ms(target, length + 1, draft.size) + length * token + _OVERHEAD_MS
            best = max(best, kept[length] / took)
    return Forecast(1000.0 / plain, 1000.0 * best)


def _at(times: Mapping[int, float], tokens: int) -> float:
    """Return the time for so many tokens: measured, or interpolated."""
    return float(np.interp(tokens, list(times), list(times.values())))


def _times(data: Mapping[str, Any]) -> dict[int, float]:
    times = {int(size): float(each) for size, each in data.items()}
    if not times or not all(0.0 <= each < 1e6 for each in times.values()) or min(times) < 1:
        raise ValueError
    return dict(sorted(times.items()))
