"""Run the draft heads that llama.cpp has graphs for.

EAGLE-3, DFlash and DSpark in files of their own; MTP inside the target's file or beside it in one of its own, which is
for Gemma 4 an assistant that reads the target's cache.
"""

from __future__ import annotations

import ctypes
import os
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import llama_cpp
import numpy as np
from numpy.typing import NDArray

from engine.backends.base import Backend, Logits
from engine.backends.block_heads import BlockHeadBackend, BlockLayers, Lattice
from engine.backends.heads import BATCH, HeadBackend, HeadLayers, States
from engine.backends.llama_cpp.backend import LlamaCppBackend
from engine.backends.llama_cpp.functions import logits_place
from engine.backends.llama_cpp.hidden import floats_at, functions
from engine.backends.llama_cpp.library import LibraryLog, prepare_library, text_entry
from engine.backends.llama_cpp.loading import choose_cache, context_of
from engine.backends.llama_cpp.tokenizer import LlamaCppTokenizer
from engine.backends.llama_cpp.weights import gpu_layers, pack_weights, reason_of
from engine.backends.shared_heads import SharedCacheHeadBackend
from engine.config import LoadConfig
from engine.errors import BackendFailure, LoadFailed, ModelNotSupported
from engine.formats.draft_head import DraftHead
from engine.translatable import Translatable


class _Head(HeadLayers):
    """Hold a context of llama.cpp that computes a head's entries.

    `shift`: how far before its token's position an entry stands in the cache.
    """

    shift = 0

    def __init__(
        self, model: Any, context: Any, target: LlamaCppBackend, name: str, width: int, *, owned: bool
    ) -> None:
        self.name = name
        self.width = width
        self.vocab_size = int(llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(model)))
        self.tokenizer = self._tokenizer = LlamaCppTokenizer(model)
        self._log = prepare_library()
        self._context = context
        self._target = target
        self._memory: Any = llama_cpp.llama_get_memory(context)
        self._batch = llama_cpp.llama_batch_ext_init(context)
        self._threads = 0
        self._call = functions().call
        self._call["set_embeddings_nextn"](context, True, True)
        self._free = weakref.finalize(self, _free, self._batch, context, model if owned else None)

    def combine(self, states: States) -> States:
        return states

    def feed(self, first: int, tokens: Sequence[int], states: States, *, wanted: bool) -> tuple[Logits, States] | None:
        batch, place = self._batch, first - self.shift
        states = np.ascontiguousarray(states, np.float32)
        llama_cpp.llama_batch_ext_clear(batch)
        position = ctypes.c_int32()
        for index, (token, row) in enumerate(zip(tokens, _rows(states), strict=True)):
            llama_cpp.llama_batch_ext_add_token(batch, 0, token)
            position.value = place + index
            llama_cpp.llama_batch_ext_set_pos(batch, index, position)
            # llama.cpp hands out the rows from the first on, not the marked ones: so all of them, or none.
            llama_cpp.llama_batch_ext_set_output_logits(batch, index, wanted)
            llama_cpp.llama_batch_ext_set_embd_token(batch, index, row)
        self._process(llama_cpp.LLAMA_PROCESS_TYPE_DECODE, place)
        if not wanted:
            return None
        last = len(tokens) - 1
        logits = floats_at(logits_place(self._context, last), 1, self.vocab_size)
        own = floats_at(self._call["get_embeddings_nextn_ith"](self._context, last), 1, self.width)
        return logits, own[0]

    def cut(self, position: int) -> None:
        llama_cpp.llama_memory_seq_rm(self._memory, 0, max(position - self.shift, 0), -1)

    def close(self) -> None:
        self._tokenizer.close()
        self._free()

    def _process(self, kind: int, place: int) -> None:
        if self._target.threads != self._threads:
            self._threads = self._target.threads
            llama_cpp.llama_set_n_threads(self._context, self._threads, self._threads)
        status = llama_cpp.llama_process(self._context, kind, self._batch)
        if status:
            raise BackendFailure(self._log.last or f"llama.cpp answered {status}", place)


