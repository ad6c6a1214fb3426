"""Esc, where it is something else than in the rest of the window."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent


def keeps_escape(event: QEvent) -> bool:
    """Whether this is Qt's question who wants Esc; it is answered: in the window Esc would cancel what is going on."""
    asked = isinstance(event, QKeyEvent) and event.type() == QEvent.Type.ShortcutOverride
    if not asked or event.key() != Qt.Key.Key_Escape:  # type: ignore[attr-defined]
        return False
    event.accept()
    return True
