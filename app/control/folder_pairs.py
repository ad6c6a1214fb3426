"""Find the best pair of a folder: the largest target that memory carries together with a draft that fits it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from app.control.model_checks import judge
from engine import memory_needs, rank_drafts

if TYPE_CHECKING:
    from engine import ModelFile
    from engine.host import Forecast

_SHARE = 0.8
"""The share of free memory that a pair may take."""
_MOST_TARGETS = 6


@dataclass(frozen=True, slots=True)
class FolderPair:
    """Describe a folder's models: how many can be used, and the best pair, None if there is none.

    `expectation`: what to expect of the pair, in words; `speed`: in tokens a second, None if nothing was measured.
    """

    folder: Path
    count: int
    target: ModelFile | None = None
    draft: ModelFile | None = None
    expectation: str = ""
    speed: Forecast | None = None


async def best_of_folder(folder: Path, models: Sequence[ModelFile], free: int) -> FolderPair:
    """Judge a folder's models in slices that keep the window responsive."""
    inside = [model for model in models if model.role == "model" and model.usable and folder in model.path.parents]
    room = free * _SHARE
    targets = sorted((model for model in inside if _needs(model) < room), key=_size, reverse=True)
    for target in targets[:_MOST_TARGETS]:
        smaller = [model for model in inside if _size(model) < _size(target) and _needs(target) + _needs(model) < room]
        fits = await judge(target, smaller)
        fitting = [model for model in smaller if model.path in fits and fits[model.path].fits]
        ranked = rank_drafts(target, fitting)
        if ranked:
            draft, fit = ranked[0]
            return FolderPair(folder, len(inside), target, draft, fit.reason)
    return FolderPair(folder, len(inside))


def _size(model: ModelFile) -> tuple[int, int]:
    return model.parameters, model.size_bytes


def _needs(model: ModelFile) -> int:
    return memory_needs(model).in_memory
