"""One entry of the transcript: a question with its reply, or a problem."""

from __future__ import annotations

import math

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QEnterEvent, QGuiApplication, QPaintEvent, QResizeEvent, QTextOption
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.state.transcript import Action, Exchange, Problem
from app.views.icons import icon, keep_icon
from app.views.text_views import ReplyText, TallText
from app.views.theme import Theme
from app.views.words import summary

_COPIED_MS = 1_500
_QUESTION_SHARE = 0.85
_SURELY_WIDE = 2_000
"""Characters from which on a question takes all the width it may: laying it out twice would take too long."""
_SHOWN = 20_000
"""Characters of a question that are shown; all of them are sent."""


class ShyButton(QToolButton):
    """A button that is seen only while the mouse is over its row, or while it has the keyboard focus."""

    def __init__(self, row: QWidget) -> None:
        super().__init__(row)
        self._row = row
        row.setAttribute(Qt.WidgetAttribute.WA_Hover)
        row.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Appear and disappear with the mouse."""
        if event.type() in (QEvent.Type.Enter, QEvent.Type.Leave):
            self.update()
        return super().eventFilter(watched, event)

    @property
    def revealed(self) -> bool:
        """Whether it is to be seen."""
        return self.hasFocus() or self._row.underMouse() or self.underMouse()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Paint nothing while it is not to be seen."""
        if self.revealed:
            super().paintEvent(event)


class QuestionBox(QFrame):
    """The user's message: a tinted box, as wide as its text."""

    def __init__(self, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("question")
        self.text = TallText(self)
        self.text.setObjectName("questionText")
        self.text.setAccessibleName(self.tr("Your message"))
        self.text.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.text.setPlainText(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 8, 12, 8)
        layout.addWidget(self.text)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def fit_into(self, width: int) -> None:
        """Be as wide as the text wants, up to this width."""
        wanted = width
        if self.text.document().characterCount() < _SURELY_WIDE:
            document = self.text.document().clone()
            document.setTextWidth(-1)
            wanted = math.ceil(document.idealWidth()) + 2
        self.text.setFixedWidth(max(min(wanted, width - 24), 16))
        self.text.fit()


class ExchangeView(QWidget):
    """A question and the reply to it. Signals: grew() (the reply became taller)."""

    grew = Signal()

    def __init__(self, exchange: Exchange, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.exchange = exchange
        self._theme = theme
        self.question = QuestionBox(exchange.question, self)
        self.reply = ReplyText(theme, self)
        self.reply.setAccessibleName(self.tr("Reply"))
        self.reply.setMinimumHeight(0)
        self.reply.hide()
        self.problem: ProblemView | None = None
        layout = self._rows = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addWidget(self.question, 0, Qt.AlignmentFlag.AlignRight)
        layout.addSpacing(4)
        layout.addWidget(self.reply)
        self._footer = self._make_footer()
        layout.addWidget(self._footer)
        self.reply.grew.connect(self.grew)
        self.reply.settled.connect(self._show_end)

    def _make_footer(self) -> QWidget:
        footer = QWidget(self)
        row = QHBoxLayout(footer)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        self.summary = QLabel(footer)
        self.summary.setObjectName("summary")
        self.summary.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.copy_button = ShyButton(self)
        keep_icon(self.copy_button, self._theme, "copy", "muted")
        self.copy_button.setToolTip(self.tr("Copy the reply"))
        self.copy_button.setAccessibleName(self.tr("Copy the reply"))
        self.copy_button.clicked.connect(self._copy)
        row.addWidget(self.summary)
        row.addWidget(self.copy_button)
        row.addStretch(1)
        footer.hide()
        return footer

    def grow(self, text: str) -> None:
        """More of the reply."""
        self.reply.show()
        self.reply.grow(text)

    def end(self) -> None:
        """The reply has ended, whatever way."""
        if self.exchange.reply:
            self.reply.show()
            self.reply.finish(self.exchange.reply)
        else:
            self._show_end()

    def _show_end(self) -> None:
        if self._footer.isVisibleTo(self):
            return
        self.summary.setText(summary(self.exchange))
        self.copy_button.setVisible(bool(self.exchange.reply))
        self._footer.setVisible(bool(self.summary.text()) or bool(self.exchange.reply))
        self.grew.emit()

    def show_problem(self, view: ProblemView) -> None:
        """Put a problem under the reply."""
        self.problem = view
        self._rows.addWidget(view)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Keep the question within its share of the column."""
        super().resizeEvent(event)
        if event.oldSize().width() != event.size().width():
            self.question.fit_into(int(event.size().width() * _QUESTION_SHARE))

    def enterEvent(self, event: QEnterEvent) -> None:  # noqa: N802 - Qt's name
        """Show the actions."""
        super().enterEvent(event)
        self.copy_button.update()

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.exchange.reply)
        keep_icon(self.copy_button, self._theme, "check", "accent")
        QTimer.singleShot(_COPIED_MS, self.copy_button, self._show_copy_icon)

    def _show_copy_icon(self) -> None:
        keep_icon(self.copy_button, self._theme, "copy", "muted")


class ProblemView(QFrame):
    """What went wrong and what to do. Signal: acted(action)."""

    acted = Signal(str)

    def __init__(self, problem: Problem, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.problem = problem
        self.setObjectName("notice")
        self.setAccessibleName(self.tr("Problem"))
        self._theme = theme
        self._icon = QLabel(self)
        # Not a label: the height that a wrapped label asks for does not know its width.
        self.text = TallText(self)
        self.text.setObjectName("noticeText")
        self.text.setAccessibleName(self.tr("Problem"))
        self.text.setPlainText(problem.text)
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(self.text, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 12, 12, 12)
        layout.setSpacing(8)
        layout.addLayout(row)
        self._add_buttons(layout)
        theme.changed.connect(self._draw_icon)
        self._draw_icon()

    def _add_buttons(self, layout: QVBoxLayout) -> None:
        words: dict[Action, str] = {
            "choose-folder": self.tr("Choose a folder…"),
            "new-chat": self.tr("New chat"),
        }
        row = QHBoxLayout()
        row.setContentsMargins(26, 0, 0, 0)
        row.setSpacing(8)
        action = self.problem.action
        if action is not None:
            button = QPushButton(words[action], self)
            button.clicked.connect(lambda: self.acted.emit(action))
            row.addWidget(button)
        if self.problem.details is not None:
            copy = QPushButton(self.tr("Copy details"), self)
            copy.clicked.connect(self._copy)
            row.addWidget(copy)
        if row.count():
            row.addStretch(1)
            layout.addLayout(row)

    def _draw_icon(self) -> None:
        self._icon.setPixmap(icon(self._theme, "warning-circle", "danger").pixmap(18, 18))

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.problem.details or self.problem.text)
