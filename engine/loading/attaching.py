"""What it takes to attach a model to a decoder: it is opened, and what is to be said of the pair is found out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal, cast

from engine.backends.base import Backend
from engine.cancel import CancelToken
from engine.config import LoadConfig
from engine.errors import Cancelled, LoadFailed
from engine.events import LoadProgress
from engine.library.compat import Fit
from engine.library.names import resolve_source
from engine.loading.open import open_backend
from engine.translatable import Phrase

ModelSource = str | Path | LoadConfig | Backend


def open_model(
    model: ModelSource,
    part: Literal["target", "draft"],
    progress: Callable[[LoadProgress], None] | None,
    cancel: CancelToken,
) -> tuple[Backend, LoadConfig | None]:
    """The loaded model, and how it was loaded; None for a backend that was given loaded.

    Raises LoadFailed and its kinds, Cancelled; `cancel` can then be used again.
    """
    if isinstance(model, Backend):
        return model, None
    config = model if isinstance(model, LoadConfig) else LoadConfig(Path(model))

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
        reason = Phrase("it cannot be read ({error}).", error=error.strerror or error)
        raise LoadFailed(config.path, reason) from None


def pair_notes(target: Backend, draft: Backend, fit: Fit) -> tuple[str, ...]:
    """What a person should know of a pair that is loaded: sentences, mostly none."""
    notes: list[str] = []
    if fit.through_text:
        notes.append(fit.reason)
    if draft.weight_bytes >= target.weight_bytes > 0:
        notes.append(
            f"The draft {draft.name} is not smaller than the target {target.name}: "
            "expect no speedup. Choose a smaller draft."
        )
    return tuple(notes)
