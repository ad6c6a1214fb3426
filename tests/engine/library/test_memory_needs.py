"""How much memory a model takes, told before it is loaded and compared with what it takes then."""

import ctypes
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import llama_cpp
import pytest

import engine.formats.model_file
import engine.library.memory_needs
import engine.loading.heads
import engine.loading.trial
from engine.backends.llama_cpp import library
from engine.config import CACHE_TYPES, CacheType, LoadConfig
from engine.errors import InvalidRequest, ModelNotSupported, ModelTooLarge
from engine.formats.gguf import types
from engine.formats.model_file import ModelFile
from engine.library.memory_needs import CARD_OWN, head_states, memory_needs, usable_cache_types
from engine.library.names import bundled_pair, resolve_source
from engine.library.scan import inspect_model
from engine.loaded import load
from engine.loading.open import open_backend
from engine.loading.trial import check_model_file
from helpers.models.gguf_writer import Entry, tiny_draft
from helpers.models.header_models import HeaderModel
from helpers.paths import ROOT

LARGE = ModelFile(
    Path("/models/large.gguf"),
    "large",
    size_bytes=8_000_000_000,
    context_length=32_768,
    cache_per_token=132_096,
    compute_bytes=300_000_000,
    cache_elements=65_536,
    row_elements=128,
    layers=32,
)


@pytest.mark.parametrize("cache_type", [None, *CACHE_TYPES])
def test_the_cache_takes_what_was_told(bundled_target: Path, cache_type: CacheType | None) -> None:
    needs = memory_needs(inspect_model(bundled_target), context_length=512, cache_type=cache_type)
    with closing(open_backend(LoadConfig(bundled_target, 512, cache_type=cache_type, trusted=True))) as backend:
        assert backend.context_length == needs.context_length == 512
        sizes = []
        for _ in range(2):
            backend.forward([5] * 100, 1)
            sizes.append(llama_cpp.llama_state_seq_get_size(backend._context, 0))  # type: ignore[attr-defined]
    of_a_token = (sizes[1] - sizes[0]) / 100
    # Beside the cache itself a saved state has a few numbers for each place.
    assert needs.cache / 512 <= of_a_token <= needs.cache / 512 + 32


@pytest.mark.parametrize("cache_type", CACHE_TYPES)
def test_drafts_change_nothing_with_any_cache(bundled_target: Path, bundled_draft: Path, cache_type: CacheType) -> None:
    with load(bundled_target, bundled_draft, cache_type=cache_type, trusted=True) as decoder:
        plain = decoder.generate("Tell me a story.", max_tokens=60, lookahead=0)
        drafted = decoder.generate("Tell me a story.", max_tokens=60, lookahead=4)
    assert drafted.tokens == plain.tokens
    assert drafted.stats.accepted > 0


def test_smaller_caches_need_less_and_other_types_are_refused() -> None:
    needs = [memory_needs(LARGE, context_length=8192, cache_type=cache_type) for cache_type in CACHE_TYPES]
    blocks = {"f16": 64, "q8_0": 34, "q5_1": 24, "q5_0": 22, "q4_1": 20, "q4_0": 18, "iq4_nl": 18}
    assert [each.cache for each in needs] == [8192 * 2_048 * blocks[kind] for kind in CACHE_TYPES]
    assert needs[0].working == needs[1].working == 8192 * 1024 + 300_000_000
    assert needs[0].total == needs[0].in_memory == 8_000_000_000 + needs[0].cache + needs[0].working
    with pytest.raises(InvalidRequest, match="cache type must be one of f16, q8_0, q5_1, q5_0, q4_1, q4_0, iq4_nl"):
        LoadConfig(Path("a.gguf"), cache_type="q5_k")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("free", "trained", "held"),
    [
        (0, 32_768, 8192),
        (20_000_000_000, 32_768, 8192),
        (22_000_000_000, 32_768, 16_384),
        (60_000_000_000, 32_768, 32_768),
        (60_000_000_000, 40_960, 40_960),
        (50_000_000_000, 40_960, 32_768),
        (60_000_000_000, 2048, 2048),
    ],
)
def test_the_context_that_nobody_asked_for(free: int, trained: int, held: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine.formats.model_file, "_free_memory", lambda _: free)
    assert memory_needs(replace(LARGE, context_length=trained)).context_length == held


def test_the_context_is_what_is_asked_for_up_to_what_the_model_has() -> None:
    assert memory_needs(LARGE, context_length=1_000_000).context_length == 32_768
    assert memory_needs(LARGE).total == LARGE.memory_needed()
    assert memory_needs(LARGE, context_length=512).total == LARGE.memory_needed(512)


