"""Write pieces of a reply into a text document, in the look of this program.

The state reads the Markdown; here its nodes become paragraphs, lists, tables and frames of code. Writing goes step by
step, so that whoever calls can stop when its time is over. Nothing is loaded from anywhere: a document never holds a
picture.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from time import perf_counter

from PySide6.QtCore import Qt
from PySide6.QtGui import (
    QBrush,
    QFont,
    QFontMetrics,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextFrameFormat,
    QTextLength,
    QTextList,
    QTextListFormat,
    QTextTable,
    QTextTableCellFormat,
    QTextTableFormat,
)

from app.state.markdown.blocks import Block
from app.state.markdown.code_colors import parts
from app.state.markdown.parser import Code, ListItem, Node, Paragraph, Run, Table, ThematicBreak, parse, visible_code
from app.views.widgets.theme import LINE_HEIGHT, Theme, fixed_font

GAP = 10.0
INDENT = 24.0
CODE_MARGIN = 12.0
QUOTES = QTextFormat.Property.BlockQuoteLevel
_PROPORTIONAL = QTextBlockFormat.LineHeightTypes.ProportionalHeight.value
_FIXED = QTextBlockFormat.LineHeightTypes.FixedHeight.value
_HEADING_SCALE = (1.35, 1.2, 1.1, 1.0, 1.0, 1.0)
_RUNS_A_STEP = 40
_ROWS_A_STEP = 8
_STEP_S = 0.001
_LONGEST_TIP = 300
_COLORS = {"inserted": "code_string", "deleted": "danger"}
_ALIGNMENTS = {
    "left": Qt.AlignmentFlag.AlignLeft,
    "center": Qt.AlignmentFlag.AlignHCenter,
    "right": Qt.AlignmentFlag.AlignRight,
}
_DOTS = (QTextListFormat.Style.ListDisc, QTextListFormat.Style.ListCircle, QTextListFormat.Style.ListSquare)


@dataclass(slots=True)
class CodeBox:
    """Hold code as it stands in a document. `frame`: its (first) frame; `pieces`: the code as it was written."""

    frame: QTextTable
    language: str
    pieces: list[str] = field(default_factory=list)

    @property
    def code(self) -> str:
        """Return all of it, without the line break at its end."""
        return "".join(self.pieces).removesuffix("\n")


def paragraph_format(*, top: float = 0.0, bottom: float = GAP) -> QTextBlockFormat:
    """Return a paragraph of a reply. Margins in pixels."""
    block = QTextBlockFormat()
    block.setLineHeight(LINE_HEIGHT, _PROPORTIONAL)
    block.setTopMargin(top)
    block.setBottomMargin(bottom)
    return block


def code_header_height(font: QFont) -> int:
    """Return the space above code for its language and its button, in pixels."""
    return max(QFontMetrics(font).height() + 10, 28)


class MarkdownWriter:
    """Append pieces of a reply to one document.

    Attributes: boxes (the code that was written). `headers`: whether room is kept above code; `colored`: whether it
    gets its colours.
    """

    def __init__(self, document: QTextDocument, theme: Theme, *, colored: bool = True) -> None:
        self._document = document
        self._theme = theme
        self._colored = colored
        self._lists: dict[int, QTextList] = {}
        # Whether the last block of the document is empty and may be written into.
        self._fresh = True
        self._after_code = False
        self._last_table: QTextTable | None = None
        self.boxes: list[CodeBox] = []
        document.setIndentWidth(INDENT)

    def write(self, block: Block) -> Iterator[None]:
        """Append a piece, step by step."""
        cursor = QTextCursor(self._document)
        self._to_end(cursor)
        if block.kind == "code":
            joined = block.joined and self._after_code
            yield from self._write_code(cursor, block.text, block.language, joined=joined)
            self._after_code = True
            return
        if block.joined and not self._fresh and not self._after_code:
            form = cursor.blockFormat()
            form.setBottomMargin(0)
            cursor.setBlockFormat(form)
        self._lists = {}
        nodes = parse(block.text)
        yield
        for at, node in enumerate(nodes):
            after = nodes[at + 1] if at + 1 < len(nodes) else None
            yield from self._write_node(cursor, node, after)

    def close_gap(self) -> None:
        """Close the gap below what comes last: the text is complete."""
        cursor = QTextCursor(self._document)
        self._to_end(cursor)
        before = cursor.block().previous()
        if self._last_table is not None and before.position() == self._last_table.lastPosition():
            self._close_below(self._last_table)
        block = cursor.blockFormat()
        block.setBottomMargin(0)
        cursor.setBlockFormat(block)

    def _write_node(self, cursor: QTextCursor, node: Node, after: Node | None) -> Iterator[None]:
        match node:
            case Paragraph():
                yield from self._write_text(cursor, node, after)
            case Code():
                yield from self._write_code(cursor, node.text, node.language, quotes=node.quotes, depth=node.depth)
            case Table():
                yield from self._write_table(cursor, node)
            case ThematicBreak():
                self._write_rule(cursor)
        self._after_code = False

    # Text -------------------------------------------------------------------------------------------------------------

    def _open_block(self, cursor: QTextCursor, block: QTextBlockFormat, char: QTextCharFormat) -> None:
        """Go to a new block at the end."""
        if self._fresh:
            cursor.setBlockFormat(block)
            cursor.setBlockCharFormat(char)
            cursor.setCharFormat(char)
        else:
            cursor.insertBlock(block, char)
        self._fresh = False

    def _write_text(self, cursor: QTextCursor, node: Paragraph, after: Node | None) -> Iterator[None]:
        target = paragraph_format()
        base = QTextCharFormat()
        if node.level:
            target.setTopMargin(GAP / 2)
            target.setHeadingLevel(node.level)
            base.setFontWeight(QFont.Weight.DemiBold)
            base.setFontPointSize(self._document.defaultFont().pointSizeF() * _HEADING_SCALE[node.level - 1])
        if node.quotes:
            target.setLeftMargin(16.0 * node.quotes)
            target.setProperty(QUOTES, node.quotes)
            base.setForeground(QBrush(self._theme.color("muted")))
            if isinstance(after, Paragraph) and after.quotes:
                target.setBottomMargin(GAP / 2)
        if node.depth:
            more = isinstance(after, Paragraph | Code) and after.depth > 0
            target.setBottomMargin(GAP / 3 if more else GAP)
            if node.item is None:
                target.setIndent(node.depth)
            elif node.item.task is not None:
                marker = QTextBlockFormat.MarkerType
                target.setMarker(marker.Checked if node.item.task else marker.Unchecked)
        self._open_block(cursor, target, base)
        if node.item is not None:
            self._into_list(cursor, node.item)
        yield from self._write_runs(cursor, node.runs, base)

    def _into_list(self, cursor: QTextCursor, item: ListItem) -> None:
        known = self._lists.get(item.group)
        if known is not None:
            known.add(cursor.block())
            return
        form = QTextListFormat()
        form.setIndent(item.depth)
        if item.number is None:
            form.setStyle(_DOTS[min(item.depth, len(_DOTS)) - 1])
        else:
            form.setStyle(QTextListFormat.Style.ListDecimal)
            form.setStart(item.number)
        self._lists[item.group] = cursor.createList(form)

    def _write_rule(self, cursor: QTextCursor) -> None:
        target = paragraph_format(top=GAP / 2, bottom=GAP * 1.5)
        target.setLineHeight(1.0, _FIXED)
        target.setBackground(QBrush(self._theme.color("border")))
        self._open_block(cursor, target, _tiny())

    def _write_runs(self, cursor: QTextCursor, runs: tuple[Run, ...], base: QTextCharFormat) -> Iterator[None]:
        for number, run in enumerate(runs, 1):
            cursor.insertText(run.text, self._run_format(run, base))
            if number % _RUNS_A_STEP == 0:
                yield
        yield

    def _run_format(self, run: Run, base: QTextCharFormat) -> QTextCharFormat:
        if not (run.bold or run.italic or run.struck or run.code or run.link):
            return base
        form = QTextCharFormat(base)
        if run.bold:
            form.setFontWeight(QFont.Weight.DemiBold)
        if run.italic:
            form.setFontItalic(True)
        if run.struck:
            form.setFontStrikeOut(True)
        if run.code:
            form.setFontFamilies(fixed_font().families())
            form.setBackground(QBrush(self._theme.color("raised")))
        if run.link:
            form.setAnchor(True)
            form.setAnchorHref(run.link)
            form.setToolTip(run.link[:_LONGEST_TIP])
            form.setForeground(QBrush(self._theme.color("accent")))
            form.setFontUnderline(True)
        return form

    # Code and tables --------------------------------------------------------------------------------------------------

    def _enter(self, cursor: QTextCursor) -> None:
        """Enter a block before or after a table, as Qt keeps one there; it takes no room as long as it is empty."""
        if not self._fresh:
            cursor.insertBlock(QTextBlockFormat(), _tiny())
        else:
            cursor.setBlockFormat(QTextBlockFormat())
            cursor.setBlockCharFormat(_tiny())

    def _to_end(self, cursor: QTextCursor) -> None:
        # Not movePosition: it would lay out the document in the middle of a change.
        cursor.setPosition(self._document.characterCount() - 1)

    def _leave(self, cursor: QTextCursor) -> None:
        self._to_end(cursor)
        cursor.setBlockFormat(QTextBlockFormat())
        cursor.setBlockCharFormat(_tiny())
        self._fresh = False

    @staticmethod
    def _close_below(table: QTextTable) -> None:
        form = table.format().toTableFormat()
        form.setBottomMargin(0)
        table.setFormat(form)

    def _write_code(
        self, cursor: QTextCursor, code: str, language: str, *, joined: bool = False, quotes: int = 0, depth: int = 0
    ) -> Iterator[None]:
        if joined and self._last_table is not None:
            # It goes on in the table below, without a gap that one would see.
            self._close_below(self._last_table)
            self._pad(self._last_table, top=len(self.boxes[-1].pieces) == 1)
        self._enter(cursor)
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
        else:
            self.boxes.append(CodeBox(made, language, [code]))
        self._pad(made, top=not joined, bottom=True)
        char = QTextCharFormat()
        char.setFontFamilies(fixed_font().families())
        inside = made.cellAt(0, 0).firstCursorPosition()
        line = QTextBlockFormat()
        line.setLineHeight(130, _PROPORTIONAL)
        inside.setBlockFormat(line)
        yield
        yield from self._write_parts(inside, visible_code(code.removesuffix("\n")), language, char)
        self._leave(cursor)

    def _pad(self, table: QTextTable, *, top: bool, bottom: bool = False) -> None:
        """Leave room around code, but none where it goes on in another frame."""
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

    def _write_table(self, cursor: QTextCursor, table: Table) -> Iterator[None]:
        columns = max((len(row) for row in table.rows), default=0)
        if not columns:
            return
        self._enter(cursor)
        form = QTextTableFormat()
        form.setBorderCollapse(True)
        form.setBorder(1)
        form.setBorderBrush(QBrush(self._theme.color("border")))
        form.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
        form.setCellPadding(6)
        form.setCellSpacing(0)
        form.setHeaderRowCount(1)
        form.setTopMargin(2)
        form.setBottomMargin(GAP)
        self._last_table = made = cursor.insertTable(len(table.rows), columns, form)
        bold = QTextCharFormat()
        bold.setFontWeight(QFont.Weight.DemiBold)
        lines = []
        for name in table.alignments:
            line = QTextBlockFormat()
            if name:
                line.setAlignment(_ALIGNMENTS[name])
            lines.append(line)
        for row, cells in enumerate(table.rows):
            for column, runs in enumerate(cells):
                inside = made.cellAt(row, column).firstCursorPosition()
                inside.setBlockFormat(lines[column])
                for run in runs:
                    inside.insertText(run.text, self._run_format(run, bold if row == 0 else QTextCharFormat()))
            if row % _ROWS_A_STEP == _ROWS_A_STEP - 1:
                yield
        self._leave(cursor)
        yield


def _tiny() -> QTextCharFormat:
    """Return the format of blocks without text: their background is as high as their font."""
    char = QTextCharFormat()
    char.setFontPointSize(1)
    return char
