"""Show a model's thought before its answer: a line that unfolds."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QPushButton, QSizePolicy, QToolButton, QWidget

from app.views.markdown.auto_height_text import take_height
from app.views.markdown.text import MarkdownText
from app.views.widgets.icons import keep_icon
from app.views.widgets.theme import Theme

_INDENT = 14


class ThoughtView(QWidget):
    """Show a thought: open while it is written, then folded.

    Signals: turned() (folded or unfolded), answer_wanted() (the thought is to end now).
    """

    turned = Signal()
    answer_wanted = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None, *, folded: bool = False) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._theme = theme
        self._unread: list[str] = []
        self._live = True
        self._chosen = False
        self.header = QToolButton(self)
        self.header.setObjectName("thoughtHeader")
        self.header.setCheckable(True)
        self.header.setChecked(not folded)
        self.header.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.header.setText(self.tr("Thinking…"))
        self.header.clicked.connect(self._turn)
        self.answer = QPushButton(self.tr("Answer now"), self)
        self.answer.setToolTip(self.tr("End the thought, and let the answer begin"))
        self.answer.setAutoDefault(False)
        self.answer.setVisible(not folded)
        self.answer.clicked.connect(self._answer)
        self.line = QWidget(self)
        self.line.setObjectName("thoughtLine")
        self.line.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.body = MarkdownText(theme, self)
        self.body.page.setAccessibleName(self.tr("Thought"))
        self._show_state()

    @property
    def folded(self) -> bool:
        """Return True if only its header is visible."""
        return not self.header.isChecked()

    @property
    def ended(self) -> bool:
        return not self._live

    @property
    def busy(self) -> bool:
        """Return True if there is text to write. Folded text is written only when it is unfolded."""
        return not self.folded and (bool(self._unread) or self.body.busy)

    @property
    def blocked(self) -> bool:
        """Return True if nothing can be written now: formulas are being set."""
        return self.body.blocked

    @property
    def source(self) -> list[str]:
        return [*self.body.source, *self._unread]

    def feed(self, text: str) -> None:
        self._unread.append(text)

    def end(self, seconds: float | None) -> None:
        """End the thought. `seconds`: its duration, if it was watched."""
        self._live = False
        self.answer.hide()
        if seconds is None:
            self.header.setText(self.tr("Thought"))
        elif seconds < 60:
            self.header.setText(self.tr("Thought for %1 s").replace("%1", f"{max(seconds, 1):.0f}"))
        else:
            minutes, rest = divmod(round(seconds), 60)
            self.header.setText(self.tr("Thought for %1 min %2 s").replace("%1", str(minutes)).replace("%2", str(rest)))
        self.body.end()
        if not self._chosen:
            self.header.setChecked(False)
            self._show_state()

    def step(self) -> None:
        if self._unread:
            self.body.feed("".join(self._unread))
            self._unread = []
        else:
            self.body.step()

    def close_edit(self) -> None:
        """Close the edit while writing pauses."""
        self.body.close_edit()

    def draw_again(self) -> None:
        """Draw the body again: the colours have changed."""
        self.body.draw_again()

    def show_tail(self) -> None:
        """Show the open end."""
        if not self.folded:
            self.body.show_tail()

    def _answer(self) -> None:
        self.answer.setEnabled(False)
        self.answer_wanted.emit()

    def _turn(self) -> None:
        self._chosen = True
        self._show_state()
        self.turned.emit()

    def _show_state(self) -> None:
        keep_icon(self.header, self._theme, "caret-right" if self.folded else "caret-down", "muted")
        self.header.setAccessibleDescription(self.tr("collapsed") if self.folded else self.tr("expanded"))
        self.body.setVisible(not self.folded)
        self.line.setVisible(not self.folded)

    def fit(self) -> None:
        size = self.header.sizeHint()
        self.header.setGeometry(0, 0, min(size.width(), self.width()), size.height())
        height = size.height()
        if self._live and not self.answer.isHidden():
            button = self.answer.sizeHint()
            height = max(height, button.height())
            width = min(button.width(), max(self.width() - size.width() - 8, 0))
            left = min(size.width(), self.width()) + 8
            self.header.move(0, (height - size.height()) // 2)
            self.answer.setGeometry(left, (height - button.height()) // 2, width, button.height())
        if not self.folded:
            self.body.move(_INDENT, height + 4)
            self.body.resize(max(self.width() - _INDENT, 40), self.body.height())
            self.body.fit()
            self.line.setGeometry(4, height + 4, 2, self.body.height())
            height += self.body.height() + 8
        take_height(self, height)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        super().resizeEvent(event)
        if event.oldSize().width() != event.size().width():
            self.fit()

    def to_plain_text(self) -> str:
        return self.header.text() if self.folded else f"{self.header.text()}\n{self.body.to_plain_text()}"
