"""Show a bar above a block of a text: its kind, and buttons for its actions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QRect, Qt, QTimer, Signal
from PySide6.QtGui import QAbstractTextDocumentLayout, QGuiApplication
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QLabel, QTextEdit, QToolButton, QWidget

from app.state.markdown.code_colors import file_suffix, language_name
from app.views.markdown.code_scroll import (
    CodeScroll,
    LineNumbers,
    break_lines,
    edges,
    is_short_enough,
    make_room,
    wraps,
)
from app.views.markdown.code_writer import CODE_MARGIN, CodeBox
from app.views.markdown.preview import PageQuestion, Preview, kind_of
from app.views.widgets.icons import keep_icon
from app.views.widgets.theme import Theme
from engine.host import write_whole

_COPIED_MS = 1_500
_TOLD_MS = 6_000
_LONGEST_INFO = 60


class BlockBar(QWidget):
    """Hold the buttons of one block, and the widget shown over the block in its place.

    Attribute: box (of the text), over (what is shown over it, None: nothing).
    Signal: changed() (the block takes another height, which places everything again).
    """

    changed = Signal()

    def __init__(self, box: CodeBox, theme: Theme, text: QTextEdit) -> None:
        super().__init__(text.viewport())
        self.setObjectName("codeBar")
        # As the code is, whatever the direction of the window.
        self.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        self.box = box
        self.over: QWidget | None = None
        self._theme = theme
        self._text = text
        self._named = self._told = ""
        self.label = QLabel(self)
        self.label.setTextFormat(Qt.TextFormat.PlainText)
        self.label.setObjectName("codeLanguage")
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(int(CODE_MARGIN), 0, 2, 0)
        self._row.setSpacing(8)
        self._row.addWidget(self.label)
        self._row.addStretch(1)

    def add_button(self, picture: str, words: str, act: Callable[[], object], *, switch: bool = False) -> QToolButton:
        """Add a button; `switch`: one that is on or off."""
        button = QToolButton(self)
        button.setObjectName("codeCopy")
        button.setAutoRaise(True)
        button.setCheckable(switch)
        button.setToolTip(words)
        button.setAccessibleName(f"{words} ({self._named})" if self._named else words)
        keep_icon(button, self._theme, picture, "muted")
        button.clicked.connect(lambda _on: act())
        self._row.addWidget(button)
        return button

    def offer(self, width: int) -> None:
        """Offer the actions for a text of this width (pixels)."""

    def place(self, layout: QAbstractTextDocumentLayout, height: int) -> None:
        """Move to the place above the block; `height`: of the bar."""

    def be_plain(self) -> None:
        """Show the block as it stands in the text: paint over the text must be visible."""

    def cover(self, over: QWidget | None) -> None:
        """Show a widget over the block, in place of the present one."""
        if self.over is not None:
            self.over.hide()
            self.over.deleteLater()
        self.over = over
        if over is not None:
            over.show()

    def leave(self) -> None:
        """Delete the bar, with the widget over the block: the text begins anew."""
        self.cover(None)
        self.hide()
        self.deleteLater()

    def copy(self, button: QToolButton, text: str) -> None:
        """Copy a text, and show on the button for a while that it was done."""
        QGuiApplication.clipboard().setText(text)
        keep_icon(button, self._theme, "check", "accent")
        QTimer.singleShot(_COPIED_MS, button, lambda: keep_icon(button, self._theme, "copy", "muted"))

    def tell(self, words: str) -> None:
        """Show words for a while in place of the label."""
        self.label.setText(words)
        QTimer.singleShot(_TOLD_MS, self.label, lambda: self.label.setText(self._told))


class CodeBar(BlockBar):
    """Show the language of code; copy and save it, wrap or number its lines, and preview its picture."""

    def __init__(self, box: CodeBox, theme: Theme, text: QTextEdit) -> None:
        super().__init__(box, theme, text)
        self._named = language_name(box.language)
        # Often it is followed by the name of a file.
        told = " ".join(box.language.split())
        self._told = told if len(told) <= _LONGEST_INFO else f"{told[: _LONGEST_INFO - 1]}…"
        self.label.setText(self._told)
        self._kind = kind_of(self._named, box.code)
        self._measured = (-1, -1)
        self._numbers: LineNumbers | None = None
        self._preview: Preview | None = None
        browse = self.tr("Open the page in your browser…")
        self.browser_button = self.add_button("arrow-square-out", browse, self._ask_for_browser)
        self.browser_button.hide()
        self.preview_button = self.add_button("eye", self.tr("Preview"), self._turn_preview, switch=True)
        self.preview_button.setVisible(self._kind is not None)
        self.numbers_button = self.add_button("list-numbers", self.tr("Line numbers"), self._turn_numbers, switch=True)
        wrap = self.tr("Wrap long lines")
        self.wrap_button = self.add_button("arrow-u-down-left", wrap, self._turn_wrap, switch=True)
        self.wrap_button.setChecked(True)
        self.wrap_button.hide()
        self.save_button = self.add_button("download-simple", self.tr("Save the code as a file…"), self._save)
        copy = self.tr("Copy the code")
        self.copy_button = self.add_button("copy", copy, lambda: self.copy(self.copy_button, self.box.code))

    def offer(self, width: int) -> None:
        """Offer the switch where a line is too long for this width."""
        measured = (self.box.frames[-1].lastPosition(), width)
        if self.over is None and self._measured != measured:
            self._measured = measured
            self.wrap_button.setVisible(is_short_enough(self.box) and wraps(self.box))

    def place(self, layout: QAbstractTextDocumentLayout, height: int) -> None:
        """Move above the code, with the widgets over it and beside it."""
        place = layout.blockBoundingRect(self.box.frame.firstCursorPosition().block())
        left = round(place.left() - self._gutter() - CODE_MARGIN)
        top = round(place.top()) - height
        self.setGeometry(left, top, self._text.width() - left, height)
        last = self.box.frames[-1]
        end = edges(layout, last)[1]
        if isinstance(self.over, CodeScroll):
            end += last.format().toTableFormat().bottomMargin()  # The scroll bar has its place there.
        inside = QRect(left, top + height, self.width(), round(end) - top - height)
        if self._numbers is not None:
            self._numbers.setGeometry(inside.x(), inside.y(), self._numbers.wanted, inside.height())
            self._numbers.setVisible(not isinstance(self.over, Preview))
        if self.over is not None:
            self.over.setGeometry(inside.adjusted(self._gutter(), 0, 0, 0))

    def be_plain(self) -> None:
        """Wrap the lines, and show the code."""
        self.preview_button.setChecked(False)
        self.wrap_button.setChecked(True)
        self._show(None)

    def leave(self) -> None:
        """Delete the bar, with the numbers and the preview."""
        super().leave()
        for part in (self._numbers, self._preview):
            if part is not None:
                part.hide()
                part.deleteLater()

    def _gutter(self) -> int:
        return 0 if self._numbers is None else self._numbers.wanted

    def _show(self, over: QWidget | None) -> None:
        """Show the code unwrapped, as a picture, or as it is."""
        if over is None and self.over is None:
            return
        if isinstance(self.over, CodeScroll):
            break_lines(self.box, on=True)
        elif isinstance(self.over, Preview):
            make_room(self.box, None)
        if isinstance(over, CodeScroll):
            break_lines(self.box, on=False)
        elif isinstance(over, Preview):
            make_room(self.box, over.sizeHint().height())
        self.browser_button.setVisible(isinstance(over, Preview) and self._kind == "html")
        self.cover(over)
        self.changed.emit()

    def _turn_wrap(self) -> None:
        self.preview_button.setChecked(False)
        self._show(None if self.wrap_button.isChecked() else CodeScroll(self.box, self._text.viewport()))

    def _turn_numbers(self) -> None:
        if self._numbers is None:
            self._numbers = LineNumbers(self.box, self._theme, self._text)
        else:
            self._numbers.leave()
            self._numbers = None
        self.changed.emit()

    def _turn_preview(self) -> None:
        if self._preview is not None:
            self._preview.deleteLater()
            self._preview = None
        self.wrap_button.setChecked(True)
        if not self.preview_button.isChecked() or self._kind is None:
            self._show(None)
            return
        self._preview = Preview(self._kind, self.box.code, self._text.width(), self._text.viewport())
        self._preview.drawn.connect(self._take_preview)

    def _take_preview(self, reason: str) -> None:
        if reason:
            self.preview_button.setChecked(False)
            self.tell(self.tr("No preview: {reason}").format(reason=reason))
        elif self.preview_button.isChecked() and self._preview is not None:
            preview, self._preview = self._preview, None
            self._show(preview)

    def _ask_for_browser(self) -> None:
        button = self.browser_button
        PageQuestion(self.box.code, self).ask_at(button.mapToGlobal(button.rect().bottomLeft()))

    def _save(self) -> None:
        name = f"code{file_suffix(self.box.language)}"
        chosen, _ = QFileDialog.getSaveFileName(self, self.tr("Save the code"), str(Path.home() / name))
        if not chosen:
            return
        path = Path(chosen)
        try:
            write_whole(path, f"{self.box.code}\n".encode("utf-8", "replace"))
        except OSError as error:
            said = self.tr("Cannot save {path}: {reason}. Choose another folder.")
            self.tell(said.format(path=path, reason=error.strerror or error))
        else:
            self.tell(self.tr("Saved as {path}").format(path=path))
