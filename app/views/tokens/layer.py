"""Colour the tokens of a rendered reply, and tell of the one under the mouse or the keys."""

from __future__ import annotations

from array import array
from bisect import bisect_right

from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, QRect, QRectF, Qt, Signal
from PySide6.QtGui import QAccessible, QAccessibleEvent, QFocusEvent, QKeyEvent, QMouseEvent, QPainter

from app.state.chat.displayed_reply import shown_pieces
from app.state.chat.trace import TokenTrace
from app.state.chat.unsure import doubt_of
from app.views.markdown.reply import ReplyView
from app.views.markdown.source_map import SourceMap
from app.views.markdown.text import MarkdownPage
from app.views.tokens.card import TokenCard, describe_token
from app.views.tokens.painter import DOUBT_LOOKS, ORIGIN_LOOKS, Look, TokenPainter
from app.views.tokens.road import RoadCard
from app.views.widgets.keys import keeps_escape
from app.views.widgets.theme import Theme

_STEPS = {Qt.Key.Key_Right: 1, Qt.Key.Key_Left: -1, Qt.Key.Key_Home: -(2**31), Qt.Key.Key_End: 2**31}
TOKEN_KEYS = frozenset({*_STEPS, Qt.Key.Key_Up, Qt.Key.Key_Down})
"""Keys that go from token to token."""
WALKED = "tokensAreWalked"
"""The property of a text in which they do."""


