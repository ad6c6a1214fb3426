"""Run `models --found`: list other programs' models on this machine, and the best pair of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.cli.common import folded_table
from engine.cli.models import model_details, model_to_dict, shown
from engine.formats.model_file import ModelFile
from engine.library.other_programs import FoundPlace, described, find_elsewhere
from engine.library.pairs import Pair, Pairs, judge_models

if TYPE_CHECKING:
    from rich.console import Console

Described = Sequence[tuple[FoundPlace, list[ModelFile]]]


def run(_folder: Path | None, as_json: bool, console: Console) -> int:
    """Print the programs, their folders and models, as a table or as JSON. Return 0."""
    found = [(place, described(place.models)) for place in find_elsewhere()]
    models = list({model.path: model for _, listed in found for model in listed}.values())
    pairs = judge_models(models)
    if as_json:
        console.file.write(json.dumps(_to_dict(found, models, pairs)) + "\n")
    elif not found:
        console.print("No models of other programs were found.", highlight=False)
    else:
        _print(found, best_pair(pairs), console)
    return 0


def best_pair(pairs: Pairs) -> Pair | None:
    """Return the pair to offer first: the largest target whose draft fits without detours."""
    fitting = [pair for pair in pairs.best.values() if pair.fit.fits] or list(pairs.best.values())
    return max(fitting, key=lambda pair: (pair.target.parameters or 0, pair.target.size_bytes), default=None)


def _to_dict(found: Described, models: Sequence[ModelFile], pairs: Pairs) -> dict[str, Any]:
    best = best_pair(pairs)
    return {
        "places": [
            {
                "program": place.program,
                "folder": str(place.folder),
                "models": [model_to_dict(model, pairs, models) for model in listed],
            }
            for place, listed in found
        ],
        "best_pair": None if best is None else {"target": str(best.target.path), "draft": str(best.draft.path)},
    }


def _print(found: Described, best: Pair | None, console: Console) -> None:
    for place, listed in found:
        table = folded_table(("model", "details", "problem"), f"{place.program}: {shown(str(place.folder))}")
        for model in listed:
            problem = f"[red]{shown(model.problem)}[/red]" if model.problem else ""
            table.add_row(shown(model.name), "" if model.problem else model_details(model), problem)
        console.print(table)
    if best is not None:
        console.print(f"Best pair: {shown(best.target.name)} with {shown(best.draft.name)} as the draft.")
