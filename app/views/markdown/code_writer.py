"""Write code into a text document, in its colours, at its end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from time import perf_counter

from PySide6.QtGui import (
    QBrush,
    QFont,
    QFontMetrics,
    QFontMetricsF,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextLength,
    QTextTable,
    QTextTableCell,
    QTextTableCellFormat,
    QTextTableFormat,
)

from app.state.markdown.code_colors import parts
from app.state.markdown.parser import visible_code
from app.views.markdown.source_map import SourceMap, utf16_length
from app.views.widgets.theme import Theme, fixed_font

GAP = 10.0
INDENT = 24.0
CODE_MARGIN = 12.0
CODE_LINES = (130.0, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
"""The height of a line of code, as Qt takes it."""
_STEP_S = 0.001
_WORD = re.compile(r"[^\s\u2e80-\ud7ff\uff00-\uffef]+")
"""Words that are not broken: those of scripts that separate them by spaces."""
_COLORS = {"inserted": "code_string", "deleted": "danger"}


@dataclass(slots=True)
class CodeBox:
    """Hold code as it stands in a document. `frames`: its frames; `pieces`: the code as it was written, one a frame."""

    frames: list[QTextTable]
    language: str
    pieces: list[str] = field(default_factory=list)

    @property
    def frame(self) -> QTextTable:
        return self.frames[0]

    @property
    def code(self) -> str:
        """Return all of it, without the line break at its end."""
        return "".join(self.pieces).removesuffix("\n")


class TableBox(CodeBox):
    """Hold a table as it stands in a document, in frames that each repeat its head.

    `mirrored`: its first column is the last one of the document, as Qt has no tables from right to left; `least`,
    `whole`: pixels of its columns, by words and by lines.
    """

    __slots__ = ("least", "mirrored", "whole")

    def __init__(self, table: QTextTable, *, mirrored: bool) -> None:
        super().__init__([table], "", [""])
        self.mirrored = mirrored
        self.least = [0.0] * table.columns()
        self.whole = [0.0] * table.columns()

    def add(self, table: QTextTable) -> None:
        """Continue in another frame."""
        self.frames.append(table)
        self.pieces.append("")

    @property
    def rows(self) -> list[list[QTextTableCell]]:
        """Return its cells as one reads them, with the head once."""
        places = [(self.frame, 0), *((frame, row) for frame in self.frames for row in range(1, frame.rows()))]
        columns = range(self.frame.columns())[:: -1 if self.mirrored else 1]
        return [[frame.cellAt(row, column) for column in columns] for frame, row in places]

    @property
    def cells(self) -> int:
        return sum(frame.rows() * frame.columns() for frame in self.frames)

    def measure(self, column: int, text: str, metrics: QFontMetricsF) -> None:
        """Update a column's least and whole width by a part of a cell."""
        self.least[column] = max([self.least[column], *map(metrics.horizontalAdvance, _WORD.findall(text))])
        self.whole[column] = max([self.whole[column], *map(metrics.horizontalAdvance, text.splitlines())])


def code_header_height(font: QFont) -> int:
    """Return the space above code for its language and its button, in pixels."""
    return max(QFontMetrics(font).height() + 10, 28)