class EagleHead(_Head):
    """Compute an EAGLE-3 head from a GGUF file of the architecture `eagle3`."""

    method = "eagle3"
    shift = 1

    def __init__(self, model: Any, context: Any, target: LlamaCppBackend, name: str) -> None:
        super().__init__(model, context, target, name, int(llama_cpp.llama_model_n_embd(model)), owned=True)
        count = int(self._call["model_target_layer_ids_n"](model))
        numbers = (ctypes.c_int32 * count).from_address(self._call["model_target_layer_ids"](model))
        self.layers = tuple(numbers)
        self.parameters = int(llama_cpp.llama_model_n_params(model))
        self.weight_bytes = int(llama_cpp.llama_model_size(model))

    def combine(self, states: States) -> States:
        """Return the projections of the target's states (g in EAGLE-3)."""
        found = np.empty((len(states), self.width), np.float32)
        for start in range(0, len(states), BATCH):
            piece = np.ascontiguousarray(states[start : start + BATCH], np.float32)
            llama_cpp.llama_batch_ext_clear(self._batch)
            # Positions mean nothing here, but llama.cpp wants those that come next in the cache.
            place = int(llama_cpp.llama_memory_seq_pos_max(self._memory, 0)) + 1
            position = ctypes.c_int32()
            for index, row in enumerate(_rows(piece)):
                llama_cpp.llama_batch_ext_add_embd(self._batch, 0, row)
                position.value = place + index
                llama_cpp.llama_batch_ext_set_pos(self._batch, index, position)
                llama_cpp.llama_batch_ext_set_output_logits(self._batch, index, True)
            self._process(llama_cpp.LLAMA_PROCESS_TYPE_ENCODE, start)
            rows = floats_at(self._call["get_embeddings_nextn"](self._context), len(piece), self.width)
            found[start : start + BATCH] = rows
        return found


class MtpHead(_Head):
    """Compute an MTP layer inside a model's own file."""

    method = "mtp"
    first = 0

    def __init__(self, model: Any, context: Any, target: LlamaCppBackend, name: str) -> None:
        super().__init__(model, context, target, name, int(llama_cpp.llama_model_n_embd_out(model)), owned=True)
        self.layers = (int(llama_cpp.llama_model_n_layer(model)),)


class AssistantHead(_Head):
    """Compute a Gemma 4 assistant, which reads the target's cache and has none of its own.

    Its entries are the pending token and those that it proposes next, all at the place behind what the cache holds.
    That is the pending token's, but where a path of a tree was kept that is still to be fed again: there it looks at
    what was before that path.
    """

    method = "mtp"
    branches = True

    def __init__(self, model: Any, context: Any, target: LlamaCppBackend, name: str, layers: int) -> None:
        super().__init__(model, context, target, name, int(llama_cpp.llama_model_n_embd_out(model)), owned=True)
        self.layers = (layers,)
        self.parameters = int(llama_cpp.llama_model_n_params(model))
        self.weight_bytes = int(llama_cpp.llama_model_size(model))

    def feed(self, first: int, tokens: Sequence[int], states: States, *, wanted: bool) -> tuple[Logits, States] | None:
        logits, own = self._compute(tokens, states)
        return logits, own[0]

    def branch(
        self, positions: Sequence[int], tokens: Sequence[int], states: States, seen: NDArray[np.bool_]
    ) -> tuple[Logits, States]:
        room = max(self._target.context_length - self._target.length, 1)  # llama.cpp wants a free cell for each.
        pieces = [
            tuple(each.copy() for each in self._compute(tokens[start : start + room], states[start : start + room]))
            for start in range(0, len(tokens), room)
        ]
        logits, own = (np.concatenate(each) for each in zip(*pieces, strict=True))
        return logits, own

    def cut(self, position: int) -> None:
        """Do nothing: the cache is the target's."""

    def _compute(self, tokens: Sequence[int], states: States) -> tuple[Logits, States]:
        """Return the logits behind each token and its own state, each computed alone from the state before it."""
        batch, states = self._batch, np.ascontiguousarray(states, np.float32)
        llama_cpp.llama_batch_ext_clear(batch)
        place = int(llama_cpp.llama_memory_seq_pos_max(self._memory, 0)) + 1
        position = ctypes.c_int32(place)
        for index, (token, row) in enumerate(zip(tokens, _rows(states), strict=True)):
            llama_cpp.llama_batch_ext_add_token(batch, 0, token)
            llama_cpp.llama_batch_ext_set_pos(batch, index, position)
            llama_cpp.llama_batch_ext_set_output_logits(batch, index, True)
            llama_cpp.llama_batch_ext_set_embd_token(batch, index, row)
        self._process(llama_cpp.LLAMA_PROCESS_TYPE_DECODE, place)
        count = len(tokens)
        logits = floats_at(logits_place(self._context, 0), count, self.vocab_size)
        return logits, floats_at(self._call["get_embeddings_nextn"](self._context), count, self.width)


