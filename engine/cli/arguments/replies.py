"""Define the options for the style and the end of a reply, for the commands that write replies."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from engine.cli.arguments.prompts import read_text_argument
from engine.cli.common import read_constraint, read_tools
from engine.config import MAX_TOP, THINKING_MODES


def add_reply_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add = parser.add_argument_group("the reply").add_argument
    add("-n", "--max-tokens", type=int, metavar="N", help="at most N new tokens (default: until the context is full)")
    add("--min-tokens", type=int, default=0, metavar="N", help="draw no token that ends the reply before it has N")
    add("--max-time", type=float, metavar="S", help="begin no further round after S seconds")
    add("--stop", action="append", default=[], metavar="S", help="text that ends the reply; can be repeated")
    add(
        "--stop-token",
        type=int,
        action="append",
        default=[],
        metavar="ID",
        help="token that ends the reply; can be repeated",
    )
    add("--ignore-eos", action="store_true", help="never draw the model's own end tokens")
    add("--system", metavar="TEXT", help="the system message: a text, @FILE, or - for standard input")
    add(
        "--thinking",
        choices=THINKING_MODES,
        default="default",
        help="whether, or how hard, the model thinks before it answers (default: as its chat template does)",
    )
    add("--tools", type=Path, metavar="FILE", help="JSON list of the functions that the model may call; none is run")
    add("--json-schema", type=Path, metavar="FILE", help="JSON schema that the reply must be valid by")
    add("--grammar", type=Path, metavar="FILE", help="Lark grammar of which the reply must be a text")
    add("--top", type=int, default=0, metavar="N", help=f"with --json the N best tokens of each place, 0 to {MAX_TOP}")
    add("--keep-turns", action="store_true", help="fail where old messages would have to be left out")
    add("--quiet", action="store_true", help="write nothing but the reply, and errors")


def reply_options(args: argparse.Namespace) -> dict[str, Any]:
    """Return the options of requests that the arguments name. Raises InvalidRequest."""
    return {
        "max_tokens": args.max_tokens,
        "min_tokens": args.min_tokens,
        "max_time": args.max_time,
        "stop": tuple(args.stop),
        "stop_tokens": tuple(args.stop_token),
        "ignore_eos": args.ignore_eos,
        "thinking": args.thinking,
        "tools": read_tools(args.tools),
        "constraint": read_constraint(args.json_schema, args.grammar),
        "top": args.top,
        "drop_turns": not args.keep_turns,
    }


def system_of(args: argparse.Namespace) -> str | None:
    """Return the text of the system message. Raises InvalidRequest."""
    return None if args.system is None else read_text_argument(args.system)
