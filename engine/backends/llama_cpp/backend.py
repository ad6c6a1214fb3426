"""Run GGUF models through the low-level functions of llama.cpp."""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import accumulate, pairwise
from time import perf_counter
from typing import Any, NoReturn, TypeVar

import llama_cpp
import numpy as np
from numpy.typing import NDArray

from engine.backends.base import Backend, CacheCopy, Logits, Rewind, StateReader
from engine.backends.llama_cpp.functions import abort_function, free_all, logits_place, read_sequence, write_sequence
from engine.backends.llama_cpp.hidden import HiddenRows, hidden_states, with_shared_keys
from engine.backends.llama_cpp.library import computes_alike, library_rows, prepare_library
from engine.backends.llama_cpp.loading import device_name, make_context, notes_on
from engine.backends.llama_cpp.projector import Projector
from engine.backends.llama_cpp.recurrent import RecurrentState, worth_saving
from engine.backends.llama_cpp.state_layout import caches_in, is_state_of
from engine.backends.llama_cpp.tokenizer import LlamaCppTokenizer
from engine.backends.llama_cpp.trees import SEQUENCES, SPARE, TreeSequences, moved
from engine.backends.llama_cpp.wanted import WantedRows
from engine.backends.llama_cpp.weights import load_model, take_early
from engine.backends.pictures import PictureToken
from engine.backends.prefix import common_prefix
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
from engine.formats.vocabulary import Vocabulary
from engine.messages.picture import Picture
from engine.system.machine import available_memory, machine_watch
from engine.system.short_turns import ask_for_short_turns
from engine.translatable import Translatable

T = TypeVar("T")
_NEVER = (ctypes.c_char * 2)()
_MOST_VERIFIED = MAX_LOOKAHEAD + 1
_LONGEST_REPLAY = 16
"""The longest replay that waits for the next forward, to be fed together with its tokens."""
_STATUS_ABORTED = 2
_PART = 256
"""Tokens of a part of the cache that is copied at once: others wait no longer than that."""
_SEGMENT, _BLOCK = 512, 32
"""Cells that attention adds up alone (kernels/attention.cpp), in general and where keys and values are bytes."""

prepare_library()