@pytest.mark.parametrize(("wanted", "gguf", "safetensors"), [(None, 4096, 4096), (512, 512, 512), (9999, 4096, 9999)])
def test_a_context_of_unknown_length(wanted: int | None, gguf: int, safetensors: int) -> None:
    """llama.cpp's backend then holds 4,096 tokens at most, the other what is wanted."""
    unknown = replace(LARGE, context_length=0)
    folder = replace(unknown, file_format="safetensors")
    assert [memory_needs(each, context_length=wanted).context_length for each in (unknown, folder)] == [
        gguf,
        safetensors,
    ]


def test_quantised_caches_are_only_for_rows_of_whole_blocks(tmp_path: Path, bundled_target: Path) -> None:
    assert usable_cache_types(inspect_model(bundled_target)) == CACHE_TYPES
    narrow = inspect_model(tiny_draft().write(tmp_path / "narrow.gguf"))
    assert usable_cache_types(narrow) == ("f16",), "a head of four numbers is no block of 32"
    assert usable_cache_types(ModelFile(tmp_path, "folder", file_format="safetensors", cache_elements=64)) == ()
    same = memory_needs(narrow, context_length=32)
    assert memory_needs(narrow, context_length=32, cache_type="q8_0") == same
    # Its weights are float32, and so is its cache, unless it is asked otherwise.
    assert memory_needs(narrow, context_length=32, cache_type="f16").cache == same.cache // 2


_LAYERS, _HEADS, _WIDTH = 16, 8, 64
"""Of the models below, each head as wide in its keys as in its values."""
_PLAIN = 2 * _LAYERS * _HEADS * _WIDTH


def _whole(**entries: int) -> dict[str, Entry]:
    return {f"llama.{key.replace('__', '.')}": Entry(types.UINT32, value) for key, value in entries.items()}


def _listed(key: str, kind: int, values: list[int]) -> dict[str, Entry]:
    return {f"llama.{key}": Entry(kind, values)}


