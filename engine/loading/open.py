"""Open a backend from a name. Backends are imported lazily: nothing heavy is loaded before it is needed."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Protocol, cast

from engine.backends.base import Backend, Embedder
from engine.backends.invariance import note_row_difference
from engine.cancel import CancelToken
from engine.config import LoadConfig
from engine.errors import (
    BackendFailure,
    Cancelled,
    LoadFailed,
    ModelFileBroken,
    ModelNotSupported,
    NotAvailable,
)
from engine.events import LoadProgress
from engine.formats.safetensors.reader import model_folder
from engine.library.names import resolve_source
from engine.library.projectors import check_projector, projector_beside
from engine.library.scan import known_model
from engine.loading.interrupts import Progress, load_apart
from engine.loading.trial import (
    Checked,
    check_model_file,
    check_model_header,
    check_template,
    checked_file,
    library_missing,
    needs_of,
)
from engine.options import load_config
from engine.system.files import expanded
from engine.system.forked import check_not_forked, note_loaded
from engine.system.installation import extra_advice
from engine.system.machine import available_memory
from engine.system.processor import check_processor
from engine.translatable import Translatable

ModelSource = str | Path | LoadConfig | Backend
_SHARE_OF_MEMORY = 0.8
BACKENDS = {
    "llama.cpp": ("engine.backends.llama_cpp.backend", "LlamaCppBackend"),
    "transformers": ("engine.backends.transformers.backend", "TransformersBackend"),
    "machines": ("engine.backends.llama_cpp.apart", "ApartBackend"),
}
_NEEDED_NEXT = {
    *("engine.generation.loop", "engine.generation.planner"),
    *("engine.drafting.draft_model", "engine.drafting.ngram", "engine.drafting.translated"),
}
_EXTRA = {"torch", "transformers", "safetensors", "tokenizers"}


class _Opens(Protocol):
    """Define the opening of a concrete backend."""

    @classmethod
    def open(
        cls,
        config: LoadConfig,
        *,
        progress: Callable[[float], None] | None = None,
        cancel: CancelToken | None = None,
        **known: Any,
    ) -> Backend:
        """Load a model."""


def open_model(
    model: ModelSource,
    part: Literal["target", "draft"],
    progress: Callable[[LoadProgress], None] | None,
    cancel: CancelToken,
) -> tuple[Backend, LoadConfig | None]:
    """Return the loaded model, and its configuration; None for a backend that was given loaded.

    Raises LoadFailed and its kinds, Cancelled; `cancel` can then be used again.
    """
    if isinstance(model, Backend):
        return model, None
    config = model if isinstance(model, LoadConfig) else load_config(model, {})

    def report(stage: str, fraction: float) -> None:
        if progress is not None:
            progress(LoadProgress(part, cast(Literal["checking", "loading"], stage), fraction))

    try:
        config = replace(config, path=resolve_source(config.path, part))
        return open_backend(config, progress=report, cancel=cancel), config
    except Cancelled:
        cancel.clear()
        raise
    except OSError as error:  # A file or a disk that goes away in the middle of it.
        reason = Translatable("it cannot be read ({error}).", error=error.strerror or error)
        raise LoadFailed(config.path, reason) from None


def open_backend(
    config: LoadConfig,
    *,
    progress: Callable[[str, float], None] | None = None,
    cancel: CancelToken | None = None,
) -> Backend:
    """Check a model file and load it. `progress` receives the stage (checking, loading) and a fraction 0..1.

    Raises ModelFileBroken, ModelNotSupported, ModelTooLarge, LoadFailed, NotAvailable, Cancelled.
    """
    path = expanded(config.path)
    if not path.exists():
        raise ModelFileBroken(path, Translatable("there is no such file."))
    if path.is_dir() or path.suffix.lower() == ".safetensors":
        folder = model_folder(path)
        if folder is None:
            raise ModelNotSupported(path, Translatable("its folder has no config.json, which describes the model."))
        if config.rpc:
            raise ModelNotSupported(path, Translatable("only GGUF models can be computed on other machines."))
        if config.projector is not None:
            raise ModelNotSupported(path, Translatable("only GGUF models see with a projector (mmproj)."))
        config = _with_room(replace(config, path=folder))
        return _open("transformers", config, progress, cancel)
    gpu_layers = 0 if config.device == "cpu" else config.gpu_layers
    chosen = config.context_length is not None
    config = _with_room(replace(config, path=path, gpu_layers=gpu_layers))
    check_processor()
    if config.rpc:  # It runs in a child process anyway, and its weights need not fit here.
        check_model_header(config.path)
        return _open("machines", config, progress, cancel)
    if config.projector is not None:
        check_projector(config.projector)
    found = projector_beside(path) if config.projector is None else None

    def load(how: LoadConfig) -> Backend:
        checked = checked_file(how, cancel=cancel, progress=_stage(progress, "checking"))
        return _open("llama.cpp", how, progress, cancel, checked)

    try:
        backend = load(replace(config, projector=config.projector or found))
    except LoadFailed as error:
        if found is None:
            raise
        backend = load(config)  # It may be the projector's fault.
        said = Translatable("{name} does not see: with {file} it cannot be loaded.", name=backend.name, file=found.name)
        backend.notes = (*backend.notes, f"{said} {error}")
    backend.context_grows = not chosen
    return backend


def _with_room(config: LoadConfig) -> LoadConfig:
    """Return a configuration with the context that the model is loaded with where nobody asks for another."""
    if config.context_length is None:
        with suppress(LoadFailed, OSError):  # What is wrong with a file is said where it is checked.
            config = replace(config, context_length=known_model(config.path).context_held())
    return config


def may_load_together(target: ModelSource, draft: ModelSource) -> bool:
    """Return True if both may be loaded at the same time: sound GGUF files that leave memory to spare.

    Others are loaded one after the other: each load is then checked against the memory left by the one before.
    """
    needed = 0
    models: tuple[tuple[ModelSource, Literal["target", "draft"]], ...] = ((target, "target"), (draft, "draft"))
    for model, part in models:
        if isinstance(model, Backend):
            return False
        config = model if isinstance(model, LoadConfig) else load_config(model, {})
        try:
            path = expanded(resolve_source(config.path, part))
            if config.rpc or config.despite_memory or path.suffix.lower() != ".gguf":
                return False
            needed += needs_of(check_model_header(path), config).in_memory
        except (LoadFailed, OSError):
            return False
    return needed < _SHARE_OF_MEMORY * available_memory()


def open_embedder(config: LoadConfig, *, cancel: CancelToken | None = None) -> Embedder:
    """Check an embedding model and load it. Raises ModelFileBroken, ModelNotSupported, LoadFailed, Cancelled."""
    config = replace(config, path=resolve_source(config.path))
    if config.path.suffix.lower() != ".gguf":
        raise ModelNotSupported(config.path, Translatable("embedding models are GGUF files here."))
    check_processor()
    check_model_file(config, cancel=cancel, embeds=True)

    def load(_progress: Progress | None, token: CancelToken) -> Embedder:
        _backend("llama.cpp")
        module = importlib.import_module("engine.backends.llama_cpp.embedding")
        return cast(Embedder, module.LlamaCppEmbedder.open(config, cancel=token))

    return load_apart(load, None, cancel)


_LOADED = 0.97
"""The share of a load that the library below tells of; behind it come the cache and a first forward."""


def _open(
    name: str,
    config: LoadConfig,
    progress: Callable[[str, float], None] | None,
    cancel: CancelToken | None,
    checked: AbstractContextManager[Checked] | None = None,
) -> Backend:
    """Load a model with its backend. `checked`: within, its steps are waited for; after it, it may write replies."""
    check_not_forked()
    note_loaded()
    report = _stage(progress, "loading")
    most = None if report is None else lambda fraction: report(_LOADED * fraction)
    with ExitStack() as failed:
        with checked or nullcontext() as trial:
            if trial is not None:
                trial.wait("begun")

            def load(report_part: Progress | None, token: CancelToken) -> Backend:
                known: dict[str, Any] = {}
                if trial is not None:
                    known = {"vocabulary": trial.model.vocabulary, "read": lambda: trial.wait("loaded", token)}
                return _backend(name).open(config, progress=report_part, cancel=token, **known)

            with _importing_the_rest(BACKENDS[name][0]):
                if trial is not None:
                    trial.wait("read")
                backend = load_apart(load, most, cancel)
            failed.callback(backend.close)
            if trial is not None:
                trial.wait("computed")
            try:
                note_row_difference(backend, config, cancel)
            except BackendFailure as error:
                raise LoadFailed(config.path, str(error)) from error
            if trial is not None and trial.tried:
                check_template(backend, config.path, cancel)
        failed.pop_all()
    if report is not None:
        report(1.0)
    return backend


@contextmanager
def _importing_the_rest(backend: str) -> Iterator[None]:
    """Import a backend and the modules of the first reply on another thread meanwhile.

    Another process, or a library without the interpreter, is at work then.
    """
    needed = _NEEDED_NEXT | {backend}
    if sys.modules.keys() >= needed:
        yield
        return

    def import_all() -> None:
        with suppress(ImportError, RuntimeError, OSError):  # Of a backend; who needs it says so.
            for module in (backend, *_NEEDED_NEXT):
                importlib.import_module(module)

    thread = threading.Thread(target=import_all, name="outrider-import")
    thread.start()
    try:
        yield
    finally:
        thread.join()


def _backend(name: str) -> type[_Opens]:
    """Return the class of a backend, imported now. Raises NotAvailable if its libraries are not installed."""
    module, class_name = BACKENDS[name]
    try:
        return cast("type[_Opens]", getattr(importlib.import_module(module), class_name))
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in _EXTRA:
            raise
        raise NotAvailable(Translatable("Loading safetensors models"), extra_advice()) from None
    except (RuntimeError, OSError) as error:  # Of llama-cpp-python, where a library that libllama needs is missing.
        if name == "transformers":
            raise
        raise library_missing(str(error)) from None


def _stage(progress: Callable[[str, float], None] | None, stage: str) -> Callable[[float], None] | None:
    return None if progress is None else lambda fraction: progress(stage, fraction)
