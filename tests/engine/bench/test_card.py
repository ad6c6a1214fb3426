"""The benchmark of a graphics card: what it says without one, what it measures, and what must hold."""

import subprocess
import sys
from pathlib import Path
from typing import Any

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


def _report() -> dict[str, Any]:
    on_card = {"device": "cuda0", "own_kernels": False, "load_s": 1.0, "token_ms": 1.0, "noted_difference": 0.4}
    on_card["differences"] = {size: 0.0 if size in {1, 2, 3, 7} else 0.5 for size in card_figures.SIZES}
    beside = on_card | {"device": "cpu", "own_kernels": computes_alike(), "noted_difference": 0.0}
    beside["differences"] = dict.fromkeys(card_figures.SIZES, 0.0)
    times = dict.fromkeys(card_figures.SIZES, 2.0)
    costs = {"weight_bytes": 2**20, "in_a_row": times, "after_another": times, "calibrated": times}
    equal = {"checked": True, "same": 3, "parted_at_a_near_tie": 1, "different": 0, "not_examined": 0}
    speed = {"tokens_per_second": {"median": 500.0}, "speedup": {"median": 1.5}, "acceptance_rate": 0.5}
    ways = {"both on the card": {"ways": {"plain": speed, "auto": speed}, "equal": equal}}
    places = dict(zip(card_figures.PLACES_OF_TARGET, (on_card, on_card, beside), strict=True))
    return {
        "cards": ["cuda0 (A)"],
        "tests": "9 passed",
        "places": places,
        "pairs": {"q": {"costs": costs, "ways": ways}},
    }


def test_what_must_hold_is_seen_and_shown() -> None:
    report = _report()
    musts = card_figures.find_musts(report)
    assert all(musts.values())
    text = card_figures.show(report, musts)
    assert "the same bits at n = 1–3, 7, elsewhere up to 0.500 apart" in text
    assert "the same bits at every n" in text
    assert "| both on the card | 500 (1.50) | 500 (1.50) | 0.50 | 3, 1, 0 |" in text


@pytest.mark.parametrize(
    ("place", "changed", "words"),
    [
        ("on the card", {"device": "cpu"}, "the card computes"),
        ("on the card", {"own_kernels": True}, "the card computes"),
        ("on the card", {"noted_difference": 0.0}, "is detected"),
        ("on the processor", {"device": "cuda0"}, "beside the card the processor"),
    ],
)
def test_what_does_not_hold_is_named(place: str, changed: dict[str, Any], words: str) -> None:
    report = _report()
    report["places"][place] = report["places"][place] | changed
    assert [name for name, met in card_figures.find_musts(report).items() if not met and words in name]


def test_a_different_reply_and_a_failed_test_are_named() -> None:
    report = _report() | {"tests": "1 failed, 8 passed"}
    report["pairs"]["q"]["ways"]["both on the card"]["equal"]["different"] = 1
    missed = [name for name, met in card_figures.find_musts(report).items() if not met]
    assert len(missed) == 2
