"""Restore a window's place, and check that it is visible there: screens come and go."""

from __future__ import annotations

from PySide6.QtCore import QByteArray, QPoint, QRect, QSize
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

_GRIP = QSize(120, 32)
"""The part of the top edge that must lie on a screen to be grabbed (pixels)."""
_LEAST_BYTES = 50
"""The least length of Qt's data; from less it reads a window without a size."""


def place_of(window: QWidget) -> str:
    """Return position, size, and the maximised state, as text for the settings."""
    return bytes(window.saveGeometry().toBase64().data()).decode("ascii")


def restore(window: QWidget, place: str, usual: QSize) -> None:
    """Put a window where it was, or where it can be seen; `usual`: its size where nothing is known."""
    kept = QByteArray.fromBase64(place.encode("ascii", "ignore"))
    if kept.size() < _LEAST_BYTES or not window.restoreGeometry(kept):
        window.resize(usual.boundedTo(window.screen().availableSize()))
    elif not window.isMaximized() and not window.isFullScreen():
        bring_on_screen(window)


def bring_on_screen(window: QWidget) -> None:
    """Move a window that nobody could take hold of into the middle of the main screen, and no larger than that."""
    rooms = [screen.availableGeometry() for screen in QGuiApplication.screens()]
    frame = window.frameGeometry()
    grip = QRect(frame.center().x() - _GRIP.width() // 2, frame.top(), _GRIP.width(), _GRIP.height())
    if any(room.contains(grip) for room in rooms) or not rooms:
        return
    room = QGuiApplication.primaryScreen().availableGeometry()
    size = window.size().boundedTo(room.size())
    window.resize(size)
    window.move(room.center() - QPoint(size.width() // 2, size.height() // 2))
