"""Whether cost grows with the context as it should: speed, memory, and our own work.

    make bench ARGS="context [--parts depth,memory,long] [--pairs demo,q8_0] [--threads 1] [--json]"

*depth*: tokens/s behind 4,096 tokens of context against 128, plain and speculative, in turns. Speculation should keep
the share of its speed that plain decoding keeps, within 5 %. The demo models were trained for 2,048 tokens and write
nonsense behind that; so the draft runs as ever, but what it proposes is set: right in the same places at both depths
(see context_models.py), and auto asks no n-gram index. *memory*: bytes for each token of context against keys and
values. *long*: microseconds of each round outside the models through a reply of 10,000 tokens, with the slope.

With one thread the clock is the processor time of the thread that works, so that other programs hardly count.
"""

import argparse
import json
import sys
from typing import Any

from benchmarks.context.context_parts import LONG, SHORT, measure_depth, measure_long, measure_memory
from benchmarks.grown.options import listed, lookaheads
from engine.errors import GrowthError
from engine.growth.arithmetic import FULL, GrownShape
from engine.system.machine import describe_machine

PARTS = ("depth", "memory", "long")
PAIRS = ("demo", "q8_0", "q4_0")


def main() -> int:
    """Measure and print: 0. Where there is no workload: why, and 2."""
    args = _parse()
    shape = GrownShape(args.layers, args.width, args.feed_forward)
    report: dict[str, Any] = {"machine": describe_machine(), "threads": args.threads, "shape": str(shape)}
    report |= {"share": args.share, "tokens": args.tokens}
    try:
        if "depth" in args.parts:
            report["depth"] = {}
            for name in args.pairs:
                _say(f"{name}…")
                report["depth"][name] = measure_depth(name, shape, args, _say)
        if "memory" in args.parts:
            report["memory"] = measure_memory(shape, _say)
        if "long" in args.parts:
            report["long"] = measure_long(args.long, _say)
    except (GrowthError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    print(json.dumps(report) if args.json else _tables(report))
    return 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", type=listed, default=list(PARTS), metavar="PART,…", help=f"of {', '.join(PARTS)}")
    parser.add_argument(
        "--pairs", type=listed, default=["demo", "q8_0"], metavar="NAME,…", help=f"of {', '.join(PAIRS)}"
    )
    parser.add_argument("--lookaheads", type=lookaheads, default=[0, 2, 4, 8, "auto"], metavar="N,…")
    parser.add_argument(
        "--share", type=float, default=0.8, metavar="X", help="of places where the draft is right (0.8)"
    )
    parser.add_argument("--tokens", type=int, default=96, metavar="N", help="of each reply (96)")
    parser.add_argument("--turns", type=int, default=5, metavar="N", help="how often each reply is measured (5)")
    parser.add_argument("--warm-up", type=int, default=3, metavar="N", help="replies of auto before that (3)")
    parser.add_argument("--long", type=int, default=10_000, metavar="N", help="tokens of the long replies (10,000)")
    parser.add_argument(
        "--threads", type=int, default=2, metavar="N", help="of the target, where depth is measured (2)"
    )
    parser.add_argument("--layers", type=int, default=FULL.layers, metavar="N")
    parser.add_argument("--width", type=int, default=FULL.width, metavar="N")
    parser.add_argument("--feed-forward", type=int, default=FULL.feed_forward, metavar="N")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if not set(args.parts) <= set(PARTS) or not set(args.pairs) <= set(PAIRS):
        parser.error(f"parts are {', '.join(PARTS)}; pairs are {', '.join(PAIRS)}")
    if 0 not in args.lookaheads:
        parser.error("the lookaheads need 0, plain decoding, to compare with")
    return args


# Tables ---------------------------------------------------------------------------------------------------------------


def _tables(report: dict[str, Any]) -> str:
    lines = ["## What a long context costs", "", "Medians (middle half)."]
    for name, found in report.get("depth", {}).items():
        threads = "1 thread, processor time" if report["threads"] == 1 else f"{report['threads']} threads"
        title = "The demo pair" if name == "demo" else f"The target grown to {report['shape']} in {name.upper()}"
        lines += ["", f"{title}, {threads}, tokens/s of replies of {report['tokens']} tokens:", ""]
        lines += _depth_table(found)
    if "memory" in report:
        lines += ["", "| memory for a token of context | measured | keys and values | ratio |", "|---|---|---|---|"]
        for name, memory in report["memory"].items():
            measured, arithmetic = memory["measured"], memory["arithmetic"]
            lines.append(f"| {name} | {measured:,.0f} | {arithmetic:,.0f} | {measured / arithmetic:.3f} |")
    if "long" in report:
        lines += _long_table(report["long"])
    return "\n".join(lines)


def _depth_table(found: dict[str, Any]) -> list[str]:
    lines = [
        f"| lookahead | behind {SHORT} | behind {LONG:,} | kept | against what plain keeps | acceptance rate |",
        "|---|---|---|---|---|---|",
    ]
    for name, row in found.items():
        rates = "–" if name == "plain" else " and ".join(f"{rate:.2f}" for rate in row["acceptance"])
        lines.append(
            f"| {name} | {_shown(row['short'], 1)} | {_shown(row['long'], 1)} | {_shown(row['kept'])} "
            f"| {row['against_plain']:.2f} | {rates} |"
        )
    return lines


def _long_table(found: dict[str, Any]) -> list[str]:
    count = max(len(row["by_thousand"]) for row in found.values())
    heads = " | ".join(f"{n + 1}" for n in range(count))
    what = (
        "Microseconds of a round outside the models, by thousands of tokens of the reply; one thread, processor "
        "time. What the demo pair reads takes the processor's caches from Python, so a pair of models of no size tells "
        "whether our own work grows. Slope: for each thousand, ± its standard error."
    )
    lines = [
        "",
        what,
        "",
        f"| | {heads} | slope |",
        "|---|" + "---|" * (count + 1),
    ]
    for name, row in found.items():
        cells = [f"{value:.0f}" for value in row["by_thousand"]]
        cells += [""] * (count - len(cells))
        lines.append(f"| {name} | {' | '.join(cells)} | {row['slope']:.2f} ± {row['error']:.2f} |")
    return lines


def _shown(spread: dict[str, float], digits: int = 2) -> str:
    return f"{spread['median']:.{digits}f} ({spread['low']:.{digits}f}–{spread['high']:.{digits}f})"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
