"""What lookahead gains on a target of a real model's size: the grown demo target with the demo draft.

    make bench ARGS="workload [--kinds q8_0,q4_0,f16] [--parts speed,verify]"

*speed*: greedy replies to held-out prompts of each category, plain and with each lookahead in turns in one process, the
order rotating, so that a machine that is slow for a while slows all alike; a speedup is the median of ratios to the
plain reply to the same prompt in the same turn. *verify*: what a forward of n tokens costs against one of one token.
Load time and memory are measured on the way.

With `--threads 1` the clock is the processor time of the one thread that works, so that other programs hardly count;
with more it is the time that passes, and what was measured while other programs ran is left out.
"""

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import nan
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter, process_time, thread_time
from typing import Any

import psutil

from benchmarks.grown.options import listed, lookaheads
from benchmarks.machine import Quiet
from engine import GenerationResult, LoadConfig, SpeculativeDecoder, bundled_pair
from engine.backends.base import Backend
from engine.config import Lookahead
from engine.errors import GrowthError
from engine.growth.arithmetic import FULL, GrownKind, GrownShape
from engine.growth.grown import grown_target
from engine.system.machine import describe_machine
from helpers.models.pairs import HELD_OUT

LOOKAHEADS = (0, 1, 2, 4, 8, 16)
SIZES = (1, 2, 3, 4, 5, 8, 9, 16, 17, 33)
_CONTEXT = 128
"""Tokens in the cache when a forward is timed."""
_UNDISTURBED = 0.97
Clock = Callable[[], float]


@dataclass(frozen=True)
class Reply:
    """One measured reply.

    `turn` and `prompt` say which replies it may be compared with; `speed` is tokens/s; `counts` is False where other
    programs took too much of the processors meanwhile for the speed to say anything.
    """

    lookahead: Lookahead
    category: str
    prompt: int
    turn: int
    speed: float
    counts: bool
    result: GenerationResult


def main() -> int:
    """Measure and print: 0. Where there is no workload: why, and 2."""
    args = _parse()
    shape = GrownShape(args.layers, args.width, args.feed_forward)
    report: dict[str, Any] = {"machine": describe_machine(), "threads": args.threads, "shape": str(shape), "kinds": {}}
    for kind in args.kinds:
        try:
            path = grown_target(kind, shape, folder=args.to, say=_say)
        except GrowthError as error:
            print(error, file=sys.stderr)
            return 2
        report["kinds"][kind] = _measure_kind(path, args)
    print(json.dumps(report) if args.json else _tables(report))
    return 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", type=listed, default=["q8_0"], metavar="KIND,…", help="of q8_0, q4_0, f16 (q8_0)")
    parser.add_argument("--parts", type=listed, default=["speed", "verify"], metavar="PART,…", help="speed,verify")
    parser.add_argument("--lookaheads", type=lookaheads, default=list(LOOKAHEADS), metavar="N,…")
    parser.add_argument("--overlap", choices=("off", "on", "auto"), default="off", help="drafting ahead (off)")
    parser.add_argument("--prompts", type=int, default=1, metavar="N", help="of each category (1)")
    parser.add_argument("--tokens", type=int, default=64, metavar="N", help="of each reply at most (64)")
    parser.add_argument("--turns", type=int, default=3, metavar="N", help="how often each reply is measured (3)")
    parser.add_argument("--sweeps", type=int, default=15, metavar="N", help="how often each size is verified (15)")
    parser.add_argument("--patience", type=float, default=600.0, metavar="S", help="to wait for other programs (600)")
    parser.add_argument("--threads", type=int, default=2, metavar="N")
    parser.add_argument("--layers", type=int, default=FULL.layers, metavar="N")
    parser.add_argument("--width", type=int, default=FULL.width, metavar="N")
    parser.add_argument("--feed-forward", type=int, default=FULL.feed_forward, metavar="N")
    parser.add_argument("--to", type=Path, metavar="FOLDER", help="where grown models are kept (the user's cache)")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    kinds: tuple[GrownKind, ...] = ("q8_0", "q4_0", "f16")
    if not set(args.kinds) <= set(kinds) or not set(args.parts) <= {"speed", "verify"}:
        parser.error("kinds are q8_0, q4_0 and f16; parts are speed and verify")
    if 0 not in args.lookaheads:
        parser.error("the lookaheads need 0, plain decoding, to compare with")
    return args


