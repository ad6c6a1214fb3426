"""Track the mouse after a list or a menu has closed."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QWidget


def settle_hover(widget: QWidget) -> None:
    """Draw a widget as the mouse is now: while its popup was open it was not told that the mouse had left."""
    QTimer.singleShot(0, widget, lambda: _settle(widget))


def _settle(widget: QWidget) -> None:
    inside = widget.isVisible() and widget.rect().contains(widget.mapFromGlobal(QCursor.pos()))
    widget.setAttribute(Qt.WidgetAttribute.WA_UnderMouse, inside)
    widget.update()
