"""Define the base of all transcript entries, and the simplest of them: a problem."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from app.state.chat.intents import Act, EntryIntent, ShowDetails
from app.state.chat.transcript import Action, Problem
from app.views.markdown.auto_height_text import AutoHeightText
from app.views.widgets.boxes import in_column, in_row, wide
from app.views.widgets.icons import icon
from app.views.widgets.theme import Theme
from app.words.damage import damage_note


class DroppedLine(QWidget):
    """Draw a thin line with words in it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        words = QLabel(self.tr("The model no longer reads the messages above"), self)
        words.setObjectName("caption")
        words.setToolTip(self.tr("They do not fit in the context. The system prompt and your message are always sent."))
        self.setAccessibleName(words.text())
        row = in_row(wide(self._rule()), spacing=12, margins=(0, 8, 0, 4), parent=self)
        row.addWidget(words, 0, Qt.AlignmentFlag.AlignCenter)
        row.addWidget(self._rule(), 1)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def _rule(self) -> QFrame:
        rule = QFrame(self)
        rule.setObjectName("rule")
        rule.setFixedHeight(1)
        return rule


class DamageLine(QLabel):
    """Mark a message whose file was changed."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(damage_note(), parent)
        self.setObjectName("damage")
        self.setWordWrap(True)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)


Ask = Callable[[EntryIntent], None]


class EntryView(QFrame):
    """Define the base of all entries. Signal: resized() (it may need another height).

    What the reader wants of it goes to `ask`, which it is made with.

    Attributes: needed, the height (pixels) that was found last, 0 before; floor, the height that it keeps until it is
    taller or all drawn: a reply that goes on is written anew from its beginning.
    """

    resized = Signal()

    def __init__(self, ask: Ask, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.needed = self.floor = 0
        self._ask = ask
        self._line: DroppedLine | None = None

    def ask(self, intent: EntryIntent) -> None:
        """Pass on the reader's intent, unless this view is being removed."""
        if not self.signalsBlocked():
            self._ask(intent)

    @property
    def pinned(self) -> bool:
        """Return True if it must not be removed."""
        return False

    @property
    def is_drawn(self) -> bool:
        """Return True if its visible part is drawn."""
        return True

    def mark_dropped(self, on: bool) -> None:
        """Draw a line below it, or none: the model no longer reads the entries above."""
        layout = self.layout()
        if on == (self._line is not None) or layout is None:
            return
        if self._line is not None:
            self._line.hide()
            self._line.deleteLater()
            self._line = None
        else:
            self._line = DroppedLine(self)
            layout.addWidget(self._line)
            self._line.show()
        self.resized.emit()

    def measure(self, width: int) -> int:
        """Return the height that it needs at a width (pixels); it takes that width. For a visible view."""
        if self.width() != width:
            self.resize(width, self.height())
        layout = self.layout()
        if layout is None:
            return self.needed
        layout.activate()
        tall = layout.hasHeightForWidth()
        self.needed = layout.totalHeightForWidth(width) if tall else layout.totalSizeHint().height()
        return self.needed

    def room(self, held: int) -> int:
        """Return the height that it gets, having had `held` until now.

        Room is kept for text that is still to be drawn.
        """
        if not self.is_drawn:
            return max(self.needed, held)
        if self.needed >= self.floor:
            self.floor = 0
        return max(self.needed, self.floor)

    def event(self, event: QEvent) -> bool:
        """React to a change of height inside: a fold, an editor, another font."""
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            self.resized.emit()
        return done


class ProblemView(EntryView):
    """Show a problem with its remedy."""

    def __init__(self, problem: Problem, theme: Theme, ask: Ask, parent: QWidget | None = None) -> None:
        super().__init__(ask, parent)
        self.problem = problem
        self.setObjectName("notice")
        self.setAccessibleName(self.tr("Problem"))
        self._theme = theme
        self._icon = QLabel(self)
        # Not a label: the height that a wrapped label asks for does not know its width.
        self.text = AutoHeightText(self)
        self.text.setObjectName("noticeText")
        self.text.setAccessibleName(self.tr("Problem"))
        self.text.setPlainText(problem.text)
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(self.text, 1)
        layout = in_column(row, spacing=8, margins=(12, 12, 12, 12), parent=self)
        self._add_buttons(layout)
        theme.changed.connect(self._draw_icon)
        self._draw_icon()

    def _add_buttons(self, layout: QVBoxLayout) -> None:
        words: dict[Action, str] = {
            "choose-folder": self.tr("Choose a folder…"),
            "longer-context": self.tr("Longer context…"),
        }
        row = in_row(spacing=8, margins=(26, 0, 0, 0))
        action = self.problem.action
        if action is not None:
            button = QPushButton(words[action], self)
            button.clicked.connect(lambda: self.ask(Act(action)))
            row.addWidget(button)
        if self.problem.details is not None:
            details = QPushButton(self.tr("Details…"), self)
            details.clicked.connect(self._show_details)
            row.addWidget(details)
        if row.count():
            row.addStretch(1)
            layout.addLayout(row)

    def _draw_icon(self) -> None:
        self._icon.setPixmap(icon(self._theme, "warning-circle", "danger").pixmap(18, 18))

    def _show_details(self) -> None:
        self.ask(ShowDetails(self.problem))
