"""GGUF models through the low-level functions of llama.cpp."""

from __future__ import annotations

import ctypes
import os
import sys
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import llama_cpp
import numpy as np

from engine.backends.base import Backend, Logits, Rewind
from engine.backends.llama_cpp.library import LibraryLog, computes_alike, library_rows, prepare_library
from engine.backends.llama_cpp.recurrent import RecurrentState, snapshot_depth, worth_saving
from engine.backends.llama_cpp.tokenizer import LlamaCppTokenizer
from engine.cancel import CancelToken
from engine.config import MAX_LOOKAHEAD, LoadConfig
from engine.errors import (
    BackendFailure,
    Cancelled,
    ContextFull,
    LoadFailed,
    ModelNotSupported,
    RewindNotSupported,
    TokenOutOfRange,
)
from engine.formats.gguf.parts import split_parts
from engine.system.machine import available_memory, default_threads
from engine.translatable import Translatable

DEFAULT_CONTEXT = 4096
_BATCH_CPU = 128
_BATCH_GPU = 512
_NEVER = (ctypes.c_char * 2)()
_LONGEST_REPLAY = 16
"""A replay rides in the next forward, together with what was accepted since, until it is this long."""
_STATUS_ABORTED = 2
_SHARE_OF_MEMORY = 0.9
_ALL_LAYERS = 999
"""More than any model has."""
_CACHE_TYPES = {
    "f16": llama_cpp.GGML_TYPE_F16,
    "q8_0": llama_cpp.GGML_TYPE_Q8_0,
    "q4_0": llama_cpp.GGML_TYPE_Q4_0,
}

prepare_library()

_logits_place: Any = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32)(
    ctypes.cast(llama_cpp.llama_get_logits_ith, ctypes.c_void_p).value or 0
)
"""llama.cpp's function, but giving an address: a pointer object costs as much as the rest of the call."""


def _abort_function() -> Any:
    """A C function of the kind that llama.cpp asks whether to stop: true when its argument points to a set flag.

    It is the C library's strlen over the flag of a CancelToken, so that no check takes the interpreter lock, which a
    Python callback would do at every node of the graph.
    """
    library = ctypes.cdll.msvcrt if sys.platform == "win32" else ctypes.CDLL(None)
    return ctypes.cast(library.strlen, llama_cpp.ggml_abort_callback)


