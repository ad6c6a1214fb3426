"""Judge the drafts for the chosen target: those that fit, their order, and those that could not be loaded."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from app.state.models.names import labels, shown_name
from engine import Translatable

if TYPE_CHECKING:
    from engine import Fit, ModelFile


class JudgedDrafts:
    """Attributes: fits (of the drafts that have been judged), refused (those that could not be loaded in this run)."""

    def __init__(self) -> None:
        self.fits: Mapping[Path, Fit] = {}
        self.refused: set[Path] = set()
        self._ranking: tuple[tuple[object, ...], list[tuple[ModelFile, Fit | None]]] | None = None

    def ranked(self, target: ModelFile | None, models: tuple[ModelFile, ...]) -> list[tuple[ModelFile, Fit | None]]:
        """Return the models with their notes, those that fit the target first, as far as they have been judged."""
        if target is None or not self.fits:
            return [(model, None) for model in models]
        from engine import rank_drafts  # noqa: PLC0415 - not before the first paint

        asked = models, self.fits, target
        if self._ranking is None or any(map(operator.is_not, self._ranking[0], asked)):
            judged = [model for model in models if model.path in self.fits]
            rest = [model for model in models if model.path not in self.fits]
            self._ranking = asked, [*rank_drafts(target, judged), *((model, None) for model in rest)]
        return self._ranking[1]


def is_close_in_size(draft: Path, target: Path) -> bool:
    """Return True if a file or folder is the target's own, or lies beside it or in it: heads there are meant for it."""
    return draft == target or target.parent in (draft.parent, draft.parent.parent)


def draft_label(draft: ModelFile, name: str, target: Path | None) -> str:
    """Return the name of a draft in the picker; heads are called so, with their place."""
    if not draft.holds_heads_for(target):
        return name
    if draft.path == target:
        return Translatable("head inside {name}", name=name)
    return Translatable("head {name}", name=name)


def name_of_both(heads: ModelFile, model: ModelFile, models: Sequence[ModelFile], target: Path | None) -> str:
    """Return the common name of heads and a draft model: without figures, where that is enough to know them."""
    names, often = labels(models), Counter(str(shown_name(each)) for each in models)

    def short(each: ModelFile) -> str:
        return shown_name(each) if often[str(shown_name(each))] == 1 else names[each.path]

    return Translatable("{head} + {draft}", head=draft_label(heads, short(heads), target), draft=short(model))


def names_of_drafts(names: Mapping[Path, str], models: Sequence[ModelFile], target: Path | None) -> dict[Path, str]:
    """Return the names of the models as drafts for a target."""
    return {model.path: draft_label(model, names[model.path], target) for model in models}
