"""Show the first start: the work of the two models, in a few words, and the first steps."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QGridLayout, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from app.state.replay.timeline import Replay
from app.views.replay.player import ReplayPlayer
from app.views.widgets.boxes import in_column
from app.views.widgets.keys import keeps_escape
from app.views.widgets.scroll_page import ColumnPage
from app.views.widgets.theme import Theme

_WIDE, _MARGIN = 640, 24
_BETWEEN = 28
_REPLAY, _SMALL_REPLAY, _ROOMY, _LOW = 17, 10.5, 37, 26
"""Lines of text: the greatest and least height of the replay, and those of a screen with room for all, or only that."""
_GUESSED, _RIGHT = 5, 4
"""Words that the draft guesses in the picture, and the number of those that the target keeps."""


class TwoModels(QWidget):
    """Draw the picture: the draft guesses a few words, the target goes over all of them at once and puts one right."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._names = (self.tr("draft"), self.tr("target"))
        self.setAccessibleName(self.tr("The draft guesses five words; the target keeps four and corrects the last."))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        return QSize(420, 2 * self._row() + _BETWEEN + 4)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        return QSize(280, self.sizeHint().height())

    def _row(self) -> int:
        return self.fontMetrics().height() + 14

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Paint two rows of words, the models before them, and the fate of each word between."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.translate(0, 2)
        if self.layoutDirection() == Qt.LayoutDirection.RightToLeft:
            painter.translate(self.width(), 0)
            painter.scale(-1, 1)
        row, wide = self._row(), min(self.width(), 520)
        left = (self.width() - wide) / 2
        name = max(self.fontMetrics().horizontalAdvance(each) for each in self._names) + 28
        word = (wide - name - 16) / _GUESSED
        for line, top in enumerate((0.0, row + float(_BETWEEN))):
            self._draw_name(painter, QRectF(left, top, name, row), line)
            for place in range(_GUESSED):
                box = QRectF(left + name + 16 + place * word, top, word - 8, row).adjusted(0, 5, 0, -5)
                self._draw_word(painter, box, place, line)
        for place in range(_GUESSED):
            self._draw_step(painter, left + name + 16 + place * word + (word - 8) / 2, row, place)

    def _draw_name(self, painter: QPainter, box: QRectF, line: int) -> None:
        theme = self._theme
        # The larger model is drawn larger.
        inset = 3.0 if line == 0 else 0.0
        painter.setPen(QPen(theme.color("border" if line == 0 else "accent"), 1.5))
        painter.setBrush(theme.color("surface"))
        painter.drawRoundedRect(box.adjusted(inset * 2, inset, -inset * 2, -inset), 8, 8)
        painter.setPen(theme.color("text"))
        painter.save()
        if self.layoutDirection() == Qt.LayoutDirection.RightToLeft:
            painter.translate(2 * box.center().x(), 0)
            painter.scale(-1, 1)
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, self._names[line])
        painter.restore()

    def _draw_word(self, painter: QPainter, box: QRectF, place: int, line: int) -> None:
        """Draw a word as a bar; bars of one length in both rows are the same word."""
        theme, kept = self._theme, place < _RIGHT
        share = (0.7, 1.0, 0.55, 0.85, 0.6)[place] if line == 0 or kept else 0.95
        bar = QRectF(box.left() + box.width() * (1 - share) / 2, box.top(), box.width() * share, box.height())
        color = "raised" if line == 0 else "accepted" if kept else "correction"
        painter.setPen(QPen(theme.color("border"), 1))
        painter.setBrush(theme.color(color))
        painter.drawRoundedRect(bar, 5, 5)

    def _draw_step(self, painter: QPainter, x: float, row: int, place: int) -> None:
        """Draw a tick where the word stays, a cross where it does not."""
        theme, y = self._theme, row + _BETWEEN / 2
        kept = place < _RIGHT
        color = theme.color("accent" if kept else "danger")
        painter.setPen(QPen(color, 2, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap, Qt.PenJoinStyle.RoundJoin))
        if kept:
            # The picture is turned where one reads from the right; a tick is not.
            way = -1 if self.layoutDirection() == Qt.LayoutDirection.RightToLeft else 1
            points = ((-5.0, 0), (-1.5, 4), (5.5, -4))
            painter.drawPolyline([QPointF(x + way * dx, y + dy) for dx, dy in points])
        else:
            painter.drawLine(QPointF(x - 4, y - 4), QPointF(x + 4, y + 4))
            painter.drawLine(QPointF(x + 4, y - 4), QPointF(x - 4, y + 4))


