"""Describe the measured machine, and the processor share of other programs meanwhile."""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path
from time import perf_counter
from typing import TypeVar

import psutil

from helpers.paths import ROOT

FOLDER = ROOT / "build" / "bench"
T = TypeVar("T")
_RENAMED = b"ggml_stock_tiled_wdata_size"
"""New name of a function of llama.cpp that ours replaces (kernels/ggml.cmake)."""


def say(text: str) -> None:
    """Report progress, beside the figures."""
    print(text, file=sys.stderr, flush=True)


def has_own_kernels() -> bool:
    """True if the llama.cpp that is installed has the products of llama_cpp/kernels compiled in."""
    folder = Path(str(distribution("llama-cpp-python").locate_file("llama_cpp"))) / "lib"
    libraries = [path for path in folder.glob("*ggml-cpu*") if path.is_file()]
    return bool(libraries) and all(_RENAMED in path.read_bytes() for path in libraries)


@dataclass
class Quiet:
    """Waits for other programs before a measurement, and repeats it where they took more than `limit` meanwhile.

    Only their processor time decides, never the result. In all, waiting and repeating take up to `patience_s`; after
    that everything counts as it comes. `helping_s` gives the processor time so far of programs that are still running
    and that are measured, not others; `sample_s` is how long each look at the other programs lasts. Attributes:
    repeated (how often it measured again), others (the share of the processors that other programs took, of each
    measurement that was kept).
    """

    patience_s: float = 600.0
    limit: float = 0.05
    helping_s: Callable[[], float] = lambda: 0.0
    sample_s: float = 0.3

    def __post_init__(self) -> None:
        self.repeated = 0
        self.others: list[float] = []

    def measure(self, work: Callable[[], T]) -> T:
        """The result of the first quiet run of `work`, or of the quietest."""
        best: tuple[float, T] | None = None
        while best is None or (best[0] > self.limit and self.patience_s > 0.0):
            began = perf_counter()
            self._wait()
            others, result = _watched(work, self.helping_s)
            if best is not None:
                self.repeated += 1
            if best is None or others < best[0]:
                best = others, result
            if others > self.limit:
                self.patience_s -= perf_counter() - began
        self.others.append(best[0])
        return best[1]

    def _wait(self) -> None:
        while self.patience_s > 0.0 and psutil.cpu_percent(interval=self.sample_s) > 100.0 * self.limit:
            self.patience_s -= self.sample_s


def _watched(work: Callable[[], T], helping_s: Callable[[], float]) -> tuple[float, T]:
    """The share of the processors that other programs took while `work` ran, and its result."""
    busy, own, began = _busy_seconds(), _own_seconds() + helping_s(), perf_counter()
    result = work()
    taken = (_busy_seconds() - busy) - (_own_seconds() + helping_s() - own)
    return max(0.0, taken / (perf_counter() - began) / (os.cpu_count() or 1)), result


def _own_seconds() -> float:
    """Processor time of this program and of the programs that it ran and that have ended."""
    return sum(os.times()[:4])


def _busy_seconds() -> float:
    """Return the processor time of all programs and of the machine's host (steal)."""
    times = psutil.cpu_times()._asdict()
    return float(sum(times.get(name, 0.0) for name in ("user", "nice", "system", "irq", "softirq", "steal")))