class TokenLayer(QObject):
    """Paint tokens over a rendered reply. A card describes the token under the mouse or the keys.

    Signals: pointed(QRect) (the keys went to the token in this rectangle of the reply); chosen(index, by_keys) (the
    reader wants to go on from this token).
    """

    pointed = Signal(QRect)
    chosen = Signal(int, bool)

    def __init__(self, reply: ReplyView, theme: Theme) -> None:
        super().__init__(reply)
        self._reply = reply
        self._theme = theme
        self._offsets = TokenOffsets(TokenTrace())
        self._by_doubt = False
        self._pressed: int | None = None
        self._road: RoadCard | None = None
        self._current: int | None = None
        self._card: TokenCard | None = None
        self._pages: list[MarkdownPage] = []
        reply.paged.connect(self._take)
        for body in reply.bodies:
            for page in {body.page, *body.pages}:
                self._take(page)

    @property
    def card(self) -> TokenCard:
        """Return the card, created at its first use: most replies that are scrolled past never need theirs."""
        if self._card is None:
            self._card = TokenCard(self._theme, self._reply)
            self._card.dismissed.connect(lambda: self.point_at(None))
        return self._card

    # What is shown ----------------------------------------------------------------------------------------------------

    @property
    def trace(self) -> TokenTrace:
        return self._offsets.trace

    def follow(self, trace: TokenTrace, reply: str, shown: str) -> None:
        """Show this record of a reply, of which this is shown, as far as both are there."""
        if trace is not self._offsets.trace:
            recorded = trace.text
            self._offsets = TokenOffsets(trace, len(reply) - len(recorded) if reply.endswith(recorded) else 0)
        self._offsets.catch_up()
        self._offsets.match(reply, shown)
        self._repaint()

    def end(self) -> None:
        """Take the colours away."""
        self.leave_road()
        self.point_at(None)
        self._reply.paged.disconnect(self._take)
        for page in self._known_pages():
            page.over = None
            page.setProperty(WALKED, None)
            page.removeEventFilter(self)
            page.viewport().removeEventFilter(self)
        self._repaint()
        if self._card is not None:
            self._card.deleteLater()
        self.deleteLater()

    def _take(self, page: MarkdownPage) -> None:
        page.over = self._paint
        page.setProperty(WALKED, True)
        page.installEventFilter(self)
        page.viewport().installEventFilter(self)
        page.viewport().setMouseTracking(True)

    def _known_pages(self) -> list[MarkdownPage]:
        return [page for body in self._reply.bodies for page in {body.page, *body.pages}]

    def _shown_pages(self) -> list[MarkdownPage]:
        return [page for body in self._reply.bodies if body.isVisibleTo(self._reply) for page in body.pages]

    def _repaint(self) -> None:
        for page in self._known_pages():
            page.viewport().update()

    # Geometry ---------------------------------------------------------------------------------------------------------

    def _places(self, page: MarkdownPage) -> PagePlaces:
        pages = self._shown_pages()
        return PagePlaces(page.writer.map, page.base, self._offsets, is_last=bool(pages) and pages[-1] is page)

    def painter_of(self, page: MarkdownPage) -> TokenPainter:
        """Return the layer that paints the tokens of a page."""
        return TokenPainter(page.document(), self._places(page), self._theme, self.look_of)

    def look_of(self, index: int) -> Look:
        """Return the look of a token: by its origin, or by the target's certainty."""
        trace = self.trace
        return DOUBT_LOOKS[doubt_of(trace, index)] if self._by_doubt else ORIGIN_LOOKS[trace.origin(index)]

    def mark_doubt(self, on: bool) -> None:
        """Colour tokens by the target's certainty, or else by their origin."""
        self._by_doubt = on
        self._repaint()

    def _paint(self, page: MarkdownPage, area: QRect) -> None:
        if not len(self._offsets):
            return
        painter = QPainter(page.viewport())
        current = self._current if self._current is not None and self._page_of(self._current) is page else None
        self.painter_of(page).paint(painter, QRectF(area), current)
        painter.end()

    def _page_of(self, index: int) -> MarkdownPage | None:
        """Return the page where a token stands; of one that is not shown, the one where it would."""
        pages = self._shown_pages()
        return next((page for page in pages if self._places(page).holds(index)), pages[-1] if pages else None)

    def place_of(self, index: int) -> QRect:
        """Return the rectangle of a token in the reply; of a token on two lines the part on the first."""
        page = self._page_of(index)
        if page is None:
            return QRect()
        pieces = self.painter_of(page).pieces_of(index)
        rect = pieces[0].rect.toAlignedRect() if pieces else QRect()
        return rect.translated(page.viewport().mapTo(self._reply, QPoint(0, 0)))

    def token_at(self, point: QPoint) -> int | None:
        for page in self._shown_pages():
            inside = page.viewport().mapFrom(self._reply, point)
            if page.viewport().rect().contains(inside):
                return self._token_in(page, inside.toPointF())
        return None

    def _token_in(self, page: MarkdownPage, point: QPointF) -> int | None:
        return self.painter_of(page).token_at(point) if len(self._offsets) else None

    # The token that is pointed at -------------------------------------------------------------------------------------

    @property
    def current(self) -> int | None:
        """Return the token that the card tells about."""
        return self._current

    def point_at(self, index: int | None) -> None:
        """Show the card of a token, or none."""
        if index == self._current:
            return
        before, self._current = self._current, index
        for changed in (before, index):
            page = None if changed is None else self._page_of(changed)
            if page is not None:
                page.viewport().update()
        if index is None:
            if self._card is not None:
                self._card.hide()
            return
        record = self.trace[index]
        self.card.tell(record, self.place_of(index))
        words = describe_token(record)
        self.card.setAccessibleName(words)
        page = self._page_of(index)
        if page is not None:
            page.setAccessibleDescription(words)
            QAccessible.updateAccessibility(QAccessibleEvent(page, QAccessible.Event.DescriptionChanged))

    def go(self, index: int) -> None:
        """Move to a token, as with the keys."""
        if len(self._offsets):
            index = min(max(index, 0), len(self._offsets) - 1)
            self.pointed.emit(self.place_of(index))
            self.point_at(index)

    def _go_lines(self, step: int) -> None:
        here = self.place_of(self._current or 0)
        x, y = here.left() + min(here.width() // 2, 3), here.center().y()
        for far in range(1, 9):
            found = self.token_at(QPoint(x, y + step * round(far * 0.75 * here.height())))
            if found is not None and found != self._current and self.place_of(found).top() != here.top():
                self.go(found)
                return
        self.go((self._current or 0) + step)

    # Events -----------------------------------------------------------------------------------------------------------

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Follow the mouse over the pages, and the keys in them."""
        match event:
            case QMouseEvent() if not isinstance(watched, MarkdownPage):
                self._follow_mouse(watched.parent(), event)
            case QKeyEvent() if isinstance(watched, MarkdownPage):
                held = self._current is not None or self._road is not None
                is_override = event.type() == QEvent.Type.ShortcutOverride and held
                if is_override and keeps_escape(event):
                    return True
                if event.type() == QEvent.Type.KeyPress and self._take_key(event):
                    return True
            case QFocusEvent() if isinstance(watched, MarkdownPage):
                self._follow_focus(watched, event)
            case _ if event.type() in (QEvent.Type.Leave, QEvent.Type.Hide) and self._road is None:
                self.point_at(None)
        return super().eventFilter(watched, event)

    def _follow_mouse(self, page: QObject | None, event: QMouseEvent) -> None:
        """Describe the token under the mouse, unless text is being selected; the keys go on from a click."""
        kinds = (QEvent.Type.MouseMove, QEvent.Type.MouseButtonPress)
        if isinstance(page, MarkdownPage) and event.type() == QEvent.Type.MouseButtonRelease:
            self._note_click(page, event)
        if event.type() not in kinds or not isinstance(page, MarkdownPage):
            return
        if event.type() == QEvent.Type.MouseButtonPress:
            self.leave_road()
            plain = event.button() == Qt.MouseButton.LeftButton and not event.modifiers()
            self._pressed = self._token_in(page, event.position()) if plain else None
        elif self._road is not None:
            return
        drags = event.type() == QEvent.Type.MouseMove and event.buttons() != Qt.MouseButton.NoButton
        self.point_at(None if drags else self._token_in(page, event.position()))

    def offer(self, index: int, *, by_keys: bool) -> RoadCard:
        """Offer to go on from a token; the keys are with that where they asked for it."""
        place, page = self.place_of(index), self._page_of(index)
        self.leave_road()
        self.point_at(index)
        self.card.hide()
        self._road = road = RoadCard(self.trace[index], self._theme, self._reply)
        road.closed.connect(self._forget_road)
        road.show_at(place, page if page is not None else self._reply, by_keys=by_keys)
        return road

    def leave_road(self) -> bool:
        """Close the offered alternatives, if there are any; return True if there were."""
        road = self._road
        if road is not None:
            road.close_card()
        return road is not None

    def _forget_road(self) -> None:
        self._road = None
        self.point_at(None)

    def _note_click(self, page: MarkdownPage, event: QMouseEvent) -> None:
        """Emit a clicked token: not if text was selected, nor on a link."""
        pressed, self._pressed = self._pressed, None
        selected = page.textCursor().hasSelection() or page.anchorAt(event.position().toPoint())
        if pressed is not None and not selected and pressed == self._token_in(page, event.position()):
            self.chosen.emit(pressed, False)

    def _follow_focus(self, page: MarkdownPage, event: QFocusEvent) -> None:
        if self._road is not None:
            return
        if event.type() == QEvent.Type.FocusOut:
            self.point_at(None)
        elif event.reason() in (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason):
            self.go(self._places(page).first_from(0))

    def _take_key(self, event: QKeyEvent) -> bool:
        """Move from token to token with the arrows, Home and End; hide the card on Escape."""
        key, here = event.key(), self._current
        if self.leave_road():
            if key == Qt.Key.Key_Escape:
                return True
            self.point_at(here)
        if event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier or not len(self._offsets):
            return False
        if key in _STEPS:
            self.go((-1 if self._current is None else self._current) + _STEPS[Qt.Key(key)])
        elif key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self._go_lines(1 if key == Qt.Key.Key_Down else -1)
        elif key == Qt.Key.Key_Escape and self._current is not None:
            self.point_at(None)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self._current is not None:
            self.chosen.emit(self._current, True)
        else:
            return False
        return True


class TokenOffsets:
    """Map the tokens of a record to the reply, and the reply's parts to their shown places.

    `head`: characters of the reply before the record.
    """

    def __init__(self, trace: TokenTrace, head: int = 0) -> None:
        self.trace = trace
        self._ends = array("L")
        self._head = head
        self._pieces: list[tuple[int, int, int]] = []
        self.catch_up()

    def __len__(self) -> int:
        return len(self._ends)

    def catch_up(self) -> None:
        """Take the tokens that the record got meanwhile."""
        end = self._ends[-1] if self._ends else self._head
        for index in range(len(self._ends), len(self.trace)):
            end += len(self.trace.text_of(index))
            self._ends.append(end)

    def match(self, reply: str, shown: str) -> None:
        """Match the shown text with the reply, in which a thought split from the answer has other markers."""
        self._pieces = shown_pieces(reply, shown)

    def token_at(self, shown: int) -> int | None:
        """Return the token that wrote a character of the shown text."""
        for begin, reply, length in self._pieces:
            if begin <= shown < begin + length:
                place = shown - begin + reply
                index = bisect_right(self._ends, place)
                return index if self._head <= place and index < len(self._ends) else None
        return None

    def span(self, index: int) -> tuple[int, int]:
        """Return the beginning and end of a token in the shown text; equal if it is hidden."""
        begin = self._ends[index - 1] if index else self._head
        end = self._ends[index]
        last = 0
        for shown, reply, length in self._pieces:
            if end <= reply:
                return shown, shown
            last = shown + length
            if begin < reply + length:
                return shown + max(begin, reply) - reply, shown + min(end, reply + length) - reply
        return last, last


class PagePlaces:
    """Map tokens to positions in one document. `is_last`: True if the reply ends in it."""

    def __init__(self, shown: SourceMap, base: int, offsets: TokenOffsets, *, is_last: bool) -> None:
        self._map = shown
        self._base = base
        self._offsets = offsets
        self._is_last = is_last

    def __len__(self) -> int:
        return len(self._offsets)

    def span(self, index: int) -> tuple[int, int]:
        begin, end = self._offsets.span(index)
        return self._map.shown_of(begin - self._base, end - self._base)

    def at(self, position: int) -> int | None:
        """Return the token to which the character behind this position belongs."""
        for part in self._map.between(position, position + 1):
            return self._offsets.token_at(part.source(position) + self._base)
        return None

    def first_from(self, position: int) -> int:
        """Return the first token that ends behind this position; their number if there is none."""
        for part in self._map.between(position, 2**31):
            found = self._offsets.token_at(part.source(max(position, part.begin)) + self._base)
            if found is not None:
                return found
        return len(self)

    def holds(self, index: int) -> bool:
        """Return True if a token is shown in this document, or would be if it had a text that is shown."""
        begin, _ = self._offsets.span(index)
        at = begin - self._base
        return bool(len(self._map)) and 0 <= at < self._map.source_end + (2**31 if self._is_last else 0)

    @property
    def silent_end(self) -> int | None:
        """Return the last token, where it adds no text: mostly the one that ends the reply."""
        last = len(self) - 1
        return last if self._is_last and last >= 0 and not self._offsets.trace.text_of(last) else None
