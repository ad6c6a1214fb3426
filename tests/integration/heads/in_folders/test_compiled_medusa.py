"""Medusa heads in folders, on targets in GGUF files: computed by llama.cpp's library, without PyTorch."""

import ctypes
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import llama_cpp
import numpy as np
import pytest
from numpy.typing import NDArray

from engine.backends.llama_cpp.backend import LlamaCppBackend
from engine.backends.llama_cpp.graphs.medusa import CompiledMedusa
from engine.cli.main import main
from engine.config import LoadConfig
from engine.decoder import SpeculativeDecoder
from engine.formats.draft_head import covers
from engine.formats.safetensors.heads import read_medusa
from engine.formats.vocabulary import Vocabulary, make_vocabulary
from engine.library.compat import rank_drafts
from engine.library.heads import find_heads_of, judge_heads
from engine.library.scan import scan_folder
from engine.loading.open import open_backend
from helpers.heads.compiled_medusa import NormedStates, PlainMedusa, output_of, states_of, write_medusa_for
from helpers.heads.eagle import write_plain_target
from helpers.heads.replies import PROMPT, check_text, follow_heads, open_with_heads
from helpers.models.pairs import assert_same_greedy
from helpers.paths import SHARED_MODELS


@pytest.fixture(scope="module")
def target(folder: Path) -> Path:
    return write_plain_target(folder / "target.gguf", mixing=0.08)


@pytest.fixture(scope="module")
def decoder(target: Path, folder: Path) -> Iterator[SpeculativeDecoder]:
    with open_with_heads(target, write_medusa_for(folder / "medusa", target)) as opened:
        yield opened


def test_states_behind_the_norm(target: Path) -> None:
    """They are what the output layer reads; nobody's are computed unasked, and in a long prompt none are."""
    backend = open_backend(LoadConfig(target, threads=1, trusted=True))
    try:
        states, rows = states_of(backend, [*range(40, 90)])
        assert np.abs(states @ output_of(target).T - rows).max() < 1e-4
        reader = NormedStates()
        backend.show_states(reader)
        backend.truncate(0)
        backend.forward([*range(40, 80)], 0)
        assert np.isnan(np.stack(reader.states)).all()
        backend.forward([*range(80, 90)], 1)
        assert np.abs(np.stack(reader.states)[40:] - states[40:]).max() < 1e-5
    finally:
        backend.close()


def test_where_the_state_is_not_known(decoder: SpeculativeDecoder) -> None:
    """Behind a long prompt the first round goes without a draft; a text that is cut back goes on as it began."""
    assert decoder.target is not None
    long = [1, *(40 + place % 40 for place in range(70))]
    plain = decoder.generate(long, temperature=0.0, max_tokens=20, lookahead=0)
    result = follow_heads(decoder, long, lookahead=3, max_tokens=20)
    assert_same_greedy(decoder.target, long, plain, result)
    assert result.stats.proposed_by_position[0] in (result.stats.rounds - 1, result.stats.rounds - 2)
    again = follow_heads(decoder, [*long, *result.tokens[:9]], lookahead=3, max_tokens=11)
    assert again.prompt_evaluated == 1
    assert again.tokens == result.tokens[9:]
    assert again.stats.accepted > 0


