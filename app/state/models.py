"""The models that can be chosen, what is chosen, and what is loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from engine import MAX_LOOKAHEAD, Fit, ModelFile

Lookahead = int | Literal["auto"]
"""What the picker offers: 0 to MAX_LOOKAHEAD, or auto."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Target, draft (None: no draft) and lookahead, as chosen."""

    target: Path | None = None
    draft: Path | None = None
    lookahead: Lookahead = "auto"


@dataclass(frozen=True, slots=True)
class Loaded:
    """The files that are really loaded."""

    target: Path | None = None
    draft: Path | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """One line of a picker. `problem`: why it cannot be chosen, None if it can. `hint`: more about it."""

    path: Path | None
    label: str
    problem: str | None = None
    hint: str = ""


class ModelList:
    """What the pickers show. The bundled pair comes first.

    Attributes: selection; loaded; folder (the models folder, None if none was chosen).
    """

    def __init__(self, bundled: tuple[Path, Path] | None) -> None:
        self.bundled = bundled
        self.folder: Path | None = None
        self.loaded = Loaded()
        self.selection = Selection(*bundled) if bundled else Selection()
        self._bundled_models: tuple[ModelFile, ...] = tuple(_unread(path) for path in bundled or ())
        self._found: tuple[ModelFile, ...] = ()
        self._fits: Mapping[Path, Fit] = {}

    @property
    def models(self) -> tuple[ModelFile, ...]:
        """All models, each file once, the bundled ones first."""
        own = {_identity(model.path) for model in self._bundled_models}
        return self._bundled_models + tuple(model for model in self._found if _identity(model.path) not in own)

    def by_path(self, path: Path | None) -> ModelFile | None:
        """The model of a file, if it is in the list."""
        return next((model for model in self.models if model.path == path), None)

    def set_bundled(self, models: tuple[ModelFile, ...]) -> None:
        """What a look into the bundled files told."""
        read = {model.path.name: model for model in models}
        self._bundled_models = tuple(
            replace(read.get(model.path.name, model), path=model.path) for model in self._bundled_models
        )

    def set_found(self, folder: Path | None, models: tuple[ModelFile, ...]) -> None:
        """What is in the models folder."""
        self.folder = folder
        self._found = models

    def set_fits(self, fits: Mapping[Path, Fit]) -> None:
        """Which drafts fit the chosen target."""
        self._fits = fits

    def targets(self) -> list[Choice]:
        """The lines of the target picker."""
        names = _labels(self.models)
        listed = [Choice(model.path, names[model.path], model.problem, hint(model)) for model in self.models]
        return _with_missing(listed, self.selection.target)

    def drafts(self) -> list[Choice]:
        """The lines of the draft picker, without the line for no draft."""
        listed: list[Choice] = []
        names = _labels(self.models)
        for model in self.models:
            fit = self._fits.get(model.path)
            problem = model.problem or (fit.reason if fit is not None and not fit.usable else None)
            more = fit.reason if fit is not None and fit.usable else ""
            name = names[model.path]
            if fit is not None and fit.through_text:
                name += " · slower"
            listed.append(Choice(model.path, name, problem, "\n".join(filter(None, (hint(model), more)))))
        return _with_missing(listed, self.selection.draft)

    def choose(
        self, *, target: Path | None = None, draft: Path | None = None, lookahead: Lookahead | None = None
    ) -> None:
        """Choose a target, a draft, or a lookahead; what is None stays. No draft: `choose_no_draft`."""
        chosen = self.selection
        if isinstance(lookahead, int):
            lookahead = min(max(lookahead, 0), MAX_LOOKAHEAD)
        self.selection = Selection(
            chosen.target if target is None else target,
            chosen.draft if draft is None else draft,
            chosen.lookahead if lookahead is None else lookahead,
        )

    def choose_no_draft(self) -> None:
        """Choose to work without a draft."""
        self.selection = replace(self.selection, draft=None)

    def show_loaded(self, loaded: Loaded) -> None:
        """After a failure: choose what is really loaded."""
        self.loaded = loaded
        self.selection = replace(self.selection, target=loaded.target, draft=loaded.draft)


def label(model: ModelFile) -> str:
    """Name, size and quantisation in one line, as in `demo-target · 12M Q8_0`."""
    figures = " ".join(filter(None, (parameters(model.parameters), model.quantisation)))
    return f"{model.name} · {figures}" if figures else model.name


def _labels(models: Sequence[ModelFile]) -> dict[Path, str]:
    """What each is called, by its path. Of those that call themselves the same, the later ones go by their file."""
    names: dict[Path, str] = {}
    taken: set[str] = set()
    for model in models:
        name = label(model)
        names[model.path] = label(replace(model, name=file_label(model.path))) if name in taken else name
        taken.add(name)
    return names


def hint(model: ModelFile) -> str:
    """More about a model: its file and how large that is."""
    size = file_size(model.size_bytes)
    return f"{model.path.name} · {size}" if size else model.path.name


def file_label(path: Path) -> str:
    """What a model is called before it was read. The dot in a folder's name, as in Qwen2.5-0.5B, begins no suffix."""
    return path.stem if path.suffix.lower() in (".gguf", ".safetensors") else path.name


def parameters(count: int) -> str:
    """A number of parameters as people say it: 260K, 12M, 1.1B."""
    for unit, factor in (("B", 10**9), ("M", 10**6), ("K", 10**3)):
        if count >= factor:
            value = count / factor
            return f"{value:.1f}".removesuffix(".0") + unit if value < 10 else f"{value:.0f}{unit}"
    return str(count) if count else ""


def file_size(size: int) -> str:
    """A file's size: 1.2 MB. Empty where it is not known."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} bytes" if size else ""


def _unread(path: Path) -> ModelFile:
    return ModelFile(path, path.name.split(".")[0])


def _with_missing(listed: list[Choice], chosen: Path | None) -> list[Choice]:
    """The chosen file stays in the picker even if no scan has found it (yet)."""
    if chosen is None or any(choice.path == chosen for choice in listed):
        return listed
    return [*listed, Choice(chosen, file_label(chosen))]


def _identity(path: Path) -> str:
    return str(path.resolve())
