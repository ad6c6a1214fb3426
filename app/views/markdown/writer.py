"""Write pieces of a reply into a text document, in the look of this program.

The state reads the Markdown; here its nodes become paragraphs, lists, tables and frames of code. Writing goes step by
step, so that the caller can stop when its time is over. Nothing is loaded from anywhere: a document never holds a
picture but the formulas that are set here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from unicodedata import bidirectional

from PySide6.QtCore import Qt
from PySide6.QtGui import (
    QBrush,
    QFont,
    QFontMetricsF,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextFrameFormat,
    QTextList,
    QTextListFormat,
    QTextTable,
    QTextTableFormat,
)

from app.state.markdown.blocks import Block
from app.state.markdown.parser import (
    LINE_BREAK,
    Code,
    ListItem,
    Node,
    Paragraph,
    Run,
    Table,
    ThematicBreak,
    parse,
)
from app.state.markdown.places import source_of
from app.system.typesetter import typesetter
from app.views.markdown.code_writer import GAP, INDENT, CodeWriter, TableBox, code_header_height, tiny_format
from app.views.markdown.formula import OBJECT, FormulaObjects
from app.views.widgets.theme import LINE_HEIGHT, Theme, fixed_font

QUOTES = QTextFormat.Property.BlockQuoteLevel
_PROPORTIONAL = QTextBlockFormat.LineHeightTypes.ProportionalHeight.value
_DISTANCE = QTextBlockFormat.LineHeightTypes.LineDistanceHeight.value
_FIXED = QTextBlockFormat.LineHeightTypes.FixedHeight.value
_HEADING_SCALE = (1.35, 1.2, 1.1, 1.0, 1.0, 1.0)
_RUNS_A_STEP = 40
_ROWS_A_STEP = 8
_LONGEST_TIP = 300
_ALIGNMENTS = {
    "left": Qt.AlignmentFlag.AlignLeft,
    "center": Qt.AlignmentFlag.AlignHCenter,
    "right": Qt.AlignmentFlag.AlignRight,
}
_DOTS = (QTextListFormat.Style.ListDisc, QTextListFormat.Style.ListCircle, QTextListFormat.Style.ListSquare)


def paragraph_format(*, top: float = 0.0, bottom: float = GAP) -> QTextBlockFormat:
    """Return a paragraph of a reply. Margins in pixels."""
    block = QTextBlockFormat()
    block.setLineHeight(LINE_HEIGHT, _PROPORTIONAL)
    block.setTopMargin(top)
    block.setBottomMargin(bottom)
    return block


@dataclass(frozen=True, slots=True)
class Mark:
    """Hold the end of a document at one moment.

    `end`: its position; `block`, `char`, `table`: the formats of what stands there; `boxes`: how many, and how many
    pieces the last one had; `known`: how many places in the source, and formulas; `state`: of the writer.
    """

    end: int
    block: QTextBlockFormat
    char: QTextCharFormat
    table: QTextTableFormat | None
    boxes: tuple[int, int]
    known: tuple[int, int]
    state: tuple[bool, bool, bool, QTextTable | None]


class MarkdownWriter(CodeWriter):
    """Append pieces of a reply to one document.

    Attributes: boxes (the code that was written), map (where the source stands in the document).
    """

    def __init__(self, document: QTextDocument, theme: Theme, formulas: FormulaObjects) -> None:
        super().__init__(document, theme)
        self._formulas = formulas
        self._parsed: tuple[Block, list[Node]] | None = None
        self._lines: tuple[tuple[int, int], ...] = ()
        self._lists: dict[int, QTextList] = {}
        self._after_code = self._in_text = self._repeats = False
        document.setIndentWidth(INDENT)

    def is_ready(self, block: Block) -> bool:
        """Return True if all formulas of a piece are set; those that are not will be soon."""
        if block.kind == "code":
            return True
        known = [
            typesetter().is_known(run.formula, display=run.display)
            for run in _runs_of(self._nodes_of(block))
            if run.formula
        ]
        return all(known)

    def _nodes_of(self, block: Block) -> list[Node]:
        if self._parsed is None or self._parsed[0] is not block:
            self._parsed = (block, parse(block.text, goes_on=block.glue is not None))
        return self._parsed[1]

    def write(self, block: Block) -> Iterator[None]:
        """Append a piece, step by step. Formulas that are not set yet are written as their source."""
        cursor = QTextCursor(self._document)
        self.to_end(cursor)
        self._lines = block.lines
        if block.kind == "code":
            joined = block.joined and self._after_code
            yield from self.write_code(cursor, block.text, block.language, joined=joined, lines=block.lines)
            self._after_code, self._in_text = True, False
            return
        nodes = self._nodes_of(block)
        self._parsed = None
        if block.glue is not None:
            # What stands for the words before it.
            self._lines = tuple((at + 1, source) for at, source in block.lines)
            first = nodes[0]
            if self._in_text and isinstance(first, Paragraph):
                yield from self._go_on(cursor, block.glue, first.runs)
                nodes = nodes[1:]
        elif block.joined and not self._fresh and not self._after_code:
            form = cursor.blockFormat()
            form.setBottomMargin(0)
            cursor.setBlockFormat(form)
        self._lists = {}
        self._repeats = block.joined and any(source < 0 for _, source in block.lines[:1])
        yield
        for at, node in enumerate(nodes):
            after = nodes[at + 1] if at + 1 < len(nodes) else None
            yield from self._write_node(cursor, node, after)
            self._repeats = False

    def mark(self) -> Mark:
        """Return a mark of the present end, to come back to."""
        cursor = QTextCursor(self._document)
        self.to_end(cursor)
        box = self.boxes[-1] if self.boxes else None
        return Mark(
            cursor.position(),
            cursor.blockFormat(),
            cursor.blockCharFormat(),
            None if self._last_table is None else self._last_table.format().toTableFormat(),
            (len(self.boxes), 0 if box is None else len(box.pieces)),
            (len(self.map), len(self._formulas.sources)),
            (self._fresh, self._after_code, self._in_text, self._last_table),
        )

    def write_open(self, block: Block) -> None:
        """Append an unfinished block, in one step and without colours; code in it is no box yet."""
        boxes = self.mark().boxes
        self._colored = False
        for _ in self.write(block):
            pass
        self._colored = True
        self._drop_boxes(boxes)

    def back_to(self, mark: Mark) -> None:
        """Take away all that was written since."""
        cursor = QTextCursor(self._document)
        cursor.setPosition(mark.end)
        cursor.setPosition(self._document.characterCount() - 1, QTextCursor.MoveMode.KeepAnchor)
        cursor.removeSelectedText()
        cursor.setBlockFormat(mark.block)
        cursor.setBlockCharFormat(mark.char)
        self._fresh, self._after_code, self._in_text, self._last_table = mark.state
        if self._last_table is not None and mark.table is not None:
            self._last_table.setFormat(mark.table)
        self._drop_boxes(mark.boxes)
        self.map.cut(mark.known[0])
        self._formulas.cut(mark.known[1])
        self._lists = {}

    def _drop_boxes(self, boxes: tuple[int, int]) -> None:
        del self.boxes[boxes[0] :]
        if self.boxes:
            del self.boxes[-1].pieces[boxes[1] :], self.boxes[-1].frames[boxes[1] :]

    def close_gap(self) -> None:
        """Close the gap below the last block, until another follows."""
        cursor = QTextCursor(self._document)
        self.to_end(cursor)
        before = cursor.block().previous()
        if self._last_table is not None and before.position() == self._last_table.lastPosition():
            self.close_below(self._last_table)
        block = cursor.blockFormat()
        block.setBottomMargin(0)
        cursor.setBlockFormat(block)

    def _write_node(self, cursor: QTextCursor, node: Node, after: Node | None) -> Iterator[None]:
        match node:
            case Paragraph():
                yield from self._write_text(cursor, node, after)
            case Code():
                lines = tuple((at, source_of(self._lines, place)) for at, place in node.lines if place >= 0)
                yield from self.write_code(
                    cursor, node.text, node.language, quotes=node.quotes, depth=node.depth, lines=lines
                )
            case Table():
                yield from self._write_table(cursor, node)
            case ThematicBreak():
                self._write_rule(cursor)
        self._after_code = False
        self._in_text = isinstance(node, Paragraph)

    # Text -------------------------------------------------------------------------------------------------------------

    def _open_block(self, cursor: QTextCursor, block: QTextBlockFormat, char: QTextCharFormat) -> None:
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
            set_margin = target.setRightMargin if _is_right_to_left(node.runs) else target.setLeftMargin
            set_margin(16.0 * node.quotes)
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
        if node.is_display and self._is_set(node.runs[0]):
            target.setAlignment(Qt.AlignmentFlag.AlignHCenter)
            target.setLineHeight(100, _PROPORTIONAL)
            target.setTopMargin(GAP / 2)
            target.setBottomMargin(target.bottomMargin() + GAP / 2)
        elif any(run.formula for run in node.runs):
            self._space_formulas(target)
        self._open_block(cursor, target, base)
        if node.item is not None:
            self._into_list(cursor, node.item)
        yield from self._write_runs(cursor, node.runs, base)

    def _go_on(self, cursor: QTextCursor, glue: str, runs: tuple[Run, ...]) -> Iterator[None]:
        base = cursor.blockCharFormat()
        cursor.insertText(glue.replace("\n", LINE_BREAK), base)
        if any(run.formula for run in runs):
            form = cursor.blockFormat()
            self._space_formulas(form)
            cursor.setBlockFormat(form)
        yield from self._write_runs(cursor, runs, base)

    def _space_formulas(self, target: QTextBlockFormat) -> None:
        """Leave room between lines with formulas; a share of the height of a line with a fraction would be a gap."""
        spacing = QFontMetricsF(self._document.defaultFont()).lineSpacing()
        target.setLineHeight((LINE_HEIGHT / 100 - 1) * spacing, _DISTANCE)

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
        self._open_block(cursor, target, tiny_format())

    def _write_runs(self, cursor: QTextCursor, runs: tuple[Run, ...], base: QTextCharFormat) -> Iterator[None]:
        for number, run in enumerate(runs, 1):
            self._write_run(cursor, run, base)
            if number % _RUNS_A_STEP == 0:
                yield
        yield

    def _write_run(self, cursor: QTextCursor, run: Run, base: QTextCharFormat) -> None:
        position, text = cursor.position(), run.text
        form = self._run_format(run, base)
        made = typesetter().formula(run.formula, display=run.display) if run.formula else None
        if made is None:
            cursor.insertText(text, form)
        else:
            text = OBJECT
            self._formulas.insert(cursor, made, run.text.replace(LINE_BREAK, "\n"), form)
        if run.start >= 0:
            begin = source_of(self._lines, run.start)
            self.map.add(text, position, begin, source_of(self._lines, max(run.end - 1, run.start)) + 1)

    def _is_set(self, run: Run) -> bool:
        return typesetter().formula(run.formula, display=run.display) is not None

    def _run_format(self, run: Run, base: QTextCharFormat) -> QTextCharFormat:
        if not (
            run.bold or run.italic or run.struck or run.code or run.link or run.raised or run.high or run.low or run.key
        ):
            return base
        form = QTextCharFormat(base)
        if run.bold:
            form.setFontWeight(QFont.Weight.DemiBold)
        if run.italic:
            form.setFontItalic(True)
        if run.struck:
            form.setFontStrikeOut(True)
        if run.code or run.key:
            form.setFontFamilies(fixed_font().families())
            form.setBackground(QBrush(self._theme.color("raised")))
        if run.raised or run.high:
            form.setVerticalAlignment(QTextCharFormat.VerticalAlignment.AlignSuperScript)
        if run.low:
            form.setVerticalAlignment(QTextCharFormat.VerticalAlignment.AlignSubScript)
        if run.raised:
            form.setForeground(QBrush(self._theme.color("muted")))
        if run.link:
            form.setAnchor(True)
            form.setAnchorHref(run.link)
            form.setToolTip(run.link[:_LONGEST_TIP])
            form.setForeground(QBrush(self._theme.color("accent")))
            form.setFontUnderline(True)
        return form

    # Code and tables --------------------------------------------------------------------------------------------------

    def _table_format(self) -> QTextTableFormat:
        form = QTextTableFormat()
        form.setBorderCollapse(True)
        form.setBorder(1)
        form.setBorderBrush(QBrush(self._theme.color("border")))
        form.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
        form.setCellPadding(6)
        form.setCellSpacing(0)
        form.setHeaderRowCount(1)
        form.setTopMargin(2 if self._repeats else code_header_height(self._document.defaultFont()))
        form.setBottomMargin(GAP)
        return form

    def _write_table(self, cursor: QTextCursor, table: Table) -> Iterator[None]:
        columns = max((len(row) for row in table.rows), default=0)
        if not columns:
            return
        self.enter(cursor)
        mirrored = _is_right_to_left(_runs_of([table]))
        form = self._table_format()
        if mirrored:
            form.setAlignment(Qt.AlignmentFlag.AlignRight)
        self._last_table = made = cursor.insertTable(len(table.rows), columns, form)
        # The continuation of a cut table: its head is repeated, so that sorting and copying see one table.
        box = self.boxes[-1] if self._repeats and self.boxes else None
        if isinstance(box, TableBox) and (len(box.least), box.mirrored) == (columns, mirrored):
            box.add(made)
        elif len(table.rows) > 1:
            box = TableBox(made, mirrored=mirrored)
            self.boxes.append(box)
        bold = QTextCharFormat()
        bold.setFontWeight(QFont.Weight.DemiBold)
        widest = QFont(self._document.defaultFont())
        widest.setWeight(QFont.Weight.DemiBold)
        order = -1 if mirrored else 1
        for row, cells in enumerate(table.rows):
            for column, (runs, side) in enumerate(list(zip(cells, table.alignments, strict=True))[::order]):
                inside = made.cellAt(row, column).firstCursorPosition()
                line = QTextBlockFormat()
                if side:
                    line.setAlignment(_ALIGNMENTS[side])
                inside.setBlockFormat(line)
                for run in runs:
                    self._write_run(inside, run, bold if row == 0 else QTextCharFormat())
                    if isinstance(box, TableBox):
                        box.measure(column, run.text, QFontMetricsF(fixed_font() if run.code else widest))
            if row % _ROWS_A_STEP == _ROWS_A_STEP - 1:
                yield
        self.leave(cursor)
        yield


def _runs_of(nodes: list[Node]) -> Iterator[Run]:
    for node in nodes:
        if isinstance(node, Paragraph):
            yield from node.runs
        elif isinstance(node, Table):
            for row in node.rows:
                for cell in row:
                    yield from cell


def _is_right_to_left(runs: Iterable[Run]) -> bool:
    """Return True if the first letter is of a script that runs from the right, as Qt decides it."""
    kinds = (bidirectional(sign) for run in runs for sign in run.text)
    return next((kind != "L" for kind in kinds if kind in ("L", "R", "AL")), False)
