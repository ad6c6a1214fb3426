"""Show pages that scroll: parts of dialogs that may be too tall, and pages in the conversation's place."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QScrollArea, QWidget


class ScrollPage(QScrollArea):
    """Show a page as wide as its place, which scrolls up and down only. Tab skips it to its contents."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)


class ColumnPage(ScrollPage):
    """Fill the place of the conversation: a column in the middle, which is no wider than `width`.

    Attribute: column, the widget that is to be filled.
    """

    def __init__(self, width: int, margins: tuple[int, int], parent: QWidget | None = None) -> None:
        """Build the page. `margins`: at the sides, and above and below."""
        super().__init__(parent)
        self.setObjectName("transcript")
        page = QWidget()
        page.setObjectName("page")
        self.column = QWidget(page)
        self.column.setObjectName("column")
        self.column.setMaximumWidth(width)
        row = QHBoxLayout(page)
        row.setContentsMargins(*margins, *margins)
        row.addStretch(1)
        row.addWidget(self.column, 1000)
        row.addStretch(1)
        self.setWidget(page)

    def _label(self, text: str, name: str, *, centre: bool = False) -> QLabel:
        label = QLabel(text, self.column)
        label.setObjectName(name)
        label.setWordWrap(True)
        if centre:
            label.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        return label
