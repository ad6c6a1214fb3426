"""Continue a reply from a token: with one of its alternatives, or with the reader's words."""

from __future__ import annotations

from math import exp

from PySide6.QtCore import QEvent, QRect, QRectF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QApplication,
    QButtonGroup,
    QFrame,
    QGridLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QRadioButton,
    QWidget,
)

from app.state.chat.trace import TokenRecord
from app.views.tokens.card import ShareBar, place_card, probability_words, token_words
from app.views.widgets.boxes import in_column, in_grid
from app.views.widgets.keys import keeps_escape
from app.views.widgets.theme import RADIUS, Theme, keep_fixed

_WIDTH = 320
_MOST = 2_000
"""Characters of one's own words: more is a message."""


class RoadCard(QFrame):
    """Offer alternatives to a token. It closes when something else gets the keys, and on Escape.

    Signals: wanted(token id or words), closed().
    """

    wanted = Signal(object)
    closed = Signal()

    def __init__(self, record: TokenRecord, theme: Theme, owner: QWidget) -> None:
        super().__init__(owner.window())
        self.setObjectName("roadCard")
        self._theme = theme
        self._owner = owner
        self._back: QWidget | None = None
        self.setFixedWidth(round(_WIDTH * theme.scale))
        self.setAccessibleName(self.tr("Go on from here"))
        self.choices: list[tuple[QRadioButton, int]] = []
        self._group = QButtonGroup(self)
        self._build(record)
        self._choose_first(record)
        app = QApplication.instance()
        if isinstance(app, QApplication):
            app.focusChanged.connect(self._follow_focus)
        owner.destroyed.connect(self.deleteLater)

    def _build(self, record: TokenRecord) -> None:
        token = token_words(record.token, record.text or record.name)
        title = QLabel(self.tr("In the place of “{token}”").format(token=token), self)
        title.setTextFormat(Qt.TextFormat.PlainText)
        said = self.tr("What stands before it is kept. From there a new version is written beside this one.")
        caption = QLabel(said, self)
        caption.setObjectName("caption")
        caption.setWordWrap(True)
        self.own = QRadioButton(self.tr("Own words"), self)
        self.words = QLineEdit(self)
        self.words.setMaxLength(_MOST)
        self.words.setAccessibleName(self.tr("Own words in the place of the token"))
        self.words.setPlaceholderText(self.tr("what the reply is to say here"))
        self.words.textEdited.connect(self._typed)
        self.go = QPushButton(self.tr("Go on from here"), self)
        self.go.setObjectName("primary")
        self.go.clicked.connect(self._go)
        layout = in_column(spacing=8, margins=(12, 8, 12, 12), parent=self)
        for part in (title, caption):
            layout.addWidget(part)
        layout.addLayout(self._make_choices(record))
        layout.addWidget(self.own)
        layout.addWidget(self.words)
        layout.addWidget(self.go, 0, Qt.AlignmentFlag.AlignRight)
        self._group.addButton(self.own)
        self.own.toggled.connect(self._own_chosen)

    def _make_choices(self, record: TokenRecord) -> QGridLayout:
        grid = in_grid(across=8, down=2, stretch=0)
        known = [other for other in record.alternatives if other.text is not None]
        for row, other in enumerate(known):
            name = token_words(other.token, other.text)
            choice, bar = QRadioButton(name.replace("&", "&&"), self), ShareBar(self._theme, self)
            keep_fixed(choice)
            value = QLabel(probability_words(other.logprob), self)
            value.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            choice.setAccessibleName(f"{name}, {value.text()}")
            bar.show_share(exp(min(other.logprob, 0.0)), chosen=other.token == record.token)
            for column, widget in enumerate((choice, bar, value)):
                grid.addWidget(widget, row, column)
            self._group.addButton(choice)
            self.choices.append((choice, other.token))
        return grid

    def _choose_first(self, record: TokenRecord) -> None:
        """Select the best alternative that was not taken; the reader's own words if there is none."""
        others = [choice for choice, token in self.choices if token != record.token]
        (others or [choice for choice, _ in self.choices] or [self.own])[0].setChecked(True)

    def _typed(self) -> None:
        self.own.setChecked(True)
        self._own_chosen()

    def _own_chosen(self) -> None:
        self.go.setEnabled(not self.own.isChecked() or bool(self.words.text().strip()))

    def _go(self) -> None:
        if not self.go.isEnabled():
            return
        chosen = next((token for choice, token in self.choices if choice.isChecked()), None)
        given: object = self.words.text() if chosen is None else chosen
        self.close_card()
        self.wanted.emit(given)

    # On the screen ----------------------------------------------------------------------------------------------------

    def show_at(self, place: QRect, page: QWidget, *, by_keys: bool) -> None:
        """Show the card beside the token in this place of the owner, which `page` shows. `by_keys`: take the keys."""
        place_card(self, self._owner, place)
        self._back = page
        if by_keys:
            next((choice for choice in self._group.buttons() if choice.isChecked()), self.own).setFocus()

    def close_card(self) -> None:
        """Close the card, and give the keys back."""
        focus = QApplication.focusWidget()
        inside = focus is not None and self.isAncestorOf(focus)
        back, self._back = self._back, None
        if self.isHidden():
            return
        self.hide()
        self.closed.emit()
        if inside and back is not None and back.isVisible():
            back.setFocus(Qt.FocusReason.OtherFocusReason)
        self.deleteLater()

    def _follow_focus(self, _old: QWidget | None, new: QWidget | None) -> None:
        if new is not None and new is not self._back and self.isVisible() and not self.isAncestorOf(new):
            self._back = None
            self.close_card()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Continue on Enter, and close on Escape."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._go()
        elif event.key() == Qt.Key.Key_Escape:
            self.close_card()
        else:
            super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        """Keep Escape from the window."""
        return (isinstance(event, QKeyEvent) and keeps_escape(event)) or super().event(event)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        super().paintEvent(event)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(self._theme.color("border"))
        painter.setBrush(self._theme.color("surface"))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), RADIUS, RADIUS)
