"""Names to lazily imported backends and drafters: nothing heavy is imported before it is needed."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

from engine.backends.base import Backend
from engine.cancel import CancelToken
from engine.config import LoadConfig
from engine.errors import ModelFileBroken, NotAvailable
from engine.probe import check_model_file

BACKENDS = {"llama.cpp": ("engine.backends.llama_cpp_backend", "LlamaCppBackend")}
LATER_METHODS = ("ngram", "medusa", "eagle2", "eagle3", "mtp")


def open_backend(
    config: LoadConfig,
    *,
    progress: Callable[[str, float], None] | None = None,
    cancel: CancelToken | None = None,
) -> Backend:
    """Check a model file and load it. `progress` is told the stage (checking, loading) and a fraction 0..1.

    Raises ModelFileBroken, ModelNotSupported, ModelTooLarge, LoadFailed, NotAvailable, Cancelled.
    """
    path = Path(config.path).expanduser()
    if path.is_dir() or path.suffix == ".safetensors":
        raise NotAvailable(
            "Loading safetensors models",
            "this version reads GGUF files; convert the model to GGUF.",
        )
    if not path.exists():
        raise ModelFileBroken(path, "there is no such file.")
    gpu_layers = 0 if config.device == "cpu" else config.gpu_layers
    config = replace(config, path=path, gpu_layers=gpu_layers)
    check_model_file(config, cancel=cancel, progress=_stage(progress, "checking"))
    module, name = BACKENDS["llama.cpp"]
    backend = getattr(importlib.import_module(module), name)
    return cast(Backend, backend.open(config, progress=_stage(progress, "loading"), cancel=cancel))


def _stage(progress: Callable[[str, float], None] | None, stage: str) -> Callable[[float], None] | None:
    return None if progress is None else lambda fraction: progress(stage, fraction)
