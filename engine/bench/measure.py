"""Compare ways of decoding with loaded models: the work of `bench`, as a call.

`measure` is for the command; `measure_ways` is for a program with a decoder, and returns typed figures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from time import perf_counter
from typing import Any, Literal

from engine.backends.base import Backend
from engine.bench.figures import count_equal, make_notes, summarise, unsteadiness
from engine.bench.prompts import ALL, BenchPrompt
from engine.bench.runs import (
    AUTO,
    BUDGET_S,
    NGRAM,
    PLAIN,
    SERVER,
    Bench,
    Equality,
    LeftOut,
    Reply,
    Sizes,
    Way,
    choose_sizes,
    compare_replies,
    drafting_method,
    prepare,
)
from engine.cancel import CancelToken
from engine.config import GenerationRequest, SamplingConfig, check_lookahead, freeze_prompt
from engine.decoder import SpeculativeDecoder
from engine.errors import Cancelled, InvalidRequest, ModelNotLoaded
from engine.generation.responder import Responder
from engine.messages.message import Message
from engine.methods import DRAFT_MODEL
from engine.system.machine import OtherPrograms, describe_machine
from engine.translatable import Translatable

Stage = Literal["warming up", "measuring", "comparing"]


@dataclass(frozen=True, slots=True)
class BenchRequest:
    """Configure a measurement; sizes that are None are chosen so that it takes about `budget_s` at most."""

    prompts: Sequence[BenchPrompt]
    ways: Sequence[Way]
    sampling: SamplingConfig = field(default_factory=SamplingConfig)
    repeats: int | None = None
    max_tokens: int | None = None
    raw: bool = False
    budget_s: float = BUDGET_S


@dataclass
class Measured:
    """Hold the measurements, complete or so far.

    Attributes: bench (the runs), left_out (prompts that the target cannot answer), sizes (None before the warm-up is
    over), replies, compared (each one's comparison with the plain one, once made), partial (True if cancelled),
    other_programs (their share of the processors, 0 to 1).
    """

    bench: Bench
    left_out: Sequence[LeftOut]
    sizes: Sizes | None = None
    replies: list[Reply] = field(default_factory=list)
    compared: list[Equality | None] = field(default_factory=list)
    partial: bool = False
    other_programs: float = 0.0


@dataclass
class WaysProgress:
    """Report the progress of a measurement.

    Attributes: stage; done and total (ways in the warm-up, then replies); seconds_left (an estimate; None if
    unknown yet); measured. `report`: the figures at its first use.
    """

    stage: Stage
    done: int
    total: int
    seconds_left: float | None
    measured: Measured

    @cached_property
    def report(self) -> WaysReport:
        """Return the figures so far."""
        return make_ways_report(self.measured)


Progress = Callable[[WaysProgress], bool | None]
"""Receives the progress; may return False to end the measurement with the replies so far."""


def measure(decoder: SpeculativeDecoder, wanted: BenchRequest, cancel: CancelToken, progress: Progress) -> Measured:
    """Measure the ways in turns after a warm-up, and compare greedy replies.

    Cancelled midway it returns the figures so far. Raises ModelNotLoaded, InvalidRequest, and Cancelled if nothing was
    measured.
    """
    target = decoder.target
    if target is None:
        raise ModelNotLoaded("target")
    prompts, left_out = prepare(target, wanted.prompts, raw=wanted.raw, max_tokens=wanted.max_tokens, cancel=cancel)
    cancel.check()
    # So that the ways that are measured first run with the same number of threads as those after auto.
    decoder.calibrate(cancel=cancel)
    measured = Measured(Bench(decoder, wanted.ways, prompts, wanted.sampling, cancel), left_out)
    ways = len(wanted.ways)

    def tell(stage: Stage, done: int, total: int, seconds_left: float | None = None) -> bool:
        return progress(WaysProgress(stage, done, total, seconds_left, measured)) is not False

    def warming(done: int) -> None:
        if not tell("warming up", done, ways):
            raise Cancelled(Translatable("The measurement"))

    pace = measured.bench.warm_up(warming)
    measured.sizes = choose_sizes(
        pace, prompts, ways, repeats=wanted.repeats, max_tokens=wanted.max_tokens, budget_s=wanted.budget_s
    )
    others = OtherPrograms()
    _collect(measured, measured.sizes, tell)
    measured.other_programs = others.share()
    total = len(measured.replies)
    if not measured.partial and not tell("comparing", total, total, 0.0):
        measured.partial = True
    try:
        measured.compared = compare_replies(measured.bench, measured.replies, examine=not measured.partial)
    except Cancelled:
        measured.partial = True
        measured.compared = compare_replies(measured.bench, measured.replies, examine=False)
    return measured


def _collect(measured: Measured, sizes: Sizes, tell: Callable[[Stage, int, int, float | None], bool]) -> None:
    """Collect the replies; return True if only a part was measured. Raises Cancelled if none was."""
    bench, replies = measured.bench, measured.replies
    total = sizes.repeats * len(bench.prompts) * len(bench.ways)
    began = perf_counter()
    if not tell("measuring", 0, total, sizes.seconds):
        raise Cancelled(Translatable("The measurement"))
    try:
        for reply in bench.replies(sizes.repeats, sizes.max_tokens):
            replies.append(reply)
            left = (perf_counter() - began) / len(replies) * (total - len(replies))
            if not tell("measuring", len(replies), total, left):
                break
    except Cancelled:
        if not replies:
            raise
    measured.partial = len(replies) < total


# For a program --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Spread:
    """Describe some values: the median, the middle half (low, high), the least and the most, and their number."""

    median: float
    low: float
    high: float
    least: float
    most: float
    values: int


@dataclass(frozen=True, slots=True)
class WayFigures:
    """Hold the figures of one way.

    `tokens_per_second`: after the prompt was read. `speedup`: against the plain reply to the same prompt in the same
    turn. `tokens`: of its replies, one number if all have the same. `equality`: of each reply; empty if tokens are
    drawn, or nothing was compared yet.
    """

    name: str
    replies: int
    tokens_per_second: Spread | None
    speedup: Spread | None
    acceptance_rate: float | None
    mean_length: float | None
    average_lookahead: float | None
    first_token_ms: Spread | None
    tokens: tuple[int, ...]
    equality: tuple[Equality, ...]


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """Describe a model that was measured. `threads`: those that it computed with; `batch_invariant`: as in Backend."""

    name: str
    parameters: int
    threads: int
    device: str
    batch_invariant: bool | None = None

    @classmethod
    def of(cls, model: Backend) -> ModelFacts:
        """Return the facts of a loaded model."""
        return cls(model.name, model.parameters, model.threads, model.device, model.batch_invariant)


@dataclass(frozen=True, slots=True)
class WaysReport:
    """Hold the result of a measurement.

    `ways`: in the requested order, plain decoding first. `best_fixed`: the fastest of plain decoding and the fixed
    lookaheads, None if unknown; `not_told_apart`: those within the spread of it. `repeats`, `max_tokens`: None before
    the warm-up is over. `unsteady`: the variation of plain decoding of one prompt between turns. `notes`: for the user,
    at the end. `machine`: from `describe_machine`; empty during the measurement. `sources`: the models that proposed.
    """

    ways: tuple[WayFigures, ...]
    best_fixed: str | None
    not_told_apart: tuple[str, ...]
    target: ModelFacts
    sources: tuple[ModelFacts, ...]
    sampling: SamplingConfig
    prompt_tokens: int
    repeats: int | None
    max_tokens: int | None
    partial: bool
    other_programs: float
    unsteady: float
    notes: tuple[str, ...]
    machine: Mapping[str, Any] = field(default_factory=dict)

    def way(self, name: str) -> WayFigures | None:
        """Return the figures of the way of this name: plain, a number, auto or ngram."""
        return next((way for way in self.ways if way.name == name), None)


def measure_ways(
    decoder: SpeculativeDecoder,
    prompts: Sequence[str | Sequence[Message]],
    ways: Sequence[int | str],
    *,
    sampling: SamplingConfig | None = None,
    repeats: int | None = None,
    max_tokens: int | None = None,
    server: Responder | None = None,
    cancel: CancelToken | None = None,
    progress: Progress = lambda _progress: None,
) -> WaysReport:
    """Answer prompts plain and in other ways, alternating, as the command `bench` does, and return its figures.

    `ways`: fixed lookaheads, "auto", "ngram"; plain decoding is always measured too. `server` answers them too, as the
    way of that name: its speed is compared with plain decoding here, its text is not. `progress` is called on this
    thread, between replies. Cancelled midway it returns the figures so far.
    Raises ModelNotLoaded, InvalidRequest and its kinds, and Cancelled if nothing was measured.
    """
    token = cancel or decoder.cancel_token
    others = [] if server is None else [Way(SERVER, {}, server)]
    chosen = [
        Way(PLAIN, {"lookahead": 0}),
        *others,
        *(_way(way, decoder) for way in dict.fromkeys(ways) if way not in (0, PLAIN)),
    ]
    found = []
    for number, prompt in enumerate(prompts):
        frozen: Any = freeze_prompt(prompt)
        GenerationRequest(frozen, max_tokens=max_tokens)
        found.append(BenchPrompt(ALL, number, frozen))
    wanted = BenchRequest(found, chosen, sampling or SamplingConfig(), repeats, max_tokens)
    try:
        return make_ways_report(measure(decoder, wanted, token, progress), describe_machine())
    finally:
        token.clear()


def _way(way: int | str, decoder: SpeculativeDecoder) -> Way:
    """Return the way of a name. Raises InvalidLookahead, InvalidRequest."""
    if way == AUTO:
        return Way(AUTO, {"lookahead": "auto"})
    if way == NGRAM:
        return Way(NGRAM, {"method": NGRAM, "lookahead": "default"})
    if isinstance(way, str):
        raise InvalidRequest("Only a lookahead, 'auto' or 'ngram' can be measured, not {way!r}.", way=way)
    return Way(str(check_lookahead(way)), {"method": drafting_method(decoder) or DRAFT_MODEL.name, "lookahead": way})


def make_ways_report(measured: Measured, machine: Mapping[str, Any] | None = None) -> WaysReport:
    """Return the figures of a measurement, also of an unfinished one. Raises ModelNotLoaded."""
    bench, replies, sizes = measured.bench, measured.replies, measured.sizes
    target = bench.decoder.target
    if target is None:
        raise ModelNotLoaded("target")
    names = [way.name for way in bench.ways]
    summary = summarise(replies, names)
    compared = measured.compared or [None] * len(replies)
    verdicts = [None if each is None else each.verdict for each in compared]
    best = summary["best_fixed"] or {"way": None, "not_told_apart": ()}
    notes: list[str] = []
    if measured.compared:
        noise = measured.other_programs, target.row_difference
        notes = make_notes(replies, summary, count_equal(verdicts), measured.left_out, *noise)
    return WaysReport(
        ways=tuple(_figures(name, summary["ways"][name], replies, compared) for name in names),
        best_fixed=best["way"],
        not_told_apart=tuple(best["not_told_apart"]),
        target=ModelFacts.of(target),
        sources=tuple(ModelFacts.of(each.model) for each in bench.decoder.sources if each.model is not None),
        sampling=bench.sampling,
        prompt_tokens=len(bench.prompts[0].tokens),
        repeats=None if sizes is None else sizes.repeats,
        max_tokens=None if sizes is None else sizes.max_tokens,
        partial=measured.partial,
        other_programs=measured.other_programs,
        unsteady=unsteadiness(replies),
        notes=tuple(notes),
        machine=machine or {},
    )


def _figures(
    name: str, row: Mapping[str, Any], replies: Sequence[Reply], compared: Sequence[Equality | None]
) -> WayFigures:
    mine = [index for index, reply in enumerate(replies) if reply.way == name]
    return WayFigures(
        name=name,
        replies=row["replies"],
        tokens_per_second=_spread(row["tokens_per_second"]),
        speedup=_spread(row["speedup"]),
        acceptance_rate=row["acceptance_rate"],
        mean_length=row["mean_length"],
        average_lookahead=row["average_lookahead"],
        first_token_ms=_spread(row["first_token_ms"]),
        tokens=tuple(sorted({replies[index].result.stats.emitted for index in mine})),
        equality=tuple(each for index in mine if (each := compared[index]) is not None),
    )


def _spread(values: Mapping[str, Any] | None) -> Spread | None:
    return None if values is None else Spread(**values)
