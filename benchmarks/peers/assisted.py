"""Our loop against transformers' assisted generation: the same pair, prompts, lookahead and threads, in turns.

    make bench ARGS="assisted [--pairs tiny,middle,…] [--lookaheads 4] [--tokens 64] [--turns 5] [--threads 1] [--json]"

Each side has the pair loaded for itself in float32 and writes the same greedy replies one after the other, whole calls
timed from prompt ids to the last token, the order rotating, after a warm-up. transformers drafts a constant number of
tokens a round, as we do. Replies must be equal; where they are not, the target's two best logits must lie too close to
tell. A ratio is transformers' time through ours for the same prompt in the same turn; the must is a median of 1.0.

    … ARGS="assisted --sweep [--assistants 3,5,…] [--ours 0,4,…,auto]"

Many settings of both sides, auto against the best of theirs (see assisted_sweep.py for how it is chosen) and against
their defaults; the musts are 1.0 and 1.15.

With one thread the clock is the processor time of the thread that works, so that other programs hardly count.
"""

import argparse
import json
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Any

import transformers

from benchmarks.grown.options import lookaheads
from benchmarks.peers.assisted_pair import GROWN, SHARED, Assistance, Pair, pair_files
from benchmarks.peers.assisted_sweep import meets_musts, sweep_pair, sweep_tables
from engine.errors import GrowthError
from engine.system.machine import describe_machine
from helpers.paths import SHARED_MODELS

MUST = 1.0
ASSISTANTS = (3, 5, 7, 10, 14, 20)
OURS = (0, 4, 8, 12, 16, 24, "auto")
_SLOW = ("large", "full")


@dataclass(frozen=True)
class Run:
    """One prompt in one turn: seconds of each side, and the tokens that both wrote alike."""

    ours: float
    theirs: float
    ours_plain: float
    theirs_plain: float
    tokens: int


def main() -> int:
    """Measure and print: 0 if the must is met, 1 if not."""
    args = _parse()
    switches: Any = transformers.utils.logging
    switches.set_verbosity_error()
    switches.disable_progress_bar()
    report: dict[str, Any] = {"machine": describe_machine(), "tokens": args.tokens, "pairs": []}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            for name in args.pairs:
                report["pairs"] += _measure_pair(name, args)
        except GrowthError as error:
            print(error, file=sys.stderr)
            return 2
    text = sweep_tables(report) if args.sweep else _table(report)
    print(json.dumps(report) if args.json else text)
    if args.sweep:
        return 0 if all(map(meets_musts, report["pairs"])) else 1
    return 0 if min(pair["ratio"] for pair in report["pairs"]) >= MUST else 1


def _measure_pair(name: str, args: argparse.Namespace) -> list[dict[str, Any]]:
    """The figures of a pair: one entry, or one for each lookahead."""
    _say(f"{name}…")
    target, draft = pair_files(name, _say)
    pair = Pair(target, draft, args.threads)
    try:
        if args.sweep:
            return [{"pair": name} | sweep_pair(pair, args, _say)]
        found = []
        for lookahead in args.lookaheads:
            found.append(_summary(name, pair, lookahead, _measure(pair, lookahead, args)))
            _say("  " + _line(found[-1]))
        return found
    finally:
        pair.decoder.close()


def _parse() -> argparse.Namespace:
    def numbers(text: str) -> list[int]:
        return [int(item) for item in text.split(",")]

    known = ["tiny", *GROWN, *(name for name in SHARED if SHARED_MODELS.is_dir())]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--pairs",
        type=lambda text: text.split(","),
        default=[name for name in known if name not in _SLOW],
        metavar="NAME,…",
        help=f"of {', '.join(known)} (all but large and full)",
    )
    parser.add_argument("--lookaheads", type=numbers, default=[4], metavar="N,…")
    parser.add_argument("--prompts", type=int, default=4, metavar="N")
    parser.add_argument("--tokens", type=int, default=64, metavar="N", help="of each reply at most (64)")
    parser.add_argument("--turns", type=int, default=5, metavar="N")
    parser.add_argument("--threads", type=int, metavar="N", help="for both sides (what we would choose)")
    parser.add_argument("--sweep", action="store_true", help="the best settings of both sides instead of one lookahead")
    parser.add_argument("--assistants", type=numbers, default=list(ASSISTANTS), metavar="N,…", help="theirs, swept")
    parser.add_argument("--ours", type=lookaheads, default=list(OURS), metavar="N,…", help="ours, swept")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if not set(args.pairs) <= set(known):
        parser.error(f"pairs are {', '.join(known)}")
    if args.sweep and (args.turns < 2 or not {0, "auto"} < set(args.ours)):
        parser.error("a sweep needs two turns, and 0, auto and a fixed lookahead among ours")
    return args


