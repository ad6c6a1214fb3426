"""Products of weights in every format that the processor library multiplies: right, and the same in any batch.

Packed weights, which are turned around when a model is loaded: the same numbers, and only where memory has room.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llama_cpp")

import llama_cpp

from engine import LoadConfig, load
from engine.backends.llama_cpp import loading
from engine.backends.llama_cpp.backend import LlamaCppBackend
from engine.backends.llama_cpp.library import computes_alike, packs_weights
from helpers.paths import ROOT as PROJECT
from helpers.weights.ggml import TYPE_NUMBERS, Array, Ggml, Packed
from helpers.weights.random_blocks import random_weights

FORMATS = (
    "F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "IQ4_NL", "MXFP4",
    "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_XS", "TQ1_0", "TQ2_0", "NVFP4", "Q1_0", "Q2_0",
)  # fmt: skip
TABLES = ("IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S")
"""Formats whose weights lie in tables: quantising takes long, and any bytes are weights."""
ROWS, WIDTH = 100, 1280
"""Not a multiple of sixteen rows; five blocks of 256 weights."""
COLUMNS = 70
BATCHES = (1, 2, 5, 8, 16, 32)
"""Tokens of a forward with packed weights."""


@pytest.fixture(scope="module")
def ggml() -> Ggml:
    found = Ggml.of_processor()
    if found is None:
        pytest.skip("this system does not find a library's functions through another one that needs it")
    return found


@pytest.fixture(scope="module")
def columns() -> Array:
    """Some like a model's, one zero in part, one large, one that rounds to the ends of the quantised numbers."""
    values = np.random.default_rng(1).standard_normal((COLUMNS, WIDTH)).astype(np.float32)
    values[1, :512] = 0.0
    values[2] *= 100.0
    values[3] = np.where(values[3] > 0, 1.0, -1.0)
    return values


@pytest.fixture(scope="module", params=FORMATS + TABLES)
def weights(request: pytest.FixtureRequest, ggml: Ggml) -> tuple[int, Packed, Array]:
    """A format's number, weights in it, and the numbers that they stand for."""
    kind = TYPE_NUMBERS[request.param]
    if request.param in TABLES:
        packed = random_weights(request.param, np.random.default_rng(2), ROWS, WIDTH).reshape(-1)
        return kind, packed, ggml.unpack(kind, packed, (ROWS, WIDTH))
    values = np.random.default_rng(2).standard_normal((ROWS, WIDTH)).astype(np.float32)
    values[5] = 0.0
    values[6] *= 1e3
    values[7] = np.abs(values[7])
    values[8] = -values[7]
    packed = ggml.quantise(kind, values)
    return kind, packed, ggml.unpack(kind, packed, values.shape)


def test_rows_that_are_not_wanted_are_left_out(ggml: Ggml, weights: tuple[int, Packed, Array], columns: Array) -> None:
    if not computes_alike():
        pytest.skip("the kernels do not work on this processor")
    kind, packed, _ = weights
    groups = np.array([1, 0, 0, 1, 1, 0, 1], dtype=np.uint8)  # Of sixteen rows; of the last one there are four.
    bits = np.packbits(np.resize(np.pad(groups, (0, 57)), 64), bitorder="little").view(np.uint64)
    wanted = np.repeat(groups, 16)[:ROWS].astype(bool)
    for count in (1, 5, COLUMNS):
        whole = ggml.product(kind, packed, columns[:count], ROWS, threads=2)
        some = ggml.product(kind, packed, columns[:count], ROWS, threads=2, wanted=bits)
        assert np.array_equal(some[:, wanted], whole[:, wanted])
        # The last tile repeats rows of the one before.
        left_out = ~wanted & (np.arange(ROWS) < ROWS - 16)
        assert np.isneginf(some[:, left_out]).all()


def test_a_product_is_right(ggml: Ggml, weights: tuple[int, Packed, Array], columns: Array) -> None:
    kind, packed, values = weights
    got = ggml.product(kind, packed, columns, ROWS, threads=2)
    expected = columns.astype(np.float64) @ values.astype(np.float64).T
    # A column is rounded to eight bits: by 1/254 of its largest number at most, evenly spread, so by 1/440 on average.
    largest = np.abs(columns).max(axis=1, keepdims=True)
    rounding = largest / 440 * np.linalg.norm(values, axis=1) + 1e-30
    assert np.abs(got - expected).max(initial=0.0, where=rounding <= 1e-30) == 0.0
    assert (np.abs(got - expected) / rounding).max() < 6.0