class LlamaCppBackend(Backend):
    """A GGUF model with its context (see engine.backends.base.Backend). Make one with `open`."""

    def __init__(
        self, model: Any, context: Any, name: str, context_length: int, batch_size: int, device: str = "cpu"
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
        self.tokenizer = LlamaCppTokenizer(model)
        self.vocab_size = self.tokenizer.vocab_size
        self.eos_token_ids = self.tokenizer.eos_token_ids
        self.context_length = context_length
        self.parameters = int(llama_cpp.llama_model_n_params(model))
        self.weight_bytes = int(llama_cpp.llama_model_size(model))
        self.threads = self._threads_set = self._threads_loaded = int(llama_cpp.llama_n_threads(context))
        self.device = device
        self.threads_adjustable = device == "cpu"
        self._state: RecurrentState | None = None
        self.rewind = Rewind("any")
        if llama_cpp.llama_model_is_recurrent(model) or llama_cpp.llama_model_is_hybrid(model):
            self._state = RecurrentState(model, context) if worth_saving(model) else None
            self.rewind = Rewind("none") if self._state is None else Rewind("snapshots", max(self._state.depth, 1))
        self._tokens: list[int] = []
        self._replay: list[int] = []
        self._abort = _abort_function()
        self._free = weakref.finalize(self, _free, self._batch, context, model)
        self._cancel: CancelToken | None = None

    @classmethod
    def open(
        cls,
        config: LoadConfig,
        *,
        progress: Callable[[float], None] | None = None,
        cancel: CancelToken | None = None,
    ) -> LlamaCppBackend:
        """Load a model. `progress` is told a fraction 0..1. Raises LoadFailed, ModelNotSupported, Cancelled."""
        log = prepare_library()
        model = _load_model(config, log, progress, cancel)
        try:
            context, context_length, batch_size = _make_context(model, config, log)
        except LoadFailed:
            llama_cpp.llama_model_free(model)
            raise
        device = "gpu" if _gpu_layers(config) else "cpu"
        return cls(model, context, config.path.stem, context_length, batch_size, device)

    @property
    def length(self) -> int:
        return len(self._tokens)

    @property
    def tokens(self) -> Sequence[int]:
        return self._tokens

    def watch(self, cancel: CancelToken | None) -> None:
        self._cancel = cancel
        flag = _NEVER if cancel is None else cancel.flag
        llama_cpp.llama_set_abort_callback(self._context, self._abort, ctypes.cast(flag, ctypes.c_void_p))

    def set_threads(self, n: int) -> None:
        # With the attention of llama_cpp/kernels (AVX-512) rows do not depend on it; llama.cpp's own shares out a long
        # cache among the threads when it is asked for a single token.
        if self.threads_adjustable:
            self.threads = n

    def forward(self, tokens: Sequence[int], n_outputs: int) -> Logits:
        held, count = len(self._tokens), len(tokens)
        alone = count == 1 == n_outputs and self._state is None and not self._replay
        if alone and held < self.context_length and 0 <= tokens[0] < self.vocab_size and self._free.alive:
            # A draft's next token, where there is nothing else to do.
            self._decode(tokens, held, 1)
            self._tokens.append(tokens[0])
            return self._rows(1, 1)
        self._check_open()
        if not count or not 0 <= n_outputs <= min(count, MAX_LOOKAHEAD + 1):
            raise BackendFailure(
                Translatable(
                    "{n_outputs} rows of logits were requested for {count} tokens", n_outputs=n_outputs, count=count
                ),
                held,
            )
        if min(tokens) < 0 or max(tokens) >= self.vocab_size:
            wrong = next(token for token in tokens if not 0 <= token < self.vocab_size)
            raise TokenOutOfRange(wrong, self.vocab_size)
        if held + count > self.context_length:
            raise ContextFull(held + count, self.context_length)
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

    def _check_open(self) -> None:
        if not self._free.alive:
            raise BackendFailure(Translatable("it was closed"))

    def _decode(self, tokens: Sequence[int], position: int, n_outputs: int) -> None:
        count = len(tokens)
        if count != self._batch_count:
            self._batch.n_tokens = self._batch_count = count
        ids, positions, outputs = self._batch_tokens, self._batch_positions, self._batch_outputs
        silent = count - n_outputs
        for index, token in enumerate(tokens):
            ids[index] = token
            positions[index] = position + index
            outputs[index] = index >= silent
        threads = self.threads if count <= MAX_LOOKAHEAD + 1 else max(self.threads, self._threads_loaded)
        if threads != self._threads_set:
            llama_cpp.llama_set_n_threads(self._context, threads, threads)
            self._threads_set = threads
        status = llama_cpp.llama_decode(self._context, self._batch)
        if status != 0:
            self._recover()
            if status == _STATUS_ABORTED:
                raise Cancelled
            raise BackendFailure(self._log.last or f"llama.cpp answered {status}", position)
        if self._state is not None:
            self._state.decoded(count)

    def _rows(self, count: int, n_outputs: int) -> Logits:
        if n_outputs == 0:
            return np.empty((0, self.vocab_size), dtype=np.float32)
        place = _logits_place(self._context, count - n_outputs), n_outputs
        if not place[0]:
            raise BackendFailure(Translatable("llama.cpp returned no logits"), self.length)
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
        self._check_open()
        known = len(self._tokens)
        if not 0 <= length <= known:
            raise RewindNotSupported(length, known)
        if length == known:
            return
        held = known - len(self._replay)
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
        elif self.rewind.kind == "none" or not llama_cpp.llama_memory_seq_rm(self._memory, 0, length, -1):
            raise RewindNotSupported(length, self.length)
        del self._tokens[length:]

    def mark(self) -> None:
        if self._state is None:
            return
        if len(self._replay) >= _LONGEST_REPLAY:
            self._decode(self._replay, self.length - len(self._replay), 0)
            self._replay = []
        self._state.mark()

    def _recover(self) -> None:
        """After a forward that failed half-way: the cache as before, or empty."""
        held = self.length - len(self._replay)
        if self._state is not None:
            reached = self._state.recover(self.length)
            self._replay = self._tokens[reached:] if reached else []
        elif self.rewind.kind == "any" and held and llama_cpp.llama_memory_seq_rm(self._memory, 0, held, -1):
            reached = held
        else:
            reached = 0
        if not reached:
            self._clear()
            self._tokens.clear()

    def _clear(self) -> None:
        llama_cpp.llama_memory_clear(self._memory, True)
        if self._state is not None:
            self._state.clear()
        self._replay = []

    def close(self) -> None:
        self._free()


def _free(batch: Any, context: Any, model: Any) -> None:
    llama_cpp.llama_batch_free(batch)
    llama_cpp.llama_free(context)
    llama_cpp.llama_model_free(model)


def _load_model(
    config: LoadConfig, log: LibraryLog, progress: Callable[[float], None] | None, cancel: CancelToken | None
) -> Any:
    params = llama_cpp.llama_model_default_params()
    params.n_gpu_layers = _gpu_layers(config)
    if config.in_memory and _fits_in_memory(config):
        params.load_mode = llama_cpp.LLAMA_LOAD_MODE_NONE

    def report(fraction: float, _data: object) -> bool:
        if progress is not None:
            progress(fraction)
        return cancel is None or not cancel.cancelled

    callback = llama_cpp.llama_progress_callback(report)
    params.progress_callback = callback
    log.clear()
    model = llama_cpp.llama_model_load_from_file(os.fsencode(config.path), params)
    if cancel is not None and cancel.cancelled:
        if model:
            llama_cpp.llama_model_free(model)
        raise Cancelled(Translatable("Loading the model"))
    if not model:
        raise LoadFailed(config.path, _reason(log, Translatable("llama.cpp cannot read it")))
    if not llama_cpp.llama_model_has_decoder(model) or llama_cpp.llama_model_has_encoder(model):
        llama_cpp.llama_model_free(model)
        raise ModelNotSupported(
            config.path, Translatable("it does not generate text token by token. Choose a chat or text model.")
        )
    return model


def _fits_in_memory(config: LoadConfig) -> bool:
    """Whether the weights, read instead of mapped, leave some memory for the rest."""
    try:
        size = sum(part.stat().st_size for part in split_parts(config.path))
    except (OSError, LoadFailed):
        return False
    return _SHARE_OF_MEMORY * available_memory() > size


def _make_context(model: Any, config: LoadConfig, log: LibraryLog) -> tuple[Any, int, int]:
    """The context, how many tokens it holds, and how many it takes at once."""
    trained = int(llama_cpp.llama_model_n_ctx_train(model)) or DEFAULT_CONTEXT
    context_length = min(config.context_length or DEFAULT_CONTEXT, trained)
    threads = config.threads or default_threads(int(llama_cpp.llama_model_size(model)))
    batch_size = _BATCH_GPU if _gpu_layers(config) else _BATCH_CPU
    params = llama_cpp.llama_context_default_params()
    params.n_ctx = context_length
    params.n_batch = params.n_ubatch = min(batch_size, max(context_length, MAX_LOOKAHEAD + 1))
    params.n_outputs_max = MAX_LOOKAHEAD + 1
    params.n_rs_seq = snapshot_depth(model, min(int(params.n_batch), context_length))
    params.n_threads = params.n_threads_batch = threads
    params.swa_full = True
    params.no_perf = True
    if config.cache_type is not None:
        params.type_k = params.type_v = _CACHE_TYPES[config.cache_type]
    if not _gpu_layers(config):
        _make_rows_alike(model, params, config)
    log.clear()
    context = llama_cpp.llama_init_from_model(model, params)
    if not context:
        raise LoadFailed(
            config.path,
            _reason(log, Translatable("llama.cpp cannot create a context for it; there may not be enough memory")),
        )
    return context, context_length, int(params.n_batch)


def _make_rows_alike(model: Any, params: Any, config: LoadConfig) -> None:
    """Settings under which a row of logits depends least on how many tokens were fed with it.

    With weights in float32 a float16 cache rounds last bits up to differences of 0.01 in the logits (measured; 0.00001
    with a float32 cache and without flash attention, which turns it into float16). Where llama_cpp/kernels are not at
    work there is more to do: llama.cpp's own flash attention shares a long cache among threads for a token alone and
    not for several; the logits differ by up to 0.7 (measured, from 300 tokens of context on), so it is left out. A
    quantised cache can only be read by flash attention: llama_cpp/kernels' gives the same rows then too, llama.cpp's
    nearly does.
    """
    if config.cache_type in ("q8_0", "q4_0"):
        return
    float32 = config.cache_type is None and llama_cpp.llama_model_ftype(model) == llama_cpp.LLAMA_FTYPE_ALL_F32
    if float32:
        params.type_k = params.type_v = llama_cpp.GGML_TYPE_F32
    if float32 or not computes_alike():
        params.flash_attn_type = llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED


def _gpu_layers(config: LoadConfig) -> int:
    if not llama_cpp.llama_supports_gpu_offload():
        return 0
    return _ALL_LAYERS if config.gpu_layers in (None, -1) else min(int(config.gpu_layers or 0), _ALL_LAYERS)


def _reason(log: LibraryLog, otherwise: str) -> str:
    detail = log.error
    return (
        Translatable("{what} ({detail}).", what=otherwise, detail=detail)
        if detail
        else Translatable("{what}.", what=otherwise)
    )
