"""Several texts in one context of llama.cpp, each with a cache of its own, computed in one decode.

A stream's cells are apart from those of the others and stand in the order of its text, as in a context of its own: so
the sums over it are added up in the same order, and its rows are the same to the bit. llama.cpp computes streams in one
pass over the weights where they stand side by side and each has as many tokens; so what lacks is filled up with tokens
that are forgotten behind the decode.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from time import perf_counter
from typing import Any, NoReturn

import llama_cpp
import numpy as np

from engine.backends.base import Backend, CacheCopy, HiddenStates, Logits, Rewind, StateReader
from engine.backends.caches_in_memory import SavedCaches
from engine.backends.llama_cpp.backend import LlamaCppBackend
from engine.backends.llama_cpp.functions import abort_function, free_all, logits_place, read_sequence, write_sequence
from engine.backends.llama_cpp.hidden import HiddenRows
from engine.backends.llama_cpp.library import prepare_library
from engine.backends.llama_cpp.loading import make_context
from engine.backends.streams import Feed, StreamBatcher, StreamCaches
from engine.backends.threads import ThreadFollower
from engine.cancel import CancelToken
from engine.config import MAX_LOOKAHEAD, LoadConfig
from engine.errors import (
    BackendClosed,
    BackendFailure,
    Cancelled,
    ContextFull,
    LoadFailed,
    RewindNotSupported,
    TokenOutOfRange,
)
from engine.formats.draft_head import NORMED
from engine.system.machine import available_memory
from engine.translatable import Translatable

_ROUND = MAX_LOOKAHEAD + 1
_SHARE_OF_MEMORY = 0.5
_NEVER = (ctypes.c_char * 2)()
_STATUS_ABORTED = 2


class StreamContext:
    """Hold the context of the streams, and decode their feeds (see engine.backends.streams.StreamModel)."""

    def __init__(
        self, model: Any, config: LoadConfig, count: int, threads: int, follower: ThreadFollower | None
    ) -> None:
        self._log = prepare_library()
        self._context, _, self.most = make_context(model, config, self._log, count)
        self._memory: Any = llama_cpp.llama_get_memory(self._context)
        self._batch = llama_cpp.llama_batch_init(self.most, 0, 1)
        np.ctypeslib.as_array(self._batch.n_seq_id, (self.most,))[:] = 1
        self._threads, self._follower = (threads, int(llama_cpp.llama_n_threads(self._context))), follower
        self._abort = abort_function()
        self._window = int(llama_cpp.llama_model_n_swa(model))
        self.weight_bytes = int(llama_cpp.llama_model_size(model))
        self.vocab_size = int(llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(model)))
        self._lengths = [0] * count
        """Tokens of each stream in the cache, some of which its stream may have dropped."""
        self.streams: list[LlamaCppStream] = []
        self.shown: HiddenRows | None = None
        self.free = weakref.finalize(self, free_all, (), self._batch, self._context, None)

    def compute(self, feeds: Sequence[Feed]) -> None:
        """Compute the feeds of different streams, and give each its rows or its error."""
        by_number = {feed.number: feed for feed in feeds}
        try:
            width = max(len(feed.tokens) for feed in feeds)
            self._watch(self.streams[feeds[0].number].cancel if len(feeds) == 1 else None)
            places, starts = dict[int, int](), dict[int, int]()
            count = 0
            for number in range(min(by_number), max(by_number) + 1):
                feed = by_number.get(number)
                starts[number] = start = len(self.streams[number].tokens)
                self._cut(number, start)
                places[number] = count
                count = self._put(count, number, start, feed, width)
            self._batch.n_tokens = count
            status = self._decode(count, reads=feeds[0].reads)
            for number, start in starts.items():
                self._lengths[number] = start + width
                fed = by_number.get(number)
                self._cut(number, start + (len(fed.tokens) if fed is not None and status == 0 else 0))
            if status != 0:
                self._refuse(status, feeds, starts[feeds[0].number])
            if self.shown is not None:
                states = self.shown.rows(count)
                for feed in feeds:
                    place = places[feed.number]
                    feed.states = states[place : place + len(feed.tokens)]
            for feed in feeds:
                self._answer(feed, places[feed.number])
        except Exception as error:  # noqa: BLE001 - it is passed to the streams
            for feed in feeds:
                feed.error = error

    def _decode(self, count: int, *, reads: bool) -> int:
        """Compute the batch, of so many tokens, and return llama.cpp's status."""
        follower = None if reads else self._follower
        threads = max(self._threads) if reads else self._threads[0]
        threads = threads if follower is None else follower.threads
        llama_cpp.llama_set_n_threads(self._context, threads, threads)
        began = perf_counter()
        status = int(llama_cpp.llama_decode(self._context, self._batch))
        if follower is not None and status == 0:
            follower.observe(count, 1000.0 * (perf_counter() - began))
        return status

    def _refuse(self, status: int, feeds: Sequence[Feed], position: int) -> NoReturn:
        if status == _STATUS_ABORTED:
            raise Cancelled
        for feed in feeds:  # The next try reads everything anew.
            self.streams[feed.number].tokens.clear()
            self._cut(feed.number, 0)
        raise BackendFailure(self._log.last or f"llama.cpp answered {status}", position)

    def _put(self, count: int, number: int, start: int, feed: Feed | None, width: int) -> int:
        """Put a stream's tokens into the batch behind `count` others, filled up to `width`; return its row count."""
        tokens: Sequence[int] = () if feed is None else feed.tokens
        silent = len(tokens) - (0 if feed is None else feed.n_outputs)
        batch = self._batch
        for index in range(width):
            batch.token[count] = tokens[index] if index < len(tokens) else 0
            batch.pos[count] = start + index
            batch.seq_id[count][0] = number
            batch.logits[count] = silent <= index < len(tokens)
            count += 1
        return count

    def _answer(self, feed: Feed, place: int) -> None:
        """Copy a feed's rows: those of llama.cpp are overwritten by the next decode, which may be another stream's."""
        rows = np.empty((feed.n_outputs, self.vocab_size), np.float32)
        first = place + len(feed.tokens) - feed.n_outputs
        for index in range(feed.n_outputs):
            at = logits_place(self._context, first + index)
            if not at:
                raise BackendFailure(Translatable("llama.cpp returned no logits"))
            ctypes.memmove(rows[index].ctypes.data, at, rows[index].nbytes)
        feed.rows = rows
        self.streams[feed.number].tokens.extend(feed.tokens)

    def show(self, states: HiddenStates | None) -> None:
        """Compute the states that the streams' readers want; none if nobody reads any."""
        reader = next((stream.reader for stream in self.streams if stream.reader is not None), None)
        if self.shown is not None and reader is None:
            self.shown.stop()
            self.shown = None
        elif self.shown is None and reader is not None and states is not None:
            self.shown = HiddenRows(self._context, states, reader.state_layers)

    def _watch(self, cancel: CancelToken | None) -> None:
        flag = _NEVER if cancel is None else cancel.flag
        llama_cpp.llama_set_abort_callback(self._context, self._abort, ctypes.cast(flag, ctypes.c_void_p))

    def _cut(self, number: int, length: int) -> None:
        """Remove a stream's tokens from the cache from a position on."""
        if self._lengths[number] > length:
            llama_cpp.llama_memory_seq_rm(self._memory, number, length, -1)
            self._lengths[number] = length

    def copy(self, number: int) -> CacheCopy | None:
        """Return a copy of a stream's cache; None if it is empty."""
        if not self.size(number):
            return None
        data = read_sequence(self._context, number)
        return CacheCopy(tuple(self.streams[number].tokens), data) if data.nbytes else None

    def restore(self, number: int, copy: CacheCopy) -> bool:
        """Replace a stream's cache with a copy; return False if it was refused."""
        llama_cpp.llama_memory_seq_rm(self._memory, number, -1, -1)
        taken = write_sequence(self._context, copy.data, number)
        if not taken:
            llama_cpp.llama_memory_seq_rm(self._memory, number, -1, -1)
        self._lengths[number] = len(copy.tokens) if taken else 0
        return taken

    def size(self, number: int) -> int:
        """Return the size of a copy of a stream's cache, in bytes; 0 where llama.cpp would drop some of it.

        It does so with what lies behind a sliding window; the text could not go back there.
        """
        held = len(self.streams[number].tokens)
        self._cut(number, held)
        return 0 if 0 < self._window < held else int(llama_cpp.llama_state_seq_get_size(self._context, number))


