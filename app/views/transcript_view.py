"""The conversation: a column of entries that follows its end unless the reader has scrolled up."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from app.state.transcript import Entry, Exchange
from app.views.icons import icon_button
from app.views.message_views import ExchangeView, ProblemView
from app.views.theme import Theme

COLUMN = 760
NEAR_END = 24


class TranscriptView(QScrollArea):
    """Shows entries. Signal: acted(action) (a button of a problem)."""

    acted = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("transcript")
        self.setAccessibleName(self.tr("Conversation"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._theme = theme
        self._views: dict[int, ExchangeView] = {}
        self._following = True
        self._build()
        bar = self.verticalScrollBar()
        bar.valueChanged.connect(self._scrolled)
        bar.rangeChanged.connect(self._range_changed)

    def _build(self) -> None:
        page = QWidget()
        page.setObjectName("page")
        self._column = QWidget(page)
        self._column.setObjectName("column")
        self._column.setMaximumWidth(COLUMN)
        self._entries = QVBoxLayout(self._column)
        self._entries.setContentsMargins(0, 0, 0, 0)
        self._entries.setSpacing(32)
        row = QHBoxLayout(page)
        row.setContentsMargins(24, 24, 24, 24)
        row.addStretch(1)
        row.addWidget(self._column, 1000, Qt.AlignmentFlag.AlignTop)
        row.addStretch(1)
        self.setWidget(page)
        self.jump_button = icon_button(self._theme, "arrow-down", self.tr("Jump to the end"), self)
        self.jump_button.setObjectName("jump")
        self.jump_button.setFixedSize(QSize(34, 34))
        self.jump_button.clicked.connect(self.jump_to_end)
        self.jump_button.hide()

    @property
    def following(self) -> bool:
        """Whether the view stays at the end as the reply grows."""
        return self._following

    def add(self, entry: Entry) -> None:
        """Show another entry, and go to the end."""
        if isinstance(entry, Exchange):
            view = ExchangeView(entry, self._theme, self._column)
            view.grew.connect(self._follow)
            self._views[id(entry)] = view
            self._entries.addWidget(view)
        else:
            self._entries.addWidget(self._problem_view(entry.problem))
        self.jump_to_end()

    def view_of(self, exchange: Exchange) -> ExchangeView | None:
        """The view of an exchange, if it is (still) shown."""
        return self._views.get(id(exchange))

    def grow(self, exchange: Exchange, text: str) -> None:
        """More of a reply."""
        view = self.view_of(exchange)
        if view is not None:
            view.grow(text)

    def end(self, exchange: Exchange) -> None:
        """A reply has ended."""
        view = self.view_of(exchange)
        if view is None:
            return
        if exchange.problem is not None:
            view.show_problem(self._problem_view(exchange.problem))
        view.end()
        self._follow()

    def clear(self) -> None:
        """Show an empty chat."""
        self._views.clear()
        while (item := self._entries.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        self._following = True
        self.jump_button.hide()

    def jump_to_end(self) -> None:
        """Go to the end and stay there."""
        self._following = True
        self._follow()
        self._show_jump()

    def _problem_view(self, problem: object) -> ProblemView:
        view = ProblemView(problem, self._theme, self._column)  # type: ignore[arg-type]
        view.acted.connect(self.acted)
        return view

    # Following --------------------------------------------------------------------------------------------------------

    def _follow(self) -> None:
        if self._following:
            bar = self.verticalScrollBar()
            bar.setValue(bar.maximum())

    def _range_changed(self) -> None:
        self._follow()
        self._show_jump()

    def _scrolled(self, value: int) -> None:
        self._following = value >= self.verticalScrollBar().maximum() - NEAR_END
        self._show_jump()

    def _show_jump(self) -> None:
        wanted = not self._following and bool(self._entries.count())
        if wanted != self.jump_button.isVisibleTo(self):
            self.jump_button.setVisible(wanted)
            self.jump_button.raise_()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Keep the jump button in its place, and the end in view."""
        super().resizeEvent(event)
        area = self.viewport().geometry()
        button = self.jump_button
        button.move(area.center().x() - button.width() // 2, area.bottom() - button.height() - 12)
        self._follow()
