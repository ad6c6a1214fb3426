"""`make bench`: plain decoding through our loop against llama.cpp's own benchmark, and what our rounds cost.

Both sides decode the same model of half a billion random weights with the same threads and the same libraries, in
turns (ours, theirs, ours, …), so that a machine that is busy for a while slows both. The must is a ratio of 0.95.
"""

import argparse
import json
import os
import platform
import sys
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import psutil

from benchmarks import llama_bench
from benchmarks.overhead import Overhead, measure_overhead
from engine.bundled import bundled_pair
from engine.config import LoadConfig
from engine.cores import default_threads
from engine.decoder import SpeculativeDecoder
from helpers.paths import ROOT
from helpers.random_model import HALF_BILLION, write_random_model

MUST = 0.95
FOLDER = ROOT / "build" / "bench"
BUSY_PERCENT = 10.0


def main() -> int:
    """Measure, print, and give 0 if the must is met, 1 if not, 2 if it could not be measured."""
    args = _parse()
    FOLDER.mkdir(parents=True, exist_ok=True)
    busy = psutil.cpu_percent(interval=3.0)
    try:
        ours, theirs = _measure_pairs(args)
    except llama_bench.NotBuilt as error:
        print(f"llama.cpp's benchmark could not be run: {error}", file=sys.stderr)
        return 2
    overheads = measure_overhead(*bundled_pair())
    report = _report(args, busy, ours, theirs, overheads)
    if args.json:
        print(json.dumps(report))
    else:
        _show(report)
    return 0 if report["ratio"] >= MUST else 1


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=7, metavar="N", help="runs of each side (7)")
    parser.add_argument("--tokens", type=int, default=64, metavar="N", help="tokens of each run (64)")
    parser.add_argument("--threads", type=int, default=default_threads(HALF_BILLION.parameters), metavar="N")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def _measure_pairs(args: argparse.Namespace) -> tuple[list[float], list[float]]:
    """Tokens/s of each run of both sides."""
    _say("building llama.cpp's benchmark, if it is not there yet…")
    program = llama_bench.build(FOLDER)
    model = FOLDER / f"random-{HALF_BILLION.parameters // 10**6}M-Q8_0.gguf"
    if not model.exists():
        _say("writing a model with random weights…")
        write_random_model(model, HALF_BILLION)
    ours: list[float] = []
    theirs: list[float] = []
    for number in range(args.pairs):
        # Loaded anew for each run, as llama-bench does: two copies at once would not leave either its share of memory.
        ours.append(_plain_tokens_per_second(model, args.tokens, args.threads))
        theirs.append(llama_bench.tokens_per_second(program, model, args.tokens, args.threads))
        _say(f"pair {number + 1} of {args.pairs}: ours {ours[-1]:.2f}, llama-bench {theirs[-1]:.2f} tokens/s")
    return ours, theirs


def _plain_tokens_per_second(model: Path, tokens: int, threads: int) -> float:
    with SpeculativeDecoder() as decoder:
        decoder.attach_target(LoadConfig(model, 512, threads, trusted=True))
        # As llama-bench: the first forward touches memory for the first time and does not count.
        decoder.generate([1], max_tokens=1)
        result = decoder.generate([1, 300], max_tokens=tokens)
        if result.stats.plain_tokens != tokens:
            raise llama_bench.NotBuilt(f"the random model ended its text after {result.stats.emitted} tokens.")
        return result.stats.tokens_per_second


def _report(
    args: argparse.Namespace, busy: float, ours: list[float], theirs: list[float], overheads: list[Overhead]
) -> dict[str, Any]:
    ratios = [mine / other for mine, other in zip(ours, theirs, strict=True)]
    return {
        "machine": {
            "processor": _processor(),
            "cores": os.cpu_count(),
            "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
            "system": platform.platform(),
            "python": platform.python_version(),
            "llama_cpp_python": version(llama_bench.PACKAGE),
            "busy_before_percent": busy,
        },
        "parameters": HALF_BILLION.parameters,
        "tokens": args.tokens,
        "threads": args.threads,
        "ours": ours,
        "llama_bench": theirs,
        "ours_median": median(ours),
        "llama_bench_median": median(theirs),
        "ratio": median(ours) / median(theirs),
        "pair_ratios": ratios,
        "overhead": [
            {
                "what": each.name,
                "round_ms": each.round_ms,
                "models_ms": each.models_ms,
                "rest_ms": each.rest_ms,
                "tokens_per_round": each.tokens_per_round,
            }
            for each in overheads
        ],
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


def _show(report: dict[str, Any]) -> None:
    machine, ratios = report["machine"], report["pair_ratios"]
    print(f"\n{machine['processor']}, {machine['cores']} cores, {machine['memory_gib']} GiB, {machine['system']}")
    print(
        f"Python {machine['python']}, llama-cpp-python {machine['llama_cpp_python']}, "
        f"processors {machine['busy_before_percent']:.0f} % busy before"
    )
    if machine["busy_before_percent"] > BUSY_PERCENT:
        print("The machine was busy: these figures are not to be relied on.")
    print(
        f"\nPlain decoding, {report['parameters'] / 1e6:.0f} M parameters Q8_0, "
        f"{report['tokens']} tokens, {report['threads']} threads, {len(ratios)} pairs in turns"
    )
    for name, key in (("ours", "ours"), ("llama-bench", "llama_bench")):
        runs = report[key]
        print(f"  {name:12} median {median(runs):7.2f} tokens/s   ({min(runs):.2f} to {max(runs):.2f})")
    verdict = "met" if report["ratio"] >= MUST else "NOT met"
    print(f"  ratio of the medians {report['ratio']:.3f}   (of single pairs {min(ratios):.3f} to {max(ratios):.3f})")
    print(f"  must: at least {MUST}: {verdict}")
    print("\nOne round with the bundled pair (quickest passes, ms)")
    print(f"  {'':50}{'round':>8}{'models':>8}{'rest':>8}{'tokens':>8}")
    for row in report["overhead"]:
        figures = (row["round_ms"], row["models_ms"], row["rest_ms"], row["tokens_per_round"])
        print(f"  {row['what']:50}" + "".join(f"{figure:8.2f}" for figure in figures))


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
