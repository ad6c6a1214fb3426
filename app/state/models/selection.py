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
DraftKey = Path | str | None
"""What the draft picker offers; None: none."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Hold target, draft (None: no draft model) and lookahead, as chosen.

    `drafting`: how the draft was chosen. `heads`: the draft is heads for the target, not a model.
    """

    target: Path | None = None
    draft: Path | None = None
    lookahead: Lookahead = "auto"
    drafting: Drafting = "model"
    heads: bool = False

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
        return self.draft


@dataclass(frozen=True, slots=True)
class Loaded:
    """Hold the files that are really loaded."""

    target: Path | None = None
    draft: Path | None = None


@dataclass(frozen=True, slots=True)
class PickerLine:
    """Describe one line of a picker. `problem`: why it cannot be chosen, None if it can. `hint`: more about it.

    `kind`: a model, or a line whose words are the view's (automatic, n-gram, none); then `label` is what automatic has
    picked, or, where that is no model, `hint`; or the heading of a group, which cannot be chosen. `slower`: proposals
    go through text. `shortage`: bytes needed and free, of what memory is too short for; `beside`: as a draft, beside
    the target; `away`: its folder is not there at present.
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

    @property
    def key(self) -> DraftKey:
        """Return the key that identifies it."""
        if self.kind == "group":
            return self.label
        return self.path if self.kind in ("model", "none") else self.kind
