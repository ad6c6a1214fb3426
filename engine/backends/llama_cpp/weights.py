"""Load the weights of a GGUF file with llama.cpp, before anything that replies need is imported."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import llama_cpp

from engine.backends.llama_cpp.library import LibraryLog, card_names, computes_alike, packs_weights, prepare_library
from engine.cancel import CancelToken
from engine.config import LoadConfig
from engine.errors import Cancelled, EngineError, LoadFailed, ModelNotSupported
from engine.formats.gguf.parts import split_parts, tells_of_mtp
from engine.system.machine import available_memory, tells_of_no_memory
from engine.translatable import Translatable

_SHARE_OF_MEMORY = 0.9
_ALL_LAYERS = 999
"""More than any model has."""


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
    found: dict[str, int] = {}
    if tells_of_mtp(config.path):
        from engine.formats.gguf.mtp_entries import entries_to_load  # noqa: PLC0415 - most files need none

        found = entries_to_load(config.path)
    entries = _overrides(found)
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
        from engine.backends.llama_cpp.machines import machine_devices  # noqa: PLC0415 - where others compute

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


def gpu_layers(config: LoadConfig) -> int:
    """Return the number of layers that are computed on graphics cards or other machines."""
    if not config.rpc and not card_names():
        return 0
    return _ALL_LAYERS if config.gpu_layers in (None, -1) else min(int(config.gpu_layers or 0), _ALL_LAYERS)


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


# Early --------------------------------------------------------------------------------------------------------------


class _EarlyWeights:
    """Read the weights of a file on a thread of its own, as a load for the processor does."""

    LOOK_S = 0.02

    def __init__(self, path: Path, *, packed: bool) -> None:
        self._model: Any = None
        self._fraction, self._cancel, self._log = 0.0, CancelToken(), prepare_library()
        self._thread = threading.Thread(target=self._read, args=(LoadConfig(path), packed), name="outrider-weights")
        self._thread.start()

    def _read(self, config: LoadConfig, packed: bool) -> None:
        with suppress(EngineError, OSError):  # Whoever loads the file then says so.
            self._model = load_model(config, self._log, self._note, self._cancel, packed=packed)

    def _note(self, fraction: float) -> None:
        self._fraction = fraction

    def take(self, progress: Callable[[float], None] | None = None, cancel: CancelToken | None = None) -> Any:
        """Wait for the weights, and give them away; None if they could not be read."""
        while self._thread.is_alive():
            if cancel is not None and cancel.cancelled:
                self._cancel.cancel()
            elif progress is not None:
                progress(self._fraction)
            self._thread.join(self.LOOK_S)
        model, self._model = self._model, None
        return model

    def drop(self) -> None:
        self._cancel.cancel()
        if model := self.take():
            llama_cpp.llama_model_free(model)


_early: dict[Path, _EarlyWeights] = {}


def read_early(path: Path, *, packed: bool = True) -> None:
    """Begin to read the weights of a file, where nothing but the processor will compute with them."""
    prepare_library()
    if path not in _early and not card_names():
        _early[path] = _EarlyWeights(path, packed=packed)


def take_early(
    config: LoadConfig, progress: Callable[[float], None] | None = None, cancel: CancelToken | None = None
) -> Any:
    """Return the weights that were read early for this configuration; None if there are none. Raises Cancelled."""
    early = _early.pop(config.path.absolute(), None)
    if early is None:
        return None
    if gpu_layers(config) or config.in_memory:
        early.drop()
        return None
    model = early.take(progress, cancel)
    if cancel is not None and cancel.cancelled:
        if model:
            llama_cpp.llama_model_free(model)
        raise Cancelled(Translatable("Loading the model"))
    return model


def drop_early() -> None:
    """Free all that were read early and that nobody took."""
    while _early:
        _early.popitem()[1].drop()
