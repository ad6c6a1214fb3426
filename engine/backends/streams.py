"""Compute the forwards of several replies together: weights are read once for the tokens of all of them.

Each reply, a *stream*, has a thread, a cache and a drafter of its own, and calls its backends as it would alone. What
the streams call at about the same time becomes one forward, and each gets its own rows. Where a row of logits does not
depend on what is computed beside it, so no reply depends on the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Condition, RLock
from time import perf_counter
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from engine.backends.base import Backend, CacheKeeper, Logits
from engine.backends.caches_in_memory import WORTH, SavedCaches
from engine.backends.prefix import common_prefix
from engine.errors import BackendFailure

_LEAST_S, _MOST_S = 0.005, 1.0
"""A stream that is still busy is waited for as long as a forward of the larger model takes, between these."""
_SILENT = 4
"""Tokens without a row that a round has at most, such as those that a draft catches up with."""
_MEMORY = 0.8
"""The weight of the known duration of a forward when another one was timed."""


@dataclass(slots=True, eq=False)
class Feed:
    """Request a forward for a stream: `tokens` behind its cache, and the logits behind the last `n_outputs`.

    `number` is that of the stream. `rows` or `error` is the answer, once `done`; `states`: those that are read.
    """

    number: int
    tokens: Sequence[int]
    n_outputs: int
    came: float = 0.0
    rows: Logits | None = None
    states: NDArray[np.float32] | None = None
    error: Exception | None = None
    done: bool = False

    @property
    def reads(self) -> bool:
        """Return True if it reads a prompt: with so many tokens, being computed together saves nothing."""
        return len(self.tokens) - self.n_outputs > _SILENT


class StreamModel(Protocol):
    """Define a model whose streams can be computed together. Attribute: weight_bytes."""

    weight_bytes: int

    def compute(self, feeds: Sequence[Feed]) -> None:
        """Compute the feeds of different streams, and give each its rows or its error. Never raises."""


class StreamBatcher:
    """Batch the streams of a target and its draft, so that their forwards are computed together.

    The smaller model goes first: a stream that drafts comes to the target soon. Otherwise a forward begins once all
    streams that write a reply wait for one, or one of them has waited for as long as a forward takes. Between two
    pieces of prompts those that write have a turn. One forward runs at a time.
    """

    def __init__(self) -> None:
        self._changed = Condition(RLock())
        self._active: set[int] = set()
        self._waiting: dict[int, tuple[StreamModel, Feed]] = {}
        self._computing = False
        self._wanted = 0
        """Waiters for a moment without a forward: the next one does not begin before them."""
        self._read_last = False
        self._seconds: dict[int, float] = {}
        """The seconds of a forward, by size of the model."""
        self._ended = 0.0
        """When the last forward ended: a stream that it held up, or that was in it, is on its way."""
        self.forwards = self.together = 0
        self._apart_at = 0
        """The number of forwards when something else was computed last."""

    def forward(self, model: StreamModel, feed: Feed) -> Logits:
        """Return the logits of a feed, computed with those of the others. Raises the feed's error."""
        with self._changed:
            feed.came = perf_counter()
            self._active.add(feed.number)
            self._waiting[feed.number] = model, feed
            while not feed.done:
                if self._computing or self._wanted:
                    self._changed.wait()
                elif (left := self._left()) > 0.0:
                    self._changed.wait(left)
                else:
                    self._lead()
        if feed.error is not None:
            raise feed.error
        if feed.rows is None:
            raise BackendFailure("the forward gave no rows")
        return feed.rows

    def leave(self, number: int) -> None:
        """Mark a stream as writing no reply: it is not waited for."""
        with self._changed:
            self._active.discard(number)
            self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep forwards from running within, so that caches can be read and changed."""
        with self._changed:
            self._wanted += 1
            try:
                self._changed.wait_for(lambda: not self._computing)
            finally:
                self._wanted -= 1
            try:
                yield
            finally:
                self._changed.notify_all()

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Compute something else within, in turns with the forwards: those that wait for one have it before."""
        with self._changed:
            last = self._apart_at
            self._changed.wait_for(lambda: not self._computing and (not self._waiting or self.forwards != last))
            try:
                yield
            finally:
                self._apart_at = self.forwards
                self._changed.notify_all()

    def _left(self) -> float:
        """Return the number of seconds that may be waited for streams that do not wait themselves yet."""
        if len(self._waiting) >= len(self._active):
            return 0.0
        first = max(min(feed.came for _, feed in self._waiting.values()), self._ended)
        patience = min(max([_LEAST_S, *self._seconds.values()]), _MOST_S)
        return max(0.0, first + patience - perf_counter())

    def _lead(self) -> None:
        """Compute the next feeds on the thread of a stream: its own or those of others."""
        model, feeds = self._choose()
        for feed in feeds:
            del self._waiting[feed.number]
        self._computing = True
        self._changed.release()
        began = perf_counter()
        try:
            model.compute(feeds)
        finally:
            self._changed.acquire()
            self._ended = perf_counter()
            took = self._ended - began
            self._computing = False
            self._read_last = feeds[0].reads
            if not self._read_last:
                known = self._seconds.get(model.weight_bytes, took)
                self._seconds[model.weight_bytes] = _MEMORY * known + (1.0 - _MEMORY) * took
            self.forwards += 1
            self.together = max(self.together, len(feeds))
            for feed in feeds:
                feed.done = True
            self._changed.notify_all()

    def _choose(self) -> tuple[StreamModel, list[Feed]]:
        """Return the model that computes next, and its feeds."""
        rounds = [(model, feed) for model, feed in self._waiting.values() if not feed.reads]
        readings = [(model, feed) for model, feed in self._waiting.values() if feed.reads]
        largest = max(model.weight_bytes for model, _ in self._waiting.values())
        if rounds:
            model = min((model for model, _ in rounds), key=lambda model: model.weight_bytes)
            if not readings or self._read_last or model.weight_bytes < largest:
                return model, sorted((f for m, f in rounds if m is model), key=lambda feed: feed.number)
        model, feed = min(readings, key=lambda each: each[1].came)
        return model, [feed]


class StreamSlot:
    """Register a stream with the batcher for the time of a reply, for which the slot is entered."""

    def __init__(self, batcher: StreamBatcher, number: int) -> None:
        self._batcher, self.number = batcher, number

    def __enter__(self) -> None:
        """Begin a reply: the stream is waited for from its first forward on."""

    def __exit__(self, *_: object) -> None:
        self._batcher.leave(self.number)


class StreamCaches(CacheKeeper):
    """Keep the caches of streams: a text in one of them is not read twice."""

    def __init__(self, batcher: StreamBatcher, others: Sequence[Backend], kept: SavedCaches | None) -> None:
        self._batcher, self._others, self._kept = batcher, others, kept

    def change_to(self, backend: Backend, tokens: Sequence[int]) -> None:
        with self._batcher.alone():
            if self._kept is not None:
                self._kept.change_to(backend, tokens)
            shared = common_prefix(backend.tokens, tokens)
            best = max(self._others, key=lambda other: common_prefix(other.tokens, tokens))
            if best is backend or common_prefix(best.tokens, tokens) - shared < WORTH:
                return
            copy = best.copy_cache()
            if copy is not None:
                try:
                    backend.restore_cache(copy)
                except BackendFailure:  # It is empty then: all is read anew.
                    return
