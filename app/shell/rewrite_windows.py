"""Open the window in which a reply is rewritten, and have it done by the chat."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.shell.program import Program
from app.state.chat.intents import EditReply, EntryIntent, ShowRewrite
from app.state.chat.transcript import Exchange

if TYPE_CHECKING:
    from app.views.chat.rewrite import RewriteDialog


class RewriteWindows:
    """Rewrite replies. Attribute: dialog (the last one that was opened)."""

    def __init__(self, program: Program) -> None:
        self.dialog: RewriteDialog | None = None
        self._program = program
        self._written: Exchange | None = None
        program.window.transcript.intent.connect(self._take)
        program.window.closed.connect(self.close)
        program.controller.reply_grew.connect(lambda exchange, _text: self._show(exchange))
        program.controller.any_reply_ended.connect(self._show)

    def _take(self, intent: EntryIntent) -> None:
        if isinstance(intent, ShowRewrite):
            self.open(intent.exchange)

    def open(self, exchange: Exchange) -> None:
        """Open the dialog for rewriting a reply."""
        from app.views.chat.rewrite import RewriteDialog  # noqa: PLC0415 - not before it is asked for

        self.close()
        dialog = self.dialog = RewriteDialog(exchange.shown, self._program.theme, self._program.window)
        dialog.wanted.connect(self._rewrite)
        dialog.stopped.connect(self._program.controller.cancel)
        dialog.kept.connect(self._keep)
        dialog.destroyed.connect(self._forget)
        dialog.show()

    def _rewrite(self, text: str, what: str) -> None:
        written, dialog = self._program.controller.rewrite(text, what), self.dialog
        if written is not None:
            self._written = written
        elif dialog is not None:
            dialog.refuse()

    def _show(self, exchange: Exchange) -> None:
        if self.dialog is not None and exchange is self._written:
            self.dialog.show_new(exchange.shown, ended=exchange.ended)

    def _keep(self, text: str) -> None:
        if self._written is not None:
            self._program.controller.carry_out(EditReply(self._written, text))

    def _forget(self) -> None:
        self.dialog = self._written = None

    def close(self) -> None:
        """Close it with the window."""
        if self.dialog is not None:
            self.dialog.destroyed.disconnect(self._forget)
            self.dialog.close()
        self._forget()
