"""Measure published models beside busy programs: the speed that is left, and the speed after they have ended."""

import argparse
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from statistics import fmean, median
from time import perf_counter
from typing import Any

import psutil

from benchmarks.machine import Quiet, say
from benchmarks.peers.server_figures import show_median, show_ratio
from benchmarks.peers.serving import served
from benchmarks.real.figures import Must
from benchmarks.real.real_models import SETS, RealPair, busy_loops, fresh_caches, opened, real_prompts
from engine import SpeculativeDecoder
from engine.bench.figures import spread
from engine.bench.runs import PreparedPrompt, prepare
from engine.events import Finished, RoundEvent

WARM_UP, TOKENS = 20, 60
BUSY_OVER_QUIET, AUTO_OVER_PLAIN, AFTERWARDS, OFF = 0.45, 0.95, 0.95, 0.3
LIBRARY, SERVER = "library", "server"
WAYS: dict[str, dict[str, Any]] = {"plain": {"lookahead": 0}, "auto": {}}
QUIET, BUSY_LATER, BUSY_AT_ONCE = "quiet", "busy later", "busy at once"
"""Opened on a quiet machine and measured there; then beside loops; opened beside loops."""
_AFTER, _FRESH = "after", "fresh"
_MOST_S = 20.0
"""Seconds that the first reply ever may take beside so many loops."""
Ask = Callable[[str, int], float]
"""Measure a reply by way and token count; returns tokens/s, from request to end."""


def loops_of(cores: int | None = None) -> tuple[int, int]:
    """Return the numbers of loops for *busy* and *very busy*: one and three for each core."""
    cores = cores or os.cpu_count() or 1
    return cores, 3 * cores


@dataclass(frozen=True)
class Beside:
    """Hold the speeds of a target by side, state and way, one of each turn."""

    pair: RealPair
    speeds: Mapping[tuple[str, str, str], Sequence[float]]

    def busy_over_quiet(self, side: str, state: str, way: str) -> list[float]:
        """Return the ratio of each turn."""
        return _over(self.speeds[side, state, way], self.speeds[side, QUIET, way])

    def auto_over_plain(self, side: str, state: str) -> list[float]:
        """Return the ratio of each turn."""
        return _over(self.speeds[side, state, "auto"], self.speeds[side, state, "plain"])


def _over(ones: Sequence[float], others: Sequence[float]) -> list[float]:
    return [one / other for one, other in zip(ones, others, strict=True)]


def measure_beside(pair: RealPair, args: argparse.Namespace) -> Beside:
    """Measure a pair, or a target alone, in turns. Raises LoadFailed and its kinds, NotServed."""
    speeds: dict[tuple[str, str, str], list[float]] = {}
    loops, _ = loops_of()
    quiet = Quiet(args.patience, helping_s=_children_s)
    with opened(pair) as decoder:
        assert decoder.target is not None
        prompts, _ = prepare(decoder.target, real_prompts(args.sets, 1))
    for turn in range(args.turns):
        prompt = prompts[turn % len(prompts)]
        ways = list(WAYS)[:: 1 if turn % 2 else -1]
        for side in (LIBRARY, SERVER):
            for state in (BUSY_LATER, BUSY_AT_ONCE):
                with ExitStack() as stack:
                    stack.enter_context(fresh_caches())
                    if state == BUSY_AT_ONCE:
                        stack.enter_context(busy_loops(loops))
                    ask = stack.enter_context(_asking(side, pair, prompt))
                    if state == BUSY_LATER:
                        _note(speeds, side, QUIET, ways, _quietly(quiet, ask))
                        stack.enter_context(busy_loops(loops))
                    _note(speeds, side, state, ways, ask)
        say(f"{pair.name}: turn {turn + 1} of {args.turns}")
    return Beside(pair, speeds)


def _note(speeds: dict[tuple[str, str, str], list[float]], side: str, state: str, ways: list[str], ask: Ask) -> None:
    for way in ways:
        ask(way, WARM_UP)
        speeds.setdefault((side, state, way), []).append(ask(way, TOKENS))


def _children_s() -> float:
    """Return the processor time of the programs that this one has started and that are running."""
    seconds = 0.0
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            times = child.cpu_times()
            seconds += times.user + times.system
    return seconds


def _quietly(quiet: Quiet, ask: Ask) -> Ask:
    """Make an asker that waits for quiet, and asks again where it was not."""
    return lambda way, most: quiet.measure(lambda: ask(way, most))


