"""Make a model and a context of llama.cpp from a GGUF file, with the settings that rows depend on least."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Mapping
from typing import Any

import llama_cpp

from engine.backends.llama_cpp.hidden import MOST_ROWS
from engine.backends.llama_cpp.library import (
    STOCK_BUILD,
    LibraryLog,
    card_names,
    computes_alike,
    has_kernels,
    packs_weights,
)
from engine.backends.llama_cpp.machines import machine_devices
from engine.backends.llama_cpp.recurrent import snapshot_depth
from engine.backends.llama_cpp.trees import SEQUENCES
from engine.cancel import CancelToken
from engine.config import MAX_LOOKAHEAD, LoadConfig
from engine.errors import Cancelled, LoadFailed, ModelNotSupported
from engine.formats.gguf.mtp_entries import entries_to_load
from engine.formats.gguf.parts import split_parts
from engine.system.installation import gpu_library_installed
from engine.system.machine import available_memory, default_threads, tells_of_no_memory
from engine.translatable import Translatable

DEFAULT_CONTEXT = 4096
_BATCH_CPU = 128
_BATCH_GPU = _BATCH_SEEING = 512
"""Some models read all of a picture at once, Gemma 3 its 256 tokens."""
_SHARE_OF_MEMORY = 0.9
_ALL_LAYERS = 999
"""More than any model has."""
_CACHE_TYPES = {
    "f16": llama_cpp.GGML_TYPE_F16,
    "q8_0": llama_cpp.GGML_TYPE_Q8_0,
    "q5_1": llama_cpp.GGML_TYPE_Q5_1,
    "q5_0": llama_cpp.GGML_TYPE_Q5_0,
    "q4_1": llama_cpp.GGML_TYPE_Q4_1,
    "q4_0": llama_cpp.GGML_TYPE_Q4_0,
    "iq4_nl": llama_cpp.GGML_TYPE_IQ4_NL,
}


def load_model(
    config: LoadConfig,
    log: LibraryLog,
    progress: Callable[[float], None] | None,
    cancel: CancelToken | None,
    *,
    packed: bool = True,
) -> Any:
    """Load the weights of a model that writes text. Raises LoadFailed, ModelNotSupported, Cancelled."""
    model = load_weights(config, log, progress, cancel, packed=packed)
    if not llama_cpp.llama_model_has_decoder(model) or llama_cpp.llama_model_has_encoder(model):
        llama_cpp.llama_model_free(model)
        raise ModelNotSupported(
            config.path, Translatable("it does not generate text token by token. Choose a chat or text model.")
        )
    return model


def load_weights(
    config: LoadConfig,
    log: LibraryLog,
    progress: Callable[[float], None] | None,
    cancel: CancelToken | None,
    *,
    packed: bool = True,
) -> Any:
    """Load the weights of any model, packed for our kernels or as in the file. Raises LoadFailed, Cancelled."""
    params = llama_cpp.llama_model_default_params()
    params.n_gpu_layers = gpu_layers(config)
    if not packed or not pack_weights(params, config):
        params.use_extra_bufts = not computes_alike()
    devices = _devices(config)  # Named, so that it is not freed.
    if devices is not None:
        params.devices = ctypes.cast(devices, ctypes.c_void_p)
    entries = _overrides(entries_to_load(config.path))
    params.kv_overrides = entries
    if config.in_memory and not config.rpc and _fits_in_memory(config):
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
        raise LoadFailed(config.path, reason_of(config, log, Translatable("llama.cpp cannot read it")))
    return model


def _devices(config: LoadConfig) -> Any:
    """Return the devices of a model beside the processor; None is llama.cpp's choice. Raises LoadFailed.

    A model without layers on a card must not know of it: llama.cpp would compute forwards of 32 tokens and more on the
    card, whose rows differ, and read the weights into the card's host memory, where our kernels cannot pack them.
    """
    if config.rpc:
        return machine_devices(config)
    return None if gpu_layers(config) else (ctypes.c_void_p * 1)(None)


def pack_weights(params: Any, config: LoadConfig) -> bool:
    """Let our kernels pack the weights, if they do so and memory has room for them; return True if they will.

    The file is then read: mapped it would stay in memory beside them. Where the kernels are at work without packing,
    buffers for AMX and the like must not take the weights either, whose products are not ours.
    """
    packs = packs_weights() and not gpu_layers(config) and _fits_in_memory(config)
    params.use_extra_bufts = packs
    if packs:
        params.load_mode = llama_cpp.LLAMA_LOAD_MODE_NONE
    return packs


def _overrides(entries: Mapping[str, int]) -> Any:
    """Return header entries as llama.cpp takes them: behind the last one stands one without a name."""
    found = (llama_cpp.llama_model_kv_override * (len(entries) + 1))()
    for place, (name, number) in zip(found, entries.items(), strict=False):
        place.tag, place.key, place.value.val_i64 = llama_cpp.LLAMA_KV_OVERRIDE_TYPE_INT, name.encode(), number
    return found


def load_vocabulary(config: LoadConfig, log: LibraryLog) -> Any:
    """Load a model without its weights, for its tokenizer. Raises LoadFailed."""
    params = llama_cpp.llama_model_default_params()
    params.vocab_only = True
    log.clear()
    model = llama_cpp.llama_model_load_from_file(os.fsencode(config.path), params)
    if not model:
        raise LoadFailed(config.path, reason_of(config, log, Translatable("llama.cpp cannot read it")))
    return model


def _fits_in_memory(config: LoadConfig) -> bool:
    """Return True if the weights, read instead of mapped, leave some memory for the rest."""
    try:
        size = sum(part.stat().st_size for part in split_parts(config.path))
    except (OSError, LoadFailed):
        return False
    return _SHARE_OF_MEMORY * available_memory() > size


def make_context(model: Any, config: LoadConfig, log: LibraryLog, streams: int = 1) -> tuple[Any, int, int]:
    """Return the context, its length in tokens, and its batch size. Raises LoadFailed.

    `streams`: texts that it holds, each with so many tokens and apart from the others.
    """
    trained = int(llama_cpp.llama_model_n_ctx_train(model)) or DEFAULT_CONTEXT
    context_length = min(config.context_length or DEFAULT_CONTEXT, trained)
    threads = config.threads or default_threads(int(llama_cpp.llama_model_size(model)))
    batch_size = _BATCH_GPU if gpu_layers(config) else _BATCH_SEEING if config.projector else _BATCH_CPU
    params = llama_cpp.llama_context_default_params()
    params.n_ctx = context_length
    params.n_batch = params.n_ubatch = min(batch_size, max(context_length, MAX_LOOKAHEAD + 1))
    params.n_outputs_max = MOST_ROWS if streams == 1 else streams * (MAX_LOOKAHEAD + 1)
    params.n_rs_seq = snapshot_depth(model, min(int(params.n_batch), context_length))
    params.n_threads = params.n_threads_batch = threads
    params.swa_full = True
    params.no_perf = True
    if streams > 1:
        params.n_seq_max, params.n_ctx = streams, streams * (context_length + MAX_LOOKAHEAD + 1)
        params.n_batch = params.n_ubatch = max(int(params.n_batch), int(params.n_outputs_max))
    elif not llama_cpp.llama_model_is_recurrent(model) and not llama_cpp.llama_model_is_hybrid(model):
        params.n_seq_max, params.kv_unified = SEQUENCES, True
    choose_cache(model, params, config)
    log.clear()
    context = context_of(model, params, config, log)
    return context, context_length, int(params.n_batch)


def context_of(model: Any, params: Any, config: LoadConfig, log: LibraryLog) -> Any:
    """Return a new context of a model. Raises LoadFailed."""
    context = llama_cpp.llama_init_from_model(model, params)
    if not context:
        raise LoadFailed(
            config.path,
            reason_of(
                config, log, Translatable("llama.cpp cannot create a context for it; there may not be enough memory")
            ),
        )
    return context


def choose_cache(model: Any, params: Any, config: LoadConfig) -> None:
    """Set the number formats of a context's cache; a context that shares the cache must have the same."""
    if config.cache_type is not None:
        params.type_k = params.type_v = _CACHE_TYPES[config.cache_type]
    if not gpu_layers(config):
        _make_rows_alike(model, params, config)


