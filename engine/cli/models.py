"""Run `models`: list a folder's models or other programs', the possible pairs, and the reasons against others."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.cli.tables import console_for, folded_table, shown
from engine.errors import InvalidRequest
from engine.formats.model_file import ModelFile
from engine.library.heads import judge_heads
from engine.library.other_programs import FoundPlace, described, find_elsewhere
from engine.library.pairs import Pair, Pairs, judge_models
from engine.library.scan import scan_folder
from engine.system.files import expanded

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

Found = Sequence[tuple[FoundPlace, list[ModelFile]]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add = parser.add_argument
    add("folder", metavar="FOLDER", type=Path, nargs="?", help="the folder; all below it is listed too")
    add("--found", action="store_true", help="list what other programs keep on this machine")
    add("--json", action="store_true", help="print one JSON object instead of tables")
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    if args.found == (args.folder is not None):
        raise InvalidRequest("Name a folder, or --found for what other programs keep.")
    console = console_for(args.json)
    return _run_found(args.json, console) if args.found else run(args.folder, args.json, console)


def run(folder: str | Path, as_json: bool, console: Console) -> int:
    """Print the models and the best draft for each, as tables or as JSON. Return 0. Raises FolderUnreadable."""
    models = scan_folder(folder)
    if as_json:
        # Names of files may be no proper text, so nothing but ASCII is written.
        console.file.write(json.dumps(_report_to_dict(folder, models)) + "\n")
    elif not models:
        console.print(f"There are no models in {shown(str(folder))}.", highlight=False)
    else:
        console.print(_models_table(models, Path(folder)))
        _print_pairs(models, judge_models(models), Path(folder), console)
        _print_heads(models, Path(folder), console)
    return 0


# JSON ---------------------------------------------------------------------------------------------------------------


def _report_to_dict(folder: str | Path, models: Sequence[ModelFile]) -> dict[str, Any]:
    pairs = judge_models(models)
    return {
        "folder": str(folder),
        "models": [_model_to_dict(model, pairs, models) for model in models],
        "pairs": [_pair_to_dict(pair) for pair in pairs.listed],
        "pairs_shortened": pairs.shortened,
    }


def _model_to_dict(model: ModelFile, pairs: Pairs, models: Sequence[ModelFile]) -> dict[str, Any]:
    """Describe a model, for JSON. `models`: among which its heads are looked for."""
    heads = judge_heads(model, models)
    vocabulary = model.vocabulary
    best = pairs.best.get(model.path)
    fits, through_text = pairs.counts.get(model.path, (0, 0))
    return {
        "path": str(model.path),
        "name": model.name,
        "format": model.file_format,
        "role": model.role,
        "architecture": model.architecture,
        "parameters": model.parameters,
        "size_label": model.size_label or None,
        "quantisation": model.quantisation,
        "context_length": model.context_length,
        "size_bytes": model.size_bytes,
        "memory_bytes": model.memory_needed(),
        "chat_template": model.has_chat_template,
        "turns": model.turns,
        "recommended_sampling": dict(model.recommended) or None,
        "thinks": model.thinks,
        "vocabulary": None if vocabulary is None else {"type": vocabulary.kind, "size": vocabulary.size},
        "usable": model.usable,
        "problem": model.problem,
        "best_draft": None if best is None else str(best.draft.path),
        "drafts": {"fits": fits, "through_text": through_text},
        "heads": [
            {"path": str(fit.source.path), "method": fit.method, "fits": fit.fits, "reason": fit.reason}
            for fit in heads
        ],
    }


def _pair_to_dict(pair: Pair) -> dict[str, Any]:
    return {
        "target": str(pair.target.path),
        "draft": str(pair.draft.path),
        "fits": pair.fit.fits,
        "through_text": pair.fit.through_text,
        "how": _how(pair),
        "reason": pair.fit.reason,
    }


def _how(pair: Pair) -> str:
    return "fits" if pair.fit.fits else "fits through text" if pair.fit.through_text else "does not fit"


# Tables -------------------------------------------------------------------------------------------------------------


def _models_table(models: Sequence[ModelFile], folder: Path) -> Table:
    table = folded_table(("model", "details", "size, memory needed"), f"Models in {shown(str(folder))}")
    broken = any(model.problem for model in models)
    if broken:
        table.add_column("problem", overflow="fold")
    for model in models:
        context = f"context {model.context_length:,}" if model.context_length else ""
        template = {"": "", "template": "chat template"}.get(model.turns, f"chats as {model.turns}")
        row = [
            _name(model, folder),
            _model_details(model) + "\n" + " · ".join(filter(None, (context, template))),
            _bytes(model.size_bytes) + (f"\n{_bytes(model.memory_needed())}" if model.usable else ""),
        ]
        if broken:
            row.append(f"[red]{shown(model.problem)}[/red]" if model.problem else "")
        table.add_row(*row)
    return table


def _model_details(model: ModelFile) -> str:
    """Return architecture, size and quantisation in one line."""
    parameters = _with_unit(model.parameters, 1000, ("", "K", "M", "B", "T")) if model.parameters else ""
    size = model.size_label or parameters
    return " · ".join(filter(None, (shown(model.architecture), size, shown(model.quantisation))))


def _print_pairs(models: Sequence[ModelFile], pairs: Pairs, folder: Path, console: Console) -> None:
    """Print the best draft of each target, and for those that have none the reason."""
    targets = [model for model in models if model.usable]
    if len(targets) < 2:
        console.print("There are no two models that can be paired.")
        return
    table = folded_table(("target", "best draft", "why"), "Best draft for each target")
    for target in targets:
        best = pairs.best.get(target.path)
        if best is None:
            table.add_row(_name(target, folder), "[red]none[/red]", shown(_why_none(target, pairs)))
        else:
            colour = "green" if best.fit.fits else "yellow"
            why = f"[{colour}]{_how(best)}[/{colour}]\n{shown(best.fit.reason)}"
            table.add_row(_name(target, folder), _name(best.draft, folder), why)
    console.print(table)
    console.print("Use --json to list all other pairs.", style="dim")


def _print_heads(models: Sequence[ModelFile], folder: Path, console: Console) -> None:
    """Print the draft heads in the folder and which targets they are for, if there are any."""
    judged = {model.path: judge_heads(model, models) for model in models if model.usable}
    if not any(judged.values()):
        return
    table = folded_table(("target", "heads", "why"), "Draft heads")
    for target in models:
        for fit in judged.get(target.path, ()):
            colour = "green" if fit.fits else "red"
            why = f"[{colour}]{fit.method}{'' if fit.fits else ' does not fit'}[/{colour}]\n{shown(fit.reason)}"
            table.add_row(_name(target, folder), _name(fit.source, folder), why)
    console.print(table)


def _name(model: ModelFile, folder: Path) -> str:
    """Return a model's file name, and below it the name in its header: that may be the same for hundreds."""
    own = "" if model.name == model.path.stem else f"\n[dim]{shown(model.name)}[/dim]"
    return f"{shown(_relative(model.path, folder))}{own}"


