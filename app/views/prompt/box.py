"""Show the prompt box: it grows with the text and takes files; one button is Send or Cancel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

from PySide6.QtCore import QBuffer, QByteArray, QElapsedTimer, QEvent, QIODevice, QMimeData, Qt, Signal
from PySide6.QtGui import (
    QActionGroup,
    QFocusEvent,
    QGuiApplication,
    QImage,
    QImageWriter,
    QInputMethodEvent,
    QKeyEvent,
    QResizeEvent,
    QTextCursor,
    QTextDocumentFragment,
)
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QHBoxLayout,
    QMenu,
    QPlainTextEdit,
    QPushButton,
    QToolButton,
    QToolTip,
    QWidget,
)

from app.state.chat.attachments import Attachment, join_question
from app.views.prompt.chips import ChipRow
from app.views.prompt.tools import ToolsButton
from app.views.widgets.boxes import in_column
from app.views.widgets.icons import icon_button, keep_icon
from app.views.widgets.theme import Theme

MAX_LINES = 8
_DOUBLE_CLICK_MS = 500
_LONGEST_HTML = 2**20
"""Characters."""
_PICTURES = ("image/png", "image/jpeg", "image/webp", "image/gif", "image/bmp")
_MODELS = (".gguf", ".safetensors")
"""Files that are to be loaded, not read."""


class PromptEdit(QPlainTextEdit):
    """Edit several lines of plain text, as tall as needed.

    Attribute: takes_files, whether files may be dropped and pasted. Signals: submitted(), steered() (with Ctrl),
    focused(bool), recalled(), files_given(list of Path), composed() (a word that an input method is composing changed),
    picture_given(bytes) (one that was copied or dragged), pasted_nothing(why) (what cannot be taken, in words).
    """

    composed = Signal()
    picture_given = Signal(object)
    pasted_nothing = Signal(str)

    files_given = Signal(object)
    steered = Signal()
    submitted = Signal()
    focused = Signal(bool)
    recalled = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("prompt")
        self.takes_files = False
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setTabChangesFocus(True)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.document().setDocumentMargin(4)
        self.document().documentLayout().documentSizeChanged.connect(self._fit)
        self._fit()

    def _fit(self) -> None:
        lines = max(1, int(self.document().size().height()))
        shown = min(lines, MAX_LINES)
        height = shown * self.fontMetrics().lineSpacing() + 2 * 4 + 2
        if height != self.height() or self.minimumHeight() != height:
            self.setFixedHeight(height)
        wanted = Qt.ScrollBarPolicy.ScrollBarAsNeeded if lines > MAX_LINES else Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        if wanted != self.verticalScrollBarPolicy():
            self.setVerticalScrollBarPolicy(wanted)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        super().resizeEvent(event)
        self._fit()

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._fit()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Enter sends, Shift+Enter breaks the line, Up in an empty box brings the last prompt back."""
        if self.composing and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Up):
            self.commit()
            event.accept()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
                self.steered.emit()
            elif event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
                self.textCursor().insertText("\n")
                self.ensureCursorVisible()
            else:
                self.submitted.emit()
            event.accept()
        elif event.key() == Qt.Key.Key_Up and not self.toPlainText():
            self.recalled.emit()
        else:
            super().keyPressEvent(event)

    @property
    def composing(self) -> bool:
        """Return True if an input method is composing a word: it is not in the text yet, and Enter only ends it."""
        return bool(self.textCursor().block().layout().preeditAreaText())

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:  # noqa: N802 - Qt's name
        """Emit a change of the composed word, which Qt does not count as text yet."""
        super().inputMethodEvent(event)
        self.composed.emit()

    def commit(self) -> None:
        """Take the word that is being composed into the text, whole and once."""
        word = self.textCursor().block().layout().preeditAreaText()
        if not word:
            return
        QGuiApplication.inputMethod().commit()
        if self.composing:
            # The input method gave nothing: the word is what was seen.
            event = QInputMethodEvent()
            event.setCommitString(word)
            QApplication.sendEvent(self, event)
            QGuiApplication.inputMethod().reset()

    @property
    def empty(self) -> bool:
        """Return True if nothing is typed, nor being composed."""
        return not (self.toPlainText().strip() or self.composing)

    def canInsertFromMimeData(self, source: QMimeData) -> bool:  # noqa: N802 - Qt's name
        """Accept text, and files if they may be text; the drop of a model or a folder goes on to the window."""
        if self.takes_files and source.hasUrls() and not self._files(source):
            return not _local(source) and source.hasText()
        return source.hasText() or bool(self._files(source)) or source.hasHtml() or source.hasImage()

    def insertFromMimeData(self, source: QMimeData) -> None:  # noqa: N802 - Qt's name
        """Paste text only, also that of a web page; files and pictures are attached. If nothing is, say why."""
        files = self._files(source)
        if files:
            self.files_given.emit(files)
        elif text := source.text() or self._text_of(source.html()):
            self.textCursor().insertText(text)
            self.ensureCursorVisible()
        elif self.takes_files and (picture := picture_of(source)):
            self.picture_given.emit(picture)
        elif source.hasImage() or source.hasHtml():
            self.pasted_nothing.emit(self.tr("There is no text in what was copied, and only text can be pasted here."))

    def _text_of(self, html: str) -> str:
        """Return the text of a piece of HTML; nothing of one that would take long to read."""
        if len(html) > _LONGEST_HTML:
            return ""
        text = QTextDocumentFragment.fromHtml(html).toPlainText()
        return text.replace("\N{OBJECT REPLACEMENT CHARACTER}", "").strip("\n")

    def _files(self, source: QMimeData) -> list[Path]:
        """Return the pasted or dropped files, unless one of them is a model or a folder."""
        paths = _local(source) if self.takes_files else []
        return [] if any(path.suffix.lower() in _MODELS or path.is_dir() for path in paths) else paths

    def focusInEvent(self, event: QFocusEvent) -> None:  # noqa: N802 - Qt's name
        super().focusInEvent(event)
        self.focused.emit(True)

    def focusOutEvent(self, event: QFocusEvent) -> None:  # noqa: N802 - Qt's name
        super().focusOutEvent(event)
        self.focused.emit(False)


