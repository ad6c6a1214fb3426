"""Show the files that go with a question, as chips that can be taken away."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QToolButton, QWidget

from app.state.chat.attachments import Attachment
from app.views.widgets.icons import keep_icon
from app.views.widgets.theme import Theme
from app.words.documents import file_words
from app.words.figures import SEPARATOR

_GAP = 6
_LEAST_HEIGHT = 28
_WIDEST = 300
_REMOVES = (Qt.Key.Key_Delete, Qt.Key.Key_Backspace, Qt.Key.Key_Return, Qt.Key.Key_Enter)


class Chip(QToolButton):
    """Show one file, removed on press or Delete. Signals: removed(), fitted() (to letters of another size).

    The keys reach it with Tab alone: a click would leave them where the next file is removed by typing.
    """

    removed = Signal()
    fitted = Signal()

    def __init__(self, name: str, count: str, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("chip")
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        # The cross stands behind the words.
        turned = {Qt.LayoutDirection.LeftToRight: Qt.LayoutDirection.RightToLeft}
        self.setLayoutDirection(turned.get(parent.layoutDirection(), Qt.LayoutDirection.LeftToRight))
        keep_icon(self, theme, "x", "muted")
        self.setIconSize(QSize(12, 12))
        self._words = (name, count)
        self._fit()
        self.setAccessibleName(self.tr("Attached file {name}").format(name=name) + (SEPARATOR + count if count else ""))
        self.setAccessibleDescription(self.tr("Press Delete to remove it"))
        self.setToolTip(self.tr("Remove {name}").format(name=name))
        self.clicked.connect(self.removed)

    def _fit(self) -> None:
        name, count = self._words
        metrics = self.fontMetrics()
        room = _WIDEST - metrics.horizontalAdvance(SEPARATOR + count) - 40
        shown = metrics.elidedText(name, Qt.TextElideMode.ElideMiddle, max(room, 80))
        # An ampersand in a name is no mnemonic.
        self.setText((shown + SEPARATOR + count if count else shown).replace("&", "&&"))

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._fit()
            self.fitted.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Delete and Enter take it away, as a click does."""
        if event.key() in _REMOVES:
            self.removed.emit()
            event.accept()
        else:
            super().keyPressEvent(event)


class ChipRow(QWidget):
    """Show chips in as many lines as they need; hide while there are none.

    Signals: removed(place), left() (the file with the keyboard's focus is gone: typing goes on elsewhere).
    """

    removed = Signal(int)
    left = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(self.tr("Attached files"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._theme = theme
        self._shown: tuple[tuple[str, str], ...] = ()
        self.chips: list[Chip] = []
        self.hide()

    def show_files(self, attachments: Sequence[Attachment], pending: Sequence[str] = ()) -> None:
        """Show these; `pending`: names of those that are still being read."""
        counts = [(each.name, file_words(each)) for each in attachments]
        files = (*counts, *((name, self.tr("reading…")) for name in pending))
        if files == self._shown:
            return
        focused = next((name for chip, (name, _) in zip(self.chips, self._shown, strict=True) if chip.hasFocus()), None)
        for chip in self.chips:
            chip.hide()
            chip.deleteLater()
        self._shown = files
        self.chips = [Chip(name, count, self._theme, self) for name, count in files]
        for place, chip in enumerate(self.chips):
            chip.removed.connect(lambda place=place: self._remove(place))
            chip.fitted.connect(self._arrange)
            chip.show()
        self.setVisible(bool(files))
        self._arrange()
        if focused is not None:
            same = next((chip for chip, (name, _) in zip(self.chips, files, strict=True) if name == focused), None)
            same.setFocus() if same is not None else self.left.emit()

    def _remove(self, place: int) -> None:
        """Ask for it once: the keys go elsewhere first, as the next press of one would remove the next file."""
        self.left.emit()
        self.removed.emit(place)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        super().resizeEvent(event)
        if event.oldSize().width() != event.size().width():
            self._arrange()

    def _arrange(self) -> None:
        right = self.layoutDirection() == Qt.LayoutDirection.RightToLeft
        line = max([_LEAST_HEIGHT, *(chip.sizeHint().height() for chip in self.chips)])
        x = y = 0
        for chip in self.chips:
            width = min(chip.sizeHint().width(), max(self.width(), 120))
            if x and x + width > self.width():
                x, y = 0, y + line + _GAP
            chip.setGeometry(self.width() - x - width if right else x, y, width, line)
            x += width + _GAP
        height = y + line if self.chips else 0
        if height != self.height() or self.minimumHeight() != height:
            self.setFixedHeight(height)
