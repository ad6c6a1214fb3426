"""Show the window: bar on top, chats at the left, the conversation in the middle, Speculation at the right."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from PySide6.QtCore import QByteArray, QEvent, QPoint, QRect, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QGuiApplication, QKeyEvent, QMoveEvent, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QApplication, QHBoxLayout, QMainWindow, QSplitter, QStackedWidget, QWidget

from app.settings.settings import FONT_POINTS, Settings
from app.state.chat.intents import Act, ChooseToken, Edit, EntryIntent, GoOn, MarkDoubt
from app.state.conversations.list import ConversationList
from app.state.speculation.metrics import Metrics
from app.system.resources import StarterPrompt
from app.views.chat.transcript import COLUMN, TranscriptView
from app.views.commands.commands import Commands
from app.views.conversations.panel import ConversationPanel
from app.views.models.bar import ModelBar
from app.views.prompt.box import PromptBox
from app.views.prompt.context_meter import ContextMeter
from app.views.prompt.waiting import WaitingView
from app.views.speculation.panel import SpeculationPanel
from app.views.widgets.boxes import in_column, wide
from app.views.widgets.keys import presses_button
from app.views.widgets.notices import ContextNotice, NoticeBar, PairNotice
from app.views.widgets.paint_budget import PaintBudget
from app.views.widgets.progress_strip import ProgressStrip
from app.views.widgets.theme import Theme
from app.views.window.file_dialogs import ask_for_models_folder
from app.views.window.side_panels import CHAT_LEAST, SidePanels
from app.views.window.welcome import WelcomeView

MINIMUM = (720, 480)
DEFAULT = (1_280, 800)


class MainWindow(QMainWindow):
    """Render state, and send intents.

    Attribute: commands (what can be done, with the keys).
    Signals: painted() (once, when the window is on screen), closed(), folder_chosen(str), cancel_wanted(),
    new_chat_wanted(), context_wanted() (the target with a longer one), prompt_sent(text), introduction_ended().
    """

    painted = Signal()
    closed = Signal()
    folder_chosen = Signal(str)
    cancel_wanted = Signal()
    new_chat_wanted = Signal()
    context_wanted = Signal()
    prompt_sent = Signal(str)
    introduction_ended = Signal()

    def __init__(
        self,
        theme: Theme,
        settings: Settings,
        metrics: Metrics,
        conversations: ConversationList,
        starters: Sequence[StarterPrompt],
    ) -> None:
        super().__init__()
        self.setWindowTitle("Outrider")
        self.setMinimumSize(*MINIMUM)
        self._theme = theme
        self._settings = settings
        self._painted = False
        self._empty = True
        self._introduction: QWidget | None = None
        self.commands = Commands(self)
        budget = PaintBudget(self)
        self.bar = ModelBar(theme, self)
        self.left = ConversationPanel(conversations, theme, self)
        self.transcript = TranscriptView(theme, budget, self)
        self.welcome = WelcomeView(starters, self)
        self.notice = NoticeBar(theme, self)
        self.context_notice = ContextNotice(theme, self)
        self.pair_notice = PairNotice(theme, self)
        self.strip = ProgressStrip(theme, self)
        self.prompt = PromptBox(theme, self)
        self.waiting = WaitingView(theme, self)
        self.meter = ContextMeter(theme, self)
        self.panel = SpeculationPanel(metrics, theme, budget, self)
        self._build()
        self._connect()
        self._order_tabs()
        self._restore()
        self.prompt.setFocus()

    # Building ---------------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        self.splitter = QSplitter(Qt.Orientation.Horizontal, self)
        self.splitter.setChildrenCollapsible(False)
        self.splitter.setHandleWidth(5)
        for index, widget in enumerate((self.left, self._make_chat(), self.panel)):
            self.splitter.addWidget(widget)
            self.splitter.setStretchFactor(index, int(index == 1))
        self._panels = SidePanels(self.splitter, self.left, self.panel, self._settings, self._theme, MINIMUM[0])
        central = QWidget(self)
        in_column(self.bar, wide(self.splitter), margins=(0, 0, 0, 0), spacing=0, parent=central)
        self.setCentralWidget(central)

    def _make_chat(self) -> QWidget:
        chat = QWidget(self)
        chat.setObjectName("chat")
        chat.setMinimumWidth(CHAT_LEAST)
        self._pages = QStackedWidget(chat)
        self._pages.addWidget(self.welcome)
        self._pages.addWidget(self.transcript)
        below = QWidget(chat)
        below.setMaximumWidth(COLUMN + 24)
        column = in_column(
            self.notice,
            self.context_notice,
            self.pair_notice,
            self.strip,
            self.waiting,
            self.prompt,
            margins=(0, 0, 0, 0),
            spacing=4,
            parent=below,
        )
        column.addWidget(self.meter, 0, Qt.AlignmentFlag.AlignTrailing)
        layout = in_column(wide(self._pages), spacing=4, margins=(12, 0, 12, 12), parent=chat)
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(below, 1_000)
        row.addStretch(1)
        layout.addLayout(row)
        return chat

    def _order_tabs(self) -> None:
        bar = self.bar
        stops = (
            *(bar.left_button, bar.target, bar.draft, bar.lookahead, bar.library_button, bar.tokens_button),
            *(bar.menu_button, bar.right_button),
        )
        for one, following in pairwise(stops):
            self.setTabOrder(one, following)

    def _connect(self) -> None:
        self.prompt.send.connect(self.prompt_sent)
        self.context_notice.accepted.connect(self.context_wanted)
        self.prompt.refused.connect(self.context_notice.announce)
        self.prompt.edited.connect(lambda: self.context_notice.announce(""))
        self.prompt.cancel.connect(self.cancel_wanted)
        self.welcome.chosen.connect(self.prompt_sent)
        self.strip.cancel.connect(self.cancel_wanted)
        self.left.new_wanted.connect(self.new_chat_wanted)
        self.left.released.connect(self.prompt.setFocus)
        self.left.typed.connect(self.prompt.go_on_typing)
        self.bar.left_toggled.connect(self.show_left)
        self.bar.right_toggled.connect(self.show_right)
        self.bar.tokens_toggled.connect(self._color_tokens)
        self.transcript.intent.connect(self._take)
        self._panels.changed.connect(self._show_buttons)
        # A starter: the next thing is written in the prompt box.
        self.prompt_sent.connect(self.enter_prompt)

    # Intents ----------------------------------------------------------------------------------------------------------

    def ask_for_folder(self) -> None:
        """Ask the user for another models folder."""
        start = self._settings.models_folder
        folder = ask_for_models_folder(self, Path(start) if start else None)
        if folder is not None:
            self.folder_chosen.emit(str(folder))

    def search(self) -> None:
        """Search the conversations, whose panel may be folded."""
        if self.left.isHidden():
            self.show_left(True)
        self.left.begin_search()

    def enter_prompt(self) -> None:
        """Move the keyboard to the prompt."""
        self.prompt.setFocus()

    def enter_transcript(self) -> None:
        """Move the keyboard to the conversation, where the arrows scroll."""
        if self._pages.currentWidget() is self.transcript:
            self.transcript.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def come_up(self) -> None:
        """Bring the window to the front, wherever it is."""
        self.setWindowState((self.windowState() & ~Qt.WindowState.WindowMinimized) | Qt.WindowState.WindowActive)
        self.show()
        self.raise_()
        self.activateWindow()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Enter on a button presses it."""
        if not presses_button(event):
            super().keyPressEvent(event)

    def focusNextPrevChild(self, forward: bool) -> bool:  # noqa: N802 - Qt's name
        """Move the focus round the whole window; the transcript itself looks after its messages, which come and go."""
        now = QApplication.focusWidget() or self
        if not now.isVisible():
            # It is being hidden: what is in the chain now may be half gone, and Python must not touch it.
            return super().focusNextPrevChild(forward)
        reason = Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason
        after = now.nextInFocusChain() if forward else now.previousInFocusChain()
        while after is not None and after is not now:
            reachable = bool(after.focusPolicy() & Qt.FocusPolicy.TabFocus) and after.focusProxy() is None
            inside = after is not self.transcript and self.transcript.isAncestorOf(after)
            if reachable and after.isEnabled() and after.isVisible() and not inside:
                after.setFocus(reason)
                return True
            after = after.nextInFocusChain() if forward else after.previousInFocusChain()
        return False

    def _take(self, intent: EntryIntent) -> None:
        match intent:
            case Edit() | GoOn():
                self.enter_prompt()  # the next thing is written there
            case ChooseToken(exchange):
                self._color_tokens(True)
                if (view := self.transcript.view_of(exchange)) is not None:
                    view.choose_token()
            case MarkDoubt(on):
                self.mark_doubt(on)
            case Act("choose-folder"):
                self.ask_for_folder()
            case Act("longer-context"):
                self.context_wanted.emit()

    def _color_tokens(self, on: bool) -> None:
        self._settings.tokens_colored = on
        self.bar.tokens_button.setChecked(on)
        self.transcript.show_tokens(on)

    @property
    def marks_doubt(self) -> bool:
        """Return True if tokens are coloured by the target's certainty."""
        return self._settings.tokens_colored and self._settings.tokens_unsure

    def mark_doubt(self, on: bool) -> None:
        """Colour tokens by the target's certainty, or else by their origin."""
        self._settings.tokens_unsure = on
        self.transcript.mark_doubt(on)
        if on:
            self._color_tokens(True)

    def choose_theme(self, mode: str) -> None:
        """Choose light, dark, or the system's theme; stored."""
        self._theme.set_mode(mode)

    def change_font(self, step: int) -> None:
        """Change the size of letters by `step` points; 0: the platform's size."""
        least, most = FONT_POINTS
        self.set_font_points(0 if step == 0 else min(max(round(self._theme.points) + step, least), most))

    def set_font_points(self, points: int) -> None:
        """Set letters of this size, and remember it; 0: the platform's."""
        self._theme.set_font_points(points)

    # Rendering --------------------------------------------------------------------------------------------------------

    def show_chat(self, *, empty: bool) -> None:
        """Show the conversation, or the page of an empty chat; the introduction stays until there is a conversation."""
        self._empty = empty
        if not empty:
            self.end_introduction()
        if self._introduction is None:
            self._pages.setCurrentWidget(self.welcome if empty else self.transcript)

    def introduce(self, view: QWidget) -> None:
        """Show this view in place of the conversation, until something is asked or it is left."""
        self.end_introduction()
        self._introduction = view
        self._pages.addWidget(view)
        self._pages.setCurrentWidget(view)

    def end_introduction(self) -> None:
        """Show the conversation again."""
        view, self._introduction = self._introduction, None
        if view is not None:
            self._pages.removeWidget(view)
            view.deleteLater()
            self.show_chat(empty=self._empty)
            self.introduction_ended.emit()

    def show_busy(self, busy: bool) -> None:
        self.prompt.set_busy(busy)
        self.waiting.set_busy(busy)
        self.transcript.set_busy(busy)
        self.welcome.set_enabled(not busy)

    # Panels -----------------------------------------------------------------------------------------------------------

    def show_left(self, shown: bool = True) -> None:
        self._panels.show(self.left, shown=shown)

    def show_right(self, shown: bool = True) -> None:
        self._panels.show(self.panel, shown=shown)

    def _show_buttons(self) -> None:
        self.bar.left_button.setChecked(not self.left.isHidden())
        self.bar.right_button.setChecked(not self.panel.isHidden())

    # The window itself ------------------------------------------------------------------------------------------------

    def _restore(self) -> None:
        restore(self, self._settings.geometry, QSize(*DEFAULT))
        self.bar.tokens_button.setChecked(self._settings.tokens_colored)
        self.transcript.mark_doubt(self._settings.tokens_unsure)
        self.transcript.show_tokens(self._settings.tokens_colored)
        self._panels.fit_font()

    def note_layout(self) -> None:
        """Put window and panel sizes into the settings."""
        self._settings.geometry = place_of(self)
        self._panels.note_widths()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        super().resizeEvent(event)
        self._panels.fold()
        self._note_place()

    def moveEvent(self, event: QMoveEvent) -> None:  # noqa: N802 - Qt's name
        super().moveEvent(event)
        self._note_place()

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        super().changeEvent(event)
        if event.type() == QEvent.Type.WindowStateChange:
            self._note_place()

    def _note_place(self) -> None:
        """Store the place at once: the program may be killed. Nothing is stored before the window is shown."""
        if self._painted and self.isVisible() and not self.isMinimized():
            self._settings.geometry = place_of(self)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Emit the first paint, once it is over."""
        super().paintEvent(event)
        if not self._painted:
            self._painted = True
            QTimer.singleShot(0, self, self.painted.emit)

    def closeEvent(self, event: QCloseEvent) -> None:  # noqa: N802 - Qt's name
        """Hide at once; running work is ended behind the scene."""
        self.note_layout()
        super().closeEvent(event)
        self.closed.emit()


_GRIP = QSize(120, 32)
"""The part of the top edge that must lie on a screen to be grabbed (pixels)."""
_LEAST_BYTES = 50
"""The least length of Qt's data; from less it reads a window without a size."""


