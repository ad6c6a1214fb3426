"""`models FOLDER`: what is in a folder, what can be paired with what, and why not."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

from engine.cli.report_cache import remember_report, remembered_report, state_of
from engine.library.walk import find_models

if TYPE_CHECKING:
    from rich.console import Console


def run(folder: str | Path, as_json: bool, console: Console) -> int:
    """Print what a scan finds, as tables or as JSON, and give the exit code 0. Raises FolderUnreadable.

    As long as no file changes, the JSON is what it was: nothing is read again, nor are numpy and the readers imported,
    which takes longer than all the rest.
    """
    if not as_json:
        importlib.import_module("engine.cli.models").print_tables(folder, console)
        return 0
    found = find_models(folder)
    state = state_of(folder, found)
    text = remembered_report(folder, state)
    if text is None:
        text, lasting = importlib.import_module("engine.cli.models").make_report(folder, found)
        if lasting:
            remember_report(folder, state, text)
    console.file.write(text + "\n")
    return 0
