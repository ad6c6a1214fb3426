"""Show a bar above a piece of code: its language, whether long lines wrap, and a button that copies it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QLabel, QTextEdit, QToolButton, QWidget

from app.state.markdown.code_colors import file_suffix, language_name
from app.views.markdown.code_scroll import CodeScroll, break_lines, is_short_enough, wraps
from app.views.markdown.code_writer import CODE_MARGIN, CodeBox, code_header_height
from app.views.widgets.icons import keep_icon
from app.views.widgets.theme import Theme
from engine import write_whole

MOST = 200
"""Bars of one text. A text with more pieces of code than this was not written to be copied from."""
_COPIED_MS = 1_500
_TOLD_MS = 6_000


class CodeBar(QWidget):
    """Show the bar of one piece of code. Signal: wrap_wanted(bool)."""

    wrap_wanted = Signal(bool)

    def __init__(self, box: CodeBox, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("codeBar")
        # As the code is, whatever the direction of the window.
        self.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        self.box = box
        self._theme = theme
        language = language_name(box.language)
        self.label = QLabel(self)
        self.label.setObjectName("codeLanguage")
        self.label.setText(language)
        self.save_button = self._button("download-simple", self.tr("Save the code as a file…"), language)
        self.save_button.clicked.connect(self._save)
        self.copy_button = self._button("copy", self.tr("Copy the code"), language)
        self.copy_button.clicked.connect(self._copy)
        self.wrap_button = self._button("arrow-u-down-left", self.tr("Wrap long lines"), language)
        self.wrap_button.setCheckable(True)
        self.wrap_button.setChecked(True)
        self.wrap_button.clicked.connect(self.wrap_wanted)
        self.wrap_button.hide()
        row = QHBoxLayout(self)
        row.setContentsMargins(int(CODE_MARGIN), 0, 2, 0)
        row.setSpacing(8)
        row.addWidget(self.label)
        row.addStretch(1)
        row.addWidget(self.wrap_button)
        row.addWidget(self.save_button)
        row.addWidget(self.copy_button)

    def _button(self, picture: str, words: str, language: str) -> QToolButton:
        button = QToolButton(self)
        button.setObjectName("codeCopy")
        button.setAutoRaise(True)
        button.setToolTip(words)
        button.setAccessibleName(f"{words} ({language})" if language else words)
        keep_icon(button, self._theme, picture, "muted")
        return button

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.box.code)
        keep_icon(self.copy_button, self._theme, "check", "accent")
        QTimer.singleShot(_COPIED_MS, self.copy_button, self._show_copy_icon)

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
            self._tell(said.format(path=path, reason=error.strerror or error))
        else:
            self._tell(self.tr("Saved as {path}").format(path=path))

    def _tell(self, words: str) -> None:
        """Say for a while what became of a file, in the place of the language."""
        self.label.setText(words)
        QTimer.singleShot(_TOLD_MS, self.label, lambda: self.label.setText(language_name(self.box.language)))

    def _show_copy_icon(self) -> None:
        keep_icon(self.copy_button, self._theme, "copy", "muted")


class CodeBars:
    """Keep the bars of a text over their code. `refit`: the text takes another height, which places the bars again."""

    def __init__(self, text: QTextEdit, theme: Theme, refit: Callable[[], None]) -> None:
        self._refit = refit
        self._text = text
        self._theme = theme
        self.bars: list[CodeBar] = []
        self._placed = (0, 0)
        self._measured: dict[CodeBar, tuple[int, int]] = {}
        self._scrolls: dict[CodeBar, CodeScroll] = {}

    def lack(self, boxes: list[CodeBox]) -> bool:
        """Return True if there is code without a bar."""
        return len(self.bars) < min(len(boxes), MOST)

    def add(self, boxes: list[CodeBox]) -> None:
        """Make the next bar."""
        bar = CodeBar(boxes[len(self.bars)], self._theme, self._text.viewport())
        bar.wrap_wanted.connect(lambda on: self._wrap(bar, on=on))
        self.bars.append(bar)

    def place(self) -> None:
        """Put each bar over its code: the new ones, or all of them when the width has changed."""
        # Qt lays nothing out before the text is on the screen.
        now = (len(self.bars), round(self._text.document().textWidth()))
        if now[1] <= 0:
            return
        changed = now != self._placed
        # Code below a bar grows after the bar was placed.
        for bar in self.bars if changed else self.bars[-1:]:
            self._offer_wrap(bar, now[1])
        if not changed:
            return
        first = self._placed[0] if now[1] == self._placed[1] else 0
        layout = self._text.document().documentLayout()
        height = code_header_height(self._text.document().defaultFont())
        for bar in self.bars[first:]:
            place = layout.blockBoundingRect(bar.box.frame.firstCursorPosition().block())
            left = round(place.left() - CODE_MARGIN)
            bar.setGeometry(left, round(place.top()) - height, self._text.width() - left, height)
            bar.show()
        self._placed = now
        for bar, code in self._scrolls.items():
            self._put(bar, code)

    def _offer_wrap(self, bar: CodeBar, width: int) -> None:
        """Show the switch where a line is too long for this width (pixels)."""
        measured = (bar.box.frames[-1].lastPosition(), width)
        if bar in self._scrolls or self._measured.get(bar) == measured:
            return
        self._measured[bar] = measured
        bar.wrap_button.setVisible(is_short_enough(bar.box) and wraps(bar.box))

    def _wrap(self, bar: CodeBar, *, on: bool) -> None:
        """Wrap the lines of one piece of code, or show them over it in full length."""
        if on == (bar not in self._scrolls):
            return
        break_lines(bar.box, on=on)
        if on:
            code = self._scrolls.pop(bar)
            code.hide()
            code.deleteLater()
        else:
            code = self._scrolls[bar] = CodeScroll(bar.box, self._text.viewport())
            code.show()
        self._placed = (0, 0)
        self._refit()

    def wrap_all(self) -> None:
        """Wrap all lines: what is painted over the text must be seen."""
        for bar in list(self._scrolls):
            bar.wrap_button.setChecked(True)
            self._wrap(bar, on=True)

    def _put(self, bar: CodeBar, code: CodeScroll) -> None:
        """Put unwrapped code below its bar, over its place in the text."""
        layout = self._text.document().documentLayout()
        frame = bar.box.frames[-1]
        end = layout.frameBoundingRect(frame).bottom() - frame.format().toTableFormat().bottomMargin()
        top = bar.geometry().bottom() + 1
        code.setGeometry(bar.x(), top, bar.width(), round(end) - top)

    def clear(self) -> None:
        """Clear the bars: the text begins anew."""
        for bar in self.bars:
            bar.hide()
            bar.deleteLater()
        for code in self._scrolls.values():
            code.hide()
            code.deleteLater()
        self.bars = []
        self._measured, self._scrolls = {}, {}
        self._placed = (0, 0)
