"""Run `recommend`: models that this machine carries, each with its draft, and what to expect of them."""

from __future__ import annotations

import argparse
import importlib
import json
import re
import sys
from dataclasses import asdict

from engine.cancel import CancelToken
from engine.cli.common import run_cancellable
from engine.cli.get import open_hub
from engine.hub.recommend import Machine, Recommendation, checked, copy_speed, recommend
from engine.system.machine import available_memory

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([mg])i?b?", re.IGNORECASE)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("--memory", type=_size, metavar="SIZE", help="for a machine with so much memory, such as 16G")
    parser.add_argument("--card", type=_size, metavar="SIZE", help="for a card with so much memory, such as 8G")
    parser.add_argument("--check", action="store_true", help="ask the Hugging Face hub whether all of it is there")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.set_defaults(run=run)


def _size(text: str) -> int:
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise argparse.ArgumentTypeError(f"must be a size such as 16G, not {text!r}")
    return int(float(match[1]) * 2 ** {"m": 20, "g": 30}[match[2].lower()])


def run(args: argparse.Namespace) -> int:
    """Print the recommendations. Raises DownloadFailed, Cancelled."""
    cancel = CancelToken()
    return run_cancellable(lambda: _run(args, cancel), cancel)


def _run(args: argparse.Namespace, cancel: CancelToken) -> int:
    here = args.memory is None
    card = args.card if args.card is not None else _card() if here else 0
    machine = Machine(available_memory() if here else args.memory, card, copy_speed() if here else 0.0)
    found = list(recommend(machine))
    gone: list[str] = []
    if args.check:
        found, gone = checked(tuple(found), open_hub(), cancel)
    if args.json:
        print(json.dumps({**asdict(machine), "estimates": True, "models": list(map(asdict, found)), "left_out": gone}))
        return 0
    for reason in gone:
        print(f"outrider-engine: left out: {reason}", file=sys.stderr)
    if not found:
        print("No model of the catalogue fits into this memory. A small one: outrider-engine get smollm2")
    else:
        _print_table(found)
    return 0


def _card() -> int:
    """Return the free memory of the graphics cards that llama.cpp can use; 0 without any."""
    try:
        library = importlib.import_module("engine.backends.llama_cpp.library")
        return int(library.free_card_memory() or 0) if library.card_names() else 0
    except Exception:  # noqa: BLE001 - a llama.cpp that cannot be loaded has no cards either
        return 0


def _print_table(found: list[Recommendation]) -> None:
    from rich.console import Console  # noqa: PLC0415 - JSON needs none
    from rich.table import Table  # noqa: PLC0415 - as above

    table = Table(title="Models that fit (all figures are estimates)", title_justify="left")
    for column in ("target, draft", "for", "disk, memory", "tokens/s"):
        table.add_column(column, overflow="fold")
    for each in found:
        place = "card" if each.on_card else "memory"
        speed = f"{each.plain:.1f} plain\n{each.drafted:.1f} with draft" if each.plain else "not known"
        sizes = f"{each.size / 1e9:.1f} GB\n{each.memory / 1e9:.1f} GB of {place}"
        table.add_row(f"{each.target}\n{each.draft}", f"{each.purpose}\n{each.licence}", sizes, speed)
    console = Console(file=sys.stdout)
    console.print(table)
    console.print("Get one with: outrider-engine get TARGET, and its draft likewise", style="dim")
