"""Mark a reply's citations and repetitions of documents, and show its sources as chips below it."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QEvent, Qt, QUrl, Signal
from PySide6.QtGui import QColor, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QSizePolicy, QToolButton, QWidget

from app.state.chat.citations import Cited, CitedPart, cited_in, repeated_in
from app.views.markdown.reply import ReplyView
from app.views.markdown.text import MarkdownPage
from app.views.widgets.flow_layout import FlowLayout
from app.views.widgets.icons import keep_icon
from app.views.widgets.theme import Theme
from app.words.documents import repeated_words, source_words

_SCHEME = "source"
_WIDEST = 340
_MOST_CHIPS = 24
_MOST_LETTERS = 700
"""Characters of a part that hovering shows."""


class SourceChip(QToolButton):
    """Show one source; pressing it opens the document there. `repeated`: the reply repeats it word for word."""

    def __init__(self, source: CitedPart, theme: Theme, parent: QWidget, *, repeated: bool) -> None:
        super().__init__(parent)
        self.source = source
        self.setObjectName("chip")
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        keep_icon(self, theme, "quotes" if repeated else "file-text", "muted")
        self._words = source_words(source)
        self._repeated = repeated
        self.setToolTip(part_text(source))
        self.setAccessibleName(self._words + (f", {repeated_words()}" if repeated else ""))
        self.setAccessibleDescription(self.tr("Opens the document at this place"))
        self._fit()

    def _fit(self) -> None:
        self.setText(
            self.fontMetrics().elidedText(self._words, Qt.TextElideMode.ElideMiddle, _WIDEST).replace("&", "&&")
        )

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._fit()


class Citations(QWidget):
    """Show the sources of a reply as chips, and mark citations and repetitions in the reply.

    Signal: opened(CitedPart), somebody wants to see it.
    """

    opened = Signal(object)

    def __init__(self, reply: ReplyView, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._reply = reply
        self._theme = theme
        self._sources: dict[int, CitedPart] = {}
        self._pages: set[int] = set()
        self.chips: list[SourceChip] = []
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        self._rows = FlowLayout(self)
        self._rows.setContentsMargins(0, 2, 0, 2)
        self._rows.setSpacing(6)
        self.setAccessibleName(self.tr("Sources"))
        reply.grew.connect(self._mark_again)
        self.hide()

    def show_sources(self, sources: Iterable[CitedPart]) -> None:
        """Mark the reply, which is complete, and show its citations of these sources, the last one of each number."""
        self._sources = {each.number: each for each in sources}
        while self.chips:
            chip = self.chips.pop()
            self._rows.removeWidget(chip)
            chip.hide()
            chip.deleteLater()
        cited, repeated = self._mark() if self._sources else ([], set())
        for number in cited[:_MOST_CHIPS]:
            chip = SourceChip(self._sources[number], self._theme, self, repeated=number in repeated)
            chip.clicked.connect(lambda _checked=False, number=number: self.opened.emit(self._sources[number]))
            chip.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            self._rows.addWidget(chip)
            self.chips.append(chip)
        self.setVisible(bool(self.chips))

    def _mark_again(self) -> None:
        """Mark redrawn text: the colours have changed."""
        if self._sources and self._reply.is_settled:
            self._mark()

    def _mark(self) -> tuple[list[int], set[int]]:
        """Mark all pages; return the numbers that are cited or repeated, in their order, and those repeated."""
        numbers: list[int] = []
        repeats: set[int] = set()
        for text in self._reply.texts:
            shown = text.page.document().toPlainText()
            repeated = repeated_in(shown, self._sources.values())
            cited = [each for each in cited_in(shown) if each.number in self._sources]
            for each in repeated:
                _format(text.page, shown, each, self._repeat_format(each.number))
            for each in cited:
                _format(text.page, shown, each, self._cite_format(each.number))
            repeats |= {each.number for each in repeated}
            numbers += [each.number for each in sorted([*cited, *repeated], key=lambda each: each.start)]
            if id(text.page) not in self._pages:
                self._pages.add(id(text.page))
                text.page.anchorClicked.connect(self._open)
        return list(dict.fromkeys(numbers)), repeats

    def _cite_format(self, number: int) -> QTextCharFormat:
        form = QTextCharFormat()
        form.setAnchor(True)
        form.setAnchorHref(f"{_SCHEME}:{number}")
        form.setForeground(QColor(self._theme.tokens.accent))
        form.setFontUnderline(False)
        form.setToolTip(part_text(self._sources[number]))
        return form

    def _repeat_format(self, number: int) -> QTextCharFormat:
        form = QTextCharFormat()
        form.setUnderlineStyle(QTextCharFormat.UnderlineStyle.DotLine)
        form.setUnderlineColor(QColor(self._theme.tokens.accent))
        form.setToolTip(f"{repeated_words()}: {source_words(self._sources[number])}")
        return form

    def _open(self, url: QUrl) -> None:
        number = url.path()
        if url.scheme() == _SCHEME and number.isdecimal() and int(number) in self._sources:
            self.opened.emit(self._sources[int(number)])


def part_text(source: CitedPart) -> str:
    """Return the tooltip of a part: its place, and its beginning."""
    text = source.part.text
    return f"{source_words(source)}\n\n" + (text if len(text) <= _MOST_LETTERS else f"{text[:_MOST_LETTERS]}…")


def _format(page: MarkdownPage, shown: str, place: Cited, form: QTextCharFormat) -> None:
    cursor = QTextCursor(page.document())
    cursor.setPosition(units(shown, place.start))
    cursor.setPosition(units(shown, place.end), QTextCursor.MoveMode.KeepAnchor)
    cursor.mergeCharFormat(form)


def units(text: str, place: int) -> int:
    """Return a place as Qt counts it: letters beyond 2^16 are two."""
    return place if text.isascii() else len(text[:place].encode("utf-16-le", "surrogatepass")) // 2
