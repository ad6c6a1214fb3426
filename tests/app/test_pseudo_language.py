"""Every text goes through translation: in a language of other letters nothing of the window reads as English."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QApplication

import app.bootstrap
import app.bridge
from app.resources import starter_prompts
from app.translation import install
from engine import ContextFull, ModelFileBroken
from helpers.app_window import OpenWindow, Window
from helpers.pseudo_language import LeftOut, open_menus, pseudo, speak_pseudo
from helpers.scripted_decoder import Script
from helpers.scripted_proof import ScriptedProof

REPLY = "zzz zz zzz **zzzz** zzz\n\n```python\nzzz = 1\n```\n\n- zzz\n- zzzz"
UNITS = r"\b(?:[kKMGT]i?B|[KMBT]|px|pt)\b"
NAMES = r"xx\w*(?:\.gguf)?|\bzz+\b|python|Outrider|outrider|RuntimeError"


@pytest.fixture
def speaking(qapp: QApplication, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The pseudo-language, whatever the settings say."""
    translator = speak_pseudo(qapp)
    monkeypatch.setattr(app.bootstrap, "install", lambda *_arguments: None)
    yield
    qapp.removeTranslator(translator)
    install(qapp, "en")


@pytest.fixture
def left_out(tmp_path: Path) -> LeftOut:
    """What is collected."""
    # What a model is asked to begin with is in the language of the bundled pair, and may be cut.
    prompts = [re.escape(starter.prompt) for starter in starter_prompts()]
    cut = r"(?:" + "|".join(re.escape(starter.prompt[:12]) for starter in starter_prompts()) + r").*…"
    return LeftOut([*prompts, cut, r"\S*" + tmp_path.name + r"\S*", NAMES, UNITS])


@pytest.fixture
def open_pseudo(open_window: OpenWindow, speaking: None, tmp_path: Path) -> OpenWindow:
    """Opens a window in the pseudo-language, with models that have no English names."""

    def open_one(script: Script, **more: Any) -> Window:
        return open_window(script, pair=(tmp_path / "xxbig.gguf", tmp_path / "xxsmall.gguf"), **more)

    return open_one


def _nothing(left_out: LeftOut) -> None:
    left_out.look()
    assert left_out.seen > 100
    assert not left_out.found, f"not translated:\n{left_out}"


def test_the_pseudo_language() -> None:
    assert pseudo("Copy {name} to <b>%n</b>") == "«Çöþý {name} ţö <b>%n</b>»"
    look = LeftOut([NAMES])
    look.check(pseudo("Copy {name}").format(name="xxbig.gguf"), "")
    look.check("128 · 3", "")
    assert not look.found
    look.check(pseudo("Copy {name}").format(name="the rest"), "")
    assert look.found


def test_the_window_as_it_begins(open_pseudo: OpenWindow, left_out: LeftOut) -> None:
    window = open_pseudo(Script())
    open_menus(window.main)
    _nothing(left_out)


def test_a_conversation(open_pseudo: OpenWindow, left_out: LeftOut) -> None:
    window = open_pseudo(Script(REPLY))
    window.ask("zz zzz")
    exchange = window.ask("zzz zz")
    window.controller.regenerate(exchange)
    window.wait(lambda: not window.controller.busy)
    open_menus(window.main)
    _nothing(left_out)


def test_a_reply_while_it_is_written(open_pseudo: OpenWindow, left_out: LeftOut) -> None:
    window = open_pseudo(Script("zzzz " * 400, round_s=0.01, read_s=0.2))
    window.send("zz zzz")
    window.wait(lambda: window.controller.activity.work == "reading")
    left_out.look()
    window.wait(lambda: window.controller.activity.work == "writing")
    left_out.look()
    window.controller.cancel()
    window.wait(lambda: not window.controller.busy)
    _nothing(left_out)


@pytest.mark.logs("builtins.(RuntimeError|MemoryError)")
def test_what_goes_wrong(open_pseudo: OpenWindow, left_out: LeftOut, tmp_path: Path) -> None:
    script = Script(reply_errors=[ContextFull(5000, 4096), RuntimeError("zzz"), MemoryError()])
    window = open_pseudo(script)
    for _ in range(3):
        window.ask("zz")
    script.load_errors.append(ModelFileBroken(tmp_path / "xxbad.gguf", "zzz"))
    window.desk.choose_target(tmp_path / "xxbad.gguf")
    window.ask("zz")
    window.main.folder_chosen.emit(str(tmp_path / "xxgone"))
    window.wait(window.notices)
    _nothing(left_out)


def test_compare_and_sweep(open_pseudo: OpenWindow, left_out: LeftOut, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app.bridge, "measure_ways", ScriptedProof({"plain": 50.0, "4": 68.5, "auto": 70.0}))
    window = open_pseudo(Script(REPLY))
    window.ask("zz zzz")
    for kind in ("compare", "sweep"):
        getattr(window.main.bar, f"{kind}_wanted").emit()
    left_out.look()
    for kind in ("compare", "sweep"):
        dialog = next(each for each in _dialogs() if getattr(each, "kind", "") == kind)
        dialog.start.click()
        window.wait(lambda kind=kind: window.parts.proof.runs[kind].status == "done", 30_000)
        left_out.look()
    _nothing(left_out)


def _dialogs() -> list[Any]:
    return [each for each in QApplication.topLevelWidgets() if each.isVisible()]
