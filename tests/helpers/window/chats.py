"""What a test of the conversations asks of the window and its list."""

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from app.state.chat.transcript import Exchange
from app.state.conversations.list import ConversationItem
from helpers.window.app_window import Window

LONG = "A sentence of a reply that goes on. " * 60
ECHO: Callable[..., str] = lambda messages: f"Reply to {messages[-1].content}"  # noqa: E731


def titles(window: Window) -> list[str]:
    """What the list shows, headings too."""
    rows = window.main.left.rows
    return [str(rows.index(row).data()) for row in range(rows.rowCount())]


def number(window: Window, title: str) -> int:
    """The conversation of this title."""
    return next(
        each.id
        for each in window.program.conversations.list.rows
        if isinstance(each, ConversationItem) and each.title == title
    )


def questions(window: Window) -> list[str]:
    """The questions on the screen."""
    return [entry.question for entry in window.controller.transcript if isinstance(entry, Exchange)]


def key(window: Window, widget: QWidget, code: Qt.Key) -> None:
    """Press a key in a widget."""
    window.qtbot.keyClick(widget, code)  # type: ignore[no-untyped-call]


def stand_on(window: Window, title: str) -> None:
    """Put the keyboard on a row of the list."""
    panel = window.main.left
    row = window.program.conversations.list.row_of(number(window, title))
    assert row is not None
    panel.list.setFocus()
    panel.list.setCurrentIndex(panel.rows.index(row))
