"""Hold what is known of a download."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from engine import FoundPlace, FoundRepository

DownloadState = Literal["running", "paused", "failed", "done"]


@dataclass(frozen=True, slots=True)
class Download:
    """Describe a download. `name`: as it was asked for; `done` of `total` bytes; `problem`: why it failed."""

    name: str
    state: DownloadState = "running"
    done: int = 0
    total: int = 0
    problem: str = ""
    files: tuple[Path, ...] = ()

    @property
    def fraction(self) -> float:
        """Return how much of it is here, 0 to 1."""
        return self.done / self.total if self.total else 0.0


@dataclass(frozen=True, slots=True)
class DownloadsShown:
    """Hold what the dialog shows.

    `listed`: the downloads in the order in which they were asked for; `found`: what the last search found; `places`:
    what other programs keep, None while nobody looked; `trouble`: why the last search failed, "" if it did not.
    """

    listed: tuple[Download, ...] = ()
    found: tuple[FoundRepository, ...] = ()
    places: tuple[FoundPlace, ...] | None = None
    searching: bool = False
    trouble: str = ""

    def by_name(self, name: str) -> Download | None:
        """Return a download by the name that was asked for."""
        return next((each for each in self.listed if each.name == name), None)
