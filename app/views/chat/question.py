"""Show the user's message: a tinted box at the right, with its files folded, which becomes an editor."""

from __future__ import annotations

import math

from PySide6.QtCore import QEvent, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QTextOption
from PySide6.QtWidgets import QFrame, QPushButton, QSizePolicy, QToolButton, QVBoxLayout, QWidget

from app.state.chat.attachments import Attachment, join_question, split_question
from app.state.chat.pictures import picture_in
from app.state.markdown.blocks import is_markdown
from app.views.chat.sent_picture import PictureRow, SentPicture
from app.views.markdown.auto_height_text import AutoHeightText
from app.views.markdown.text import MarkdownPage
from app.views.prompt.box import PromptEdit
from app.views.prompt.chips import ChipRow
from app.views.widgets.boxes import in_column, in_row
from app.views.widgets.icons import keep_icon
from app.views.widgets.keys import keeps_escape
from app.views.widgets.theme import Theme, fixed_font
from app.words.documents import parts_words
from app.words.figures import SEPARATOR, lines
from engine.host import read_quoted

_SURELY_WIDE = 2_000
"""Characters from which on a question takes all the width it may: laying it out twice would take too long."""
_RENDERED = 4_000
"""The most characters of a question that are rendered as Markdown: it is written at once."""
_AGAIN_MS, _MOST_TRIES = 40, 50
_SHOWN = 20_000
"""Characters of a question that are shown; all of them are sent."""


