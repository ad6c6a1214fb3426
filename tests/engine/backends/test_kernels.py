"""Packed weights, which are turned around when a model is loaded: the same bits, and only where memory has room."""

import ctypes
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

pytest.importorskip("llama_cpp")

import llama_cpp

from engine import LoadConfig, load
from engine.backends.llama_cpp import loading, weights
from engine.backends.llama_cpp.backend import LlamaCppBackend
from engine.backends.llama_cpp.library import computes_alike, packs_weights, prepare_library
from helpers.paths import ROOT as PROJECT

BATCHES = (1, 2, 5, 8, 16, 32)
"""Tokens of a forward with packed weights."""


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
    monkeypatch.setattr(weights, "packs_weights", lambda: False)
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
            patch.setattr(weights, "packs_weights", lambda: False)
            for one, other in zip(packed, rows_of(path), strict=True):
                assert np.array_equal(one.view(np.int32), other.view(np.int32)), path.name


def test_weights_stay_mapped_where_memory_is_short(
    bundled_target: Path, asked: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights, "available_memory", lambda: bundled_target.stat().st_size)
    with load(bundled_target, trusted=True):
        assert asked == [not computes_alike()]


@pytest.mark.usefixtures("packs")
def test_weights_for_a_card_are_not_packed(monkeypatch: pytest.MonkeyPatch, bundled_target: Path) -> None:
    monkeypatch.setattr(weights, "gpu_layers", lambda _config: 5)
    assert not weights.pack_weights(llama_cpp.llama_model_default_params(), LoadConfig(bundled_target))


def test_without_the_kernels_llama_cpp_decides(
    bundled_target: Path, asked: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (loading, weights):
        monkeypatch.setattr(module, "computes_alike", lambda: False)
    monkeypatch.setattr(weights, "packs_weights", lambda: False)
    with load(bundled_target, trusted=True):
        assert asked == [True]


def test_a_library_without_the_question_packs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.backends.llama_cpp.library.processor_library", object)
    assert not packs_weights()


@pytest.mark.usefixtures("packs")
@pytest.mark.parametrize(("cache_type", "lengths"), [("f16", (29, 510)), ("q8_0", (20, 29))])
def test_a_sibling_has_its_own_row_or_is_told_apart(bundled_target: Path, cache_type: Any, lengths: Any) -> None:
    """The first length leaves a tree in its group of cells, though not in its block; the second does not."""
    with closing(LlamaCppBackend.open(LoadConfig(bundled_target, trusted=True, cache_type=cache_type))) as backend:
        text = [7 * i % (backend.vocab_size - 3) + 3 for i in range(lengths[1] + 3)]
        for length, own in zip(lengths, (True, False), strict=True):
            backend.truncate(0)
            backend.forward(text[:length], 0)
            chain = text[length : length + 3]
            alone = backend.forward([*chain[:1], 9, 11], 3).copy()
            backend.truncate(length)
            tree = backend.forward_tree([*chain, 9, 11], [-1, 0, 1, 0, 3])
            assert [backend.has_own_row(node) for node in range(5)] == [True, True, True, own, own]
            assert not own or np.array_equal(tree[3:], alone[1:])
            backend.keep_path([])


@pytest.mark.usefixtures("packs")
@pytest.mark.skipif(sys.platform != "linux", reason="other systems clear memory by writing it")
def test_a_cache_takes_the_memory_that_is_used_of_it(bundled_target: Path) -> None:
    """A context of 65,536 tokens holds 256 MB, of which llama.cpp would write all when it makes and clears one."""
    model = weights.load_model(LoadConfig(bundled_target), prepare_library(), None, None)
    params = llama_cpp.llama_context_default_params()
    params.n_ctx, params.n_batch, params.n_ubatch = 65_536, 32, 32
    process = psutil.Process()
    before = process.memory_info().rss
    context = llama_cpp.llama_init_from_model(model, params)
    try:
        tokens, found = (ctypes.c_int32 * 8)(*range(3, 11)), list[bytes]()
        for _ in range(3):
            assert llama_cpp.llama_decode(context, llama_cpp.llama_batch_get_one(tokens, len(tokens))) == 0
            row = llama_cpp.llama_get_logits_ith(context, -1)
            found.append(bytes(ctypes.string_at(row, 4 * 100)))
            llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(context), True)
        assert len(set(found)) == 1
        assert process.memory_info().rss - before < 100e6
    finally:
        llama_cpp.llama_free(context)
        llama_cpp.llama_model_free(model)
