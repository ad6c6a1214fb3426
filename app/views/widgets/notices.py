"""Show lines above the prompt that concern the whole program: saving fails, or a model would not fit in memory."""

from __future__ import annotations

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QToolButton, QWidget

from app.system.translation import number
from app.views.widgets.boxes import in_row, wide
from app.views.widgets.icons import icon_button
from app.views.widgets.theme import Theme


class NoticeRow(QFrame):
    """Show a line, hidden until there is a text. Attribute: text."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("notice")
        self.text = QLabel(self)
        self.text.setObjectName("noticeText")
        self.text.setWordWrap(True)

    def _lay_out(self, theme: Theme, answer: str, close: str) -> tuple[QPushButton, QToolButton]:
        """Return the button with the words `answer`, and the cross, whose help is `close`; nothing is connected yet."""
        button = QPushButton(answer, self)
        button.setObjectName("undoButton")
        cross = icon_button(theme, "x", close, self)
        in_row(wide(self.text), button, cross, spacing=8, margins=(12, 4, 4, 4), parent=self)
        self.hide()
        return button, cross

    def _say(self, words: str) -> None:
        """Put these words into it, for the eye and for a screen reader."""
        self.text.setText(words)
        self.setAccessibleName(words)


GOOD_NEWS_MS = 8_000
OFFER_MS = 12_000
TROUBLE_MS = 15_000


class NoticeBar(NoticeRow):
    """Show a notice until it is closed; good news and offers vanish by themselves. Signal: accepted() (an offer)."""

    accepted = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.offer, self.button = self._lay_out(theme, self.tr("Undo"), self.tr("Close"))
        self._standing = ""
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._pass)
        self.button.clicked.connect(self._close)
        self.offer.clicked.connect(self._accept)

    def show_trouble(self, text: str) -> None:
        """Show a problem, until somebody closes it or it is over."""
        self._standing = text
        self._show(text, good=False)

    def show_passing_trouble(self, text: str) -> None:
        """Show a passing problem, for a while or until something is sent: it changes nothing else."""
        self._show(text, good=False)
        self._timer.start(TROUBLE_MS)

    def let_pass(self) -> None:
        """Close a notice that would close by itself."""
        if self._timer.isActive():
            self._pass()

    def _pass(self) -> None:
        """Hide a passing notice; a standing problem is shown again."""
        self._timer.stop()
        self.hide()
        if self._standing:
            self._show(self._standing, good=False)

    def show_good_news(self, text: str) -> None:
        """Show for a while that a problem is over."""
        self._standing = ""
        self._show(text, good=True)
        self._timer.start(GOOD_NEWS_MS)

    def show_word(self, text: str) -> None:
        """Show a word on the current work for a while; a standing problem is shown again after it."""
        self._show(text, good=True)
        self._timer.start(GOOD_NEWS_MS)

    def show_offer(self, text: str, words: str) -> None:
        """Offer something for a while. What is wrong is more important, and stays."""
        if self.isHidden() or self._timer.isActive():
            self._show(text, good=True, words=words)
            self._timer.start(OFFER_MS)

    def _show(self, text: str, *, good: bool, words: str = "") -> None:
        self._timer.stop()
        if words:
            self.offer.setText(words)
        self.offer.setVisible(bool(words))
        self._say(text)
        self.setProperty("good", good)
        self.style().unpolish(self)
        self.style().polish(self)
        self.show()

    def _close(self) -> None:
        self._standing = "" if not self._timer.isActive() else self._standing
        self._pass()

    def _accept(self) -> None:
        self._pass()
        self.accepted.emit()


class LoadNotice(NoticeRow):
    """Announce a load that would not fit. Signals: accepted() (go on all the same), declined()."""

    accepted = Signal()
    declined = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.answer, self.close_button = self._lay_out(theme, self.tr("Load anyway"), self.tr("Do not load"))
        self.answer.clicked.connect(self._accept)
        self.close_button.clicked.connect(self._decline)

    def announce(self, words: str) -> None:
        """Show the question, until it is decided; without words it is withdrawn."""
        self._say(words)
        self.setVisible(bool(words))

    def _accept(self) -> None:
        self.hide()
        self.accepted.emit()

    def _decline(self) -> None:
        self.hide()
        self.declined.emit()


class ContextNotice(NoticeRow):
    """Show the reason why a message was not sent, with remedies.

    Signals: accepted() (choose a longer context), longer(tokens) (load this context, and send).
    """

    accepted = Signal()
    longer = Signal(int)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.answer, self.close_button = self._lay_out(theme, self.tr("Longer context…"), self.tr("Close"))
        self.use = QPushButton(self)
        self.use.setObjectName("undoButton")
        row = self.layout()
        if isinstance(row, QHBoxLayout):
            row.insertWidget(1, self.use)
        self._length: int | None = None
        self.offer(None)
        self.answer.clicked.connect(self.accepted)
        self.use.clicked.connect(self._take)
        self.close_button.clicked.connect(self.hide)

    def offer(self, length: int | None) -> None:
        """Offer a context of so many tokens, in which the message fits; None: there is none to offer."""
        self._length = length
        self.use.setText(self.tr("Use {length} and send").format(length=number(length or 0)))
        self.use.setVisible(length is not None)

    def announce(self, words: str) -> None:
        """Show the notice, until it is closed or the message changes; without words it is withdrawn."""
        self._say(words)
        self.setVisible(bool(words))

    def _take(self) -> None:
        self.hide()
        if self._length is not None:
            self.longer.emit(self._length)


class PairNotice(NoticeRow):
    """Describe a folder, and offer its best pair. Signal: accepted()."""

    accepted = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.answer, self.close_button = self._lay_out(theme, self.tr("Use this pair"), self.tr("Close"))
        self.setProperty("good", True)
        self.answer.clicked.connect(self.accepted)
        self.answer.clicked.connect(self.hide)
        self.close_button.clicked.connect(self.hide)

    def announce(self, words: str, *, pair: bool) -> None:
        """Show the notice, until it is closed or answered. `pair`: there is one to use."""
        self._say(words)
        self.answer.setVisible(pair)
        self.show()
