"""Stands in for `engine.measure_ways`: gives the figures that it is told to, at the speed that it is told."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine import Cancelled, CancelToken, Equality, ModelFacts, SamplingConfig, Spread, WayFigures, WaysReport

MACHINE = {
    "processor": "A processor",
    "cores": 2,
    "memory_gib": 8.0,
    "system": "A system",
    "python": "3.11",
    "outrider": "0.1.0",
    "libraries": {"llama-cpp-python": "0.3"},
}


def spread(median: float, values: int = 5, width: float = 0.02) -> Spread:
    """A spread around a median."""
    low, high, least, most = (median * (1.0 + step * width) for step in (-1, 1, -2, 2))
    return Spread(median, low, high, least, most, values)


def way(name: str, speed: float | None, speedup: float = 1.0, **changes: Any) -> WayFigures:
    measured = speed is not None
    values: dict[str, Any] = {
        "name": name,
        "replies": 5 if measured else 0,
        "tokens_per_second": None if speed is None else spread(speed),
        "speedup": spread(speedup) if measured else None,
        "acceptance_rate": None if name == "plain" else 0.72,
        "mean_length": None if name == "plain" else 3.1,
        "average_lookahead": None if name == "plain" else 4.0,
        "first_token_ms": None,
        "tokens": (96,),
        "equality": (Equality("same", 96, 96),) * 5 if measured else (),
    }
    return WayFigures(**{**values, **changes})


def report(*ways: WayFigures, **changes: Any) -> WaysReport:
    values: dict[str, Any] = {
        "ways": ways,
        "best_fixed": None,
        "not_told_apart": (),
        "target": ModelFacts("big", 8_200_000, 1, "cpu"),
        "sources": (ModelFacts("small", 795_000, 1, "cpu"),),
        "sampling": SamplingConfig(),
        "prompt_tokens": 13,
        "repeats": 5,
        "max_tokens": 96,
        "partial": False,
        "other_programs": 0.0,
        "unsteady": 0.01,
        "notes": (),
        "machine": MACHINE,
    }
    return WaysReport(**{**values, **changes})


@dataclass
class Now:
    """What the engine's WaysProgress tells."""

    stage: str
    done: int
    total: int
    seconds_left: float | None
    report: WaysReport


@dataclass
class ScriptedCompare:
    """Measures `steps` replies of `step_s` seconds; `speeds`: tokens/s by way. `errors` are raised, one a call."""

    speeds: Mapping[str, float] = field(default_factory=dict)
    steps: int = 20
    step_s: float = 0.0
    errors: list[Exception] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)

    def __call__(
        self,
        decoder: Any,
        prompts: Sequence[str],
        ways: Sequence[int | str],
        *,
        cancel: CancelToken,
        progress: Any,
        **options: Any,
    ) -> WaysReport:
        self.asked.append({"prompts": list(prompts), "ways": tuple(ways), "corpus": decoder.corpus, **options})
        if self.errors:
            raise self.errors.pop(0)
        names = ["plain", *map(str, ways)]
        for done in range(self.steps + 1):
            partial = self._report(names, done, partial=done < self.steps)
            heard = progress(Now("measuring", done, self.steps, 1.0, partial))
            if heard is False or cancel.cancelled:
                cancel.clear()
                if not done:
                    raise Cancelled
                return partial
            time.sleep(self.step_s)
        return self._report(names, self.steps, partial=False)

    def _report(self, names: Sequence[str], done: int, *, partial: bool) -> WaysReport:
        """As if one way after the other were measured."""
        known = names if done >= self.steps else names[: 1 + done * len(names) // (self.steps + 1)]
        plain = self.speeds.get("plain", 10.0)
        rows = []
        for name in names:
            speed = self.speeds.get(name, 12.0 if name != "plain" else plain)
            rows.append(way(name, speed if name in known and done else None, speed / plain))
        fixed = {row.name: row for row in rows if row.name != "auto" and row.replies}
        best = max(fixed, key=lambda name: fixed[name].speedup.median, default=None)  # type: ignore[union-attr]
        return report(*rows, partial=partial, best_fixed=best if len(fixed) > 1 else None)