@contextmanager
def _asking(side: str, pair: RealPair, prompt: PreparedPrompt) -> Iterator[Ask]:
    """Open the library or our server with default settings, and give a function that asks it."""
    if side == LIBRARY:
        with opened(pair) as decoder:

            def ask(way: str, most: int) -> float:
                result = decoder.generate(prompt.tokens, max_tokens=most, **WAYS[way])
                # Up to the last token: costs are measured behind a reply, once, and not always behind the first.
                return len(result.tokens) / (result.stats.total_ms / 1000.0)

            yield ask
    else:
        with served(pair.target, *(("--draft", str(pair.draft)) if pair.draft else ())) as connection:

            def ask_server(way: str, most: int) -> float:
                body = {"prompt": list(prompt.tokens), "max_tokens": most, "stream": True, **WAYS[way]}
                began = perf_counter()
                connection.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
                with connection.getresponse() as response:
                    told = [json.loads(line[6:]) for line in response if line.startswith(b"data: {")]
                return float(told[-1]["timings"]["predicted_n"] / (perf_counter() - began))

            yield ask_server


@dataclass(frozen=True)
class Later:
    """Hold a quiet reply: its number from 0, tokens/s of auto and of plain decoding, and the speedup reported."""

    place: int
    auto: float
    plain: float
    told: float

    @property
    def truth(self) -> float:
        """Return 1 less the relative error of the reported speedup."""
        return 1.0 - abs(self.told * self.plain / self.auto - 1.0)


@dataclass(frozen=True)
class Afterwards:
    """Hold quiet replies by turn: after a first reply ever beside loops, and with fresh caches."""

    pair: RealPair
    after: Sequence[Sequence[Later]]
    fresh: Sequence[Sequence[Later]]

    @property
    def ratios(self) -> list[float]:
        """Return speeds over those with fresh caches, same prompt and turn, from the second reply on."""
        both = zip(self.after, self.fresh, strict=True)
        return [one.auto / other.auto for ones, others in both for one, other in zip(ones[1:], others[1:], strict=True)]


def measure_afterwards(pair: RealPair, args: argparse.Namespace) -> Afterwards:
    """Measure a pair. Raises LoadFailed and its kinds."""
    found: dict[str, list[list[Later]]] = {_AFTER: [], _FRESH: []}
    _, loops = loops_of()
    quiet = Quiet(args.patience)
    for turn in range(args.turns):
        for name in list(found)[:: 1 if turn % 2 else -1]:
            with fresh_caches():
                if name == _AFTER:
                    with busy_loops(loops), opened(pair) as decoder:
                        decoder.generate(_prompts(decoder)[0].tokens, max_tokens=TOKENS, max_time=_MOST_S)
                with opened(pair) as decoder:
                    ways = [partial(_later, decoder, *each) for each in enumerate(_prompts(decoder))]
                    found[name].append([quiet.measure(way) for way in ways])
        say(f"{pair.name}, afterwards: turn {turn + 1} of {args.turns}")
    return Afterwards(pair, found[_AFTER], found[_FRESH])


def _prompts(decoder: SpeculativeDecoder) -> list[PreparedPrompt]:
    assert decoder.target is not None
    return prepare(decoder.target, real_prompts(SETS, 1))[0]


def _later(decoder: SpeculativeDecoder, place: int, prompt: PreparedPrompt) -> Later:
    auto, told = _stream(decoder, prompt, {})
    plain, _ = _stream(decoder, prompt, {"lookahead": 0})
    return Later(place, auto, plain, told)


def _stream(decoder: SpeculativeDecoder, prompt: PreparedPrompt, options: dict[str, Any]) -> tuple[float, float]:
    """Return tokens/s of a reply, and the speedup that its rounds reported."""
    rounds: list[RoundEvent] = []
    speed = 0.0
    for event in decoder.stream(prompt.tokens, max_tokens=TOKENS, **options):
        if isinstance(event, RoundEvent):
            rounds.append(event)
        elif isinstance(event, Finished):
            speed = event.result.stats.tokens_per_second
    return speed, told_speedup(rounds)


def told_speedup(rounds: Sequence[RoundEvent]) -> float:
    """Return the mean over the rounds that proposed, as the window shows it; 1 where most did not propose."""
    drafted = [event.speedup or 1.0 for event in rounds if event.proposed]
    return fmean(drafted) if 2 * len(drafted) >= len(rounds) and drafted else 1.0


