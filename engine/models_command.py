"""`models FOLDER`: what is in a folder, what can be paired with what, and why not."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from engine.compat import Fit, judge_pair
from engine.library import ModelFile, scan_folder

_MISFITS_SHOWN = 30


def run(folder: str | Path, as_json: bool, console: Console) -> int:
    """Print what a scan finds, as tables or as JSON, and give the exit code 0. Raises FolderUnreadable."""
    models = scan_folder(folder)
    judged = [
        (target, draft, judge_pair(target, draft))
        for target, draft in permutations((model for model in models if model.role == "model"), 2)
    ]
    if as_json:
        report = {
            "folder": str(folder),
            "models": [_model_to_dict(model) for model in models],
            "pairs": [_pair_to_dict(*pair) for pair in judged],
        }
        console.out(json.dumps(report, ensure_ascii=False), highlight=False)
        return 0
    if not models:
        console.print(f"There are no models in {escape(str(folder))}.")
        return 0
    console.print(_models_table(models, Path(folder)))
    _print_pairs([pair for pair in judged if pair[0].usable and pair[1].usable], console)
    return 0


def _model_to_dict(model: ModelFile) -> dict[str, Any]:
    vocabulary = model.vocabulary
    return {
        "path": str(model.path),
        "name": model.name,
        "architecture": model.architecture,
        "parameters": model.parameters,
        "quantisation": model.quantisation,
        "context_length": model.context_length,
        "size_bytes": model.size_bytes,
        "memory_bytes": model.memory_needed(),
        "chat_template": model.has_chat_template,
        "vocabulary": None if vocabulary is None else {"type": vocabulary.kind, "size": vocabulary.size},
        "usable": model.usable,
        "problem": model.problem,
    }


def _pair_to_dict(target: ModelFile, draft: ModelFile, fit: Fit) -> dict[str, Any]:
    return {
        "target": str(target.path),
        "draft": str(draft.path),
        "fits": fit.fits,
        "reason": fit.reason,
    }


def _models_table(models: tuple[ModelFile, ...], folder: Path) -> Table:
    table = Table(title=f"Models in {escape(str(folder))}", title_justify="left")
    table.add_column("name", overflow="fold")
    for column in ("size", "parameters", "quantisation", "context"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("problem", overflow="fold")
    for model in models:
        table.add_row(
            f"{escape(model.name)}\n[dim]{escape(_shown_path(model.path, folder))}[/dim]",
            _with_unit(model.size_bytes, 1024, ("B", "KiB", "MiB", "GiB", "TiB")),
            _with_unit(model.parameters, 1000, ("", "K", "M", "B", "T")) if model.parameters else "",
            escape(model.quantisation),
            f"{model.context_length:,}" if model.context_length else "",
            f"[red]{escape(model.problem)}[/red]" if model.problem else "",
        )
    return table


def _print_pairs(judged: list[tuple[ModelFile, ModelFile, Fit]], console: Console) -> None:
    if not judged:
        console.print("There are no two models that could be paired.")
        return
    fitting = [pair for pair in judged if pair[2].fits]
    others = [pair for pair in judged if not pair[2].fits]
    table = Table(title="Pairs", title_justify="left")
    table.add_column("target ← draft", overflow="fold")
    table.add_column("fits", no_wrap=True)
    table.add_column("why", overflow="fold")
    for target, draft, fit in fitting + others[:_MISFITS_SHOWN]:
        table.add_row(
            f"{escape(target.name)} ← {escape(draft.name)}",
            "[green]yes[/green]" if fit.fits else "[red]no[/red]",
            escape(fit.reason),
        )
    console.print(table)
    if len(others) > _MISFITS_SHOWN:
        rest = len(others) - _MISFITS_SHOWN
        console.print(f"… and {rest} more pairs that do not fit (all of them with --json).")


def _shown_path(path: Path, folder: Path) -> str:
    try:
        return str(path.relative_to(folder.expanduser()))
    except ValueError:
        return str(path)


def _with_unit(number: float, step: int, units: tuple[str, ...]) -> str:
    unit = 0
    while number >= step and unit < len(units) - 1:
        number /= step
        unit += 1
    return f"{number:.3g} {units[unit]}".rstrip() if number < 1000 else f"{number:.0f} {units[unit]}"
