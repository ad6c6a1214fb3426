"""Judges which drafts fit a target. It needs no model, only what a scan found out about them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import engine

if TYPE_CHECKING:
    from engine import Fit, ModelFile

_SLICE_S = 0.005


async def judge(target: ModelFile, drafts: Sequence[ModelFile]) -> Mapping[Path, Fit]:
    """Judge every usable draft, in slices that keep the window responsive."""
    fits: dict[Path, Fit] = {}
    began = perf_counter()
    for draft in drafts:
        if draft.usable and draft.size_bytes and target.vocabulary is not None:
            fits[draft.path] = engine.judge_pair(target, draft)
        if perf_counter() - began > _SLICE_S:
            await asyncio.sleep(0)
            began = perf_counter()
    return fits
