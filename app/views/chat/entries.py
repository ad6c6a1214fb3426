"""Make the views of the entries in and near the viewport, keep them for a while, and take them away."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from PySide6.QtCore import QObject, QRect, Qt, QTimer, Signal
from PySide6.QtWidgets import QAbstractButton, QAbstractScrollArea, QApplication, QWidget

from app.state.chat.transcript import Entry, Exchange, Problem
from app.views.chat.exchange import Ask, EntryView, ExchangeView, ProblemView
from app.views.widgets.paint_budget import PaintBudget
from app.views.widgets.theme import Theme

_MANY_DROPPED = 24


class EntryViews(QObject):
    """Hold the existing views. Their intents go to `ask`.

    Signals: resized(entry), pointed(view, QRect), as the views have them.
    """

    resized = Signal(object)
    pointed = Signal(object, QRect)

    def __init__(self, theme: Theme, ask: Ask, budget: PaintBudget, page: QWidget) -> None:
        super().__init__(page)
        self._theme = theme
        self._ask = ask
        self._budget = budget
        self._page = page
        self._views: dict[int, tuple[Entry, EntryView]] = {}
        self._folds: dict[int, tuple[bool, ...]] = {}
        self._dropped = 0
        self._busy = self._tokens = self._doubt = False
        self._marked: Entry | None = None

    def __len__(self) -> int:
        return len(self._views)

    def __iter__(self) -> Iterator[tuple[Entry, EntryView]]:
        return iter(list(self._views.values()))

    def get(self, entry: Entry) -> EntryView | None:
        found = self._views.get(id(entry))
        return None if found is None else found[1]

    def make(self, entry: Entry) -> EntryView:
        """Return the view of an entry, a new one if needed; it is not shown yet."""
        view = self.get(entry)
        if view is None:
            view = self._exchange_view(entry) if isinstance(entry, Exchange) else self._problem_view(entry.problem)
            view.resized.connect(partial(self.resized.emit, entry))
            self._views[id(entry)] = (entry, view)
            view.mark_dropped(entry is self._marked)
            leave_tab_order(view)
        return view

    def drop(self, entry: Entry) -> None:
        found = self._views.pop(id(entry), None)
        if found is not None:
            if isinstance(found[1], ExchangeView) and not all(found[1].folds):
                self._folds[id(entry)] = found[1].folds
            _discard(found[1])
            self._dropped += 1
            if self._dropped == _MANY_DROPPED:
                # Views are cyclic garbage, and that of hundreds of them, collected at once, would hold up the window.
                self._dropped = 0
                QTimer.singleShot(0, self, gc.collect)

    def replace(self, entries: Sequence[Entry], same: Mapping[int, int], old: Sequence[Entry]) -> None:
        """Show other entries: keep the views of those that stay as they are (`same`: old number → new number)."""
        kept: dict[int, tuple[Entry, EntryView]] = {}
        for place, new in same.items():
            view, entry = self.get(old[place]), entries[new]
            stays = not isinstance(entry, Exchange) or (isinstance(view, ExchangeView) and view.shows(entry))
            if view is None or not stays:
                continue
            del self._views[id(old[place])]
            if isinstance(view, ExchangeView) and isinstance(entry, Exchange):
                view.refresh(entry)
                view.resized.disconnect()
                view.resized.connect(partial(self.resized.emit, entry))
            kept[id(entry)] = (entry, view)
        for _, view in self._views.values():
            _discard(view)
        self._views = kept
        self._folds = (
            {id(entry): self._folds[id(entry)] for entry in entries if id(entry) in self._folds} if self._folds else {}
        )

    def mark_dropped(self, entry: Entry | None) -> None:
        """Draw the line below this entry, the last one that the model no longer reads; None: nowhere."""
        self._marked = entry
        for each, view in self:
            view.mark_dropped(each is entry)

    def set_busy(self, busy: bool) -> None:
        """Prevent changes while a reply is being written."""
        self._busy = busy
        for _, view in self:
            if isinstance(view, ExchangeView):
                view.set_busy(busy)

    def show_tokens(self, on: bool) -> None:
        """Show all replies token by token, also those whose views come later; or none."""
        self._tokens = on
        for _, view in self:
            if isinstance(view, ExchangeView):
                view.show_tokens(on)
                leave_tab_order(view)

    def mark_doubt(self, on: bool) -> None:
        """Colour tokens by the target's certainty, or else by their origin."""
        self._doubt = on
        for _, view in self:
            if isinstance(view, ExchangeView):
                view.mark_doubt(on)

    def end(self, exchange: Exchange) -> None:
        view = self.get(exchange)
        if isinstance(view, ExchangeView):
            if exchange.problem is not None and view.problem is None:
                view.show_problem(self._problem_view(exchange.problem, view))
            view.end()

    def refresh_actions(self, *focused: QWidget | None) -> None:
        """Refresh the actions: the focus has moved from or to these widgets."""
        for _, view in self:
            if isinstance(view, ExchangeView):
                inside = [widget for widget in focused if widget is not None and view.isAncestorOf(widget)]
                if inside:
                    view.refresh_actions()

    def _exchange_view(self, exchange: Exchange) -> ExchangeView:
        view = ExchangeView(exchange, self._theme, self._ask, self._budget, self._page)
        view.set_busy(self._busy)
        view.pointed.connect(partial(self.pointed.emit, view))
        view.mark_doubt(self._doubt)
        view.show_tokens(self._tokens)
        if exchange.problem is not None:
            view.show_problem(self._problem_view(exchange.problem, view))
        view.fold_as(self._folds.get(id(exchange), ()))
        if exchange.ended:
            view.end()
        elif exchange.reply or exchange.shown:
            view.grow()
        return view

    def _problem_view(self, problem: Problem, parent: QWidget | None = None) -> ProblemView:
        return ProblemView(problem, self._theme, self._ask, parent or self._page)


def _discard(view: EntryView) -> None:
    focus = QApplication.focusWidget()
    page = view.parentWidget()
    if focus is not None and page is not None and view.isAncestorOf(focus):
        # Hidden with the focus in it, it would send that on to what is being replaced.
        (page.parentWidget() or page).setFocus(Qt.FocusReason.OtherFocusReason)
    view.blockSignals(True)
    view.hide()
    view.deleteLater()


def stops_of(view: QWidget) -> list[QWidget]:
    """Return the tab stops of a view, in reading order."""
    stops = [child for child in _focusable(view) if child.isVisibleTo(view) and child.isEnabled()]

    def place(child: QWidget) -> tuple[int, int]:
        corner = child.mapTo(view, child.rect().topLeft())
        return corner.y(), corner.x()

    return sorted(stops, key=place)


def leave_tab_order(view: QWidget) -> None:
    """Remove a view's widgets from the window's Tab order: views come and go, and the transcript knows their order."""
    for child in _focusable(view):
        button = isinstance(child, QAbstractButton)
        child.setFocusPolicy(Qt.FocusPolicy.NoFocus if button else Qt.FocusPolicy.ClickFocus)


def _focusable(view: QWidget) -> list[QWidget]:
    return [
        child
        for child in view.findChildren(QWidget)
        if isinstance(child, QAbstractButton)
        or (isinstance(child, QAbstractScrollArea) and child.focusPolicy() != Qt.FocusPolicy.NoFocus)
    ]
