"""Between the wish to load models and the load: their options, and a question where memory seems too short."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import engine
from app.bridge.bridge import EngineBridge, Job, Ways
from app.state.models.models import Loaded, ModelList, Selection


@dataclass(frozen=True, slots=True)
class Shortage:
    """Too little memory: the models that are to be loaded, bytes that they need and that are free."""

    paths: tuple[Path, ...]
    needed: int
    free: int


class LoadGate:
    """Lets loads through.

    Attributes: held (the load that waits for the user, or None); refused (what was chosen when the engine found the
    memory too short, or None).
    """

    def __init__(self, bridge: EngineBridge, models: ModelList) -> None:
        self.held: Job[Loaded] | None = None
        self.refused: Selection | None = None
        self._bridge = bridge
        self._models = models
        self._asked: tuple[Loaded, Ways] | None = None
        self._accepted: set[tuple[Loaded, Ways]] = set()

    def ways(self, wanted: Loaded) -> Ways:
        """Return the load options of these models."""
        plain = Ways(self._models.options(wanted.target), self._models.options(wanted.draft))
        return replace(plain, despite_memory=(wanted, plain) in self._accepted)

    def shortage(self, wanted: Loaded, how: Ways) -> Shortage | None:
        """Return the part of a load that needs more memory than is free, or None if all fits.

        None also where nothing is known of the models, and where the user wants it all the same. What is loaded stays
        until the other is there, so its memory is not free.
        """
        if how.despite_memory:
            return None
        paths: list[Path] = []
        needed = 0
        for path, there in zip((wanted.target, wanted.draft), self._bridge.kept(wanted, how), strict=True):
            model = None if there else self._models.by_path(path)
            if model is not None and model.usable and model.size_bytes:
                paths.append(model.path)
                needed += self._models.needs(model).in_memory
        free = self._models.free = engine.available_memory()
        return Shortage(tuple(paths), needed, free) if needed > free else None

    def is_chosen(self, wanted: Loaded) -> bool:
        """Return whether this is still the current choice."""
        chosen = self._models.selection
        return chosen.target == wanted.target and wanted.draft in (None, chosen.draft)

    def spared(self, chosen: Selection) -> Selection:
        """Return the choice, without the automatic draft if it does not fit in memory now."""
        wanted = Loaded(chosen.target, chosen.draft)
        asked = chosen.drafting != "automatic" or chosen.draft is None
        return chosen if asked or self.shortage(wanted, self.ways(wanted)) is None else replace(chosen, draft=None)

    def load(self, wanted: Loaded, how: Ways, *, hold: bool) -> Job[Loaded]:
        """A load, which waits for `go_on` if it is to be held."""
        job = self._bridge.load(wanted, how, hold=hold)
        if hold:
            self.held, self._asked = job, (wanted, how)
        return job

    def go_on(self, *, accepted: bool = True) -> Ways | None:
        """Let the load begin that is held; gives how. None: there is none. `accepted`: although memory is short."""
        if self.held is None or self._asked is None:
            return None
        job, (wanted, _how) = self.held, self._asked
        self.held = self._asked = None
        # The options may have been changed while it waited.
        how = replace(self.ways(wanted), despite_memory=False)
        if accepted:
            self._accepted.add((wanted, how))
        how = replace(how, despite_memory=accepted)
        self._bridge.go_on(job, how)
        return how

    def ended(self, job: Job[Loaded]) -> bool:
        """A load is over; whether it was being held."""
        if job is not self.held:
            return False
        self.held = self._asked = None
        return True

    def refuse(self, chosen: Selection, wanted: Loaded) -> None:
        """The engine itself found memory too short for this."""
        self.refused = chosen
        self._asked = wanted, replace(self.ways(wanted), despite_memory=False)

    def accept_refused(self) -> None:
        """It is to be tried all the same."""
        if self._asked is not None:
            self._accepted.add(self._asked)
        self.refused = self._asked = None
