"""Hold the models to choose from, the selection, and the loaded models."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from app.state.models.load_options import AS_THE_ENGINE_DOES, LoadChoice, needs_with
from app.state.models.names import file_label, hint, identity, labels, shown_name, unread, with_recommendation
from app.state.models.selection import MODEL_FREE, Drafting, Loaded, Lookahead, PickerLine, Selection
from app.state.models.targets import ADD_SERVER, Server, Target, short_model
from engine import MAX_LOOKAHEAD, ModelFile, Translatable

if TYPE_CHECKING:
    from engine import Fit, MemoryNeeds

_PAYS = 1.5
"""A draft of which the target is not so many times as large saves nothing: automatic leaves it alone."""
_MOST_TOGETHER = 4
"""Draft models that are offered with each head."""


class ModelList:
    """Hold the models of the pickers. The bundled pair comes first.

    Attributes: selection; loaded; folders (in the order in which they were added); away (those that are not there now);
    servers; free (bytes of memory that are free, 0 if nobody looked); favourites; recent (last loaded first).
    """

    def __init__(self, bundled: tuple[Path, Path] | None) -> None:
        self.bundled = bundled
        self.folders: tuple[Path, ...] = ()
        self.servers: tuple[Server, ...] = ()
        self.away: frozenset[Path] = frozenset()
        self.free = 0
        self.favourites: frozenset[Path] = frozenset()
        self.recent: tuple[Path, ...] = ()
        self.measured: dict[Path, tuple[float, float]] = {}
        self.loaded = Loaded()
        own = self.bundled_files
        self.selection = Selection(own.target, own.sources, drafting="automatic")
        self._bundled_models: tuple[ModelFile, ...] = tuple(unread(path) for path in bundled or ())
        self._found: dict[Path, tuple[ModelFile, ...]] = {}
        self._all: tuple[ModelFile, ...] | None = None
        self._alone: dict[Path, ModelFile] = {}
        self._home: dict[Path, Path] = {}
        self._options: dict[Path, LoadChoice] = {}
        self._judged = JudgedDrafts()

    # What is there ----------------------------------------------------------------------------------------------------

    @property
    def bundled_files(self) -> Loaded:
        """Return the bundled pair as models to load."""
        return Loaded() if self.bundled is None else Loaded(self.bundled[0], self.bundled[1:])

    @property
    def folder(self) -> Path | None:
        """Return the first models folder, None if there is none."""
        return self.folders[0] if self.folders else None

    @property
    def models(self) -> tuple[ModelFile, ...]:
        """Return all models, each file once, the bundled ones first."""
        if self._all is None:
            known = {identity(model.path) for model in self._bundled_models}
            listed = list(self._bundled_models)
            self._home = {}
            for folder in self.folders:
                for model in self._found.get(folder, ()):
                    own = identity(model.path)
                    if own not in known:
                        known.add(own)
                        listed.append(model)
                        self._home[model.path] = folder
            listed += [model for model in self._alone.values() if identity(model.path) not in known]
            self._all = tuple(listed)
        return self._all

    def by_path(self, path: Target | None) -> ModelFile | None:
        return next((model for model in self.models if model.path == path), None)

    def folder_of(self, path: Path) -> Path | None:
        """Return the models folder that a model was found in; None for one that came with the program."""
        return self._home.get(path) if self.models else None

    def is_away(self, path: Path) -> bool:
        """Return True if its folder is not there at present."""
        return self.folder_of(path) in self.away

    def can_be_used(self, path: Target) -> bool:
        """Return True if a model is there and was read, and is one that can be loaded."""
        model = self.by_path(path)
        usable = model is not None and model.can_draft
        return usable and isinstance(path, Path) and not self.is_away(path)

    def set_bundled(self, models: tuple[ModelFile, ...]) -> None:
        """Take the facts read from the bundled files."""
        read = {model.path.name: model for model in models}
        self._bundled_models = tuple(
            replace(read.get(model.path.name, model), path=model.path) for model in self._bundled_models
        )
        self._all = None

    def set_found(self, folder: Path, models: tuple[ModelFile, ...]) -> bool:
        """Update the content of a model folder that is available (again). Return True if anything is new."""
        if folder not in self.away and self._found.get(folder) == models:
            return False
        self.folders = tuple(dict.fromkeys((*self.folders, folder)))
        self._found[folder] = models
        self._alone = {path: model for path, model in self._alone.items() if folder not in path.parents}
        self.away -= {folder}
        self._all = None
        return True

    def set_alone(self, model: ModelFile) -> None:
        """Add a model that was opened or dropped and is in no models folder; it stays in the list in this run."""
        self._alone[model.path] = model
        self._all = None

    def set_away(self, folder: Path) -> None:
        """Mark a models folder as away at present: its models stay in the list, and cannot be chosen."""
        if folder not in self.folders:
            self.folders += (folder,)
        self.away |= {folder}
        self._all = None

    def forget_folder(self, folder: Path) -> None:
        self.folders = tuple(each for each in self.folders if each != folder)
        self._found.pop(folder, None)
        self.away -= {folder}
        self._all = None

    # How they are loaded ----------------------------------------------------------------------------------------------

    def options(self, path: Path | None) -> LoadChoice:
        return AS_THE_ENGINE_DOES if path is None else self._options.get(path, AS_THE_ENGINE_DOES)

    def set_options(self, path: Path, options: LoadChoice) -> None:
        self._options[path] = options

    def needs(self, model: ModelFile) -> MemoryNeeds:
        return needs_with(model, self.options(model.path))

    # Pickers ----------------------------------------------------------------------------------------------------------

    def set_fits(self, fits: Mapping[Path, Fit]) -> None:
        """Set the fits of the drafts for the chosen target."""
        self._judged.fits = fits
        self._note_method()

    def targets(self) -> list[PickerLine]:
        """Return the lines of the target picker: the loadable ones first."""
        names = labels(self.models)
        listed = [
            PickerLine(
                model.path,
                names[model.path],
                model.problem,
                with_recommendation(model),
                shortage=self._shortage(model),
                away=self._is_out_of_reach(model.path),
                size=model.size_bytes,
                context=self.needs(model).context_length if model.usable else 0,
                measured=self.measured.get(model.path, (0.0, 0.0)),
            )
            for model in self.models
        ]
        listed.sort(key=_out_of_question)
        target = self.selection.target
        return listed if isinstance(target, Server) else _with_missing(listed, target)

    def server_lines(self) -> list[PickerLine]:
        """Return the lines of the target picker behind those: the servers, and one that asks for another."""
        lines = [
            PickerLine(each, each.name, hint=f"{short_model(each.model)}\n{each.address}") for each in self.servers
        ]
        return [PickerLine(None, "servers", kind="group"), *lines, PickerLine(None, "", kind=ADD_SERVER)]

    def drafts(self) -> list[PickerLine]:
        """Return the lines of the draft picker.

        They are automatic, methods without a model, none, and then the models, the best first; with a server, one line.
        """
        if isinstance(self.selection.target, Server):
            return [PickerLine(None, "", hint="server", kind="automatic")]
        target = self.by_path(self.selection.target)
        names = names_of_drafts(labels(self.models), self.models, self.selection.target)
        listed = [
            self._draft(model, names[model.path], target) for model, _ in self._judged.ranked(target, self.models)
        ]
        listed.sort(key=_out_of_question)
        chosen = self.selection
        # Where it is chosen it says what drafts, also before all files are judged.
        best = (chosen.sources if chosen.drafting == "automatic" else ()) or self.best_sources()
        label = names.get(best[0], best[0].stem) if len(best) == 1 else self._name_of_both(*best) if best else ""
        special = [
            PickerLine(
                None,
                label,
                hint="" if best or target is None else "text" if self.selection.lookahead == "auto" else "plain",
                kind="automatic",
            ),
            *(PickerLine(None, "", kind=method) for method in MODEL_FREE),
            PickerLine(None, "", kind="none"),
        ]
        both = self._both(listed, target)
        return [*special, *_grouped(_with_missing(listed, next(iter(chosen.sources), None)), both)]

    def best_sources(self) -> tuple[Path, ...]:
        """Choose the automatic draft: heads before a draft model.

        It is heads inside the target or beside it, and the best model that shares its vocabulary and pays, or only the
        one or the other. With a fixed lookahead heads draft alone, so no model is loaded beside them.
        """
        target = self.by_path(self.selection.target)
        if target is None or not target.usable:
            return ()
        heads = model = None
        # The fitting drafts may come from an earlier target; the ranking is always for this one.
        for each, fit in self._judged.ranked(target, self.models):
            if fit is None or not fit.fits or (heads if fit.head else model) is not None:
                continue
            pays = is_close_in_size(each.path, target.path) if fit.head else _pays(each, target)
            good = pays and each.path not in self._judged.refused and not self.is_away(each.path)
            if good and self._shortage(each, with_target=target) is None:
                heads, model = (each.path, model) if fit.head else (heads, each.path)
        if heads is not None:
            return (heads, model) if model is not None and self.selection.lookahead == "auto" else (heads,)
        own = self.bundled
        unread = own is not None and target.path == own[0] and own[1] not in self._judged.fits
        if model is None and own is not None and unread and own[1] not in self._judged.refused:
            model = own[1]
        return () if model is None else (model,)

    def _both(self, listed: list[PickerLine], target: ModelFile | None) -> list[PickerLine]:
        """Return the lines of heads and a draft model in turns: of each head with the best models that pay."""
        chosen, pairs = self.selection, list[tuple[Path, Path]]()
        if target is not None and any(fit.fits and fit.head for fit in self._judged.fits.values()):
            usable = {line.path for line in listed if not _out_of_question(line) and not line.slower}
            known = [model for model, _ in self._judged.ranked(target, self.models) if model.path in usable]
            heads = [model.path for model in known if model.holds_heads_for(target.path)]
            models = [model.path for model in known if model.path not in heads and _pays(model, target)]
            pairs = [(head, model) for head in heads for model in models[:_MOST_TOGETHER]]
        if len(chosen.sources) > 1 and chosen.drafting == "model":
            pairs = list(dict.fromkeys([*pairs, (chosen.sources[0], chosen.sources[1])]))
        return [PickerLine(head, self._name_of_both(head, model), others=(model,)) for head, model in pairs]

    def _name_of_both(self, heads: Path, model: Path) -> str:
        both = self.by_path(heads), self.by_path(model)
        if both[0] is None or both[1] is None:
            return f"{file_label(heads)} + {file_label(model)}"
        return name_of_both(both[0], both[1], self.models, self._target_file)

    @property
    def _target_file(self) -> Path | None:
        return self.selection.target if isinstance(self.selection.target, Path) else None

    def refuse(self, draft: Path | None) -> None:
        """Mark a draft that could not be loaded: automatic skips it in this run."""
        if draft is not None:
            self._judged.refused.add(draft)

    def _draft(self, model: ModelFile, name: str, target: ModelFile | None) -> PickerLine:
        fit = self._judged.fits.get(model.path)
        problem = None if fit is not None and fit.head else model.problem
        problem = problem or (fit.reason if fit is not None and not fit.usable else None)
        more = fit.reason if fit is not None and fit.usable else ""
        shortage = None if problem is not None or target is None else self._shortage(model, with_target=target)
        slower = fit is not None and fit.through_text
        said = Translatable("{file}\n{fit}", file=hint(model), fit=more) if more else hint(model)
        away = self._is_out_of_reach(model.path)
        line = PickerLine(model.path, name, problem, said, "model", slower, shortage, away, with_target=True)
        context = self.needs(model).context_length if model.usable else 0
        return replace(line, size=model.size_bytes, context=context)

    def _is_out_of_reach(self, path: Path) -> bool:
        return self.is_away(path) and path not in (self.loaded.target, *self.loaded.sources)

    def _shortage(self, model: ModelFile, with_target: ModelFile | None = None) -> tuple[int, int] | None:
        """Return bytes that a model needs and bytes that are free for it, where those are too few."""
        held = (self.loaded.target, *self.loaded.sources)
        if not self.free or not model.usable or model.path in held:
            return None
        taken = self.needs(with_target).in_memory if with_target is not None and with_target.path not in held else 0
        needed, free = self.needs(model).in_memory, max(self.free - taken, 0)
        return (needed, free) if needed > free else None

    # Choosing ---------------------------------------------------------------------------------------------------------

    def choose(
        self,
        *,
        target: Target | None = None,
        sources: tuple[Path, ...] | None = None,
        lookahead: Lookahead | None = None,
    ) -> None:
        """Choose a target, sources, or a lookahead; None keeps the present one. Other drafts: `choose_drafting`."""
        chosen = self.selection
        if isinstance(lookahead, int):
            lookahead = min(max(lookahead, 0), MAX_LOOKAHEAD)
        self.selection = replace(
            chosen,
            target=chosen.target if target is None else target,
            lookahead=chosen.lookahead if lookahead is None else lookahead,
        )
        if sources is not None:
            self.selection = replace(self.selection, sources=sources, drafting="model")
        elif lookahead is not None and chosen.own_method and chosen.drafting == "automatic":
            self.choose_drafting("automatic")  # Beside heads a model drafts only with an automatic lookahead.
        self._note_method()

    def choose_drafting(self, drafting: Drafting) -> None:
        """Choose the kind of proposals; automatic picks its draft among those judged."""
        sources = self.best_sources() if drafting == "automatic" else ()
        self.selection = replace(self.selection, sources=sources, drafting=drafting)
        self._note_method()

    def _note_method(self) -> None:
        """Flag a first source that is heads, as far as its file has been read: heads have their own method."""
        chosen = self.selection
        first = self.by_path(next(iter(chosen.sources), None))
        own = first is not None and first.holds_heads_for(self._target_file)
        self.selection = replace(chosen, own_method=own)

    def drop_unfit(self, *, new_target: bool = False) -> bool:
        """Deselect a draft that does not fit, and take the best if that is automatic; return True if it changed.

        With a new target, one that fits only through text is deselected too: it is slower, so the user decides.
        """
        chosen = self.selection
        fits = [self._judged.fits.get(path) for path in chosen.sources]
        unfit = any(fit is not None and not (fit.fits if new_target else fit.usable) for fit in fits)
        if chosen.drafting == "automatic" or unfit:
            self.choose_drafting("automatic")
        return self.selection != chosen

    def show_loaded(self, loaded: Loaded) -> None:
        """Select the models that are really loaded, after a failure."""
        self.loaded = loaded
        drafting = self.selection.drafting
        if loaded.sources and drafting in (*MODEL_FREE, "none"):
            drafting = "model"
        self.selection = replace(self.selection, target=loaded.target, sources=loaded.sources, drafting=drafting)
        self._note_method()


def _out_of_question(choice: PickerLine) -> bool:
    """Return True if it cannot be loaded at present, so that it stands behind the loadable ones."""
    return choice.problem is not None or choice.shortage is not None or choice.away


def _pays(draft: ModelFile, target: ModelFile) -> bool:
    """Return True if a draft model is so small that it may save time."""
    return draft.usable and draft.size_bytes * _PAYS < target.size_bytes


def _grouped(listed: list[PickerLine], both: list[PickerLine]) -> list[PickerLine]:
    """Put headings over the drafts with the target's tokenizer, those with another one, and all others.

    `both`: the lines of heads and a draft model, which have a heading of their own between them. There are no other
    headings where all tokenizers are the same.
    """
    slower = [line for line in listed if line.slower and not _out_of_question(line)]
    first = listed.index(slower[0]) if slower else len(listed)
    rest = [line for line in listed[first:] if line not in slower]
    groups = {"same" if slower else "": listed[:first], "both": both, "other": slower, "rest": rest}
    return [
        line
        for name, lines in groups.items()
        for line in (*([PickerLine(None, name, kind="group")] if name and lines else []), *lines)
    ]


def _with_missing(listed: list[PickerLine], chosen: Path | None) -> list[PickerLine]:
    """Keep the chosen file in the picker even if no scan has found it (yet)."""
    if chosen is None or any(choice.path == chosen for choice in listed):
        return listed
    return [*listed, PickerLine(chosen, file_label(chosen))]


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

        key = models, self.fits, target
        if self._ranking is None or any(map(operator.is_not, self._ranking[0], key)):
            judged = [model for model in models if model.path in self.fits]
            rest = [model for model in models if model.path not in self.fits]
            self._ranking = key, [*rank_drafts(target, judged), *((model, None) for model in rest)]
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
