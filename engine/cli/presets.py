"""Run `presets [FOLDER]`: list the known pairs, and which of them the models of a folder can run."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from engine.cli.tables import console_for, shown
from engine.library.presets import Preset, PresetFiles, all_presets, match_presets
from engine.sampling_rules import RULES

_ALWAYS = ("temperature", "top_k", "top_p", "min_p")
"""Said of every preset; other rules only where they are on."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    where = "folder with the models (default: the Hugging Face cache)"
    parser.add_argument("folder", metavar="FOLDER", type=Path, nargs="?", help=where)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.set_defaults(run=lambda args: run(args.folder, args.json, console_for(args.json)))


def run(folder: str | Path | None, as_json: bool, console: Console) -> int:
    """Print the presets that can be run, as a table or as JSON, and return the exit code 0. Raises FolderUnreadable.

    `folder` None: what the Hugging Face cache has.
    """
    found = match_presets(all_presets(), None if folder is None else Path(folder))
    if as_json:
        report = {"folder": None if folder is None else str(folder), "presets": [_to_dict(item) for item in found]}
        console.file.write(json.dumps(report) + "\n")
        return 0
    console.print(_table(found, folder))
    ready = sum(item.problem is None for item in found)
    console.print(f"{ready} of {len(found)} can be run with: outrider-engine generate --preset NAME …", style="dim")
    console.print("Download models with: hf download OWNER/MODEL (--json lists the names)", style="dim")
    return 0


def _to_dict(item: PresetFiles) -> dict[str, Any]:
    preset = item.preset
    sampling = preset.sampling
    return {
        "name": preset.name,
        "title": preset.title,
        "aliases": list(preset.aliases),
        "target": preset.target.name,
        "draft": None if preset.draft is None else preset.draft.name,
        "method": preset.speculation.method,
        "lookahead": preset.speculation.lookahead,
        "sampling": {
            rule.name: getattr(sampling, rule.name)
            for rule in RULES
            if rule.name in _ALWAYS or getattr(sampling, rule.name) != rule.off
        },
        "sampling_source": preset.sampling_source,
        "note": preset.note,
        "available": item.problem is None,
        "target_path": None if item.target is None else str(item.target),
        "draft_path": None if item.draft is None else str(item.draft),
        "problem": item.problem,
    }


def _table(found: Sequence[PresetFiles], folder: str | Path | None) -> Table:
    where = "the Hugging Face cache" if folder is None else str(folder)
    table = Table(title=f"Presets, with the models in {shown(where)}", title_justify="left")
    table.add_column("preset", no_wrap=True)
    for column in ("target ← draft", "can be run"):
        table.add_column(column, overflow="fold")
    for item in found:
        preset = item.preset
        if item.problem is None:
            files = " ← ".join(path.name for path in (item.target, item.draft) if path is not None)
            state = f"[green]yes[/green]\n[dim]{shown(files)}[/dim]"
        else:
            state = shown(item.problem.partition(" Download it")[0])
        if preset.note:
            state += f"\n[dim]{shown(preset.note)}[/dim]"
        table.add_row(preset.name, _pair(preset), state)
    return table


def _pair(preset: Preset) -> str:
    draft = "n-gram index" if preset.draft is None else preset.draft.short_name
    return shown(f"{preset.target.short_name} ← {draft}")
