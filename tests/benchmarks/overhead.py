"""What our loop costs outside the model: the time of a round less the time in the backends.

Processor time of the one thread that works, models of a few megabytes included: another program that takes the
processor in the midst of a round does not count.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import thread_time
from typing import Any

from engine.backends.base import Backend, Logits
from engine.config import LoadConfig
from engine.decoder import SpeculativeDecoder
from engine.events import RoundEvent


@dataclass(frozen=True)
class Overhead:
    """Milliseconds of processor time of one round: all of it, in the models, and the rest."""

    name: str
    round_ms: float
    models_ms: float
    tokens_per_round: float

    @property
    def rest_ms(self) -> float:
        """Python between the forwards: drafting, sampling, acceptance, text, events."""
        return self.round_ms - self.models_ms


class _Timer:
    """Adds up the time in the forwards of a backend."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def watch(self, backend: Backend) -> None:
        inner: Callable[[Sequence[int], int], Logits] = backend.forward

        def forward(tokens: Sequence[int], n_outputs: int) -> Logits:
            began = thread_time()
            try:
                return inner(tokens, n_outputs)
            finally:
                self.seconds += thread_time() - began

        backend.forward = forward  # type: ignore[method-assign]


def measure_overhead(target: Path, draft: Path, tokens: int = 200) -> list[Overhead]:
    """Plain and speculative rounds, greedy and drawn."""
    timer = _Timer()
    results = []
    with SpeculativeDecoder() as decoder:
        decoder.attach_target(LoadConfig(target, threads=1, trusted=True))
        decoder.attach_draft(LoadConfig(draft, threads=1, trusted=True))
        for backend in (decoder.target, decoder.draft):
            if backend is not None:
                timer.watch(backend)
        drawn = {"temperature": 0.8, "top_k": 40, "top_p": 0.95, "seed": 1}
        for sampling_name, sampling in (("greedy", {}), ("drawn", drawn)):
            for lookahead in (0, 4):
                options: dict[str, Any] = {"lookahead": lookahead, "max_tokens": tokens, **sampling}
                results.append(_measure(decoder, timer, f"{sampling_name}, lookahead {lookahead}", options))
    return results


def _measure(decoder: SpeculativeDecoder, timer: _Timer, name: str, options: dict[str, Any]) -> Overhead:
    prompt = "Tell me a story about a dog."
    decoder.generate(prompt, **options | {"max_tokens": 20})
    wall: list[float] = []
    inside: list[float] = []
    decoder.reset_stats()
    for _ in range(5):
        before: tuple[float, float] | None = None
        for event in decoder.stream(prompt, **options):
            if isinstance(event, RoundEvent):
                now = thread_time(), timer.seconds
                if before is not None:
                    wall.append(1000.0 * (now[0] - before[0]))
                    inside.append(1000.0 * (now[1] - before[1]))
                before = now
    return Overhead(name, median(wall), median(inside), decoder.stats.mean_length)
