"""The error report, and the folder with the log."""

from __future__ import annotations

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices

from app.control.problems import report
from app.shell.program import Parts
from app.state.chat.intents import EntryIntent, ShowDetails
from app.state.chat.transcript import Problem
from app.views.commands.commands import PROGRAM


class ReportWindows:
    """Opens them when they are asked for."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        parts.window.transcript.intent.connect(self._take)
        text = parts.window.tr("Open the log folder")
        parts.window.commands.add("program.log", text, self.open_log_folder, section=PROGRAM)

    def _take(self, intent: EntryIntent) -> None:
        if isinstance(intent, ShowDetails):
            self.open_report(intent.problem)

    def open_report(self, problem: Problem) -> None:
        """Show what would be sent to the makers."""
        from app.views.window.error_dialog import ErrorDialog  # noqa: PLC0415 - not before it is asked for

        desk = self._parts.desk
        loaded = desk.models.loaded
        text = report(problem, target=desk.name_of(loaded.target), draft=desk.name_of(loaded.draft))
        dialog = ErrorDialog(text, self._parts.window)
        dialog.log_wanted.connect(self.open_log_folder)
        dialog.show()

    def open_log_folder(self) -> None:
        """Show the folder with the log in the system's file manager; where there is none, say where it is."""
        window, folder = self._parts.window, self._parts.log.path.parent
        there = folder.is_dir()
        if not there or not QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder))):
            text = window.tr("The log is in {folder}.") if there else window.tr("There is no log in {folder} yet.")
            window.notice.show_trouble(text.format(folder=folder))
