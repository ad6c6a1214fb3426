"""Show a column of entries in a scroll area, with widgets only for those in and near the viewport.

The others have heights that are estimated, and corrected when their widgets are made and drawn; what the reader looks
at stays where it is meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QWidget

from app.state.chat.column import Column, TextSize
from app.state.chat.transcript import Entry
from app.views.chat.entries import EntryViews
from app.views.chat.exchange import EntryView, ExchangeView
from app.views.widgets.paint_budget import PaintBudget
from app.views.widgets.theme import Theme

COLUMN = 760
MARGIN = 24
GAP = 12
NEAR_END = 24
KEPT = 16
"""Views that are kept though they are far from the reader's place."""
_SLICE_S = 0.003
"""The longest slice of creating views: mostly one of them. Their texts are drawn besides."""
_OPEN_S = 0.08
"""The longest slice if all of the viewport is new: the first sight of it should be whole."""
_TICK_MS = 10
_REST_S = 0.12
"""The time without scrolling after which views next to the viewport are prepared."""
_STEP = 20


class ColumnView(QAbstractScrollArea):
    """Scroll a column of entries, and follow its end as long as that is in sight.

    Signal: intent(EntryIntent), what the reader wants of an entry.
    """

    intent = Signal(object)

    def __init__(self, theme: Theme, budget: PaintBudget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.verticalScrollBar().setSingleStep(_STEP)
        self._column = Column(GAP, TextSize(COLUMN, 7.0, 18.0))
        self._views = EntryViews(theme, self.intent.emit, budget, self.viewport())
        self._views.resized.connect(self._measure_again)
        theme.changed.connect(self._hold)
        self._following = True
        self._value = 0
        self._placing = False
        self._moved_at = 0.0
        self._clock = QTimer(self)
        self._clock.setSingleShot(True)
        self._clock.setInterval(_TICK_MS)
        self._clock.timeout.connect(self._tick)

    @property
    def is_drawn(self) -> bool:
        """Return True if everything in the viewport is drawn."""
        width = self._column_width()
        ready = all(self._is_ready(place, width) for place in self._range())
        return ready and all(view.is_drawn for place, view in self._placed() if place in self._range())

    # Where things are -------------------------------------------------------------------------------------------------

    def _column_width(self) -> int:
        return max(min(COLUMN, self.viewport().width() - 2 * MARGIN), 1)

    def _range(self, beyond: int = 0) -> range:
        """Return the numbers of the entries in the viewport, and of those not farther from it than `beyond` pixels."""
        if not len(self._column):
            return range(0)
        top = self._value - MARGIN - beyond
        return range(self._column.at(top), self._column.at(top + self.viewport().height() + 2 * beyond) + 1)

    def _most(self) -> int:
        return max(self._column.total + 2 * MARGIN - self.viewport().height(), 0)

    def _settle(self) -> None:
        """Settle after the heights have changed: tell the scroll bar, and put the views where they belong."""
        bar, most = self.verticalScrollBar(), self._most()
        if self._value > most:
            self._following = True
        self._value = most if self._following else max(min(self._value, most), 0)
        self._placing = True
        bar.setPageStep(self.viewport().height())
        bar.setRange(0, most)
        bar.setValue(self._value)
        self._placing = False
        self._arrange()

    def _arrange(self) -> None:
        width = self._column_width()
        left = max((self.viewport().width() - width) // 2, MARGIN)
        for place, view in self._placed():
            y = MARGIN + self._column.top(place) - self._value
            # Out of sight another width can wait: it means that all text is laid out anew.
            view.setGeometry(left, y, view.width() if view.needed else width, self._column.height(place))
        self._moved()

    def _moved(self) -> None:
        """React to moved views or other entries."""

    def scrollContentsBy(self, dx: int, dy: int) -> None:  # noqa: N802 - Qt's name
        if self._placing:
            return
        value, before = self.verticalScrollBar().value(), self._value
        self._value, self._moved_at = value, perf_counter()
        self._following = value >= self._most() - NEAR_END
        self._arrange()
        # Who drags through the conversation sees for a moment that there is something: then it is made at leisure.
        if abs(value - before) <= self.viewport().height():
            self._fill(_SLICE_S)
            self._forget_many()
        if not self._clock.isActive():
            self._clock.start()

    def _go_to(self, value: int) -> None:
        """Scroll to this height, from which on the reader decides."""
        self._following = False
        self._value = value
        self._settle()
        self._open()

    def _open(self) -> None:
        """Create the visible views at once."""
        self._fill(_OPEN_S)

    # Making views -----------------------------------------------------------------------------------------------------

    def _fill(self, budget_s: float) -> bool:
        """Create missing views in the viewport, for some time; returns True if all of them are there.

        From the end upwards where that is followed, as each correction above it moves the rest.
        """
        until = perf_counter() + budget_s
        width = self._column_width()
        while self.isVisible():
            missing = [place for place in self._range() if not self._is_ready(place, width)]
            if not missing:
                return True
            self._make(missing[-1] if self._following else missing[0])
            if perf_counter() > until:
                break
        self._clock.start()
        return False

    def _is_ready(self, place: int, width: int) -> bool:
        view = self._views.get(self._column.entries[place])
        return view is not None and view.needed > 0 and view.width() == width

    def _make(self, place: int) -> EntryView:
        view = self._views.make(self._column.entries[place])
        if view.isHidden():
            top = MARGIN + self._column.top(place) - self._value
            left = max((self.viewport().width() - self._column_width()) // 2, MARGIN)
            view.setGeometry(left, top, self._column_width(), self._column.height(place))
            if isinstance(view, ExchangeView) and not view.exchange.ended:
                view.floor = self._column.measured(place)
            view.show()
        self._measure(place, view)
        return view

    def _measure(self, place: int, view: EntryView) -> None:
        seen = view.needed
        view.measure(self._column_width())
        height = view.room(self._column.height(place))
        self._correct(place, height, seen, measured=view.is_drawn)

    def _correct(self, place: int, height: int, seen: int, *, measured: bool) -> None:
        """Correct the height of an entry. `seen`: the height of it, from its top, that was visible until now."""
        top, old = MARGIN + self._column.top(place), self._column.height(place)
        grown = self._column.correct(place, height, measured=measured)
        if not grown:
            return
        above = top + old <= self._value
        if above or (top < self._value and self._value - top >= seen):
            self._value += grown
        self._settle()

    def _hold(self) -> None:
        """Hold the heights: for other colours texts are about to be written anew, and keep their room meanwhile."""
        for _, view in self._views:
            view.floor = view.needed

    def _measure_again(self, entry: Entry) -> None:
        place, view = self._column.place_of(entry), self._views.get(entry)
        if place is not None and view is not None and view.isVisible() and view.needed:
            self._measure(place, view)
            self._clock.start()

    def _tick(self) -> None:
        """Create missing views, nearest first; one step at a time, so that nothing is ever late."""
        if not self.isVisible():
            return
        self._forget_many()
        if not self._fill(_SLICE_S):
            return
        resting = perf_counter() - self._moved_at > _REST_S
        if self._forget_one() or (resting and (self._prepare_one() or self._complete_one())) or not resting:
            self._clock.start()

    def _prepare_one(self) -> bool:
        width, shown = self._column_width(), self._range()
        for place in sorted(self._range(self.viewport().height()), key=lambda place: abs(place - shown.start)):
            if not self._is_ready(place, width):
                self._make(place)
                return True
        return False

    def _complete_one(self) -> bool:
        for place in self._range():
            view = self._views.get(self._column.entries[place])
            if isinstance(view, ExchangeView) and view.build_actions():
                return True
        return False

    def _placed(self) -> list[tuple[int, EntryView]]:
        """Return the views that there are, with the numbers of their entries."""
        places = ((self._column.place_of(entry), view) for entry, view in self._views)
        return [(place, view) for place, view in places if place is not None]

    def _forget_many(self) -> None:
        """Drop views as fast as a reader scrolls."""
        if len(self._views) > 2 * KEPT and self._forget_one():
            self._forget_one()

    def _forget_one(self) -> bool:
        if len(self._views) <= KEPT:
            return False
        visible, middle = self._range(2 * self.viewport().height()), self._column.at(self._value)
        far = [place for place, view in self._placed() if place not in visible and not view.pinned]
        if far:
            self._views.drop(self._column.entries[max(far, key=lambda place: abs(place - middle))])
        return bool(far)

    # Another width ----------------------------------------------------------------------------------------------------

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Keep the reader's place."""
        super().resizeEvent(event)
        if self._placing:
            # The scroll bar came or went while the views were put into their places.
            QTimer.singleShot(0, self, self._lay_out)
        else:
            self._lay_out()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        """Measure the entries that could not be measured while hidden."""
        super().showEvent(event)
        self._lay_out()

    def _lay_out(self) -> None:
        metrics = self.fontMetrics()
        text_size = TextSize(self._column_width(), metrics.averageCharWidth() * 1.0, metrics.lineSpacing() * 1.0)
        if text_size != self._column.text_size and len(self._column):
            place = self._column.at(self._value - MARGIN)
            share = (self._value - MARGIN - self._column.top(place)) / max(self._column.height(place), 1)
            self._column.set_text_size(text_size)
            if self.isVisible() and (view := self._views.get(self._column.entries[place])) is not None and view.needed:
                self._measure(place, view)
            self._value = MARGIN + self._column.top(place) + round(share * self._column.height(place))
        self._column.set_text_size(text_size)
        self._settle()
        self._open()

    # Other entries ----------------------------------------------------------------------------------------------------

    def _replace(self, entries: Sequence[Entry], same: dict[int, int]) -> None:
        self._views.replace(entries, same, self._column.entries)
        self._column.fill(entries, same)
