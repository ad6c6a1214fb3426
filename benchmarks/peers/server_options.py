"""What every comparison with llama.cpp's own server has alike: options on the command line, settings of both sides."""

import argparse
import sys
from collections.abc import Collection, Sequence
from pathlib import Path

from benchmarks.peers.server_program import DEFAULT_LOOKAHEAD
from engine.system.machine import physical_cores
from helpers.paths import ROOT

FOLDER = ROOT / "build" / "bench"
CONTEXT = 1024
"""Tokens, on both sides; the bundled prompts and their replies need half of it."""
TOP = {"top_k": 40, "top_p": 0.95, "min_p": 0.05}
"""What narrows the draw where tokens are drawn: the server's defaults, given to both sides."""


def server_parser(
    description: str | None,
    compared: str,
    known: Sequence[str],
    *,
    default: Sequence[str],
    lookaheads: Collection[int],
    prompts: int,
    tokens: int,
    turns: int,
) -> argparse.ArgumentParser:
    """A parser with the options of a comparison. `compared`: what it goes through one after the other, "kind" say.

    Of these are `known`, which `parse` checks. `lookaheads`: of the sweep, where none are asked for; with those that
    are always go the server's default and, if it is among these, 0. The other numbers: what is meant by default.
    """
    always = {DEFAULT_LOOKAHEAD} | ({0} & set(lookaheads))

    def numbers(text: str) -> list[int]:
        return sorted({int(item) for item in text.split(",")} | always)

    def temperatures(text: str) -> list[float]:
        return [float(item) for item in text.split(",")]

    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add(f"--{compared}s", type=_names, default=list(default), metavar="NAME,…", help=f"of {', '.join(known)}")
    add("--lookaheads", type=numbers, default=sorted(lookaheads), metavar="N,…", help="of the server's sweep")
    add("--temperatures", type=temperatures, default=[0.0, 0.8], metavar="X,…")
    add("--prompts", type=int, default=prompts, metavar="N", help=f"of each category ({prompts})")
    add("--tokens", type=int, default=tokens, metavar="N", help=f"of each reply at most ({tokens})")
    add("--turns", type=int, default=turns, metavar="N", help=f"turns that compare ({turns})")
    add("--threads", type=int, default=physical_cores(), metavar="N", help="of the target on both sides")
    add(
        "--patience", type=float, default=60.0, metavar="S", help=f"to wait for other programs, of each {compared} (60)"
    )
    add("--server", type=Path, metavar="PROGRAM", help="another llama-server than the one that is built here")
    add("--to", type=Path, metavar="FOLDER", help="where grown models are kept (the user's cache)")
    add("--json", action="store_true")
    return parser


def parse(
    parser: argparse.ArgumentParser, compared: str, known: Collection[str], sizes: Sequence[str]
) -> argparse.Namespace:
    """The arguments of the command line, checked: what is compared is known, and the sizes named are above 0."""
    args = parser.parse_args()
    if not set(getattr(args, f"{compared}s")) <= set(known):
        parser.error(f"{compared}s are {', '.join(known)}")
    if min(args.lookaheads) < 0 or min(getattr(args, name) for name in sizes) < 1:
        parser.error("the sizes must be above 0")
    return args


def say(text: str) -> None:
    """Tell how far it is, beside the figures."""
    print(text, file=sys.stderr, flush=True)


def _names(text: str) -> list[str]:
    return text.split(",")