class QuestionBox(QFrame):
    """Show the user's message in a tinted box, as wide as its text. While `editor` is not None, the text is edited.

    Attribute: files (those that went with it).
    Signals: sent(text), closed() (the editor was closed, either way), typed(text) (other words, "" for those it has),
    picture_asked(ShowPicture).
    """

    picture_asked = Signal(object)
    sent = Signal(str)
    typed = Signal(str)
    closed = Signal()

    def __init__(self, question: str, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("question")
        self.editor: QuestionEditor | None = None
        text, attachments = split_question(question)
        self._whole = question
        self._theme = theme
        self._room = 0
        self._busy = False
        self._markdown = len(text) <= _RENDERED and is_markdown(text)
        self.text: AutoHeightText = MarkdownPage(theme, self) if self._markdown else AutoHeightText(self)
        self.text.setObjectName("questionText")
        self.text.setAccessibleName(self.tr("Your message"))
        self.text.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        if isinstance(self.text, MarkdownPage):
            self._typed_text, self._tries = text, 0
            self._render(self.text)
            theme.changed.connect(self._render_again)
        else:
            self.text.setPlainText(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
        layout = self._rows = QVBoxLayout(self)
        layout.setContentsMargins(12, 8, 12, 8)
        self.files = [self._file(attachment) for attachment in attachments]
        for file in self.files:
            file.turned.connect(self._fit_again)
        pictures = [file for file in self.files if isinstance(file, SentPicture)]
        self._above: list[QuotedFile | PictureRow] = [file for file in self.files if isinstance(file, QuotedFile)]
        self._above += [PictureRow(pictures, self)] if pictures else []
        for part in self._above:
            layout.addWidget(part, 0, Qt.AlignmentFlag.AlignLeading)
        layout.addWidget(self.text)
        self._typed = bool(text.strip())
        self.text.setVisible(self._typed)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def _file(self, attachment: Attachment) -> QuotedFile | SentPicture:
        """Return a widget for a file of the question."""
        number = picture_in(attachment.text)
        if number is None:
            return QuotedFile(attachment, self._theme, self)
        picture = SentPicture(attachment.name, number, self._theme, self)
        picture.intent_wanted.connect(self.picture_asked)
        return picture

    def _render(self, page: MarkdownPage) -> None:
        """Render the question as Markdown, like replies; again in a moment if formulas are still being set."""
        if not page.show_whole(self._typed_text) and self._tries < _MOST_TRIES:
            self._tries += 1
            QTimer.singleShot(_AGAIN_MS, self, self._render_again)

    def _render_again(self) -> None:
        if isinstance(self.text, MarkdownPage):
            self._render(self.text)
            if self._room:
                self._fit_again()

    def fit_into(self, width: int) -> None:
        """Fit the width to the text, up to this width; an editor takes all of it."""
        self._room = width
        if self.editor is not None:
            self.editor.setFixedWidth(width - 24)
            return
        wanted = width
        if not self._markdown and self.text.document().characterCount() < _SURELY_WIDE:
            document = self.text.document().clone()
            document.setTextWidth(-1)
            wanted = math.ceil(document.idealWidth()) + 2
        elif isinstance(self.text, MarkdownPage) and not self.text.writer.boxes:
            # Not of a copy: that would know nothing of formulas.
            self.text.document().setTextWidth(-1)
            wanted = math.ceil(self.text.document().idealWidth()) + 2
        wanted = max([wanted if self._typed else 0, *(part.wanted(width - 24) for part in self._above)])
        wanted = max(min(wanted, width - 24), 16)
        for part in self._above:
            part.fit_into(wanted)
        if self._markdown:
            self.text.document().setTextWidth(wanted)
        self.text.setFixedWidth(wanted)
        self.text.fit()

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        """Fit larger letters, a little later than Qt tells of them to the widgets that draw them."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            QTimer.singleShot(0, self, self._fit_again)

    def _fit_again(self) -> None:
        self.fit_into(self._room)

    def edit(self) -> None:
        """Put an editor in the place of the text, and the keyboard into it."""
        editor = self.open_editor(self._whole)
        editor.edit.setFocus(Qt.FocusReason.OtherFocusReason)

    def open_editor(self, typed: str) -> QuestionEditor:
        """Open an editor in place of the text, unless there is one; `typed` is its text."""
        if self.editor is None:
            self.editor = QuestionEditor(typed, self._theme, self)
            self.editor.set_busy(self._busy)
            self.editor.sent.connect(self._send)
            self.editor.cancelled.connect(self._leave)
            self.editor.changed.connect(lambda text: self.typed.emit(text if text != self._whole else ""))
            for part in (*self._above, self.text):
                part.hide()
            self._rows.addWidget(self.editor)
            if self._room:
                self.fit_into(self._room)
            self.editor.show()
        return self.editor

    def set_busy(self, busy: bool) -> None:
        """Prevent sending while a reply is being written."""
        self._busy = busy
        if self.editor is not None:
            self.editor.set_busy(busy)

    def _send(self, text: str) -> None:
        self._leave()
        self.sent.emit(text)

    def _leave(self) -> None:
        if self.editor is None:
            return
        editor, self.editor = self.editor, None
        self._rows.removeWidget(editor)
        for part in self._above:
            part.show()
        self.text.setVisible(self._typed)
        (self.text if self._typed else self.files[0].header).setFocus(Qt.FocusReason.OtherFocusReason)
        editor.hide()
        editor.deleteLater()
        self.fit_into(self._room)
        self.typed.emit("")
        self.closed.emit()


class QuestionEditor(QWidget):
    """Edit a question; its files can be taken away. Enter or Ctrl+Enter sends, Esc cancels. Also for a reply.

    Signals: sent(text), cancelled(), changed(text) (with its files).
    """

    sent = Signal(str)
    changed = Signal(str)
    cancelled = Signal()

    def __init__(self, question: str, theme: Theme, parent: QWidget | None = None, *, is_reply: bool = False) -> None:
        super().__init__(parent)
        self._busy = False
        text, self._files = (question, ()) if is_reply else split_question(question)
        self.chips = ChipRow(theme, self)
        self.edit = PromptEdit(self)
        self.edit.setAccessibleName(self.tr("Edit the reply") if is_reply else self.tr("Edit your message"))
        self.edit.setPlainText(text)
        self.edit.moveCursor(self.edit.textCursor().MoveOperation.End)
        self.cancel_button = QPushButton(self.tr("Cancel"), self)
        self.cancel_button.setToolTip(self.tr("Discard the changes (Esc)"))
        self.send_button = QPushButton(self.tr("Save") if is_reply else self.tr("Send"), self)
        self.send_button.setObjectName("sendEdit")
        help_text = (
            self.tr("Keep this beside the reply (Enter)") if is_reply else self.tr("Send the edited message (Enter)")
        )
        self.send_button.setToolTip(help_text)
        buttons = in_row(..., self.cancel_button, self.send_button, spacing=8)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        if is_reply:
            # A question is in a box of its own already.
            self.setObjectName("question")
            self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
            layout.setContentsMargins(12, 8, 12, 8)
        layout.setSpacing(8)
        layout.addWidget(self.chips)
        layout.addWidget(self.edit)
        layout.addLayout(buttons)
        self.chips.show_files(self._files)
        self.chips.removed.connect(self._take_away)
        self.chips.left.connect(self.edit.setFocus)
        for entered in (self.edit.submitted, self.edit.steered, self.send_button.clicked):
            entered.connect(self._submit)
        self.cancel_button.clicked.connect(self.cancelled)
        self.edit.textChanged.connect(self._show_state)
        self.edit.composed.connect(self._show_state)
        self.edit.textChanged.connect(self._tell)
        self._show_state()

    def _tell(self) -> None:
        self.changed.emit(join_question(self.edit.toPlainText(), self._files))

    def set_busy(self, busy: bool) -> None:
        """Prevent sending while a reply is being written."""
        self._busy = busy
        self._show_state()

    def event(self, event: QEvent) -> bool:
        """Keep Esc for the editor; elsewhere in the window it cancels the reply."""
        return keeps_escape(event) or super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Leave the question as it was on Esc."""
        if event.key() == Qt.Key.Key_Escape:
            self.cancelled.emit()
        else:
            super().keyPressEvent(event)

    def _submit(self) -> None:
        if self.send_button.isEnabled():
            self.edit.commit()
            self.sent.emit(join_question(self.edit.toPlainText().strip("\n"), self._files))

    def _take_away(self, place: int) -> None:
        self._files = self._files[:place] + self._files[place + 1 :]
        self.chips.show_files(self._files)
        self._show_state()
        self._tell()

    def _show_state(self) -> None:
        something = bool(self._files or not self.edit.empty)
        self.send_button.setEnabled(not self._busy and something)


SHOWN = 20_000
"""Characters of a file that are shown; all of them were sent."""


class QuotedFile(QWidget):
    """Show a quoted file, folded at first. Signal: turned() (folded or unfolded)."""

    turned = Signal()

    def __init__(self, attachment: Attachment, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._file = attachment
        self._theme = theme
        parts = read_quoted(attachment.text)
        self._count = parts_words(len(parts)) if parts else lines(attachment.text.count("\n") + 1)
        self.body: AutoHeightText | None = None
        self.header = QToolButton(self)
        self.header.setObjectName("thoughtHeader")
        self.header.setCheckable(True)
        self.header.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.header.setAccessibleName(
            self.tr("Attached file {name}").format(name=attachment.name) + SEPARATOR + self._count
        )
        self.header.setToolTip(attachment.name)
        self.header.clicked.connect(self._turn)
        self._rows = in_column(spacing=4, margins=(0, 0, 0, 0), parent=self)
        self._rows.addWidget(self.header, 0, Qt.AlignmentFlag.AlignLeading)
        self._show_state()

    @property
    def folded(self) -> bool:
        """Return True if only its name is visible."""
        return not self.header.isChecked()

    def wanted(self, width: int) -> int:
        """Return its preferred width, at most this one."""
        return width if not self.folded else min(self._header_size().width(), width)

    def fit_into(self, width: int) -> None:
        size = self._header_size()
        metrics = self.header.fontMetrics()
        over = size.width() - width
        name = self._file.name
        if over > 0:
            room = max(metrics.horizontalAdvance(name) - over - 8, 40)
            name = metrics.elidedText(name, Qt.TextElideMode.ElideMiddle, room)
        self.header.setText(self._words(name))
        self.setFixedWidth(width)
        height = size.height()
        if self.body is not None and not self.folded:
            self.body.setFont(fixed_font())
            self.body.setFixedWidth(width)
            self.body.fit()
            height += self.body.height() + self._rows.spacing()
        self.setFixedHeight(height)

    def _words(self, name: str) -> str:
        return (name + SEPARATOR + self._count).replace("&", "&&")

    def _header_size(self) -> QSize:
        self.header.setText(self._words(self._file.name))
        return self.header.sizeHint()

    def _turn(self) -> None:
        if self.body is None:
            self.body = self._make_body()
        self.body.setVisible(not self.folded)
        self._show_state()
        self.turned.emit()

    def _make_body(self) -> AutoHeightText:
        body = AutoHeightText(self)
        body.setObjectName("questionText")
        body.setAccessibleName(self._file.name)
        body.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        body.setFont(fixed_font())
        text = self._file.text
        body.setPlainText(text if len(text) <= SHOWN else f"{text[:SHOWN]}…")
        self._rows.addWidget(body)
        return body

    def _show_state(self) -> None:
        right = self.layoutDirection() == Qt.LayoutDirection.RightToLeft
        aside = "caret-left" if right else "caret-right"
        keep_icon(self.header, self._theme, aside if self.folded else "caret-down", "muted")
        self.header.setAccessibleDescription(self.tr("collapsed") if self.folded else self.tr("expanded"))
