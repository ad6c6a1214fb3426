"""Write all chats into an archive once a day or a week, as long as the settings say so, and keep the last ten."""

from __future__ import annotations

import contextlib
import re
from datetime import datetime, timedelta
from pathlib import Path

from PySide6.QtCore import QObject, QStandardPaths, QTimer

from app.shell.program import Program

_SETTING = "chat_exports"
_PERIODS = {"daily": timedelta(days=1), "weekly": timedelta(days=7)}
_LOOK_MS, _FIRST_MS = 3_600_000, 60_000
_KEPT = 10
_FORM = "outrider-chats-%Y-%m-%d-%H%M%S.zip"
_NAME = re.compile(r"outrider-chats-\d{4}-\d\d-\d\d-\d{6}\.zip")


class ChatExports(QObject):
    """Write archives of all chats periodically."""

    def __init__(self, program: Program) -> None:
        super().__init__(program.window)
        self._program = program
        documents = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DocumentsLocation)
        self.folder = Path(documents or Path.home(), "Outrider chats")
        self._timer = QTimer(self, interval=_LOOK_MS)
        self._timer.timeout.connect(self.look)

    def begin(self) -> None:
        """Start the timer; the first check comes when the start is long over."""
        self._timer.start()
        QTimer.singleShot(_FIRST_MS, self, self.look)
        self._program.autosave.changed.connect(lambda name: self.look() if name == _SETTING else None)

    def look(self) -> None:
        """Write an archive if it is due."""
        period, conversations = _PERIODS.get(self._program.settings.chat_exports), self._program.conversations
        if period is None or not conversations.lasting or not conversations.summaries():
            return
        now = datetime.now()  # noqa: DTZ005 - the names are for people
        last = max((_written(each) for each in self.archives()), default=0.0)
        if not 0 <= now.timestamp() - last < period.total_seconds():
            conversations.export_everything(self.folder / now.strftime(_FORM), self._prune)

    def archives(self) -> list[Path]:
        """Return the archives that are there, the oldest first."""
        with contextlib.suppress(OSError):
            return sorted(each for each in self.folder.iterdir() if _NAME.fullmatch(each.name))
        return []

    def _prune(self) -> None:
        for old in self.archives()[:-_KEPT]:
            with contextlib.suppress(OSError):
                old.unlink()


def _written(path: Path) -> float:
    with contextlib.suppress(OSError):
        return path.stat().st_mtime
    return 0.0
