"""The check after loading: do a token's logits depend on how many tokens are computed at once?"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from engine.backends.base import Logits, Rewind
from engine.backends.invariance import measure_row_difference, note_row_difference
from engine.cancel import CancelToken
from engine.config import LoadConfig
from engine.errors import BackendFailure, Cancelled, LoadFailed
from engine.loading import open as opening
from helpers.decoding.fake_backend import FakeBackend
from helpers.paths import ROOT

OTHER_LLAMA = "OUTRIDER_STOCK_LLAMA"
"""Names the folder of a llama.cpp without our kernels (libllama.so and the others), to load models with it."""


class Rounding(FakeBackend):
    """Rows change by this much where several tokens are fed at once."""

    difference = 0.0
    failing = False

    def forward(self, tokens: Sequence[int], n_outputs: int) -> Logits:
        if self.failing:
            raise BackendFailure("no memory is left on the card", 0)
        rows = super().forward(tokens, n_outputs).copy()
        rows[:, 1:2] += self.difference * (len(tokens) > 1)
        return rows

    def close(self) -> None:
        self.closed = True


def _file(folder: Path) -> LoadConfig:
    path = folder / "model.safetensors"
    path.write_bytes(b"weights")
    return LoadConfig(folder)


@pytest.mark.parametrize("rewind", [Rewind("any"), Rewind("snapshots", 1), Rewind("none")])
@pytest.mark.parametrize("difference", [0.0, 0.25])
def test_the_check_feeds_few_tokens_and_leaves_nothing(rewind: Rewind, difference: float) -> None:
    model = Rounding(50, rewind=rewind)
    model.difference = difference
    assert measure_row_difference(model) == pytest.approx(difference)
    assert model.length == 0
    assert model.forwards == ([5, 1] if rewind.kind == "any" else [5, 4, 1])


def test_a_context_of_one_token_says_nothing() -> None:
    assert measure_row_difference(Rounding(50, context_length=1)) is None


def test_it_is_measured_once_a_file_build_and_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = _file(tmp_path)

    def loaded(device: str = "cpu") -> Rounding:
        model = Rounding(50)
        model.difference, model.device = 0.25, device
        note_row_difference(model, config)
        assert model.batch_invariant is False
        return model

    assert loaded().forwards == [5, 1]
    assert loaded().forwards == []
    assert loaded("vulkan0").forwards == [5, 1]
    build = tmp_path / "build"
    build.mkdir()
    (build / "libggml.so").write_bytes(b"another")
    monkeypatch.setenv("LLAMA_CPP_LIB_PATH", str(build))
    assert loaded().forwards == [5, 1]
    (tmp_path / "model.safetensors").write_bytes(b"other weights")
    assert loaded().forwards == [5, 1]


@pytest.mark.parametrize("damage", ["", "[]", "{", '{"KEY": -1}', '{"KEY": "0"}', '{"KEY": true}', '{"KEY": NaN}'])
def test_damaged_memories_cost_one_more_check(tmp_path: Path, damage: str, isolated_home: Path) -> None:
    config = _file(tmp_path)
    note_row_difference(Rounding(50), config)
    (place,) = isolated_home.rglob("row_differences.json")
    (key,) = json.loads(place.read_text())
    place.write_text(damage.replace("KEY", key))
    model = Rounding(50)
    note_row_difference(model, config)
    assert model.forwards == [5, 1]
    assert model.batch_invariant is True


def test_a_model_that_cannot_compute_is_closed_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Rounding(50)
    model.failing = True
    kind: Any = type("Kind", (), {"open": lambda *_args, **_options: model})
    monkeypatch.setattr(opening, "_backend", lambda _name: kind)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(LoadFailed, match="no memory is left on the card"):
        opening.open_backend(_file(tmp_path))
    assert model.closed


def test_the_check_can_be_cancelled(tmp_path: Path) -> None:
    class Watched(Rounding):
        token: CancelToken | None = None

        def watch(self, cancel: CancelToken | None) -> None:
            self.token = cancel

        def forward(self, tokens: Sequence[int], n_outputs: int) -> Logits:
            assert self.token is not None
            self.token.check()
            return super().forward(tokens, n_outputs)

    model, cancel = Watched(50), CancelToken()
    cancel.cancel()
    with pytest.raises(Cancelled, match="Loading the model was cancelled"):
        note_row_difference(model, _file(tmp_path), cancel)
    assert model.token is None
    assert model.row_difference is None


def test_rows_of_our_kernels_do_not_depend_on_the_batch(shared_gguf: Callable[[str], Path]) -> None:
    library = pytest.importorskip("engine.backends.llama_cpp.library")
    if not library.computes_alike():
        pytest.skip("this llama.cpp computes with its own kernels")
    for name in ("stories260K-Q8_0", "stories260K-Q4_0", "microlm-pro-F32", "stories-mamba131K-F32"):
        model = opening.open_backend(LoadConfig(shared_gguf(name), threads=1, trusted=True))
        assert model.row_difference == 0.0, name
        assert model.length == 0
        model.close()


def test_another_build_of_llama_is_measured_too(shared_gguf: Callable[[str], Path], tmp_path: Path) -> None:
    """Run with a folder of libraries that were compiled without our kernels."""
    folder = os.environ.get(OTHER_LLAMA)
    if folder is None:
        pytest.skip(f"{OTHER_LLAMA} names no folder")
    command = ["-m", "engine", "generate", "--json", "--target", str(shared_gguf("microlm-pro-F32"))]
    asked = [sys.executable, *command, "--lookahead", "0", "--max-tokens", "4", "Hello"]
    found = []
    for libraries in ({}, {"LLAMA_CPP_LIB_PATH": folder}):
        environment = {**os.environ, **libraries, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(asked, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
        found.append(json.loads(done.stdout)["batch_invariant"])
    assert found == [True, False]