def _make_rows_alike(model: Any, params: Any, config: LoadConfig) -> None:
    """Choose the settings under which a row of logits depends least on the number of tokens fed with it.

    With weights in float32 a float16 cache rounds last bits up to differences of 0.01 in the logits (measured; 0.00001
    with a float32 cache and without flash attention, which turns it into float16). Where llama_cpp/kernels are not at
    work there is more to do: llama.cpp's own flash attention shares a long cache among threads for a token alone and
    not for several; the logits differ by up to 0.7 (measured, from 300 tokens of context on), so it is left out. A
    quantised cache can only be read by flash attention: llama_cpp/kernels' gives the same rows then too, llama.cpp's
    nearly does.
    """
    if config.cache_type not in (None, "f16"):
        return
    float32 = config.cache_type is None and llama_cpp.llama_model_ftype(model) == llama_cpp.LLAMA_FTYPE_ALL_F32
    if float32:
        params.type_k = params.type_v = llama_cpp.GGML_TYPE_F32
    if float32 or not computes_alike():
        params.flash_attn_type = llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED


def gpu_layers(config: LoadConfig) -> int:
    """Return the number of layers that are computed on graphics cards or other machines."""
    if not config.rpc and not card_names():
        return 0
    return _ALL_LAYERS if config.gpu_layers in (None, -1) else min(int(config.gpu_layers or 0), _ALL_LAYERS)


