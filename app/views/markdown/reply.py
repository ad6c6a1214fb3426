"""Show a reply as it grows: the answer as Markdown, the thought as a line that unfolds."""

from __future__ import annotations

from collections import deque
from time import perf_counter

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QResizeEvent, QTextCursor
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.state.chat.thoughts import CLOSING, OPENING, ReplyPiece, Thoughts
from app.state.markdown import code_colors
from app.state.markdown import parser as markdown_parser
from app.views.markdown.auto_height_text import AutoHeightText, take_height
from app.views.markdown.code_bars import CodeBar
from app.views.markdown.text import MarkdownText
from app.views.markdown.thought import ThoughtView
from app.views.widgets.paint_budget import PaintBudget
from app.views.widgets.theme import Theme

__all__ = ["FLUSH_MS", "AutoHeightText", "ReplyView"]

FLUSH_MS = 50
_SHARE = 7
"""While a reply streams, drawing rests seven times as long as it worked: the model needs the machine too."""
_LONGEST_REST_S = 0.25
_BUDGET_S = 0.006
_PAUSE_S = 0.003
_TURN_MS = 4
_PIECE = 2_000
_MOST_PARTS = 20
_SPACING = 8


class ReplyView(QWidget):
    """Show a growing reply. It is drawn some twenty times a second, a few milliseconds each, however fast it comes.

    Signals: settled() (all text that was given is drawn, and the reply is complete), grew() (its height changed),
    answer_wanted() (the thought is to end now), paged(MarkdownPage) (there is another page).
    """

    paged = Signal(object)
    settled = Signal()
    grew = Signal()
    answer_wanted = Signal()

    def __init__(self, theme: Theme, budget: PaintBudget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._budget = budget
        self.setObjectName("reply")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._theme = theme
        self._source: list[str] = []
        self._complete = False
        self._settled = False
        self._clock = QTimer(self)
        self._clock.setSingleShot(True)
        self._clock.timeout.connect(self._flush)
        self._parts: list[MarkdownText | ThoughtView] = []
        self._begin()
        theme.changed.connect(self._draw_again)
        # The model still thinks: the parser is there before the first word.
        QTimer.singleShot(0, self, markdown_parser.prepare)
        QTimer.singleShot(FLUSH_MS // 2, self, code_colors.prepare)

    @property
    def is_settled(self) -> bool:
        """Return True if the reply is complete and drawn."""
        return self._settled

    @property
    def thoughts(self) -> list[ThoughtView]:
        return [part for part in self._parts if isinstance(part, ThoughtView)]

    @property
    def texts(self) -> list[MarkdownText]:
        """Return its text without its thoughts."""
        return [part for part in self._parts if isinstance(part, MarkdownText)]

    @property
    def bodies(self) -> list[MarkdownText]:
        """Return its texts and those of its thoughts, in order."""
        return [part.body if isinstance(part, ThoughtView) else part for part in self._parts]

    @property
    def code_bars(self) -> list[CodeBar]:
        return [bar for part in self.texts for bar in part.bars if isinstance(bar, CodeBar)]

    def toPlainText(self) -> str:  # noqa: N802 - as Qt's text widgets call it
        return "\n".join(part.to_plain_text() for part in self._parts)

    def textCursor(self) -> QTextCursor:  # noqa: N802 - as Qt's text widgets call it
        """Return the cursor of the part where something is selected, or else one without a selection."""
        cursors = [page.textCursor() for page in self.findChildren(AutoHeightText)]
        return next((cursor for cursor in cursors if cursor.hasSelection()), QTextCursor())

    def grow(self, text: str) -> None:
        self._source.append(text)
        self._take(text)
        if not self._clock.isActive():
            self._clock.start(max(FLUSH_MS, round(1000.0 * (self._rest_until - perf_counter()))))

    def finish(self, text: str) -> None:
        """Finish the reply; `text` is all of it."""
        self._complete = True
        if text != "".join(self._source):
            self._source = [text]
            self._begin()
            self._take(text)
        self._clock.start(0)

    def _begin(self) -> None:
        while self._parts:
            self._drop(self._parts.pop())
        self._split = Thoughts()
        self._read_all = self._all_ended = False
        self._unread: deque[str] = deque()
        self._pieces: deque[ReplyPiece] = deque()
        self._seen_since: float | None = None
        self._plain_thought = False
        self._rest_until = 0.0

    def _take(self, text: str) -> None:
        self._unread.extend(text[at : at + _PIECE] for at in range(0, len(text), _PIECE))

    # Drawing ----------------------------------------------------------------------------------------------------------

    def _flush(self) -> None:
        """Draw new text, for a few milliseconds at most."""
        began = perf_counter()
        if wait := self._budget.wait_ms():
            self._clock.start(wait)
            return
        idle = self._work(began + _BUDGET_S)
        done = idle and self._all_ended and not self._settled
        self._settled = self._settled or done
        self.fit()
        self.grew.emit()
        now = perf_counter()
        self._budget.take(_PAUSE_S)
        self._rest_until = now + min(_SHARE * (now - began), _LONGEST_REST_S)
        if done:
            self.settled.emit()
        elif not idle:
            waits = any(part.blocked for part in self._parts)
            self._clock.start(_TURN_MS if self._complete and not waits else FLUSH_MS // 2)

    def _work(self, until: float) -> bool:
        """Write until then. Whether everything is written."""
        try:
            while perf_counter() < until:
                part = next((part for part in self._parts if part.busy), None)
                if part is not None:
                    part.step()
                    if part.blocked:
                        return False
                elif self._pieces:
                    self._place(self._pieces.popleft())
                elif not self._read():
                    break
            else:
                return False
        finally:
            for part in self._parts:
                part.close_edit()
        for part in self._parts:
            part.show_tail()
        return True

    def _read(self) -> bool:
        """Read on. False if there is nothing unread."""
        if self._unread:
            self._pieces.extend(self._split.push(self._unread.popleft()))
        elif self._complete and not self._read_all:
            self._pieces.extend(self._split.finish())
            self._read_all = True
        elif self._complete and not self._all_ended:
            self._plain_thought = False
            self._end_part()
            self._all_ended = True
        else:
            return False
        return True

    def _draw_again(self) -> None:
        """Draw everything again: the colours changed, and they are part of the documents."""
        for part in self._parts:
            part.draw_again()
        if self._parts:
            self._budget.clear()
            self._flush()

    def fit(self) -> None:
        height = 0
        for part in self._parts:
            part.move(0, height)
            if part.width() != self.width():
                part.resize(self.width(), part.height())
            part.fit()
            height += part.height() + _SPACING
        height = max(height - _SPACING, self.fontMetrics().height())
        take_height(self, height)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        super().resizeEvent(event)
        if event.oldSize().width() != event.size().width():
            self.fit()

    # Parts ------------------------------------------------------------------------------------------------------------

    def _place(self, piece: ReplyPiece) -> None:
        """Pass a piece to its part."""
        if self._seen_since is None:
            self._seen_since = perf_counter()
        match piece.what:
            case "said":
                self._say(piece.text)
            case "thought":
                self._think(piece.text)
            case "begins":
                self._seen_since = perf_counter()
                self._plain_thought = len(self._parts) >= _MOST_PARTS
                if self._plain_thought:
                    self._say(OPENING)
            case "ends":
                if self._plain_thought:
                    self._say(CLOSING)
                    self._plain_thought = False
                elif self._parts and isinstance(self._parts[-1], ThoughtView):
                    self._end_part()
            case "was thought":
                text = "".join(piece for part in self.texts for piece in part.source)
                while self._parts:
                    self._drop(self._parts.pop())
                # All of it, from the beginning.
                self._think(text)
                self._end_part()

    def _say(self, text: str) -> None:
        last = self._parts[-1] if self._parts else None
        if not isinstance(last, MarkdownText):
            if not text.strip():
                return
            last = MarkdownText(self._theme, self)
            self._add(last, last, text)
        last.feed(text)

    def _think(self, text: str) -> None:
        last = self._parts[-1] if self._parts else None
        if self._plain_thought:
            self._say(text)
            return
        if not isinstance(last, ThoughtView) or last.ended:
            if not text.strip():
                return
            self._end_part()
            last = ThoughtView(self._theme, self, folded=self._complete)
            last.turned.connect(self._turned)
            last.answer_wanted.connect(self.answer_wanted)
            self._add(last, last.body, text)
        last.feed(text)

    def _add(self, part: MarkdownText | ThoughtView, body: MarkdownText, text: str) -> None:
        before = self._parts[-1] if self._parts else None
        passed = 0
        if before is not None:
            earlier = before.body if isinstance(before, ThoughtView) else before
            passed = earlier.page.base + sum(map(len, before.source))
        body.page.base = max("".join(self._source).find(text, passed), passed)
        self._parts.append(part)
        self.paged.emit(body.page)
        part.resize(self.width(), 0)
        part.show()

    def _end_part(self) -> None:
        """End the current part. The time of a thought is known only if it was seen while it came."""
        last = self._parts[-1] if self._parts else None
        if isinstance(last, MarkdownText):
            last.end()
        elif last is not None and not last.ended:
            seen = None if self._complete or self._seen_since is None else perf_counter() - self._seen_since
            last.end(seen)

    @staticmethod
    def _drop(part: QWidget) -> None:
        part.hide()
        part.deleteLater()

    def _turned(self) -> None:
        """Lay out again after a thought was folded or unfolded."""
        self._clock.start(0)
        self.fit()
        self.grew.emit()