class FirstLaunchView(ColumnPage):
    """Show one screen in place of the chat.

    Signals: demo_wanted(), folder_wanted(), small_model_wanted(), closed().
    """

    demo_wanted = Signal()
    folder_wanted = Signal()
    small_model_wanted = Signal()
    closed = Signal()

    def __init__(self, theme: Theme, *, has_demo: bool, parent: QWidget | None = None) -> None:
        super().__init__(_WIDE, (_MARGIN, 8), parent)
        self.demo = QPushButton(self.tr("Try the demo pair"), self)
        self.folder = QPushButton(self.tr("Choose a models folder…"), self)
        self.small_model = QPushButton(self.tr("Get a small model (93 MB)"), self)
        self.close_button = QPushButton(self.tr("Go to the chat"), self)
        self._ways = (self.demo, self.folder, self.small_model)
        self._fill(theme, has_demo=has_demo)
        self.demo.clicked.connect(self.demo_wanted)
        self.folder.clicked.connect(self.folder_wanted)
        self.small_model.clicked.connect(self.small_model_wanted)
        self.close_button.clicked.connect(self.closed)

    def begin(self) -> None:
        """Move the keyboard to where one begins."""
        (self.demo if self.demo.isEnabled() else self.folder).setFocus(Qt.FocusReason.OtherFocusReason)

    def _fill(self, theme: Theme, *, has_demo: bool) -> None:
        layout = self._parts = in_column(
            ...,
            self._label(self.tr("Two models, one text"), "welcome", centre=True),
            margins=(0, 0, 0, 0),
            spacing=8,
            parent=self.column,
        )
        layout.addWidget(
            self._label(
                self.tr("The text is exactly what the large model would have written alone. Only the wait is shorter."),
                "hint",
                centre=True,
            )
        )
        layout.addSpacing(8)
        self.picture = TwoModels(theme, self.column)
        layout.addWidget(self.picture)
        self.player = ReplayPlayer(theme, self.column)
        self.player.hide()
        layout.addWidget(self.player)
        self.watched = self._label(
            self.tr(
                "The demo pair wrote this just now, on this computer: grey are the draft’s guesses, a tick is a guess "
                "that the target keeps, a cross one that it replaces."
            ),
            "caption",
            centre=True,
        )
        self.watched.hide()
        layout.addWidget(self.watched)
        layout.addSpacing(8)
        layout.addLayout(self._explain())
        layout.addSpacing(8)
        layout.addLayout(self._begin_here(has_demo=has_demo))
        layout.addStretch(2)

    def play(self, replay: Replay) -> None:
        """Play a reply that the demo pair has just written, in place of the picture."""
        if not self.player.isHidden():
            return
        self.picture.hide()
        self.player.show()
        self._fit_replay()
        self.player.show_replay(replay)
        self.player.start()

    def _fit_replay(self) -> None:
        """Hide the texts that the replay repeats, if the screen is low."""
        line = self.fontMetrics().lineSpacing()
        roomy = self.viewport().height() >= _ROOMY * line
        spare = max(self.viewport().height() / line - _LOW, 0.0)
        lines = _REPLAY if roomy else min(_SMALL_REPLAY + spare, _REPLAY)
        self.player.setFixedHeight(round(lines * line))
        for label in (*self._explained, self.watched):
            label.setVisible(roomy)

    def _explain(self) -> QGridLayout:
        grid = QGridLayout()
        self._explained: list[QWidget] = []
        grid.setHorizontalSpacing(24)
        grid.setVerticalSpacing(4)
        texts = (
            (
                self.tr("The draft"),
                self.tr("is small and fast. It runs ahead and guesses the next few words."),
            ),
            (
                self.tr("The target"),
                self.tr("is large and decides. It checks all guesses at once, keeps what it would have written "
                        "itself, and corrects the first wrong one."),
            ),
        )  # fmt: skip
        for place, (name, text) in enumerate(texts):
            title, words = self._label(name, "cardTitle"), self._label(text, "hint")
            grid.addWidget(title, 0, place)
            grid.addWidget(words, 1, place, Qt.AlignmentFlag.AlignTop)
            self._explained += [title, words]
            grid.setColumnStretch(place, 1)
        return grid

    def _begin_here(self, *, has_demo: bool) -> QVBoxLayout:
        self.demo.setObjectName("primary")
        self.demo.setEnabled(has_demo)
        self.demo.setToolTip(self.tr("A small pair that comes with Outrider, ready to use"))
        self.folder.setToolTip(self.tr("A folder with GGUF models on this computer"))
        self.small_model.setToolTip(
            self.tr(
                "SmolLM2 135M Instruct, licence Apache-2.0, from the package index that Python uses on this computer"
            )
        )
        buttons = self._buttons = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        buttons.setSpacing(8)
        buttons.addStretch(1)
        for button in self._ways:
            button.setAutoDefault(False)
            buttons.addWidget(button)
        buttons.addStretch(1)
        rows = self._rows = QVBoxLayout()
        rows.addLayout(buttons)
        self.close_button.setAutoDefault(False)
        rows.addWidget(self.close_button, 0, Qt.AlignmentFlag.AlignHCenter)
        rows.addWidget(
            self._label(
                self.tr(
                    "The demo pair is tiny: it only shows how speculation works. For useful replies, choose "
                    "your own models."
                ),
                "caption",
                centre=True,
            )
        )
        return rows

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Place the buttons one below the other where the letters are large and the window is narrow.

        In a low one all stands closer.
        """
        hints = [button.sizeHint().width() for button in self._ways]
        wanted = sum(hints) + self._buttons.spacing() * (len(hints) + 1)
        fits = wanted <= min(event.size().width() - 2 * _MARGIN, _WIDE)
        across, down = QBoxLayout.Direction.LeftToRight, QBoxLayout.Direction.TopToBottom
        self._buttons.setDirection(across if fits else down)
        roomy = event.size().height() >= _ROOMY * self.fontMetrics().lineSpacing()
        for layout in (self._parts, self._rows):
            layout.setSpacing(8 if roomy else 4)
        if not self.player.isHidden():
            self._fit_replay()
        super().resizeEvent(event)

    def event(self, event: QEvent) -> bool:
        """Keep Esc for this screen, while the keyboard is here."""
        return keeps_escape(event) or super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Leave on Esc."""
        if event.key() == Qt.Key.Key_Escape:
            self.closed.emit()
        else:
            super().keyPressEvent(event)
