"""A chat template that turns hostile on a word: the window goes on, Cancel ends it, the next question is answered."""

from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import pytest

from helpers.models.hostile_templates import HOSTILE, WORD, write_hostile
from helpers.window.app_window import OpenWindow, Window
from helpers.window.gap_probe import GapProbe


@pytest.fixture
def open_hostile(open_window: OpenWindow, bundled_draft: Path, tmp_path: Path) -> Callable[[str], Window]:
    def open_it(name: str) -> Window:
        target = write_hostile(bundled_draft, tmp_path / "hostile.gguf", HOSTILE[name])
        return open_window(pair=(target, bundled_draft))

    return open_it


@pytest.mark.alone
def test_cancel_ends_it_and_the_next_question_is_answered(open_hostile: Callable[[str], Window]) -> None:
    window = open_hostile("words")
    assert window.ask("Hi").status == "done"
    probe = GapProbe()
    probe.start()
    exchange = window.send(f"Open {WORD}")
    began = perf_counter()
    window.wait(lambda: perf_counter() - began > 0.6)
    assert not exchange.ended
    began = perf_counter()
    window.main.cancel_wanted.emit()
    window.ended(exchange)
    assert perf_counter() - began < 1.0
    probe.stop()
    assert exchange.status == "cancelled"
    assert max(probe.work) < 100
    assert window.ask("And now?").status == "done"


@pytest.mark.parametrize("name", ["doubled by ~", "loops within loops"])
def test_it_is_one_clear_error(open_hostile: Callable[[str], Window], name: str) -> None:
    window = open_hostile(name)
    exchange = window.ask(f"Open {WORD}")
    assert exchange.problem is not None
    assert exchange.problem.text.startswith("The model's chat template failed: ")
    assert window.main.isEnabled()
