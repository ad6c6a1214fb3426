"""Make a context of a loaded model of llama.cpp, with the settings that rows depend on least."""

from __future__ import annotations

from typing import Any

import llama_cpp

from engine.backends.llama_cpp.hidden import MOST_ROWS
from engine.backends.llama_cpp.library import STOCK_BUILD, LibraryLog, card_names, computes_alike, has_kernels
from engine.backends.llama_cpp.recurrent import snapshot_depth
from engine.backends.llama_cpp.trees import SEQUENCES
from engine.backends.llama_cpp.weights import gpu_layers, reason_of
from engine.config import MAX_LOOKAHEAD, LoadConfig
from engine.errors import LoadFailed
from engine.system.installation import gpu_library_installed
from engine.system.machine import default_threads
from engine.translatable import Translatable

DEFAULT_CONTEXT = 4096
_BATCH_CPU = 128
_BATCH_GPU = _BATCH_SEEING = 512
"""Some models read all of a picture at once, Gemma 3 its 256 tokens."""
_CACHE_TYPES = {
    "f16": llama_cpp.GGML_TYPE_F16,
    "q8_0": llama_cpp.GGML_TYPE_Q8_0,
    "q5_1": llama_cpp.GGML_TYPE_Q5_1,
    "q5_0": llama_cpp.GGML_TYPE_Q5_0,
    "q4_1": llama_cpp.GGML_TYPE_Q4_1,
    "q4_0": llama_cpp.GGML_TYPE_Q4_0,
    "iq4_nl": llama_cpp.GGML_TYPE_IQ4_NL,
}


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
