"""Show Markdown that grows: its finished part is written once; the open end is written anew as it changes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from time import perf_counter

from PySide6.QtCore import QMimeData, QPoint, QRect, Qt
from PySide6.QtGui import (
    QContextMenuEvent,
    QGuiApplication,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QTextBlock,
    QTextCursor,
    QTextTable,
)
from PySide6.QtWidgets import QMenu, QSizePolicy, QWidget

from app.state.markdown.blocks import Block, MarkdownBlocks
from app.views.markdown.auto_height_text import AutoHeightText, take_height
from app.views.markdown.block_bars import BlockBars
from app.views.markdown.code_bars import BlockBar
from app.views.markdown.code_writer import TableBox
from app.views.markdown.formula import OBJECT, FormulaObjects
from app.views.markdown.table_bar import csv_of
from app.views.markdown.writer import QUOTES, Mark, MarkdownWriter
from app.views.widgets.theme import Theme

_STEP = 2_000
"""Characters that are cut into blocks at once."""
_STEPS_A_LAYOUT = 6
_PATIENCE_S = 2.0
"""The seconds that a piece waits for its formulas; then their source is shown."""
MOST_PIXELS = 8_000_000
"""Qt lays out no more than 2²³ of them."""


class MarkdownPage(AutoHeightText):
    """Hold one document of the text, which only grows at its end.

    Attributes: base, where the text that it shows begins in the source of the reply; over, what paints over the text.
    """

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("replyText")
        self._theme = theme
        self.base = 0
        self._over: Callable[[MarkdownPage, QRect], None] | None = None
        self.formulas = FormulaObjects(self.document(), theme, self)
        self.bars = BlockBars(self, theme, self.formulas, self._refit)
        # Code that does not wrap is scrolled by itself; the text beside it stays.
        sideways = self.horizontalScrollBar()
        sideways.rangeChanged.connect(lambda _least, most: sideways.setMaximum(0) if most else None)
        self.begin()

    @property
    def over(self) -> Callable[[MarkdownPage, QRect], None] | None:
        """The painter over the text; all of the text is visible for it."""
        return self._over

    @over.setter
    def over(self, paint: Callable[[MarkdownPage, QRect], None] | None) -> None:
        self._over = paint
        if paint is not None:
            self.bars.be_plain()

    def begin(self) -> None:
        """Forget everything."""
        self.bars.clear()
        self.document().clear()
        self.formulas.clear()
        self.writer = MarkdownWriter(self.document(), self._theme, self.formulas)
        self.empty = True

    def fit(self) -> None:
        """Take the height that the text needs, and put the bars over the code."""
        super().fit()
        if hasattr(self, "writer"):
            self.bars.place()

    def _refit(self) -> None:
        """Update the height, also of the parent."""
        self.fit()
        holder = self.parentWidget()
        if isinstance(holder, MarkdownText):
            holder.fit()

    def show_whole(self, text: str) -> bool:
        """Show a short text, all of it at once; return True if its formulas are set already."""
        self.begin()
        blocks = MarkdownBlocks()
        found = [*blocks.push(text), *blocks.finish()]
        ready = [self.writer.is_ready(block) for block in found]
        cursor = QTextCursor(self.document())
        cursor.beginEditBlock()
        for block in found:
            for _ in self.writer.write(block):
                pass
        self.writer.close_gap()
        cursor.endEditBlock()
        while self.bars.lack(self.writer.boxes):
            self.bars.add(self.writer.boxes)
        self.empty = False
        self.fit()
        return all(ready)

    @property
    def text(self) -> str:
        """Return the display text, with the source of its formulas."""
        shown = self.toPlainText().strip("\n")
        return self.formulas.with_sources(shown, 0, self.document().characterCount())

    def make_menu(self, point: QPoint) -> QMenu:
        """Return the menu at a point of the viewport: as usual, and on a table to copy it for a spreadsheet."""
        menu = self.createStandardContextMenu(point)
        table: object = self.cursorForPosition(point).currentTable()
        begin = table.firstPosition() if isinstance(table, QTextTable) else -1
        tables = (box for box in self.writer.boxes if isinstance(box, TableBox))
        found = next((box for box in tables if begin in [frame.firstPosition() for frame in box.frames]), None)
        if found is not None:
            copy, said = menu.addAction(self.tr("Copy the table as CSV")), csv_of(found.rows, self.formulas)
            copy.triggered.connect(lambda: QGuiApplication.clipboard().setText(said))
        return menu

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:  # noqa: N802 - Qt's name
        menu = self.make_menu(event.pos())
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(event.globalPos())

    def createMimeDataFromSelection(self) -> QMimeData:  # noqa: N802 - Qt's name
        """Copy the source of formulas."""
        data = super().createMimeDataFromSelection()
        if OBJECT in data.text():
            cursor = self.textCursor()
            plain = self.formulas.with_sources(data.text(), cursor.selectionStart(), cursor.selectionEnd())
            data.clear()
            data.setText(plain)
        return data

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Paint a line beside quotes."""
        super().paintEvent(event)
        self._paint_quotes(event.rect())
        if self.over is not None:
            self.over(self, event.rect())

    def _paint_quotes(self, area: QRect) -> None:
        document = self.document()
        layout = document.documentLayout()
        at = layout.hitTest(area.topLeft().toPointF(), Qt.HitTestAccuracy.FuzzyHit)
        block = document.findBlock(max(at, 0))
        painter: QPainter | None = None
        while block.isValid():
            place = layout.blockBoundingRect(block)
            if place.top() > area.bottom():
                break
            depth, below = _quotes(block), _quotes(block.next())
            if depth:
                painter = painter or QPainter(self.viewport())
                for level in range(depth):
                    bottom = layout.blockBoundingRect(block.next()).top() if level < below else place.bottom()
                    left = 16 * level + 2
                    if block.textDirection() == Qt.LayoutDirection.RightToLeft:
                        left = round(document.textWidth()) - left - 3
                    bar = QRect(left, round(place.top()), 3, round(bottom - place.top()))
                    painter.fillRect(bar, self._theme.color("border"))
            block = block.next()
        if painter is not None:
            painter.end()


