"""Show the conversation on the screen: questions, replies, and the reader's intents."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, QRect, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractSlider, QApplication, QTextEdit, QWidget

from app.state.chat.column import like_entry, same_entries
from app.state.chat.transcript import Entry, Exchange
from app.views.chat.column import COLUMN, MARGIN, ColumnView
from app.views.chat.entries import leave_tab_order, stops_of
from app.views.chat.exchange import ExchangeView
from app.views.chat.question import QuestionEditor
from app.views.tokens.layer import TOKEN_KEYS, WALKED
from app.views.widgets.icons import icon_button
from app.views.widgets.paint_budget import PaintBudget
from app.views.widgets.theme import Theme

__all__ = ["COLUMN", "TranscriptView"]

_LAID_OUT_MS = 20
_Step = QAbstractSlider.SliderAction
_KEYS = {
    Qt.Key.Key_Up: _Step.SliderSingleStepSub,
    Qt.Key.Key_Down: _Step.SliderSingleStepAdd,
    Qt.Key.Key_PageUp: _Step.SliderPageStepSub,
    Qt.Key.Key_PageDown: _Step.SliderPageStepAdd,
    Qt.Key.Key_Home: _Step.SliderToMinimum,
    Qt.Key.Key_End: _Step.SliderToMaximum,
}


class TranscriptView(ColumnView):
    """Show entries. Signal: selected(Exchange), the reader clicked into one, or came to it with the keys."""

    selected = Signal(object)

    def __init__(self, theme: Theme, budget: PaintBudget, parent: QWidget | None = None) -> None:
        super().__init__(theme, budget, parent)
        self.setObjectName("transcript")
        self.setAccessibleName(self.tr("Chat"))
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.viewport().setObjectName("page")
        self.jump_button = icon_button(theme, "arrow-down", self.tr("Jump to the end"), self)
        self.jump_button.setObjectName("jump")
        self.jump_button.setFixedSize(QSize(34, 34))
        self.jump_button.clicked.connect(self.jump_to_end)
        self.jump_button.hide()
        self._connect()

    def _connect(self) -> None:
        self._views.pointed.connect(self._reveal)
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.focusChanged.connect(self._focus_moved)

    # What is shown ----------------------------------------------------------------------------------------------------

    @property
    def following(self) -> bool:
        """Return True if the view stays at the end as the reply grows."""
        return self._following

    @property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(self._column.entries)

    def show_tokens(self, on: bool) -> None:
        """Show all replies token by token, or as Markdown."""
        self._views.show_tokens(on)

    def mark_doubt(self, on: bool) -> None:
        """Colour tokens by the target's certainty, or else by their origin."""
        self._views.mark_doubt(on)

    def view_of(self, exchange: Exchange) -> ExchangeView | None:
        """Return the view of an exchange, if it has one now: far from the reader's place it may have none."""
        view = self._views.get(exchange)
        return view if isinstance(view, ExchangeView) else None

    def add(self, entry: Entry) -> None:
        """Show another entry, and go to the end."""
        self._column.append(entry)
        self.jump_to_end()

    def show_all(self, entries: Sequence[Entry]) -> None:
        """Show these entries and no others.

        What is read stays where it is if it is among them, be it as another object with the same messages. Otherwise,
        or if the last entry is still to be written, the end is shown.
        """
        before, shown = self._column.entries, self._range()
        same = same_entries(before, entries)
        growing = bool(entries) and isinstance(entries[-1], Exchange) and not entries[-1].ended
        follow = growing or (self._following and len(entries) <= len(before))
        anchor = None if follow else self._anchor(shown, same, entries)
        action = self._focused_action(same, entries)
        self._replace(entries, same)
        if anchor is None:
            self.jump_to_end()
        else:
            place, y = anchor
            self._go_to(MARGIN + self._column.top(place) - y)
        if action is not None:
            self._focus_action(*action)

    def refresh(self, exchange: Exchange) -> None:
        """Refresh an exchange that has other branches or figures, or goes on where it had ended."""
        view = self.view_of(exchange)
        if view is None:
            return
        if view.shows(exchange):
            view.refresh(exchange)
        else:
            self._views.drop(exchange)
            self._fill(1.0)

    def grow(self, exchange: Exchange) -> None:
        """Show more of a reply; the exchange has it already."""
        view = self.view_of(exchange)
        if view is None:
            return
        if view.shows(exchange):
            view.grow()
        else:
            self.refresh(exchange)

    def end(self, exchange: Exchange) -> None:
        self._views.end(exchange)
        self._measure_again(exchange)

    def show_calls(self, exchange: Exchange) -> None:
        view = self.view_of(exchange)
        if view is not None:
            view.show_calls()
            self._measure_again(exchange)

    def asks_about_tool(self) -> bool:
        """Return True if the last reply waits for an answer about a tool."""
        entries = self._column.entries
        return bool(entries) and isinstance(entries[-1], Exchange) and entries[-1].tools is not None

    def enter_question(self) -> None:
        """Move the keyboard to the first answer that can be given about a tool."""
        last = self._column.entries[-1] if self.asks_about_tool() else None
        view = self.view_of(last) if isinstance(last, Exchange) else None
        if view is not None and view.card is not None and view.card.buttons:
            view.card.buttons[0].setFocus(Qt.FocusReason.TabFocusReason)
            self._bring_into_view(view.card.buttons[-1])

    def clear(self) -> None:
        self._replace((), {})
        self.jump_to_end()

    def mark_dropped(self, entry: Entry | None) -> None:
        """Draw a line below the last entry that the model no longer reads; None: it reads all."""
        self._views.mark_dropped(entry)

    def set_busy(self, busy: bool) -> None:
        """Prevent changes of messages while a reply is being written."""
        self._views.set_busy(busy)

    def jump_to_end(self) -> None:
        """Scroll to the end and stay there."""
        self._following = True
        self._settle()
        self._open()

    def _focused_action(self, same: dict[int, int], entries: Sequence[Entry]) -> tuple[int, bool, str] | None:
        """Return the focused action: the entry's new index, True for the question's, its name."""
        focus = QApplication.focusWidget()
        for place, view in self._placed():
            if focus is None or not isinstance(view, ExchangeView):
                continue
            question = view.question_actions.isAncestorOf(focus)
            if question or view.reply_actions.isAncestorOf(focus):
                new = same.get(place, like_entry(self._column.entries[place], entries))
                if new is None and place < len(entries):
                    new = place
                return None if new is None else (new, question, focus.objectName())
        return None

    def _focus_action(self, place: int, question: bool, name: str) -> None:
        view = self._make(place)
        if isinstance(view, ExchangeView):
            view.build_actions()
            (view.question_actions if question else view.reply_actions).focus_on(name)

    def _anchor(self, shown: range, same: dict[int, int], entries: Sequence[Entry]) -> tuple[int, int] | None:
        """Return the entry that keeps its position: its new index, and its distance from the viewport's top."""
        old = self._column.entries
        for place in (*shown, *reversed(range(shown.start))):
            new = same.get(place)
            if new is None and place in shown:
                new = like_entry(old[place], entries)
            if new is not None:
                return new, MARGIN + self._column.top(place) - self._value
        return None

    # The jump button --------------------------------------------------------------------------------------------------

    def _moved(self) -> None:
        wanted = not self._following and bool(len(self._column))
        if wanted != self.jump_button.isVisibleTo(self):
            self.jump_button.setVisible(wanted)
            self.jump_button.raise_()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        super().resizeEvent(event)
        area, button = self.viewport().geometry(), self.jump_button
        button.move(area.center().x() - button.width() // 2, area.bottom() - button.height() - 12)

    # The keyboard -----------------------------------------------------------------------------------------------------

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        if not self.scroll_by_key(event):
            super().keyPressEvent(event)

    def scroll_by_key(self, event: QKeyEvent) -> bool:
        """Scroll on Up, Down, Page Up, Page Down, Home and End; return True if the key was one of them."""
        plain = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier == Qt.KeyboardModifier.NoModifier
        step = _KEYS.get(Qt.Key(event.key())) if plain else None
        if step is not None:
            self.verticalScrollBar().triggerAction(step)
        return step is not None

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Leave these keys to the conversation while a text has the focus."""
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            within = bool(watched.property(WALKED)) and event.key() in TOKEN_KEYS
            if not within and self.scroll_by_key(event):
                return True
        return super().eventFilter(watched, event)

    def _focus_moved(self, old: QWidget | None, new: QWidget | None) -> None:
        if isinstance(old, QTextEdit):
            old.removeEventFilter(self)
        if isinstance(new, QTextEdit) and self.isAncestorOf(new):
            new.installEventFilter(self)
        for _, view in self._placed():
            if new is not None and isinstance(view, ExchangeView) and view.isAncestorOf(new):
                self.selected.emit(view.exchange)
        editor = None if new is None else new.parentWidget()
        box = editor.parentWidget() if isinstance(editor, QuestionEditor) else None
        if new is not None and box is not None and not box.visibleRegion().isEmpty():
            # What is in sight stays so, once there is room for it.
            QTimer.singleShot(_LAID_OUT_MS, new, lambda: self._bring_into_view(new))
        self._views.refresh_actions(old, new)

    def focusNextPrevChild(self, forward: bool) -> bool:  # noqa: N802 - Qt's name
        """Move the focus through the entries in their order, whatever order their views were made in."""
        focus = QApplication.focusWidget()
        stop = self._stop_beside(focus, 1 if forward else -1)
        if stop is None and not forward and focus is not self:
            stop = self
        if stop is None:
            return self._leave(forward)
        stop.setFocus(Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason)
        if stop is not self:
            self._bring_into_view(stop)
        return True

    def _stop_beside(self, focus: QWidget | None, step: int) -> QWidget | None:
        """Return the next thing to stop at, in a view that is made if need be."""
        place = next((place for place, view in self._placed() if focus is not None and view.isAncestorOf(focus)), None)
        if place is None:
            return next((stop for near in self._range() for stop in self._stops(near)), None) if step > 0 else None
        stops = self._stops(place)
        at = stops.index(focus) + step if focus in stops else 0
        while not 0 <= at < len(stops):
            place += step
            if not 0 <= place < len(self._column):
                return None
            stops = self._stops(place)
            at = 0 if step > 0 else len(stops) - 1
        return stops[at]

    def _stops(self, place: int) -> list[QWidget]:
        view = self._make(place)
        if isinstance(view, ExchangeView):
            view.build_actions()
        leave_tab_order(view)
        return stops_of(view)

    def _leave(self, forward: bool) -> bool:
        after = self.nextInFocusChain() if forward else self.previousInFocusChain()
        while after is not None and after is not self:
            reachable = bool(after.focusPolicy() & Qt.FocusPolicy.TabFocus) and after.focusProxy() is None
            if reachable and not self.isAncestorOf(after) and after.isVisible() and after.isEnabled():
                after.setFocus(Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason)
                return True
            after = after.nextInFocusChain() if forward else after.previousInFocusChain()
        return False

    def _reveal(self, view: QWidget, place: QRect) -> None:
        """Scroll until a part of a view can be seen."""
        top = view.mapTo(self.viewport(), place.topLeft()).y()
        above, below = top - MARGIN, top + place.height() + MARGIN - self.viewport().height()
        if above < 0 or below > 0:
            self.verticalScrollBar().setValue(self._value + (above if above < 0 else below))

    def _bring_into_view(self, widget: QWidget) -> None:
        if not self.viewport().isAncestorOf(widget):  # It was replaced meanwhile.
            return
        top = widget.mapTo(self.viewport(), widget.rect().topLeft()).y()
        bottom, room = top + widget.height(), self.viewport().height()
        if top < 0 or (bottom > room and widget.height() > room):
            self.verticalScrollBar().setValue(self._value + top - MARGIN)
        elif bottom > room:
            self.verticalScrollBar().setValue(self._value + bottom - room + MARGIN)
