"""Handle keys and the mouse where Qt leaves them to the platform or behaves differently.

Enter presses the button that has the keyboard, as Space does; Esc is kept from the window; a popup has closed.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, QTimer
from PySide6.QtGui import QCursor, QKeyEvent
from PySide6.QtWidgets import QAbstractButton, QApplication, QDialog, QWidget


def presses_button(event: QKeyEvent) -> bool:
    """Press the button if this is Enter on one; return True if it was. For keys that nobody else has taken."""
    button = QApplication.focusWidget()
    plain = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier == Qt.KeyboardModifier.NoModifier
    if event.key() not in (Qt.Key.Key_Return, Qt.Key.Key_Enter) or not plain or not isinstance(button, QAbstractButton):
        return False
    event.accept()
    if not event.isAutoRepeat():
        button.click()
    return True


class Dialog(QDialog):
    """Show a dialog in which Enter presses the button that has the keyboard, and only elsewhere the usual one."""

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Enter on a button is for that button."""
        if not presses_button(event):
            super().keyPressEvent(event)


def keeps_escape(event: QEvent) -> bool:
    """Accept Qt's ShortcutOverride for Esc, so that Esc does not cancel the current task; return True if it was one."""
    is_override = isinstance(event, QKeyEvent) and event.type() == QEvent.Type.ShortcutOverride
    if not is_override or event.key() != Qt.Key.Key_Escape:  # type: ignore[attr-defined]
        return False
    event.accept()
    return True


def settle_hover(widget: QWidget) -> None:
    """Redraw a widget by the mouse's real place: while its popup was open it missed that the mouse had left."""
    QTimer.singleShot(0, widget, lambda: _settle(widget))


def _settle(widget: QWidget) -> None:
    inside = widget.isVisible() and widget.rect().contains(widget.mapFromGlobal(QCursor.pos()))
    widget.setAttribute(Qt.WidgetAttribute.WA_UnderMouse, inside)
    widget.update()
