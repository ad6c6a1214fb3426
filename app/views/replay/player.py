"""Play a replay: the text, a scrubber, the pace, and a sentence on the visible state."""

from __future__ import annotations

from time import perf_counter

from PySide6.QtCore import QEvent, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QHideEvent, QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSlider, QStyle, QToolButton, QWidget

from app.state.replay.timeline import PACES, Pace, Replay
from app.views.replay.text import ReplayText
from app.views.widgets.boxes import in_column, in_row, wide
from app.views.widgets.icons import keep_icon
from app.views.widgets.theme import Theme
from app.words.replay import pace_words, place_words, round_words

_FRAME_MS = 16
_LONGEST_S = 0.1
"""A frame that comes late, as the program was busy, is not caught up: it would be a jump."""
_BUTTON = 32


class ReplayPlayer(QWidget):
    """Show a replay and its controls. Space plays, the arrow keys go from round to round, + and - change the pace.

    Attributes: playing, index (the round that is shown). Signal: ended() (the last round was played).
    """

    ended = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._replay: Replay | None = None
        self._seconds = 0.0
        self._shown_at = 0.0
        self.playing = False
        self.index = 0
        self.pace: Pace = 1.0
        self.text = ReplayText(theme, self)
        self.place = QLabel(self)
        self.place.setObjectName("caption")
        self.sentence = QLabel(self)
        self.sentence.setObjectName("hint")
        self.sentence.setWordWrap(True)
        self.note = QLabel(
            self.tr("This record was written before rejected guesses were kept: only what was written is seen."), self
        )
        self.note.setObjectName("caption")
        self.note.setWordWrap(True)
        self.note.hide()
        self._clock = QTimer(self)
        self._clock.setTimerType(Qt.TimerType.PreciseTimer)
        self._clock.setInterval(_FRAME_MS)
        self._clock.timeout.connect(self._tick)
        self._make_controls()
        self._lay_out()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    # Building ---------------------------------------------------------------------------------------------------------

    def _make_controls(self) -> None:
        self.back = self._button("skip-back", self.tr("Previous round"))
        self.play = self._button("play", self.tr("Play"))
        self.on = self._button("skip-forward", self.tr("Next round"))
        self.back.clicked.connect(lambda: self.step(-1))
        self.on.clicked.connect(lambda: self.step(1))
        self.play.clicked.connect(self.toggle)
        self.slider = QSlider(Qt.Orientation.Horizontal, self)
        self.slider.setAccessibleName(self.tr("Round"))
        self.slider.valueChanged.connect(self._scrub)
        self.slider.sliderReleased.connect(self.announce)
        self.paces: list[QToolButton] = []
        for pace in PACES:
            button = QToolButton(self)
            button.setText(pace_words(pace))
            button.setObjectName("pace")
            button.setCheckable(True)
            button.setAutoRaise(True)
            button.setAccessibleName(self.tr("Pace: {pace}").format(pace=pace_words(pace)))
            button.clicked.connect(lambda _checked=False, pace=pace: self.choose_pace(pace))
            self.paces.append(button)
        self.choose_pace(1.0)

    def _button(self, name: str, words: str) -> QToolButton:
        button = QToolButton(self)
        keep_icon(button, self._theme, name, "text")
        button.setAutoRaise(True)
        button.setIconSize(QSize(18, 18))
        button.setFixedSize(_BUTTON, _BUTTON)
        button.setToolTip(words)
        button.setAccessibleName(words)
        return button

    def _lay_out(self) -> None:
        controls = QHBoxLayout()
        controls.setSpacing(4)
        for button in (self.back, self.play, self.on):
            controls.addWidget(button)
        controls.addSpacing(4)
        controls.addWidget(self.slider, 1)
        controls.addSpacing(4)
        for button in self.paces:
            controls.addWidget(button)
        under = in_row(wide(self.sentence), spacing=12)
        under.addWidget(self.place, 0, Qt.AlignmentFlag.AlignTop)
        in_column(wide(self.text), controls, under, self.note, margins=(0, 0, 0, 0), spacing=8, parent=self)

    # Intents ----------------------------------------------------------------------------------------------------------

    def show_replay(self, replay: Replay) -> None:
        """Show the beginning of this replay, and wait."""
        self.pause()
        self._replay, self.index, self._seconds = replay, 0, 0.0
        self.text.show_replay(replay)
        self.note.setVisible(not replay.has_guesses and len(replay) > 0)
        self.slider.blockSignals(True)
        self.slider.setRange(1, max(len(replay), 1))
        self.slider.setPageStep(max(len(replay) // 10, 1))
        self.slider.setValue(1)
        self.slider.blockSignals(False)
        for widget in (self.back, self.play, self.on, self.slider):
            widget.setEnabled(len(replay) > 0)
        self._show()

    def start(self) -> None:
        """Play on from here, or from the beginning where the end was reached."""
        if self._replay is None or not len(self._replay):
            return
        if self._at_end():
            self.index, self._seconds = 0, 0.0
        self.playing = True
        self._shown_at = perf_counter()
        self._clock.start()
        self._show_play()

    def pause(self) -> None:
        self.playing = False
        self._clock.stop()
        self._show_play()

    def toggle(self) -> None:
        if self.playing:
            self.pause()
            self.announce()
        else:
            self.start()

    def step(self, by: int) -> None:
        """Step so many rounds on, or back, to the end of that round."""
        if self._replay is None or not len(self._replay):
            return
        self.pause()
        self.index = min(max(self.index + by, 0), len(self._replay) - 1)
        self._seconds = self._replay.seconds(self.index, self.pace)
        self._show()
        self.announce()

    def choose_pace(self, pace: Pace) -> None:
        """Play at another pace from now on."""
        if self._replay is not None and len(self._replay):
            before = self._replay.seconds(self.index, self.pace)
            share = self._seconds / before if before else 1.0
            self._seconds = share * self._replay.seconds(self.index, pace)
        self.pace = pace
        for button, each in zip(self.paces, PACES, strict=True):
            button.setChecked(each == pace)

    def announce(self) -> None:
        """Announce the sentence to a screen reader."""
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self.sentence, self.sentence.text()))

    def _scrub(self, value: int) -> None:
        if self._replay is not None and value - 1 != self.index:
            self.index = value - 1
            self._seconds = self._replay.seconds(self.index, self.pace)
            self._show()
            if not self.slider.isSliderDown():
                self.announce()

    # The clock --------------------------------------------------------------------------------------------------------

    def _tick(self) -> None:
        if self._replay is None:
            return
        now = perf_counter()
        self._seconds += min(now - self._shown_at, _LONGEST_S)
        self._shown_at = now
        while (whole := self._replay.seconds(self.index, self.pace)) <= self._seconds:
            if self.index == len(self._replay) - 1:
                self._seconds = whole
                self.pause()
                self._show()
                self.announce()
                self.ended.emit()
                return
            self._seconds -= whole
            self.index += 1
        self._show()

    def _at_end(self) -> bool:
        if self._replay is None:
            return True
        return self.index == len(self._replay) - 1 and self._seconds >= self._replay.seconds(self.index, self.pace)

    @property
    def still(self) -> bool:
        """Return True if the system asks for no motion."""
        return self.style().styleHint(QStyle.StyleHint.SH_Widget_Animation_Duration, None, self) == 0

    def _show(self) -> None:
        replay = self._replay
        if replay is None or not len(replay):
            return
        scene = replay.scene(self.index, self._seconds, self.pace, still=self.still)
        self.text.show_scene(self.index, scene)
        if self.slider.value() != self.index + 1:
            self.slider.blockSignals(True)
            self.slider.setValue(self.index + 1)
            self.slider.blockSignals(False)
        words = round_words(replay, self.index)
        if words != self.sentence.text():
            self.sentence.setText(words)
            self.sentence.setAccessibleName(words)
        where = place_words(self.index + 1, len(replay))
        if where != self.place.text():
            self.place.setText(where)

    def _show_play(self) -> None:
        words = self.tr("Pause") if self.playing else self.tr("Play")
        if self.play.accessibleName() != words:
            keep_icon(self.play, self._theme, "pause" if self.playing else "play", "text")
            self.play.setToolTip(words)
            self.play.setAccessibleName(words)

    # Keys -------------------------------------------------------------------------------------------------------------

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Play, step, and change the pace."""
        far = 0 if self._replay is None else len(self._replay)
        steps = {Qt.Key.Key_Right: 1, Qt.Key.Key_Left: -1, Qt.Key.Key_Home: -far, Qt.Key.Key_End: far}
        faster = {Qt.Key.Key_Plus: 1, Qt.Key.Key_Minus: -1}
        key = Qt.Key(event.key())
        if key == Qt.Key.Key_Space:
            self.toggle()
        elif key in steps:
            self.step(steps[key])
        elif key in faster:
            place = min(max(PACES.index(self.pace) + faster[key], 0), len(PACES) - 1)
            self.choose_pace(PACES[place])
        else:
            super().keyPressEvent(event)

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802 - Qt's name
        super().hideEvent(event)
        self.pause()

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self.text.setFont(self.font())
