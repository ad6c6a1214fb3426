"""What is chosen and what is loaded, as data: target, draft and lookahead, and the lines that a picker offers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from engine import DRAFT_METHODS, PLAIN

Lookahead = int | Literal["auto"]
"""What the picker offers: 0 to MAX_LOOKAHEAD, or auto."""
MODEL_FREE = tuple(method.name for method in DRAFT_METHODS if method.available and method.needs == "nothing")
"""The draft methods that need no draft model, such as the n-gram index: each is a line of the draft picker."""
DRAFTINGS = ("model", "automatic", *MODEL_FREE, "none")
Drafting = str
"""Where proposals come from: a chosen draft; the best that there is; the text so far; nowhere."""


@dataclass(frozen=True, slots=True)
class HeadAndModel:
    """Name heads of the target and a draft model that draft in turns, whichever promises more."""

    heads: Path
    model: Path


DraftKey = Path | HeadAndModel | str | None
"""What the draft picker offers; None: none."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Hold target, draft (None: no draft model) and lookahead, as chosen.

    `drafting`: how the draft was chosen. `heads`: the draft is heads for the target, not a model; `partner` is a model
    then that drafts in turns with them (None: nothing does).
    """

    target: Path | None = None
    draft: Path | None = None
    lookahead: Lookahead = "auto"
    drafting: Drafting = "model"
    heads: bool = False
    partner: Path | None = None

    @property
    def method(self) -> str | None:
        """Return the engine's method that this choice of a draft asks for; None: whichever is set."""
        if self.drafting in ("none", *MODEL_FREE):
            return PLAIN if self.drafting == "none" else self.drafting
        return "auto" if self.heads else None

    @property
    def draft_key(self) -> DraftKey:
        """Return the line of the draft picker that is chosen."""
        if self.drafting in ("automatic", *MODEL_FREE):
            return self.drafting
        if self.draft is not None and self.partner is not None:
            return HeadAndModel(self.draft, self.partner)
        return self.draft

    @property
    def files(self) -> Loaded:
        """Return the files that it wants to be loaded."""
        return Loaded(self.target, self.draft, self.partner)


@dataclass(frozen=True, slots=True)
class Loaded:
    """Hold the files that are really loaded. `partner`: a draft model beside heads, which are the draft then."""

    target: Path | None = None
    draft: Path | None = None
    partner: Path | None = None

    @property
    def drafts(self) -> tuple[Path | None, Path | None]:
        """Return what drafts: a model or heads, and the model beside those."""
        return self.draft, self.partner


@dataclass(frozen=True, slots=True)
class PickerLine:
    """Describe one line of a picker. `problem`: why it cannot be chosen, None if it can. `hint`: more about it.

    `kind`: a model, or a line whose words are the view's (automatic, n-gram, none); then `label` is what automatic has
    picked, or, where that is no model, `hint`; or the heading of a group, which cannot be chosen. `slower`: proposals
    go through text. `shortage`: bytes needed and free, of what memory is too short for; `beside`: as a draft, beside
    the target; `away`: its folder is not there at present; `partner`: a draft model in turns with the heads of `path`.
    """

    path: Path | None
    label: str
    problem: str | None = None
    hint: str = ""
    kind: Drafting | Literal["group"] = "model"
    slower: bool = False
    shortage: tuple[int, int] | None = None
    away: bool = False
    beside: bool = False
    partner: Path | None = None

    @property
    def key(self) -> DraftKey:
        """Return the key that identifies it."""
        if self.kind == "group":
            return self.label
        if self.path is not None and self.partner is not None:
            return HeadAndModel(self.path, self.partner)
        return self.path if self.kind in ("model", "none") else self.kind
