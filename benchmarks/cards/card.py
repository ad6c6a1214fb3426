"""Measure a graphics card's gain, with the target and the draft on it and beside it, and its forward costs.

    make setup LLAMA=cuda
    make bench ARGS="card [--tests] [--pairs qwen,FILE,FILE+DRAFT…] [--tokens 40] [--repeats 3]"

*Where it computes*: on the card, on the processor and shared, whose kernels compute, and at which sizes of a forward a
row is the same bits as alone. *Costs*: milliseconds of a forward of 1 to 33 tokens, the same size over and over and
after another size, and what the engine's own calibration made of it. *Ways*: `python -m engine bench` with each model
on the card and beside it. The pairs are published ones (see real/real_models.py) or files; the processor computes the
first one's target too. `--tests` runs the suite's tests for cards first.

Gives 0 if the musts are met, 1 if not, 2 if it could not be measured, as where there is no card.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.cards.card_figures import PLACES_OF_TARGET, SIZES, TESTS, find_musts, show
from benchmarks.real.real_models import find_pairs, models_folder
from engine.backends.base import Backend
from engine.backends.invariance import measure_row_difference
from engine.backends.llama_cpp import library
from engine.backends.llama_cpp.backend import LlamaCppBackend
from engine.config import LoadConfig
from engine.errors import EngineError
from engine.lookahead.calibration import calibrate
from engine.system.installation import gpu_library_installed
from helpers.paths import ROOT

ALL, NONE = -1, 0
PLACES = {
    "both on the card": (ALL, ALL),
    "target on the card, draft beside it": (ALL, NONE),
    "target beside the card, draft on it": (NONE, ALL),
    "both beside it": (NONE, NONE),
}
LOOKS = dict(zip(PLACES_OF_TARGET, (ALL, 8, NONE), strict=True))
_CONTEXT, _IN_A_ROW = 128, 5
"""Tokens in the cache when a forward is timed; forwards of one size, of which the last three count."""


@dataclass(frozen=True)
class Pair:
    """A target and its draft, or none."""

    name: str
    target: Path
    draft: Path | None


def main() -> int:
    """Measure and print: see above."""
    args = _parse()
    library.prepare_library()
    lacking = no_card()
    if lacking:
        print(lacking, file=sys.stderr)
        return 2
    report: dict[str, Any] = {"cards": describe_cards(), "tests": run_tests() if args.tests else None, "pairs": {}}
    try:
        pairs = [find_pair(name) for name in args.pairs]
        report["places"] = {name: look_at(pairs[0].target, layers) for name, layers in LOOKS.items()}
        for pair in pairs:
            found = report["pairs"][pair.name] = {"costs": measure_costs(pair, args.sweeps), "ways": {}}
            _keep(report, args.json)
            for place, layers in PLACES.items():
                if (layers[0] == ALL or pair is pairs[0]) and (pair.draft or layers[0] == layers[1]):
                    found["ways"][place] = run_bench(pair, layers, args)
                    _keep(report, args.json)
    except (EngineError, BenchFailed) as error:
        print(error, file=sys.stderr)
        return 2
    musts = find_musts(report)
    print(show(report, musts))
    return 0 if all(musts.values()) else 1


class BenchFailed(Exception):
    """The engine's command failed to measure; the message holds its output."""


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--tests", action="store_true", help=f"run {TESTS} first")
    add("--pairs", type=lambda text: text.split(","), default=["qwen"], metavar="NAME,…")
    add("--lookaheads", default="2,4,8", metavar="N,…")
    add("--temperature", type=float, default=0.0, metavar="X")
    add("--tokens", type=int, default=40, metavar="N", help="of each reply at most (40)")
    add("--repeats", type=int, default=3, metavar="N", help="how often each reply is measured (3)")
    add("--sweeps", type=int, default=9, metavar="N", help="how often each size is measured (9)")
    add("--json", type=Path, metavar="FILE", help="where all figures are written too")
    return parser.parse_args()


def _keep(report: Mapping[str, Any], path: Path | None) -> None:
    """Write the report so far, in case the run is ended early."""
    if path is not None:
        path.write_text(json.dumps(report), encoding="utf-8")


def no_card() -> str:
    """Explain the lack of a card in a sentence; "" if there is one."""
    if library.card_names():
        return ""
    if not gpu_library_installed():
        return "This llama.cpp was compiled without graphics cards. Set it up with: make setup LLAMA=cuda (or vulkan)"
    return "llama.cpp finds no graphics card that it can use. Install the driver of the card."


def describe_cards() -> list[str]:
    """List llama.cpp's name of each card, with the maker's name."""
    return [
        f"{name} ({description})"
        for name, description in zip(
            library.card_names(), library._card_facts("ggml_backend_dev_description"), strict=True
        )
    ]


def find_pair(name: str) -> Pair:
    """Find the pair of a name: a published one, or files."""
    for pair in find_pairs(models_folder()):
        if pair.name == name:
            return Pair(name, pair.target, pair.draft)
    target, _, draft = name.partition("+")
    return Pair(Path(target).stem, Path(target), Path(draft) if draft else None)


