"""Control the models: scan folders, judge pairs, load ahead, store the selection."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from PySide6.QtCore import QMetaMethod, QObject, Signal

from app.bridge.bridge import EngineBridge, Job
from app.bridge.tasks import Tasks
from app.control.folder_pairs import best_of_folder
from app.control.folders import FolderController
from app.control.loading import Loader
from app.control.model_checks import CostController, judge
from app.control.problems import NothingChosen, describe
from app.settings.model_choices import ModelMemory
from app.settings.settings import Settings
from app.state.models.library import Library
from app.state.models.load_options import LoadChoice
from app.state.models.models import ModelList
from app.state.models.names import file_label, shown_name
from app.state.models.selection import DraftKey, Loaded, Lookahead, Selection
from app.state.models.targets import Server, Target
from app.system.folder_watch import is_there
from app.system.translation import say, say_error
from app.words.models import announcement
from engine import (
    Cancelled,
    EngineError,
    GenerationResult,
    IncompatiblePair,
    LoadFailed,
    ModelTooLarge,
    ServerFailed,
    host,
)


class ModelController(QObject):
    """Hold the models of this run.

    Attributes: models (the state that the pickers show), library (the same as a table), settings, loader,
    keep_elsewhere (stores the selection instead of the settings; None: the settings store it).
    Signals: list_changed() (of the models or their facts), selection_changed(), variables_changed() (of a model's chat
    template), loaded_changed() (a load has ended, or the models were unloaded), failed(Problem), working() (work
    begins), announce(words): a load too large for memory waits for `load_anyway` or `decline_load`; without words: the
    wait is over; folder_added(FolderPair): the pair found in a newly added folder.
    """

    list_changed = Signal()
    selection_changed = Signal()
    variables_changed = Signal()
    loaded_changed = Signal()
    failed = Signal(object)
    working = Signal()
    announce = Signal(str)
    folder_added = Signal(object)

    def __init__(
        self, loop: asyncio.AbstractEventLoop, bridge: EngineBridge, models: ModelList, settings: Settings
    ) -> None:
        super().__init__()
        self.list = models
        bridge.servers = models.servers
        self.library = Library(models)
        self.settings = settings
        self._folders = FolderController(loop, bridge, models, failed=self.failed.emit, working=self.working.emit)
        self._folders.found.connect(self._found)
        self.loader = Loader(bridge, models)
        self.loader.began.connect(self.working)
        self.loader.question_changed.connect(self._ask)
        self._memory = ModelMemory(models, settings)
        self._bridge = bridge
        self._tasks = Tasks(loop)
        self._costs = CostController(bridge, models, self._tasks, failed=self.failed.emit, working=self.working.emit)
        self._asked = 0  # How often a load was asked for or cancelled by hand.
        self._wish: Selection | None = None
        self._opened: Path | None = None
        self.keep_elsewhere: Callable[[Selection], None] | None = None
        self._before = self._announced = models.selection

    # Intents ----------------------------------------------------------------------------------------------------------

    def begin(self, folders: Sequence[Path] = ()) -> None:
        """Begin after the first paint: read the bundled files, load the chosen pair, scan the models folders."""
        # Before they are read: what is remembered meanwhile must not leave them out.
        self.list.folders = tuple(dict.fromkeys(folders))
        self._tasks.start(self._begin(folders))

    def wish(self, selection: Selection) -> None:
        """Remember, before `begin`, the choice of the last run, which is not there at present.

        It is chosen when it is back, unless something else is chosen meanwhile.
        """
        self._wish = selection

    def open_model(self, path: Path) -> None:
        """Open this target before `begin`, as the program was started with it, with the best draft that is there.

        It holds for this run: the next start is as before, unless a target is picked meanwhile. If it cannot be loaded,
        what was chosen before is chosen again.
        """
        self._opened, self._before, self._wish = path, self.list.selection, None
        self.list.choose(target=path)
        self.list.choose_drafting("automatic")
        self._tell_selection()

    def use(self, selection: Selection) -> None:
        """Choose a project's models, or those chosen before; the next message loads them."""
        selection = replace(selection, lookahead=self.list.selection.lookahead)
        before = self.list.selection
        if (selection.files, selection.drafting) != (before.files, before.drafting):
            self._costs.cancel()
            self.list.selection = replace(selection, own_method=False)
            self._tell_selection()
            self._tasks.start(self._judge())

    def choose_target(self, target: Target) -> None:
        """Use this target, and load it now, with the draft that was chosen for it last, or else one that fits.

        A reply that is being written comes first.
        """
        self._opened = self._wish = None
        self._costs.cancel()
        self.list.choose(target=target)
        before = self._memory.draft_of(target)
        if before is not None and before[0] == "model":
            self.list.choose(sources=before[1])
        elif before is not None or self.list.selection.drafting == "automatic" or isinstance(target, Server):
            self.list.choose_drafting("automatic" if before is None else before[0])
        self._remember()
        self._tasks.start(self._load_judged(target))

    async def _load_judged(self, target: Target) -> None:
        asked = self._asked
        await self._judge(new_target=True)
        if self.list.selection.target == target and self._asked == asked:  # Nothing else was chosen or asked meanwhile.
            await self._load_ahead()

    def choose_draft(self, draft: DraftKey) -> None:
        """Use this draft, and load it now, or "automatic", a method of MODEL_FREE, or None for none."""
        self._wish = None
        self._costs.cancel()
        if isinstance(draft, Path | tuple):
            self.list.choose(sources=(draft,) if isinstance(draft, Path) else draft)
        else:
            self.list.choose_drafting(draft or "none")
        self._remember()
        self._memory.keep_draft()
        self.load_now()

    def choose_lookahead(self, lookahead: Lookahead) -> None:
        """Set the number of tokens that are proposed per round, from the next message on."""
        self.list.choose(lookahead=lookahead)
        self._remember()
        self._costs.begin()

    def add_server(self, server: Server) -> None:
        """Offer a server as the target, now and in later runs, and use it."""
        others = (each for each in self.list.servers if each != server)
        self._set_servers((*others, server))
        self.choose_target(server)

    def remove_server(self, server: Server) -> None:
        """Remove a server; if it is the target, choose the models loaded here, or the bundled target."""
        self._set_servers(tuple(each for each in self.list.servers if each != server))
        local = self._bridge.local.target or (self.list.bundled or (None,))[0]
        if self.list.selection.target == server and local is not None:
            self.choose_target(local)

    def _set_servers(self, servers: tuple[Server, ...]) -> None:
        self.list.servers = self._bridge.servers = servers
        self._memory.keep_servers()
        self.list_changed.emit()

    def add_folder(self, folder: Path) -> None:
        self._tasks.start(self._add(folder))

    def remove_folder(self, folder: Path) -> None:
        """Remove a models folder. Models loaded from there stay loaded."""
        self._folders.forget(folder)
        self._remember_folders()

    def scan_again(self) -> None:
        for folder in self.list.folders:
            self._tasks.start(self._folders.scan(folder))

    def set_options(self, path: Path, options: LoadChoice) -> None:
        """Load this model so from the next message on, now and in later runs."""
        self._memory.keep_options(path, options)
        self.loader.weigh()
        self.list_changed.emit()

    def set_variables(self, path: Path, values: Mapping[str, Any]) -> None:
        """Set the variables of a model's chat template, from the next message on and in later runs."""
        others = {name: each for name, each in self.settings.template_variables.items() if name != str(path)}
        self.settings.template_variables = {**({str(path): dict(values)} if values else {}), **others}
        self.variables_changed.emit()

    def read_template(self, path: Path, own: str) -> Job[tuple[str, tuple[str, ...]]]:
        """Return the chat template of a model file, and the variables of `own`, or of the template if it is blank."""
        return self._bridge.read_template(path, own)

    def lengthen_context(self, tokens: int) -> None:
        """Load the chosen target with so many tokens of context from the next message on."""
        target = self.list.selection.target
        if isinstance(target, Path):
            self.set_options(target, replace(self.list.options(target), context=tokens))

    def note_speed(self, target: Target | None, result: GenerationResult | None) -> None:
        """Record a target's speed in a reply."""
        if result is not None and isinstance(target, Path):
            self._memory.note_speed(target, result.stats)

    def set_favourite(self, path: Path, on: bool) -> None:
        """Mark a model as a favourite, or no longer, now and in later runs."""
        self._memory.set_favourite(path, on=on)
        self.list_changed.emit()

    def cancel(self) -> None:
        """Stop a load, else a measurement, else the scans."""
        self._asked += 1
        if self.loader.job is not None:
            self.loader.cancel()
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
        """Return True if a load, a measurement or a scan is running."""
        return self.loader.state.stage == "loading" or self._costs.measuring or self._folders.scanning is not None

    @property
    def settled(self) -> bool:
        """Return True if everything that was started here has finished."""
        return not self._tasks and self._folders.settled

    @property
    def is_loaded(self) -> bool:
        """Return True if the chosen models are loaded, or nothing is chosen."""
        files = self.list.selection.files
        return files.target is None or self.loader.has(files)

    @property
    def target_is_loaded(self) -> bool:
        """Return True if the chosen target is loaded, with its current options."""
        files = self.list.selection.files
        answers = files.target is not None and files.target == self._bridge.loaded.target
        return answers and self._bridge.kept(files, self.loader.ways(files))[0]

    def nothing_chosen(self) -> EngineError:
        """Return the error for a question without a target."""
        return NothingChosen(self.tr("No target is chosen. Choose one above, or add a folder with GGUF models."))

    def load(self, wanted: Loaded) -> Job[Loaded] | None:
        """Return a job that loads the wanted models (the running one, if it does so), or None if all are loaded.

        If they do not fit in memory, the job waits for the user's answer to `announce`. The outcome is recorded before
        those who await the job continue.
        """
        self.loader.asks = self.isSignalConnected(QMetaMethod.fromSignal(self.announce))
        before, job = self.loader.job, self.loader.load(wanted)
        if job is not None and job is not before:
            job.result.add_done_callback(lambda _result: self._load_ended(job))
        return job

    def measure_costs(self) -> None:
        """Measure the costs of the loaded pair in the background, if unknown: a reply is over."""
        self._costs.begin()

    def load_now(self) -> None:
        """Load the chosen models, without waiting for the next message."""
        self._asked += 1
        self._tasks.start(self._load_ahead())

    def load_anyway(self) -> None:
        """Try the load that was announced although memory seems too short."""
        again = self.loader.accept()
        if again is not None:
            self.list.selection = again
            self._tasks.start(self._load_ahead())
            self._tell_selection()

    def decline_load(self) -> None:
        """Drop the announced load; the loaded models are selected, if there are any."""
        state, loaded = self.loader.state, self._bridge.loaded
        self.loader.dismiss()
        if state.stage == "asking" and loaded.target is not None and self._is_chosen(state.wanted):
            self.list.show_loaded(loaded)
            self._remember()

    def _ask(self) -> None:
        """Announce the load that waits for an answer, or withdraw the announcement."""
        state, words = self.loader.state, ""
        if state.stage == "asking" and (short := state.shortage) is not None:
            words = announcement([*map(self.name_of, short.paths)], short.needed, short.free)
        elif isinstance(state.error, ModelTooLarge):
            words = say_error(state.error)
        self.announce.emit(words)

    def _is_chosen(self, wanted: Loaded) -> bool:
        """Return True if this is still the current choice."""
        chosen = self.list.selection.files
        return chosen.target == wanted.target and all(path in chosen.sources for path in wanted.sources)

    def unload(self) -> None:
        """Free the models, after the reply that is being written. The next message loads the selection again."""
        self._tasks.start(self._wait_for_unload(self.loader.unload()))

    async def _wait_for_unload(self, job: Job[Loaded]) -> None:
        with contextlib.suppress(Cancelled):
            await job.result
        self.note_memory()
        self.loader.unloaded(job)
        self.loaded_changed.emit()

    def _load_ended(self, job: Job[Loaded]) -> None:
        """Process the end of a load; after a failure the loaded models are selected, unless the selection changed."""
        self.note_memory()
        self._memory.note_used(self._bridge.loaded)
        here = self._bridge.loaded
        host.note_used(path for path in (here.target, *here.sources) if isinstance(path, Path))
        state = self.loader.ended(job)
        if state is None:
            return
        if state.error is not None:
            self._load_failed(state.wanted, state.error)
        self._tell_selection()
        self.loaded_changed.emit()

    def _load_failed(self, wanted: Loaded, error: BaseException) -> None:
        refused = error.path if isinstance(error, LoadFailed) and error.path in wanted.sources else None
        if refused is not None or isinstance(error, IncompatiblePair):
            self.list.refuse(refused or next(reversed(wanted.sources), None))
        if self._opened is not None and self._bridge.loaded.target != self._opened == wanted.target:
            self._opened = None
            self.list.selection = self._before
            self._tasks.start(self._load_ahead())
        elif self._is_chosen(wanted) and not isinstance(error, ServerFailed):  # It may be back with the next message.
            if self._wish is None and isinstance(error, LoadFailed) and not is_there(error.path):
                self._wish = self.list.selection
            self.list.show_loaded(self._bridge.loaded)
            if self._bridge.loaded.target is not None and not isinstance(error, ModelTooLarge):
                self._remember()  # or the next start would fail with it too
        self._tasks.start(self._judge())

    def note_memory(self) -> None:
        """Update the loaded models and the free memory."""
        self.list.loaded = self._bridge.loaded
        self.list.free = host.available_memory()

    @property
    def scanning(self) -> Path | None:
        return self._folders.scanning

    def name_of(self, target: Target | None) -> str:
        """Return the name of a model or a server in the window; empty for none."""
        if target is None or isinstance(target, Server):
            return "" if target is None else target.name
        model = self.list.by_path(target)
        return say(file_label(target) if model is None else shown_name(model))

    def goes_by(self, target: Target | None, name: str) -> bool:
        """Return True if a model has this name, or had it before its file was read: replies written then keep it."""
        return name == self.name_of(target) or (isinstance(target, Path) and name == say(file_label(target)))

    def name_of_drafts(self, files: Loaded) -> str:
        """Return the names of the sources; empty for none."""
        return " + ".join(filter(None, map(self.name_of, files.sources)))

    async def _begin(self, folders: Sequence[Path]) -> None:
        self.note_memory()
        self._memory.recall()
        if self.list.bundled is not None:
            try:
                look = await self._bridge.look(self.list.bundled[0].parent).result
                self.list.set_bundled(look.models)
            except EngineError as error:
                self.failed.emit(describe(error))
        for path in (self.list.selection.target, *self.list.selection.sources):
            # What is chosen comes first, and what it takes is to be known before it is loaded.
            await self._folders.read_alone(path)
        self.list_changed.emit()
        self._tasks.start(self._load_ahead())
        scanned = [await self._folders.scan(folder, keep=True) for folder in folders]
        if not any(scanned):
            await self._judge()

    @property
    def selection_to_load(self) -> Selection:
        """Return the selection to load now: automatic skips a draft that does not fit in memory."""
        return self.loader.without_unaffordable_draft(self.list.selection)

    async def _load_ahead(self) -> None:
        chosen = self.selection_to_load
        if chosen.target is None or (job := self.load(chosen.files)) is None:
            return
        try:
            await job.result
            if not self.loader.is_shared(job):  # Behind the reply that waits for it, not before.
                self._costs.begin()
        except Cancelled:
            pass
        except Exception as error:  # noqa: BLE001 - whatever it is, it becomes a message in the window
            # A question that waits for the same load tells it itself.
            if not self.loader.is_shared(job):
                self.failed.emit(describe(error))

    # Scanning and judging ---------------------------------------------------------------------------------------------

    async def _add(self, folder: Path) -> None:
        if await self._folders.scan(folder):
            self._remember_folders()
            found = await best_of_folder(folder, self.list.models, host.available_memory())
            if found.target is not None and found.draft is not None:
                with contextlib.suppress(Cancelled, EngineError):
                    found = replace(found, speed=await self._bridge.expect(found.target, found.draft).result)
            self.folder_added.emit(found)

    def _found(self) -> None:
        """Follow a change in the list of models."""
        self.list.free = host.available_memory()
        wish = self._wish
        if wish is not None and wish.target is not None and self.list.can_be_used(wish.target):
            self._wish = None
            if not all(self.list.can_be_used(path) for path in wish.sources):
                wish = replace(wish, sources=(), drafting="automatic")
            if self.list.loaded != wish.files:
                self.list.selection = wish
                self._tell_selection()
                self._tasks.start(self._load_ahead())
        self.list_changed.emit()
        self._tasks.start(self._judge())

    async def _judge(self, *, new_target: bool = False) -> None:
        """Judge the drafts for the chosen target; deselect one that does not fit."""
        await self._folders.read_alone(self.list.selection.target)
        target = self.list.by_path(self.list.selection.target)
        fits = {} if target is None else await judge(target, self.list.models)
        if target is not None and target.path != self.list.selection.target:
            return
        self.list.set_fits(fits)
        if self.list.drop_unfit(new_target=new_target):
            self._remember()
        self.list_changed.emit()

    def _remember(self) -> None:
        if self.keep_elsewhere is not None:
            self.keep_elsewhere(self.list.selection)
        elif self._opened is None and self._wish is None:
            self._memory.keep_choice()
        self.settings.lookahead = self.list.selection.lookahead
        self._tell_selection()

    def _tell_selection(self) -> None:
        if self.list.selection != self._announced:
            self._announced = self.list.selection
            self.selection_changed.emit()

    def _remember_folders(self) -> None:
        self._memory.keep_folders()
        self.list_changed.emit()