def _measure_kind(path: Path, args: argparse.Namespace) -> dict[str, Any]:
    process = psutil.Process()
    before, began = process.memory_full_info().uss, perf_counter()
    quiet, clock = Quiet(args.patience), thread_time if args.threads == 1 else perf_counter
    with SpeculativeDecoder() as decoder:
        decoder.attach_target(LoadConfig(path, threads=args.threads, trusted=True))
        load_s = perf_counter() - began
        decoder.attach_draft(LoadConfig(bundled_pair()[1], trusted=True))
        assert decoder.target is not None
        decoder.generate("Hello!", max_tokens=4)
        report: dict[str, Any] = {
            "parameters": decoder.target.parameters,
            "weight_bytes": decoder.target.weight_bytes,
            "load_s": load_s,
            "memory_bytes": process.memory_full_info().uss - before,
        }
        if "speed" in args.parts:
            report["speed"] = _speeds(_replies(decoder, quiet, clock, args), args.lookaheads)
        if "verify" in args.parts:
            report["verify"] = _verify_costs(decoder.target, clock, args.sweeps)
    return report | {"repeated": quiet.repeated, "others": quiet.others}


# Speed ----------------------------------------------------------------------------------------------------------------


def prompts_of(per_category: int) -> list[tuple[str, Any]]:
    """Category and prompt, the first few of each category."""
    entries = json.loads(HELD_OUT.read_text(encoding="utf-8"))
    chosen = []
    for category in dict.fromkeys(entry["category"] for entry in entries):
        mine = [entry for entry in entries if entry["category"] == category]
        chosen += [(category, entry.get("prompt") or entry["messages"]) for entry in mine[:per_category]]
    return chosen


def _replies(decoder: SpeculativeDecoder, quiet: Quiet, clock: Clock, args: argparse.Namespace) -> list[Reply]:
    replies = []
    for turn in range(args.turns):
        for number, (category, prompt) in enumerate(prompts_of(args.prompts)):
            first = (turn + number) % len(args.lookaheads)
            for lookahead in args.lookaheads[first:] + args.lookaheads[:first]:
                options = {"lookahead": lookahead, "max_tokens": args.tokens, "overlap": args.overlap}
                speed, result = quiet.measure(partial(_reply, decoder, clock, prompt, options))
                counts = clock is thread_time or quiet.others[-1] <= quiet.limit
                replies.append(Reply(lookahead, category, number, turn, speed, counts, result))
        _say(f"turn {turn + 1} of {args.turns} done")
    return replies


def _reply(
    decoder: SpeculativeDecoder, clock: Clock, prompt: Any, options: dict[str, Any]
) -> tuple[float, GenerationResult]:
    """Tokens/s, the prompt being in the caches already, and the result."""
    decoder.generate(prompt, **options | {"max_tokens": 2})
    began = clock()
    result = decoder.generate(prompt, **options)
    return result.stats.emitted / (clock() - began), result


def _speeds(replies: list[Reply], lookaheads: list[Lookahead]) -> dict[str, Any]:
    plain = {(reply.prompt, reply.turn): reply for reply in replies if reply.lookahead == 0}
    same = sum(reply.result.tokens == plain[reply.prompt, reply.turn].result.tokens for reply in replies)
    categories = list(dict.fromkeys(reply.category for reply in replies))
    table = {}
    for lookahead in lookaheads:
        mine = [reply for reply in replies if reply.lookahead == lookahead]
        table[lookahead] = _figures(mine, plain) | {
            "by_category": {
                name: _figures([reply for reply in mine if reply.category == name], plain) for name in categories
            }
        }
    return {"replies": len(replies), "same_text": same, "by_lookahead": table}


def _figures(replies: list[Reply], plain: dict[tuple[int, int], Reply]) -> dict[str, Any]:
    proposed = sum(reply.result.stats.proposed for reply in replies)
    rounds = sum(reply.result.stats.rounds for reply in replies)
    counted = [reply for reply in replies if reply.counts]
    pairs = [(reply, plain[reply.prompt, reply.turn]) for reply in counted]
    ratios = [reply.speed / other.speed for reply, other in pairs if other.counts]
    return {
        "tokens_per_second": spread([reply.speed for reply in counted]),
        "speedup": spread(ratios),
        "acceptance_rate": sum(reply.result.stats.accepted for reply in replies) / proposed if proposed else None,
        "mean_length": sum(reply.result.stats.emitted for reply in replies) / rounds,
    }


def spread(values: list[float]) -> dict[str, float] | None:
    """Median, and between which values the middle half lies; None where there are no values."""
    if not values:
        return None
    quarters = quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
    return {"median": median(values), "low": quarters[0], "high": quarters[2], "values": len(values)}


# Cost of a verification -----------------------------------------------------------------------------------------------


