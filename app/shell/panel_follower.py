"""Show a reply in the Speculation panel: the one that the reader selects, else the last one of the chat."""

from __future__ import annotations

from itertools import islice

from PySide6.QtCore import QObject

from app.shell.program import Program
from app.state.chat.attachments import split_question
from app.state.chat.transcript import Exchange
from app.state.speculation.metrics import Metrics

_NEAR_END = 10
"""Entries at the end of a chat among which the last reply with figures is sought; imported ones have none."""
_LONGEST = 200
"""Characters of a question that name its reply."""


class PanelFollower(QObject):
    """Show the figures of one reply, live or as they were kept."""

    def __init__(self, program: Program) -> None:
        super().__init__(program.window)
        self._program = program
        self._chosen: Exchange | None = None
        self._kept: tuple[Exchange, Metrics] | None = None
        self._shown: Metrics | None = None
        controller = program.controller
        self._nothing = controller.metrics.of_nothing()
        controller.replies.metrics_changed.connect(self._choose_again)
        program.window.transcript.selected.connect(self._select)
        for changed in (controller.opened, controller.cleared):
            changed.connect(self._follow_last)
        for begun in (controller.started_writing, controller.reply_ended):
            begun.connect(lambda _exchange: self._follow_last())

    def _select(self, exchange: Exchange) -> None:
        if exchange is not self._chosen and (exchange.stats is not None or self._is_live(exchange)):
            self._chosen = exchange
            self._show()

    def _follow_last(self) -> None:
        """Follow the last reply: there are other entries, or a reply begins or has ended."""
        entries = self._program.controller.transcript.entries
        self._chosen = next(
            (
                entry
                for entry in islice(reversed(entries), _NEAR_END)
                if isinstance(entry, Exchange) and (self._is_live(entry) or entry.stats is not None)
            ),
            None,
        )
        self._show()

    def _choose_again(self) -> None:
        """Follow another choice of models where no reply is shown; leave the live figures when they are another's."""
        live = self._program.controller.metrics
        if self._chosen is None or (self._shown is live and not self._is_live(self._chosen)):
            self._show()

    def _is_live(self, exchange: Exchange) -> bool:
        return exchange is self._program.controller.replies.measured

    def _show(self) -> None:
        exchange, panel = self._chosen, self._program.window.panel
        name = ""
        if exchange is not None:
            typed, files = split_question(exchange.question)
            name = typed.strip()[:_LONGEST].partition("\n")[0] or next((file.name for file in files), "")
        self._shown = self._metrics_of(exchange)
        panel.show_reply(self._shown, name)

    def _metrics_of(self, exchange: Exchange | None) -> Metrics:
        """Return the figures of a reply. Those that were kept know its rounds where its record does."""
        live = self._program.controller.metrics
        if exchange is None and self._program.controller.replies.measured is not None:  # Of another chat.
            self._nothing.choose(self._program.models.list.selection)
            return self._nothing
        if exchange is None or exchange.stats is None or self._is_live(exchange):
            return live
        if self._kept is None or self._kept[0] is not exchange:
            self._program.conversations.load_trace(exchange)
            trace, count = exchange.trace, exchange.stats.rounds
            metrics = Metrics.of_kept(exchange.stats, () if trace is None else trace.first_rounds(count))
            metrics.choose(self._program.models.list.selection)
            self._kept = exchange, metrics
        return self._kept[1]
