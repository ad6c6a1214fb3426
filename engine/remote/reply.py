"""Request one reply from a server, and yield it as events."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from contextlib import closing
from time import perf_counter, sleep

from engine.cancel import CancelToken
from engine.errors import Cancelled, ServerFailed
from engine.events import Event, Finished, FinishReason, GenerationResult, PromptProgress, RoundEvent, TextEvent
from engine.remote.assembler import Added, ReplyAssembler
from engine.remote.body import Body
from engine.remote.figures import Clock, Counters, figures
from engine.remote.http import Connection
from engine.remote.kinds import ServerKind
from engine.remote.refusals import broke_off, failed_midway, not_understood
from engine.remote.texts import NotUnderstood, count_of
from engine.stats import GenerationStats
from engine.translatable import Translatable

_BY_SERVER = "server"
"""The method and the source of its rounds."""
_COUNTERS_S = 0.2
"""The wait before vLLM's counters are read again, if they do not include the reply yet."""


class RemoteReply:
    """Write one reply; `run` can be called once."""

    def __init__(self, connection: Connection, kind: ServerKind, body: Body, cancel: CancelToken) -> None:
        self._connection, self._kind, self._body, self._cancel = connection, kind, body, cancel
        last = (body.content.get("messages") or [{}])[-1]
        echo = last.get("content") if kind.echoes and last.get("role") == "assistant" else ""
        self._assembler = ReplyAssembler(echo if isinstance(echo, str) else "")
        self._rounds = _Rounds()
        self._began = 0.0
        self._first: float | None = None
        self._finish: FinishReason | None = None

    def run(self) -> Generator[Event, bool | None, None]:
        """Yield the events. An error midway is raised behind Finished. Raises ServerFailed, Cancelled."""
        before = self._counters()
        failure: ServerFailed | None = None
        self._began = perf_counter()
        try:
            yield from self._listen()
        except Cancelled:
            self._finish = "cancelled"
            if not self._assembler.begun:
                raise
        except (NotUnderstood, ServerFailed) as error:
            address = self._connection.address
            failure = error if isinstance(error, ServerFailed) else not_understood(address, error.args[0])
            self._finish = "error"
            if not self._assembler.begun:
                raise failure from None
        ended = perf_counter()
        clock = Clock(1000.0 * ((self._first or ended) - self._began), 1000.0 * (ended - self._began))
        result = self._result(clock, None if self._finish or before is None else self._counted(before))
        yield from self._rounds.rest(result.stats)
        yield Finished(result)
        if failure is not None:
            raise failure

    def _listen(self) -> Generator[Event, bool | None, None]:
        assembler = self._assembler
        for piece in self._pieces():
            added = assembler.take(piece)
            yield from _progress(piece)
            if self._first is None and assembler.begun:
                self._first = perf_counter()
                yield PromptProgress(0, 0)
            if added and (yield _text_event(added, assembler)) is False:
                self._finish = "stop"
                return
            yield from self._rounds.of(assembler)
        if assembler.ended is None or assembler.finish_reason == "error":
            raise broke_off(self._connection.address)

    def _pieces(self) -> Iterator[object]:
        """Yield the server's answer, piece by piece. Raises ServerFailed, NotUnderstood, Cancelled."""
        address = self._connection.address
        url = address.base + ("/chat/completions" if self._body.chat else "/completions")
        with closing(self._connection.events(url, self._cancel, self._body.content)) as events:
            for data in events:
                if data.strip() == "[DONE]":
                    return
                try:
                    piece = json.loads(data)
                except (ValueError, RecursionError):
                    raise NotUnderstood(Translatable("a piece of it is not JSON")) from None
                if isinstance(piece, dict) and piece.get("error"):
                    raise failed_midway(address, piece)
                yield piece

    def _result(self, clock: Clock, counted: Counters | None) -> GenerationResult:
        assembler, counted_figures = self._assembler, figures(self._assembler, self._kind, clock, counted)
        calls, notes = assembler.tool_calls()
        if assembler.ended == "content_filter":
            notes += (Translatable("The server withheld the rest of this reply (content_filter)."),)
        return GenerationResult(
            text=assembler.text,
            tokens=(),
            prompt_tokens=counted_figures.prompt_tokens,
            prompt_evaluated=counted_figures.prompt_evaluated,
            finish_reason=self._finish or assembler.finish_reason,
            method=_BY_SERVER,
            lookahead=_BY_SERVER,
            stats=counted_figures.stats,
            reasoning="".join(assembler.reasoning),
            content=assembler.text,
            tool_calls=calls,
            notes=(*self._body.notes, *notes),
        )

    # vLLM's counters --------------------------------------------------------------------------------------------------

    def _counters(self) -> Counters | None:
        if not self._kind.metrics:
            return None
        try:
            page = self._connection.read(f"{self._connection.address.root}/metrics", self._cancel)
        except ServerFailed:  # They may be switched off, or behind another port: then they are missing.
            return None
        return Counters.read(page.decode("utf-8", "replace"))

    def _counted(self, before: Counters) -> Counters | None:
        """Return vLLM's counts since; it may know of the end of a reply a moment later."""
        counted = None
        for wait in (0.0, _COUNTERS_S):
            sleep(wait)
            try:
                now = self._counters()
            except Cancelled:  # The reply is whole: what is left out is a figure.
                return None
            counted = None if now is None else now.since(before)
            if counted is None or counted.values.get("generation_tokens") == self._assembler.usage.get(
                "completion_tokens"
            ):
                break
        return counted


class _Rounds:
    """Derive rounds from a server's counts while it writes (llama.cpp), or one from all counts at the end."""

    def __init__(self) -> None:
        self._number = self._proposed = self._accepted = 0

    def of(self, assembler: ReplyAssembler) -> Iterator[RoundEvent]:
        """Return the round that ended with the last piece, if one did."""
        proposed, accepted = (count_of(assembler.timings.get(name)) for name in ("draft_n", "draft_n_accepted"))
        if proposed is not None and accepted is not None:
            yield from self._until(proposed, accepted)

    def rest(self, stats: GenerationStats) -> Iterator[RoundEvent]:
        """Return the figures that came only at the end."""
        if "acceptance" not in stats.untold:
            yield from self._until(stats.proposed, stats.accepted)

    def _until(self, proposed: int, accepted: int) -> Iterator[RoundEvent]:
        drafted, kept = proposed - self._proposed, accepted - self._accepted
        if drafted <= 0 or not 0 <= kept <= drafted:
            return
        self._number, self._proposed, self._accepted = self._number + 1, proposed, accepted
        yield RoundEvent(self._number, _BY_SERVER, drafted, drafted, kept, 0.0, 0.0)


def _text_event(added: Added, assembler: ReplyAssembler) -> TextEvent:
    written = count_of(assembler.usage.get("completion_tokens", assembler.timings.get("predicted_n")))
    text = "".join(text for channel, text in added if channel == "content")
    return TextEvent(text, added[-1][0], added, written)


def _progress(piece: object) -> Iterator[PromptProgress]:
    """Return the progress of reading the prompt, where the server reports it (llama.cpp)."""
    progress = piece.get("prompt_progress") if isinstance(piece, dict) else None
    if not isinstance(progress, dict):
        return
    total, cached, done = (count_of(progress.get(name)) for name in ("total", "cache", "processed"))
    if total is not None and cached is not None and done is not None and cached <= done <= total:
        yield PromptProgress(done - cached, total - cached)
