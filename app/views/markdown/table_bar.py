"""Show a bar above a table: sort its rows, copy it for a spreadsheet, scroll it sideways if it is wide."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtGui import (
    QAbstractTextDocumentLayout,
    QTextCursor,
    QTextLength,
    QTextTableCell,
    QWheelEvent,
)
from PySide6.QtWidgets import QMenu, QTextEdit

from app.state.markdown.sorting import sorted_rows
from app.views.markdown.auto_height_text import AutoHeightText
from app.views.markdown.code_bars import BlockBar
from app.views.markdown.code_scroll import edges
from app.views.markdown.code_writer import TableBox
from app.views.markdown.formula import FormulaObjects
from app.views.widgets.theme import Theme

_MOST_CELLS = 4_000
"""The most cells of a table that is sorted, or scrolled sideways: its cells stand in two documents."""
_WIDEST = 320.0
"""The widest column, in pixels, whose words would be narrower."""
_PADDING = 6.0
_CELL_PADDING = 2 * _PADDING + 2.0
_LONGEST_NAME = 40
Rows = Sequence[Sequence[QTextTableCell]]


class TableBar(BlockBar):
    """Show the buttons of a table. `formulas`: those of its document."""

    def __init__(self, box: TableBox, theme: Theme, text: QTextEdit, formulas: FormulaObjects) -> None:
        super().__init__(box, theme, text)
        self._table = box
        self._formulas = formulas
        self._sorted: tuple[int, bool] | None = None
        self._laid_out = (0, False)
        self.sort_button = self.add_button("sort-ascending", self.tr("Sort the rows"), self._offer_orders)
        wrap = self.tr("Wrap long lines")
        self.wrap_button = self.add_button("arrow-u-down-left", wrap, self._lay_out, switch=True)
        self.wrap_button.hide()
        copy = self.tr("Copy the table as CSV")
        self.copy_button = self.add_button(
            "copy", copy, lambda: self.copy(self.copy_button, csv_of(box.rows, self._formulas))
        )

    # The place --------------------------------------------------------------------------------------------------------

    def offer(self, width: int) -> None:
        """Scroll the table sideways where its words have no room side by side, unless that is not wanted."""
        small = self._table.cells <= _MOST_CELLS
        self.sort_button.setVisible(small and (len(self._table.frames) > 1 or self._table.frame.rows() > 2))
        self.wrap_button.setVisible(small and sum(self._table.least) + self._padding > width)
        fixed = bool(self._table.frames[-1].format().toTableFormat().columnWidthConstraints())
        if fixed != self._shows_copy or (fixed and self._laid_out != (width, self._scrolls)):
            # Not while the text is being laid out.
            QTimer.singleShot(0, self, self._lay_out)

    def place(self, layout: QAbstractTextDocumentLayout, height: int) -> None:
        """Move above the table's end, with the widget over it."""
        top, end = edges(layout, self._table.frames[0])[0], edges(layout, self._table.frames[-1])[1]
        room = self._text.viewport().width()
        size = max(layout.frameBoundingRect(frame).width() for frame in self._table.frames)
        wide = min(max(math.ceil(size), self.minimumSizeHint().width()), room)
        self.setGeometry(room - wide if self._table.mirrored else 0, round(top) - height, wide, height)
        if self.over is not None:
            self.over.setGeometry(0, round(top), room, round(end) - round(top) + 1)

    def be_plain(self) -> None:
        """Show the rows as they were written, wrapped."""
        if self._shows_copy:
            self.wrap_button.setChecked(True)
            self._sorted = None
            self._lay_out()

    @property
    def _padding(self) -> float:
        return _CELL_PADDING * len(self._table.least)

    @property
    def _scrolls(self) -> bool:
        return not self.wrap_button.isHidden() and not self.wrap_button.isChecked()

    @property
    def _shows_copy(self) -> bool:
        return self._scrolls or self._sorted is not None

    def _lay_out(self) -> None:
        """Set the widths of the columns, and show a copy over a table that differs from its text."""
        width = round(self._text.document().textWidth())
        columns = self._widths(width) if self._shows_copy else []
        self._laid_out = (width, self._scrolls)
        cursor = QTextCursor(self._text.document())
        cursor.beginEditBlock()
        for frame in self._table.frames:
            form = frame.format().toTableFormat()
            form.setColumnWidthConstraints([QTextLength(QTextLength.Type.FixedLength, each) for each in columns])
            frame.setFormat(form)
        # Room for the scroll bar.
        bar = self._text.horizontalScrollBar().sizeHint().height() if self._scrolls else 0
        for place in self._table.rows[-1]:
            cell = place.format().toTableCellFormat()
            cell.setBottomPadding(_PADDING + bar)
            place.setFormat(cell)
        cursor.endEditBlock()
        over = None
        if columns:
            over = TableScroll(self._ordered(), self._table, sum(columns), self._formulas, self._text)
        self.cover(over)
        self.changed.emit()

    def _widths(self, room: int) -> list[float]:
        """Return the widths of the columns: those of their lines if there is room, of their words at least."""
        least = [min(each, _WIDEST) + _CELL_PADDING for each in self._table.least]
        whole = [
            max(low, min(each, _WIDEST) + _CELL_PADDING) for low, each in zip(least, self._table.whole, strict=True)
        ]
        if self._scrolls or sum(whole) <= room:
            return whole
        share = max(room - sum(least) - 2, 0.0) / (sum(whole) - sum(least) or 1.0)
        return [low + share * (high - low) for low, high in zip(least, whole, strict=True)]

    # Sorting ----------------------------------------------------------------------------------------------------------

    def _offer_orders(self) -> None:
        menu = self.make_menu()
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(self.sort_button.mapToGlobal(QPoint(0, self.sort_button.height())))

    def make_menu(self) -> QMenu:
        """Return the menu of the columns; the one that sorts already turns the order around."""
        menu = QMenu(self)
        for column, cell in enumerate(self._table.rows[0]):
            name = " ".join(words_of(cell, self._formulas).split())[:_LONGEST_NAME]
            name = name or self.tr("Column {number}").format(number=column + 1)
            falling = self._sorted == (column, False)
            action = menu.addAction(name.replace("&", "&&"), partial(self.sort, column, falling=falling))
            action.setCheckable(True)
            action.setChecked(self._sorted is not None and self._sorted[0] == column)
        menu.addSeparator()
        menu.addAction(self.tr("As it was written"), self.unsort).setEnabled(self._sorted is not None)
        return menu

    def sort(self, column: int, *, falling: bool = False) -> None:
        """Show the rows in the order of a column."""
        self._sorted = (column, falling)
        self._lay_out()

    def unsort(self) -> None:
        """Show the rows as they were written."""
        self._sorted = None
        self._lay_out()

    def _ordered(self) -> Rows:
        head, *rows = self._table.rows
        if self._sorted is None:
            return [head, *rows]
        column, falling = self._sorted
        cells = [words_of(row[column], self._formulas) for row in rows]
        return [head, *(rows[place] for place in sorted_rows(cells, falling=falling))]


