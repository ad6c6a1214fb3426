"""What a forward of several tokens costs a mixture of experts, against how many experts it needs.

    make bench ARGS="experts [--models gpt-oss,qwen3-q4_k,qwen3-q8_0] [--layers 3] [--sweeps 9] [--threads 2]"

Random weights in the shapes of gpt-oss-20b (experts in MXFP4) and Qwen3-30B-A3B (in Q4_K and in Q8_0), with fewer
layers and a smaller vocabulary; the other matrices are in Q8_0. Forwards of each size take turns, each of tokens drawn
anew behind 64 others. The experts that the tokens of a forward are sent to are counted in every layer as the router
chose them. The must: five tokens cost at most 1.15 times as much more than one as they need more experts. Gives 0 if
that is met, 1 if not.
"""

import argparse
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.experts.routed_forwards import RoutedForwards
from benchmarks.machine import Quiet
from helpers.weights.expert_model import GPT_OSS, QWEN3, ExpertShape, write_expert_model

SIZES = (1, 2, 3, 5, 8, 16, 128)
MUST_SIZE, MUST = 5, 1.15
BEFORE = 64
"""Tokens in the cache before each forward."""
MODELS: dict[str, tuple[ExpertShape, str]] = {
    "gpt-oss": (GPT_OSS, "MXFP4"),
    "qwen3-q4_k": (QWEN3, "Q4_K"),
    "qwen3-q8_0": (QWEN3, "Q8_0"),
}


@dataclass(frozen=True)
class Found:
    """What forwards of a size cost and needed: milliseconds of each, and distinct experts of each and every layer."""

    ms: list[float]
    experts: list[float]


def measure(path: Path, shape: ExpertShape, sweeps: int, threads: int, quiet: Quiet) -> dict[int, Found]:
    """Forwards of all sizes in turns; the first sweep warms up and does not count."""
    rng = np.random.default_rng(0)
    found = {size: Found([], []) for size in SIZES}
    with RoutedForwards(path, threads) as model:
        model.begin(rng.integers(3, shape.vocabulary, BEFORE).tolist())

        def one(size: int) -> tuple[float, float]:
            tokens = rng.integers(3, shape.vocabulary, size).tolist()
            return model.time(tokens), model.count_experts(tokens)

        for sweep in range(sweeps + 1):
            results = quiet.measure(lambda: [(size, *one(size)) for size in SIZES])
            for size, took, experts in results if sweep else ():
                found[size].ms.append(took)
                found[size].experts.append(experts)
    return found


def main() -> int:
    """Measure, and print the tables."""
    args = _parse()
    quiet = Quiet(args.patience)
    how = (
        f"Random weights, {args.layers} layers, vocabulary 32,000, {args.threads} threads; {args.sweeps} forwards of "
        f"each size in turns, of other tokens each time, behind {BEFORE} tokens. Medians (middle half). Experts: how "
        "many different ones a layer used. Both ratios are against one token; the must: at "
        f"{MUST_SIZE} tokens the time's is at most {MUST} times the experts'."
    )
    lines = ["## What a mixture of experts costs by the tokens of a forward", "", how]
    met = True
    for name in args.models:
        shape, kind = MODELS[name]
        shape = replace(shape, layers=args.layers)
        with tempfile.TemporaryDirectory() as folder:
            _say(f"{name}: writing {shape.expert_weights / 1e6:,.0f} M weights…")
            path = write_expert_model(Path(folder) / "experts.gguf", shape, kind)
            found = measure(path, shape, args.sweeps, args.threads, quiet)
        lines += ["", *_table(name, shape, kind, found)]
        met &= _share(found, MUST_SIZE) <= MUST
    lines += ["", f"The must is {'met' if met else '**not** met'}."]
    print("\n".join(lines))
    return 0 if met else 1


def _share(found: dict[int, Found], size: int) -> float:
    """By how much the time grew more than the number of experts."""
    return _ratio(found, size) / (float(np.mean(found[size].experts)) / float(np.mean(found[1].experts)))


def _ratio(found: dict[int, Found], size: int) -> float:
    return float(np.median(found[size].ms) / np.median(found[1].ms))


def _table(name: str, shape: ExpertShape, kind: str, found: dict[int, Found]) -> list[str]:
    what = f"{shape.experts} experts in {kind}, {shape.used} for a token, {shape.width} wide, {shape.inner} inside"
    lines = [
        f"**{name}**: {what}.",
        "",
        "| tokens | ms | against one | experts | against one | time by experts |",
        "|---|---|---|---|---|---|",
    ]
    one = float(np.mean(found[1].experts))
    for size, each in found.items():
        low, middle, high = np.quantile(each.ms, (0.25, 0.5, 0.75))
        experts = float(np.mean(each.experts))
        lines.append(
            f"| {size} | {middle:.1f} ({low:.1f}–{high:.1f}) | {_ratio(found, size):.2f} | {experts:.1f} "
            f"| {experts / one:.2f} | {_share(found, size):.2f} |"
        )
    return lines


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=lambda text: text.split(","), default=list(MODELS), metavar="NAME,…")
    parser.add_argument("--layers", type=int, default=3, metavar="N")
    parser.add_argument("--sweeps", type=int, default=9, metavar="N")
    parser.add_argument("--threads", type=int, default=2, metavar="N")
    parser.add_argument("--patience", type=float, default=60.0, metavar="SECONDS", help="to wait for other programs")
    args = parser.parse_args()
    if not set(args.models) <= set(MODELS):
        parser.error(f"models are {', '.join(MODELS)}")
    return args


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
