"""Plain decoding through our loop against llama.cpp's own benchmark.

    make bench ARGS="decoding [--pairs 7] [--tokens 64] [--threads 2,1] [--json]"

Both sides decode the same model of half a billion random weights with the same threads, in turns (ours, theirs, ours,
…), so that a machine that is busy for a while slows both. Ours has the llama.cpp that this project compiles, theirs one
that is compiled as its makers say (see llama_programs.py). The must is a ratio of 0.95.
"""

import argparse
import json
import sys
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.machine import has_own_kernels
from benchmarks.peers import llama_programs
from engine.config import LoadConfig
from engine.decoder import SpeculativeDecoder
from engine.system.machine import default_threads, describe_machine
from helpers.models.random_model import HALF_BILLION, write_random_model
from helpers.paths import ROOT

MUST = 0.95
FOLDER = ROOT / "build" / "bench"


def main() -> int:
    """Measure, print, and give 0 if the must is met, 1 if not, 2 if it could not be measured."""
    args = _parse()
    FOLDER.mkdir(parents=True, exist_ok=True)
    report: dict[str, Any] = {
        "machine": describe_machine(),
        "own_kernels": has_own_kernels(),
        "parameters": HALF_BILLION.parameters,
        "tokens": args.tokens,
        "threads": {},
    }
    try:
        files = _prepare()
        for threads in args.threads:
            report["threads"][threads] = _figures(*_measure_pairs(*files, args, threads))
    except llama_programs.NotBuilt as error:
        print(f"llama.cpp's benchmark could not be run: {error}", file=sys.stderr)
        return 2
    print(json.dumps(report) if args.json else _table(report))
    return 0 if all(found["ratio"] >= MUST for found in report["threads"].values()) else 1


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=7, metavar="N", help="runs of each side (7)")
    parser.add_argument("--tokens", type=int, default=64, metavar="N", help="tokens of each run (64)")
    parser.add_argument(
        "--threads",
        type=lambda text: [int(item) for item in text.split(",")],
        default=list(dict.fromkeys((default_threads(HALF_BILLION.parameters), 1))),
        metavar="N,…",
        help="one after the other (as many as we would take, and 1)",
    )
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def _prepare() -> tuple[Path, Path]:
    """llama.cpp's benchmark and the model. Raises NotBuilt."""
    _say("building llama.cpp and its benchmark, if it is not there yet…")
    program = llama_programs.build_bench(FOLDER)
    model = FOLDER / f"random-{HALF_BILLION.parameters // 10**6}M-Q8_0.gguf"
    if not model.exists():
        _say("writing a model with random weights…")
        write_random_model(model, HALF_BILLION)
    return program, model


def _measure_pairs(
    program: Path, model: Path, args: argparse.Namespace, threads: int
) -> tuple[list[float], list[float]]:
    """Tokens/s of each run of both sides. Raises NotBuilt."""
    ours: list[float] = []
    theirs: list[float] = []
    for number in range(args.pairs):
        # Loaded anew for each run, as llama-bench does: two copies at once would not leave either its share of memory.
        ours.append(_plain_tokens_per_second(model, args.tokens, threads))
        theirs.append(llama_programs.tokens_per_second(program, model, args.tokens, threads))
        _say(f"pair {number + 1} of {args.pairs}: ours {ours[-1]:.2f}, llama-bench {theirs[-1]:.2f} tokens/s")
    return ours, theirs


def _plain_tokens_per_second(model: Path, tokens: int, threads: int) -> float:
    with SpeculativeDecoder() as decoder:
        decoder.attach_target(LoadConfig(model, 512, threads, trusted=True))
        # As llama-bench: the first forward touches memory for the first time and does not count.
        decoder.generate([1], max_tokens=1, lookahead=0)
        result = decoder.generate([1, 300], max_tokens=tokens, lookahead=0)
        if result.stats.plain_tokens != tokens:
            raise llama_programs.NotBuilt(f"the random model ended its text after {result.stats.emitted} tokens.")
        return result.stats.tokens_per_second


def _figures(ours: list[float], theirs: list[float]) -> dict[str, Any]:
    return {
        "ours": ours,
        "llama_bench": theirs,
        "ratio": median(ours) / median(theirs),
        "pair_ratios": [mine / other for mine, other in zip(ours, theirs, strict=True)],
    }


def _table(report: dict[str, Any]) -> str:
    runs = len(next(iter(report["threads"].values()))["ours"])
    how = (
        f"{report['parameters'] / 1e6:.0f} M random weights in Q8_0, {report['tokens']} tokens a run, {runs} on "
        f"each side in turns. Ours {'with' if report['own_kernels'] else 'without'} the kernels of this project; "
        "`llama-bench` on the same llama.cpp as its makers build it. Medians (least to most) of tokens/s; the must is "
        f"a ratio of {MUST}."
    )
    lines = ["## Plain decoding against llama.cpp's own benchmark", "", how, ""]
    lines += [
        "| threads | ours | llama-bench | ratio of the medians | ratios of single pairs |",
        "|---|---|---|---|---|",
    ]
    for threads, found in report["threads"].items():
        verdict = "" if found["ratio"] >= MUST else ", NOT met"
        cells = [_range(found["ours"], 1), _range(found["llama_bench"], 1), f"{found['ratio']:.3f}{verdict}"]
        lines.append(f"| {threads} | {' | '.join(cells)} | {_range(found['pair_ratios'], 2)} |")
    return "\n".join(lines)


def _range(values: list[float], digits: int) -> str:
    return f"{median(values):.{digits}f} ({min(values):.{digits}f}–{max(values):.{digits}f})"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
