"""Writes Markdown into a text document, block by block, in the look of this program.

Qt reads the Markdown (raw HTML stays text); what it made of it is copied over with our own formats. Nothing is loaded
from anywhere: a picture is shown as its description.
"""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import (
    QBrush,
    QFont,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextFrame,
    QTextFrameFormat,
    QTextLength,
    QTextList,
    QTextListFormat,
    QTextTable,
    QTextTableFormat,
)

from app.views.theme import LINE_HEIGHT, Theme, fixed_font

GAP = 10.0
_FEATURES = QTextDocument.MarkdownFeature.MarkdownNoHTML | QTextDocument.MarkdownFeature.MarkdownDialectGitHub
_PROPORTIONAL = QTextBlockFormat.LineHeightTypes.ProportionalHeight.value
_FIXED = QTextBlockFormat.LineHeightTypes.FixedHeight.value
_HEADING_SCALE = (1.35, 1.2, 1.1, 1.0, 1.0, 1.0)


def paragraph_format(*, top: float = 0.0, bottom: float = GAP) -> QTextBlockFormat:
    """A paragraph of a reply. Margins in pixels."""
    block = QTextBlockFormat()
    block.setLineHeight(LINE_HEIGHT, _PROPORTIONAL)
    block.setTopMargin(top)
    block.setBottomMargin(bottom)
    return block