class LlamaCppBackend(Backend):
    """Run a GGUF model with its context (see engine.backends.base.Backend). Made by `open`, with `config`."""

    config: LoadConfig | None = None
    _shared = False
    _follower: ThreadFollower | None = None
    _cancel: CancelToken | None = None
    _projector: Projector | None = None
    _pictured = False
    """True if there are pictures in the cache."""
    _skipped = 0
    """Tokens of pictures in the cache beyond the positions that the pictures take."""

    def __init__(
        self,
        model: Any,
        context: Any,
        name: str,
        context_length: int,
        batch_size: int,
        device: str = "cpu",
        *,
        vocabulary: Vocabulary | None = None,
    ) -> None:
        self.rows = library_rows()
        self._log = prepare_library()
        self._context = context
        self._memory: Any = llama_cpp.llama_get_memory(context)
        self._batch = llama_cpp.llama_batch_init(batch_size, 0, 1)
        self._batch_size = batch_size
        self._batch_count = 0
        # The structure makes a new pointer object whenever a field is read.
        self._batch_tokens: Any = self._batch.token
        self._batch_positions: Any = self._batch.pos
        self._batch_outputs: Any = self._batch.logits
        self._views: dict[tuple[int, int], Logits] = {}
        np.ctypeslib.as_array(self._batch.n_seq_id, (batch_size,))[:] = 1
        for index in range(batch_size):
            self._batch.seq_id[index][0] = 0
        self.name = name
        self.tokenizer = self._tokenizer = LlamaCppTokenizer(model, vocabulary)
        self.vocab_size = self._tokenizer.vocab_size
        self.eos_token_ids, self.gap_tokens = self._tokenizer.eos_token_ids, self._tokenizer.gap_tokens
        self.context_length = context_length
        self.parameters = int(llama_cpp.llama_model_n_params(model))
        self.weight_bytes = int(llama_cpp.llama_model_size(model))
        self.threads = self._threads_set = self._threads_loaded = int(llama_cpp.llama_n_threads(context))
        self.device = device
        self.threads_adjustable = device == "cpu"
        self.own_kernels = device == "cpu" and computes_alike()
        self.hidden_states = hidden_states(model, context)
        self._reader: StateReader | None = None
        self._shown: HiddenRows | None = None
        self._state: RecurrentState | None = None
        self.rewind = Rewind("any")
        if llama_cpp.llama_model_is_recurrent(model) or llama_cpp.llama_model_is_hybrid(model):
            self._state = RecurrentState(model, context) if worth_saving(model) else None
            self.rewind = Rewind("none") if self._state is None else Rewind("snapshots", max(self._state.depth, 1))
        self._tree = TreeSequences(context) if llama_cpp.llama_n_seq_max(context) >= SEQUENCES else None
        self._tokens, self._replay = list[int](), list[int]()
        self._abort = abort_function()
        self._lock = threading.RLock()
        self._kept = 0
        self._wanted = WantedRows()
        self._free = self._freeing(context, model)

    @classmethod
    def open(
        cls,
        config: LoadConfig,
        *,
        progress: Callable[[float], None] | None = None,
        cancel: CancelToken | None = None,
        vocabulary: Vocabulary | None = None,
        packed: bool = True,
        read: Callable[[], None] | None = None,
    ) -> LlamaCppBackend:
        """Load a model. `progress` receives a fraction 0..1. Raises LoadFailed, ModelNotSupported, Cancelled.

        `vocabulary`: by the header of its file, where that was read. `packed`: the weights may be packed, which takes
        time that a few forwards do not give back; those that were read early are taken as they are. `read`: called once
        they are read; its errors are raised.
        """
        log = prepare_library()
        model = take_early(config, progress, cancel) or load_model(config, log, progress, cancel, packed=packed)
        try:
            if read is not None:
                read()
            context, context_length, batch_size = make_context(model, config, log)
        except BaseException:
            llama_cpp.llama_model_free(model)
            raise
        device = device_name(config)
        backend = cls(model, context, config.path.stem, context_length, batch_size, device, vocabulary=vocabulary)
        backend.notes, backend.config, backend.vocabulary = notes_on(model, config), config, vocabulary
        backend._tokenizer.use_template(config.chat_template)
        backend._follower = backend.follow_machine()
        backend._open_eyes(model, config)
        backend.hidden_states = with_shared_keys(backend.hidden_states, model, config.path)
        return backend

    def _open_eyes(self, model: Any, config: LoadConfig) -> None:
        """Load the configured projector, if there is one, and the cache can go back behind pictures."""
        if config.projector is not None and self.rewind.kind == "any":
            self._projector = Projector(config.projector, model, self.threads, on_card=self.device != "cpu")
            self.sees = True
            self._free.detach()
            self._free = self._freeing(self._context, model)

    def _freeing(self, context: Any, model: Any) -> weakref.finalize[..., LlamaCppBackend]:
        """Return a finalizer that frees everything together with this object."""
        parts = self._tokenizer, self._tree, self._wanted, self._projector
        return weakref.finalize(self, free_all, parts, self._batch, context, model)

    @property
    def length(self) -> int:
        return len(self._tokens)

    @property
    def tokens(self) -> Sequence[int]:
        return self._tokens

    def watch(self, cancel: CancelToken | None) -> None:
        with self._open():
            self._cancel = cancel
            flag = _NEVER if cancel is None else cancel.flag
            llama_cpp.llama_set_abort_callback(self._context, self._abort, ctypes.cast(flag, ctypes.c_void_p))

    def set_threads(self, n: int) -> None:
        # With the attention of llama_cpp/kernels rows do not depend on it; llama.cpp's own shares out a long
        # cache among the threads when it is asked for a single token.
        if self.threads_adjustable:
            self.threads = n
            self._follower = self.follow_machine()

    def follow_machine(self) -> ThreadFollower | None:
        """Make a follower that lowers the number of threads beside other programs; None where somebody chose it."""
        chosen = self.config is not None and self.config.threads is not None
        # Without our attention a row's bits may depend on the number.
        return None if chosen or not self.own_kernels else ThreadFollower(self.threads, machine_watch().busy)

    def show_states(self, reader: StateReader | None) -> None:
        if reader is self._reader:
            return
        if reader is not None and self.hidden_states is None:
            super().show_states(reader)
        with self._open():
            if self._shown is not None:
                self._shown.stop()
            self._shown = self._reader = None
            if reader is not None and self.hidden_states is not None:
                self._shown = HiddenRows(self._context, self.hidden_states, reader.state_layers)
                self._reader = reader

    @property
    def context(self) -> Any:
        """Return llama.cpp's context, for heads that share tensors with this model."""
        self._shared = True  # From now on it must stay the same.
        return self._context

    def forward(self, tokens: Sequence[int], n_outputs: int) -> Logits:
        with self._lock:
            return self._forward(tokens, n_outputs)

    def _forward(self, tokens: Sequence[int], n_outputs: int) -> Logits:
        held, count = len(self._tokens), len(tokens)
        if self._tree is not None and self._tree.tokens:
            self._recover()  # Of the tree no path was kept.
        if count and isinstance(tokens[0], PictureToken):
            return self._look(tokens)
        alone = count == 1 == n_outputs and self._state is None and not self._replay
        if alone and held < self.context_length and 0 <= tokens[0] < self.vocab_size and not self.closed:
            # A draft's next token, where there is nothing else to do.
            self._decode(tokens, held, 1)
            self._tokens.append(tokens[0])
            return self._rows(1, 1)
        if self.closed:
            raise BackendClosed
        if not count or not 0 <= n_outputs <= min(count, MAX_LOOKAHEAD + 1):
            raise BackendFailure(
                "{n_outputs} rows of logits were requested for {count} tokens", held, n_outputs=n_outputs, count=count
            )
        self._check(tokens)
        start = held - len(self._replay)
        if self._state is not None and not self._state.prepare(start, len(tokens)):
            raise BackendFailure(Translatable("its state could not be saved"), held)
        waiting = [*self._replay, *tokens] if self._replay else tokens
        tail = min(len(waiting), self._batch_size)
        first = 0
        while len(waiting) - first > tail:
            count = min(self._batch_size, len(waiting) - tail - first)
            self._decode(waiting[first : first + count], start + first, 0)
            first += count
        self._decode(waiting[first:] if first else waiting, start + first, n_outputs)
        self._tokens.extend(tokens)
        self._replay = []
        return self._rows(tail, n_outputs)

    def see(self, picture: Picture) -> list[int]:
        return super().see(picture) if self._projector is None else self._projector.tokens(picture)

    def _look(self, tokens: Sequence[int]) -> Logits:
        """Append a piece of a picture to the cache."""
        piece, held = [token for token in tokens if isinstance(token, PictureToken)], len(self._tokens)
        if self.closed or self._projector is None:
            raise BackendClosed
        if [token.index for token in piece] != list(range(piece[0].count)) or len(piece) < len(tokens):
            raise BackendFailure(Translatable("a picture must be read whole"), held)
        if held + len(piece) > self.context_length:
            raise ContextFull(held + len(piece), self.context_length)
        if self._replay:
            self._decode(self._replay, held - len(self._replay), 0)
            self._replay = []
        self._compute_with(len(piece))
        try:
            status = self._projector.read(piece, self._context, held - self._skipped, self._batch_size, self._cancel)
        except Cancelled:
            self._recover()
            raise
        if status != 0:
            self._failed(status, held)
        self._keep_tokens([*self._tokens, *piece])
        if (
            self._reader is not None and self.hidden_states is not None
        ):  # What it knows from here on is of another picture.
            width = len(self._reader.state_layers) * self.hidden_states.width
            self._show(len(self._tokens), (), np.empty((0, width), np.float32))
        return self._rows(len(piece), 0)

    def _show(self, first: int, tokens: Sequence[int], states: NDArray[np.float32]) -> None:
        """Show the states of tokens to the reader, which counts words alone."""
        pictured = sum(token < 0 for token in self._tokens[:first]) if self._pictured else 0
        if self._reader is not None:
            self._reader.read_states(first - pictured, tokens, states)

    def _keep_tokens(self, tokens: Sequence[int]) -> None:
        """Record the tokens in the cache."""
        self._tokens = list(tokens)
        self._pictured = self.sees and min(tokens, default=0) < 0
        ends = (token for token in self._tokens if isinstance(token, PictureToken) and token.index == token.count - 1)
        self._skipped = sum(token.count - token.steps for token in ends) if self._pictured else 0

    def _position(self, length: int) -> int:
        """Return the position in the cache behind so many tokens."""
        if not self._skipped:
            return length
        behind = (token for token in self._tokens[length:] if isinstance(token, PictureToken) and not token.index)
        return length - self._skipped + sum(token.count - token.steps for token in behind)

    def _check(self, tokens: Sequence[int]) -> None:
        if min(tokens) < 0 or max(tokens) >= self.vocab_size:
            raise TokenOutOfRange(next(t for t in tokens if not 0 <= t < self.vocab_size), self.vocab_size)
        if len(self._tokens) + len(tokens) > self.context_length:
            raise ContextFull(len(self._tokens) + len(tokens), self.context_length)

    @contextmanager
    def _open(self) -> Iterator[None]:
        """Keep another thread from closing the model within. Raises BackendClosed."""
        with self._lock:
            if self.closed:
                raise BackendClosed
            yield

    def _decode(self, tokens: Sequence[int], position: int, n_outputs: int) -> None:
        count = len(tokens)
        if count != self._batch_count:
            self._batch.n_tokens = self._batch_count = count
        ids, positions, outputs = self._batch_tokens, self._batch_positions, self._batch_outputs
        place = position - self._skipped
        silent = count - n_outputs if self._shown is None else self._shown.unmarked(count, n_outputs)
        for index, token in enumerate(tokens):
            ids[index] = token
            positions[index] = place + index
            outputs[index] = index >= silent
        self._compute_with(count)
        began = perf_counter()
        status = llama_cpp.llama_decode(self._context, self._batch)
        if status != 0:
            self._failed(status, position)
        if self._follower is not None and count <= _MOST_VERIFIED:
            self._follower.observe(count, 1000.0 * (perf_counter() - began))
        if self._state is not None:
            self._state.decoded(count)
        if self._shown is not None and self._reader is not None:
            try:
                self._show(position, tokens, self._shown.rows(count))
            except BaseException:
                self._recover()
                raise

    def _compute_with(self, count: int) -> None:
        """Set the number of threads for so many tokens."""
        ask_for_short_turns()
        if count > _MOST_VERIFIED:
            threads = max(self.threads, self._threads_loaded)
        else:
            threads = self.threads if self._follower is None else self._follower.threads
        if threads != self._threads_set:
            llama_cpp.llama_set_n_threads(self._context, threads, threads)
            self._threads_set = threads

    def _failed(self, status: int, position: int) -> NoReturn:
        if status == _STATUS_ABORTED:
            self._recover()
            raise Cancelled
        self._empty()  # What was refused may not be the last tokens' fault: the next try reads everything anew.
        raise BackendFailure(self._log.last or f"llama.cpp answered {status}", position)

    @property
    def trees(self) -> bool:
        return self._tree is not None

    def forward_tree(self, tokens: Sequence[int], parents: Sequence[int]) -> Logits:
        tree = self._tree
        if tree is None:
            return super().forward_tree(tokens, parents)
        with self._open():
            if tree.tokens:
                self._recover()
            self._check(tokens)
            held, count = len(self._tokens), len(tokens)
            silent = len(self._replay)
            self._compute_with(silent + count)
            chain = [*range(-1, silent - 1), *(parent + silent for parent in parents)]
            unmarked = silent if self._shown is None else self._shown.unmarked(silent + count, count)
            place = held - silent - self._skipped
            status = tree.decode([*self._replay, *tokens], chain, place, silent, unmarked)
            in_bytes = self.config is not None and self.config.cache_type == "q8_0"
            tree.moved = {n - silent for n in moved(chain, held - silent, _BLOCK if in_bytes else _SEGMENT)}
            if status != 0:
                self._failed(status, held)
            return self._rows(silent + count, count)

    def has_own_row(self, node: int) -> bool:
        return self._tree is None or node not in self._tree.moved

    def want_rows(self, bits: NDArray[np.uint64] | None) -> bool:
        return self.own_kernels and self._wanted.want(bits)

    def keep_path(self, path: Sequence[int]) -> None:
        tree = self._tree
        if tree is None or not tree.tokens:
            return
        with self._open():
            fed, silent = tree.tokens, len(self._replay)
            first, alike = len(self._tokens) - silent, common_prefix(path, range(len(fed)))
            tree.keep(len(self._tokens) - self._skipped + alike)
            self._tokens.extend(fed[index] for index in path)
            self._replay = [fed[index] for index in path[alike:]]
            if self._shown is not None and self._reader is not None:
                states = self._shown.rows(silent + len(fed))
                places = [*range(silent), *(silent + index for index in path)]
                self._show(first, self._tokens[first:], states[places])

    def _rows(self, count: int, n_outputs: int) -> Logits:
        if n_outputs == 0:
            return np.empty((0, self.vocab_size), dtype=np.float32)
        place = logits_place(self._context, count - n_outputs), n_outputs
        if not place[0]:
            raise BackendFailure(Translatable("llama.cpp returned no logits"), self.length)
        self._wanted.find()
        view = self._views.get(place)
        if view is None:
            if len(self._views) > MAX_LOOKAHEAD:  # llama.cpp has moved its buffer.
                self._views.clear()
            size = ctypes.sizeof(ctypes.c_float) * n_outputs * self.vocab_size
            memory = (ctypes.c_char * size).from_address(place[0])
            view = np.frombuffer(memoryview(memory), np.float32).reshape(n_outputs, self.vocab_size)
            self._views[place] = view
        return view

    def truncate(self, length: int) -> None:
        with self._open():
            if self._tree is not None and self._tree.tokens:
                self._recover()
            self._truncate(length)

    def _truncate(self, length: int) -> None:
        known = len(self._tokens)
        if not 0 <= length <= known:
            raise RewindNotSupported(length, known)
        if length == known:
            return
        if isinstance(cut := self._tokens[length], PictureToken) and cut.index:
            raise RewindNotSupported(length, known)  # Half a picture is none.
        held, place = known - len(self._replay), self._position(length)
        if length >= held:
            self._replay = self._replay[: length - held]
        elif length == 0:
            self._clear()
        elif self._state is not None:
            reached = self._state.go_back(held, length)
            if reached is None:
                raise RewindNotSupported(length, self.length)
            # What lies between is fed again with the next forward.
            self._replay = self._tokens[reached:length]
        elif self.rewind.kind == "none" or not llama_cpp.llama_memory_seq_rm(self._memory, 0, place, -1):
            raise RewindNotSupported(length, self.length)
        elif self._tree is not None:
            self._tree.cut(place)
            self._replay = []
        del self._tokens[length:]
        if self._pictured:
            self._keep_tokens(self._tokens)

    def mark(self) -> None:
        if self._state is None:
            return
        with self._open():
            if len(self._replay) >= _LONGEST_REPLAY:
                self._decode(self._replay, self.length - len(self._replay), 0)
                self._replay = []
            self._state.mark()

    def grow_context(self, context_length: int) -> bool:
        with self._open():
            model, config = llama_cpp.llama_get_model(self._context), self.config
            length = min(context_length, int(llama_cpp.llama_model_n_ctx_train(model)))
            free_to = self.context_grows and not self._shared and self._reader is None and self.rewind.kind == "any"
            if config is None or not free_to or length <= self.context_length:
                return False
            heads = int(llama_cpp.llama_model_n_head(model)) or 1
            row = int(llama_cpp.llama_model_n_embd(model)) // heads * int(llama_cpp.llama_model_n_head_kv(model))
            size = self.cache_bytes() if self._tokens else 0
            # The new cache beside the old one, and a copy of what that holds: no more than half of what is free.
            if size + 4 * row * int(llama_cpp.llama_model_n_layer(model)) * length > available_memory() // 2:
                return False
            copy = self.copy_cache() if size else None
            try:
                made, length, _ = make_context(model, replace(config, context_length=length), self._log)
            except LoadFailed:
                return False
            self._change_context(model, made, length)
            if copy is not None:
                with suppress(BackendFailure):  # Then all is read anew.
                    self.restore_cache(copy)
            return True

    def _change_context(self, model: Any, context: Any, context_length: int) -> None:
        """Replace the context with another one, which is empty."""
        before, tree = self._context, self._tree
        self._free.detach()
        if tree is not None:
            tree.close()
        llama_cpp.llama_free(before)
        self._context, self._memory = context, llama_cpp.llama_get_memory(context)
        self.context_length = context_length
        self._tree = TreeSequences(context) if llama_cpp.llama_n_seq_max(context) >= SEQUENCES else None
        if self.config is not None:
            self.hidden_states = with_shared_keys(hidden_states(model, context), model, self.config.path)
        self._tokens, self._replay = [], []
        self._views.clear()
        self._threads_set = 0  # The new one has others.
        self._free = self._freeing(context, model)
        self.watch(self._cancel)

    def cache_bytes(self) -> int:
        if self.rewind.kind != "any" or self._reader is not None:  # A reader of states would have none of a copy.
            return 0
        with self._open():
            if self._tree is not None and self._tree.tokens:
                self._recover()
            return sum(self._pieces(lambda sequence: int(llama_cpp.llama_state_seq_get_size(self._context, sequence))))

    def copy_cache(self) -> CacheCopy | None:
        with self._open():
            if not self.cache_bytes():
                return None
            held = self._tokens[: len(self._tokens) - len(self._replay)]  # A replay has no cells.
            pieces = self._pieces(lambda sequence: read_sequence(self._context, sequence))
            sizes = tuple(piece.nbytes for piece in pieces)
            data = pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
            return CacheCopy(tuple(held), data, sizes) if all(sizes) else None

    def restore_cache(self, copy: CacheCopy) -> None:
        with self._open():
            self._empty()
            ends = list(accumulate(copy.sizes)) or [copy.data.nbytes]
            single = len(ends) == 1
            for begin, end in pairwise([0, *ends]):
                sequence = 0 if single else SPARE
                if self._reader is not None or not write_sequence(self._context, copy.data[begin:end], sequence):
                    self._empty()
                    raise BackendFailure(Translatable("its cache cannot be restored"))
                if not single:
                    self._take_spare()
            self._keep_tokens(copy.tokens)

    def part_length(self) -> int:
        if self.rewind.kind != "any" or self._reader is not None or self._tree is None:
            return 0
        with self._open():
            window = int(llama_cpp.llama_model_n_swa(llama_cpp.llama_get_model(self._context)))
            return min(_PART, window) if window else _PART

    def copy_part(self, first: int, last: int) -> CacheCopy | None:
        with self._open():
            if not self.part_length() or self._tree is None:
                return None
            if self._tree.tokens:
                self._recover()
            last = min(last, len(self._tokens) - len(self._replay))
            if first >= last or min(self._tokens[:last]) < 0:  # Pictures are kept in no file.
                return None
            self._tree.cut(0)
            data = self._look_at(first, last, lambda sequence: read_sequence(self._context, sequence))
            tokens = tuple(self._tokens[first:last])
            return CacheCopy(tokens, data) if self._is_part(data, first, len(tokens)) else None

    def append_part(self, part: CacheCopy) -> None:
        with self._open():
            count, taken = len(part.tokens), False
            if self._tree is not None and self.part_length() and self.length + count <= self.context_length:
                if self._tree.tokens:
                    self._recover()
                first = len(self._tokens)
                if self._replay:
                    self._decode(self._replay, first - len(self._replay), 0)
                    self._replay = []
                self._tree.cut(0)
                taken = self._is_part(part.data, first, count) and write_sequence(self._context, part.data, SPARE)
            if not taken:
                self._empty()
                raise BackendFailure(Translatable("its cache cannot be restored"))
            self._take_spare()
            self._tokens.extend(part.tokens)

    def _is_part(self, data: NDArray[np.uint8], first: int, count: int) -> bool:
        """Return True if this is a copy of so many tokens from `first` on. The spare sequence must be free."""
        empty = int(llama_cpp.llama_state_seq_get_size(self._context, SPARE))
        return is_state_of(data, first, count, caches_in(empty))

    def _take_spare(self) -> None:
        """Give the cells of the spare sequence to the text."""
        llama_cpp.llama_memory_seq_cp(self._memory, SPARE, 0, -1, -1)
        llama_cpp.llama_memory_seq_rm(self._memory, SPARE, -1, -1)

    def _pieces(self, look: Callable[[int], T]) -> list[T]:
        """Call `look` with a sequence that has each piece of the text's cells, all of them together where that can be.

        Of a sequence llama.cpp copies only what a sliding window sees at its end. A text that went back behind that
        would miss the rest, so that each piece is no longer than the window.
        """
        held = len(self._tokens) - len(self._replay) - self._skipped
        window = int(llama_cpp.llama_model_n_swa(llama_cpp.llama_get_model(self._context)))
        if not window or held <= window:
            return [look(0)]
        if self._tree is None:
            return []
        self._tree.cut(0)  # One of its sequences is needed.
        return [self._look_at(first, min(first + window, held), look) for first in range(0, held, window)]

    def _look_at(self, first: int, last: int, look: Callable[[int], T]) -> T:
        """Call `look` with a sequence that has the text's cells from `first` up to `last`."""
        llama_cpp.llama_memory_seq_cp(self._memory, 0, SPARE, first, last)
        try:
            return look(SPARE)
        finally:
            llama_cpp.llama_memory_seq_rm(self._memory, SPARE, -1, -1)

    def _recover(self) -> None:
        """Repair the cache after a forward that failed half-way: it is as before, or empty."""
        held = self.length - len(self._replay)
        if self._state is not None:
            reached = self._state.recover(self.length)
            self._replay = self._tokens[reached:] if reached else []
        elif self.rewind.kind == "any" and held and self._forget_from(held - self._skipped):
            reached = held
        else:
            reached = 0
        if not reached:
            self._empty()

    def _forget_from(self, place: int) -> bool:
        """Remove the cache's tokens from a position on; return False if the memory cannot."""
        if not llama_cpp.llama_memory_seq_rm(self._memory, 0, place, -1):
            return False
        if self._tree is not None:
            self._tree.cut(place)
        return True

    def _empty(self) -> None:
        """Forget everything."""
        self._clear()
        self._keep_tokens(())

    def _clear(self) -> None:
        # Not its data, nearly a gigabyte in a long context; a state that is not rewound is no list of cells.
        llama_cpp.llama_memory_clear(self._memory, self.rewind.kind != "any")
        if self._tree is not None:
            self._tree.clear()
        if self._state is not None:
            self._state.clear()
        self._replay = []

    @contextmanager
    def keep(self) -> Iterator[None]:
        with self._open():
            self._kept += 1
        try:
            yield
        finally:
            with self._lock:
                self._kept -= 1
                if self.closed:
                    self.close()

    def close(self) -> None:
        with self._lock:  # Not in the middle of a forward.
            self.closed = True
            self._tokenizer.close()
            if not self._kept:
                self._views.clear()
                self._free()