def _measure(pair: Pair, lookahead: int, args: argparse.Namespace) -> list[Run]:
    prompts = pair.prompts(args.prompts)
    sides: dict[str, Callable[[Sequence[int]], tuple[float, list[int]]]] = {
        "ours": lambda prompt: pair.ours(prompt, lookahead, args.tokens),
        "theirs": lambda prompt: pair.theirs(prompt, Assistance(lookahead, 0.0), args.tokens),
        "ours_plain": lambda prompt: pair.ours(prompt, 0, args.tokens),
        "theirs_plain": lambda prompt: pair.theirs(prompt, None, args.tokens),
    }
    for measured in sides.values():
        measured(prompts[0])
    runs = []
    names = list(sides)
    for turn in range(args.turns):
        for prompt in prompts:
            found = {name: sides[name](prompt) for name in names[turn % 4 :] + names[: turn % 4]}
            for name in ("ours", "theirs", "ours_plain"):
                if not pair.too_close(prompt, found["theirs_plain"][1], found[name][1]):
                    raise SystemExit(f"{name} wrote other tokens than transformers' plain decoding: no comparison.")
            runs.append(Run(**{name: seconds for name, (seconds, _) in found.items()}, tokens=len(found["ours"][1])))
    return runs


def _summary(name: str, pair: Pair, lookahead: int, runs: list[Run]) -> dict[str, Any]:
    assert pair.decoder.target is not None
    ratios = [run.theirs / run.ours for run in runs]
    low, _, high = quantiles(ratios, n=4)
    speeds = {
        side: median(run.tokens / getattr(run, side) for run in runs)
        for side in ("ours", "theirs", "ours_plain", "theirs_plain")
    }
    return {
        "pair": name,
        "parameters": pair.decoder.target.parameters,
        "threads": pair.threads,
        "lookahead": lookahead,
        "tokens_per_second": speeds,
        "ratio": median(ratios),
        "quartiles": [low, high],
        "range": [min(ratios), max(ratios)],
        "plain_ratio": median(run.theirs_plain / run.ours_plain for run in runs),
        "runs": len(runs),
    }


def _table(report: dict[str, Any]) -> str:
    how = (
        f"The same float32 pair, greedy replies of {report['tokens']} equal tokens at most, as many proposed tokens a "
        f"round, in turns. A ratio is their time through ours (quartiles); the must is {MUST:.1f}."
    )
    lines = [
        "## Our loop against transformers' assisted generation",
        "",
        how,
        "",
        "| target, weights | threads | lookahead | ours, tokens/s | assisted, tokens/s | ratio | plain: ours, theirs |",
        "|---|---|---|---|---|---|---|",
    ]
    return "\n".join([*lines, *map(_line, report["pairs"])])


def _line(found: dict[str, Any]) -> str:
    speed, (low, high) = found["tokens_per_second"], found["quartiles"]
    cells = [
        f"{found['pair']}, {found['parameters'] / 1e6:,.1f} M",
        str(found["threads"]),
        str(found["lookahead"]),
        f"{speed['ours']:.1f}",
        f"{speed['theirs']:.1f}",
        f"{found['ratio']:.2f} ({low:.2f}–{high:.2f})",
        f"{speed['ours_plain']:.1f}, {speed['theirs_plain']:.1f}",
    ]
    return f"| {' | '.join(cells)} |"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
