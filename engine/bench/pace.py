"""Measure this machine's speed with matrices of each format, by small samples; and keep it on disk.

A sample is a model of zeros with the demo's vocabulary: the format of its numbers, not their values, decides how long
a forward takes. Two of different size tell what the matrices cost and what the layers cost besides.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Kind

from engine.backends.threads import Meter
from engine.cancel import CancelToken
from engine.config import LoadConfig
from engine.errors import LoadFailed
from engine.formats.gguf.work import forward_work
from engine.formats.model_file import ModelFile
from engine.library.names import bundled_pair
from engine.library.speed_forecast import Forecast, MachinePace, forecast
from engine.loading.open import open_backend
from engine.system.cache_files import cache_folder, read_json, write_json
from engine.system.files import private_folder
from engine.system.machine import (
    BusyWatch,
    OtherPrograms,
    available_memory,
    default_threads,
    describe_machine,
    physical_cores,
)

USUAL = ("Q4_K", "Q6_K", "Q8_0")
"""The most common formats of downloads; others are measured when a model has them."""
_SIZES = (1, 2, 3, 4, 5, 8, 9)
_BYTES = 40_000_000
"""Of a sample's matrices."""
_HEAD, _WORDS = 64, 4096
"""Of the demo target, whose tokenizer a sample has."""
_MEGABYTES = (16, 64, 256)
"""Sizes to read over and over: some that a processor's cache holds, and one that no cache does."""
_BUDGET_S = 0.18
"""Seconds for the forwards of a sample; making and loading it takes as long again."""

Times = dict[int, float]