class MarkdownWriter:
    """Appends pieces of Markdown to one document."""

    def __init__(self, document: QTextDocument, theme: Theme) -> None:
        self._document = document
        self._theme = theme
        self._lists: dict[int, QTextList] = {}
        # Whether the last block of the document is empty and may be written into.
        self._fresh = True

    @property
    def fresh(self) -> bool:
        """Whether the document's last block is empty and free to be written into."""
        return self._fresh

    @fresh.setter
    def fresh(self, value: bool) -> None:
        self._fresh = value

    def end(self) -> QTextCursor:
        """A cursor at the end of the document."""
        cursor = QTextCursor(self._document)
        cursor.movePosition(QTextCursor.MoveOperation.End)
        return cursor

    def open_block(self, cursor: QTextCursor, block: QTextBlockFormat, char: QTextCharFormat) -> None:
        """Go to a new block at the end."""
        if self._fresh:
            cursor.setBlockFormat(block)
            cursor.setBlockCharFormat(char)
            cursor.setCharFormat(char)
        else:
            cursor.insertBlock(block, char)
        self._fresh = False

    def write(self, markdown: str, *, joined: bool = False) -> None:
        """Append a piece. `joined`: it goes on from the piece before, so no gap belongs between them."""
        source = QTextDocument()
        source.setUndoRedoEnabled(False)
        source.setMarkdown(markdown, _FEATURES)
        self._lists = {}
        cursor = self.end()
        cursor.beginEditBlock()
        if joined and not self._fresh:
            block = cursor.blockFormat()
            block.setBottomMargin(0)
            cursor.setBlockFormat(block)
        self._copy_frame(source.rootFrame(), cursor)
        cursor.endEditBlock()

    def close_gap(self) -> None:
        """The text is complete: no gap below its last block."""
        cursor = self.end()
        block = cursor.blockFormat()
        block.setBottomMargin(0)
        if not cursor.block().text():
            block.setLineHeight(1.0, _FIXED)
        cursor.setBlockFormat(block)

    def _copy_frame(self, frame: QTextFrame, cursor: QTextCursor) -> None:
        walk = frame.begin()
        code: list[QTextBlock] = []
        while not walk.atEnd():
            child, block = walk.currentFrame(), walk.currentBlock()
            if child is None and block.isValid() and _is_code(block):
                code.append(block)
            else:
                self._write_code(code, cursor)
                code = []
                if isinstance(child, QTextTable):
                    self._write_table(child, cursor)
                elif child is not None:
                    self._copy_frame(child, cursor)
                elif block.isValid():
                    self._write_block(block, cursor)
            walk += 1
        self._write_code(code, cursor)

    # Text -------------------------------------------------------------------------------------------------------------

    def _write_block(self, block: QTextBlock, cursor: QTextCursor) -> None:
        source = block.blockFormat()
        if source.hasProperty(QTextFormat.Property.BlockTrailingHorizontalRulerWidth):
            self._write_rule(cursor)
            return
        if not block.text() and block.textList() is None:
            return
        target = paragraph_format()
        level = source.headingLevel()
        base = QTextCharFormat()
        if level:
            target.setTopMargin(GAP / 2)
            target.setHeadingLevel(level)
            base.setFontWeight(QFont.Weight.DemiBold)
            base.setFontPointSize(self._document.defaultFont().pointSizeF() * _HEADING_SCALE[level - 1])
        quote = int(source.property(QTextFormat.Property.BlockQuoteLevel) or 0)
        if quote:
            target.setLeftMargin(16.0 * quote)
            base.setForeground(QBrush(self._theme.color("muted")))
        if block.textList() is not None:
            last = block.textList().itemNumber(block) == block.textList().count() - 1
            target.setBottomMargin(GAP if last and block.textList().format().indent() == 1 else GAP / 3)
            target.setMarker(source.marker())
        self.open_block(cursor, target, base)
        if block.textList() is not None:
            self._into_list(block, cursor)
        self._write_runs(block, cursor, base)

    def _into_list(self, block: QTextBlock, cursor: QTextCursor) -> None:
        source = block.textList()
        known = self._lists.get(source.objectIndex())
        if known is not None:
            known.add(cursor.block())
            return
        form = QTextListFormat(source.format())
        self._lists[source.objectIndex()] = cursor.createList(form)

    def _write_rule(self, cursor: QTextCursor) -> None:
        target = paragraph_format()
        width = QTextLength(QTextLength.Type.PercentageLength, 100)
        target.setProperty(QTextFormat.Property.BlockTrailingHorizontalRulerWidth, width)
        self.open_block(cursor, target, QTextCharFormat())

    def _write_runs(self, block: QTextBlock, cursor: QTextCursor, base: QTextCharFormat) -> None:
        walk = block.begin()
        while not walk.atEnd():
            fragment = walk.fragment()
            if fragment.isValid():
                source = fragment.charFormat()
                cursor.insertText(_text_of(fragment.text(), source), self._run_format(source, base))
            walk += 1

    def _run_format(self, source: QTextCharFormat, base: QTextCharFormat) -> QTextCharFormat:
        run = QTextCharFormat(base)
        if source.fontWeight() > QFont.Weight.Normal:
            run.setFontWeight(QFont.Weight.DemiBold)
        if source.fontItalic():
            run.setFontItalic(True)
        if source.fontStrikeOut():
            run.setFontStrikeOut(True)
        if _is_fixed(source):
            run.setFontFamilies(fixed_font().families())
            run.setBackground(QBrush(self._theme.color("raised")))
        href = source.anchorHref()
        if href:
            run.setAnchor(True)
            run.setAnchorHref(href)
            run.setToolTip(href)
            run.setForeground(QBrush(self._theme.color("accent")))
            run.setFontUnderline(True)
        return run

    # Code and tables --------------------------------------------------------------------------------------------------

    def _enter(self, cursor: QTextCursor) -> None:
        """Before a frame Qt keeps a block: use the empty one, and make it as thin as the gap should be."""
        thin = QTextBlockFormat()
        thin.setLineHeight(2.0, _FIXED)
        if not self._fresh:
            cursor.insertBlock(thin, QTextCharFormat())
        else:
            cursor.setBlockFormat(thin)

    def _leave(self, cursor: QTextCursor) -> None:
        cursor.movePosition(QTextCursor.MoveOperation.End)
        thin = QTextBlockFormat()
        thin.setLineHeight(GAP, _FIXED)
        cursor.setBlockFormat(thin)
        cursor.setBlockCharFormat(QTextCharFormat())
        self._fresh = False

    def _write_code(self, blocks: list[QTextBlock], cursor: QTextCursor) -> None:
        if not blocks:
            return
        self._enter(cursor)
        frame = QTextFrameFormat()
        frame.setBackground(QBrush(self._theme.color("raised")))
        frame.setPadding(10)
        frame.setBorder(0)
        cursor.insertFrame(frame)
        char = QTextCharFormat()
        char.setFontFamilies(fixed_font().families())
        line = QTextBlockFormat()
        line.setLineHeight(130, _PROPORTIONAL)
        cursor.setBlockFormat(line)
        cursor.setBlockCharFormat(char)
        cursor.insertText("\n".join(block.text() for block in blocks), char)
        self._leave(cursor)

    def _write_table(self, table: QTextTable, cursor: QTextCursor) -> None:
        self._enter(cursor)
        form = QTextTableFormat()
        form.setBorderCollapse(True)
        form.setBorder(1)
        form.setBorderBrush(QBrush(self._theme.color("border")))
        form.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
        form.setCellPadding(6)
        form.setCellSpacing(0)
        form.setHeaderRowCount(1)
        copy = cursor.insertTable(table.rows(), table.columns(), form)
        for row in range(table.rows()):
            for column in range(table.columns()):
                base = QTextCharFormat()
                if row == 0:
                    base.setFontWeight(QFont.Weight.DemiBold)
                block = table.cellAt(row, column).firstCursorPosition().block()
                inside = copy.cellAt(row, column).firstCursorPosition()
                line = QTextBlockFormat()
                line.setAlignment(block.blockFormat().alignment() & Qt.AlignmentFlag.AlignHorizontal_Mask)
                inside.setBlockFormat(line)
                self._write_runs(block, inside, base)
        self._leave(cursor)


def _is_code(block: QTextBlock) -> bool:
    form = block.blockFormat()
    known = form.hasProperty(QTextFormat.Property.BlockCodeFence)
    return known or form.hasProperty(QTextFormat.Property.BlockCodeLanguage) or form.nonBreakableLines()


def _is_fixed(form: QTextCharFormat) -> bool:
    return form.fontFixedPitch() or "monospace" in (form.fontFamilies() or [])


def _text_of(text: str, form: QTextCharFormat) -> str:
    if not form.isImageFormat():
        return text
    about = form.property(QTextFormat.Property.ImageAltText) or form.toImageFormat().name()
    return f"[{about}]"
