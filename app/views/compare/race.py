"""Show a race: two columns that write the same text, each with its clock, and pictures of it to give away."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QFont, QFontMetricsF, QImage, QPainter, QPaintEvent, QTextLayout, QTextOption
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QSizePolicy, QWidget

from app.state.compare.animation import HOLD_MS, Frame
from app.state.compare.race import Race
from app.views.widgets.boxes import in_column
from app.views.widgets.theme import RADIUS, Theme
from app.words.compare import clock_words, race_words

_LINES = 7
"""Lines of text that are seen of each column."""
_PAD = 12.0
_SLACK = 0.05
"""The tolerance, in lines: heights are rounded to whole pixels."""
_FRAME_MS = 33
_PICTURE = QSize(1000, 430)
_PICTURE_PIXELS = 15
"""Height of the letters in a picture that is given away."""


class RaceField(QWidget):
    """Paint the columns at a moment; `seconds` None: the text so far. Attributes: race, names."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.race = Race()
        self.names = ("", "")
        self.sampled = False
        self.seconds: float | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.updateGeometry)

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        metrics = QFontMetricsF(self.font())
        return QSize(560, round(_head(metrics) + _LINES * metrics.lineSpacing() + 2 * _PAD))

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        return QSize(280, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        super().paintEvent(event)
        painter = QPainter(self)
        self.paint(painter, QRectF(self.rect()), self.seconds, self.font())
        painter.end()

    def paint(self, painter: QPainter, place: QRectF, seconds: float | None, font: QFont) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        wide = (place.width() - _PAD) / 2
        for lane in range(2):
            left = place.left() + (lane if not self._mirrored else 1 - lane) * (wide + _PAD)
            column = QRectF(left, place.top(), wide, place.height())
            self._paint_lane(painter, column.adjusted(0.5, 0.5, -0.5, -0.5), lane, seconds, font)

    @property
    def _mirrored(self) -> bool:
        return self.layoutDirection() == Qt.LayoutDirection.RightToLeft

    def _paint_lane(self, painter: QPainter, place: QRectF, number: int, seconds: float | None, font: QFont) -> None:
        theme, lane = self._theme, self.race.lanes[number]
        painter.setPen(theme.color("border"))
        painter.setBrush(theme.color("surface"))
        painter.drawRoundedRect(place, RADIUS, RADIUS)
        metrics = QFontMetricsF(font)
        inner = place.adjusted(_PAD, _PAD, -_PAD, -_PAD)
        painter.setFont(font)
        painter.setPen(theme.color("muted"))
        head = QRectF(inner.left(), inner.top(), inner.width(), _head(metrics) - _PAD / 2)
        large = _large(font)
        clock = clock_words(lane.clock(seconds))
        room = QFontMetricsF(large).horizontalAdvance(clock) + _PAD
        name = metrics.elidedText(self.names[number], Qt.TextElideMode.ElideRight, inner.width() - room)
        painter.drawText(head, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, name)
        ended = self.race.over and (seconds is None or seconds >= self.race.seconds)
        first = ended and self.race.faster == number
        painter.setPen(theme.color("accent" if first else "text"))
        painter.setFont(large)
        painter.drawText(head, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, clock)
        painter.setFont(font)
        painter.setPen(theme.color("text"))
        self._paint_text(painter, inner.adjusted(0, _head(metrics), 0, 0), lane.text(seconds).strip())

    def _paint_text(self, painter: QPainter, place: QRectF, text: str) -> None:
        """Paint the text, its last lines where not all of it fits."""
        layout = QTextLayout(text.replace("\n", "\N{LINE SEPARATOR}"), painter.font())
        option = QTextOption()
        option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        layout.setTextOption(option)
        layout.beginLayout()
        lines = []
        while (line := layout.createLine()).isValid():
            line.setLineWidth(place.width())
            lines.append(line)
        layout.endLayout()
        spacing = QFontMetricsF(painter.font()).lineSpacing()
        for number, line in enumerate(lines[-max(int(place.height() / spacing + _SLACK), 1) :]):
            line.setPosition(QPointF(0.0, number * spacing))
            line.draw(painter, place.topLeft())

    @property
    def picture_size(self) -> tuple[int, int]:
        """Return the width and height of the pictures."""
        return _PICTURE.width(), _PICTURE.height()

    def picture(self, seconds: float | None, title: str) -> QImage:
        """Return the race at a moment as a picture to share, with the outcome below once it is known."""
        image = QImage(_PICTURE, QImage.Format.Format_RGB888)
        image.fill(self._theme.color("background"))
        font = QFont(self.font())
        font.setPixelSize(_PICTURE_PIXELS)
        painter = QPainter(image)
        painter.setRenderHint(QPainter.RenderHint.TextAntialiasing)
        whole = QRectF(image.rect()).adjusted(24, 16, -24, -16)
        metrics = QFontMetricsF(font)
        painter.setFont(font)
        painter.setPen(self._theme.color("muted"))
        line = QRectF(whole.left(), whole.top(), whole.width(), metrics.height() + 8)
        words = metrics.elidedText(title, Qt.TextElideMode.ElideRight, whole.width())
        painter.drawText(line, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, words)
        bottom = 2.4 * metrics.height()
        self.paint(painter, whole.adjusted(0, line.height() + 4, 0, -bottom), seconds, font)
        if self.race.over and (seconds is None or seconds >= self.race.seconds):
            painter.setFont(_large(font))
            painter.setPen(self._theme.color("text"))
            below = QRectF(whole.left(), whole.bottom() - bottom, whole.width(), bottom)
            words = race_words(self.race, sampled=self.sampled)
            painter.drawText(below, Qt.AlignmentFlag.AlignCenter, words)
        painter.end()
        return image

    def frames(self, title: str) -> Iterator[Frame]:
        """Return the frames of an animation, each as long as it was seen."""
        moments = self.race.moments()
        for now, following in zip(moments, [*moments[1:], None], strict=True):
            image = self.picture(now, title)
            shown = HOLD_MS if following is None else round(1000.0 * (following - now))
            line, wide = image.bytesPerLine(), 3 * image.width()
            whole = bytes(image.constBits())
            packed = b"".join(whole[row * line : row * line + wide] for row in range(image.height()))
            yield Frame(packed, shown)


class RaceView(QWidget):
    """Show a race as it is run, then both side by side, then the outcome; offer it again, and as a picture.

    Attribute: field. Signals: picture_wanted(), animation_wanted().
    """

    picture_wanted = Signal()
    animation_wanted = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.field = RaceField(theme, self)
        self.outcome = QLabel(self)
        self.outcome.setObjectName("verdict")
        self.outcome.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.again = QPushButton(self.tr("Watch again"), self)
        self.picture = QPushButton(self.tr("Save picture…"), self)
        self.animation = QPushButton(self.tr("Save animation…"), self)
        self._began = 0.0
        self._shown: Race | None = None
        self._clock = QTimer(self)
        self._clock.setInterval(_FRAME_MS)
        self._clock.timeout.connect(self._tick)
        self.result = QLabel(self)
        self.result.setObjectName("caption")
        self._lay_out()
        self.again.clicked.connect(self.play)
        self.picture.clicked.connect(self.picture_wanted)
        self.animation.clicked.connect(self.animation_wanted)
        self.hide()

    def _lay_out(self) -> None:
        row = QHBoxLayout()
        row.setSpacing(8)
        for button in (self.again, self.picture, self.animation):
            button.setAutoDefault(False)
        row.addWidget(self.again)
        row.addWidget(self.result, 1)
        row.addWidget(self.picture)
        row.addWidget(self.animation)
        in_column(self.field, self.outcome, row, margins=(0, 0, 0, 0), spacing=8, parent=self)

    def show_race(self, race: Race | None, names: tuple[str, str], *, sampled: bool, free: bool) -> None:
        """Show a race so far; `free`: no measurement runs that watching it again would disturb."""
        self.setVisible(race is not None)
        if race is None:
            self._clock.stop()
            self._shown = None
            return
        self.field.names, self.field.sampled = names, sampled
        if race is not self.field.race:
            self._clock.stop()
            self.field.race, self.field.seconds, self._shown = race, None, None
            self.result.clear()
        if race.over and self._shown is not race:
            self._shown = race
            self.play()
        for button in (self.again, self.picture, self.animation):
            button.setEnabled(race.over and free)
        self._show_outcome()
        self.field.update()

    def play(self) -> None:
        """Show both side by side, at the times at which they wrote."""
        if self.field.race.over:
            self._began = perf_counter()
            self._clock.start()
            self._tick()

    def tell_saved(self, path: Path, problem: str) -> None:
        """Report that a picture is saved, or why it is not."""
        words = self.tr("Saved as {name}") if not problem else self.tr("{name} was not saved: {reason}")
        self.result.setText(words.format(name=path.name, reason=problem))

    def _tick(self) -> None:
        seconds = perf_counter() - self._began
        if seconds >= self.field.race.seconds:
            self._clock.stop()
            self.field.seconds = None
        else:
            self.field.seconds = seconds
        self._show_outcome()
        self.field.update()

    def _show_outcome(self) -> None:
        words = "" if self._clock.isActive() else race_words(self.field.race, sampled=self.field.sampled)
        self.outcome.setText(words)
        self.outcome.setAccessibleName(words)


def _large(font: QFont) -> QFont:
    """Return the letters of the clocks: larger, with figures of equal width."""
    large = QFont(font)
    large.setWeight(QFont.Weight.DemiBold)
    if font.pixelSize() > 0:
        large.setPixelSize(round(1.5 * font.pixelSize()))
    else:
        large.setPointSizeF(1.5 * font.pointSizeF())
    large.setFeature(QFont.Tag("tnum"), 1)
    return large


def _head(metrics: QFontMetricsF) -> float:
    return 1.5 * metrics.height() + _PAD
