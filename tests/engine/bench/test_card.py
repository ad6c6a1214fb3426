"""The benchmark of a graphics card: what it says without one, what it measures, and what must hold."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("llama_cpp")

from benchmarks.cards import card, card_figures
from engine.backends.llama_cpp.backend import LlamaCppBackend
from engine.backends.llama_cpp.library import card_names, computes_alike, prepare_library
from engine.config import LoadConfig
from helpers.paths import BENCH, ROOT


@pytest.fixture(scope="module", autouse=True)
def _library() -> None:
    prepare_library()


def test_without_a_card_it_says_so_in_a_sentence() -> None:
    if card_names():
        pytest.skip("there is a card")
    command = [sys.executable, str(BENCH), "card"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    (line,) = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (2, "")
    assert "make setup LLAMA=cuda" in line or "Install the driver" in line


def test_it_measures_a_real_model(bundled_target: Path) -> None:
    found = card.look_at(bundled_target, 0)
    assert (found["device"], found["own_kernels"]) == ("cpu", computes_alike())
    assert list(found["differences"]) == list(card_figures.SIZES)
    if computes_alike():
        assert found["noted_difference"] == 0.0
        assert not any(found["differences"].values())
    backend = LlamaCppBackend.open(LoadConfig(bundled_target, gpu_layers=0, trusted=True))
    try:
        for measure in (card.forwards_in_a_row, card.forwards_after_another):
            times = measure(backend, 1)
            assert list(times) == list(card_figures.SIZES)
            assert min(times.values()) > 0.0
    finally:
        backend.close()
