"""Read a reply aloud, and mark the sentence that is being read."""

from __future__ import annotations

import re

from PySide6.QtCore import QObject
from PySide6.QtGui import QColor, QTextCursor
from PySide6.QtWidgets import QTextEdit

from app.system.speech import Speech
from app.views.chat.citations import units
from app.views.markdown.reply import ReplyView
from app.views.markdown.text import MarkdownPage
from app.views.widgets.theme import Theme

_SENTENCE = re.compile(r"[^\n]*?\w[^\n]*?(?:[.!?…]+(?=\s|$)|[。！？]|(?=\n)|$)")  # noqa: RUF001 - wide signs too


class Aloud(QObject):
    """Read one reply at a time."""

    def __init__(self, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self.speech = Speech(self)
        self.speech.reading.connect(self._mark)
        self._theme = theme
        self._reply: ReplyView | None = None
        self._places: list[tuple[MarkdownPage, int, int]] = []
        self._marked: MarkdownPage | None = None

    def toggle(self, reply: ReplyView) -> str:
        """Read a reply from its beginning, or stop where it is being read; return why it cannot be read, or ""."""
        same = reply is self._reply
        self.speech.stop()
        if same:
            return ""
        said = []
        for page in (text.page for text in reply.texts):
            shown = page.document().toPlainText()
            for found in _SENTENCE.finditer(shown):
                self._places.append((page, units(shown, found.start()), units(shown, found.end())))
                said.append(found[0].strip())
        reply.destroyed.connect(self._forget)
        self._reply = reply
        reason = self.speech.read(said) if said else ""
        if reason:
            self._mark(-1)
        return reason

    def _forget(self) -> None:
        """Stop: what was marked is gone."""
        self._marked = None
        self.speech.stop()

    def _mark(self, place: int) -> None:
        if self._marked is not None:
            self._marked.setExtraSelections([])
            self._marked = None
        if place < 0:
            self._reply, self._places = None, []
            return
        page, start, end = self._places[place]
        mark = QTextEdit.ExtraSelection()
        cursor = QTextCursor(page.document())
        cursor.setPosition(start)
        cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
        mark.cursor = cursor
        mark.format.setBackground(QColor(self._theme.tokens.accepted))
        page.setExtraSelections([mark])
        self._marked = page
