"""Run `search WORDS`: find repositories with GGUF models at the hub."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from engine.cancel import CancelToken
from engine.cli.cancellable import run_cancellable
from engine.cli.get import open_hubs
from engine.cli.tables import folded_table
from engine.errors import InvalidRequest
from engine.hub.hubs import first_that_answers
from engine.hub.hugging_face import FoundRepository
from engine.hub.refusals import place
from engine.hub.wanted import quantisations_of

_MOST = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("words", metavar="WORDS", nargs="+", help="words of the name or the description")
    parser.add_argument("--most", type=int, default=20, metavar="N", help=f"1 to {_MOST} (default: 20)")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Search for the named models. Raises InvalidRequest, DownloadFailed, Cancelled."""
    if not 1 <= args.most <= _MOST:
        raise InvalidRequest(f"--most must be 1 to {_MOST}.")
    cancel = CancelToken()
    return run_cancellable(lambda: _search(args, cancel), cancel)


def _search(args: argparse.Namespace, cancel: CancelToken) -> int:
    words = " ".join(args.words)
    hub, found = first_that_answers(open_hubs(), lambda hub: hub.search(words, cancel, args.most))
    if args.json:
        print(json.dumps({"words": words, "hub": hub.address, "repositories": [_to_dict(each) for each in found]}))
    elif not found:
        print(f"{place(hub.address)} has no GGUF models for {words!r}.")
    else:
        _print_table(found)
    return 0


def _to_dict(found: FoundRepository) -> dict[str, Any]:
    return {
        "name": found.name,
        "downloads": found.downloads,
        "likes": found.likes,
        "licence": found.licence or None,
        "gated": found.gated,
        "quantisations": list(quantisations_of(found)),
    }


def _print_table(found: tuple[FoundRepository, ...]) -> None:
    from rich.console import Console  # noqa: PLC0415 - JSON needs none
    from rich.markup import escape  # noqa: PLC0415 - as above

    console = Console(file=sys.stdout)
    table = folded_table(("repository", "downloads", "licence", "quantisations"), right=("downloads",))
    for each in found:
        licence = escape(each.licence) + (" (gated)" if each.gated else "")
        table.add_row(escape(each.name), f"{each.downloads:,}", licence, escape(", ".join(quantisations_of(each))))
    console.print(table)
    console.print("Get one with: outrider-engine get OWNER/NAME:QUANT", style="dim")
