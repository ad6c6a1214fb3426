"""Measure our loop's overhead outside the model: a round's time less the time in llama.cpp's decode calls.

All else counts: filling batches, reading logits, drawing, judging, text, statistics, events. A round is taken several
times (a seed repeats it to the last token) and its quickest pass counts, since what another program does to the caches
in the midst of a pass is not ours; the figures are means over the rounds of a reply.

    make bench ARGS="overhead"                      the bundled pair, and random models with a vocabulary of 128,256
    make bench ARGS="overhead TARGET DRAFT"         any pair of GGUF files
"""

import argparse
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from time import perf_counter
from typing import Any

import llama_cpp

from engine.config import LoadConfig
from engine.decoder import SpeculativeDecoder
from engine.events import RoundEvent
from engine.library.names import bundled_pair
from helpers.models.random_model import Shape, write_random_model

PASSES = 6
LOOKAHEADS = (0, 2, 4, 8)
_CUT = {"top_k": 40, "top_p": 0.95}
SAMPLINGS: Mapping[str, Mapping[str, Any]] = {
    "greedy": {},
    "T=0.8": {"temperature": 0.8, "seed": 1},
    "T=0.8 top-p 0.95": {"temperature": 0.8, "top_p": 0.95, "seed": 1},
    "T=0.8 top-k 40 top-p 0.95": {"temperature": 0.8, "seed": 1, **_CUT},
    "T=0.8 top-k 40 top-p 0.95 penalties": {"temperature": 0.8, "seed": 1, "repeat_penalty": 1.1, **_CUT},
}
LARGE_VOCABULARY = Shape(layers=2, width=64, inner=128, heads=4, key_heads=2, vocabulary=128_256)


@dataclass(frozen=True)
class Overhead:
    """Milliseconds of one round: all of it, in the models, and the rest."""

    name: str
    round_ms: float
    models_ms: float
    tokens_per_round: float

    @property
    def rest_ms(self) -> float:
        """Python between the forwards: drafting, sampling, acceptance, text, events."""
        return self.round_ms - self.models_ms


class _Timer:
    """Adds up the time in llama.cpp's decode calls."""

    def __init__(self) -> None:
        self.seconds = 0.0

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Count the calls made meanwhile."""
        inner = llama_cpp.llama_decode

        def decode(context: Any, batch: Any) -> int:
            began = perf_counter()
            status: int = inner(context, batch)
            self.seconds += perf_counter() - began
            return status

        llama_cpp.llama_decode = decode
        try:
            yield
        finally:
            llama_cpp.llama_decode = inner


def measure_overhead(target: Path, draft: Path, tokens: int = 100) -> list[Overhead]:
    """Plain and speculative rounds, greedy and drawn."""
    timer = _Timer()
    with SpeculativeDecoder() as decoder, timer.watching():
        decoder.attach_target(LoadConfig(target, threads=1, trusted=True))
        decoder.attach_draft(LoadConfig(draft, threads=1, trusted=True))
        return [
            _measure(
                decoder,
                timer,
                f"{name}, lookahead {lookahead}",
                {"lookahead": lookahead, "max_tokens": tokens, **sampling},
            )
            for name, sampling in SAMPLINGS.items()
            for lookahead in LOOKAHEADS
        ]


def _measure(decoder: SpeculativeDecoder, timer: _Timer, name: str, options: dict[str, Any]) -> Overhead:
    prompt = "Tell me a story about a dog."
    decoder.generate(prompt, **options | {"max_tokens": 20})
    quickest: dict[int, tuple[float, float]] = {}
    decoder.reset_stats()
    for _ in range(PASSES):
        before: tuple[float, float] | None = None
        for event in decoder.stream(prompt, **options):
            if isinstance(event, RoundEvent):
                now = perf_counter(), timer.seconds
                if before is not None:
                    models = now[1] - before[1]
                    found = now[0] - before[0] - models, models
                    quickest[event.round] = min(found, quickest.get(event.round, found))
                before = now
    rest, models = (1000.0 * mean(column) for column in zip(*quickest.values(), strict=True))
    return Overhead(name, rest + models, models, decoder.stats.mean_length)


def _table(title: str, found: list[Overhead]) -> str:
    lines = [
        f"{title}, microseconds a round:",
        "",
        f"| sampling | {' | '.join(f'lookahead {lookahead}' for lookahead in LOOKAHEADS)} |",
        "|---|" + "---|" * len(LOOKAHEADS),
    ]
    for name in SAMPLINGS:
        rows = [each for each in found if each.name.startswith(f"{name}, ")]
        lines.append(f"| {name} | {' | '.join(f'{1000.0 * each.rest_ms:.0f}' for each in rows)} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "target", type=Path, nargs="?", help="a GGUF file, in place of the pairs that are measured otherwise"
    )
    parser.add_argument("draft", type=Path, nargs="?")
    args = parser.parse_args(arguments)
    if args.target and not args.draft:
        parser.error("TARGET needs a DRAFT")
    print("## What a round of our loop costs outside llama.cpp's decode calls\n")
    print(f"One thread each; means over a reply's rounds, each round's quickest of {PASSES} passes.\n")
    if args.target:
        print(_table(f"{args.target} and {args.draft}", measure_overhead(args.target, args.draft)))
        return
    print(_table("The bundled pair", measure_overhead(*bundled_pair())))
    with tempfile.TemporaryDirectory() as folder:
        target, draft = (write_random_model(Path(folder, f"{seed}.gguf"), LARGE_VOCABULARY, seed) for seed in range(2))
        print("\n" + _table("Random models with a vocabulary of 128,256", measure_overhead(target, draft, 40)))


if __name__ == "__main__":
    main()