def test_a_token_has_the_same_bits_alone_and_among_others(
    ggml: Ggml, weights: tuple[int, Packed, Array], columns: Array
) -> None:
    if not computes_alike():
        pytest.skip("llama.cpp's own products, which differ in bits: another build, or no AVX2")
    kind, packed, _ = weights
    alone = np.concatenate([ggml.product(kind, packed, columns[i : i + 1], ROWS, 1) for i in range(COLUMNS)]).view(
        np.int32
    )
    # From 48 on rows of some types are unpacked once for all.
    for count in (*range(2, 34), 47, 48, 49, 64, COLUMNS):
        together = ggml.product(kind, packed, columns[:count], ROWS, threads=1 + count % 4).view(np.int32)
        assert np.array_equal(together, alone[:count]), count


@pytest.fixture
def packs() -> None:
    if not packs_weights():
        pytest.skip("another llama.cpp, or a processor for which weights stay as they are")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """True if llama.cpp was allowed to put weights into other buffers, of each model that was loaded."""
    found: list[bool] = []
    really = llama_cpp.llama_model_load_from_file

    def load_noting(path: bytes, params: Any) -> Any:
        found.append(params.use_extra_bufts)
        return really(path, params)

    monkeypatch.setattr(llama_cpp, "llama_model_load_from_file", load_noting)
    return found


def rows_of(path: Path) -> list[np.ndarray[Any, Any]]:
    backend = LlamaCppBackend.open(LoadConfig(path, trusted=True))
    try:
        tokens, found = [7 * i % (backend.vocab_size - 3) + 3 for i in range(64)], []
        for size in BATCHES:
            found.append(backend.forward(tokens[:size], size).copy())
            backend.truncate(0)
        return [*found, backend.forward(tokens, 1).copy()]
    finally:
        backend.close()


@pytest.mark.usefixtures("packs")
@pytest.mark.parametrize("name", ["models/demo-target.Q8_0.gguf", "models/demo-draft.Q8_0.gguf"])
def test_packed_weights_give_the_same_bits(name: str, asked: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    packed = rows_of(PROJECT / "resources" / name)
    monkeypatch.setattr(loading, "packs_weights", lambda: False)
    mapped = rows_of(PROJECT / "resources" / name)
    assert asked == [True, False]
    for one, other in zip(packed, mapped, strict=True):
        assert np.array_equal(one.view(np.int32), other.view(np.int32))


@pytest.mark.usefixtures("packs")
def test_other_peoples_models_too(shared_models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Types that are packed and types that are not, in architectures of every kind."""
    paths = sorted((shared_models / "gguf").glob("*.gguf"))
    assert paths
    for path in paths:
        with monkeypatch.context() as patch:
            packed = rows_of(path)
            patch.setattr(loading, "packs_weights", lambda: False)
            for one, other in zip(packed, rows_of(path), strict=True):
                assert np.array_equal(one.view(np.int32), other.view(np.int32)), path.name


def test_weights_stay_mapped_where_memory_is_short(
    bundled_target: Path, asked: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "available_memory", lambda: bundled_target.stat().st_size)
    with load(bundled_target, trusted=True):
        assert asked == [not computes_alike()]


@pytest.mark.usefixtures("packs")
def test_weights_for_a_card_are_not_packed(monkeypatch: pytest.MonkeyPatch, bundled_target: Path) -> None:
    monkeypatch.setattr(loading, "gpu_layers", lambda _config: 5)
    assert not loading.pack_weights(llama_cpp.llama_model_default_params(), LoadConfig(bundled_target))


def test_without_the_kernels_llama_cpp_decides(
    bundled_target: Path, asked: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "computes_alike", lambda: False)
    monkeypatch.setattr(loading, "packs_weights", lambda: False)
    with load(bundled_target, trusted=True):
        assert asked == [True]


def test_a_library_without_the_question_packs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.backends.llama_cpp.library.processor_library", object)
    assert not packs_weights()
