"""Colour the tokens of a reply, and show a legend that counts them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from PySide6.QtCore import QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QMenu, QSizePolicy, QStyle, QToolButton, QWidget

from app.state.chat.trace import ORIGINS, TokenTrace
from app.state.chat.unsure import BOUNDS, Doubt, doubt_of, least_sure
from app.system.translation import number, tr
from app.views.markdown.reply import ReplyView
from app.views.tokens.card import probability_words, token_words
from app.views.tokens.layer import TokenLayer
from app.views.tokens.painter import DOUBT_LOOKS, ORIGIN_LOOKS, Look, paint_token
from app.views.widgets.boxes import in_column, in_row
from app.views.widgets.icons import icon_button
from app.views.widgets.theme import Theme
from engine import Origin

_GAP = 12
_RARE = ("plain", "forced")
"""Origins that most replies do not have, and that have no colour."""
_PAD = 5


def _word(origin: Origin) -> str:
    return {
        "accepted": tr("Tokens", "accepted"),
        "correction": tr("Tokens", "correction"),
        "bonus": tr("Tokens", "bonus"),
        "plain": tr("Tokens", "plain"),
        "forced": tr("Tokens", "forced"),
    }[origin]


def _doubts() -> tuple[tuple[Doubt, str], ...]:
    """Describe the target's doubt about a token, by the probability that it gave it."""
    low, middle, high = (number(100 * bound) for bound in BOUNDS)
    between = tr("Tokens", "{low} to {high} %")
    return (
        ("most unsure", tr("Tokens", "below {high} %").format(high=low)),
        ("more unsure", between.format(low=low, high=middle)),
        ("unsure", between.format(low=middle, high=high)),
    )


class LegendChip(NamedTuple):
    """Hold an entry of the legend: a word on a colour as `look` says, and the number of tokens behind it."""

    word: str
    look: Look
    tokens: int


