"""Describe a loaded model and its settings in facts that change only when the model or a setting does."""

from __future__ import annotations

from pathlib import Path

from engine.backends.base import Backend
from engine.config import LoadConfig
from engine.formats.files import list_files, stamp_files
from engine.system.machine import describe_machine
from engine.system.processor import library_stamp


def describe_loaded(backend: Backend, config: LoadConfig | None) -> list[object] | None:
    """Identify a loaded model: plain values whose `repr` can be compared.

    None if it has no configuration (it was handed over as an object), or its files have gone.
    """
    if config is None:
        return None
    try:
        stamps = stamp_files(Path(config.path))
    except OSError:
        return None
    settings = config.threads, config.gpu_layers, config.dtype, config.cache_type
    return [settings, backend.context_length, backend.device, backend.own_kernels, stamps, library_stamp()]


def describe_cache(backend: Backend, config: LoadConfig | None) -> str | None:
    """Identify the content of a model's cache among those of other models for the same text.

    That is the files, how they were loaded, the library, this program, and the processor: its kernels round.
    None as of `describe_loaded`.
    """
    loaded = describe_loaded(backend, config)
    if loaded is None or config is None:
        return None
    try:
        changed = [(status.st_ino, status.st_ctime_ns) for status in map(Path.stat, list_files(Path(config.path)))]
    except OSError:
        return None
    machine = describe_machine()
    return repr([loaded, changed, *(machine[name] for name in ("processor", "libraries", "outrider"))])
