"""Load the draft heads of a target: a file of their own, or layers inside the target's file."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from engine.backends.base import Backend
from engine.backends.heads import HeadBackend
from engine.cancel import CancelToken
from engine.config import LoadConfig
from engine.errors import BackendFailure, LoadFailed, ModelNotSupported, ModelTooLarge, NotAvailable
from engine.formats.draft_head import NORMED, DraftHead, covers, why_not_for
from engine.formats.gguf.heads import read_head
from engine.formats.gguf.parts import split_parts
from engine.formats.gguf.reader import read_gguf
from engine.formats.safetensors.heads import head_in_folder, is_head_folder, pickled_head
from engine.formats.safetensors.mtp import brings_mtp, read_mtp, tells_of_mtp
from engine.formats.safetensors.reader import PICKLED, model_folder
from engine.library.compat import vocabulary_of_backend
from engine.library.heads import find_heads_of, same_tokens
from engine.library.memory_needs import head_states
from engine.library.names import resolve_source
from engine.library.scan import known_model
from engine.loading.interrupts import load_apart
from engine.loading.source import Source
from engine.loading.trial import check_model_file
from engine.methods import AUTO, DraftMethod, find_method
from engine.options import load_config
from engine.system.files import expanded
from engine.system.installation import extra_advice
from engine.system.machine import available_memory
from engine.translatable import Translatable

_LLAMA_CPP = "engine.backends.llama_cpp.heads"
_MEDUSA_ON_LLAMA_CPP = "engine.backends.llama_cpp.graphs.medusa"
_EAGLE = "engine.backends.transformers.eagle"
_IN_FOLDERS = {
    "eagle2": _EAGLE,
    "eagle3": _EAGLE,
    "medusa": "engine.backends.transformers.medusa",
    "mtp": "engine.backends.transformers.mtp",
}


def open_heads(model: str | Path | LoadConfig, target: Backend, cancel: CancelToken) -> Source:
    """Return the loaded heads of a loaded target.

    Raises ModelFileBroken, ModelNotSupported (no heads, or those of another target), LoadFailed, NotAvailable,
    Cancelled.
    """
    config = given = model if isinstance(model, LoadConfig) else load_config(model, {})
    try:
        path = expanded(resolve_source(config.path))
        cancel.check("Loading the model")
        folder = model_folder(path) if path.is_dir() or path.suffix.lower() == ".safetensors" else None
        config = replace(config, path=folder or path)
        if path.is_file() and path.suffix.lower() in PICKLED:
            raise pickled_head(path)
        layers = 0 if target.hidden_states is None else target.hidden_states.layers
        head, whole = (_head_in_folder(folder, layers), False) if folder else _head_in_file(path)
    except OSError as error:
        raise LoadFailed(config.path, "it cannot be read ({error}).", error=error.strerror or error) from None
    states = target.hidden_states
    if states is None:
        raise _no_fit(path, target, Translatable("its hidden states cannot be read"))
    compiled = head.method == "medusa" and NORMED in states.readable
    if compiled:  # Then llama.cpp runs the target.
        head = replace(head, layers=(NORMED,))
    reason = why_not_for(head, states.readable, states.layers, states.width, states.shared)
    if reason is not None:
        raise _no_fit(path, target, reason)
    if whole:  # A model's own file, whose other tensors are loaded with it.
        check_model_file(replace(config, despite_memory=True), cancel=cancel)
    _check_memory(config, head, target, whole=whole)
    vocabulary = vocabulary_of_backend(target)
    if compiled and not covers(vocabulary, head.tokens):
        raise _no_fit(path, target, Translatable("it has another vocabulary"))
    module = _MEDUSA_ON_LLAMA_CPP if compiled else _IN_FOLDERS[head.method] if folder else _LLAMA_CPP
    opened = load_apart(
        lambda _progress, _token: cast(HeadBackend, _module(module).open_head(config, head, target)), None, cancel
    )
    if not compiled and not same_tokens(vocabulary, vocabulary_of_backend(opened)):
        opened.close()
        raise _no_fit(path, target, Translatable("it has another vocabulary"))
    return Source(cast(DraftMethod, find_method(opened.method)), opened, given)


def _check_memory(config: LoadConfig, head: DraftHead, target: Backend, *, whole: bool) -> None:
    """Raise ModelTooLarge where heads, and the states that they keep of the target, are more than memory has.

    `whole`: they are inside a model's file, which is mapped.
    """
    own = 0 if whole else sum(path.stat().st_size for path in _files(config.path))
    needed, free = own + head_states(head, target.context_length), available_memory()
    if needed > free and not config.despite_memory:
        raise ModelTooLarge(config.path, needed, free)


def _files(path: Path) -> list[Path]:
    return split_parts(path) if path.is_file() else list(path.glob("*.safetensors"))


def open_found_heads(
    config: LoadConfig, target: Backend, method: str, cancel: CancelToken
) -> tuple[Source | None, tuple[str, ...]]:
    """Return the first fitting heads of those inside a target or beside it; or None, and the reasons against them.

    `config`: how the target was loaded. `method`: the heads are for this draft method, "auto": for any.
    Raises Cancelled.
    """
    reasons: list[str] = []
    for path in find_heads_of(config.path):
        try:
            heads = open_heads(replace(config, path=path), target, cancel)
        except (LoadFailed, NotAvailable, BackendFailure) as error:
            reasons.append(str(error))
            continue
        if method in (AUTO, heads.method.name):
            return heads, ()
        if heads.model is not None:
            heads.model.close()
    return None, tuple(reasons)


def _head_in_folder(folder: Path, layers: int) -> DraftHead:
    """Return the head that a folder is, or the MTP layers inside a target's."""
    inside = not is_head_folder(folder) and (brings_mtp(folder) or tells_of_mtp(folder))
    return read_mtp(folder).head if inside else head_in_folder(folder, layers)


def _head_in_file(path: Path) -> tuple[DraftHead, bool]:
    """Return the head, and True if it is inside the file of a whole model."""
    known = known_model(path)
    if known.head is not None:
        return known.head, known.role == "model"
    headers = [read_gguf(part) for part in split_parts(path)]  # It says why there is none that can be used.
    return read_head(headers[0], headers[1:]), known.role == "model"


def _module(name: str) -> Any:
    """Return the module that opens heads. Raises NotAvailable if its libraries are not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise NotAvailable(Translatable("Loading safetensors models"), extra_advice()) from None


def _no_fit(path: Path, target: Backend, reason: str) -> ModelNotSupported:
    return ModelNotSupported(
        path,
        "it is not a head for {target}: {reason}. Choose a head that was trained for this target.",
        target=target.name,
        reason=reason,
    )
