"""Show the card of one token: its origin, its probability, and its alternatives."""

from __future__ import annotations

from math import exp

from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QGridLayout, QLabel, QWidget

from app.state.chat.rounds import Guess
from app.state.chat.trace import TOP, Alternative, TokenRecord
from app.system.translation import number, tr
from app.views.widgets.boxes import in_column, in_grid
from app.views.widgets.theme import RADIUS, Theme, keep_fixed
from app.words.figures import SEPARATOR, UNKNOWN
from engine import Origin

_WIDTH = 264
_AWAY = 6
_LONGEST = 18
"""Characters of a token that are shown."""
_SIGNS = {" ": "␣", "\n": "↵", "\t": "⇥", "\r": "\\r"}


def token_words(token: int, text: str | None) -> str:
    """Return a token for the eye: spaces and line ends as signs, a control token by its number."""
    if text is None:
        return tr("Tokens", "token {token}").format(token=token)
    if not text:
        return tr("Tokens", "control token {token}").format(token=token)
    if len(text) > _LONGEST:
        text = text[: _LONGEST - 1] + "…"
    return "".join(_SIGNS.get(character, character if character.isprintable() else "�") for character in text)


def probability_words(logprob: float | None) -> str:
    """Return a probability of which this is the natural logarithm: 84.1 %."""
    if logprob is None:
        return UNKNOWN
    percent = 100.0 * exp(min(logprob, 0.0))
    if percent < 0.05:
        return f"< {number(0.1, 1)} %"
    return f"{number(percent)} %" if percent >= 99.95 else f"{number(percent, 1)} %"


def origin_words(origin: Origin) -> str:
    """Return a token's origin in a few words."""
    return {
        "accepted": tr("Tokens", "accepted from the draft"),
        "correction": tr("Tokens", "correction by the target"),
        "bonus": tr("Tokens", "bonus by the target"),
        "plain": tr("Tokens", "plain: nothing was proposed"),
        "forced": tr("Tokens", "forced: it ended the thought, or you chose it"),
    }[origin]


def whence(record: TokenRecord) -> str:
    """Return a token's origin: accepted from the draft · round 12."""
    round_words = tr("Tokens", "round {number}").format(number=number(record.round))
    return origin_words(record.origin) + SEPARATOR + round_words


def wanted_words(guess: Guess | None) -> str:
    """Return the draft's guess if the target wrote something else, empty if it is unknown."""
    if guess is None:
        return ""
    word = token_words(guess.token, guess.text)
    if guess.logprob is None:
        return tr("Tokens", "draft wanted “{token}”").format(token=word)
    words = tr("Tokens", "draft wanted “{token}” ({probability})")
    return words.format(token=word, probability=probability_words(guess.logprob))


def describe_token(record: TokenRecord) -> str:
    """Return all of the card in one sentence, for screen readers."""
    name = token_words(record.token, record.text or record.name)
    target = tr("Tokens", "target {probability}").format(probability=probability_words(record.logprob))
    parts = [name, whence(record), target]
    if record.draft_logprob is not None:
        draft = tr("Tokens", "draft {probability}")
        parts.append(draft.format(probability=probability_words(record.draft_logprob)))
    if record.wanted is not None:
        parts.append(wanted_words(record.wanted))
    return ", ".join(parts)


def place_card(card: QWidget, owner: QWidget, place: QRect) -> None:
    """Show a card below a token of the owner, or above it if there is no room, within the window."""
    window, layout = owner.window(), card.layout()
    card.ensurePolished()
    if layout is not None:
        layout.activate()
    height = card.heightForWidth(card.width()) if card.hasHeightForWidth() else card.sizeHint().height()
    card.resize(card.width(), height)
    corner = owner.mapTo(window, place.topLeft())
    x = min(max(corner.x() - 12, _AWAY), window.width() - card.width() - _AWAY)
    y = corner.y() + place.height() + _AWAY
    if y + card.height() > window.height() - _AWAY:
        y = corner.y() - card.height() - _AWAY
    card.move(QPoint(x, max(y, _AWAY)))
    card.show()
    card.raise_()


class ShareBar(QWidget):
    """Draw a small bar, as long as a share 0..1."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._share = 0.0
        self._chosen = False

    def show_share(self, share: float, *, chosen: bool) -> None:
        """Show another share; the chosen one has the accent's colour."""
        self._share, self._chosen = min(max(share, 0.0), 1.0), chosen
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        return QSize(72, 8)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        super().paintEvent(event)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        ground = QRectF(0, self.height() / 2 - 3, self.width(), 6)
        painter.setBrush(self._theme.color("raised"))
        painter.drawRoundedRect(ground, 3, 3)
        if self._share > 0.0:
            ground.setWidth(max(self._share * ground.width(), 2.0))
            painter.setBrush(self._theme.color("accent" if self._chosen else "muted"))
            painter.drawRoundedRect(ground, min(3.0, ground.width() / 2), 3)