class LlamaCppStream(Backend):
    """One of the streams of a model. Attribute: cancel (the watched token). Made by `open_streams`."""

    rewind = Rewind("any")

    def __init__(
        self, base: Backend, context: StreamContext, batcher: StreamBatcher, number: int, held: ExitStack
    ) -> None:
        for name in ("name", "vocab_size", "context_length", "eos_token_ids", "tokenizer", "device", "threads"):
            setattr(self, name, getattr(base, name))
        for name in ("parameters", "weight_bytes", "rows", "own_kernels", "row_difference", "gap_tokens"):
            setattr(self, name, getattr(base, name))
        self._context, self._batcher, self._number, self._held = context, batcher, number, held
        if base.hidden_states is not None:  # Those behind the norm come of tokens with a row alone.
            readable = base.hidden_states.readable - {NORMED}
            self.hidden_states = replace(base.hidden_states, readable=readable)
        self._tokens: list[int] = []
        self.cancel: CancelToken | None = None
        self.reader: StateReader | None = None

    @property
    def length(self) -> int:
        return len(self._tokens)

    @property
    def tokens(self) -> list[int]:
        return self._tokens

    def forward(self, tokens: Sequence[int], n_outputs: int) -> Logits:
        if self.closed:
            raise BackendClosed
        held = len(self._tokens)
        if not tokens or not 0 <= n_outputs <= min(len(tokens), _ROUND):
            raise BackendFailure(
                "{n_outputs} rows of logits were requested for {count} tokens",
                held,
                n_outputs=n_outputs,
                count=len(tokens),
            )
        if min(tokens) < 0 or max(tokens) >= self.vocab_size:
            raise TokenOutOfRange(next(t for t in tokens if not 0 <= t < self.vocab_size), self.vocab_size)
        if held + len(tokens) > self.context_length:
            raise ContextFull(held + len(tokens), self.context_length)
        rows: Logits = np.empty((0, self.vocab_size), np.float32)
        most = self._context.most
        for first in range(0, len(tokens), most):
            if self.cancel is not None:
                self.cancel.check()
            piece = tokens[first : first + most]
            last = first + most >= len(tokens)
            feed = Feed(self._number, piece, n_outputs if last else 0)
            rows = self._batcher.forward(self._context, feed)
            if self.reader is not None and feed.states is not None:
                self.reader.read_states(held + first, piece, feed.states)
        return rows

    def truncate(self, length: int) -> None:
        if not 0 <= length <= len(self._tokens):
            raise RewindNotSupported(length, len(self._tokens))
        with self._batcher.alone():
            del self._tokens[length:]

    def show_states(self, reader: StateReader | None) -> None:
        if reader is not self.reader:
            with self._batcher.alone():
                self.reader = reader
                self._context.show(self.hidden_states)

    def watch(self, cancel: CancelToken | None) -> None:
        self.cancel = cancel

    def cache_bytes(self) -> int:
        with self._batcher.alone():
            # A reader of states would have none of a copy.
            return 0 if self.closed or self.reader is not None else self._context.size(self._number)

    def copy_cache(self) -> CacheCopy | None:
        with self._batcher.alone():
            return None if self.closed or self.reader is not None else self._context.copy(self._number)

    def restore_cache(self, copy: CacheCopy) -> None:
        with self._batcher.alone():
            if self.closed:
                raise BackendClosed
            if self.reader is not None:
                raise BackendFailure(Translatable("its cache cannot be restored"))
            self._tokens.clear()
            if not self._context.restore(self._number, copy):
                raise BackendFailure(Translatable("its cache cannot be restored"))
            self._tokens.extend(copy.tokens)

    def close(self) -> None:
        with self._batcher.alone():
            if self.closed:
                return
            self.closed = True
            self._tokens.clear()
            if all(stream.closed for stream in self._context.streams):
                self._context.free()
                self._held.close()