class CodeWriter:
    """Append code to one document.

    Attributes: boxes (the code that was written), map (where the source stands in the document).
    """

    def __init__(self, document: QTextDocument, theme: Theme) -> None:
        self._document = document
        self._theme = theme
        self._colored = True
        # Whether the last block of the document is empty and may be written into.
        self._fresh = True
        self._last_table: QTextTable | None = None
        self.boxes: list[CodeBox] = []
        self.map = SourceMap()

    def enter(self, cursor: QTextCursor) -> None:
        """Enter a block before or after a table, as Qt keeps one there; it takes no room as long as it is empty."""
        if not self._fresh:
            cursor.insertBlock(QTextBlockFormat(), tiny_format())
        else:
            cursor.setBlockFormat(QTextBlockFormat())
            cursor.setBlockCharFormat(tiny_format())

    def to_end(self, cursor: QTextCursor) -> None:
        # Not movePosition: it would lay out the document in the middle of a change.
        cursor.setPosition(self._document.characterCount() - 1)

    def leave(self, cursor: QTextCursor) -> None:
        self.to_end(cursor)
        cursor.setBlockFormat(QTextBlockFormat())
        cursor.setBlockCharFormat(tiny_format())
        self._fresh = False

    @staticmethod
    def close_below(table: QTextTable) -> None:
        form = table.format().toTableFormat()
        form.setBottomMargin(0)
        table.setFormat(form)

    def write_code(
        self,
        cursor: QTextCursor,
        code: str,
        language: str,
        *,
        lines: tuple[tuple[int, int], ...],
        joined: bool = False,
        quotes: int = 0,
        depth: int = 0,
    ) -> Iterator[None]:
        if joined and self._last_table is not None:
            # It goes on in the table below, without a gap that one would see.
            self.close_below(self._last_table)
            self._pad(self._last_table, top=len(self.boxes[-1].pieces) == 1)
        self.enter(cursor)
        # A table of one cell: of all that a document can hold, it alone can have more room above than below.
        form = QTextTableFormat()
        form.setBorder(0)
        form.setCellPadding(0)
        form.setCellSpacing(0)
        form.setWidth(QTextLength(QTextLength.Type.PercentageLength, 100))
        form.setTopMargin(0 if joined else 2)
        form.setBottomMargin(GAP)
        form.setLeftMargin(16.0 * quotes + INDENT * depth)
        self._last_table = made = cursor.insertTable(1, 1, form)
        if joined:
            self.boxes[-1].pieces.append(code)
            self.boxes[-1].frames.append(made)
        else:
            self.boxes.append(CodeBox([made], language, [code]))
        self._pad(made, top=not joined, bottom=True)
        char = QTextCharFormat()
        char.setFontFamilies(fixed_font().families())
        inside = made.cellAt(0, 0).firstCursorPosition()
        line = QTextBlockFormat()
        line.setLineHeight(*CODE_LINES)
        inside.setBlockFormat(line)
        if "\r" not in code:
            self._note_lines(code.removesuffix("\n"), inside.position(), lines)
        yield
        yield from self._write_parts(inside, visible_code(code.removesuffix("\n")), language, char)
        self.leave(cursor)

    def _note_lines(self, code: str, position: int, lines: tuple[tuple[int, int], ...]) -> None:
        """Map the lines of code to the places where they are about to be written."""
        for (begin, source), after in zip(lines, (*lines, None)[1:], strict=True):
            text = code[begin : len(code) if after is None else after[0]]
            if text and source >= 0:
                self.map.add(text, position + utf16_length(code[:begin]), source, source + len(text))

    def _pad(self, table: QTextTable, *, top: bool, bottom: bool = False) -> None:
        """Leave room around code, but none if it goes on in another frame."""
        place = table.cellAt(0, 0)
        cell: QTextTableCellFormat = place.format().toTableCellFormat()
        cell.setBackground(QBrush(self._theme.color("raised")))
        cell.setLeftPadding(CODE_MARGIN)
        cell.setRightPadding(CODE_MARGIN)
        cell.setTopPadding(code_header_height(self._document.defaultFont()) if top else 0)
        cell.setBottomPadding(CODE_MARGIN - 2 if bottom else 0)
        place.setFormat(cell)

    def _write_parts(self, cursor: QTextCursor, code: str, language: str, char: QTextCharFormat) -> Iterator[None]:
        """Return the code in its colours."""
        looks: dict[str, QTextCharFormat] = {"": char}
        known = iter([("", code)]) if not self._colored else parts(code, language)
        pause = perf_counter() + _STEP_S
        for part, text in known:
            if part not in looks:
                looks[part] = QTextCharFormat(char)
                looks[part].setForeground(QBrush(self._theme.color(_COLORS.get(part, f"code_{part}"))))
            cursor.insertText(text, looks[part])
            if perf_counter() > pause:
                yield
                pause = perf_counter() + _STEP_S
        yield


def tiny_format() -> QTextCharFormat:
    """Return the format of blocks without text: their background is as high as their font."""
    char = QTextCharFormat()
    char.setFontPointSize(1)
    return char