class BlockHead(_Head, BlockLayers):
    """Compute a block with a head from a GGUF file of the architecture `dflash`: DFlash, DFlash2, or DSpark.

    DSpark's distributions are chained within the block along the likeliest tokens, whatever is drawn.
    """

    first = 0

    def __init__(self, model: Any, context: Any, target: LlamaCppBackend, name: str, head: DraftHead) -> None:
        self.method = head.method
        self.layers = head.layers
        super().__init__(model, context, target, name, len(head.layers) * head.width, owned=True)
        self.parameters = int(llama_cpp.llama_model_n_params(model))
        self.weight_bytes = int(llama_cpp.llama_model_size(model))
        self._mask = int(llama_cpp.llama_vocab_mask(llama_cpp.llama_model_get_vocab(model)))
        self._anchored = head.method == "dspark" and text_entry(model, "dflash.sample_from_anchor") != "false"
        self.most = int(text_entry(model, "dflash.block_size")) - (not self._anchored)
        self._candidates = int(self._call["model_dflash_selector_top_k"](model))
        self._own_width = int(llama_cpp.llama_model_n_embd(model))
        self._call["set_embeddings_nextn"](context, True, not self._candidates)
        causal = text_entry(model, "dflash.attention.causal") == "true"
        llama_cpp.llama_set_causal_attn(context, causal)

    def feed(self, first: int, tokens: Sequence[int], states: States, *, wanted: bool) -> None:
        states = np.ascontiguousarray(states, np.float32)
        llama_cpp.llama_batch_ext_clear(self._batch)
        for index, row in enumerate(_rows(states)):
            llama_cpp.llama_batch_ext_add_embd(self._batch, 0, row)
            place = (ctypes.c_int32 * 4)(*[first + index] * 3, 0)
            llama_cpp.llama_batch_ext_set_pos(self._batch, index, place)
            llama_cpp.llama_batch_ext_set_output_logits(self._batch, index, False)
        self._process(llama_cpp.LLAMA_PROCESS_TYPE_DECODE, first)

    def block(self, first: int, token: int, count: int) -> Logits | Lattice:
        skipped = int(not self._anchored)
        llama_cpp.llama_batch_ext_clear(self._batch)
        for index in range(count + skipped):
            llama_cpp.llama_batch_ext_add_token(self._batch, 0, self._mask if index else token)
            llama_cpp.llama_batch_ext_set_pos(self._batch, index, ctypes.c_int32(first + index))
            llama_cpp.llama_batch_ext_set_output_logits(self._batch, index, not self._candidates)
        self._process(llama_cpp.LLAMA_PROCESS_TYPE_DECODE, first)
        if self._candidates:
            return self._lattice(first, count)
        rows = floats_at(logits_place(self._context, skipped), count, self.vocab_size).copy()
        self.cut(first)
        return rows

    def _lattice(self, first: int, count: int) -> Lattice:
        """Read DFlash2's choice for each place, as llama.cpp stores it: numbers of tokens, then scores."""
        most, end = self._candidates, self._candidates * (self._candidates + 1)
        rows = floats_at(self._call["get_embeddings_nextn"](self._context), count + 1, self._own_width)[1:]
        tokens = rows[:, :most].astype(np.int64)
        scores = rows[:, most:end].reshape(count, most, most).copy()
        self.cut(first)
        return Lattice(tokens, scores, self.vocab_size)


