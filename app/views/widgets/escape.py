"""Esc, where it is something else than in the rest of the window."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent


def keeps_escape(event: QEvent) -> bool:
    """Accept Qt's ShortcutOverride for Esc, so that Esc does not cancel the current task; return whether it was one."""
    asked = isinstance(event, QKeyEvent) and event.type() == QEvent.Type.ShortcutOverride
    if not asked or event.key() != Qt.Key.Key_Escape:  # type: ignore[attr-defined]
        return False
    event.accept()
    return True
