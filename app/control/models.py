"""Looks after the models: scans folders, judges pairs, loads ahead, remembers what was chosen."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QMetaMethod, QObject, Signal

import engine
from app.bridge.bridge import EngineBridge, Job, Ways
from app.control.folders import FolderDesk
from app.control.load_gate import LoadGate
from app.control.model_checks import CostDesk, judge
from app.control.problems import describe
from app.control.tasks import Tasks
from app.settings.model_choices import ModelMemory
from app.settings.settings import Settings
from app.state.chat.activity import Activity
from app.state.models.library import Library
from app.state.models.load_options import LoadChoice
from app.state.models.models import DraftKey, Loaded, Lookahead, ModelList, Selection
from app.state.models.names import file_label
from app.system.folder_watch import is_there
from app.system.translation import say_error
from app.words.models import announcement
from engine import Cancelled, EngineError, IncompatiblePair, LoadFailed, ModelTooLarge


class NothingChosen(EngineError):
    """A question was asked while no target is chosen."""


class ModelDesk(QObject):
    """The models of this run.

    Attributes: models (the state that the pickers show), library (the same as a table), settings.
    Signals: changed() (the pickers must be drawn again), failed(Problem), working() (something began), announce(words):
    a load waits, as it would not fit in memory, until `load_anyway` or `decline_load`; without words that is over.
    """

    changed = Signal()
    failed = Signal(object)
    working = Signal()
    announce = Signal(str)

    def __init__(
        self, loop: asyncio.AbstractEventLoop, bridge: EngineBridge, models: ModelList, settings: Settings
    ) -> None:
        super().__init__()
        self.models = models
        self.library = Library(models)
        self.settings = settings
        self._folders = FolderDesk(loop, bridge, models)
        self._folders.found.connect(self._found)
        self._folders.failed.connect(self.failed)
        self._folders.working.connect(self.working)
        self._gate = LoadGate(bridge, models)
        self._memory = ModelMemory(models, settings)
        self._bridge = bridge
        self._tasks = Tasks(loop)
        self._costs = CostDesk(bridge, models, self._tasks)
        self._costs.failed.connect(self.failed)
        self._costs.working.connect(self.working)
        self._loading: Job[Loaded] | None = None
        self._wanted, self._how = Loaded(), Ways()
        self._unloading: Job[Loaded] | None = None
        self._shared: Job[Loaded] | None = None
        self._wish: Selection | None = None
        self._opened: Path | None = None
        self._before = models.selection

    # Intents ----------------------------------------------------------------------------------------------------------

    def begin(self, folders: Sequence[Path] = ()) -> None:
        """After the first paint: look into the bundled files, load the chosen pair, scan the models folders."""
        # Before they are read: what is remembered meanwhile must not leave them out.
        self.models.folders = tuple(dict.fromkeys(folders))
        self._tasks.start(self._begin(folders))

    def wish(self, selection: Selection) -> None:
        """Before `begin`: what was chosen in the last run is not there at present.

        It is chosen when it is back, unless something else is chosen meanwhile.
        """
        self._wish = selection

    def open_model(self, path: Path) -> None:
        """Before `begin`: use this target, as the program was started with it, with the best draft that is there.

        It holds for this run: the next start is as before, unless a target is picked meanwhile. If it cannot be loaded,
        what was chosen before is chosen again.
        """
        self._opened, self._before, self._wish = path, self.models.selection, None
        self.models.choose(target=path)
        self.models.choose_drafting("automatic")

    def choose_target(self, path: Path) -> None:
        """Use this target from the next message on."""
        self._opened = self._wish = None
        self.models.choose(target=path)
        if self.models.selection.drafting == "automatic":
            self.models.choose_drafting("automatic")
        self._remember()
        self._tasks.start(self._judge(new_target=True))

    def choose_draft(self, draft: DraftKey) -> None:
        """Use this draft from the next message on, or "automatic", "ngram", or None for none."""
        self._wish = None
        if isinstance(draft, Path):
            self.models.choose(draft=draft)
        else:
            self.models.choose_drafting(draft or "none")
        self._remember()

    def choose_lookahead(self, lookahead: Lookahead) -> None:
        """Set how many tokens are proposed per round, from the next message on."""
        self.models.choose(lookahead=lookahead)
        self._remember()
        self._costs.begin()

    def add_folder(self, folder: Path) -> None:
        """Look for models there too, now and in later runs."""
        self._tasks.start(self._add(folder))

    def remove_folder(self, folder: Path) -> None:
        """Look there no more. What is loaded from there stays loaded."""
        self._folders.forget(folder)
        self._remember_folders()

    def scan_again(self) -> None:
        """Look again into the models folders."""
        for folder in self.models.folders:
            self._tasks.start(self._folders.scan(folder))

    def set_options(self, path: Path, options: LoadChoice) -> None:
        """Load this model so from the next message on, now and in later runs."""
        self._memory.keep_options(path, options)
        self._weigh()
        self.changed.emit()

    def cancel(self) -> None:
        """Stop a load, else a measurement, else the scans."""
        if self._loading is not None:
            self._loading.cancel()
        elif self._costs.measuring:
            self._costs.cancel()
        else:
            self._folders.cancel()

    def stop(self) -> None:
        """End everything that runs, for closing."""
        self._folders.stop()
        self._tasks.cancel()

    # Loading ----------------------------------------------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        """Return whether a load, a measurement or a scan is running."""
        loading = self._loading is not None and self._loading is not self._gate.held
        return loading or self._costs.measuring or self._folders.scanning is not None

    @property
    def settled(self) -> bool:
        """Return whether everything that was started here has finished."""
        return not self._tasks and self._folders.settled

    @property
    def is_loaded(self) -> bool:
        """Whether what is chosen is loaded, as far as anything is chosen."""
        chosen = self.models.selection
        how = Ways(self.models.options(chosen.target), self.models.options(chosen.draft))
        return chosen.target is None or self._bridge.has(Loaded(chosen.target, chosen.draft), how)

    def nothing_chosen(self) -> EngineError:
        """The error for a question without a target."""
        return NothingChosen(self.tr("No target is chosen. Choose one above, or add a folder with GGUF models."))

    def load(self, wanted: Loaded) -> Job[Loaded] | None:
        """A job that loads what is wanted (one that is running already, if it does so), or None if all is there.

        Whoever awaits it calls `load_ended` afterwards, whatever came of it. Where it would not fit in memory it waits
        for the user, who is asked by `announce`.
        """
        how = self._gate.ways(wanted)
        if self._loading is not None:
            if (self._wanted, self._how) == (wanted, how) and not self._loading.cancelled:
                self._shared = self._loading
                return self._loading
            self._loading.cancel()
            if self._gate.ended(self._loading):
                self.announce.emit("")
        elif self._unloading is None and self._bridge.has(wanted, how):
            return None
        self._wanted, self._how = wanted, how
        asked = self.isSignalConnected(QMetaMethod.fromSignal(self.announce))
        hold = asked and self._gate.shortage(wanted, how) is not None
        self._loading = self._gate.load(wanted, how, hold=hold)
        self._weigh()
        self.working.emit()
        return self._loading

    def load_now(self) -> None:
        """Load what is chosen, without waiting for the next message."""
        self._tasks.start(self._load_ahead())

    def load_anyway(self) -> None:
        """Try the load that was announced although memory seems too short."""
        self.announce.emit("")
        if not self._go_on(accepted=True) and self._gate.refused is not None:
            self.models.selection = self._gate.refused
            self._gate.accept_refused()
            self._tasks.start(self._load_ahead())
            self.changed.emit()

    def _go_on(self, *, accepted: bool) -> bool:
        how = self._gate.go_on(accepted=accepted)
        if how is not None:
            # So it is asked for from now on: who does that shares this load.
            self._how = how
            self.working.emit()
        return how is not None

    def _weigh(self) -> None:
        """Announce the load that is held, if there is one, or let it go on where it fits by now."""
        if self._gate.held is None:
            return
        self._how = self._gate.ways(self._wanted)
        shortage = self._gate.shortage(self._wanted, self._how)
        if shortage is None:
            self.announce.emit("")
            self._go_on(accepted=False)
        else:
            self.announce.emit(announcement([*map(self.name_of, shortage.paths)], shortage.needed, shortage.free))

    def decline_load(self) -> None:
        """Leave the load that was announced; what is loaded is chosen, if anything is."""
        self.announce.emit("")
        if self._gate.held is not None:
            self._gate.held.cancel()
            if self._bridge.loaded.target is not None and self._gate.is_chosen(self._wanted):
                self.models.show_loaded(self._bridge.loaded)
                self._remember()

    def unload(self) -> None:
        """Free the models, after the reply that is being written. The next message loads what is chosen again."""
        if self._loading is not None:
            self._loading.cancel()
        self._unloading = self._bridge.unload()
        self._tasks.start(self._wait_for_unload(self._unloading))

    async def _wait_for_unload(self, job: Job[Loaded]) -> None:
        with contextlib.suppress(Cancelled):
            await job.result
        if self._unloading is job:
            self._unloading = None
        self.note_memory()
        self.changed.emit()

    def load_ended(self, job: Job[Loaded]) -> None:
        """Take note of what is loaded now; after a failure the pickers show that, unless something else is chosen."""
        self.note_memory()
        if job is not self._loading:
            return
        self._loading = None
        if self._gate.ended(job):
            self.announce.emit("")
        error = None if job.result.cancelled() else job.result.exception()
        if error is not None and not isinstance(error, Cancelled):
            self._load_failed(error)
        self.changed.emit()

    def _load_failed(self, error: BaseException) -> None:
        if isinstance(error, ModelTooLarge):
            self._gate.refuse(self.models.selection, self._wanted)
            self.announce.emit(say_error(error))
        of_draft = isinstance(error, LoadFailed) and error.path == self._wanted.draft
        if isinstance(error, IncompatiblePair) or of_draft:
            self.models.refuse(self._wanted.draft)
        if self._opened is not None and self._bridge.loaded.target != self._opened == self._wanted.target:
            self._opened = None
            self.models.selection = self._before
            self._tasks.start(self._load_ahead())
        elif self._gate.is_chosen(self._wanted):
            if self._wish is None and isinstance(error, LoadFailed) and not is_there(error.path):
                self._wish = self.models.selection
            self.models.show_loaded(self._bridge.loaded)
            if self._bridge.loaded.target is not None and not isinstance(error, ModelTooLarge):
                self._remember()  # or the next start would fail with it too
        self._tasks.start(self._judge())

    def note_memory(self) -> None:
        """Look again at what is loaded and what memory is free."""
        self.models.loaded = self._bridge.loaded
        self.models.free = engine.available_memory()

    def activity(self) -> Activity:
        """Return the current activity."""
        if self._loading is not None and self._loading is self._gate.held:
            return Activity("asking", self.name_of(self._wanted.target), 0.0)
        if self._loading is not None:
            progress = self._bridge.progress
            if progress is None:
                return Activity("loading", self.name_of(self._wanted.target))
            path = self._wanted.target if progress.part == "target" else self._wanted.draft
            return Activity(progress.stage, self.name_of(path), progress.fraction)
        if self._bridge.measuring:
            return Activity("measuring")
        folder = self._folders.scanning
        if folder is not None:
            return Activity("scanning", folder.name or str(folder))
        return Activity()

    def name_of(self, path: Path | None) -> str:
        """Return the name of a model in the window; empty for none."""
        model = self.models.by_path(path)
        return model.name if model is not None else file_label(path) if path is not None else ""

    async def _begin(self, folders: Sequence[Path]) -> None:
        self.note_memory()
        self._memory.recall_options()
        if self.models.bundled is not None:
            try:
                look = await self._bridge.look(self.models.bundled[0].parent).result
                self.models.set_bundled(look.models)
            except EngineError as error:
                self.failed.emit(describe(error))
        for path in (self.models.selection.target, self.models.selection.draft):
            # What is chosen comes first, and what it takes is to be known before it is loaded.
            await self._folders.read_alone(path)
        self.changed.emit()
        self._tasks.start(self._load_ahead())
        scanned = [await self._folders.scan(folder, keep=True) for folder in folders]
        if not any(scanned):
            await self._judge()

    @property
    def affordable(self) -> Selection:
        """Return the choice as it is to be loaded now: automatic skips a draft that does not fit in memory."""
        return self._gate.spared(self.models.selection)

    async def _load_ahead(self) -> None:
        chosen = self.affordable
        if chosen.target is None:
            return
        job = self.load(Loaded(chosen.target, chosen.draft))
        if job is None:
            return
        try:
            await job.result
            self._costs.begin()
        except Cancelled:
            pass
        except Exception as error:  # noqa: BLE001 - whatever it is, it becomes a message in the window
            # A question that waits for the same load tells it itself.
            if job is not self._shared:
                self.failed.emit(describe(error))
        finally:
            self.load_ended(job)

    # Scanning and judging ---------------------------------------------------------------------------------------------

    async def _add(self, folder: Path) -> None:
        if await self._folders.scan(folder):
            self._remember_folders()

    def _found(self) -> None:
        """The list of models changed."""
        self.models.free = engine.available_memory()
        wish = self._wish
        if wish is not None and wish.target is not None and self.models.can_be_used(wish.target):
            self._wish = None
            if wish.draft is not None and not self.models.can_be_used(wish.draft):
                wish = replace(wish, draft=None, drafting="automatic")
            if self.models.loaded != Loaded(wish.target, wish.draft):
                self.models.selection = wish
                self._tasks.start(self._load_ahead())
        self._tasks.start(self._judge())

    async def _judge(self, *, new_target: bool = False) -> None:
        """Find out which drafts fit the chosen target; let go of a chosen one that does not."""
        self.changed.emit()
        await self._folders.read_alone(self.models.selection.target)
        target = self.models.by_path(self.models.selection.target)
        fits = {} if target is None else await judge(target, self.models.models)
        if target is not None and target.path != self.models.selection.target:
            return
        self.models.set_fits(fits)
        if self.models.let_go_of_unfit(new_target=new_target):
            self._remember()
        self.changed.emit()

    def _remember(self) -> None:
        if self._opened is None and self._wish is None:
            self._memory.keep_choice()
        self.settings.lookahead = self.models.selection.lookahead
        self.changed.emit()

    def _remember_folders(self) -> None:
        self._memory.keep_folders()
        self.changed.emit()
