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
from engine.errors import BackendFailure, LoadFailed, ModelNotSupported, NotAvailable
from engine.formats.draft_head import DraftHead, why_not_for
from engine.formats.gguf.heads import is_mtp_file, read_head
from engine.formats.gguf.parts import split_parts
from engine.formats.gguf.reader import read_gguf
from engine.formats.safetensors.heads import head_in_folder, pickled_head
from engine.formats.safetensors.reader import PICKLED, model_folder
from engine.library.compat import vocabulary_of_backend
from engine.library.heads import heads_near, same_tokens
from engine.library.names import resolve_source
from engine.loading.trial import check_model_file
from engine.methods import AUTO
from engine.options import load_config
from engine.system.files import expanded
from engine.system.installation import extra_advice
from engine.translatable import Translatable

_LLAMA_CPP = "engine.backends.llama_cpp.heads"
_IN_FOLDERS = {"eagle3": "engine.backends.transformers.eagle", "medusa": "engine.backends.transformers.medusa"}


def open_heads(model: str | Path | LoadConfig, target: Backend, cancel: CancelToken) -> HeadBackend:
    """Return the loaded heads of a loaded target.

    Raises ModelFileBroken, ModelNotSupported (no heads, or those of another target), LoadFailed, NotAvailable,
    Cancelled.
    """
    config = model if isinstance(model, LoadConfig) else load_config(model, {})
    try:
        path = expanded(resolve_source(config.path))
        cancel.check("Loading the model")
        folder = model_folder(path) if path.is_dir() or path.suffix.lower() == ".safetensors" else None
        config = replace(config, path=folder or path)
        if path.is_file() and path.suffix.lower() in PICKLED:
            raise pickled_head(path)
        layers = 0 if target.hidden_states is None else target.hidden_states.layers
        head, whole = (head_in_folder(folder, layers), False) if folder else _head_in_file(path)
    except OSError as error:
        raise LoadFailed(
            config.path, Translatable("it cannot be read ({error}).", error=error.strerror or error)
        ) from None
    states = target.hidden_states
    if states is None:
        raise _no_fit(path, target, Translatable("its hidden states cannot be read"))
    reason = why_not_for(head, states.readable, states.layers, states.width)
    if reason is not None:
        raise _no_fit(path, target, reason)
    if whole:  # A model's own file, whose other tensors are loaded with it.
        check_model_file(replace(config, despite_memory=True), cancel=cancel)
    opened = cast(
        HeadBackend, _module(_IN_FOLDERS[head.method] if folder else _LLAMA_CPP).open_head(config, head, target)
    )
    if not same_tokens(vocabulary_of_backend(target), vocabulary_of_backend(opened)):
        opened.close()
        raise _no_fit(path, target, Translatable("it has another vocabulary"))
    return opened


def open_found_heads(
    config: LoadConfig, target: Backend, method: str, cancel: CancelToken
) -> tuple[HeadBackend | None, tuple[str, ...]]:
    """Return the first heads that fit of those inside a target or beside it; or None, and why the others do not.

    `config`: how the target was loaded. `method`: the heads are for this draft method, "auto": for any.
    Raises Cancelled.
    """
    reasons: list[str] = []
    for path in heads_near(config.path):
        try:
            heads = open_heads(replace(config, path=path), target, cancel)
        except (LoadFailed, NotAvailable, BackendFailure) as error:
            reasons.append(str(error))
            continue
        if method in (AUTO, heads.method):
            return heads, ()
        heads.close()
    return None, tuple(reasons)


def _head_in_file(path: Path) -> tuple[DraftHead, bool]:
    """Return the head, and whether it is inside the file of a whole model."""
    headers = [read_gguf(part) for part in split_parts(path)]
    head = read_head(headers[0], headers[1:])
    return head, head.method == "mtp" and not is_mtp_file(headers[0])


def _module(name: str) -> Any:
    """Return the module that opens heads. Raises NotAvailable where its libraries are not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise NotAvailable(Translatable("Loading safetensors models"), extra_advice()) from None


def _no_fit(path: Path, target: Backend, reason: str) -> ModelNotSupported:
    return ModelNotSupported(
        path,
        Translatable(
            "it is not a head for {target}: {reason}. Choose a head that was trained for this target.",
            target=target.name,
            reason=reason,
        ),
    )