def run_tests() -> str:
    """Run the suite's tests for cards with this llama.cpp; return pytest's last line."""
    command = [sys.executable, "-m", "pytest", "-q", "-m", "soak", TESTS]
    environment = {**os.environ, "OUTRIDER_CARDS_LLAMA": str(library.module_folder())}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    sys.stderr.write(done.stdout + done.stderr)
    return (done.stdout.strip().splitlines() or ["nothing"])[-1].strip("= ")


def look_at(path: Path, layers: int) -> dict[str, Any]:
    """Load a target with so many layers on the card; return its devices and the rows' dependence on each other."""
    began = perf_counter()
    backend = LlamaCppBackend.open(LoadConfig(path, gpu_layers=layers, trusted=True))
    try:
        return {
            "device": backend.device,
            "own_kernels": backend.own_kernels,
            "load_s": perf_counter() - began,
            "noted_difference": measure_row_difference(backend),
            "differences": row_differences(backend),
            "token_ms": median(_timed(backend, _text(backend), 1) for _ in range(9)),
        }
    finally:
        backend.close()


def row_differences(backend: Backend) -> dict[int, float]:
    """Measure the largest difference, by n, of the last row of a forward of n tokens from the same token's alone."""
    text, found = _text(backend), {}
    for size in SIZES:
        _begin(backend)
        together = backend.forward(text[:size], size)[-1].copy()
        _begin(backend)
        # One by one: what is in the cache is then plain decoding's.
        alone = [backend.forward([token], 1)[0].copy() for token in text[:size]][-1]
        found[size] = float(np.abs(together - alone).max())
    return found


def _text(backend: Backend) -> list[int]:
    told = "the story of a dog and a boat " * 40
    return list(backend.tokenizer.encode(told, add_special=False, parse_special=False))


def _begin(backend: Backend) -> None:
    """Leave the same tokens in the cache."""
    if backend.length < _CONTEXT:
        backend.forward(_text(backend)[backend.length : _CONTEXT], 0)
    backend.truncate(_CONTEXT)


def measure_costs(pair: Pair, sweeps: int) -> dict[str, Any]:
    """Measure forwards of the target on the card, a draft's token on and beside it, and calibration's estimate."""
    _say(f"{pair.name}: costs…")
    target = LlamaCppBackend.open(LoadConfig(pair.target, gpu_layers=ALL, trusted=True))
    try:
        found = {
            "weight_bytes": target.weight_bytes,
            "in_a_row": forwards_in_a_row(target, sweeps),
            "after_another": forwards_after_another(target, sweeps),
        }
        began = perf_counter()
        calibrated = calibrate(target, None)
        found["calibration_s"] = perf_counter() - began
        found["calibrated"] = {size: calibrated.verify(size) for size in SIZES}
    finally:
        target.close()
    if pair.draft is not None:
        found["draft"] = {"card": _draft_ms(pair.draft, ALL), "processor": _draft_ms(pair.draft, NONE)}
    return found


def forwards_in_a_row(backend: Backend, sweeps: int) -> dict[int, float]:
    """Milliseconds of a forward of n tokens that follows others of the same size, by n."""
    times: dict[int, list[float]] = {size: [] for size in SIZES}
    for _ in range(sweeps):
        for size in SIZES:
            times[size] += [_timed(backend, _text(backend), size) for _ in range(_IN_A_ROW)][2:]
    return {size: median(found) for size, found in times.items()}


def forwards_after_another(backend: Backend, sweeps: int) -> dict[int, float]:
    """Milliseconds of a forward of n tokens that follows one of another size, by n."""
    times: dict[int, list[float]] = {size: [] for size in SIZES}
    for sweep in range(3 * sweeps):
        order = np.random.default_rng(sweep).permutation(list(SIZES)).tolist()
        for size in order:
            times[size].append(_timed(backend, _text(backend), size))
    return {size: median(found) for size, found in times.items()}


def _timed(backend: Backend, text: Sequence[int], size: int) -> float:
    _begin(backend)
    began = perf_counter()
    # The rows are read, as a verification does: until then a card may still be computing.
    float(backend.forward(text[_CONTEXT : _CONTEXT + size], size)[-1, 0])
    return 1000.0 * (perf_counter() - began)


def _draft_ms(path: Path, layers: int) -> float:
    draft = LlamaCppBackend.open(LoadConfig(path, gpu_layers=layers, trusted=True))
    try:
        text = _text(draft)
        return median(_timed(draft, text, 1) for _ in range(50))
    finally:
        draft.close()


def run_bench(pair: Pair, layers: tuple[int, int], args: argparse.Namespace) -> dict[str, Any]:
    """The report of the engine's command, without the single replies. Raises BenchFailed."""
    _say(f"{pair.name}: layers {layers}…")
    sizes = {"repeats": args.repeats, "max-tokens": args.tokens, "temperature": args.temperature}
    places = {"gpu-layers": layers[0], "draft-gpu-layers": layers[1]}
    options = {"target": pair.target, "draft": pair.draft or "none", "lookaheads": args.lookaheads, **sizes, **places}
    command = [
        sys.executable,
        "-m",
        "engine",
        "bench",
        "--json",
        *(f"--{name}={each}" for name, each in options.items()),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BenchFailed(f"`engine bench` ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    report: dict[str, Any] = json.loads(done.stdout)
    del report["replies"]
    return report


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
