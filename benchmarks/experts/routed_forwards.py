"""Forwards of a mixture of experts on the processor, and which experts a router chose for their tokens."""

import ctypes
from pathlib import Path
from time import perf_counter
from types import TracebackType
from typing import Any, Self

import llama_cpp
import numpy as np
from numpy.typing import NDArray

from engine.backends.llama_cpp.library import computes_alike, packs_weights, prepare_library

_CONTEXT, _BATCH = 1024, 512
_CHOSEN = "ffn_moe_topk-"
"""What llama.cpp calls the tensors of chosen experts, with the layer's number behind it."""


class _Tensor(ctypes.Structure):
    """The beginning of a tensor of ggml (ggml_tensor)."""

    _fields_ = (
        ("type", ctypes.c_int),
        ("buffer", ctypes.c_void_p),
        ("lengths", ctypes.c_int64 * 4),
        ("strides", ctypes.c_size_t * 4),
    )


class RoutedForwards:
    """A model with a cache of its own, and the same again whose computing is watched. Raises OSError."""

    def __init__(self, path: Path, threads: int) -> None:
        prepare_library()
        params = llama_cpp.llama_model_default_params()
        params.n_gpu_layers = 0
        params.use_extra_bufts = packs_weights() or not computes_alike()
        self._model = llama_cpp.llama_model_load_from_file(str(path).encode(), params)
        if not self._model:
            raise OSError(f"{path} cannot be loaded.")
        self._counts: list[int] = []
        self._watch = llama_cpp.ggml_backend_sched_eval_callback(self._see)
        self._plain, self._watched = self._context(threads, watched=False), self._context(threads, watched=True)
        self._before = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for context in (self._plain, self._watched):
            llama_cpp.llama_free(context)
        llama_cpp.llama_model_free(self._model)

    def begin(self, tokens: list[int]) -> None:
        """Read what stands before every forward."""
        for context in (self._plain, self._watched):
            self._decode(context, tokens)
        self._before = len(tokens)

    def time(self, tokens: list[int]) -> float:
        """Milliseconds of a forward of these tokens with logits of all, which are then forgotten."""
        began = perf_counter()
        self._decode(self._plain, tokens)
        took = 1e3 * (perf_counter() - began)
        self._forget(self._plain)
        return took

    def count_experts(self, tokens: list[int]) -> float:
        """How many different experts the same forward needs in a layer, on average. Counting would slow it down."""
        self._counts.clear()
        self._decode(self._watched, tokens)
        self._forget(self._watched)
        return float(np.mean(self._counts))

    def _forget(self, context: Any) -> None:
        llama_cpp.llama_memory_seq_rm(llama_cpp.llama_get_memory(context), 0, self._before, -1)

    def _context(self, threads: int, *, watched: bool) -> Any:
        params = llama_cpp.llama_context_default_params()
        params.n_ctx, params.n_batch, params.n_ubatch = _CONTEXT, _BATCH, _BATCH
        params.n_threads = params.n_threads_batch = threads
        if watched:
            params.cb_eval = self._watch
        return llama_cpp.llama_init_from_model(self._model, params)

    def _decode(self, context: Any, tokens: list[int]) -> None:
        batch = llama_cpp.llama_batch_init(len(tokens), 0, 1)
        batch.n_tokens = len(tokens)
        for i, token in enumerate(tokens):
            batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.logits[i] = token, self._before + i, 1, 1
            batch.seq_id[i][0] = 0
        failed = llama_cpp.llama_decode(context, batch)
        llama_cpp.llama_synchronize(context)
        llama_cpp.llama_batch_free(batch)
        if failed:
            raise OSError(f"llama.cpp could not compute {len(tokens)} tokens.")

    def _see(self, tensor: int, ask: bool, _data: object) -> bool:
        """Ask for the choices of the routers, and count the experts in each."""
        name = _function("ggml_get_name", ctypes.c_char_p, ctypes.c_void_p)(tensor)
        if not name.decode().startswith(_CHOSEN):
            return not ask
        if not ask:
            self._counts.append(len(np.unique(_content(tensor))))
        return True


def _content(tensor: int) -> NDArray[np.int32]:
    """The numbers of the experts: a row for each token."""
    shape = _Tensor.from_address(tensor)
    size = _function("ggml_nbytes", ctypes.c_size_t, ctypes.c_void_p)(tensor)
    raw = np.empty(size // 4, dtype=np.int32)
    get = _function("ggml_backend_tensor_get", None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)
    get(tensor, raw.ctypes.data, 0, size)
    used, tokens = shape.lengths[0], shape.lengths[1]
    return np.lib.stride_tricks.as_strided(raw, (tokens, used), (shape.strides[1], shape.strides[0]))


def _function(name: str, result: Any, *arguments: Any) -> Any:
    from llama_cpp._ggml import libggml  # noqa: PLC0415 - a private module: only here

    found = getattr(libggml, name)
    found.restype, found.argtypes = result, list(arguments)
    return found
