"""Show the Speculation panel: live plots with their figures, bars, and the counters."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QPoint, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QPixmap, QShowEvent
from PySide6.QtWidgets import QFileDialog, QLabel, QMenu, QToolButton, QVBoxLayout, QWidget

from app.state.speculation.figures import Figures
from app.state.speculation.lookahead import LookaheadNote
from app.state.speculation.metrics import Metrics
from app.system.translation import number
from app.views.speculation.bars import PositionBars, TimeBar
from app.views.widgets.boxes import in_column, in_grid, in_row
from app.views.widgets.icons import icon_button, keep_icon
from app.views.widgets.keys import settle_hover
from app.views.widgets.labels import ElidedLabel, FixedHeightLabel
from app.views.widgets.paint_budget import PaintBudget
from app.views.widgets.scroll_page import ScrollPage
from app.views.widgets.theme import Theme
from app.words.figures import (
    SEPARATOR,
    UNKNOWN,
    accepted,
    duration,
    lookahead_source,
    lookahead_words,
    named,
    speed,
    times,
)
from engine.host import write_whole

if TYPE_CHECKING:
    from app.views.speculation.plots import LivePlot

REDRAW_MS = 120
_PAUSE_S = 0.012
"""The pause after a plot is painted."""
ROUNDS_SHOWN = 120.0
SECONDS_SHOWN = 30.0
_NOTES = (
    LookaheadNote("ready"),
    LookaheadNote("drafting", 32, 10.0),
    LookaheadNote("trying", 32),
    LookaheadNote("plain"),
    LookaheadNote("plain", has_draft=False),
    LookaheadNote("fixed", 32),
    LookaheadNote("off"),
    LookaheadNote("off", has_draft=False),
)
"""All notes on the lookahead: there is always room for the longest."""


_PLOT_HEIGHT = 150
_PICTURE, _MARGIN, _SHARPNESS = QSize(720, 760), 24, 2
"""The saved picture: size and margin (logical pixels), and pixels for each of them."""
_LARGE = 1.2
"""The enlargement of letters from which they may need more width than there is."""


class SpeculationPanel(ScrollPage):
    """Show the figures of the reply that is being written, or of the last one. Draws nothing while hidden."""

    def __init__(self, metrics: Metrics, theme: Theme, budget: PaintBudget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._budget = budget
        self.setObjectName("right")
        self.setAccessibleName(self.tr("Speculation"))
        self._metrics = metrics
        self._theme = theme
        self._drawn = -1
        self._drawn_at = 0.0
        self._plots: tuple[LivePlot, LivePlot] | None = None
        self._figures = Figures()
        self._paused = False
        self._holders: list[QWidget] = []
        self._build()
        self._fit_font()
        theme.changed.connect(self._fit_font)
        self._again = QTimer(self)
        self._again.setSingleShot(True)
        self._again.timeout.connect(self.refresh)
        self._step = QTimer(self)
        self._step.setSingleShot(True)
        self._step.timeout.connect(self._draw_next)
        self._left: list[Callable[[], None]] = []
        self.refresh()

    def _build(self) -> None:
        page = QWidget()
        page.setObjectName("page")
        layout = in_column(spacing=4, margins=(16, 12, 16, 16), parent=page)
        self.tools = PanelTools(self._theme, self._picture, self._table, page)
        self.tools.paused.connect(self._pause)
        layout.addWidget(self.tools)
        self.reply = ElidedLabel(page)
        self.reply.setObjectName("caption")
        policy = self.reply.sizePolicy()
        policy.setRetainSizeWhenHidden(True)  # All below it would move, and be painted anew, with each question.
        self.reply.setSizePolicy(policy)
        layout.addWidget(self.reply)
        self._make_lookahead(layout)
        layout.addSpacing(12)
        self.hint = self._sentence(self.tr("How a reply was written is shown here, once there is one."))
        layout.addWidget(self.hint)
        self._charts = QWidget(page)
        self._charts.setObjectName("page")
        layout.addWidget(self._charts, 1)
        self._make_charts(QVBoxLayout(self._charts))
        layout.addStretch(0)  # What takes the height while the charts are folded.
        self.setWidget(page)

    def _make_charts(self, layout: QVBoxLayout) -> None:
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(12)
        self._rate = self._section(layout, 1)
        self.rate_figure, self._rate_place = self._plot_place(
            self._rate, self.tr("Acceptance rate"), self.tr("Dots: single rounds. Line: the last rounds together.")
        )
        self.speed_figure, self._speed_place = self._plot_place(
            self._section(layout, 1),
            self.tr("Tokens per second"),
            self.tr("Line: over the last second. Dashed: the same target without a draft, once that was measured."),
        )
        self._counters = CounterGrid()
        self.counters = self._counters.values
        self.positions, self.times = PositionBars(self._theme), TimeBar(self._theme)
        layout.addWidget(self._counters)
        for title, bars, sentence in (
            (
                self.tr("Acceptance by position"),
                self.positions,
                self.tr("How often the 1st, 2nd, … proposed token was kept. Pale: proposed rarely."),
            ),
            (
                self.tr("Where the time went"),
                self.times,
                self.tr("Waiting for the draft, for the target, and the rest."),
            ),
        ):
            caption = QLabel(title)
            caption.setObjectName("caption")
            section = self._section(layout)
            section.addWidget(caption)
            section.addWidget(bars)
            section.addWidget(self._sentence(sentence))
        layout.addStretch(1)

    @staticmethod
    def _section(layout: QVBoxLayout, stretch: int = 0) -> QVBoxLayout:
        """Return the layout of a part that can be folded."""
        holder = QWidget()
        inside = in_column(spacing=4, margins=(0, 0, 0, 0), parent=holder)
        layout.addWidget(holder, stretch)
        return inside

    def _make_lookahead(self, layout: QVBoxLayout) -> None:
        self.lookahead = FixedHeightLabel([lookahead_words(note) for note in _NOTES])
        self.lookahead.setObjectName("lookahead")
        self.lookahead_source = QLabel()
        self.lookahead_source.setObjectName("caption")
        help_text = self.tr(
            "The lookahead is the number of tokens proposed per round. Auto chooses it each round for the "
            "highest speed, based on the measured cost of a round on this computer and on how many proposals are "
            "accepted."
        )
        for label in (self.lookahead, self.lookahead_source):
            label.setToolTip(help_text)
            layout.addWidget(label)

    @staticmethod
    def _sentence(text: str) -> QLabel:
        """Return the caption of a plot."""
        label = QLabel(text)
        label.setObjectName("hint")
        label.setWordWrap(True)
        return label

    def show_reply(self, metrics: Metrics, name: str) -> None:
        """Show the figures of another reply; `name`: the question that it answers."""
        self.reply.show_text(self.tr("Reply to “{question}”").format(question=name) if name else "")
        if metrics is not self._metrics:
            self._metrics, self._drawn = metrics, -1
            self.refresh()

    def _plot_place(self, layout: QVBoxLayout, title: str, sentence: str) -> tuple[QLabel, QVBoxLayout]:
        figure = QLabel()
        figure.setObjectName("figure")
        caption = QLabel(title)
        caption.setObjectName("caption")
        place = QVBoxLayout()
        place.setContentsMargins(0, 0, 0, 0)
        holder = QWidget()
        holder.setLayout(place)
        self._holders.append(holder)
        layout.addWidget(figure)
        layout.addWidget(caption)
        layout.addWidget(holder, 1)
        layout.addWidget(self._sentence(sentence))
        return figure, place

    def _fit_font(self) -> None:
        """Fit the plots, which grow with the letters; far larger ones are wider than a panel may be."""
        scale = max(self._theme.scale, 1.0)
        for holder in self._holders:
            holder.setMinimumHeight(round(_PLOT_HEIGHT * scale))
        policies = Qt.ScrollBarPolicy
        self.setHorizontalScrollBarPolicy(policies.ScrollBarAsNeeded if scale > _LARGE else policies.ScrollBarAlwaysOff)

    def build_plots(self) -> None:
        """Make the plots. Called once the window is on screen."""
        if self._plots is not None:
            return
        from app.views.speculation.plots import LivePlot  # noqa: PLC0415 - after the first paint, see there

        rate = LivePlot(
            self._theme,
            self.tr("Acceptance rate per round"),
            self.tr("round"),
            self.tr("accepted, %"),
            top=100.0,
            least=10.0,
            window=ROUNDS_SHOWN,
            unit="%",
        )
        pace = LivePlot(
            self._theme,
            self.tr("Tokens per second over time"),
            self.tr("seconds"),
            self.tr("tok/s"),
            least=0.05,
            window=SECONDS_SHOWN,
            unit=self.tr("tok/s"),
            digits=1,
        )
        for plot, place in ((rate, self._rate_place), (pace, self._speed_place)):
            place.addWidget(plot, 1)
            place.addWidget(plot.bar)
            policy = plot.bar.sizePolicy()
            policy.setRetainSizeWhenHidden(True)
            plot.bar.setSizePolicy(policy)
        self._plots = (rate, pace)
        self._drawn = -1
        self.refresh()

    @property
    def plots(self) -> tuple[LivePlot, LivePlot] | None:
        return self._plots

    def refresh(self) -> None:
        """Redraw changed figures, if they are visible, and not too often."""
        metrics = self._metrics
        if metrics.version == self._drawn or (self._drawn >= 0 and not self.isVisible()):
            return
        self._tell_lookahead()
        if self._paused:
            return
        wait = max(REDRAW_MS - 1000.0 * (perf_counter() - self._drawn_at), self._budget.wait_ms())
        if self._drawn >= 0 and (wait > 0 or self._left):
            if not self._again.isActive():
                self._again.start(max(int(wait) + 1, 1))
            return
        self._drawn, self._drawn_at = metrics.version, perf_counter()
        if self._charts.isHidden() and not metrics.empty:
            for plot in self._plots or ():
                plot.setUpdatesEnabled(False)  # Each is painted in its turn.
        self._figures = metrics.figures()
        self._fold()
        self._write_figures()
        # All at once, after what is in them: each change of what is seen lays out the panel anew.
        self.hint.setVisible(metrics.empty)
        self.tools.offer(shown=not metrics.empty)
        self._charts.setVisible(not metrics.empty)
        self._budget.take(_PAUSE_S)
        self._left = [self._draw_bars, self._draw_rate, self._draw_speed]
        self._draw_next()

    def _fold(self) -> None:
        """Hide the parts for which a reply has no figures. While it is being written all parts stay."""
        metrics = self._metrics
        for part, known in (
            (self._rate.parentWidget(), metrics.proposed > 0),
            (self.positions.parentWidget(), metrics.proposed > 0 and bool(self._figures.positions)),
            (self.times.parentWidget(), self._figures.times.total_ms > 0),
        ):
            if part is not None and (known or not metrics.running):
                part.setVisible(known)

    def _draw_next(self) -> None:
        """Draw one thing after another, each in a turn of its own: together they would hold up the window.

        What is hidden is drawn when it is shown.
        """
        if not self._left or not self.isVisible():
            return
        if not (wait := self._budget.wait_ms()):
            self._left.pop(0)()
            self._budget.take(_PAUSE_S)
            wait = self._budget.wait_ms()
        if self._left:
            self._step.start(wait)

    @property
    def is_drawn(self) -> bool:
        """Return True if the current state is drawn completely."""
        return not self._left and self._metrics.version == self._drawn

    def _draw_bars(self) -> None:
        self.positions.draw(self._figures.positions)
        self.times.draw(self._figures.times)

    def _draw_rate(self) -> None:
        if self._plots is not None:
            self._plots[0].draw(self._figures.smoothed, self._figures.rates, step=self._metrics.rates.rounds_per_point)
            self._plots[0].show_bar()
            self._plots[0].setUpdatesEnabled(True)

    def _draw_speed(self) -> None:
        if self._plots is not None:
            plain = self._figures.plain_speed
            name = "" if plain is None else self.tr("plain {speed}").format(speed=speed(plain))
            self._plots[1].draw(self._figures.speeds, level=plain, level_name=name)
            self._plots[1].show_bar()
            self._plots[1].setUpdatesEnabled(True)

    def _tell_lookahead(self) -> None:
        note = self._metrics.lookahead
        words = lookahead_words(note)
        self.lookahead.setText(words)
        self.lookahead.setAccessibleName(named(self.tr("Lookahead"), words))
        self.lookahead_source.setText(lookahead_source(note))

    def _write_figures(self) -> None:
        metrics = self._metrics
        self._counters.draw(metrics)
        words = accepted(metrics.acceptance_rate)
        self.rate_figure.setText(words)
        self.rate_figure.setAccessibleName(named(self.tr("Acceptance rate"), words))
        text = speed(metrics.tokens_per_second)
        if metrics.speedup is not None:
            text += SEPARATOR + times(metrics.speedup)
        self.speed_figure.setText(text)
        self.speed_figure.setAccessibleName(named(self.tr("Tokens per second"), text))

    @property
    def figures(self) -> Figures:
        return self._figures

    def _pause(self, paused: bool) -> None:
        """Draw nothing new for now; figures are collected all the same."""
        self._paused = paused
        self.refresh()

    def _picture(self) -> QPixmap:
        """Render everything at this moment, at a size that does not depend on the panel's."""
        while self._left:
            self._left.pop(0)()
        charts, before = self._charts, self._charts.size()
        charts.resize(_PICTURE.width(), max(_PICTURE.height(), charts.minimumSizeHint().height()))
        picture = QPixmap((charts.size() + QSize(2 * _MARGIN, 2 * _MARGIN)) * _SHARPNESS)
        picture.setDevicePixelRatio(_SHARPNESS)
        picture.fill(self._theme.color("background"))
        charts.render(picture, QPoint(_MARGIN, _MARGIN))
        charts.resize(before)
        return picture

    def _table(self) -> str:
        return self._figures.to_csv()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the changes made while it was hidden."""
        super().showEvent(event)
        QTimer.singleShot(0, self, self._draw_next)
        QTimer.singleShot(0, self, self.refresh)


_TOLD_WITH = {"rounds": "rounds", "length": "rounds", "proposed": "acceptance", "accepted": "acceptance"}


class CounterGrid(QWidget):
    """Show the counts of a reply, beside those in the plots. Attribute: values, the labels by name."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        names = {
            "rounds": (self.tr("Rounds"), self.tr("One round: propose, verify, accept, commit")),
            "proposed": (self.tr("Proposed"), self.tr("Draft tokens that the target verified")),
            "accepted": (self.tr("Accepted"), self.tr("Proposed tokens that were kept")),
            "length": (self.tr("Mean length"), self.tr("Tokens per round, including corrections and bonuses")),
            "own": (self.tr("From your own texts"), self.tr("Accepted tokens that stand in a chat of yours")),
            "first": (
                self.tr("Time to first token"),
                self.tr("Reading the prompt, and the first round. Known when the reply has ended."),
            ),
        }
        grid = in_grid(across=12, down=4, stretch=0, margins=(0, 0, 0, 0), parent=self)
        self.values: dict[str, QLabel] = {}
        self._rows: dict[str, tuple[QLabel, QLabel]] = {}
        for row, (key, (word, help_text)) in enumerate(names.items()):
            name, value = QLabel(word, self), QLabel(self)
            name.setObjectName("counterName")
            value.setObjectName("counterValue")
            value.setAlignment(Qt.AlignmentFlag.AlignRight)
            name.setToolTip(help_text)
            value.setToolTip(help_text)
            grid.addWidget(name, row, 0)
            grid.addWidget(value, row, 1)
            self.values[key] = value
            self._rows[key] = name, value
        self._names = {key: word for key, (word, _) in names.items()}

    def draw(self, metrics: Metrics) -> None:
        length, untold = metrics.mean_length, metrics.untold
        texts = {
            "rounds": number(metrics.rounds),
            "proposed": number(metrics.proposed),
            "accepted": number(metrics.accepted),
            "length": UNKNOWN if length is None else number(length, 2),
            "own": number(metrics.from_texts),
            "first": UNKNOWN if metrics.first_token_ms is None else duration(metrics.first_token_ms / 1000.0),
        }
        for key, row in self._rows.items():
            for label in row:
                label.setVisible(_TOLD_WITH.get(key) not in untold and (key != "own" or metrics.from_texts > 0))
        for key, text in texts.items():
            if self.values[key].text() != text:
                self.values[key].setText(text)
                self.values[key].setAccessibleName(named(self._names[key], text))