def device_name(config: LoadConfig) -> str:
    """Name the device of a model: "cpu", or the names of graphics cards or machines."""
    return "+".join(config.rpc or card_names()) if gpu_layers(config) else "cpu"


def notes_on(model: Any, config: LoadConfig) -> tuple[str, ...]:
    """Return notes on the load: options that do nothing here, a slow build."""
    name, notes = config.path.stem, []
    wants_gpu = config.gpu_layers not in (None, 0) or (config.device or "").startswith(("cuda", "mps"))
    if wants_gpu and not gpu_library_installed():
        notes.append(f"This llama.cpp was compiled without GPU support: {name} runs on the processor.")
    elif wants_gpu and not card_names():
        notes.append(
            f"llama.cpp finds no graphics card that it can use: {name} runs on the processor. Install the driver of "
            "the card."
        )
    trained = int(llama_cpp.llama_model_n_ctx_train(model)) or DEFAULT_CONTEXT
    if config.context_length is not None and config.context_length > trained:
        notes.append(
            f"{name} was trained with a context of {trained} tokens: it is loaded with these, not with "
            f"{config.context_length}."
        )
    if config.dtype not in (None, "auto"):
        notes.append(f"The number format {config.dtype} is for safetensors models: {name} keeps that of its file.")
    if not gpu_layers(config) and not has_kernels():
        notes.append(STOCK_BUILD)
    return tuple(notes)


def reason_of(config: LoadConfig, log: LibraryLog, otherwise: str) -> str:
    """Return llama.cpp's reason for refusing, in its own words where it said any."""
    detail = log.error
    if detail and gpu_layers(config) and tells_of_no_memory(detail):
        return Translatable(
            "the memory of the graphics card is too small for it ({detail}). Give it fewer layers (GPU layers), or "
            "choose a shorter context or a smaller model.",
            detail=detail,
        )
    return (
        Translatable("{what} ({detail}).", what=otherwise, detail=detail)
        if detail
        else Translatable("{what}.", what=otherwise)
    )
