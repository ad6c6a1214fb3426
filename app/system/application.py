"""Set up the Qt application: its name, its icon, and the files that the system hands to it."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from PySide6.QtCore import QByteArray, QEvent, Signal
from PySide6.QtGui import QFileOpenEvent, QIcon, QPixmap
from PySide6.QtWidgets import QApplication

from app.system.resources import ResourceDamaged, read_bytes
from engine import __version__


class Application(QApplication):
    """Represent the one application object.

    Signal: file_opened(path), when the system asks the running program to open a file. macOS does it so, also for the
    file that the program was started with; other systems name it on the command line.
    """

    file_opened = Signal(str)

    def __init__(self, arguments: Sequence[str]) -> None:
        super().__init__([*arguments[:1]])
        self.setApplicationName("outrider")
        self.setApplicationDisplayName("Outrider")
        self.setApplicationVersion(__version__)
        self.setDesktopFileName("outrider")
        with contextlib.suppress(ResourceDamaged):
            picture = QPixmap()
            picture.loadFromData(QByteArray(read_bytes("icons", "outrider.svg")))
            self.setWindowIcon(QIcon(picture))

    def event(self, event: QEvent) -> bool:
        """Take files that are to be opened."""
        if isinstance(event, QFileOpenEvent) and event.file():
            self.file_opened.emit(event.file())
            return True
        return super().event(event)
