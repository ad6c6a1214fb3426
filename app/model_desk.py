"""Looks after the models: scans folders, judges pairs, loads ahead, remembers what was chosen."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from app.bridge import EngineBridge, Job
from app.error_report import describe
from app.settings import Settings
from app.state.activity import Activity
from app.state.models import Loaded, Lookahead, ModelList, file_label
from engine import Cancelled, EngineError


class NothingChosen(EngineError):
    """A question was asked while no target is chosen."""


class ModelDesk(QObject):
    """The models of this run.

    Attributes: models (the state that the pickers show), settings.
    Signals: changed() (the pickers must be drawn again), failed(Problem), working() (something began).
    """

    changed = Signal()
    failed = Signal(object)
    working = Signal()

    def __init__(
        self, loop: asyncio.AbstractEventLoop, bridge: EngineBridge, models: ModelList, settings: Settings
    ) -> None:
        super().__init__()
        self.models = models
        self.settings = settings
        self._loop = loop
        self._bridge = bridge
        self._tasks: set[asyncio.Task[None]] = set()
        self._loading: Job[Loaded] | None = None
        self._wanted = Loaded()
        self._shared: Job[Loaded] | None = None
        self._scanning: Job[Any] | None = None
        self._measuring: Job[None] | None = None
        self._scanned_folder: Path | None = None
        self._opened: Path | None = None
        self._before = models.selection

    # Intents ----------------------------------------------------------------------------------------------------------

    def begin(self, folder: Path | None) -> None:
        """After the first paint: look into the bundled files, load the chosen pair, scan the models folder."""
        self._start(self._begin(folder))

    def open_model(self, path: Path) -> None:
        """Before `begin`: use this target, without a draft, as the program was started with it.

        It holds for this run: the next start is as before, unless a target is picked meanwhile. If it cannot be loaded,
        what was chosen before is chosen again.
        """
        self._opened, self._before = path, self.models.selection
        self.models.choose(target=path)
        self.models.choose_no_draft()

    def choose_target(self, path: Path) -> None:
        """Use this target from the next message on."""
        self._opened = None
        self.models.choose(target=path)
        if self.models.bundled and path == self.models.bundled[0] and self.models.selection.draft is None:
            self.models.choose(draft=self.models.bundled[1])
        self._remember()
        self._start(self._judge(new_target=True))

    def choose_draft(self, path: Path | None) -> None:
        """Use this draft, or none, from the next message on."""
        if path is None:
            self.models.choose_no_draft()
        else:
            self.models.choose(draft=path)
        self._remember()

    def choose_lookahead(self, lookahead: Lookahead) -> None:
        """Propose so many tokens a round from the next message on."""
        self.models.choose(lookahead=lookahead)
        self._remember()
        self._measure_ahead()

    def choose_folder(self, folder: Path) -> None:
        """Look for models there, now and in later runs."""
        self._start(self._scan(folder))

    def scan_again(self) -> None:
        """Look again into the models folder."""
        if self.models.folder is not None:
            self._start(self._scan(self.models.folder))

    def cancel(self) -> None:
        """Stop a load, else a measurement, else a scan."""
        if self._loading is not None:
            self._loading.cancel()
        elif self._measuring is not None:
            self._measuring.cancel()
        elif self._scanning is not None:
            self._scanning.cancel()

    def stop(self) -> None:
        """End everything that runs, for closing."""
        for task in self._tasks:
            task.cancel()

    # Loading ----------------------------------------------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        """Whether a load, a measurement or a scan is running."""
        return any(job is not None for job in (self._loading, self._measuring, self._scanning))

    @property
    def settled(self) -> bool:
        """Whether everything that was begun here is over."""
        return not self._tasks

    def nothing_chosen(self) -> EngineError:
        """The error for a question without a target."""
        return NothingChosen(self.tr("No target is chosen. Choose one above, or a folder with GGUF models."))

    def load(self, wanted: Loaded) -> Job[Loaded] | None:
        """A job that loads what is wanted (one that is running already, if it does so), or None if all is there.

        Whoever awaits it calls `load_ended` afterwards, whatever came of it.
        """
        if self._loading is not None:
            if self._wanted == wanted and not self._loading.cancelled:
                self._shared = self._loading
                return self._loading
            self._loading.cancel()
        elif self._bridge.loaded == wanted:
            return None
        self._wanted = wanted
        self._loading = self._bridge.load(wanted.target, wanted.draft)
        self.working.emit()
        return self._loading

    def load_ended(self, job: Job[Loaded]) -> None:
        """Take note of what is loaded now; after a failure the pickers show just that."""
        self.models.loaded = self._bridge.loaded
        if job is not self._loading:
            return
        self._loading = None
        error = None if job.result.cancelled() else job.result.exception()
        if error is not None and not isinstance(error, Cancelled):
            if self._opened is not None and self._bridge.loaded.target != self._opened == self._wanted.target:
                self._opened = None
                self.models.selection = self._before
                self._start(self._load_ahead())
            else:
                self.models.show_loaded(self._bridge.loaded)
            self._start(self._judge())
        self.changed.emit()

    def activity(self) -> Activity:
        """What is going on here."""
        if self._loading is not None:
            progress = self._bridge.progress
            if progress is None:
                return Activity("loading", self.name_of(self._wanted.target))
            path = self._wanted.target if progress.part == "target" else self._wanted.draft
            return Activity(progress.stage, self.name_of(path), progress.fraction)
        if self._bridge.measuring:
            return Activity("measuring")
        if self._scanning is not None and self._scanned_folder is not None:
            return Activity("scanning", self._scanned_folder.name or str(self._scanned_folder))
        return Activity()

    def name_of(self, path: Path | None) -> str:
        """What a model is called in the window; empty for none."""
        model = self.models.by_path(path)
        return model.name if model is not None else file_label(path) if path is not None else ""

    async def _begin(self, folder: Path | None) -> None:
        if self.models.bundled is not None:
            try:
                self.models.set_bundled(await self._bridge.scan(self.models.bundled[0].parent).result)
            except EngineError as error:
                self.failed.emit(describe(error))
        self.changed.emit()
        self._start(self._load_ahead())
        if folder is not None:
            await self._scan(folder)
        else:
            await self._judge()

    async def _load_ahead(self) -> None:
        chosen = self.models.selection
        if chosen.target is None:
            return
        job = self.load(Loaded(chosen.target, chosen.draft))
        if job is None:
            return
        try:
            await job.result
            self._measure_ahead()
        except Cancelled:
            pass
        except Exception as error:  # noqa: BLE001 - whatever it is, it becomes a message in the window
            # A question that waits for the same load tells it itself.
            if job is not self._shared:
                self.failed.emit(describe(error))
        finally:
            self.load_ended(job)

    def _measure_ahead(self) -> None:
        """Find out what the pair costs before a reply asks for it, if one will."""
        wanted = self.models.selection.lookahead == "auto" and self._bridge.loaded.target is not None
        if wanted and self._measuring is None:
            self._start(self._measure())

    async def _measure(self) -> None:
        job = self._measuring = self._bridge.measure()
        self.working.emit()
        try:
            await job.result
        except Cancelled:
            pass
        except Exception as error:  # noqa: BLE001 - whatever it is, it becomes a message in the window
            self.failed.emit(describe(error))
        finally:
            self._measuring = None

    # Scanning and judging ---------------------------------------------------------------------------------------------

    async def _scan(self, folder: Path) -> None:
        if self._scanning is not None:
            self._scanning.cancel()
        job = self._scanning = self._bridge.scan(folder)
        self._scanned_folder = folder
        self.working.emit()
        try:
            found = await job.result
        except Cancelled:
            return
        except Exception as error:  # noqa: BLE001 - whatever it is, it becomes a message in the window
            self.failed.emit(describe(error))
            return
        finally:
            if self._scanning is job:
                self._scanning = None
        self.models.set_found(folder, found)
        self._remember()
        await self._judge()

    async def _judge(self, *, new_target: bool = False) -> None:
        """Find out which drafts fit the chosen target; let go of a chosen one that does not.

        With a new target, one that fits only through text is let go too: that is slower, and for a person to choose.
        """
        self.changed.emit()
        target = self.models.by_path(self.models.selection.target)
        fits = {} if target is None else await self._bridge.judge(target, self.models.models)
        if target is not None and target.path != self.models.selection.target:
            return
        self.models.set_fits(fits)
        draft = self.models.selection.draft
        fit = fits.get(draft) if draft is not None else None
        if fit is not None and not (fit.fits if new_target else fit.usable):
            self.models.choose_no_draft()
            self._remember()
        self.changed.emit()

    def _remember(self) -> None:
        chosen, bundled = self.models.selection, self.models.bundled
        own = bundled or (None, None)
        if self._opened is None:
            self.settings.target = "" if chosen.target in (None, own[0]) else str(chosen.target)
            self.settings.draft = None if chosen.draft == own[1] else str(chosen.draft or "")
        self.settings.lookahead = chosen.lookahead
        self.settings.models_folder = str(self.models.folder or self.settings.models_folder)
        self.changed.emit()

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