def place_of(window: QWidget) -> str:
    """Return position, size, and the maximised state, as text for the settings."""
    return bytes(window.saveGeometry().toBase64().data()).decode("ascii")


def restore(window: QWidget, place: str, usual: QSize) -> None:
    """Put a window where it was, or where it can be seen; `usual`: its size where nothing is known."""
    kept = QByteArray.fromBase64(place.encode("ascii", "ignore"))
    if kept.size() < _LEAST_BYTES or not window.restoreGeometry(kept):
        window.resize(usual.boundedTo(window.screen().availableSize()))
    elif not window.isMaximized() and not window.isFullScreen():
        bring_on_screen(window)


def bring_on_screen(window: QWidget) -> None:
    """Move a window that nobody could take hold of into the middle of the main screen, and no larger than that."""
    rooms = [screen.availableGeometry() for screen in QGuiApplication.screens()]
    frame = window.frameGeometry()
    grip = QRect(frame.center().x() - _GRIP.width() // 2, frame.top(), _GRIP.width(), _GRIP.height())
    if any(room.contains(grip) for room in rooms) or not rooms:
        return
    room = QGuiApplication.primaryScreen().availableGeometry()
    size = window.size().boundedTo(room.size())
    window.resize(size)
    window.move(room.center() - QPoint(size.width() // 2, size.height() // 2))