@pytest.mark.parametrize(
    ("entries", "elements", "row"),
    [
        ({}, _PLAIN, 64),
        (_whole(attention__head_count_kv=1), _PLAIN // _HEADS, 64),
        (_listed("attention.head_count_kv", types.UINT32, [8, 0] * 8), _PLAIN // 2, 64),
        # Latent attention: one row for all heads, in which the values are a part of the keys.
        (
            _whole(
                attention__head_count_kv=1,
                rope__dimension_count=576,
                attention__key_length=576,
                attention__value_length=512,
                attention__key_length_mla=192,
                attention__value_length_mla=128,
            ),
            _LAYERS * 576,
            64,
        ),
        # Every second layer with a window has narrower heads.
        (
            _whole(attention__key_length_swa=32, attention__value_length_swa=32)
            | _listed("attention.sliding_window_pattern", types.BOOL, [1, 0] * 8),
            _PLAIN * 3 // 4,
            32,
        ),
        (_whole(attention__sliding_window=512), _PLAIN, 64),
        (_whole(attention__shared_kv_layers=12), _PLAIN // 4, 64),
        (_whole(attention__shared_kv_layers=99), 0, 64),
        (_whole(full_attention_interval=4), _PLAIN // 4, 64),
        (_whole(expert_count=8, expert_used_count=2), _PLAIN, 64),
    ],
)
def test_the_cache_of_models_of_many_kinds(tmp_path: Path, entries: dict[str, Entry], elements: int, row: int) -> None:
    path = HeaderModel("Many", 50_000_000, more={**entries}).write(tmp_path / "many.gguf")
    model = inspect_model(path)
    assert (model.cache_elements, model.row_elements) == (elements, row)


def test_layers_on_a_gpu_need_no_memory_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine.library.memory_needs, "gpu_library_installed", lambda: False)
    assert memory_needs(LARGE, gpu_layers=20).on_gpu == 0
    monkeypatch.setattr(engine.library.memory_needs, "gpu_library_installed", lambda: True)
    half = memory_needs(LARGE, gpu_layers=11)
    assert half.on_gpu == (half.weights + half.cache) * 11 // 33
    for every in (None, -1, 99):
        assert memory_needs(LARGE, gpu_layers=every).in_memory == half.working
    assert memory_needs(LARGE, gpu_layers=0).in_memory == half.total


def test_states_that_heads_keep_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    head = inspect_model(resolve_source("demo-head"))
    assert head.head is not None
    assert memory_needs(head).working == head.compute_bytes + 2048 * head.head.width * 4
    with load(bundled_pair()[0], context_length=256, trusted=True) as decoder:
        needed = head.size_bytes + 256 * head.head.width * 4
        monkeypatch.setattr(engine.loading.heads, "available_memory", lambda: needed - 1)
        with pytest.raises(ModelTooLarge) as caught:
            decoder.attach_heads(head.path)
        assert (caught.value.needed, caught.value.available) == (needed, needed - 1)
        assert decoder.heads is None
        decoder.attach_heads(LoadConfig(head.path, despite_memory=True))
        assert decoder.heads is not None
    for method in ("medusa", "dflash"):
        assert head_states(replace(head.head, method=method), 4096) == 0


def test_a_card_must_have_room_for_its_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in says what is free: of a card that does not, the load itself tells."""
    monkeypatch.setattr(engine.library.memory_needs, "gpu_library_installed", lambda: True)
    path = tiny_draft().write(tmp_path / "tiny.gguf")
    needs = memory_needs(inspect_model(path), context_length=64)
    assert (needs.on_card, needs.on_gpu) == (needs.weights + needs.cache + CARD_OWN, needs.weights + needs.cache)
    assert memory_needs(inspect_model(path), gpu_layers=0).on_card == 0
    free = [needs.on_card - 1, needs.on_card, None]
    monkeypatch.setattr(library, "free_card_memory", lambda: free.pop(0))
    monkeypatch.setattr(engine.loading.trial, "has_passed", lambda key: True)
    with pytest.raises(
        ModelTooLarge, match=r"of the graphics card's memory, but only 0\.\d GiB are free\. Give it fewer"
    ):
        check_model_file(LoadConfig(path, 64))
    check_model_file(LoadConfig(path, 64))
    check_model_file(LoadConfig(path, 64))
    check_model_file(LoadConfig(path, 64, gpu_layers=0))
    check_model_file(LoadConfig(path, 64, despite_memory=True))
    assert not free


@pytest.mark.parametrize(("cards", "free"), [([(5, 9), (7, 9)], 12), ([(5, 9), (0, 0)], None), ([], None)])
def test_what_cards_have_free(monkeypatch: pytest.MonkeyPatch, cards: list[tuple[int, int]], free: int | None) -> None:
    """The list of devices is a stand-in."""

    def tell(card: int, free: Any, total: Any) -> None:
        free[0], total[0] = cards[card - 1]

    size = ctypes.POINTER(ctypes.c_size_t)
    ask = ctypes.CFUNCTYPE(None, ctypes.c_void_p, size, size)(tell)
    monkeypatch.setattr(library, "ggml_library", lambda: SimpleNamespace(ggml_backend_dev_memory=ask))
    monkeypatch.setattr(library, "_cards", lambda: [number + 1 for number in range(len(cards))])
    assert library.free_card_memory() == free


def test_what_does_not_fit_is_refused_unless_it_is_wanted_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tiny_draft().write(tmp_path / "tiny.gguf")
    monkeypatch.setattr(engine.loading.trial, "available_memory", lambda: 1_000_000)
    with pytest.raises(ModelTooLarge) as caught:
        check_model_file(LoadConfig(path, 64))
    assert caught.value.needed == memory_needs(inspect_model(path), context_length=64).total
    assert caught.value.available == 1_000_000
    check_model_file(LoadConfig(path, 64, despite_memory=True))


_PULLED_AWAY = """
import os, sys
from pathlib import Path
from engine import LoadConfig, load

with load(LoadConfig(Path(sys.argv[1]), in_memory=True), None) as decoder:
    first = decoder.generate("Hello!", max_tokens=20)
    os.truncate(sys.argv[1], 0)
    again = decoder.generate("Hello!", max_tokens=20)
assert again.tokens == first.tokens
print("alive")
"""


def test_a_model_in_memory_outlives_its_file(bundled_target: Path, tmp_path: Path) -> None:
    copy = shutil.copy(bundled_target, tmp_path / "copy.gguf")
    command = [sys.executable, "-c", _PULLED_AWAY, str(copy)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert (ran.returncode, ran.stdout) == (0, "alive\n"), ran.stderr


def test_a_cache_type_that_cannot_be_is_said_before_loading(shared_gguf: Callable[[str], Path]) -> None:
    path = shared_gguf("stories260K-Q8_0")
    assert inspect_model(path).row_elements == 8
    for trusted in (False, True):
        with pytest.raises(ModelNotSupported, match=r"cannot be q8_0: 8 of its numbers .* f16"):
            load(path, cache_type="q8_0", trusted=trusted)
    with load(path, cache_type="f16", trusted=True) as decoder:
        assert decoder.generate("Once", raw=True, max_tokens=2).stats.emitted == 2
