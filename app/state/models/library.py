"""Hold the library's rows: one per model of the chosen folders, with the memory that it needs and that is free."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from app.state.models.load_options import LoadChoice
from app.state.models.models import ModelList
from app.state.models.selection import Loaded

if TYPE_CHECKING:
    from engine import MemoryNeeds, ModelFile

RowState = Literal["ok", "large", "problem", "away"]
"""It can be loaded; it needs more memory than is free; it cannot be used; its folder is not there at present."""
Place = Literal["", "target", "draft", "both"]
Subset = Literal["", "favourites", "recent"]
"""Which models are listed: all, those marked as favourites, those loaded last."""
SIZES = (10**9, 4 * 10**9, 10 * 10**9, 40 * 10**9)
"""Bytes of a file, from which on the next group of sizes begins."""


@dataclass(frozen=True, slots=True)
class LibraryRow:
    """Describe a model of the library and its present state. Memory in bytes, `context` in tokens; 0 is unknown.

    `folder`: the models folder that it was found in, None for what came with the program. `needed`: with its load
    options, `free`: now. `context`: what it is loaded with. `loaded`, `chosen`: as what. `used`: 1 is the
    one loaded last, 0: none of the last ones. `measured`: tokens/s plain and with a draft, as it was used last.
    """

    model: ModelFile
    folder: Path | None
    context: int
    needed: int
    free: int
    state: RowState
    loaded: Place
    chosen: Place
    options: LoadChoice
    favourite: bool = False
    used: int = 0
    measured: tuple[float, float] | None = None

    @property
    def path(self) -> Path:
        return self.model.path

    @property
    def size(self) -> int:
        """Return the group of sizes that its file belongs to, from 0 to len(SIZES)."""
        return bisect(SIZES, self.model.size_bytes)


@dataclass(frozen=True, slots=True)
class Narrowing:
    """Choose the rows to list by facts. "" and None: all of them. `size`: a group of sizes, see LibraryRow.size."""

    subset: Subset = ""
    family: str = ""
    size: int | None = None
    quantisation: str = ""

    def lists(self, row: LibraryRow) -> bool:
        in_subset = row.favourite if self.subset == "favourites" else row.used > 0 if self.subset else True
        return (
            in_subset
            and self.family in ("", row.model.architecture)
            and self.size in (None, row.size)
            and self.quantisation in ("", row.model.quantisation)
        )

    @classmethod
    def values(cls, rows: Iterable[LibraryRow]) -> tuple[tuple[str, ...], tuple[int, ...], tuple[str, ...]]:
        """Return the families, groups of sizes and quantisations that there are, each sorted."""
        listed = list(rows)
        families = {row.model.architecture for row in listed} - {""}
        quantisations = {row.model.quantisation for row in listed} - {""}
        sizes = {row.size for row in listed if row.model.size_bytes}
        return tuple(sorted(families)), tuple(sorted(sizes)), tuple(sorted(quantisations))


class Library:
    """Hold the rows of all models. Attribute: models."""

    def __init__(self, models: ModelList) -> None:
        self.models = models

    def rows(self) -> list[LibraryRow]:
        """Return one row for each model and each file that looks like one, those that came with the program first."""
        return [self._row(model) for model in self.models.models]

    def row(self, path: Path) -> LibraryRow | None:
        model = self.models.by_path(path)
        return None if model is None else self._row(model)

    def _row(self, model: ModelFile) -> LibraryRow:
        models = self.models
        needs = models.needs(model)
        loaded = _place(model.path, models.loaded)
        recent = models.recent
        return LibraryRow(
            model,
            folder=models.folder_of(model.path),
            context=needs.context_length if model.usable else 0,
            needed=needs.in_memory if model.usable else 0,
            free=models.free,
            state=self._state(model, needs, loaded),
            loaded=loaded,
            chosen=_place(model.path, models.selection.files),
            options=models.options(model.path),
            favourite=model.path in models.favourites,
            used=recent.index(model.path) + 1 if model.path in recent else 0,
            measured=models.measured.get(model.path),
        )

    def _state(self, model: ModelFile, needs: MemoryNeeds, loaded: Place) -> RowState:
        if self.models.is_away(model.path):
            return "away"
        if not model.usable:
            return "problem"
        return "large" if not loaded and self.models.free and needs.in_memory > self.models.free else "ok"


def _place(path: Path, files: Loaded) -> Place:
    drafts = path in files.sources
    if path == files.target:
        return "both" if drafts else "target"
    return "draft" if drafts else ""
