"""Show all text as plain text: no label and no tooltip of the program reads HTML. Tooltips have short lines."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QApplication, QLabel, QProxyStyle

_INSTALLED = "plainStyle"
_TIP = 70
"""Letters in a line of a tooltip."""
_WORD_JOINER = "\N{WORD JOINER}"


class PlainStyle(QProxyStyle):
    """Look as Fusion does, and show the text of every label as plain text.

    Qt guesses for itself whether a text is HTML; titles of chats, names of models and words of servers are not.
    Tooltips are labels of Qt, so each of them passes here before it is shown, whatever the origin of its text.
    """

    def __init__(self) -> None:
        super().__init__("Fusion")

    def polish(self, what: Any) -> Any:
        """Prepare a widget before it is shown (or the palette, or the application)."""
        if isinstance(what, QLabel) and what.textFormat() == Qt.TextFormat.AutoText:
            what.setTextFormat(Qt.TextFormat.PlainText)
            if what.inherits("QTipLabel"):
                what.installEventFilter(self)
        return super().polish(what)

    def eventFilter(self, tip: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Break the lines of a tooltip: Qt leaves a plain text as wide as the screen."""
        if event.type() == QEvent.Type.Resize and isinstance(tip, QLabel):
            most = _TIP * tip.fontMetrics().averageCharWidth()
            if tip.width() > most:
                tip.setWordWrap(True)
                tip.resize(most, tip.heightForWidth(most))
        return False


def use_plain_style(app: QApplication) -> None:
    """Set this style for the application, once."""
    if not app.property(_INSTALLED):
        app.setProperty(_INSTALLED, True)
        app.setStyle(PlainStyle())


def plain_notification(text: str) -> str:
    """Return a text in which a desktop that reads HTML in its notifications finds none; it looks the same."""
    return text.replace("&", f"&{_WORD_JOINER}").replace("<", f"<{_WORD_JOINER}")


def plain_title(text: str) -> str:
    """Return a text for the title of a window, where Qt reads `[*]` as a mark of its own."""
    return text.replace("[*]", "[*][*]")