def open_head(config: LoadConfig, head: DraftHead, target: Backend) -> Backend:
    """Load the head of a GGUF file for a loaded target.

    The file must have been checked (engine.formats.gguf.heads). Raises LoadFailed, ModelNotSupported, NotAvailable.
    """
    if not isinstance(target, LlamaCppBackend):
        raise ModelNotSupported(
            config.path, Translatable("a head in a GGUF file needs a target in one. Choose a GGUF file as the target.")
        )
    functions()
    log = prepare_library()
    log.clear()
    params = llama_cpp.llama_model_default_params()
    params.n_gpu_layers = gpu_layers(config)
    # Of a model's own file only what the head needs is ever touched: the rest stays where the file is mapped.
    params.load_mtp = head.method == MtpHead.method
    params.use_extra_bufts = False
    if not params.load_mtp:
        pack_weights(params, config)
    model = llama_cpp.llama_model_load_from_file(os.fsencode(config.path), params)
    if not model:
        raise LoadFailed(config.path, reason_of(config, log, Translatable("llama.cpp cannot read it")))
    if head.shared:
        target.truncate(0)  # A context that shares the cache empties it.
    try:
        context = _make_context(model, config, target, log, head)
    except LoadFailed:
        llama_cpp.llama_model_free(model)
        raise
    if head.method in ("dflash", "dspark"):
        return BlockHeadBackend(BlockHead(model, context, target, config.path.stem, head), target)
    if head.shared and target.hidden_states is not None:
        assistant = AssistantHead(model, context, target, config.path.stem, target.hidden_states.layers)
        return SharedCacheHeadBackend(assistant, target)
    kind = MtpHead if head.method == MtpHead.method else EagleHead
    return HeadBackend(kind(model, context, target, config.path.stem), target)


def _make_context(model: Any, config: LoadConfig, target: LlamaCppBackend, log: LibraryLog, head: DraftHead) -> Any:
    params = llama_cpp.llama_context_default_params()
    params.n_ctx = target.context_length
    params.n_batch = params.n_ubatch = BATCH
    params.n_threads = params.n_threads_batch = target.threads
    params.ctx_other = target.context
    params.no_perf = True
    if head.method == MtpHead.method:
        params.ctx_type = llama_cpp.LLAMA_CONTEXT_TYPE_MTP
    if head.shared and target.config is not None:
        choose_cache(llama_cpp.llama_get_model(target.context), params, target.config)
    elif llama_cpp.llama_model_ftype(model) == llama_cpp.LLAMA_FTYPE_ALL_F32:
        params.type_k = params.type_v = llama_cpp.GGML_TYPE_F32
        params.flash_attn_type = llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED
    return context_of(model, params, config, log)


def _rows(states: States) -> Iterator[Any]:
    """Yield each state as llama.cpp takes it, valid until the next one; `states` must be contiguous."""
    row = llama_cpp.llama_embd(None, 1, states.shape[1])
    place = ctypes.c_size_t.from_buffer(row)  # Its first field: a pointer object would cost more than the call.
    for index in range(len(states)):
        place.value = states.ctypes.data + index * states.shape[1] * states.itemsize
        yield row


def _free(batch: Any, context: Any, model: Any) -> None:
    llama_cpp.llama_batch_ext_free(batch)
    llama_cpp.llama_free(context)
    if model is not None:
        llama_cpp.llama_model_free(model)
