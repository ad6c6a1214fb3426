"""Every control of the window and of every dialog has a name and a role, and is reached without a mouse."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QPushButton, QToolButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app.state.chat.intents import ShowDetails
from app.state.chat.transcript import Problem
from app.system.damage_dialog import make_dialog
from app.views.markdown.link_question import LinkQuestion
from engine import InstallationDamaged
from helpers.decoding.scripted_decoder import Script
from helpers.gallery.access import nameless, tab_stops, unreachable, without_visible_focus
from helpers.gallery.gallery import DIALOGS
from helpers.window.app_window import OpenWindow, Window

CODE = "Text with `code` and a [link](https://example.org).\n\n```python\nx = 1\n```\n"


def missing(window: Window, widget: QWidget | None = None) -> str:
    """What is wrong with a window."""
    shown = widget or window.main
    shown.activateWindow()
    window.wait(shown.isActiveWindow)
    return "\n".join(nameless(shown) + unreachable(shown, window.main.commands))


def unseen(window: Window, widget: QWidget) -> str:
    """What has the keyboard without showing it, also when it is looked at again: a busy machine draws late."""
    found = without_visible_focus(widget)
    if found:
        QCursor.setPos(widget.mapToGlobal(widget.rect().bottomRight()))  # What is under the mouse may look the same.
        widget.activateWindow()
        window.qtbot.wait(300)
        found = without_visible_focus(widget)
    return "\n".join(found)


def test_the_window_before_anything_is_asked(open_window: OpenWindow) -> None:
    window = open_window(Script(CODE))
    window.main.show_chat(empty=True)
    assert missing(window) == ""


def test_the_window_with_a_conversation(open_window: OpenWindow) -> None:
    window = open_window(Script(CODE))
    window.ask("Hello")
    window.ask("And more")
    assert missing(window) == ""
    window.main.bar.tokens_button.click()
    window.qtbot.wait(50)
    assert missing(window) == ""


def test_the_card_of_a_token(open_window: OpenWindow) -> None:
    """Tab comes to the tokens, and their card is there; the arrows go on, and what the card says is said aloud."""
    window = open_window(Script(CODE))
    exchange = window.ask("Hello")
    window.main.bar.tokens_button.click()
    tokens = window.view(exchange).tokens
    assert tokens is not None
    window.wait(lambda: window.view(exchange).reply.is_settled)
    text, card = window.view(exchange).reply.texts[0].page, tokens.layer.card
    window.main.activateWindow()
    window.wait(window.main.isActiveWindow)
    window.main.enter_transcript()
    for _ in range(9):
        QTest.keyClick(QApplication.focusWidget() or window.main, Qt.Key.Key_Tab)
        if QApplication.focusWidget() is text:
            break
    assert text.hasFocus()
    assert card.isVisible()
    told = QAccessible.queryAccessibleInterface(text)
    assert told.role() == QAccessible.Role.StaticText
    said = []
    for _ in range(3):
        said.append(told.text(QAccessible.Text.Description))
        shown = [label.text() for label in card.findChildren(QLabel) if label.isVisible()]
        assert card.name.text() in said[-1]
        assert card.whence.text() in said[-1]
        assert QAccessible.queryAccessibleInterface(card).text(QAccessible.Text.Name) == said[-1]
        assert card.target.text() in shown
        QTest.keyClick(text, Qt.Key.Key_Right)
    assert len(set(said)) == 3
    assert missing(window) == ""
    text.setFocus(Qt.FocusReason.TabFocusReason)
    assert card.isVisible()
    QTest.keyClick(text, Qt.Key.Key_Escape)
    assert not card.isVisible()
    assert text.hasFocus()
    assert unseen(window, window.main) == ""


def test_a_program_that_lacks_parts(open_window: OpenWindow) -> None:
    window = open_window(Script(CODE))
    dialog = make_dialog(InstallationDamaged(["resources/styles/window.qss"], ["engine/generation/loop.py"]))
    window.qtbot.addWidget(dialog)
    dialog.show()
    assert missing(window, dialog) == ""
    assert unseen(window, dialog) == ""
    told = QAccessible.queryAccessibleInterface(dialog)
    assert told.role() == QAccessible.Role.AlertMessage
    assert dialog.windowTitle()
    assert "window.qss" in dialog.informativeText()
    QTest.keyClick(QApplication.focusWidget() or dialog, Qt.Key.Key_Escape)
    assert not dialog.isVisible()


@pytest.mark.logs("the conversations could not be opened")
def test_settings_and_conversations_that_were_damaged(open_window: OpenWindow, tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text("{", encoding="utf-8")
    (tmp_path / "conversations.sqlite3").write_bytes(b"no conversations at all")
    window = open_window(Script(CODE))
    assert window.notices()
    assert window.main.notice.isVisible()
    assert missing(window) == ""
    assert unseen(window, window.main) == ""


def test_a_narrow_window_with_either_panel(open_window: OpenWindow) -> None:
    window = open_window(Script(CODE), size=(720, 480))
    window.ask("Hello")
    for show in (window.main.show_left, window.main.show_right):
        show(True)
        assert missing(window) == ""


def test_while_a_reply_is_written_and_when_something_is_wrong(open_window: OpenWindow) -> None:
    window = open_window(Script("word " * 300, round_s=0.05, read_s=0.2))
    exchange = window.send("Go on")
    assert missing(window) == ""
    window.controller.cancel()
    window.ended(exchange)
    window.controller.report(Problem("The file is damaged."))
    window.main.notice.show_trouble("The disk is full.")
    assert missing(window) == ""
    window.main.notice.hide()
    window.view(exchange).question.edit()
    assert missing(window) == ""


def test_a_conversation_that_was_deleted(open_window: OpenWindow) -> None:
    window = open_window(Script(CODE))
    window.ask("Hello")
    window.main.commands.run("conversations.delete")
    assert window.main.left.undo_bar.isVisible()
    assert missing(window) == ""


def test_the_first_screen(open_window: OpenWindow) -> None:
    window = open_window(Script(CODE))
    window.main.commands.run("program.introduction")
    assert missing(window) == ""


def test_files_of_a_question_and_a_load_that_is_announced(open_window: OpenWindow, tmp_path: Path) -> None:
    window = open_window(Script(CODE))
    (tmp_path / "notes.txt").write_text("Some lines.\n" * 9, encoding="utf-8")
    window.program.attachments.add([tmp_path / "notes.txt"])
    window.wait(lambda: window.program.attachments.attachments)
    window.models.announce.emit("A model needs more memory than is free.")
    assert missing(window) == ""


def test_the_report_of_an_error(open_window: OpenWindow) -> None:
    window = open_window(Script(CODE))
    window.main.transcript.intent.emit(ShowDetails(Problem("Something went wrong.", "builtins.ZeroDivisionError")))
    dialog = other_window(window)
    assert missing(window, dialog) == ""
    assert unseen(window, dialog) == ""


@pytest.mark.parametrize("key", [key for key in DIALOGS if key != "program.palette"])
def test_every_dialog(key: str, open_window: OpenWindow) -> None:
    window = open_window(Script(CODE))
    window.ask("Hello")
    dialog = dialog_of(window, key)
    assert missing(window, dialog) == ""
    assert dialog.windowTitle(), "a screen reader says it first"
    QTest.keyClick(QApplication.focusWidget() or dialog, Qt.Key.Key_Escape)
    assert not dialog.isVisible()


@pytest.mark.qt_log_ignore("This plugin does not support raise", extend=True)
@pytest.mark.parametrize("page", ["general", "generation", "speculation"])
def test_every_page_of_the_settings(page: str, open_window: OpenWindow) -> None:
    window = open_window(Script(CODE))
    dialog = dialog_of(window, "program.settings")
    dialog.open_at(page)  # type: ignore[attr-defined]
    assert missing(window, dialog) == ""


def dialog_of(window: Window, key: str) -> QWidget:
    """The dialog that a command opens."""
    window.main.commands.run(key)
    return other_window(window)


def other_window(window: Window) -> QWidget:
    """The window that is shown beside the main one."""
    shown = [each for each in QApplication.topLevelWidgets() if each.isVisible() and each is not window.main]
    shown = [each for each in shown if each.width() > 1]
    assert len(shown) == 1
    return shown[0]


def test_the_palette_and_the_question_before_a_link(open_window: OpenWindow) -> None:
    window = open_window(Script(CODE))
    window.main.commands.run("program.palette")
    palette = window.main.findChild(QWidget, "palette")
    assert palette is not None
    assert nameless(palette) == []
    QTest.keyClick(QApplication.focusWidget() or palette, Qt.Key.Key_Escape)
    question = LinkQuestion("https://example.org", window.main.transcript.viewport())
    question.ask_at(window.main.mapToGlobal(window.main.rect().center()))
    assert nameless(question) == []
    question.close()


def test_the_keyboard_is_seen_wherever_it_is(open_window: OpenWindow) -> None:
    window = open_window(Script(CODE))
    window.ask("Hello")
    window.main.activateWindow()
    window.wait(window.main.isActiveWindow)
    assert unseen(window, window.main) == ""


@pytest.mark.parametrize("key", [key for key in DIALOGS if key != "program.palette"])
def test_the_keyboard_is_seen_in_every_dialog(key: str, open_window: OpenWindow) -> None:
    window = open_window(Script(CODE))
    dialog = dialog_of(window, key)
    dialog.activateWindow()
    window.wait(dialog.isActiveWindow)
    assert unseen(window, dialog) == ""


def test_tab_follows_the_eye(open_window: OpenWindow) -> None:
    """The bar, the chats, the conversation, the prompt, the panel; each from left to right and from top to bottom."""
    window = open_window(Script(CODE))
    window.ask("Hello")
    main = window.main
    main.bar.left_button.setFocus()
    main.activateWindow()
    window.wait(main.isActiveWindow)
    stops = tab_stops(main)
    areas = [main.bar, main.left, main.transcript, main.prompt, main.panel]
    order = [
        next((number for number, area in enumerate(areas) if area is stop or area.isAncestorOf(stop)), -1)
        for stop in stops
    ]
    seen = [number for number in order if number >= 0]
    begin = next(place for place, number in enumerate(seen) if number == 0 and seen[place - 1] != 0)
    turned = [*seen[begin:], *seen[:begin]]
    assert list(dict.fromkeys(turned)) == [0, 1, 2, 3, 4]
    assert sorted(turned) == turned, "each once"


def test_what_is_missing_is_found(qtbot: QtBot) -> None:
    """The walk itself."""
    window = QWidget()
    qtbot.addWidget(window)
    layout = QVBoxLayout(window)
    good, silent, deaf, field = QPushButton("Good"), QToolButton(), QPushButton("Deaf"), QLineEdit()
    deaf.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    silent.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    for widget in (good, silent, deaf, field):
        layout.addWidget(widget)
    window.show()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    assert [line.split(":")[0] for line in nameless(window)] == ["no name", "no tooltip", "no name"]
    assert [line.split(" '")[0] for line in unreachable(window)] == ["not reached: QWidget/QPushButton"]
