"""Ask for servers, and remove them."""

from __future__ import annotations

from asyncio import Future
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication

from app.bridge.job import Job
from app.control.problems import describe
from app.shell.program import Program
from app.state.models.targets import Server
from engine import Cancelled

if TYPE_CHECKING:
    from app.views.models.server import ServerDialog
    from engine import FoundServer


class ServerWindows:
    """Hold the dialog for a server. Attribute: dialog (the one that is open, or None)."""

    def __init__(self, program: Program) -> None:
        self.dialog: ServerDialog | None = None
        self._program = program
        self._test: Job[FoundServer] | None = None

    def open(self) -> None:
        from app.views.models.server import ServerDialog  # noqa: PLC0415 - not before it is asked for

        if self.dialog is None:
            self.dialog = ServerDialog(self._program.window)
            self.dialog.asked.connect(self._ask)
            self.dialog.chosen.connect(self._add)
            self.dialog.finished.connect(self._closed)
        self.dialog.show()
        self.dialog.activateWindow()

    def _closed(self, _result: int) -> None:
        self.dialog = None
        if self._test is not None:
            self._test.cancel()

    def _ask(self, address: str, key: str) -> None:
        if self._test is not None:
            self._test.cancel()
        job = self._test = self._program.bridge.find_server(address, key)
        job.result.add_done_callback(lambda result: self._show(job, result))

    def _show(self, job: Job[FoundServer], result: Future[FoundServer]) -> None:
        error = None if result.cancelled() else result.exception()
        if job is not self._test:
            return
        self._test = None
        if self.dialog is None or result.cancelled() or isinstance(error, Cancelled):
            return
        if error is not None:
            self.dialog.show_problem(describe(error).text)
            return
        found = result.result()
        self.dialog.show_found(found.address, found.models, found.kind)

    def _add(self, server: Server) -> None:
        program = self._program
        if self.dialog is not None and self.dialog.key.text().strip():
            program.bridge.keep_key(server.address).result.add_done_callback(self._note_key)
        program.models.add_server(server)

    def _note_key(self, kept: Future[bool]) -> None:
        if not kept.cancelled() and kept.exception() is None and not kept.result() and self._program.window.isVisible():
            text = QCoreApplication.translate(
                "Servers",
                "This computer has no keyring that Outrider can use: the key holds until Outrider ends. For later, set "
                "OUTRIDER_API_KEY and OUTRIDER_API_KEY_ADDRESS.",
            )
            self._program.window.notice.show_trouble(text)

    def remove(self) -> None:
        """Remove the server that is the target, and its key where no other one has the same address."""
        models, bridge = self._program.models, self._program.bridge
        server = models.list.selection.target
        if not isinstance(server, Server):
            return
        models.remove_server(server)
        if all(each.address != server.address for each in models.list.servers):
            bridge.forget_key(server.address)
