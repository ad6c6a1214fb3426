"""Every text goes through translation: in a language of other letters nothing of the window reads as English."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtGui import QDesktopServices, QPainter, QPaintEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QWidget
from pytestqt.qtbot import QtBot

import app.shell.bootstrap
import app.views.window.about
from app.shell.notifications import Notifier
from app.state.compare.race import Race, RaceMark
from app.system.licences import Component
from app.views.compare.race import RaceView
from app.views.markdown.code_bars import CodeBar
from app.views.widgets.theme import Theme
from engine import ContextFull
from helpers.decoding.scripted_decoder import Script
from helpers.models.model_zoo import MODELS, write_torn
from helpers.paths import ROOT
from helpers.window.app_window import OpenWindow, Window
from helpers.window.pseudo_language import LeftOut, Painted, data_of, open_menus, pseudo, speaking_pseudo

ENDING = frozenset({"program.quit"})
REPLY = "zzz zz zzz **zzzz** zzz\n\n```python\nzzz = 1\n```\n\n- zzz\n- zzzz"


@pytest.fixture
def left_out(tmp_path: Path) -> LeftOut:
    """What is collected."""
    return LeftOut(data_of(tmp_path))


@pytest.fixture
def open_pseudo(open_window: OpenWindow, qapp: QApplication, tmp_path: Path) -> Iterator[OpenWindow]:
    """Opens a window in the pseudo-language, with models that have no English names."""

    def open_one(script: Script, **more: Any) -> Window:
        return open_window(script, pair=(tmp_path / "xxbig.gguf", tmp_path / "xxsmall.gguf"), **more)

    with speaking_pseudo(qapp):
        yield open_one


def _nothing(left_out: LeftOut) -> None:
    left_out.look()
    assert left_out.seen > 100
    assert not left_out.found, f"not translated:\n{left_out}"


def test_the_pseudo_language() -> None:
    assert pseudo("Copy {name} to <b>%n</b>") == "«Çöþý {name} ţö <b>%n</b>»"
    look = LeftOut(data_of(Path("zz")))
    look.check(pseudo("Copy {name}").format(name="xxbig.gguf"), "")
    look.check("128 · 3", "")
    assert not look.found
    look.check(pseudo("Copy {name}").format(name="the rest"), "")
    assert look.found


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
def test_what_every_command_opens(
    open_pseudo: OpenWindow, left_out: LeftOut, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Menus, palette, sheets, dialogs and questions, each as it opens; dialogs of files only with their titles."""
    _note_file_dialogs(monkeypatch, left_out)
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda _url: True)
    # What the parts of the program and their licences are called is their own affair.
    part = Component("zz", "1", "zzz", "", ())
    monkeypatch.setattr(app.views.window.about, "components", lambda: (part,))
    monkeypatch.setattr(app.views.window.about, "versions", lambda: [("zz", "1")])
    window = open_pseudo(Script(REPLY))
    window.ask("zz zzz")
    window.main.commands.refresh()
    for key in [each.key for each in window.main.commands]:
        if key in ENDING:
            continue
        window.main.commands.run(key)
        window.qtbot.wait(5)
        left_out.look(shown=True)
        for each in QApplication.topLevelWidgets():
            if each is not window.main and each.isVisible():
                each.close()
    open_menus(window.main)
    _nothing(left_out)


def _note_file_dialogs(monkeypatch: pytest.MonkeyPatch, left_out: LeftOut) -> None:
    def note(kind: str, empty: Any) -> None:
        def ask(_parent: object = None, caption: str = "", _folder: str = "", kinds: object = "", *_: object) -> Any:
            left_out.check(caption, kind)
            if isinstance(kinds, str):
                left_out.check(re.sub(r"\*\.\w+", "", kinds), kind)
            return empty

        monkeypatch.setattr(QFileDialog, kind, staticmethod(ask))

    for kind in ("getOpenFileName", "getSaveFileName"):
        note(kind, ("", ""))
    note("getOpenFileNames", ([], ""))
    note("getExistingDirectory", "")


