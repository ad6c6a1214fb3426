"""Show the buttons of the Speculation panel: pause, and saving the plots."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QTimer, Signal
from PySide6.QtGui import QPixmap
from PySide6.QtWidgets import QFileDialog, QLabel, QMenu, QToolButton, QWidget

from app.views.widgets.boxes import in_column, in_row
from app.views.widgets.icons import icon_button, keep_icon
from app.views.widgets.keys import settle_hover
from app.views.widgets.theme import Theme
from engine.host import write_whole

_SAID_MS = 8_000


class PanelTools(QWidget):
    """Pause and Save, in the row of the panel's title. Attribute: said, a line with the result of saving.

    `picture` and `table` give what is to be saved. Signal: paused(bool).
    """

    paused = Signal(bool)

    def __init__(
        self, theme: Theme, picture: Callable[[], QPixmap], table: Callable[[], str], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._picture, self._table = picture, table
        title = QLabel(self.tr("Speculation"), self)
        title.setObjectName("panelTitle")
        self.pause_button = icon_button(theme, "pause", self.tr("Pause the plots"), self)
        self.pause_button.setCheckable(True)
        self.pause_button.toggled.connect(self._pause)
        self.save_button = icon_button(theme, "download-simple", self.tr("Save the plots"), self)
        self.save_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(self)
        menu.addAction(self.tr("As an image (PNG)…")).triggered.connect(self._ask_for_picture)
        menu.addAction(self.tr("As a table (CSV)…")).triggered.connect(self._ask_for_table)
        menu.aboutToHide.connect(lambda: settle_hover(self.save_button))
        self.save_button.setMenu(menu)
        self.said = QLabel(self)
        self.said.setWordWrap(True)
        self.said.setObjectName("caption")
        self.said.hide()
        row = in_row(title, ..., self.pause_button, self.save_button, spacing=4)
        in_column(row, self.said, margins=(0, 0, 0, 0), spacing=4, parent=self)

    def _pause(self, paused: bool) -> None:
        words = self.tr("Resume the plots") if paused else self.tr("Pause the plots")
        keep_icon(self.pause_button, self._theme, "play" if paused else "pause")
        self.pause_button.setToolTip(words)
        self.pause_button.setAccessibleName(words)
        self.paused.emit(paused)

    def _ask_for_picture(self) -> None:
        path = self._ask(self.tr("Save the plots as an image"), "speculation.png", self.tr("Images (*.png)"))
        if path is not None:
            self.save_picture(path)

    def _ask_for_table(self) -> None:
        path = self._ask(self.tr("Save the data as a table"), "speculation.csv", self.tr("Tables (*.csv)"))
        if path is not None:
            self.save_table(path)

    def _ask(self, title: str, name: str, kinds: str) -> Path | None:
        chosen, _ = QFileDialog.getSaveFileName(self, title, str(Path.home() / name), kinds)
        if not chosen:
            return None
        path = Path(chosen)
        return path if path.suffix else path.with_suffix(Path(name).suffix)

    def save_picture(self, path: Path) -> None:
        """Write the plots as a PNG, and report the result."""
        data = QByteArray()
        buffer = QBuffer(data)
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        self._picture().save(buffer, "PNG")
        self._write(path, bytes(data.data()))

    def save_table(self, path: Path) -> None:
        """Write the figures as a CSV, and report the result."""
        self._write(path, self._table().encode())

    def _write(self, path: Path, data: bytes) -> None:
        try:
            write_whole(path, data)
        except OSError as error:
            reason = error.strerror or str(error)
            pattern = self.tr("Cannot save {path}: {reason}. Choose another folder.")
            self._say(pattern.format(path=path, reason=reason), failed=True)
        else:
            self._say(self.tr("Saved as {path}").format(path=path), failed=False)

    def _say(self, words: str, *, failed: bool) -> None:
        self.said.setText(words)
        self.said.setStyleSheet(f"color: {self._theme.tokens.danger};" if failed else "")
        self.said.show()
        if not failed:
            QTimer.singleShot(_SAID_MS, self.said, self._unsay)

    def _unsay(self) -> None:
        """Hide good news, which need not stay; an error does, until something else is saved."""
        if not self.said.styleSheet():
            self.said.hide()
