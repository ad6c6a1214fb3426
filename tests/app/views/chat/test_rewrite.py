"""Rewriting a reply: what to change is typed, the new text comes as changes, and each of them can be undone."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton

from app.state.chat.intents import ShowRewrite
from app.views.chat.rewrite import RewriteDialog
from engine import Message
from helpers.decoding.scripted_decoder import Script
from helpers.window.app_window import OpenWindow

OLD = "First line\nSecond line\n\nThird line"
NEW = "First line\n2nd line\n\nThird line\nFourth <b>line</b>"


def _one_by_one(*replies: str) -> Callable[[Sequence[Message]], str]:
    left = iter(replies)
    return lambda _messages: next(left)


def press(button: QPushButton) -> None:
    assert button.isEnabled(), button.text()
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)


def test_a_reply_is_rewritten_change_by_change(open_window: OpenWindow) -> None:
    script = Script(_one_by_one(OLD, NEW))
    window = open_window(script)
    first = window.ask("Write three lines.")
    assert first.shown == OLD
    window.program.window.transcript.intent.emit(ShowRewrite(first))
    dialog = window.program.window.findChild(RewriteDialog)
    assert dialog is not None
    assert not dialog.rewrite_button.isEnabled()
    QTest.keyClicks(dialog.what, "number the lines")
    press(dialog.rewrite_button)
    window.wait(lambda: not window.controller.busy)
    second = window.last()
    assert second is not first
    assert "number the lines" in second.question
    assert OLD not in second.question  # It is the last answer.
    assert script.options[-1]["prediction"] == OLD
    shown = dialog.text.toPlainText().split("\n")
    assert shown == ["  First line", "− Second line", "+ 2nd line", "  ", "  Third line", "+ Fourth <b>line</b>"]
    press(dialog.next_button)
    press(dialog.undo_button)
    assert dialog.text.toPlainText().split("\n")[1:3] == ["  Second line", "× 2nd line"]
    press(dialog.keep_button)
    last = window.last()
    assert last.shown == "First line\nSecond line\n\nThird line\nFourth <b>line</b>"


def test_an_earlier_reply_is_quoted(open_window: OpenWindow) -> None:
    window = open_window(Script(_one_by_one("A ~~~ fence", "another", "rewritten")))
    first = window.ask("One?")
    window.ask("Two?")
    new = window.controller.rewrite(first.shown, "shorten it")
    assert new is not None
    assert "\n~~~~\nA ~~~ fence\n~~~~" in new.question
    assert window.controller.rewrite(first.shown, "again") is None  # One at a time.
    window.wait(lambda: not window.controller.busy)