class TableScroll(AutoHeightText):
    """Show a copy of a table with its rows in an order, `width` pixels wide, which may exceed the room."""

    def __init__(self, rows: Rows, box: TableBox, width: float, formulas: FormulaObjects, text: QTextEdit) -> None:
        super().__init__(text.viewport())
        self.setObjectName("tableScroll")
        self.setAccessibleName(self.tr("Table"))
        self.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self.setWordWrapMode(text.wordWrapMode())
        self.setLineWrapMode(QTextEdit.LineWrapMode.FixedPixelWidth)
        self.setLineWrapColumnOrWidth(max(math.ceil(width) + 2, text.viewport().width()))
        self.viewport().setAutoFillBackground(True)
        document = self.document()
        document.setDefaultFont(text.document().defaultFont())
        self._objects = formulas.shared_with(document, self)
        form = box.frame.format().toTableFormat()
        form.setTopMargin(0)
        form.setBottomMargin(0)
        cursor = QTextCursor(document)
        cursor.beginEditBlock()
        made = cursor.insertTable(len(rows), len(box.least), form)
        for number, row in enumerate(rows):
            for column, cell in enumerate(reversed(row) if box.mirrored else row):
                _copy_cell(cell, made.cellAt(number, column))
        cursor.endEditBlock()
        if box.mirrored:
            # Its beginning is at the right.
            sideways = self.horizontalScrollBar()
            sideways.rangeChanged.connect(lambda _least, most: sideways.setValue(most))
        self.moveCursor(QTextCursor.MoveOperation.Start)

    def fit(self) -> None:
        """Keep the height that the table has in the text."""

    def wheelEvent(self, event: QWheelEvent) -> None:  # noqa: N802 - Qt's name
        """Scroll sideways; up and down is the transcript's."""
        sideways = event.modifiers() & Qt.KeyboardModifier.ShiftModifier
        if sideways or abs(event.angleDelta().x()) > abs(event.angleDelta().y()):
            QTextEdit.wheelEvent(self, event)
        else:
            event.ignore()


def _copy_cell(source: QTextTableCell, target: QTextTableCell) -> None:
    begin, cursor = source.firstCursorPosition(), target.firstCursorPosition()
    cursor.setBlockFormat(begin.blockFormat())
    begin.setPosition(source.lastCursorPosition().position(), QTextCursor.MoveMode.KeepAnchor)
    if begin.hasSelection():
        cursor.insertFragment(begin.selection())


def csv_of(rows: Rows, formulas: FormulaObjects) -> str:
    """Return a table as CSV, with the source of its formulas."""
    lines = io.StringIO()
    csv.writer(lines, lineterminator="\n").writerows([words_of(cell, formulas) for cell in row] for row in rows)
    return lines.getvalue()


def words_of(cell: QTextTableCell, formulas: FormulaObjects) -> str:
    """Return a cell's text, with the source of its formulas."""
    begin, end = cell.firstCursorPosition(), cell.lastCursorPosition().position()
    begin.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
    words = begin.selectedText().replace("\N{LINE SEPARATOR}", "\n").replace("\N{PARAGRAPH SEPARATOR}", "\n")
    return formulas.with_sources(words, cell.firstCursorPosition().position(), end)
