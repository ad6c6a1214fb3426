"""Request one reply from a server, and yield it as events."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from time import perf_counter, sleep
from typing import Any

from engine.cancel import CancelToken
from engine.errors import Cancelled, ServerFailed
from engine.events import Event, Finished, FinishReason, GenerationResult, PromptProgress, RoundEvent, TextEvent
from engine.remote.assembler import Added, NotUnderstood, ReplyAssembler, count_of
from engine.remote.body import Body
from engine.remote.http import Connection
from engine.remote.kinds import ServerKind
from engine.remote.refusals import broke_off, failed_midway, not_understood
from engine.stats import GenerationStats, Untold
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


_LINE = re.compile(r"vllm:(\w+?)(?:_total)?(?:\{(.*)\})? ([0-9.eE+-]+|[+-]?Inf|NaN)(?: \d+)?")
_POSITION = re.compile(r'position="(\d{1,3})"')
_COUNTERS = (
    *("generation_tokens", "request_success", "spec_decode_num_drafts"),
    *("spec_decode_num_draft_tokens", "spec_decode_num_accepted_tokens"),
)
_PER_POSITION = "spec_decode_num_accepted_tokens_per_pos"


@dataclass(frozen=True, slots=True)
class Counters:
    """Hold vLLM's counters at one moment: by name, and the accepted tokens by their place in a draft."""

    values: Mapping[str, float]
    by_position: tuple[float, ...] = ()

    @classmethod
    def read(cls, text: str) -> Counters:
        """Return the counters that a page of Prometheus's format tells, added up over its labels."""
        values: dict[str, float] = {}
        places: dict[int, float] = {}
        for line in text.splitlines():
            found = _LINE.fullmatch(line.strip())
            if found is None:
                continue
            name, labels, value = found[1], found[2] or "", float(found[3])
            if name in _COUNTERS:
                values[name] = values.get(name, 0.0) + value
            elif name == _PER_POSITION and (place := _POSITION.search(labels)):
                places[int(place[1])] = places.get(int(place[1]), 0.0) + value
        whole = sorted(places) == list(range(len(places)))
        return cls(values, tuple(places[index] for index in range(len(places))) if whole else ())

    def since(self, before: Counters) -> Counters:
        """Return the counts since an earlier moment."""
        values = {name: value - before.values.get(name, 0.0) for name, value in self.values.items()}
        earlier = (*before.by_position, *[0.0] * (len(self.by_position) - len(before.by_position)))
        return Counters(values, tuple(a - b for a, b in zip(self.by_position, earlier, strict=False)))


@dataclass(frozen=True, slots=True)
class Clock:
    """Hold times measured here: milliseconds from the request to the first piece of the reply, and to its end."""

    first_ms: float
    total_ms: float


@dataclass(frozen=True, slots=True)
class ReplyFigures:
    """Hold the figures of a reply: its statistics, and the tokens of its prompt, all of them and those evaluated."""

    stats: GenerationStats
    prompt_tokens: int
    prompt_evaluated: int


def figures(assembler: ReplyAssembler, kind: ServerKind, clock: Clock, counted: Counters | None) -> ReplyFigures:
    """Return the figures of a reply.

    `counted`: vLLM's counters since the request. They count only where they show that this was the only reply.
    """
    usage, timings, untold = assembler.usage, assembler.timings, list[Untold]()
    written = count_of(usage.get("completion_tokens"))
    if written is None:
        written = count_of(timings.get("predicted_n"))
    prompt = count_of(usage.get("prompt_tokens"))
    cached = _cached(usage, timings)
    if prompt is None and count_of(timings.get("prompt_n")) is not None and cached is not None:
        prompt = cached + (count_of(timings.get("prompt_n")) or 0)
    drafted = _drafted(assembler, kind, counted, written)
    untold += [] if prompt is not None else ["prompt"]
    untold += [] if cached is not None and prompt is not None else ["cached"]
    untold += [] if written is not None else ["tokens"]
    untold += [] if drafted is not None else ["acceptance"]
    rounds = count_of(assembler.meta.get("spec_verify_ct"))
    untold += [] if rounds else ["rounds"]
    untold += ["endings", "times"]
    proposed, accepted = (drafted.proposed, drafted.accepted) if drafted is not None else (0, 0)
    prompt_ms, total_ms = _times(timings, clock)
    stats = GenerationStats(
        rounds=rounds or 0,
        proposed=proposed,
        accepted=accepted,
        rejected=proposed - accepted,
        # A server may count accepted tokens behind the end of the reply: what it wrote is right all the same.
        plain_tokens=(written or accepted) - accepted,
        prompt_ms=prompt_ms,
        total_ms=total_ms,
        proposed_by_position=drafted.proposed_by_position if drafted is not None else (),
        accepted_by_position=drafted.accepted_by_position if drafted is not None else (),
        untold=tuple(untold),
    )
    return ReplyFigures(stats, prompt or 0, (prompt or 0) - (cached or 0))


@dataclass(frozen=True, slots=True)
class _Drafted:
    """Count the proposed and accepted tokens, and both by position if reported."""

    proposed: int
    accepted: int
    proposed_by_position: tuple[int, ...] = ()
    accepted_by_position: tuple[int, ...] = ()


def _drafted(
    assembler: ReplyAssembler, kind: ServerKind, counted: Counters | None, written: int | None
) -> _Drafted | None:
    """Return the server's report of its drafts, or None."""
    timings, meta = assembler.timings, assembler.meta
    pairs = [
        (timings.get("draft_n"), timings.get("draft_n_accepted")),
        (meta.get("spec_draft_token_num"), meta.get("spec_accept_token_num")),
    ]
    for pair in pairs:
        proposed, accepted = map(count_of, pair)
        if proposed is not None and accepted is not None and accepted <= proposed:
            return _Drafted(proposed, accepted)
    if timings and kind.counts_drafts and "draft_n" not in timings:
        return _Drafted(0, 0)
    if counted is None or written is None or not _is_alone(counted, written):
        return None
    names = ("num_drafts", "num_draft_tokens", "num_accepted_tokens")
    drafts, proposed, accepted = (count_of(counted.values.get(f"spec_decode_{name}")) for name in names)
    if drafts is None or proposed is None or accepted is None or accepted > proposed:
        return None
    places = [count_of(each) for each in counted.by_position]
    # Only where all drafts were of one length it is known how many were proposed at each place.
    if places and None not in places and proposed == drafts * len(places):
        return _Drafted(proposed, accepted, (drafts,) * len(places), tuple(each or 0 for each in places))
    return _Drafted(proposed, accepted)


def _is_alone(counted: Counters, written: int) -> bool:
    """Return True if the counters speak of one reply only, of so many tokens."""
    values = counted.values
    return values.get("request_success") == 1 and values.get("generation_tokens") == written


def _cached(usage: Mapping[str, Any], timings: Mapping[str, Any]) -> int | None:
    details = usage.get("prompt_tokens_details")
    count = count_of(details.get("cached_tokens")) if isinstance(details, Mapping) else None
    return count_of(timings.get("cache_n")) if count is None else count


def _times(timings: Mapping[str, Any], clock: Clock) -> tuple[float, float]:
    """Return milliseconds for the prompt and in all: by the server's clock where it tells, otherwise by ours."""
    prompt, written = (_time(timings.get(name)) for name in ("prompt_ms", "predicted_ms"))
    if prompt is None or written is None:
        return clock.first_ms, clock.total_ms
    return prompt, prompt + written


def _time(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e12:
        return None
    return float(value)
