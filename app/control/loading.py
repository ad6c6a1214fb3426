"""Load models, one load at a time, in explicit states; ask first where memory seems too short."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.bridge.bridge import EngineBridge, Job, LoadWay
from app.state.models.load_state import LoadState, Shortage
from app.state.models.models import ModelList
from app.state.models.selection import Loaded, Selection
from engine import Cancelled, ModelTooLarge, host


class Loader(QObject):
    """Take a load from one state to the next.

        idle, failed, loaded --load--> asking | loading
        asking --accept, weigh--> loading
        asking, loading --cancel, another load, the end of the job--> idle | failed | loaded
        failed (too large) --accept--> may be loaded all the same

    Attributes: state; job (the running load, or None); asks (True if a user is there to be asked).
    Signals: began() (a load was passed to the engine, or waits for an answer), question_changed() (the question to the
    user changed or was withdrawn: see `state`).
    """

    began = Signal()
    question_changed = Signal()

    def __init__(self, bridge: EngineBridge, models: ModelList) -> None:
        super().__init__()
        self.state = LoadState()
        self.asks = False
        self._bridge = bridge
        self._models = models
        self._how = LoadWay()
        self.job: Job[Loaded] | None = None
        self._shared: Job[Loaded] | None = None
        self._unloading: Job[Loaded] | None = None
        self._chosen = models.selection
        self._accepted: set[tuple[Loaded, LoadWay]] = set()

    # What is known ----------------------------------------------------------------------------------------------------

    def has(self, wanted: Loaded) -> bool:
        """Return True if exactly this is loaded, with its current options."""
        return self._bridge.has(wanted, self.ways(wanted))

    def is_shared(self, job: Job[Loaded]) -> bool:
        """Return True if somebody else waits for this load too."""
        return job is self._shared

    def ways(self, wanted: Loaded) -> LoadWay:
        files = [path for path in (wanted.target, *wanted.sources) if isinstance(path, Path)]
        plain = LoadWay(tuple((path, self._models.options(path)) for path in files))
        return replace(plain, despite_memory=(wanted, plain) in self._accepted)

    def shortage(self, wanted: Loaded) -> Shortage | None:
        """Return the part of a load that needs more memory than is free, or None if all fits.

        None also where nothing is known of the models, and where the user wants it all the same. What is loaded stays
        until the other is there, so its memory is not free.
        """
        how = self.ways(wanted)
        if how.despite_memory:
            return None
        paths: list[Path] = []
        needed = 0
        for path, there in zip((wanted.target, *wanted.sources), self._bridge.kept(wanted, how), strict=True):
            model = None if there else self._models.by_path(path)
            fits = model is not None and model.can_draft
            if model is not None and fits and model.size_bytes:
                paths.append(model.path)
                needed += self._models.needs(model).in_memory
        if not paths:
            return None
        free = self._models.free = host.available_memory()
        return Shortage(tuple(paths), needed, free) if needed > free else None

    def without_unaffordable_draft(self, chosen: Selection) -> Selection:
        """Return the choice, without automatic sources that do not fit in memory; the first one stays if it does."""
        if chosen.drafting != "automatic" or not chosen.sources or self.shortage(chosen.files) is None:
            return chosen
        alone = replace(chosen, sources=chosen.sources[:1])
        fits = alone != chosen and self.shortage(alone.files) is None
        return alone if fits else replace(chosen, sources=())

    # From one state to the next ---------------------------------------------------------------------------------------

    def load(self, wanted: Loaded) -> Job[Loaded] | None:
        """Return a job that loads the wanted models (the running one, if it does so); None if all are loaded.

        Where it would not fit in memory it waits for the user.
        """
        how = self.ways(wanted)
        if self.job is not None:
            if (self.state.wanted, self._how) == (wanted, how) and not self.job.cancelled:
                self._shared = self.job
                return self.job
            self.job.cancel()
        elif self._unloading is None and self._bridge.has(wanted, how):
            return None
        shortage = self.shortage(wanted) if self.asks else None
        self.job = self._bridge.load(wanted, how, hold=shortage is not None)
        self._how = how
        self._enter(LoadState("loading" if shortage is None else "asking", wanted, shortage))
        self.began.emit()
        return self.job

    def accept(self) -> Selection | None:
        """Load despite a shortage of memory. Return the selection to load again, if that had failed."""
        state = self.state
        if state.stage == "asking":
            self._accept(state.wanted)
            self._continue()
        elif state.refused is not None:
            self._accept(state.wanted)
            self._rest()
            return state.refused
        return None

    def weigh(self) -> None:
        """Ask again with current figures, or continue the load if it fits now: its options were changed."""
        if self.state.stage != "asking":
            return
        self._how = self.ways(self.state.wanted)
        shortage = self.shortage(self.state.wanted)
        if shortage is None:
            self._continue()
        else:
            self._enter(replace(self.state, shortage=shortage))

    def cancel(self) -> None:
        """Cancel the running load. Its waiters get an error."""
        if self.job is not None:
            self.job.cancel()

    def dismiss(self) -> None:
        """Ask no more: a load that waits is cancelled, one that failed stays so."""
        if self.state.stage == "asking":
            self.cancel()
        self._rest()

    def ended(self, job: Job[Loaded]) -> LoadState | None:
        """Process the end of a load. Return its state; None for a superseded one."""
        if job is not self.job:
            return None
        self.job = None
        wanted = self.state.wanted
        error = None if job.result.cancelled() else job.result.exception()
        if error is None or isinstance(error, Cancelled):
            self._rest()
        else:
            if self._models.selection.target == wanted.target:  # Not so where a question asks for it once more.
                self._chosen = self._models.selection
            refused = self._chosen if isinstance(error, ModelTooLarge) else None
            self._enter(LoadState("failed", wanted, error=error, refused=refused))
        return self.state

    def unload(self) -> Job[Loaded]:
        """Free the models, after the reply that is being written. Whoever awaits that calls `unloaded`."""
        self.cancel()
        self._unloading = self._bridge.unload()
        return self._unloading

    def unloaded(self, job: Job[Loaded]) -> None:
        """Take note of the end of that."""
        if self._unloading is job:
            self._unloading = None
        if not self.state.under_way:
            self._rest()

    def _accept(self, wanted: Loaded) -> None:
        self._accepted.add((wanted, replace(self.ways(wanted), despite_memory=False)))

    def _continue(self) -> None:
        """Hand the load to the engine that was waiting for an answer."""
        if self.job is None:
            return
        # So it is asked for from now on: who does that shares this load. Its options may have changed meanwhile.
        self._how = self.ways(self.state.wanted)
        self._bridge.continue_(self.job, self._how)
        self._enter(LoadState("loading", self.state.wanted))
        self.began.emit()

    def _rest(self) -> None:
        there = self._bridge.loaded.target is not None
        self._enter(LoadState("loaded" if there else "idle", self._bridge.loaded))

    def _enter(self, state: LoadState) -> None:
        before, self.state = self.state, state
        if _question(before) != _question(state):
            self.question_changed.emit()


def _question(state: LoadState) -> object:
    """Return the question to the user in a state."""
    return state.shortage if state.stage == "asking" else state.error if state.refused is not None else None
