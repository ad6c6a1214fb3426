"""Whether auto gains as much with drawn tokens as with greedy ones, where the draft foresees most.

    make bench ARGS="drawn [--kind q8_0] [--turns 6] [--tokens 40] [--temperature 0.8] [--json]"

Plain decoding and auto, greedy and drawn, in turns on the grown demo target: a machine whose memory is slow for a
minute makes plain decoding slow and a draft's verification no slower, so that gains of different minutes say nothing of
each other. Of the sets in familiar.json those count where rejection sampling keeps so much at lookahead 4 that the must
is about them (DUE_FROM); the others are named with their acceptance rate. Gives 0 if the must is met, 1 if not, 2 if it
could not be measured.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.policy.auto import FAMILIAR
from benchmarks.policy.auto_figures import middle_half
from engine import LoadConfig, SpeculativeDecoder, bundled_pair
from engine.bench.prompts import BenchPrompt, read_prompts
from engine.errors import GrowthError
from engine.growth.arithmetic import FULL, GrownKind
from engine.growth.grown import grown_target

DUE_FROM, DUE = 0.75, 0.9
"""From which acceptance rate at lookahead 4 on, with drawn tokens, which part of the greedy gain is due."""
WAYS: Mapping[str, Mapping[str, Any]] = {"plain": {"method": "autoregressive"}, "auto": {"lookahead": "auto"}}
_LOOKED_AT = 2
"""Drawn replies to each prompt from which the acceptance rate at lookahead 4 is taken."""


@dataclass(frozen=True)
class Reply:
    """What one reply took: the turn, whether its tokens were drawn, the way, its tokens and its seconds."""

    turn: int
    drawn: bool
    way: str
    tokens: int
    seconds: float


@dataclass(frozen=True)
class Gains:
    """Auto over plain decoding, greedy and drawn, and the second over the first with the middle half of its samples."""

    greedy: float
    drawn: float
    low: float
    high: float

    @property
    def ratio(self) -> float:
        """The part of the greedy gain that is left with drawn tokens."""
        return self.drawn / self.greedy


def find_gains(replies: Sequence[Reply]) -> Gains:
    """Of whole turns: all tokens of a way by all their time. The samples are of turns, drawn with replacement."""
    turns = sorted({reply.turn for reply in replies})
    table = {
        (drawn, way): np.array([_sums(replies, turn, drawn, way) for turn in turns])
        for drawn in (False, True)
        for way in WAYS
    }

    def gain(drawn: bool, chosen: NDArray[np.int64]) -> float:
        speeds = {way: table[drawn, way][chosen].sum(axis=0) for way in WAYS}
        return float(speeds["auto"][0] / speeds["auto"][1] * speeds["plain"][1] / speeds["plain"][0])

    places = np.arange(len(turns))
    low = high = gain(True, places) / gain(False, places)
    if len(turns) > 1:
        low, high = middle_half(lambda chosen: gain(True, chosen) / gain(False, chosen), len(turns))
    return Gains(gain(False, places), gain(True, places), low, high)


def _sums(replies: Sequence[Reply], turn: int, drawn: bool, way: str) -> tuple[int, float]:
    mine = [reply for reply in replies if (reply.turn, reply.drawn, reply.way) == (turn, drawn, way)]
    return sum(reply.tokens for reply in mine), sum(reply.seconds for reply in mine)


def main() -> int:
    """Measure and print."""
    args = _parse()
    try:
        target = grown_target(args.kind, FULL, folder=args.to, say=_say)
    except GrowthError as error:
        print(error, file=sys.stderr)
        return 2
    with SpeculativeDecoder() as decoder:
        decoder.attach_target(LoadConfig(target, threads=args.threads, trusted=True))
        decoder.attach_draft(LoadConfig(bundled_pair()[1], trusted=True))
        sets = _sets(read_prompts(FAMILIAR))
        rates = {name: _rate(decoder, chosen, args) for name, chosen in sets.items()}
        due = [name for name, rate in rates.items() if rate >= DUE_FROM]
        found = {name: find_gains(_measure(decoder, sets[name], args)) for name in due}
    met = all(gains.ratio >= DUE for gains in found.values())
    if args.json:
        figures = {name: vars(gains) | {"ratio": gains.ratio} for name, gains in found.items()}
        print(json.dumps({"rates": rates, "sets": figures, "met": met}))
    else:
        print(show_gains(args, rates, found))
    return 0 if met else 1


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    kinds: tuple[GrownKind, ...] = ("q8_0", "q4_0", "f16")
    add("--kind", choices=kinds, default="q8_0", help="of the target's weights (q8_0)")
    add("--turns", type=int, default=6, metavar="N", help="how often each reply is measured (6)")
    add("--tokens", type=int, default=40, metavar="N", help="of each reply at most (40)")
    add("--temperature", type=float, default=0.8, metavar="X", help="of the drawn replies (0.8)")
    add("--threads", type=int, metavar="N", help="of the target (what we would choose)")
    add("--to", type=Path, metavar="FOLDER", help="where grown models are kept (the user's cache)")
    add("--json", action="store_true")
    return parser.parse_args()


def _sets(prompts: Sequence[BenchPrompt]) -> dict[str, list[BenchPrompt]]:
    sets: dict[str, list[BenchPrompt]] = {}
    for each in prompts:
        sets.setdefault(each.category, []).append(each)
    return sets


def _rate(decoder: SpeculativeDecoder, prompts: Sequence[BenchPrompt], args: argparse.Namespace) -> float:
    """The acceptance rate at lookahead 4 with drawn tokens."""
    proposed = accepted = 0
    for seed in range(_LOOKED_AT):
        for each in prompts:
            result = decoder.generate(
                each.prompt, lookahead=4, max_tokens=args.tokens, temperature=args.temperature, seed=seed
            )
            proposed, accepted = proposed + result.stats.proposed, accepted + result.stats.accepted
    return accepted / max(proposed, 1)


def _measure(decoder: SpeculativeDecoder, prompts: Sequence[BenchPrompt], args: argparse.Namespace) -> list[Reply]:
    replies = []
    for turn in range(-1, args.turns):  # The first one warms up.
        random = Random(turn)
        _say(f"  turn {turn + 1} of {args.turns}")
        for each in prompts:
            cases = [(drawn, way) for drawn in (False, True) for way in WAYS]
            random.shuffle(cases)
            for drawn, way in cases:
                options: dict[str, Any] = {"temperature": args.temperature, "seed": random.randrange(2**31)}
                options = dict(WAYS[way]) | (options if drawn else {})
                stats = decoder.generate(each.prompt, max_tokens=args.tokens, **options).stats
                if turn >= 0 and stats.tokens_per_second:
                    replies.append(Reply(turn, drawn, way, stats.emitted, stats.emitted / stats.tokens_per_second))
    return replies


def show_gains(args: argparse.Namespace, rates: Mapping[str, float], found: Mapping[str, Gains]) -> str:
    """For people, and for RESULTS.md."""
    how = (
        f"The grown demo target in {args.kind.upper()} with the demo draft, replies of {args.tokens} tokens at most; "
        f"plain decoding and auto, greedy and at temperature {args.temperature:g}, in turns ({args.turns}), by all "
        "tokens of a way and their time (middle half of 2,000 bootstrap samples of turns)."
    )
    lines = [
        "## Auto's gain with drawn tokens against that with greedy ones",
        "",
        how,
        "",
        "| prompts | accepted at 4, drawn | auto / plain, greedy | auto / plain, drawn | drawn / greedy |",
        "|---|---|---|---|---|",
    ]
    for name, rate in rates.items():
        gains = found.get(name)
        cells = ["–"] * 3
        if gains:
            shown = f"{gains.ratio:.3f} ({gains.low:.3f}–{gains.high:.3f})"
            cells = [f"{gains.greedy:.2f}", f"{gains.drawn:.2f}", shown]
        lines.append(f"| {' | '.join([name, f'{rate:.2f}', *cells])} |")
    verdict = f"Must, where at least {DUE_FROM} is accepted: drawn over greedy at least {DUE:g}: {_verdict(found)}."
    lines += ["", verdict]
    return "\n".join(lines)


def _verdict(found: Mapping[str, Gains]) -> str:
    misses = [name for name, gains in found.items() if gains.ratio < DUE]
    if not found:
        return "no such set"
    return f"NOT met (below: {', '.join(misses)})" if misses else "met"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
