"""Show a file that went with a question: a line with its name, which unfolds."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QSizePolicy, QToolButton, QVBoxLayout, QWidget

from app.state.chat.attachments import Attachment
from app.views.markdown.auto_height_text import AutoHeightText
from app.views.widgets.icons import keep_icon
from app.views.widgets.theme import Theme, fixed_font
from app.words.documents import parts_words
from app.words.figures import SEPARATOR, lines
from engine.host import read_quoted

SHOWN = 20_000
"""Characters of a file that are shown; all of them were sent."""


class QuotedFile(QWidget):
    """Show a quoted file, folded at first. Signal: turned() (folded or unfolded)."""

    turned = Signal()

    def __init__(self, attachment: Attachment, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._file = attachment
        self._theme = theme
        parts = read_quoted(attachment.text)
        self._count = parts_words(len(parts)) if parts else lines(attachment.text.count("\n") + 1)
        self.body: AutoHeightText | None = None
        self.header = QToolButton(self)
        self.header.setObjectName("thoughtHeader")
        self.header.setCheckable(True)
        self.header.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.header.setAccessibleName(
            self.tr("Attached file {name}").format(name=attachment.name) + SEPARATOR + self._count
        )
        self.header.setToolTip(attachment.name)
        self.header.clicked.connect(self._turn)
        self._rows = QVBoxLayout(self)
        self._rows.setContentsMargins(0, 0, 0, 0)
        self._rows.setSpacing(4)
        self._rows.addWidget(self.header, 0, Qt.AlignmentFlag.AlignLeading)
        self._show_state()

    @property
    def folded(self) -> bool:
        """Return True if only its name is visible."""
        return not self.header.isChecked()

    def wanted(self, width: int) -> int:
        """Return its preferred width, at most this one."""
        return width if not self.folded else min(self._header_size().width(), width)

    def fit_into(self, width: int) -> None:
        """Fit into this width."""
        size = self._header_size()
        metrics = self.header.fontMetrics()
        over = size.width() - width
        name = self._file.name
        if over > 0:
            room = max(metrics.horizontalAdvance(name) - over - 8, 40)
            name = metrics.elidedText(name, Qt.TextElideMode.ElideMiddle, room)
        self.header.setText(self._words(name))
        self.setFixedWidth(width)
        height = size.height()
        if self.body is not None and not self.folded:
            self.body.setFont(fixed_font())
            self.body.setFixedWidth(width)
            self.body.fit()
            height += self.body.height() + self._rows.spacing()
        self.setFixedHeight(height)

    def _words(self, name: str) -> str:
        return (name + SEPARATOR + self._count).replace("&", "&&")

    def _header_size(self) -> QSize:
        self.header.setText(self._words(self._file.name))
        return self.header.sizeHint()

    def _turn(self) -> None:
        if self.body is None:
            self.body = self._make_body()
        self.body.setVisible(not self.folded)
        self._show_state()
        self.turned.emit()

    def _make_body(self) -> AutoHeightText:
        body = AutoHeightText(self)
        body.setObjectName("questionText")
        body.setAccessibleName(self._file.name)
        body.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        body.setFont(fixed_font())
        text = self._file.text
        body.setPlainText(text if len(text) <= SHOWN else f"{text[:SHOWN]}…")
        self._rows.addWidget(body)
        return body

    def _show_state(self) -> None:
        right = self.layoutDirection() == Qt.LayoutDirection.RightToLeft
        aside = "caret-left" if right else "caret-right"
        keep_icon(self.header, self._theme, aside if self.folded else "caret-down", "muted")
        self.header.setAccessibleDescription(self.tr("collapsed") if self.folded else self.tr("expanded"))