class TokenLegend(QWidget):
    """Explain the colours and count their tokens, in as many lines as the width requires."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.chips: list[LegendChip] = []
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)
        self.show_counts({})

    def show_counts(self, counts: Mapping[Origin, int]) -> None:
        """Count these origins. Plain and forced tokens are left out where there are none."""
        shown = [origin for origin in ORIGINS if origin not in _RARE or counts.get(origin)]
        self.show_chips([LegendChip(_word(origin), ORIGIN_LOOKS[origin], counts.get(origin, 0)) for origin in shown])

    def show_chips(self, chips: Sequence[LegendChip]) -> None:
        if chips == self.chips:
            return
        self.chips = [*chips]
        self.setAccessibleName(", ".join(f"{chip.word} {number(chip.tokens)}" for chip in chips))
        self._fit()
        self.update()

    def _line_height(self) -> int:
        return self.fontMetrics().height() + 6

    def _places(self) -> list[tuple[LegendChip, QRect, str]]:
        """Return each chip's place, and the number behind it."""
        found: list[tuple[LegendChip, QRect, str]] = []
        metrics, height = self.fontMetrics(), self._line_height()
        x = y = 0
        for chip in self.chips:
            figure = number(chip.tokens)
            width = metrics.horizontalAdvance(chip.word) + 2 * _PAD
            whole = width + _PAD + metrics.horizontalAdvance(figure)
            if x and x + whole > self.width():
                x, y = 0, y + height
            found.append((chip, QRect(x, y, width, height - 4), figure))
            x += whole + _GAP
        return found

    def _fit(self) -> None:
        chips = self._places()
        height = chips[-1][1].top() + self._line_height() if chips else self._line_height()
        if height != self.height() or self.minimumHeight() != height:
            self.setFixedHeight(height)

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        return QSize(240, self.minimumHeight())

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Fit the number of lines to another width."""
        super().resizeEvent(event)
        self._fit()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        super().paintEvent(event)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        metrics, theme = self.fontMetrics(), self._theme
        for chip, place, figure in self._places():
            rect = QStyle.visualRect(self.layoutDirection(), self.rect(), place)
            baseline = rect.top() + (rect.height() + metrics.ascent() - metrics.descent()) / 2
            color = theme.color(chip.look.color) if chip.look.color else QColor(0, 0, 0, 0)
            paint_token(painter, QRectF(rect), baseline, color, chip.look.underline, theme.color("muted"))
            painter.setPen(theme.color("text"))
            painter.drawText(rect.left() + _PAD, round(baseline), chip.word)
            painter.setPen(theme.color("muted"))
            mirrored = self.layoutDirection() == Qt.LayoutDirection.RightToLeft
            x = rect.left() - _PAD - metrics.horizontalAdvance(figure) if mirrored else rect.right() + 1 + _PAD
            painter.drawText(x, round(baseline), figure)


class UnsurePlaces(QWidget):
    """Step through the places of a reply of which the target was least sure. Signal: wanted(index of a token)."""

    wanted = Signal(int)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._trace = TokenTrace()
        self._places: list[int] = []
        self._at: int | None = None
        self.back = icon_button(theme, "caret-up", self.tr("Previous unsure place"), self)
        self.on = icon_button(theme, "caret-down", self.tr("Next unsure place"), self)
        self.list = QToolButton(self)
        self.list.setObjectName("unsurePlaces")
        self.list.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.list.setToolTip(self.tr("The places of which the target was least sure"))
        self._menu = QMenu(self)
        self._menu.aboutToShow.connect(self._fill)
        self.list.setMenu(self._menu)
        self.back.clicked.connect(lambda: self.step(-1))
        self.on.clicked.connect(lambda: self.step(1))
        row = in_row(spacing=4, margins=(0, 0, 0, 0), parent=self)
        for part in (self.list, self.back, self.on):
            row.addWidget(part)
        row.addStretch(1)

    def follow(self, trace: TokenTrace) -> None:
        places = least_sure(trace)
        if places != self._places:
            self._at = None
        self._trace, self._places = trace, places
        self._tell()

    def step(self, by: int) -> None:
        """Step so many places on, from the last to the first too."""
        if self._places:
            self._go((self._at if self._at is not None else -1 if by > 0 else 0) + by)

    def _go(self, place: int) -> None:
        self._at = place % len(self._places)
        self._tell()
        self.wanted.emit(self._places[self._at])

    def _tell(self) -> None:
        count = len(self._places)
        words = self.tr("Least sure: {count}") if self._at is None else self.tr("Least sure: {place} of {count}")
        self.list.setText(words.format(place=number((self._at or 0) + 1), count=number(count)))
        for button in (self.back, self.on, self.list):
            button.setVisible(bool(count))

    def _fill(self) -> None:
        self._menu.clear()
        for place, index in enumerate(self._places):
            record = self._trace[index]
            words = f"{probability_words(record.logprob)}   {token_words(record.token, record.text)}"
            action = self._menu.addAction(words.replace("&", "&&"))
            action.triggered.connect(lambda _checked=False, at=place: self._go(at))


class TokenReply(QWidget):
    """Colour the tokens of a reply where it stands, and show the legend below it. A reply without a record says so.

    Attributes: layer (the TokenLayer), legend, note, places (of which the target was unsure), switch (what the colours
    mean). Signal: doubt_wanted(whether they are to tell how sure the target was).
    """

    doubt_wanted = Signal(bool)

    def __init__(self, reply: ReplyView, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.layer = TokenLayer(reply, theme)
        self._doubt = False
        self.places = UnsurePlaces(theme, self)
        self.places.wanted.connect(self.layer.go)
        self.places.hide()
        self.switch = icon_button(theme, "text-underline", self.tr("Mark where the model was unsure"), self)
        self.switch.setCheckable(True)
        self.switch.clicked.connect(self.doubt_wanted)
        self.legend = TokenLegend(theme, self)
        self.note = QLabel(self.tr("There is no token record for this reply."), self)
        self.note.setObjectName("summary")
        self.note.hide()
        layout = in_column(self.note, spacing=8, margins=(0, 4, 0, 0), parent=self)
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(self.legend, 1, Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(self.places)
        row.addWidget(self.switch)
        layout.addLayout(row)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    @property
    def trace(self) -> TokenTrace:
        return self.layer.trace

    def follow(self, trace: TokenTrace | None, reply: str, shown: str) -> None:
        """Show the record of a reply, of which this is shown, as far as they are there."""
        self.layer.follow(trace if trace is not None else TokenTrace(), reply, shown)
        self._tell()

    def mark_doubt(self, on: bool) -> None:
        """Colour tokens by the target's certainty, or else by their origin."""
        self._doubt = on
        self.layer.mark_doubt(on)
        self.switch.setChecked(on)
        self.places.setVisible(on and not self.switch.isHidden())
        self._tell()

    def _tell(self) -> None:
        if not self._doubt:
            self.legend.show_counts(self.trace.counts)
            return
        self.places.follow(self.trace)
        found = Counter(doubt_of(self.trace, index) for index in range(len(self.trace)))
        self.legend.show_chips([LegendChip(word, DOUBT_LOOKS[doubt], found[doubt]) for doubt, word in _doubts()])

    def finish(self) -> None:
        """Show the legend if there is a record, else a note: the reply is complete."""
        has_record = bool(len(self.layer.trace))
        self.note.setVisible(not has_record)
        for part in (self.legend, self.switch):
            part.setVisible(has_record)
        self.places.setVisible(has_record and self._doubt)

    def end(self) -> None:
        self.layer.end()
        self.hide()
        self.deleteLater()
