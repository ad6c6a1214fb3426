"""Export replies with their proof, and verify proofs that are dropped onto the window."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject

from app.control.problems import describe
from app.shell.program import Program
from app.state.chat.intents import EntryIntent, ExportProof
from app.state.chat.transcript import Exchange
from app.state.conversations.dropped import Dropped
from app.state.conversations.files import write_bytes
from app.system.translation import say
from app.views.window.file_dialogs import ask_where_to_put
from engine import Verified, make_proof


class Proofs(QObject):
    """Write proofs of replies, and compute replies again by theirs."""

    def __init__(self, program: Program) -> None:
        super().__init__(program.window)
        self._program = program
        program.window.transcript.intent.connect(self._take)

    def _take(self, intent: EntryIntent) -> None:
        if isinstance(intent, ExportProof):
            self.export(intent.exchange)

    def export(self, exchange: Exchange) -> None:
        """Ask for a file, and write a reply with its proof into it."""
        window, program = self._program.window, self._program
        made = None if exchange.trace is None else exchange.trace.made
        if made is None:
            window.notice.show_passing_trouble(
                window.tr("There is no record of how this reply was made, so it has no proof.")
            )
            return
        path = ask_where_to_put(window, program.settings, window.tr("Export with proof"), "proof.json")
        if path is not None:
            program.conversations.files.export(path, lambda _store: write_bytes(path, make_proof(made)))

    def take_dropped(self, found: Dropped) -> None:
        """Verify the first dropped proof."""
        for path in found.proofs[:1]:
            self.verify(path)

    def verify(self, path: Path) -> None:
        """Compute the reply of a proof again, and report the result."""
        window = self._program.window
        window.notice.show_word(window.tr("Computing the reply of {name} again…").format(name=path.name))
        job = self._program.bridge.verify(path, [each.path for each in self._program.models.list.models])
        job.result.add_done_callback(lambda done: self._tell(path, done.exception() or done.result()))

    def _tell(self, path: Path, found: Verified | BaseException) -> None:
        notice = self._program.window.notice
        if isinstance(found, BaseException):
            notice.show_trouble(describe(found).text)
            return
        text = f"{path.name}: {' '.join(map(say, found.sentences))}"
        if found.identical:
            notice.show_good_news(text)
        else:
            notice.show_trouble(text)
