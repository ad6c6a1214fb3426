"""Run `remove MODEL`: move a model to the system's bin, after naming its dependents."""

from __future__ import annotations

import argparse
import json
import sys

from engine.cli.stored import to_dict
from engine.errors import InvalidRequest
from engine.library.housekeeping import StoredModel, delete_model, stored_models
from engine.library.names import resolve_source


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("model", metavar="MODEL", help="a path, a name or an alias")
    parser.add_argument("-y", "--yes", action="store_true", help="without asking")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Move a model to the bin. Raises ModelFileBroken, InvalidRequest, EngineError."""
    path = resolve_source(args.model).absolute()
    known = {each.model.path: each for each in stored_models()}
    if path not in known:  # In no known folder: others in its own folder may depend on it.
        known |= {each.model.path: each for each in stored_models([path.parent])}
    if path not in known:
        raise InvalidRequest(f"{path} is no model.")
    stored = known[path]
    if not args.yes:
        _ask(stored)
    delete_model(stored)
    if args.json:
        print(json.dumps(to_dict(stored)))
    else:
        print(f"Moved to the bin: {', '.join(str(file) for file in stored.files)}")
    return 0


def _ask(stored: StoredModel) -> None:
    """Print a model's dependents, and ask for permission to delete it. Raises InvalidRequest if the answer is no."""
    if not sys.stdin.isatty() or not sys.stderr.isatty():
        raise InvalidRequest("Add --yes where nobody can be asked.")
    needed = f" It is needed by: {', '.join(stored.needed_by)}." if stored.needed_by else ""
    print(f"{stored.model.path} ({stored.size / 1e9:.2f} GB).{needed}", file=sys.stderr)
    print("Move it to the bin? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().casefold() not in ("y", "yes"):
        raise InvalidRequest("Nothing was deleted.")