def test_the_system_is_told_of_a_reply(
    open_pseudo: OpenWindow, left_out: LeftOut, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = open_pseudo(Script(REPLY, reply_errors=[ContextFull(5000, 4096)]))
    told: list[str] = []
    monkeypatch.setattr(Notifier, "_show", lambda _self, *texts: told.extend(texts))
    monkeypatch.setattr("app.shell.notifications.LONG_MS", 0.0)
    notifier = Notifier(window.main, window.program.settings, lambda: False)
    for _ in range(2):
        notifier.note(window.ask("zz"))
    assert len(told) == 4
    for text in told:
        left_out.check(text, "notification")
    _nothing(left_out)


def raced_view(theme: Theme, qtbot: QtBot, names: tuple[str, str]) -> RaceView:
    """Show a race of one token each, which both have written; wait until it stands still."""
    race = Race()
    for lane, seconds in ((0, 0.4), (1, 0.2)):
        race.take(RaceMark(lane, seconds / 2, "zzz", 1))
        race.take(RaceMark(lane, seconds, "", 1, over=True))
    view = RaceView(theme)
    qtbot.addWidget(view)
    view.show_race(race, names, sampled=False, free=True)
    view.show()
    qtbot.waitUntil(lambda: bool(view.outcome.text()))
    return view


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
def test_what_is_painted(open_pseudo: OpenWindow, left_out: LeftOut, tmp_path: Path) -> None:
    """Every place in the sources that paints a text by itself does it here, and none of them paints English."""
    painted = Painted(left_out)
    folder = tmp_path / "xxmodels"
    folder.mkdir()
    # What is wrong with it takes two lines to say in large letters.
    write_torn(folder / "xxtorn.gguf", MODELS["lama-half"])
    window = open_pseudo(Script("zzz zz zzz\n\n```\nzzz\n```\n"), size=(1_280, 1_600))
    main = window.main
    main.commands.run("program.introduction")
    painted.look()
    window.view(window.ask("zz zzz")).findChildren(CodeBar)[0].numbers_button.click()
    main.bar.tokens_button.click()
    main.left.search.setText("zz")
    window.wait(lambda: window.program.conversations.list.query)
    main.folder_chosen.emit(str(folder))
    window.wait(lambda: len(window.models.list.models) == 3 and window.models.settled)
    painted.look()
    main.left.search.clear()
    window.wait(lambda: not window.program.conversations.list.query)
    painted.look()
    main.set_font_points(18)
    for picker in (main.bar.target, main.bar.draft, main.bar.lookahead):
        picker.showPopup()
        painted.look()
        picker.hidePopup()
    main.commands.run("program.palette")
    painted.look()
    QTest.keyClicks(QApplication.focusWidget() or main, "zz")
    painted.look()
    race = raced_view(window.program.theme, window.qtbot, (pseudo("plain"), pseudo("speculative")))
    painted.look()
    with painted.noting():
        race.field.picture(None, "zzz")
    race.close()
    assert [place for place in painted.not_reached(ROOT / "app") if not place.startswith("drawing_child.py")] == []
    assert pseudo("position in the draft") in painted.texts
    _nothing(left_out)


def test_a_painted_text_that_is_left_out_is_found(qtbot: QtBot, left_out: LeftOut, tmp_path: Path) -> None:
    class Sign(QWidget):
        def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
            QPainter(self).drawText(4, 20, "Closed")

    sign = Sign()
    qtbot.addWidget(sign)
    painted = Painted(left_out)
    sign.show()
    painted.look()
    assert list(left_out.found) == ["Closed"]
    (tmp_path / "other.py").write_text("painter.drawText(\n    1, 2, words\n)\n", encoding="utf-8")
    assert painted.not_reached(tmp_path) == ["other.py:1"]
