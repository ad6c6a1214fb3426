"""Hold the state of a load."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from app.state.models.selection import Loaded, Selection

LoadStage = Literal["idle", "asking", "loading", "failed", "loaded"]


@dataclass(frozen=True, slots=True)
class Shortage:
    """Describe a shortage of memory: the models to be loaded, the bytes that they need, and those that are free."""

    paths: tuple[Path, ...]
    needed: int
    free: int


@dataclass(frozen=True, slots=True)
class LoadState:
    """Describe the state of the last load, that of `wanted`.

    `idle`: nothing is loaded or to be loaded. `asking`: it would not fit in memory (`shortage`), and waits for the
    user. `loading`: the engine has it, or it waits for the engine. `failed`: with `error`, when `refused` was chosen.
    `loaded`: it is over, and something is loaded.
    """

    stage: LoadStage = "idle"
    wanted: Loaded = field(default_factory=Loaded)
    shortage: Shortage | None = None
    error: BaseException | None = None
    refused: Selection | None = None

    @property
    def under_way(self) -> bool:
        """Return True while somebody waits for it."""
        return self.stage in ("asking", "loading")
