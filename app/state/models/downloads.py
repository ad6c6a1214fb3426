"""Describe a download."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from engine.host import FoundPlace, FoundRepository, Recommended, StoredModel

DownloadState = Literal["running", "paused", "failed", "newer", "done"]
"""newer: another file of its name is here, and the hub's is taken in its place only when that is asked for."""
TokenPlace = Literal["", "session", "kept"]
"""The place of a token for the hub: none, this session alone, or the system's keyring."""


@dataclass(frozen=True, slots=True)
class Download:
    """Describe a download.

    `name`: as it was asked for; `done` of `total` bytes; `speed`: bytes a second; `problem`: why it failed; `note`:
    what is to be known of it besides.
    """

    name: str
    state: DownloadState = "running"
    done: int = 0
    total: int = 0
    speed: float = 0.0
    problem: str = ""
    note: str = ""
    files: tuple[Path, ...] = ()

    @property
    def fraction(self) -> float:
        """Return the share that is here, 0 to 1."""
        return self.done / self.total if self.total else 0.0


@dataclass(frozen=True, slots=True)
class DownloadsShown:
    """Hold the contents of the dialog for downloads.

    `listed`: the downloads in the order in which they were asked for; `found`: what the last search found; `places`:
    what other programs keep, None while nobody looked; `trouble`: why the last search failed, "" if it did not;
    `recommended`: for this machine, None while nobody asked; `checking`: whether the hub is asked about that, and this
    machine measured; `token`: where one is; `folder`: where downloads go; `stored`: the models that are
    here, the largest first; `bin_words`: what became of the one that was moved to the bin last.
    """

    listed: tuple[Download, ...] = ()
    found: tuple[FoundRepository, ...] = ()
    places: tuple[FoundPlace, ...] | None = None
    searching: bool = False
    trouble: str = ""
    recommended: Recommended | None = None
    checking: bool = False
    token: TokenPlace = ""
    folder: Path = Path()
    stored: tuple[StoredModel, ...] = ()
    bin_words: str = ""

    def by_name(self, name: str) -> Download | None:
        return next((each for each in self.listed if each.name == name), None)
