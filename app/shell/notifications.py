"""Notify of the end of a long reply while the user is elsewhere: a message of the system, and a mark on the window.

The message comes from a tray icon, which is there only as long as the message: so it works wherever Qt has one, without
anything else to be installed. Where there is no tray the window alone asks for attention.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QSystemTrayIcon, QWidget

from app.settings.settings import Settings
from app.state.chat.transcript import Exchange
from app.views.widgets.plain_style import plain_notification
from app.words.figures import summary

LONG_MS = 5_000.0
"""A reply that took so long may have been left alone."""
_SHOWN_MS = 10_000
"""The duration of the message, if the system does not decide it."""


def in_front() -> bool:
    """Return True if the user works with this program."""
    return QGuiApplication.applicationState() == Qt.ApplicationState.ApplicationActive


class Notifier(QObject):
    """Notify of the ends of replies. Signal: clicked() (the user wants to see it)."""

    clicked = Signal()

    def __init__(self, window: QWidget, settings: Settings, is_in_front: Callable[[], bool] | None = None) -> None:
        super().__init__(window)
        self._window = window
        self._settings = settings
        self._is_in_front = is_in_front
        self._tray: QSystemTrayIcon | None = None
        self._over = QTimer(self)
        self._over.setSingleShot(True)
        self._over.timeout.connect(self._hide)

    def note(self, exchange: Exchange) -> None:
        """Notify of the end of a reply, in whatever conversation."""
        if not self._settings.notify or (self._is_in_front or in_front)() or not _worth_telling(exchange):
            return
        if exchange.problem is None:
            title, text = self.tr("The reply is ready"), summary(exchange)
        else:
            title, text = self.tr("The reply could not be generated"), exchange.problem.text
        QApplication.alert(self._window)
        self._show(title, text)

    def _show(self, title: str, text: str) -> None:
        if not QSystemTrayIcon.isSystemTrayAvailable() or not QSystemTrayIcon.supportsMessages():
            return
        if self._tray is None:
            self._tray = QSystemTrayIcon(self._window.windowIcon(), self)
            self._tray.setToolTip(QGuiApplication.applicationDisplayName())
            self._tray.messageClicked.connect(self._clicked)
            self._tray.activated.connect(self._clicked)
            QGuiApplication.instance().applicationStateChanged.connect(self._state_changed)  # type: ignore[union-attr]
        self._tray.show()
        self._tray.showMessage(title, plain_notification(text), self._window.windowIcon(), _SHOWN_MS)
        self._over.start(2 * _SHOWN_MS)

    def _clicked(self) -> None:
        self._hide()
        self.clicked.emit()

    def _state_changed(self, state: Qt.ApplicationState) -> None:
        if state == Qt.ApplicationState.ApplicationActive:
            self._hide()

    def _hide(self) -> None:
        """Hide the notification: the user is back, or has had the time to read it."""
        self._over.stop()
        if self._tray is not None:
            self._tray.hide()


def _worth_telling(exchange: Exchange) -> bool:
    """Return True if a reply is worth a notification: not a cancelled or a short one."""
    if exchange.status == "cancelled":
        return False
    return exchange.stats is None or exchange.stats.total_ms >= LONG_MS
