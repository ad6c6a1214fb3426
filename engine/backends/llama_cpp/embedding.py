"""Run embedding models of llama.cpp: a text becomes one vector."""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import llama_cpp
import numpy as np
from numpy.typing import NDArray

from engine.backends.base import Embedder
from engine.backends.llama_cpp.library import prepare_library
from engine.backends.llama_cpp.tokenizer import LlamaCppTokenizer
from engine.backends.llama_cpp.weights import gpu_layers, load_weights, reason_of
from engine.cancel import CancelToken
from engine.checks import check_tokens
from engine.config import LoadConfig
from engine.errors import BackendClosed, BackendFailure, ContextFull, LoadFailed, ModelNotSupported
from engine.system.machine import default_threads
from engine.translatable import Translatable

_LONGEST = 2048
"""Tokens of a text at most where nothing else is asked for: all of them are read at once."""
_POOLED = (llama_cpp.LLAMA_POOLING_TYPE_MEAN, llama_cpp.LLAMA_POOLING_TYPE_CLS, llama_cpp.LLAMA_POOLING_TYPE_LAST)


class LlamaCppEmbedder(Embedder):
    """Run a GGUF embedding model (see engine.backends.base.Embedder). Make one with `open`."""

    def __init__(self, model: Any, context: Any, name: str) -> None:
        self._context = context
        self.name = name
        self.tokenizer = LlamaCppTokenizer(model)
        self.width = int(llama_cpp.llama_model_n_embd_out(model))
        self.context_length = int(llama_cpp.llama_n_ubatch(context))
        self._batch = llama_cpp.llama_batch_init(self.context_length, 0, 1)
        self._lock = threading.Lock()
        self._free = weakref.finalize(self, _free, self._batch, context, model, self.tokenizer)

    @classmethod
    def open(
        cls, config: LoadConfig, *, progress: Callable[[float], None] | None = None, cancel: CancelToken | None = None
    ) -> LlamaCppEmbedder:
        """Load a model. Raises LoadFailed, ModelNotSupported (its file names no pooling), Cancelled."""
        log = prepare_library()
        model = load_weights(config, log, progress, cancel)
        params = llama_cpp.llama_context_default_params()
        length = min(config.context_length or _LONGEST, int(llama_cpp.llama_model_n_ctx_train(model)) or _LONGEST)
        params.n_ctx = params.n_batch = params.n_ubatch = length
        params.embeddings = True
        params.no_perf = True
        threads = config.threads or default_threads(int(llama_cpp.llama_model_size(model)))
        params.n_threads = params.n_threads_batch = threads
        params.offload_kqv = bool(gpu_layers(config))
        log.clear()
        context = llama_cpp.llama_init_from_model(model, params)
        if not context:
            reason = reason_of(config, log, Translatable("llama.cpp cannot create a context for it"))
            llama_cpp.llama_model_free(model)
            raise LoadFailed(config.path, reason)
        if llama_cpp.llama_pooling_type(context) not in _POOLED:
            llama_cpp.llama_free(context)
            llama_cpp.llama_model_free(model)
            raise ModelNotSupported(
                config.path, Translatable("it is no embedding model: its file does not say how to make one vector.")
            )
        return cls(model, context, config.path.stem)

    def encode(self, text: str) -> list[int]:
        return self.tokenizer.encode(text, add_special=True, parse_special=False)

    def embed(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        count = len(tokens)
        if not 0 < count <= self.context_length:
            raise ContextFull(count, self.context_length)
        check_tokens(tokens, self.tokenizer.vocab_size)
        with self._lock:
            if not self._free.alive:
                raise BackendClosed
            memory = llama_cpp.llama_get_memory(self._context)
            if memory:  # A model that only encodes has none.
                llama_cpp.llama_memory_clear(memory, True)
            batch = self._batch
            batch.n_tokens = count
            for index, token in enumerate(tokens):
                batch.token[index], batch.pos[index] = token, index
                batch.n_seq_id[index], batch.seq_id[index][0], batch.logits[index] = 1, 0, True
            status = llama_cpp.llama_decode(self._context, batch)
            place = llama_cpp.llama_get_embeddings_seq(self._context, 0) if status == 0 else None
            if not place:
                raise BackendFailure(prepare_library().last or f"llama.cpp answered {status}")
            numbers = ctypes.cast(place, ctypes.POINTER(ctypes.c_float * self.width)).contents
            vector: NDArray[np.float32] = np.array(numbers, np.float32)
        norm = float(np.linalg.norm(vector.astype(np.float64)))
        return vector / np.float32(norm) if norm > 0 else vector

    def close(self) -> None:
        with self._lock:
            self._free()


def _free(batch: Any, context: Any, model: Any, tokenizer: LlamaCppTokenizer) -> None:
    tokenizer.close()
    llama_cpp.llama_batch_free(batch)
    llama_cpp.llama_free(context)
    llama_cpp.llama_model_free(model)