class PromptBox(QFrame):
    """Show prompt, files and button. Attribute: compose, which joins the typed text and the files.

    While a reply is being written a message can be sent too, which then waits, and the reply can be steered.

    Signals: send(text) (with its files quoted), steer(words) (the reply is to go on with them), cancel(), edited(),
    attach_wanted(), refused(why) (it was not sent), recalled() (the last question is wanted once more). The files
    themselves come and go at `edit` and `chips`; how the model is to think at `thinking`; which tools it may call at
    `tools`.
    """

    send = Signal(str)
    steer = Signal(str)
    cancel = Signal()
    edited = Signal()
    attach_wanted = Signal()
    refused = Signal(str)
    recalled = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("promptFrame")
        self._theme = theme
        self._busy = self._pressed_busy = False
        self._project = ""
        self._last = ""
        self._too_long = ""
        self._uncounted = self._send_when_counted = False
        self._since_sent = QElapsedTimer()
        self._files: tuple[Attachment, ...] = ()
        self.compose: Callable[[str, Sequence[Attachment]], str] = join_question
        self._waits = False
        self.edit = PromptEdit(self)
        self.edit.takes_files = True
        self.edit.setPlaceholderText(self.tr("Ask something…"))
        self.edit.setAccessibleName(self.tr("Prompt"))
        self.edit.setToolTip(self.tr("Enter to send, Shift+Enter for a new line"))
        self.button = QPushButton(self)
        self.button.setObjectName("send")
        self.button.setFixedSize(36, 36)
        self.button.setAutoDefault(False)
        self.chips = ChipRow(theme, self)
        self.attach = icon_button(theme, "paperclip", self.tr("Attach documents, pictures and text files"), self)
        self.attach.setFixedSize(36, 36)
        self.thinking = ThinkingButton(theme, self)
        self.tools = ToolsButton(theme, self)
        words = self.tr("Steer: stop the reply, add these words to it, and let it go on (Ctrl+Enter)")
        self.steer_button = icon_button(theme, "arrow-elbow-down-right", words, self)
        self.queue_button = icon_button(theme, "queue", self.tr("Send once the reply is written (Enter)"), self)
        for button in (self.steer_button, self.queue_button):
            button.setFixedSize(36, 36)
            button.hide()
        self._lay_out()
        self.setFocusProxy(self.edit)
        self._connect()
        self._show_state()

    def _lay_out(self) -> None:
        row = QHBoxLayout()
        row.setSpacing(4)
        row.addWidget(self.attach, 0, Qt.AlignmentFlag.AlignBottom)
        row.addWidget(self.edit, 1, Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(self.tools, 0, Qt.AlignmentFlag.AlignBottom)
        row.addWidget(self.thinking, 0, Qt.AlignmentFlag.AlignBottom)
        row.addWidget(self.steer_button, 0, Qt.AlignmentFlag.AlignBottom)
        row.addWidget(self.queue_button, 0, Qt.AlignmentFlag.AlignBottom)
        row.addWidget(self.button, 0, Qt.AlignmentFlag.AlignBottom)
        in_column(self.chips, row, spacing=6, margins=(6, 6, 6, 6), parent=self)

    def _connect(self) -> None:
        self.button.pressed.connect(self._note_press)
        self.button.clicked.connect(self._clicked)
        self.attach.clicked.connect(self.attach_wanted)
        self.chips.left.connect(self.edit.setFocus)
        self.queue_button.clicked.connect(self._submit)
        self.queue_button.clicked.connect(self.edit.setFocus)
        self.steer_button.clicked.connect(self._steer)
        self.steer_button.clicked.connect(self.edit.setFocus)
        self.edit.steered.connect(self._steer)
        self.edit.submitted.connect(self._submit)
        self.edit.recalled.connect(self._recall)
        self.edit.focused.connect(self._show_focus)
        self.edit.textChanged.connect(self._show_state)
        self.edit.composed.connect(self._show_state)
        self.edit.textChanged.connect(self._note_change)
        self.edit.textChanged.connect(self.edited)

    @property
    def question(self) -> str:
        """Return the message that would be sent now."""
        return self.compose(self.edit.toPlainText(), self._files)

    def set_busy(self, busy: bool) -> None:
        """Set the button to Cancel while busy, else to Send."""
        self._busy = busy
        self._show_hint()
        self.edit.viewport().update()  # Qt draws another one only where it came or went.
        self._show_state()

    def show_project(self, title: str) -> None:
        """Name the project of the question in the empty box; "": none."""
        self._project = title
        self._show_hint()
        self.edit.viewport().update()

    def _show_hint(self) -> None:
        words = self.tr("Ask in “{project}”…").format(project=self._project) if self._project else ""
        if self._busy:
            words = self.tr("Add a message for when the reply is written…")
        self.edit.setPlaceholderText(words or self.tr("Ask something…"))

    def refuse(self, why: str) -> None:
        """Send nothing, for this reason; without one everything is sent."""
        self._too_long = why

    def send_all_the_same(self) -> None:
        """Send a refused message: it is going to fit."""
        self._too_long = ""
        self._submit()

    def note_counted(self) -> None:
        """React to a fresh count, so that `refuse` is of the present text, and send it if Enter was pressed before."""
        wanted, self._uncounted, self._send_when_counted = self._send_when_counted, False, False
        if wanted:
            self._submit()

    def go_on_typing(self, text: str) -> None:
        """Insert text that was typed elsewhere in the window, and take the keyboard focus."""
        self.edit.setFocus()
        self.edit.textCursor().insertText(text)

    def insert(self, text: str) -> None:
        """Insert a text at the cursor, apart from the word before it, and go there."""
        cursor = self.edit.textCursor()
        cursor.setPosition(cursor.selectionStart())
        before = self.edit.toPlainText()[: cursor.position()]
        self.edit.insertPlainText(text if not before or before[-1].isspace() else f" {text}")
        self.edit.setFocus()

    def set_text(self, text: str) -> None:
        self.edit.setPlainText(text)
        self.edit.moveCursor(QTextCursor.MoveOperation.End)

    def show_files(self, files: Sequence[Attachment], pending: Sequence[str] = ()) -> None:
        """Show the files that go with the question; while some are `pending` (being read), nothing is sent."""
        if [(each.name, each.text) for each in files] != [(each.name, each.text) for each in self._files]:
            self._note_change()
        self._files, self._waits = tuple(files), bool(pending)
        self.chips.show_files(files, pending)
        # New chips would come last of all in the window.
        buttons = (self.tools, self.thinking, self.steer_button, self.queue_button, self.button)
        order = [*self.chips.chips, self.attach, self.edit, *buttons]
        for before, after in pairwise(order):
            QWidget.setTabOrder(before, after)
        self._show_state()

    def _note_press(self) -> None:
        self._pressed_busy = self._busy

    def _clicked(self) -> None:
        """Send or cancel, whichever the button said when it was pressed.

        The second click of a double click on Send cancels nothing.
        """
        if self._busy != self._pressed_busy:
            pass
        elif not self._busy:
            self._submit()
            self._since_sent.start()
        elif not self._since_sent.isValid() or self._since_sent.elapsed() > _DOUBLE_CLICK_MS:
            self.cancel.emit()
        self.edit.setFocus()

    @property
    def _sendable(self) -> bool:
        return not self._waits and bool(self._files or not self.edit.empty)

    def _steer(self) -> None:
        """Steer the reply that is being written; without one, send."""
        if not self._busy:
            self._submit()
        elif self._steerable:
            self.edit.commit()
            words = self.edit.toPlainText()
            self.edit.clear()
            self.steer.emit(words)

    @property
    def _steerable(self) -> bool:
        return not self._files and not self._waits and not self.edit.empty

    def _submit(self) -> None:
        if not self._sendable:
            return
        self.edit.commit()
        if self._too_long and self._uncounted:
            # It is the text before this one that was too long.
            self._send_when_counted = True
            return
        if self._too_long:
            self.refused.emit(self._too_long)
            return
        question = self.question
        self._last = self.edit.toPlainText()
        self.edit.clear()
        self.send.emit(question)

    def _note_change(self) -> None:
        self._uncounted, self._send_when_counted = True, False

    def _recall(self) -> None:
        if self._last:
            self.set_text(self._last)
        self.recalled.emit()

    def _show_state(self) -> None:
        word = self.tr("Cancel (Esc)") if self._busy else self.tr("Send (Enter)")
        if word != self.button.toolTip():
            # It would go on to say what the button no longer does.
            QToolTip.hideText()
        self.button.setToolTip(word)
        self.button.setAccessibleName(self.tr("Cancel") if self._busy else self.tr("Send"))
        self.button.setEnabled(self._busy or self._sendable)
        self.queue_button.setVisible(self._busy and self._sendable)
        self.steer_button.setVisible(self._busy and self._steerable)
        if self.button.property("cancels") is not self._busy or self.button.icon().isNull():
            self.button.setProperty("cancels", self._busy)
            name, color = ("stop", "text") if self._busy else ("arrow-up", "on_accent")
            keep_icon(self.button, self._theme, name, color)
            _polish(self.button)

    def _show_focus(self, focused: bool) -> None:
        self.setProperty("focused", focused)
        _polish(self)


def picture_of(source: QMimeData) -> bytes:
    """Return the file of a picture that is copied or dragged, b"" if there is none. It is not decoded here."""
    for kind in _PICTURES:
        if source.hasFormat(kind):
            return bytes(source.data(kind).data())
    image, out = source.imageData() if source.hasImage() else None, QBuffer()
    if isinstance(image, QImage) and out.open(QIODevice.OpenModeFlag.WriteOnly) and _as_png(image, out):
        return bytes(out.data().data())
    return b""


def _as_png(image: QImage, out: QBuffer) -> bool:
    return QImageWriter(out, QByteArray(b"PNG")).write(image)


def _local(source: QMimeData) -> list[Path]:
    urls = source.urls() if source.hasUrls() else []
    return [Path(url.toLocalFile()) for url in urls] if all(url.isLocalFile() for url in urls) else []


def _polish(widget: QWidget) -> None:
    widget.style().unpolish(widget)
    widget.style().polish(widget)


DEFAULT = "default"


class ThinkingButton(QToolButton):
    """Choose one of the ways to think that the model knows; hidden where it knows none. Signal: chosen(mode)."""

    chosen = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("thinking")
        self.setAutoRaise(True)
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.setFixedSize(36, 36)
        self.setToolTip(self.tr("Thinking"))
        self._theme = theme
        self._shown: tuple[tuple[str, ...], str] = ((), "")
        self._menu = QMenu(self)
        self.setMenu(self._menu)
        self.show_modes((), DEFAULT)

    def show_modes(self, modes: Sequence[str], chosen: str) -> None:
        """Offer these modes, and the model's default; `chosen` is ticked."""
        if (tuple(modes), chosen) == self._shown:
            return
        self._shown = tuple(modes), chosen
        self.setVisible(bool(modes))
        self._menu.clear()
        group = QActionGroup(self._menu)
        for mode in (DEFAULT, *modes):
            action = self._menu.addAction(self._word(mode))
            action.setCheckable(True)
            action.setChecked(mode == chosen)
            action.triggered.connect(lambda _on, mode=mode: self.chosen.emit(mode))
            group.addAction(action)
        said = self.tr("Thinking: {mode}").format(mode=self._word(chosen))
        self.setToolTip(said)
        self.setAccessibleName(said)
        keep_icon(self, self._theme, "brain", "muted" if chosen in (DEFAULT, "off") else "accent")

    def _word(self, mode: str) -> str:
        words = {
            DEFAULT: self.tr("as the model does"),
            "off": self.tr("off"),
            "on": self.tr("on"),
            "low": self.tr("low"),
            "medium": self.tr("medium"),
            "high": self.tr("high"),
        }
        return words[mode]
