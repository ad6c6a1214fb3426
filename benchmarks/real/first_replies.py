"""Compare auto with the best fixed lookahead of published models, in the first reply ever and from then on."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from benchmarks.machine import Quiet, say
from benchmarks.peers.server_figures import show_ratio
from benchmarks.real.figures import Compared, Must, Table, compare_best
from benchmarks.real.real_models import RealPair, fresh_caches, opened, real_prompts
from engine import SpeculativeDecoder
from engine.bench.figures import spread
from engine.bench.runs import AUTO, PreparedPrompt, balanced_order, prepare

TOKENS = 64
LOOKAHEADS = (1, 2, 3, 4, 5, 6, 8)
LATER, FIRST = 0.97, 0.90


@dataclass(frozen=True)
class Near:
    """Hold the figures of a pair: by way, tokens and seconds of each turn (`table`); `best`, the fastest lookahead.

    `later`: auto from its second reply on over the best fixed lookahead. `first`: the first reply ever over that
    lookahead, with the same prompt in the same turn.
    """

    pair: RealPair
    table: Table
    later: Compared
    first: Sequence[float]
    best: str


def compare_first(pair: RealPair, args: argparse.Namespace) -> Near:
    """Measure a pair: in each turn a decoder with empty caches writes with auto first. Raises LoadFailed."""
    ways: dict[str, Any] = {**{str(k): k for k in LOOKAHEADS}, AUTO: AUTO}
    rows = {way: np.zeros((args.turns, 2)) for way in ways}
    single: list[tuple[float, dict[str, float]]] = []
    quiet = Quiet(args.patience)
    for turn in range(args.turns):
        with fresh_caches(), opened(pair) as decoder:
            assert decoder.target is not None
            prompts, _ = prepare(decoder.target, real_prompts(args.sets, args.prompts), max_tokens=TOKENS)
            # Another prompt is the first one in each turn.
            prompts = [*prompts[turn % len(prompts) :], *prompts[: turn % len(prompts)]]
            # It cannot be repeated: what disturbs it stays in it.
            tokens, seconds = _reply(decoder, prompts[0], AUTO)
            for number, prompt in enumerate(prompts):
                speeds: dict[str, float] = {}
                for place in balanced_order(len(ways), turn + number):
                    way = list(ways)[place]
                    found = quiet.measure(partial(_reply, decoder, prompt, ways[way]))
                    rows[way][turn] += found
                    speeds[way] = found[0] / found[1]
                if not number:
                    single.append((tokens / seconds, speeds))
        say(f"{pair.name}: turn {turn + 1} of {args.turns}")
    return conclude(pair, rows, single)


def conclude(pair: RealPair, table: Table, single: Sequence[tuple[float, dict[str, float]]]) -> Near:
    """Compare. `single`: of each turn the speed of the first reply, and those of later ones to its prompt by way."""
    total = {way: rows.sum(axis=0) for way, rows in table.items() if way != AUTO}
    best = max(total, key=lambda way: total[way][0] / total[way][1])
    return Near(pair, table, compare_best(table), [first / later[best] for first, later in single], best)


def _reply(decoder: SpeculativeDecoder, prompt: PreparedPrompt, lookahead: Any) -> tuple[float, float]:
    """Return the tokens of a greedy reply, and its seconds after the prompt."""
    stats = decoder.generate(prompt.tokens, lookahead=lookahead, max_tokens=prompt.max_tokens).stats
    return float(stats.emitted), (stats.total_ms - stats.prompt_ms) / 1000.0


def musts_of(found: Sequence[Near]) -> list[Must]:
    """Return the musts: auto over the best fixed lookahead, later and in the first reply ever."""
    return [
        Must("auto over the best fixed lookahead, from the second reply on", LATER, _named(found, _later)),
        Must("auto over it in the first reply ever", FIRST, _named(found, _first)),
    ]


def _later(near: Near) -> float:
    return near.later.ratio


def _first(near: Near) -> float:
    return median(near.first)


def _named(found: Sequence[Near], value: Any) -> dict[str, float]:
    return {near.pair.title: value(near) for near in found}


def show(found: Sequence[Near]) -> list[str]:
    """Return the tables."""
    ways = [str(k) for k in LOOKAHEADS]
    how = (
        f"Greedy replies of {TOKENS} tokens at most. In each turn a decoder with empty caches writes one reply with "
        "auto before all others; then auto and the fixed lookaheads answer all prompts, in balanced order. Later "
        "replies: the best lookahead is chosen on every second turn and compared on the others, both ways round "
        "(middle 90 % of bootstrap samples). First reply: against the best of all turns, same prompt and "
        "turn (middle half)."
    )
    lines = [how, "", "| | auto / best, later | best | auto / best, first reply | best |", "|---|---|---|---|---|"]
    for near in found:
        later = f"{near.later.ratio:.3f} ({near.later.low:.3f}–{near.later.high:.3f})"
        first = show_ratio(spread(near.first))
        lines.append(f"| {near.pair.title} | {later} | {near.later.other} | {first} | {near.best} |")
    lines += ["", f"| tokens/s | {' | '.join(ways)} | auto |", "|---|" + "---|" * (len(ways) + 1)]
    for near in found:
        total = {way: near.table[way].sum(axis=0) for way in (*ways, AUTO)}
        lines.append(f"| {near.pair.title} | " + " | ".join(f"{n / s:.1f}" for n, s in total.values()) + " |")
    return lines
