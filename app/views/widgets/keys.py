"""Enter, on a button that has the keyboard: it presses it, as Space does. Qt leaves that to the platform."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractButton, QApplication, QDialog


def presses_button(event: QKeyEvent) -> bool:
    """Press the button if this is Enter on one; return whether it was. For keys that nobody else has taken."""
    button = QApplication.focusWidget()
    plain = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier == Qt.KeyboardModifier.NoModifier
    if event.key() not in (Qt.Key.Key_Return, Qt.Key.Key_Enter) or not plain or not isinstance(button, QAbstractButton):
        return False
    event.accept()
    if not event.isAutoRepeat():
        button.click()
    return True


class Dialog(QDialog):
    """A dialog in which Enter presses the button that has the keyboard, and only elsewhere the one that is usual."""

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Enter on a button is for that button."""
        if not presses_button(event):
            super().keyPressEvent(event)
