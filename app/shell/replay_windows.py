"""Open the replay of a reply in a window of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.shell.program import Program
from app.state.chat.intents import EntryIntent, ShowReplay
from app.state.chat.transcript import Exchange
from app.state.replay.timeline import Replay

if TYPE_CHECKING:
    from app.views.replay.dialog import ReplayDialog


class ReplayWindows:
    """Play kept replies again. Attribute: dialog (the last one that was opened)."""

    def __init__(self, program: Program) -> None:
        self.dialog: ReplayDialog | None = None
        self._program = program
        program.window.transcript.intent.connect(self._take)
        program.window.closed.connect(self.close)

    def _take(self, intent: EntryIntent) -> None:
        if isinstance(intent, ShowReplay):
            self.open(intent.exchange)

    def open_last(self) -> None:
        """Play the last reply of the chat that is shown."""
        replies = [each for each in self._program.controller.transcript.entries if isinstance(each, Exchange)]
        done = [each for each in replies if each.ended and each.reply]
        if done:
            self._program.controller.conversations.load_trace(done[-1])
            self.open(done[-1])

    def open(self, exchange: Exchange) -> None:
        """Play a reply; one without a record of its tokens says so."""
        from app.views.replay.dialog import ReplayDialog  # noqa: PLC0415 - not before it is asked for

        window = self._program.window
        if exchange.trace is None or not len(exchange.trace):
            window.notice.show_passing_trouble(
                window.tr("There is no token record for this reply, so it cannot be replayed.")
            )
            return
        self.close()
        stats = exchange.stats
        plain = self._program.controller.replies.metrics.plain_speed if stats is None else stats.plain_tokens_per_second
        replay = Replay(exchange.trace, exchange.question, 1000.0 / plain if plain else None)
        self.dialog = ReplayDialog(replay, self._program.theme, window)
        self.dialog.begin()

    def close(self) -> None:
        """Close it with the window."""
        if self.dialog is not None:
            self.dialog.close()
            self.dialog.deleteLater()
            self.dialog = None
