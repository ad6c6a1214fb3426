"""Run `alias`: names of one's own for models."""

from __future__ import annotations

import argparse
import json

from engine.errors import InvalidRequest
from engine.library.known import DEFAULT, aliases, keep_alias


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("name", metavar="NAME", nargs="?", help=f"the alias; {DEFAULT}: where no model is named")
    parser.add_argument(
        "model", metavar="MODEL", nargs="?", help="what it means: a path, a name, or hf:OWNER/NAME:QUANT"
    )
    parser.add_argument("--remove", action="store_true", help="forget the alias")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Keep or forget an alias, or print those that there are. Raises InvalidRequest."""
    if args.remove:
        if args.name is None or args.model is not None:
            raise InvalidRequest("Name the alias to remove, and nothing else.")
        keep_alias(args.name, None)
    elif args.model is not None:
        keep_alias(args.name, args.model)
    known = aliases()
    if args.json:
        print(json.dumps({"aliases": known}))
    elif args.model is None and not args.remove:
        shown = known if args.name is None else {name: known[name] for name in (args.name,) if name in known}
        if args.name is not None and not shown:
            raise InvalidRequest(f"There is no alias {args.name!r}.")
        for name, meant in sorted(shown.items()):
            print(f"{name} = {meant}")
    return 0
