"""Run `stored` and `remove`: list the models with their sizes, and move one into the system's bin."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from engine.cli.tables import folded_table, shown
from engine.errors import InvalidRequest
from engine.library.housekeeping import StoredModel, stored_models


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "--unused",
        type=int,
        metavar="DAYS",
        help="only models unused for so many days, or never used since tracking began",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the stored models. Raises InvalidRequest."""
    if args.unused is not None and args.unused < 0:
        raise InvalidRequest("--unused must be a number of days.")
    found = stored_models()
    if args.unused is not None:
        since = datetime.now(UTC) - timedelta(days=args.unused)
        found = [each for each in found if each.used is None or each.used < since]
    if args.json:
        print(json.dumps({"models": [to_dict(each) for each in found], "size_bytes": sum(each.size for each in found)}))
    elif not found:
        print("There are no models in the known folders.")
    else:
        _print_table(found)
    return 0


def to_dict(stored: StoredModel) -> dict[str, Any]:
    """Return a stored model for JSON."""
    return {
        "name": stored.model.name,
        "files": [str(file) for file in stored.files],
        "size_bytes": stored.size,
        "used": None if stored.used is None else stored.used.isoformat(),
        "needed_by": list(stored.needed_by),
        "kept_by": stored.kept_by or None,
    }


def _print_table(found: Sequence[StoredModel]) -> None:
    from rich.console import Console  # noqa: PLC0415 - JSON needs none

    table = folded_table(("model", "size", "last used", "needed by"), right=("size",))
    for each in found:
        used = "not recorded" if each.used is None else f"{each.used.astimezone():%Y-%m-%d}"
        keeper = f"\n[dim]kept by {each.kept_by}[/dim]" if each.kept_by else ""
        name = f"{shown(each.model.path.name)}{keeper}"
        table.add_row(name, f"{each.size / 1e9:.2f} GB", used, shown(", ".join(each.needed_by)))
    console = Console(file=sys.stdout)
    console.print(table)
    console.print(f"{sum(each.size for each in found) / 1e9:.2f} GB in all. Delete one: outrider-engine remove MODEL")
