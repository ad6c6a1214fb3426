"""Text that is as tall as it is long: questions as plain text, replies as Markdown that grows."""

from __future__ import annotations

import math
from time import perf_counter

from PySide6.QtCore import QEvent, Qt, QTimer, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QResizeEvent, QTextCharFormat, QTextCursor, QTextOption, QWheelEvent
from PySide6.QtWidgets import QFrame, QSizePolicy, QTextBrowser, QWidget

from app.state.markdown_blocks import Block, MarkdownBlocks
from app.views.markdown_writer import MarkdownWriter, paragraph_format
from app.views.theme import Theme

FLUSH_MS = 50
_BUDGET_S = 0.008
_PIECE = 400
_SAFE_SCHEMES = ("http", "https", "mailto")
_CONTROL = {code: "\N{REPLACEMENT CHARACTER}" for code in (*range(32), 127, 0xFFFC) if code not in (9, 10)}


class TallText(QTextBrowser):
    """Read-only text without scroll bars, as tall as its contents. Loads nothing; links open outside, http(s) only."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.setUndoRedoEnabled(False)
        self.setOpenLinks(False)
        self.anchorClicked.connect(_open_outside)
        self.document().setDocumentMargin(0)
        self.viewport().setAutoFillBackground(False)
        self.setTabChangesFocus(True)

    def fit(self) -> None:
        """Take the height that the text needs."""
        height = max(math.ceil(self.document().size().height()), self.fontMetrics().height())
        if height != self.height() or self.minimumHeight() != height:
            self.setFixedHeight(height)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Another width means another height."""
        super().resizeEvent(event)
        if event.oldSize().width() != event.size().width():
            self.fit()

    def wheelEvent(self, event: QWheelEvent) -> None:  # noqa: N802 - Qt's name
        """The wheel scrolls the transcript."""
        event.ignore()

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        """Another font means another height."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self.fit()


class ReplyText(TallText):
    """A reply that grows. What is finished of it stands as Markdown, the open end as plain text.

    Text is drawn some twenty times a second, a few milliseconds' worth at a time, however fast it comes.
    Signals: settled() (all text that was given is drawn, and the reply is complete), grew() (it became taller).
    """

    settled = Signal()
    grew = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("replyText")
        self._theme = theme
        self._source: list[str] = []
        self._pending = ""
        self._complete = False
        self._settled = False
        self._clock = QTimer(self)
        self._clock.setSingleShot(True)
        self._clock.timeout.connect(self._flush)
        self._begin()
        theme.changed.connect(self._draw_again)

    @property
    def is_settled(self) -> bool:
        """Whether the reply is complete and drawn."""
        return self._settled

    def grow(self, text: str) -> None:
        """More of the reply."""
        self._source.append(text)
        self._pending += text
        if not self._clock.isActive():
            self._clock.start(FLUSH_MS)

    def finish(self, text: str) -> None:
        """The reply is complete; `text` is all of it."""
        self._complete = True
        if text != "".join(self._source):
            self._source = [text]
            self._begin()
            self._pending = text
        if not self._clock.isActive():
            self._clock.start(0)

    def _begin(self) -> None:
        self.document().clear()
        self._blocks = MarkdownBlocks()
        self._writer = MarkdownWriter(self.document(), self._theme)
        self._open_at: int | None = None
        self._pending = ""

    def _flush(self) -> None:
        """Draw what has come, for a few milliseconds at most."""
        began = perf_counter()
        while self._pending and perf_counter() - began < _BUDGET_S:
            piece, self._pending = self._pending[:_PIECE], self._pending[_PIECE:]
            self._draw(piece.translate(_CONTROL))
        if not self._pending and self._complete and not self._settled:
            self._close(self._blocks.finish())
            self._writer.close_gap()
            self._settled = True
        self.fit()
        self.grew.emit()
        if self._pending:
            self._clock.start(FLUSH_MS // 2)
        elif self._settled:
            self.settled.emit()

    def _draw(self, piece: str) -> None:
        finished = self._blocks.push(piece)
        if finished:
            self._close(finished)
            piece = self._blocks.open_text
        if not piece:
            return
        cursor = self._writer.end()
        if self._open_at is None:
            self._writer.open_block(cursor, paragraph_format(bottom=0.0), QTextCharFormat())
            self._open_at = cursor.position()
        cursor.insertText(piece)

    def _close(self, finished: list[Block]) -> None:
        """Put finished blocks in the place of the open end."""
        if self._open_at is not None:
            cursor = self._writer.end()
            cursor.setPosition(self._open_at, QTextCursor.MoveMode.KeepAnchor)
            cursor.removeSelectedText()
            self._open_at = None
            self._writer.fresh = True
        for block in finished:
            self._writer.write(block.text, joined=block.joined)

    def _draw_again(self) -> None:
        """The colours changed: they are part of the document."""
        shown = "".join(self._source)[: len("".join(self._source)) - len(self._pending)]
        rest = self._pending
        self._begin()
        self._draw(shown.translate(_CONTROL))
        self._pending = rest
        if self._settled:
            self._close(self._blocks.finish())
            self._writer.close_gap()
        self.fit()


def _open_outside(url: QUrl) -> None:
    if url.scheme().lower() in _SAFE_SCHEMES:
        QDesktopServices.openUrl(url)