def _quotes(block: QTextBlock) -> int:
    return int(block.blockFormat().property(QUOTES) or 0) if block.isValid() else 0


class MarkdownText(QWidget):
    """Show a text that is given piece by piece and written step by step, as its owner has time.

    Attributes: page (which holds it), source (the text). `busy`: whether there is something to write.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._theme = theme
        self.page = MarkdownPage(theme, self)
        self.page.setAccessibleName(self.tr("Reply"))
        self.page.hide()
        self.source: list[str] = []
        self._floor = 0
        self._begin()

    def _begin(self) -> None:
        self._blocks = MarkdownBlocks()
        self._waiting: deque[Block] = deque()
        self._unread: deque[str] = deque()
        self._job: Iterator[None] | None = None
        self._edit: QTextCursor | None = None
        self._mark: Mark | None = None
        self._steps = 0
        self._blocked_since: float | None = None
        self._ending = self._ended = False
        self._tail_stale = self._full = False

    @property
    def busy(self) -> bool:
        """Return True if there is something to write."""
        more = self._job or self._waiting or self._unread or (self._ending and not self._ended)
        return bool(more) or self.page.bars.lack(self.page.writer.boxes)

    @property
    def pages(self) -> list[MarkdownPage]:
        """Return the page, once something is shown."""
        return [] if self.page.empty else [self.page]

    @property
    def bars(self) -> list[BlockBar]:
        """Return the bars above code and tables, in order."""
        return self.page.bars.bars

    def feed(self, text: str) -> None:
        """Feed more of the text."""
        self.source.append(text)
        self._read_later(text)

    def _read_later(self, text: str) -> None:
        self._unread.extend(text[at : at + _STEP] for at in range(0, len(text), _STEP))

    def end(self) -> None:
        """End the text: it is complete."""
        self._ending = True

    def draw_again(self) -> None:
        """Redraw everything, because the colours have changed. The height stays until that is done."""
        ending = self._ending
        self.close_edit()
        self._floor = self.height()
        self._begin()
        self.page.begin()
        self._read_later("".join(self.source))
        self._ending = ending

    def close_edit(self) -> None:
        """Close the edit while writing pauses: new text is laid out, once."""
        if self._edit is not None:
            self._edit.endEditBlock()
            self._edit = None

    def step(self) -> None:
        """Write one step, of a millisecond or so."""
        if self._job is not None:
            self._open_edit()
            if next(self._job, self) is self:
                self._job = None
            self._steps += 1
            if self._steps % _STEPS_A_LAYOUT == 0:
                # Layout takes longer than writing, so it must be timed too.
                self.close_edit()
        elif self.page.bars.lack(self.page.writer.boxes):
            self.page.bars.add(self.page.writer.boxes)
        elif self._waiting and self.page.height() > MOST_PIXELS:
            self._stop()
        elif self._waiting:
            self._begin_block()
        elif self._unread:
            text = self._unread.popleft()
            if not self._full:
                self._waiting.extend(self._blocks.push(text))
                self._tail_stale = True
        elif self._ending and not self._ended:
            self._end()

    def _begin_block(self) -> None:
        """Begin to write the next block, once its formulas are set."""
        if self._must_wait(self._waiting[0]):
            return
        self.page.empty = False
        self._open_edit()
        self._job = self.page.writer.write(self._waiting.popleft())

    @property
    def blocked(self) -> bool:
        """Return True if nothing can be written now: formulas are being set."""
        return self._blocked_since is not None

    def _must_wait(self, block: Block) -> bool:
        """Return True if a block has formulas that are not set yet; it does not wait for ever."""
        now = perf_counter()
        if self.page.writer.is_ready(block):
            self._blocked_since = None
        elif self._blocked_since is None:
            self._blocked_since = now
        elif now - self._blocked_since > _PATIENCE_S:
            self._blocked_since = None
            return False
        return self.blocked

    def _open_edit(self) -> None:
        if self._edit is None:
            self._edit = QTextCursor(self.page.document())
            self._edit.beginEditBlock()
        if self._mark is not None:
            # The open end is about to be written anew.
            self._floor = self.height()
            self.page.writer.back_to(self._mark)
            self._mark = None

    def _stop(self) -> None:
        """Report that the document is full; the reply itself is whole."""
        self._waiting.clear()
        self._full, self._blocks, self._tail_stale = True, MarkdownBlocks(), False
        note = self.tr("The rest of this reply is too long to display. Copy the reply to get all of it.")
        self._job = self.page.writer.write(Block(f"*{note}*"))

    def _end(self) -> None:
        rest = self._blocks.finish()
        self._waiting.extend(rest)
        self._tail_stale = False
        if not rest:
            self._open_edit()
            self.page.writer.close_gap()
            self._ended = True

    def show_tail(self) -> None:
        """Show the open end, behind the finished text. Call when there is nothing else to write."""
        if not self._tail_stale:
            return
        block = None if self._ending else self._blocks.open_block
        writer = self.page.writer
        self._tail_stale = block is not None and not writer.is_ready(block)
        self._open_edit()
        self._mark = writer.mark()
        if block is not None:
            self.page.empty = False
            writer.write_open(block)
        writer.close_gap()
        self.close_edit()

    def fit(self) -> None:
        height = 0
        self.page.setVisible(not self.page.empty)
        if not self.page.empty:
            self._widen(self.page)
            height = self.page.height()
        if self.busy:
            height = max(height, self._floor)
        else:
            self._floor = 0
        take_height(self, height)

    def _widen(self, page: MarkdownPage) -> None:
        if page.width() != self.width():
            page.resize(self.width(), page.height())
        page.fit()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        super().resizeEvent(event)
        if event.oldSize().width() != event.size().width():
            self.fit()

    def to_plain_text(self) -> str:
        return "" if self.page.empty else self.page.text
