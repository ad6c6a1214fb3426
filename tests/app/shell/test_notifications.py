"""Who works elsewhere is told of the end of a long reply."""

from dataclasses import replace

import pytest
from PySide6.QtWidgets import QApplication, QSystemTrayIcon, QWidget
from pytestqt.qtbot import QtBot

from app.settings.settings import Settings
from app.shell.notifications import LONG_MS, Notifier
from app.state.chat.transcript import Exchange, Problem
from helpers.decoding.scripted_decoder import Script
from helpers.window.app_window import OpenWindow


class Desktop:
    """Record the notices that the system is asked to show."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, tray: bool = True) -> None:
        self.messages: list[tuple[str, str]] = []
        self.alerts: list[QWidget] = []
        self.shown: list[bool] = []
        monkeypatch.setattr(QApplication, "alert", lambda widget, *_: self.alerts.append(widget))
        monkeypatch.setattr(QSystemTrayIcon, "isSystemTrayAvailable", lambda: tray)
        monkeypatch.setattr(QSystemTrayIcon, "supportsMessages", lambda: tray)
        monkeypatch.setattr(QSystemTrayIcon, "show", lambda _icon: self.shown.append(True))
        monkeypatch.setattr(QSystemTrayIcon, "hide", lambda _icon: self.shown.append(False))
        monkeypatch.setattr(
            QSystemTrayIcon, "showMessage", lambda _icon, title, text, *_: self.messages.append((title, text))
        )


def test_the_end_of_a_long_reply(open_window: OpenWindow, monkeypatch: pytest.MonkeyPatch) -> None:
    desktop = Desktop(monkeypatch)
    elsewhere = True
    monkeypatch.setattr("app.shell.notifications.in_front", lambda: not elsewhere)
    monkeypatch.setattr("app.shell.notifications.LONG_MS", 0.0)
    window = open_window(Script("A reply."))
    window.ask("Hello")
    assert [title for title, _ in desktop.messages] == ["The reply is ready"]
    assert desktop.messages[0][1] == window.view(window.first()).summary.text()
    assert "Hello" not in str(desktop.messages), "what was said is nobody else's business"
    assert desktop.alerts == [window.main]
    elsewhere = False
    window.ask("And now")
    assert len(desktop.messages) == 1, "it is seen"
    elsewhere = True
    window.program.settings.notify = False
    window.ask("And off")
    assert len(desktop.messages) == len(desktop.alerts) == 1


def notifier(qtbot: QtBot, settings: Settings | None = None) -> Notifier:
    """Of a user who is elsewhere."""
    window = QWidget()
    qtbot.addWidget(window)
    return Notifier(window, settings or Settings(), lambda: False)


def test_a_reply_in_another_chat_a_failure_and_a_cancelled_one(
    open_window: OpenWindow, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = open_window(Script("A reply."))
    exchange = window.ask("Hello")
    stats = window.stats(exchange)
    desktop = Desktop(monkeypatch)
    told = notifier(qtbot)
    told.note(exchange)
    assert desktop.messages == [], "it took no time"
    exchange.stats = replace(stats, total_ms=LONG_MS)
    told.note(exchange)
    assert len(desktop.messages) == 1
    assert desktop.shown == [True]
    exchange.status = "cancelled"
    told.note(exchange)
    assert len(desktop.messages) == 1, "whoever cancels it knows it"
    told.note(Exchange("Hello", problem=Problem("No room."), status="failed"))
    assert desktop.messages[-1] == ("The reply could not be generated", "No room.")
    told._hide()
    assert desktop.shown[-1] is False
    assert not told._over.isActive(), "nothing runs while nothing is shown"


def test_without_a_tray_the_window_asks_for_attention(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    desktop = Desktop(monkeypatch, tray=False)
    notifier(qtbot).note(Exchange("Hello", problem=Problem("No room."), status="failed"))
    assert desktop.messages == []
    assert len(desktop.alerts) == 1


def test_a_click_on_the_message_is_passed_on(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    desktop = Desktop(monkeypatch)
    told = notifier(qtbot)
    told.note(Exchange("Hello", problem=Problem("No room."), status="failed"))
    assert told._tray is not None
    with qtbot.waitSignal(told.clicked):
        told._tray.messageClicked.emit()
    assert desktop.shown == [True, False]