def test_as_many_heads_as_tokens_are_wanted(decoder: SpeculativeDecoder, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    original = CompiledMedusa.rows

    def watched(self: CompiledMedusa, state: NDArray[np.float32], count: int) -> NDArray[np.float32]:
        asked.append(count)
        return original(self, state, count)

    monkeypatch.setattr(CompiledMedusa, "rows", watched)
    result = follow_heads(decoder, lookahead=2, max_tokens=20)
    assert set(asked) <= {1, 2}
    assert len(asked) <= result.stats.rounds, "once a round"


def _quantised(target: Path, kind: str) -> Path:
    params = llama_cpp.llama_model_quantize_default_params()
    params.ftype = getattr(llama_cpp, f"LLAMA_FTYPE_MOSTLY_{kind}")
    path = target.with_name(f"target-{kind}.gguf")
    assert llama_cpp.llama_model_quantize(bytes(target), bytes(path), ctypes.byref(params)) == 0
    return path


@pytest.mark.parametrize("kind", ["Q8_0", "F16"])
def test_matrices_as_fine_as_the_targets(
    kind: str, target: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Larger heads than tiny ones are kept as a quantised target is, and propose nearly the same."""
    monkeypatch.setattr("engine.backends.llama_cpp.graphs.medusa._SMALL", 1000)
    target = _quantised(target, kind)
    path = write_medusa_for(folder / f"heads-{kind}", target, depth=2)
    with open_with_heads(target, path) as opened:
        heads = opened.heads
        assert heads is not None
        assert opened.target is not None
        assert heads.weight_bytes < heads.parameters * (1.2 if kind == "Q8_0" else 2.1)
        plain = opened.generate(PROMPT, temperature=0.0, max_tokens=30, lookahead=0)
        result = follow_heads(opened, lookahead=3, max_tokens=30)
        assert_same_greedy(opened.target, PROMPT, plain, result, close=0.05)
        assert result.stats.accepted > 3
        assert isinstance(opened.target, LlamaCppBackend)
        layers = CompiledMedusa(read_medusa(path), opened.target)
        layers.load(read_medusa(path))
        state = np.random.default_rng(0).standard_normal(layers.width).astype(np.float32)
        rows, expected = layers.rows(state, 3), PlainMedusa(path).chain([], state[None], [0] * 3)
        layers.close()
        assert 0 < np.abs(rows - expected).max() < 0.03 * np.abs(expected).max()


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "width": ({"width": 32}, "trained for a target of width 32, and this one has 64"),
    "fewer": ({"rows": 300}, "another vocabulary"),
    "more": ({"rows": 384}, "another vocabulary"),
    "tensor": ({"without": "1.0.linear.bias"}, r"lacks the tensor '1\.0\.linear\.bias'"),
    "truncated": ({}, "incomplete"),
    "pickled": ({}, "convert-head medusa_lm_head.pt medusa_lm_head.safetensors"),
    "whole-numbers": ({}, "stored as I32, which cannot be used here"),
}


def _wrong(path: Path, target: Path, change: str) -> Path:
    write_medusa_for(path, target, **WRONG[change][0])
    file = path / "medusa_lm_head.safetensors"
    whole = file.read_bytes()
    if change == "truncated":
        file.write_bytes(whole[: len(whole) // 2])
    elif change == "pickled":
        file.rename(file.with_suffix(".pt"))
    elif change == "whole-numbers":
        file.write_bytes(whole.replace(b'"F32"', b'"I32"'))
    return path


def test_heads_that_are_refused(target: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In one line; left to itself the program writes the reply without them, and says why."""
    beside = Path(shutil.copy(target, tmp_path))
    asked = ["--max-tokens", "4", "--temperature", "0", "--lookahead", "3", "--tokens", "--json", "1,40,41"]
    for change, (_, said) in WRONG.items():
        path = _wrong(tmp_path / change, target, change)
        assert main(["generate", "--target", str(beside), "--heads", str(path), *asked]) == 2
        told = capsys.readouterr().err
        assert re.search(said, told)
        assert told.count("\n") == 1
    assert main(["generate", "--target", str(beside), *asked]) == 0
    told_all = capsys.readouterr()
    assert json.loads(told_all.out)["method"] == "autoregressive"
    assert told_all.err.count("\n") == 1
    assert "No draft head is used." in told_all.err


def test_found_and_listed(target: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Beside targets of two kinds, each head is named under its own, and taken without a word."""
    shutil.copy(target, tmp_path / "b.gguf")
    write_plain_target(tmp_path / "d.gguf", width=128, seed=1)
    write_medusa_for(tmp_path / "a", tmp_path / "d.gguf")
    write_medusa_for(tmp_path / "c", target)
    write_medusa_for(tmp_path / "e", target, rows=300)
    models = scan_folder(tmp_path)
    found = {
        model.path.name: {fit.source.path.name: fit for fit in judge_heads(model, models)}
        for model in models
        if model.usable
    }
    assert {name: [each for each, fit in fits.items() if fit.fits] for name, fits in found.items()} == {
        "b.gguf": ["c"],
        "d.gguf": ["a"],
    }
    targets = {model.path.name: model for model in models}
    best, fit = rank_drafts(targets["b.gguf"], [model for model in models if model.path != targets["b.gguf"].path])[0]
    assert (best.path.name, fit.fits, fit.head) == ("c", True, "medusa"), "what the window's picker asks"
    assert "width 128" in found["b.gguf"]["a"].reason
    assert "another vocabulary" in found["b.gguf"]["e"].reason
    assert [path.name for path in find_heads_of(tmp_path / "b.gguf")] == ["a", "c", "e"]
    asked = ["--max-tokens", "8", "--temperature", "0", "--lookahead", "3", "--tokens", "--json", "1,40,41"]
    for name in ("b.gguf", "d.gguf"):
        assert main(["generate", "--target", str(tmp_path / name), *asked]) == 0
        told = capsys.readouterr()
        assert json.loads(told.out)["method"] == "medusa"
        assert "Drafting with the head" in told.err


def test_vocabularies() -> None:
    """A file may lack some of the padding of its model's vocabulary, and a layer some of that of the file."""

    def vocabulary(used: int, size: int) -> Vocabulary:
        prints = np.zeros(size, np.uint32)
        prints[:used] = np.arange(1, used + 1)
        return make_vocabulary("", None, None, prints)

    same, short, long = vocabulary(32000, 32000), vocabulary(151665, 151665), vocabulary(151665, 152064)
    assert [covers(same, rows) for rows in (32000, 31999, 32016, 32064)] == [True, False, False, False]
    assert [covers(short, rows) for rows in (151665, 151664, 151936, 152064, 153600)] == [
        True,
        False,
        True,
        True,
        False,
    ]
    assert [covers(long, rows) for rows in (151665, 151936, 152064, 151664, 152128)] == [True, True, True, False, False]


def test_rows_of_padding(target: Path, folder: Path) -> None:
    """What a layer has no row for is never proposed."""
    path = write_medusa_for(folder / "short", target, rows=310)
    backend = open_backend(LoadConfig(target, threads=1, trusted=True))
    try:
        assert isinstance(backend, LlamaCppBackend)
        layers = CompiledMedusa(read_medusa(path), backend)
        layers.load(read_medusa(path))
        rows = layers.rows(np.ones(64, np.float32), 2)
        layers.close()
    finally:
        backend.close()
    assert np.isfinite(rows[:, :310]).all()
    assert (rows[:, 310:] == -np.inf).all()


def test_a_recurrent_target(folder: Path) -> None:
    """Other people's Mamba model: chains only, and one pass a round."""
    target = SHARED_MODELS / "gguf" / "stories-mamba131K-F32.gguf"
    if not target.exists():
        pytest.skip("no shared models")
    with open_with_heads(target, write_medusa_for(folder / "mamba", target)) as opened:
        check_text(opened, {"lookahead": 3})
