"""Run `recommend`: models for this machine, each with its draft and the expected speed."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from engine.bench.recommended import recommended
from engine.cancel import CancelToken
from engine.cli.cancellable import run_cancellable
from engine.cli.get import open_hubs
from engine.cli.tables import folded_table
from engine.hub.recommend import Machine, Recommendation
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
    machine = None
    if args.memory is not None or args.card is not None:  # Of another machine no speed is known.
        memory = available_memory() if args.memory is None else args.memory
        machine = Machine(memory, args.card or 0)
    hubs = open_hubs() if args.check else ()
    found = recommended(measure=True, hubs=hubs, machine=machine, cancel=cancel)
    if args.json:
        pace = found.machine.pace
        report: dict[str, Any] = {"memory": found.machine.memory, "card": found.machine.card}
        report |= {"measured": None if pace is None else pace.to_json(), "estimates": True}
        print(json.dumps({**report, "models": list(map(asdict, found.models)), "left_out": found.left_out}))
        return 0
    for reason in found.left_out:
        print(f"outrider-engine: left out: {reason}", file=sys.stderr)
    if not found.models:
        print("No model of the catalogue fits into this memory. A small one: outrider-engine get smollm2")
    else:
        _print_table(found.models)
    return 0


def _print_table(found: Sequence[Recommendation]) -> None:
    from rich.console import Console  # noqa: PLC0415 - JSON needs none

    title = "Models that fit (all figures are estimates)"
    table = folded_table(("target, draft", "for", "disk, memory, context", "tokens/s"), title)
    for each in found:
        place = "card" if each.on_card else "memory"
        speed = f"{each.plain:.1f} plain\n{each.drafted:.1f} with draft" if each.plain else "not known"
        sizes = f"{each.size / 1e9:.1f} GB\n{each.memory / 1e9:.1f} GB of {place}\n{each.context:,} tokens"
        table.add_row(f"{each.target}\n{each.draft}", f"{each.purpose}\n{each.licence}", sizes, speed)
    console = Console(file=sys.stdout)
    console.print(table)
    console.print("Get one with: outrider-engine get TARGET, and its draft likewise", style="dim")