_SAID_MS = 8_000


class PanelTools(QWidget):
    """Pause and Save, in the row of the panel's title. Attribute: said, a line with the result of saving.

    `picture` and `table` give what is to be saved. Signal: paused(bool).
    """

    paused = Signal(bool)

    def __init__(
        self, theme: Theme, picture: Callable[[], QPixmap], table: Callable[[], str], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._picture, self._table = picture, table
        title = QLabel(self.tr("Speculation"), self)
        title.setObjectName("panelTitle")
        self.pause_button = icon_button(theme, "pause", self.tr("Pause the plots"), self)
        self.pause_button.setCheckable(True)
        self.pause_button.toggled.connect(self._pause)
        self.save_button = icon_button(theme, "download-simple", self.tr("Save the plots"), self)
        self.save_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(self)
        menu.addAction(self.tr("As an image (PNG)…")).triggered.connect(self._ask_for_picture)
        menu.addAction(self.tr("As a table (CSV)…")).triggered.connect(self._ask_for_table)
        menu.aboutToHide.connect(lambda: settle_hover(self.save_button))
        self.save_button.setMenu(menu)
        self.said = QLabel(self)
        self.said.setWordWrap(True)
        self.said.setObjectName("caption")
        self.said.hide()
        for button in (self.pause_button, self.save_button):
            policy = button.sizePolicy()
            policy.setRetainSizeWhenHidden(True)  # What stands below stays where it is.
            button.setSizePolicy(policy)
        row = in_row(title, ..., self.pause_button, self.save_button, spacing=4)
        in_column(row, self.said, margins=(0, 0, 0, 0), spacing=4, parent=self)

    def offer(self, *, shown: bool) -> None:
        """Show the buttons while there are plots to pause and to save."""
        for button in (self.pause_button, self.save_button):
            button.setVisible(shown)

    def _pause(self, paused: bool) -> None:
        words = self.tr("Resume the plots") if paused else self.tr("Pause the plots")
        keep_icon(self.pause_button, self._theme, "play" if paused else "pause")
        self.pause_button.setToolTip(words)
        self.pause_button.setAccessibleName(words)
        self.paused.emit(paused)

    def _ask_for_picture(self) -> None:
        path = self._ask(self.tr("Save the plots as an image"), "speculation.png", self.tr("Images (*.png)"))
        if path is not None:
            self.save_picture(path)

    def _ask_for_table(self) -> None:
        path = self._ask(self.tr("Save the data as a table"), "speculation.csv", self.tr("Tables (*.csv)"))
        if path is not None:
            self.save_table(path)

    def _ask(self, title: str, name: str, kinds: str) -> Path | None:
        chosen, _ = QFileDialog.getSaveFileName(self, title, str(Path.home() / name), kinds)
        if not chosen:
            return None
        path = Path(chosen)
        return path if path.suffix else path.with_suffix(Path(name).suffix)

    def save_picture(self, path: Path) -> None:
        """Write the plots as a PNG, and report the result."""
        data = QByteArray()
        buffer = QBuffer(data)
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        self._picture().save(buffer, "PNG")
        self._write(path, bytes(data.data()))

    def save_table(self, path: Path) -> None:
        """Write the figures as a CSV, and report the result."""
        self._write(path, self._table().encode())

    def _write(self, path: Path, data: bytes) -> None:
        try:
            write_whole(path, data)
        except OSError as error:
            reason = error.strerror or str(error)
            pattern = self.tr("Cannot save {path}: {reason}. Choose another folder.")
            self._say(pattern.format(path=path, reason=reason), failed=True)
        else:
            self._say(self.tr("Saved as {path}").format(path=path), failed=False)

    def _say(self, words: str, *, failed: bool) -> None:
        self.said.setText(words)
        self.said.setStyleSheet(f"color: {self._theme.tokens.danger};" if failed else "")
        self.said.show()
        if not failed:
            QTimer.singleShot(_SAID_MS, self.said, self._unsay)

    def _unsay(self) -> None:
        """Hide good news, which need not stay; an error does, until something else is saved."""
        if not self.said.styleSheet():
            self.said.hide()
