"""Show a document at the place of a part: its text, and of a PDF file the page as a picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtGui import QColor, QPixmap, QShowEvent, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QLabel, QPlainTextEdit, QPushButton, QScrollArea, QSplitter, QTextEdit, QWidget

from app.state.chat.citations import CitedPart
from app.views.widgets.boxes import in_column, in_row, wide
from app.views.widgets.icons import icon_button
from app.views.widgets.keys import Dialog
from app.views.widgets.theme import Theme
from app.words.documents import place_words, reader_title
from engine import Document, Section

_SIZE, _WITH_PICTURE = QSize(620, 560), QSize(1_040, 700)
_LEAST_WIDTH = 380
_LONGEST_SOUGHT = 200
"""Characters of a line by which it is found."""

Draw = Callable[[int, int, Callable[[bytes | None], None]], None]
"""Draws a page: its number, the width in pixels, and the receiver of the picture."""


class Reader(Dialog):
    """Show a document page by page, or section by section. `draw` None: its pages cannot be shown as pictures.

    Without a `document` (it is not kept any more) the part alone is shown.
    """

    def __init__(
        self,
        source: CitedPart,
        document: Document | None,
        draw: Draw | None,
        theme: Theme,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("reader")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._theme = theme
        self._source = source
        self._places = _places(source, document)
        self._pages = 0 if document is None else document.pages
        self._place = _place_of(source, self._places)
        self._draw = draw
        self._alive = [True]
        self._wanted = object()
        alive = self._alive
        self.destroyed.connect(alive.clear)
        self.title = QLabel(self)
        self.title.setObjectName("panelTitle")
        self.title.setWordWrap(True)
        self.back = icon_button(theme, "caret-left", self.tr("Back"), self)
        self.forward = icon_button(theme, "caret-right", self.tr("Forward"), self)
        self.text = QPlainTextEdit(self)
        self.text.setReadOnly(True)
        self.text.setTabChangesFocus(True)
        self.text.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.page = QLabel(self)
        self.page.setAlignment(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop)
        self.area = QScrollArea(self)
        self.area.setWidgetResizable(True)
        self.area.setWidget(self.page)
        self.area.setVisible(draw is not None)
        self.close_button = QPushButton(self.tr("Close"), self)
        self._lay_out()
        self.back.clicked.connect(lambda: self._turn(-1))
        self.forward.clicked.connect(lambda: self._turn(1))
        self.close_button.clicked.connect(self.close)
        theme.changed.connect(self._mark)
        self.resize(_SIZE if draw is None else _WITH_PICTURE)
        self._show()
        self.text.setFocus()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        """Redraw the page at the present width."""
        super().showEvent(event)
        QTimer.singleShot(0, self, lambda: self._show_picture(self.place))

    def _lay_out(self) -> None:
        head = in_row(wide(self.title), self.back, self.forward, spacing=8)
        split = QSplitter(self)
        split.setChildrenCollapsible(False)
        split.addWidget(self.area)
        split.addWidget(self.text)
        split.setStretchFactor(0, 1)
        split.setStretchFactor(1, 1)
        self.area.setMinimumWidth(_LEAST_WIDTH)
        split.setSizes([_WITH_PICTURE.width() // 2] * 2)
        foot = in_row(..., self.close_button)
        in_column(head, wide(split), foot, margins=(16, 16, 16, 16), spacing=12, parent=self)

    @property
    def place(self) -> str:
        """Return the place that is shown, as the document calls it: "page 3"."""
        return self._places[self._place][0]

    def _turn(self, step: int) -> None:
        self._place = min(max(self._place + step, 0), len(self._places) - 1)
        self._show()

    def _show(self) -> None:
        place, texts = self._places[self._place]
        title = reader_title(self._source.name, place, self._pages)
        self.setWindowTitle(title)
        self.title.setText(title)
        self.back.setEnabled(self._place > 0)
        self.forward.setEnabled(self._place < len(self._places) - 1)
        self.text.setPlainText("\n\n".join(texts))
        self.text.setAccessibleName(title)
        self.page.setAccessibleName(place_words(place))
        self._mark()
        if self.isVisible():
            self._show_picture(place)

    def _show_picture(self, place: str) -> None:
        number = place.rpartition(" ")[2]
        if self._draw is None or not place.startswith("page ") or not number.isdecimal():
            return
        wanted, alive = object(), self._alive
        self._wanted = wanted
        self.page.setText(self.tr("reading…"))  # The page before would stand beside other words.
        ratio = self.devicePixelRatioF()
        width = max(self.area.viewport().width() - 24, _LEAST_WIDTH)

        def shown(data: bytes | None) -> None:
            if not alive or wanted is not self._wanted:
                return
            picture = QPixmap()
            if data is None or not picture.loadFromData(data, "PNG"):
                self.page.setText(self.tr("This page cannot be shown as a picture."))
                return
            picture.setDevicePixelRatio(ratio)
            self.page.setPixmap(picture)

        self._draw(int(number), round(width * ratio), shown)

    def _mark(self) -> None:
        """Mark the part that was cited, and bring it into sight."""
        marks = []
        start = 0
        for line in filter(str.strip, self._source.part.text.split("\n")):
            found = self.text.document().find(line.strip()[:_LONGEST_SOUGHT], start)
            if found.isNull():
                continue
            start = found.selectionEnd()
            cursor = QTextCursor(found)
            cursor.setPosition(found.selectionStart())
            cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
            mark = QTextEdit.ExtraSelection()
            form = QTextCharFormat()
            form.setBackground(QColor(self._theme.tokens.accepted))
            mark.cursor, mark.format = cursor, form
            marks.append(mark)
        self.text.setExtraSelections(marks)
        if marks:
            first = QTextCursor(marks[0].cursor)
            first.setPosition(first.selectionStart())
            self.text.setTextCursor(first)
            self.text.ensureCursorVisible()


def _places(source: CitedPart, document: Document | None) -> list[tuple[str, list[str]]]:
    """Return the places of a document in their order, each with its texts; of one that is gone the part alone."""
    if document is None:
        return [(source.place, [source.part.text])]
    places: dict[str, list[str]] = {}
    for section in document.sections:
        places.setdefault(_name(section), []).append(section.text)
    return list(places.items())


def _name(section: Section) -> str:
    return f"{section.place} {section.at}".strip()


def _place_of(source: CitedPart, places: Sequence[tuple[str, list[str]]]) -> int:
    """Find a part: at the place that it names, and where several have that name, where its text is."""
    named = [at for at, (place, _) in enumerate(places) if place == source.place]
    return next((at for at in named or range(len(places)) if _holds(places[at][1], source)), next(iter(named), 0))


def _holds(texts: Sequence[str], source: CitedPart) -> bool:
    """Return True if the part stands in these texts: its first line does; its cut does not matter."""
    first = source.part.text.strip().split("\n", 1)[0].strip()
    return any(first in text for text in texts)
