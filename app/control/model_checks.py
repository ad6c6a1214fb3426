"""Examine models ahead: the drafts that fit a target, and the costs of the loaded pair."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import engine

if TYPE_CHECKING:
    from engine import Fit, ModelFile


from app.bridge.bridge import EngineBridge, Job
from app.bridge.tasks import Tasks
from app.control.problems import describe
from app.state.chat.transcript import Problem
from app.state.models.models import ModelList
from engine import Cancelled


class CostController:
    """Measure costs ahead. Errors are passed to `failed`, the begin to `working`."""

    def __init__(
        self,
        bridge: EngineBridge,
        models: ModelList,
        tasks: Tasks,
        *,
        failed: Callable[[Problem], None],
        working: Callable[[], None],
    ) -> None:
        self._failed = failed
        self._working = working
        self._bridge = bridge
        self._models = models
        self._tasks = tasks
        self._job: Job[None] | None = None

    @property
    def measuring(self) -> bool:
        """Return True if a measurement is under way, or waits for its turn."""
        return self._job is not None

    def begin(self) -> None:
        """Measure, if a reply would want to know and nothing is being measured."""
        wanted = self._models.selection.lookahead == "auto" and self._bridge.loaded.target is not None
        if wanted and self._job is None:
            self._tasks.start(self._measure())

    def cancel(self) -> None:
        if self._job is not None:
            self._job.cancel()

    async def _measure(self) -> None:
        job = self._job = self._bridge.measure()
        self._working()
        try:
            await job.result
        except Cancelled:
            pass
        except Exception as error:  # noqa: BLE001 - whatever it is, it becomes a message in the window
            self._failed(describe(error))
        finally:
            self._job = None


_SLICE_S = 0.005


async def judge(target: ModelFile, drafts: Sequence[ModelFile]) -> Mapping[Path, Fit]:
    """Judge every usable draft, in slices that keep the window responsive."""
    fits: dict[Path, Fit] = {}
    began = perf_counter()
    for draft in drafts:
        if draft.can_draft and draft.size_bytes and target.vocabulary is not None:
            fits[draft.path] = engine.judge_pair(target, draft)
        if perf_counter() - began > _SLICE_S:
            await asyncio.sleep(0)
            began = perf_counter()
    return fits
