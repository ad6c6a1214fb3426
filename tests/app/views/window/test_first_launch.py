"""The screen of the first start: shown once, left in every way, there again when it is asked for."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QLabel, QPushButton

from app.settings.settings import Settings, SettingsFile
from app.shell.windows import begin_introduction
from app.views.window.first_launch import FirstLaunchView
from helpers.decoding.scripted_decoder import Script
from helpers.window.app_window import OpenWindow, Window


def shown(window: Window) -> FirstLaunchView | None:
    """The screen, if it is the one that is shown."""
    view = window.main._pages.currentWidget()
    return view if isinstance(view, FirstLaunchView) else None


def first(window: Window) -> FirstLaunchView:
    """The screen, at a first start."""
    begin_introduction(window.program, used_before=False)
    view = shown(window)
    assert view is not None
    return view


def test_it_explains_both_models_and_is_shown_once(open_window: OpenWindow, tmp_path: Path) -> None:
    window = open_window(Script())
    view = first(window)
    said = " ".join(label.text() for label in view.findChildren(QLabel))
    for word in ("draft", "target", "exactly what the large model would have written alone"):
        assert word in said
    assert view.demo.hasFocus(), "Enter begins"
    window.qtbot.keyClick(view.demo, Qt.Key.Key_Space)  # type: ignore[no-untyped-call]
    assert shown(window) is None
    assert window.main.welcome.isVisible()
    assert window.prompt.edit.hasFocus()
    window.wait(lambda: not SettingsFile(tmp_path / "settings.json").load().first_launch)
    begin_introduction(window.program, used_before=False)
    assert shown(window) is None
    window.main.commands.run("program.introduction")
    assert shown(window) is not None, "whenever it is asked for"


def test_whoever_used_the_program_before_is_not_told(open_window: OpenWindow) -> None:
    window = open_window(Script())
    begin_introduction(window.program, used_before=True)
    assert shown(window) is None
    assert not window.program.settings.first_launch


def test_a_folder(open_window: OpenWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    window = open_window(Script())
    view = first(window)
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: "")
    view.folder.click()
    assert shown(window) is view, "nothing was chosen"
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(tmp_path / "empty"))
    (tmp_path / "empty").mkdir()
    view.folder.click()
    assert shown(window) is None
    assert window.prompt.edit.hasFocus()
    window.wait(lambda: window.models.settled)
    window.wait(window.main.pair_notice.isVisible)
    assert "no model to use in" in window.main.pair_notice.text.text()


@pytest.mark.parametrize("way", ["escape", "button", "question"])
def test_it_is_left(open_window: OpenWindow, way: str) -> None:
    window = open_window(Script())
    view = first(window)
    if way == "escape":
        window.qtbot.keyClick(view.folder, Qt.Key.Key_Escape)  # type: ignore[no-untyped-call]
    elif way == "button":
        view.close_button.click()
    else:
        exchange = window.ask("What are you?")
        assert window.view(exchange).isVisible()
    assert shown(window) is None
    assert not window.program.settings.first_launch


def test_it_comes_back_to_the_conversation(open_window: OpenWindow) -> None:
    window = open_window(Script())
    exchange = window.ask("What are you?")
    window.main.commands.run("program.introduction")
    view = shown(window)
    assert view is not None
    view.close_button.click()
    assert window.main._pages.currentWidget() is window.main.transcript
    assert window.view(exchange).isVisible()


def test_nothing_is_cut_in_the_smallest_window(open_window: OpenWindow) -> None:
    window = open_window(Script(), size=(720, 480))
    view = first(window)
    window.qtbot.wait(50)
    assert view.verticalScrollBar().maximum() == 0, "one screen"
    for button in view.findChildren(QPushButton):
        assert button.width() >= button.sizeHint().width()
        assert button.accessibleName() or button.text()


def test_large_letters_in_the_smallest_window(open_window: OpenWindow) -> None:
    window = open_window(Script(), settings=Settings(font_points=20), size=(720, 480))
    view = first(window)
    window.qtbot.wait(50)
    page = view.widget()
    assert page is not None
    assert page.width() <= view.viewport().width(), "it scrolls downwards only"
    for button in view.findChildren(QPushButton):
        assert button.width() >= button.sizeHint().width()


def test_without_a_demo_pair(open_window: OpenWindow) -> None:
    window = open_window(Script(), settings=Settings(first_launch=True))
    window.models.list.bundled = None
    view = first(window)
    assert not view.demo.isEnabled()
    assert view.folder.hasFocus()


def test_a_reply_is_replayed_at_once(open_window: OpenWindow, demo_pair: tuple[Path, Path]) -> None:
    """Without a click; the loaded pair wrote it at this start, and no conversation is left of it."""
    window = open_window(pair=demo_pair)
    view = first(window)
    window.wait(lambda: view.player.playing, 30_000)
    assert not view.picture.isVisible()
    replay = view.player._replay
    assert replay is not None
    assert replay.has_guesses
    assert sum(each.kept for each in replay.rounds[:8]) > 0
    assert sum(len(each.rejected) for each in replay.rounds[:8]) > 0
    assert all(each.milliseconds for each in replay.rounds)
    window.wait(lambda: view.player.index >= 1)
    heights = []
    for height in (480, 600):
        window.main.resize(900, height)
        window.wait(lambda height=height: window.main.height() == height)  # type: ignore[misc]
        view._fit_replay()
        heights.append(view.player.height())
        assert not view.verticalScrollBar().maximum(), "no more than there is room for"
    assert heights[0] < heights[1]
    assert not window.program.conversations.summaries()
    assert not window.controller.transcript.entries