def musts_of(beside: Sequence[Beside], afterwards: Sequence[Afterwards]) -> list[Must]:
    """Return the requirements: limits of a busy machine's cost, and full recovery afterwards."""
    busy = [
        (each, side, state) for each in beside for side in (LIBRARY, SERVER) for state in (BUSY_LATER, BUSY_AT_ONCE)
    ]
    return [
        Must(
            "busy over quiet",
            BUSY_OVER_QUIET,
            {
                f"{each.pair.title} {way} {side} {state}": median(each.busy_over_quiet(side, state, way))
                for each, side, state in busy
                for way in WAYS
            },
        ),
        Must(
            "auto over plain, busy",
            AUTO_OVER_PLAIN,
            {
                f"{each.pair.title} {side} {state}": median(each.auto_over_plain(side, state))
                for each, side, state in busy
            },
        ),
        Must(
            "quiet after a first reply beside three loops a core, over fresh caches",
            AFTERWARDS,
            {each.pair.title: median(each.ratios) for each in afterwards},
        ),
        Must(
            "told speedup, 1 less what it is off by",
            1.0 - OFF,
            {
                f"{each.pair.title} {name} reply {replies[0].place + 1}": min(reply.truth for reply in replies)
                for each in afterwards
                for name, turns in ((_AFTER, each.after), (_FRESH, each.fresh))
                for replies in zip(*(turn[1:] for turn in turns), strict=True)
            },
        ),
    ]


def show(beside: Sequence[Beside], afterwards: Sequence[Afterwards]) -> list[str]:
    """Return the tables."""
    busy, very = loops_of()
    how = (
        f"Greedy replies of {TOKENS} tokens after one of {WARM_UP}, default settings, empty caches, beside {busy} "
        "loops that do nothing else; *server*: our own, in a process of its own, read as a stream. *Later*: the models "
        "were loaded and used on the quiet machine before; *at once*: they were loaded beside the loops. Tokens/s as "
        "medians, ratios with their middle half, *later* and *at once*."
    )
    heads = [
        "",
        "quiet: plain, auto",
        "busy later: plain, auto",
        "busy at once: plain, auto",
        "busy / quiet: plain",
        "auto",
    ]
    lines = [how, "", *_head(*heads, "auto / plain, busy")]
    for each in beside:
        lines += [_beside_line(each, side) for side in (LIBRARY, SERVER)]
    if afterwards:
        how = (
            f"A pair whose first reply ever was beside {very} loops, opened again on the quiet machine, against one "
            "with empty caches; from the second reply on. *Told*: the speedup that the rounds told over the measured."
        )
        heads = ["", "tokens/s, after", "fresh", "after / fresh", "told / measured, after", "fresh"]
        lines += ["", how, "", *_head(*heads), *map(_afterwards_line, afterwards)]
    return lines


def _head(*cells: str) -> list[str]:
    return [f"| {' | '.join(cells)} |", "|" + "---|" * len(cells)]


def _beside_line(each: Beside, side: str) -> str:
    def speeds(state: str) -> str:
        return ", ".join(show_median(spread(each.speeds[side, state, way]), 1) for way in WAYS)

    def both(ratios: Callable[[str], Sequence[float]]) -> str:
        return "; ".join(show_ratio(spread(ratios(state))) for state in (BUSY_LATER, BUSY_AT_ONCE))

    cells = [
        f"{each.pair.title}, {side}",
        *map(speeds, (QUIET, BUSY_LATER, BUSY_AT_ONCE)),
        *(both(lambda state, way=way: each.busy_over_quiet(side, state, way)) for way in WAYS),  # type: ignore[misc]
        both(lambda state: each.auto_over_plain(side, state)),
    ]
    return f"| {' | '.join(cells)} |"


def _afterwards_line(each: Afterwards) -> str:
    def told(turns: Sequence[Sequence[Later]]) -> str:
        return show_ratio(spread([reply.told * reply.plain / reply.auto for turn in turns for reply in turn[1:]]))

    def speeds(turns: Sequence[Sequence[Later]]) -> str:
        return show_median(spread([reply.auto for turn in turns for reply in turn[1:]]), 1)

    cells = [each.pair.title, speeds(each.after), speeds(each.fresh), show_ratio(spread(each.ratios))]
    return f"| {' | '.join([*cells, told(each.after), told(each.fresh)])} |"
