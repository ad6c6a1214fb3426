"""Whether auto holds its promise with the smallest models, where a token takes a fraction of a millisecond.

    make bench ARGS="smallest [--models demo,16,100] [--temperatures 0,0.8] [--tokens 16,64,256] [--turns 6]
                              [--prompts 2] [--lookaheads 1,2,3,4,6,8] [--json]"

The bundled pair, and targets of 16 and of 100 million weights grown from it: plain decoding, fixed lookaheads and auto
write the same prompts in turns, in an order of chance. The best way besides auto is chosen on every second turn and
compared on the others, then the other way round, so that no luck of the choice counts. Speeds: all tokens of a way by
all their time after the prompt; the spread is the middle 90 % of bootstrap samples of turns. A must is met where it
lies below the upper end of the spread. Gives 0 if the musts are met, 1 if not, 2 if it could not be measured.
"""

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import LoadConfig, SpeculativeDecoder, bundled_pair
from engine.bench.prompts import bundled_prompts
from engine.errors import GrowthError
from engine.growth.arithmetic import GrownShape
from engine.growth.grown import grown_target

OVER_PLAIN, OVER_BEST = 0.98, 0.96
SHAPES = {"16": GrownShape(4, 512, 1408), "100": GrownShape(8, 1024, 2816)}
"""Millions of weights, and the shape of a target that has so many. `demo` is the bundled target itself."""
_SAMPLES, _SPREAD = 1000, (0.05, 0.95)
_PLAIN, _AUTO = "0", "auto"

Table = Mapping[str, NDArray[np.float64]]
"""By way: a row of tokens and seconds for each turn."""


@dataclass(frozen=True)
class Compared:
    """Auto's speed over another's: of all turns, and the ends of its spread. `other`: whose speed it is."""

    other: str
    ratio: float
    low: float
    high: float


def compare_plain(table: Table) -> Compared:
    """Auto over plain decoding."""
    return _compared(_PLAIN, table, lambda turns: _ratio(table, turns, _PLAIN))


def compare_best(table: Table) -> Compared:
    """Auto over the way that won the turns of the other half; `other` names both winners."""
    count = len(table[_AUTO])
    halves = [np.arange(half, count, 2) for half in (0, 1)]
    best = [_best(table, half) for half in reversed(halves)]

    def ratio(turns: NDArray[np.int64]) -> float:
        parts = [turns[turns % 2 == half] for half in (0, 1)]
        found = [_ratio(table, part, way) for part, way in zip(parts, best, strict=True) if len(part)]
        return float(np.exp(np.mean(np.log(found))))

    return _compared("/".join(dict.fromkeys(best)), table, ratio)


def _compared(other: str, table: Table, ratio: Callable[[NDArray[np.int64]], float]) -> Compared:
    count, random = len(table[_AUTO]), np.random.default_rng(0)
    samples = [ratio(random.integers(count, size=count)) for _ in range(_SAMPLES)]
    low, high = np.quantile(samples, _SPREAD)
    return Compared(other, ratio(np.arange(count)), float(low), float(high))


def _best(table: Table, turns: NDArray[np.int64]) -> str:
    return max((way for way in table if way != _AUTO), key=lambda way: _speed(table[way][turns]))


def _ratio(table: Table, turns: NDArray[np.int64], way: str) -> float:
    return _speed(table[_AUTO][turns]) / _speed(table[way][turns])


def _speed(rows: NDArray[np.float64]) -> float:
    tokens, seconds = rows.sum(axis=0)
    return float(tokens / seconds)


def main() -> int:
    """Measure and print."""
    args = _parse()
    found: dict[str, dict[str, Any]] = {}
    try:
        for model in args.models:
            target = grown_target("q8_0", SHAPES[model], folder=args.to, say=_say) if model in SHAPES else None
            with SpeculativeDecoder() as decoder:
                decoder.attach_target(LoadConfig(target or bundled_pair()[0], trusted=True))
                decoder.attach_draft(LoadConfig(bundled_pair()[1], trusted=True))
                for temperature in args.temperatures:
                    for tokens in args.tokens:
                        table = _measure(decoder, temperature, tokens, args)
                        speed = _speed(table[_PLAIN])
                        compared = {"plain": compare_plain(table), "best": compare_best(table)}
                        case = f"{model}, {temperature:g}, {tokens} tokens"
                        found[case] = {"plain_speed": speed} | {name: asdict(each) for name, each in compared.items()}
    except GrowthError as error:
        _say(str(error))
        return 2
    met = not misses(found)
    print(json.dumps({"cases": found, "met": met}) if args.json else show_smallest(found))
    return 0 if met else 1


