"""Manage the models folders: scan them, watch them, notice lost and returned ones."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.bridge.bridge import EngineBridge, FolderListing, Job
from app.bridge.tasks import Tasks
from app.control.problems import describe
from app.state.chat.transcript import Problem
from app.state.models.models import ModelList
from app.state.models.targets import Server, Target
from app.system.folder_watch import FolderWatch
from app.system.translation import say
from engine import Cancelled, EngineError, FolderUnreadable


class FolderController(QObject):
    """Hold the models folders of this run.

    Errors go to `failed`, the start of a scan to `working`. Signal: found() (the list of models changed).
    """

    found = Signal()

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        bridge: EngineBridge,
        models: ModelList,
        *,
        failed: Callable[[Problem], None],
        working: Callable[[], None],
    ) -> None:
        super().__init__()
        self._failed = failed
        self._working = working
        self._bridge = bridge
        self._models = models
        self._jobs: dict[Path, Job[FolderListing]] = {}
        self._quiet: dict[Path, bool] = {}
        self._tasks = Tasks(loop)
        self._watch = FolderWatch(self)
        self._watch.changed.connect(self._stirred)

    @property
    def scanning(self) -> Path | None:
        return next(iter(self._jobs), None)

    @property
    def settled(self) -> bool:
        """Return True if everything that was started here has finished."""
        return not self._tasks

    def cancel(self) -> None:
        """Stop the scans."""
        for job in list(self._jobs.values()):
            job.cancel()

    def stop(self) -> None:
        """End everything, for closing."""
        self._watch.stop()
        self._tasks.cancel()

    def forget(self, folder: Path) -> None:
        job = self._jobs.pop(folder, None)
        if job is not None:
            job.cancel()
        self._watch.forget(folder)
        self._models.forget_folder(folder)
        self.found.emit()

    async def scan(self, folder: Path, *, keep: bool = False, quietly: bool = False) -> bool:
        """Scan a folder and watch it from now on. False if that failed.

        `keep`: a folder that is not there stays among the models folders, and is read when it comes back. `quietly`:
        it was not asked for, and no progress is shown.
        """
        before = self._jobs.get(folder)
        if before is not None and not quietly:
            before.cancel()
        job = self._bridge.look(folder)
        if not quietly:
            self._jobs[folder] = job
            self._working()
        try:
            look = await job.result
        except Cancelled:
            return False
        except FolderUnreadable as error:
            keep = keep or folder in self._models.folders
            if keep or not quietly:
                self._lost(folder, error, keep=keep)
            return False
        except Exception as error:  # noqa: BLE001 - whatever it is, it becomes a message in the window
            self._failed(describe(error))
            return False
        finally:
            if self._jobs.get(folder) is job:
                del self._jobs[folder]
        if job.cancelled or (quietly and folder not in self._models.folders):
            return False
        self._watch.watch(folder, look.folders, look.files, fresh=look.fresh)
        if self._models.set_found(folder, look.models):
            self.found.emit()
        return True

    async def read_alone(self, path: Target | None) -> None:
        """Read a model outside the models folders. Its problems are reported when it is loaded."""
        if path is None or isinstance(path, Server) or self._models.by_path(path) is not None:
            return
        with contextlib.suppress(Cancelled, EngineError):
            self._models.set_alone(await self._bridge.inspect(path).result)

    def note_loss(self, folder: Path, reason: str) -> bool:
        """Mark a folder as missing; return True if that is news."""
        if folder in self._models.away:
            return False
        self._models.set_away(folder)
        self._watch.watch(folder)
        self.found.emit()
        return True

    def _lost(self, folder: Path, error: FolderUnreadable, *, keep: bool) -> None:
        if not keep:
            self._failed(describe(error))
        elif self.note_loss(folder, error.reason):
            text = self.tr(
                "The model folder {folder} is currently not available ({reason}). Loaded models keep working. "
                "Outrider reads the folder again as soon as it is back."
            )
            self._failed(Problem(text.format(folder=folder, reason=say(error.reason)), None, "choose-folder"))

    def _stirred(self, folder: Path) -> None:
        if folder in self._quiet:
            self._quiet[folder] = True
        elif folder in self._models.folders:
            self._quiet[folder] = True
            self._tasks.start(self._scan_quietly(folder))

    async def _scan_quietly(self, folder: Path) -> None:
        """Scan once for all earlier changes, though the scan may have to wait for the end of a long reply."""
        try:
            while self._quiet[folder] and folder in self._models.folders:
                self._quiet[folder] = False
                await self.scan(folder, quietly=True)
        finally:
            del self._quiet[folder]