def _why_none(target: ModelFile, pairs: Pairs) -> str:
    reasons = [pair.fit.reason for pair in pairs.listed if pair.target.path == target.path and not pair.fit.usable]
    if target.vocabulary is None:
        return "It has no vocabulary of its own, so no draft can be compared with it."
    fits, through_text = pairs.counts.get(target.path, (0, 0))
    if fits or through_text:
        return "No smaller model in this folder can be paired with it."
    return reasons[0] if reasons else "This folder has no other usable model."


def _relative(path: Path, folder: Path) -> str:
    try:
        return str(path.relative_to(expanded(folder)))
    except ValueError:
        return str(path)


def _bytes(number: int) -> str:
    return _with_unit(number, 1024, ("B", "KiB", "MiB", "GiB", "TiB"))


def _with_unit(number: float, step: int, units: tuple[str, ...]) -> str:
    unit = 0
    while number >= step and unit < len(units) - 1:
        number /= step
        unit += 1
    return f"{number:.3g} {units[unit]}".rstrip() if number < 1000 else f"{number:.0f} {units[unit]}"


# What other programs keep -------------------------------------------------------------------------------------------


def _run_found(as_json: bool, console: Console) -> int:
    found = [(place, described(place.models)) for place in find_elsewhere()]
    models = list({model.path: model for _, listed in found for model in listed}.values())
    pairs = judge_models(models)
    if as_json:
        console.file.write(json.dumps(_found_to_dict(found, models, pairs)) + "\n")
    elif not found:
        console.print("No models of other programs were found.", highlight=False)
    else:
        _print_found(found, _best_pair(pairs), console)
    return 0


def _best_pair(pairs: Pairs) -> Pair | None:
    """Return the pair to offer first: the largest target whose draft fits without detours."""
    fitting = [pair for pair in pairs.best.values() if pair.fit.fits] or list(pairs.best.values())
    return max(fitting, key=lambda pair: (pair.target.parameters or 0, pair.target.size_bytes), default=None)


def _found_to_dict(found: Found, models: Sequence[ModelFile], pairs: Pairs) -> dict[str, Any]:
    best = _best_pair(pairs)
    return {
        "places": [
            {
                "program": place.program,
                "folder": str(place.folder),
                "models": [_model_to_dict(model, pairs, models) for model in listed],
            }
            for place, listed in found
        ],
        "best_pair": None if best is None else {"target": str(best.target.path), "draft": str(best.draft.path)},
    }


def _print_found(found: Found, best: Pair | None, console: Console) -> None:
    for place, listed in found:
        table = folded_table(("model", "details", "problem"), f"{place.program}: {shown(str(place.folder))}")
        for model in listed:
            problem = f"[red]{shown(model.problem)}[/red]" if model.problem else ""
            table.add_row(shown(model.name), "" if model.problem else _model_details(model), problem)
        console.print(table)
    if best is not None:
        console.print(f"Best pair: {shown(best.target.name)} with {shown(best.draft.name)} as the draft.")
