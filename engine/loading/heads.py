"""Load the draft heads of a target: a file of their own, or layers inside the target's file."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path
from typing import cast

from engine.backends.base import Backend
from engine.backends.heads import HeadBackend
from engine.cancel import CancelToken
from engine.config import LoadConfig
from engine.errors import LoadFailed, ModelNotSupported
from engine.formats.draft_head import why_not_for
from engine.formats.gguf.heads import read_head
from engine.formats.gguf.parts import split_parts
from engine.formats.gguf.reader import read_gguf
from engine.library.compat import vocabulary_of_backend
from engine.library.heads import same_tokens
from engine.library.names import resolve_source
from engine.loading.trial import check_model_file
from engine.options import load_config
from engine.system.files import expanded
from engine.translatable import Translatable

_LLAMA_CPP = "engine.backends.llama_cpp.heads"


def open_heads(model: str | Path | LoadConfig, target: Backend, cancel: CancelToken) -> HeadBackend:
    """Return the loaded heads of a loaded target.

    Raises ModelFileBroken, ModelNotSupported (no heads, or those of another target), LoadFailed,
    Cancelled.
    """
    config = model if isinstance(model, LoadConfig) else load_config(model, {})
    try:
        path = expanded(resolve_source(config.path))
        cancel.check("Loading the model")
        if path.is_dir() or path.suffix.lower() == ".safetensors":
            raise ModelNotSupported(path, Translatable("heads can only be loaded from GGUF files yet."))
        config = replace(config, path=path)
        headers = [read_gguf(part) for part in split_parts(path)]
        head = read_head(headers[0], headers[1:])
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
    if head.method == "mtp":  # A model's own file, whose other tensors are loaded with it.
        check_model_file(replace(config, despite_memory=True), cancel=cancel)
    opened = cast(HeadBackend, importlib.import_module(_LLAMA_CPP).open_head(config, head, target))
    if not same_tokens(vocabulary_of_backend(target), vocabulary_of_backend(opened)):
        opened.close()
        raise _no_fit(path, target, Translatable("it has another vocabulary"))
    return opened


def _no_fit(path: Path, target: Backend, reason: str) -> ModelNotSupported:
    return ModelNotSupported(
        path,
        Translatable(
            "it is not a head for {target}: {reason}. Choose a head that was trained for this target.",
            target=target.name,
            reason=reason,
        ),
    )