def _verify_costs(backend: Backend, clock: Clock, sweeps: int) -> dict[str, Any]:
    """Milliseconds of a forward of n tokens with n rows of logits, and its ratio to the median of one token.

    Only forwards count during which this program had its processors to itself.
    """
    text = backend.tokenizer.encode("the story of a dog and a boat " * 40, add_special=False, parse_special=False)
    backend.truncate(0)
    backend.forward(text[:_CONTEXT], 0)
    found: dict[int, list[float]] = {size: [] for size in SIZES}
    for sweep in range(sweeps + 1):
        for size, times in found.items():
            began, worked, shown = clock(), process_time(), perf_counter()
            backend.forward(text[_CONTEXT : _CONTEXT + size], size)
            seconds, share = clock() - began, (process_time() - worked) / (perf_counter() - shown)
            # Threads that wait for each other spin, so that less than all of the time is time that was taken away.
            if sweep and (clock is thread_time or share > _UNDISTURBED * backend.threads):
                times.append(1000.0 * seconds)
            backend.truncate(_CONTEXT)
    one = median(found[1]) if found[1] else nan
    return {str(size): {"ms": spread(ms), "ratio": spread([each / one for each in ms])} for size, ms in found.items()}


# Tables ---------------------------------------------------------------------------------------------------------------


def _tables(report: dict[str, Any]) -> str:
    where = (
        f"Target on {report['threads']} {'thread, processor time' if report['threads'] == 1 else 'threads'}. "
        "Medians (middle half)."
    )
    only_verify = not any("speed" in found for found in report["kinds"].values())
    title = (
        "What a forward of n tokens costs: the grown demo target"
        if only_verify
        else "Lookahead on the grown demo target"
    )
    lines = [f"## {title} ({report['shape']})", "", where]
    for kind, found in report["kinds"].items():
        size = (
            f"**{kind}**: {found['parameters'] / 1e6:,.0f} M weights, {found['weight_bytes'] / 2**20:,.0f} MiB; loaded "
            f"in {found['load_s']:.1f} s, {found['memory_bytes'] / 2**20:,.0f} MiB of memory with draft and caches. "
        )
        care = (
            f"During {_busy(found['others'])} of {len(found['others'])} replies other programs took more than 5 % of "
            f"the processors{'' if report['threads'] == 1 else '; their speeds are left out'}."
        )
        lines += ["", size + (care if found["others"] else "")]
        if "speed" in found:
            lines += _speed_tables(found["speed"])
        if "verify" in found:
            lines += _verify_table(found["verify"])
    return "\n".join(lines)


def _speed_tables(speed: dict[str, Any]) -> list[str]:
    table = speed["by_lookahead"]
    lines = [
        "",
        f"{speed['same_text']} of {speed['replies']} replies were the plain one, token for token.",
        "",
        "| lookahead | tokens/s | speedup | acceptance rate | mean length |",
        "|---|---|---|---|---|",
    ]
    for lookahead, row in table.items():
        lines.append(
            f"| {lookahead or 'plain'} | {shown(row['tokens_per_second'], 1)} | {shown(row['speedup'])} "
            f"| {_rate(row)} | {row['mean_length']:.2f} |"
        )
    speculative = [lookahead for lookahead in table if lookahead]
    lines += [
        "",
        "Speedup (acceptance rate) by category:",
        "",
        "| category | " + " | ".join(f"lookahead {lookahead}" for lookahead in speculative) + " |",
        "|---|" + "---|" * len(speculative),
    ]
    for category in table[0]["by_category"]:
        cells = (table[lookahead]["by_category"][category] for lookahead in speculative)
        row = " | ".join(f"{_median(cell['speedup'])} ({_rate(cell)})" for cell in cells)
        lines.append(f"| {category} | {row} |")
    return lines


def _verify_table(verify: dict[str, Any]) -> list[str]:
    lines = ["", "| tokens in a forward | ms | against one token | counted |", "|---|---|---|---|"]
    for size, row in verify.items():
        counted = row["ms"]["values"] if row["ms"] else 0
        lines.append(f"| {size} | {shown(row['ms'], 1)} | {shown(row['ratio'])} | {counted} |")
    return lines


def shown(spread: dict[str, float] | None, digits: int = 2) -> str:
    if spread is None:
        return "–"
    return f"{spread['median']:.{digits}f} ({spread['low']:.{digits}f}–{spread['high']:.{digits}f})"


def _median(spread: dict[str, float] | None) -> str:
    return "–" if spread is None else f"{spread['median']:.2f}"


def _busy(others: list[float]) -> int:
    return sum(share > Quiet.limit for share in others)


def _rate(figures: dict[str, Any]) -> str:
    return "–" if figures["acceptance_rate"] is None else f"{figures['acceptance_rate']:.2f}"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