class TokenCard(QFrame):
    """Describe a token beside it, over everything else in the window. Created hidden.

    Signal: dismissed() (what it stands beside was scrolled away).
    """

    dismissed = Signal()

    def __init__(self, theme: Theme, owner: QWidget) -> None:
        super().__init__(owner)
        self.setObjectName("tokenCard")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._theme = theme
        self._owner = owner
        self.setFixedWidth(_WIDTH)
        self._build()
        self.hide()

    def _build(self) -> None:
        self.name = QLabel(self)
        keep_fixed(self.name)
        self.name.setObjectName("tokenName")
        self.whence = QLabel(self)
        self.whence.setObjectName("caption")
        layout = self._rows = in_column(self.name, self.whence, spacing=4, margins=(12, 8, 12, 12), parent=self)
        layout.addSpacing(4)
        layout.addLayout(self._make_models())
        self.wanted = QLabel(self)
        self.wanted.setObjectName("caption")
        self.wanted.setWordWrap(True)
        layout.addWidget(self.wanted)
        layout.addSpacing(8)
        self.alternatives_title = QLabel(self.tr("The target's best tokens"), self)
        self.alternatives_title.setObjectName("caption")
        layout.addWidget(self.alternatives_title)
        layout.addLayout(self._make_alternatives())
        hint = QLabel(self.tr("Click or Enter: go on from here"), self)
        hint.setObjectName("caption")
        layout.addSpacing(4)
        layout.addWidget(hint)

    def _make_models(self) -> QGridLayout:
        """Return one line each: in German the names are too long for one."""
        grid = in_grid(across=8, down=2, stretch=1)
        self.target, self.draft = QLabel(self), QLabel(self)
        for row, (word, value) in enumerate(((self.tr("Target"), self.target), (self.tr("Draft"), self.draft))):
            name = QLabel(word, self)
            name.setObjectName("counterName")
            value.setObjectName("counterValue")
            grid.addWidget(name, row, 0)
            grid.addWidget(value, row, 1)
        return grid

    def _make_alternatives(self) -> QGridLayout:
        grid = in_grid(across=8, down=2, stretch=0)
        self.rows: list[tuple[QLabel, ShareBar, QLabel]] = []
        for row in range(TOP):
            name, bar, value = QLabel(self), ShareBar(self._theme, self), QLabel(self)
            keep_fixed(name)
            value.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            value.setMinimumWidth(value.fontMetrics().horizontalAdvance("< 0.1 %"))
            for column, widget in enumerate((name, bar, value)):
                grid.addWidget(widget, row, column)
            self.rows.append((name, bar, value))
        return grid

    def tell(self, record: TokenRecord, place: QRect) -> None:
        """Describe a token that stands in this place of the owner."""
        self.name.setText(token_words(record.token, record.text or record.name))
        self.whence.setText(whence(record))
        self.target.setText(probability_words(record.logprob))
        self.draft.setText(probability_words(record.draft_logprob))
        self.wanted.setText(wanted_words(record.wanted))
        self.wanted.setVisible(record.wanted is not None)
        self.alternatives_title.setVisible(bool(record.alternatives))
        for rank, row in enumerate(self.rows):
            known = rank < len(record.alternatives)
            for widget in row:
                widget.setVisible(known)
            if known:
                self._tell_alternative(row, record.alternatives[rank], chosen=record.token)
        self._move_to(place)

    def _tell_alternative(self, row: tuple[QLabel, ShareBar, QLabel], other: Alternative, *, chosen: int) -> None:
        name, bar, value = row
        name.setText(token_words(other.token, other.text))
        font = name.font()
        font.setBold(other.token == chosen)
        name.setFont(font)
        bar.show_share(exp(min(other.logprob, 0.0)), chosen=other.token == chosen)
        value.setText(probability_words(other.logprob))

    def _move_to(self, place: QRect) -> None:
        if self.parentWidget() is not self._owner.window():
            self.setParent(self._owner.window())
            self._owner.destroyed.connect(self.deleteLater)
            self._watch_scrolling()
        place_card(self, self._owner, place)

    def _watch_scrolling(self) -> None:
        """Dismiss the card when a scroll moves the token away from it."""
        widget = self._owner.parentWidget()
        while widget is not None and not isinstance(widget, QAbstractScrollArea):
            widget = widget.parentWidget()
        if widget is not None:
            widget.verticalScrollBar().valueChanged.connect(self.dismissed)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        super().paintEvent(event)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(self._theme.color("border"))
        painter.setBrush(self._theme.color("surface"))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), RADIUS, RADIUS)
