"""Hold the selection and the loaded models: target, draft and lookahead, and the lines of a picker."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from app.state.models.targets import Server, Target
from engine import DRAFT_METHODS, PLAIN

Lookahead = int | Literal["auto"]
"""The picker's values: 0 to MAX_LOOKAHEAD, or auto."""
MODEL_FREE = tuple(method.name for method in DRAFT_METHODS if method.available and method.needs == "nothing")
"""The draft methods that need no draft model, such as the n-gram index: each is a line of the draft picker."""
DRAFTINGS = ("model", "automatic", *MODEL_FREE, "none")
Drafting = str
"""The kind of proposals: a chosen draft; the best of all; the text so far; none."""


DraftKey = Path | tuple[Path, ...] | str | None
"""The draft picker's values: a source, several that draft whichever promises more, another way; None: none."""


def key_of(sources: tuple[Path, ...]) -> DraftKey:
    """Return the line of the draft picker for these sources."""
    return sources if len(sources) > 1 else next(iter(sources), None)


@dataclass(frozen=True, slots=True)
class Selection:
    """Hold the selected target, sources (their files, the first one first) and lookahead.

    `drafting`: how the sources were chosen. `own_method`: the first one has a method of its own, so none is asked for.
    """

    target: Target | None = None
    sources: tuple[Path, ...] = ()
    lookahead: Lookahead = "auto"
    drafting: Drafting = "model"
    own_method: bool = False

    @property
    def method(self) -> str | None:
        """Return the engine's method that this choice of a draft asks for; None: whichever is set."""
        if self.drafting in ("none", *MODEL_FREE):
            return PLAIN if self.drafting == "none" else self.drafting
        return "auto" if self.own_method else None

    @property
    def draft_key(self) -> DraftKey:
        """Return the line of the draft picker that is chosen."""
        if self.drafting in ("automatic", *MODEL_FREE):
            return self.drafting
        return key_of(self.sources)

    @property
    def files(self) -> Loaded:
        """Return the files that it wants to be loaded."""
        return Loaded(self.target, self.sources)


@dataclass(frozen=True, slots=True)
class Loaded:
    """Hold the loaded models: the target, and the files of the sources."""

    target: Target | None = None
    sources: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class PickerLine:
    """Describe a line of a picker. `problem`: the reason why it cannot be chosen, None if it can. `hint`: its tooltip.

    `kind`: a model, or a line worded by the view (automatic, n-gram, none), whose `label` is the automatic choice, or
    whose `hint` is if that is no model; or the heading of a group, which cannot be chosen. `slower`: proposals go
    through text. `shortage`: bytes needed and free, if memory is too short; `with_target`: as a draft beside the
    target; `away`: its folder is not there at present; `others`: the sources that draft together with `path`. `size`:
    bytes of its file; `context`: tokens that it is loaded with; `measured`: tokens/s, plain and with a draft; 0 is
    unknown. `figures`: these in words.
    """

    path: Target | None
    label: str
    problem: str | None = None
    hint: str = ""
    kind: Drafting | Literal["group"] = "model"
    slower: bool = False
    shortage: tuple[int, int] | None = None
    away: bool = False
    with_target: bool = False
    others: tuple[Path, ...] = ()
    size: int = 0
    context: int = 0
    measured: tuple[float, float] = (0.0, 0.0)
    figures: str = ""

    @property
    def key(self) -> DraftKey | Server:
        """Return the key that identifies it."""
        if self.kind == "group":
            return self.label
        if isinstance(self.path, Path) and self.others:
            return (self.path, *self.others)
        return self.path if self.kind in ("model", "none") else self.kind