@dataclass(frozen=True, slots=True)
class _Sample:
    """Describe a llama model of zeros, all of whose matrices are of one format, with the demo target's vocabulary."""

    kind: Kind
    layers: int
    width: int = 1024
    inner: int = 2816

    @property
    def layer(self) -> dict[str, tuple[int, int]]:
        """Return the matrices of a layer by name: rows and columns. Half of the heads have keys and values."""
        width, inner = self.width, self.inner
        return {
            **dict.fromkeys(("attn_q", "attn_output"), (width, width)),
            **dict.fromkeys(("attn_k", "attn_v"), (width // 2, width)),
            **dict.fromkeys(("ffn_gate", "ffn_up"), (inner, width)),
            "ffn_down": (width, inner),
        }

    def bytes_of(self, shape: tuple[int, int]) -> int:
        """Return the size of a matrix."""
        block, size = map(int, gguf.GGML_QUANT_SIZES[self.kind])
        return shape[0] * shape[1] // block * size

    @property
    def read(self) -> int:
        """Return the bytes that a forward reads."""
        return self.layers * sum(map(self.bytes_of, self.layer.values())) + self.bytes_of((_WORDS, self.width))

    def write(self, path: Path) -> None:
        """Write it as a GGUF file."""
        demo = gguf.GGUFReader(bundled_pair()[0])
        heads = self.width // _HEAD
        changed = {"block_count": self.layers, "embedding_length": self.width, "feed_forward_length": self.inner}
        changed |= {"attention.head_count": heads, "attention.head_count_kv": heads // 2}
        writer = gguf.GGUFWriter(path, "llama")
        for key, entry in demo.fields.items():
            if not key.startswith("GGUF.") and key != "general.architecture":
                value = changed.get(key.removeprefix("llama."), entry.contents())
                writer.add_key_value(key, value, entry.types[0], entry.types[-1] if len(entry.types) > 1 else None)
        matrices = dict.fromkeys(("token_embd", "output"), (_WORDS, self.width))
        norms = ["output_norm"]
        for layer in range(self.layers):
            matrices |= {f"blk.{layer}.{name}": shape for name, shape in self.layer.items()}
            norms += [f"blk.{layer}.attn_norm", f"blk.{layer}.ffn_norm"]
        for name, shape in matrices.items():
            rows = np.zeros((shape[0], self.bytes_of(shape) // shape[0]), np.uint8)
            writer.add_tensor(f"{name}.weight", rows, raw_dtype=self.kind)
        for name in norms:
            writer.add_tensor(f"{name}.weight", np.zeros(self.width, np.float32))
        with closing(writer):
            writer.write_header_to_file()
            writer.write_kv_data_to_file()
            writer.write_tensors_to_file()


def known_pace() -> MachinePace | None:
    """Return the earlier measurements of this machine; None if there are none."""
    return MachinePace.from_json(read_json(_place()))


def machine_pace(formats: Iterable[str] = (), cancel: CancelToken | None = None) -> MachinePace:
    """Return this machine's pace; missing formats are measured now, in less than two seconds.

    `formats`: of the models that are to be forecast. What was measured beside other programs is not kept. Raises
    LoadFailed, Cancelled.
    """
    cancel = cancel or CancelToken()
    known = known_pace()
    wanted = [name for name in dict.fromkeys((*USUAL, *formats)) if name in Kind.__members__ and name != "F32"]
    missing = [name for name in wanted if known is None or name not in known.matrices]
    if known is not None and not missing:
        return known
    private_folder(cache_folder())
    others = OtherPrograms()
    with tempfile.TemporaryDirectory(dir=cache_folder(), prefix="pace-") as folder:
        layer, matrices = (dict(known.layer), dict(known.matrices)) if known is not None else ({}, {})
        for name in sorted(missing, key=lambda name: name != Kind.Q8_0.name):
            one = _Sample(Kind[name], 1)
            sample = replace(one, layers=max(round(_BYTES / sum(map(one.bytes_of, one.layer.values()))), 4))
            times = _timed(sample, Path(folder), cancel)
            if not layer:
                flat = _Sample(Kind.Q8_0, 24, 384, 704)  # As narrow as the demo, with many layers.
                layer = _layer(flat, _timed(flat, Path(folder), cancel), sample, times)
            matrices[name] = _matrices(sample, times, layer)
    found = MachinePace(matrices, layer, _memory() if known is None else known.memory)
    if others.cores() < BusyWatch.CORES:
        with suppress(OSError):
            write_json(_place(), found.to_json())
    return found


def expected_speed(
    target: ModelFile, draft: ModelFile | None = None, *, measure: bool = False, cancel: CancelToken | None = None
) -> Forecast | None:
    """Return tokens a second to expect of a target on the processor here, and with a draft. An estimate.

    None if nothing is known: nothing was measured, and `measure` does not ask for it; or a model is no GGUF file.
    Raises LoadFailed, Cancelled.
    """
    models = [target] if draft is None else [target, draft]
    if any(model.file_format != "gguf" or not model.usable for model in models):
        return None
    work = [forward_work(model.path, model.cache_per_token) for model in models]
    known = known_pace()
    formats = {name for each in work for name in each.matrices}
    if measure:
        known = machine_pace(formats, cancel)
    return None if known is None else forecast(known, *work)


def _layer(flat: _Sample, flat_ms: Times, sample: _Sample, sample_ms: Times) -> Times:
    """Return the cost of a layer besides its matrices: two samples of one format that have many layers, and few."""
    read = flat.read / sample.read
    layers = flat.layers - read * sample.layers
    return {size: max(flat_ms[size] - read * sample_ms[size], 0.0) / layers for size in _SIZES}


def _matrices(sample: _Sample, times: Times, layer: Times) -> Times:
    """Return the milliseconds for a megabyte of a sample's matrices."""
    own = {size: max(ms - sample.layers * layer[size], ms / 2) for size, ms in times.items()}
    return {size: ms / (sample.read / 1e6) for size, ms in own.items()}


def _timed(sample: _Sample, folder: Path, cancel: CancelToken) -> Times:
    """Return the milliseconds of forwards of each size, low ones of several."""
    path = folder / "sample.gguf"
    try:
        sample.write(path)
    except OSError as error:
        raise LoadFailed(path, error.strerror or str(error)) from None
    # It was made here, so it need not be tried in a child process first.
    config = LoadConfig(path, context_length=64, threads=_threads(), trusted=True)
    with closing(open_backend(config, cancel=cancel)) as backend, Meter(backend, cancel, perf_counter) as meter:
        return _rounds(meter)


def _memory() -> Times:
    """Return the milliseconds in which all threads together read a megabyte, of so many that they read in turns."""
    most = max(_MEGABYTES) if available_memory() > 8_000_000 * max(_MEGABYTES) else min(_MEGABYTES)
    data, threads = np.ones(most * 125_000), _threads()
    found: Times = {}
    with ThreadPoolExecutor(threads) as pool:
        for size in _MEGABYTES:
            if size <= most:
                parts = np.array_split(data[: size * 125_000], threads)
                times = []
                for _ in range(5):
                    began = perf_counter()
                    list(pool.map(np.max, parts))
                    times.append(1000.0 * (perf_counter() - began))
                found[size] = _low(times) / size
    return found


def _threads() -> int:
    return default_threads(10**9)


def _rounds(meter: Meter) -> Times:
    times: dict[int, list[float]] = {size: [] for size in _SIZES}
    meter.forward(max(_SIZES))
    began, turn = perf_counter(), 0
    while turn < 2 or (perf_counter() - began < _BUDGET_S and turn < 20):
        for size in _SIZES:
            times[size].append(meter.forward(size, int(size == 1)))
        turn += 1
    return {size: _low(each) for size, each in times.items()}


def _low(times: Sequence[float]) -> float:
    """Return a low time, but not the lowest of many: disturbances make it longer."""
    return sorted(times)[len(times) // 4]


def _place() -> Path:
    machine = describe_machine()
    facts = [machine[name] for name in ("processor", "cores", "libraries", "outrider")]
    key = hashlib.sha256(repr((physical_cores(), facts)).encode("utf-8", "surrogatepass")).hexdigest()
    return cache_folder() / "pace" / f"{key[:32]}.json"