def open_streams(base: LlamaCppBackend, batcher: StreamBatcher, count: int) -> list[Backend] | None:
    """Return streams of a loaded model: they have its weights, and a cache each. None if there cannot be any.

    That is so of recurrent models, where memory is short, and where the logits of a token depend on what is computed
    beside it: replies would depend on each other then. Their caches are all empty.
    """
    config = base.config
    if config is None or base.rewind.kind != "any" or base.batch_invariant is False:
        return None
    with ExitStack() as held:
        held.enter_context(base.keep())
        model = llama_cpp.llama_get_model(base.context)
        if _bytes_of(model, base.context_length, count) > _SHARE_OF_MEMORY * available_memory():
            return None
        try:
            context = StreamContext(model, config, count, base.threads, base.follow_machine())
        except LoadFailed:
            return None
        kept = held.pop_all()
    streams = [LlamaCppStream(base, context, batcher, number, kept) for number in range(count)]
    context.streams.extend(streams)
    try:
        alike = _alike(context, count)
    except BackendFailure:
        alike = False
    if not alike:
        for stream in streams:
            stream.close()
        return None
    # Copies of their own: llama.cpp puts none of a context with one stream into one with several.
    copies = SavedCaches(base.keeper.most_bytes) if isinstance(base.keeper, SavedCaches) else None
    caches = StreamCaches(batcher, streams, copies)
    for stream in streams:
        stream.keeper = caches
    return list(streams)


def _bytes_of(model: Any, length: int, count: int) -> int:
    """Estimate the memory of the caches of so many streams, in bytes."""
    heads = max(int(llama_cpp.llama_model_n_head(model)), 1)
    width = int(llama_cpp.llama_model_n_embd(model)) * int(llama_cpp.llama_model_n_head_kv(model)) // heads
    a_number = 4 if llama_cpp.llama_model_ftype(model) == llama_cpp.LLAMA_FTYPE_ALL_F32 else 2
    return 2 * a_number * int(llama_cpp.llama_model_n_layer(model)) * width * count * (length + _ROUND)


def _alike(context: StreamContext, count: int) -> bool:
    """Return True if the rows of a stream are the same, to the bit, alone and beside the others."""
    texts = [[(7 + 11 * number + 3 * place) % context.vocab_size for place in range(3)] for number in range(count)]
    rows: list[Logits] = []
    for numbers in (range(count), range(count - 1, count)):
        feeds = [Feed(number, texts[number], 3) for number in numbers]
        context.compute(feeds)
        for stream in context.streams:
            stream.tokens.clear()
        if feeds[-1].error is not None or feeds[-1].rows is None:
            return False
        rows.append(feeds[-1].rows)
    return np.array_equal(rows[0], rows[1])