def misses(found: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The cases in which a must is not met, its spread counted."""
    dues = {"plain": OVER_PLAIN, "best": OVER_BEST}
    return [case for case, each in found.items() if any(each[name]["high"] < due for name, due in dues.items())]


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--models", type=lambda text: text.split(","), default=["demo", *SHAPES], metavar="NAME,…")
    add("--temperatures", type=lambda text: [float(item) for item in text.split(",")], default=[0.0, 0.8])
    add("--tokens", type=lambda text: [int(item) for item in text.split(",")], default=[16, 64, 256])
    add("--lookaheads", type=lambda text: text.split(","), default=["1", "2", "3", "4", "6", "8"])
    add("--turns", type=int, default=6, metavar="N", help="how often each reply is measured; 2 or more (6)")
    add("--prompts", type=int, default=2, metavar="N", help="of each of the bundled sets (2)")
    add("--to", type=Path, metavar="FOLDER", help="where grown models are kept (the user's cache)")
    add("--json", action="store_true")
    args = parser.parse_args()
    if not set(args.models) <= {"demo", *SHAPES} or args.turns < 2:
        parser.error(f"models are demo, {', '.join(SHAPES)}; and there are 2 turns at least")
    return args


def _measure(decoder: SpeculativeDecoder, temperature: float, tokens: int, args: argparse.Namespace) -> Table:
    """Plain decoding, the fixed lookaheads and auto, in turns; the first turn warms up and teaches."""
    ways: dict[str, Any] = {_PLAIN: 0, **{way: int(way) for way in args.lookaheads}, _AUTO: _AUTO}
    rows = {way: np.zeros((args.turns, 2)) for way in ways}
    for turn in range(-1, args.turns):
        random = Random(turn)
        _say(f"  temperature {temperature:g}, {tokens} tokens: turn {turn + 1} of {args.turns}")
        for prompt in random.sample(bundled_prompts(args.prompts), len(bundled_prompts(args.prompts))):
            for way in random.sample(list(ways), len(ways)):
                drawn = {"temperature": temperature, "seed": random.randrange(2**31)} if temperature else {}
                options = {"lookahead": ways[way], "max_tokens": tokens, **drawn}
                stats = decoder.generate(prompt.prompt, **options).stats
                if turn >= 0:
                    rows[way][turn] += stats.emitted, (stats.total_ms - stats.prompt_ms) / 1000.0
    return rows


def show_smallest(found: Mapping[str, Mapping[str, Any]]) -> str:
    """For people, and for RESULTS.md."""
    how = (
        "Bundled sets of prompts; plain decoding, fixed lookaheads and auto in turns. The best way is chosen on every "
        "second turn and compared on the others, both ways round. Tokens by time after the prompt (middle 90 % of "
        f"{_SAMPLES:,} bootstrap samples of turns)."
    )
    lines = [
        "## Auto with the smallest models",
        "",
        how,
        "",
        "| target, temperature, tokens at most | plain, tokens/s | auto / plain | auto / best | best |",
        "|---|---|---|---|---|",
    ]
    for case, each in found.items():
        plain, best = (_shown(each[name]) for name in ("plain", "best"))
        lines.append(f"| {case} | {each['plain_speed']:,.0f} | {plain} | {best} | {each['best']['other']} |")
    missed = misses(found)
    verdict = f"NOT met ({'; '.join(missed)})" if missed else "met"
    musts = f"at least {OVER_PLAIN:g} times plain decoding and {OVER_BEST:g} times the best, spread counted"
    return "\n".join([*lines, "", f"Must: auto at {musts}: {verdict}."])


def _shown(compared: Mapping[str, Any]) -> str:
    return f"{compared['ratio']:.3f} ({compared['low']:.3f}–{compared['high']:.3f})"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
