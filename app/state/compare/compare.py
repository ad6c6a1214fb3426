"""Hold the proof of the gain, for Compare and the lookahead sweep: the request, the progress and the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from app.state.compare.race import Race
from app.state.models.selection import Loaded, Lookahead
from app.state.models.targets import Server

if TYPE_CHECKING:
    from engine import Equality, Spread, WayFigures, WaysReport

CompareKind = Literal["compare", "sweep"]
Status = Literal[
    "idle",
    "waiting",
    "asking",
    "loading",
    "racing",
    "calibrating",
    "warming up",
    "measuring",
    "comparing",
    "done",
    "cancelled",
    "failed",
]
Way = int | Literal["auto"]
PLAIN, AUTO, SERVER = "plain", "auto", "server"
SWEEP_MOST = 16
ENOUGH = 3
"""The fewest turns from which a faster way is named."""
_WARM_TOKENS = 8
"""The typical length of a reply in the warm-up, in tokens, by which its share of the work is estimated."""
_BUSY, _UNSTEADY = 0.05, 0.15


@dataclass(frozen=True, slots=True)
class ComparedModels:
    """Name the pair that would be measured now. `target`, `draft`, `server` "": none is chosen."""

    target: str
    draft: str
    lookahead: Lookahead
    server: str = ""


@dataclass(frozen=True, slots=True)
class CompareSettings:
    """Hold the settings of a measurement. `repeats`: runs of each mode; `tokens`: maximum of new tokens per reply."""

    temperature: float = 0.0
    repeats: int = 5
    tokens: int = 96


@dataclass(frozen=True, slots=True)
class CompareRequest:
    """Request a measurement: modes beside plain decoding, with these models. `server`: one that answers too."""

    prompt: str
    ways: tuple[Way, ...]
    models: Loaded
    settings: CompareSettings
    server: Server | None = None

    @property
    def shown_way(self) -> str:
        """Return the name of the way that is shown beside plain decoding."""
        return str(self.ways[0]) if self.server is None else SERVER


@dataclass(frozen=True, slots=True)
class CompareProgress:
    """Hold the progress of the engine; `report` None: no figures yet. `seconds_left` None: not known yet."""

    stage: Literal["calibrating", "warming up", "measuring", "comparing"]
    done: int = 0
    total: int = 0
    seconds_left: float | None = None
    report: WaysReport | None = None


class CompareRun:
    """Hold one measurement, from Start to its figures.

    Attributes: status, request (None before the first), report (the figures so far), seconds_left, fraction (0..1, None
    where it is not known), race (None before it begins, and in a sweep), problem (what went wrong, in words), version
    (grows with every change).
    """

    def __init__(self) -> None:
        self.status: Status = "idle"
        self.request: CompareRequest | None = None
        self.report: WaysReport | None = None
        self.seconds_left: float | None = None
        self.fraction: float | None = None
        self.race: Race | None = None
        self.problem = ""
        self.version = 0

    @property
    def running(self) -> bool:
        return self.status not in ("idle", "done", "cancelled", "failed")

    def begin(self, request: CompareRequest) -> None:
        """Begin a measurement; the figures of the last one go."""
        self.request, self.report, self.problem = request, None, ""
        self.race = None
        self.seconds_left = self.fraction = None
        self._become("waiting")

    def wait(self, status: Literal["waiting", "asking", "loading"]) -> bool:
        """Wait in this state; return True if it differs from the state before."""
        other = status != self.status
        if other:
            self._become(status)
        return other

    def begin_race(self) -> Race:
        """Begin with both ways writing the text once, to be watched."""
        self.race = Race()
        self._become("racing")
        return self.race

    def take(self, progress: CompareProgress) -> None:
        if progress.report is not None:
            self.report = progress.report
        self.seconds_left = progress.seconds_left
        self.fraction = self._fraction(progress)
        self._become(progress.stage)

    def finish(self, report: WaysReport) -> None:
        """Finish with the report, whole or partial."""
        self.report = report
        self._become("cancelled" if report.partial else "done")

    def cancel(self) -> None:
        """Cancel the measurement; its figures so far stay."""
        self._become("cancelled")

    def fail(self, problem: str) -> None:
        """End the measurement with the problem that prevented it."""
        self.problem = problem
        self._become("failed")

    def _become(self, status: Status) -> None:
        self.status = status
        if not self.running:
            self.seconds_left = self.fraction = None
        self.version += 1

    def _fraction(self, progress: CompareProgress) -> float | None:
        if self.request is None or not progress.total:
            return None
        settings = self.request.settings
        share = _WARM_TOKENS / (_WARM_TOKENS + settings.repeats * settings.tokens)
        part = progress.done / progress.total
        return share * part if progress.stage == "warming up" else share + (1.0 - share) * part


def ways_to_compare(lookahead: Lookahead, *, has_draft: bool) -> tuple[Way, ...]:
    """Return the lookahead to compare with plain decoding: the chosen one, or auto if that is plain decoding itself."""
    return (lookahead,) if lookahead != 0 and has_draft else ("auto",)


def ways_to_sweep() -> tuple[Way, ...]:
    """Return every lookahead of the sweep, and auto."""
    return (*range(1, SWEEP_MOST + 1), "auto")


# What Compare tells ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OutputEquality:
    """Compare the outputs.

    `kind`: identical (token for token); tie (they part where the two best logits lie too close to tell, `gap` apart);
    different; unexamined; drawn (tokens were drawn: not to be compared one by one); none (nothing to say yet).
    `alike` of `tokens` tokens are the same, in the reply that parts first.
    """

    kind: Literal["identical", "tie", "different", "unexamined", "drawn", "none"]
    alike: int = 0
    tokens: int = 0
    gap: float | None = None


def speculative(report: WaysReport | None) -> WayFigures | None:
    """Return the way that was compared with plain decoding."""
    if report is None:
        return None
    return next((way for way in report.ways if way.name != PLAIN), None)


def figures(report: WaysReport | None, name: str) -> WayFigures | None:
    way = None if report is None else report.way(name)
    return way if way is not None and way.tokens_per_second is not None else None


def verdict(report: WaysReport | None) -> OutputEquality:
    """Return True if the speculative replies equal the plain one."""
    way = speculative(report)
    if report is None or way is None or not way.replies:
        return OutputEquality("none")
    if not report.sampling.greedy:
        return OutputEquality("drawn")
    if not way.equality:
        return OutputEquality("none")
    kinds: dict[str, Literal["identical", "tie", "different", "unexamined"]] = {
        "different": "different",
        "near tie": "tie",
        "not examined": "unexamined",
        "same": "identical",
    }
    order = list(kinds)
    worst: Equality = min(way.equality, key=lambda each: (order.index(each.verdict), each.alike))
    return OutputEquality(kinds[worst.verdict], worst.alike, worst.tokens, worst.gap)


def outcome(way: WayFigures | None) -> Literal["faster", "slower", "level", "unknown"]:
    """Return True if a way is faster than plain decoding, by more than its spread."""
    if way is None or way.speedup is None or way.speedup.values < ENOUGH:
        return "unknown"
    if way.speedup.low > 1.0:
        return "faster"
    return "slower" if way.speedup.high < 1.0 else "level"


# What the sweep tells -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """Hold the tokens/s of a fixed lookahead."""

    lookahead: int
    speed: Spread


def sweep_points(report: WaysReport | None) -> list[SweepPoint]:
    """Return the figures so far by lookahead; 0 is plain decoding."""
    points = []
    for way in () if report is None else report.ways:
        lookahead = as_lookahead(way.name)
        if lookahead is not None and way.tokens_per_second is not None:
            points.append(SweepPoint(lookahead, way.tokens_per_second))
    return sorted(points, key=lambda point: point.lookahead)


def as_lookahead(name: str) -> int | None:
    """Return the lookahead that a way's name means."""
    if name == PLAIN:
        return 0
    return int(name) if name.isdecimal() else None


def best_lookahead(report: WaysReport | None) -> int | None:
    """Return the fastest of the fixed lookaheads, plain decoding included; None while not every one was measured."""
    if report is None or report.best_fixed is None:
        return None
    if any(not way.replies for way in report.ways if as_lookahead(way.name) is not None) and not report.partial:
        return None
    return as_lookahead(report.best_fixed)


def rivals(report: WaysReport | None) -> list[int]:
    """Return the lookaheads whose distance to the best is within the spread."""
    found: Sequence[str] = () if report is None else report.not_told_apart
    return sorted(number for name in found if (number := as_lookahead(name)) is not None)


# What must be said with it --------------------------------------------------------------------------------------------


def doubts(report: WaysReport | None) -> list[Literal["busy", "unsteady", "few"]]:
    """Return reasons to doubt the figures, once there are some."""
    if report is None or not any(way.replies for way in report.ways):
        return []
    found: list[Literal["busy", "unsteady", "few"]] = []
    if report.other_programs > _BUSY:
        found.append("busy")
    if report.unsteady > _UNSTEADY:
        found.append("unsteady")
    if min(way.replies for way in report.ways) < ENOUGH:
        found.append("few")
    return found
