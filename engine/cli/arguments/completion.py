"""Run `completion`: print the script with which a shell completes commands, options and files."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.cli.cancellable import EXIT_DONE
from engine.config import CACHE_TYPES, DTYPES
from engine.methods import AUTO, PARTS, PLAIN, SOURCES

SHELLS = ("bash", "zsh", "fish")
_VALUES: dict[str, Sequence[str]] = {
    "method": (AUTO, PLAIN, *SOURCES),
    "lookahead": ("auto", "adaptive", "0"),
    "tree": ("auto",),
    "acceptance": ("rejection", "exact"),
    "overlap": ("on", "off", "auto"),
    "cache_type": CACHE_TYPES,
    "dtype": ("auto", *DTYPES),
    "device": ("auto", "cpu", "cuda", "mps"),
}
"""Values of options that check them themselves."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `completion`."""
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))
    parser.epilog = (
        "examples:\n"
        "  outrider-engine completion bash > ~/.local/share/bash-completion/completions/outrider-engine\n"
        '  outrider-engine completion zsh > "${fpath[1]}/_outrider-engine"\n'
        "  outrider-engine completion fish > ~/.config/fish/completions/outrider-engine.fish"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the script. `args.every_command` makes the parser of the whole program."""
    library: Any = importlib.import_module("shtab")
    parser: argparse.ArgumentParser = args.every_command()
    _mark_files(parser, library)
    print(library.complete(parser, args.shell))
    return EXIT_DONE


def _mark_files(parser: argparse.ArgumentParser, library: Any) -> None:
    """Mark arguments for completion: files and folders, and the values of others."""
    for action in parser._actions:  # noqa: SLF001 - there is no other way to see them
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for command in action.choices.values():
                _mark_files(command, library)
        elif action.dest == "folder":
            action.complete = library.DIRECTORY  # type: ignore[attr-defined]
        elif action.type is Path or action.dest in PARTS:
            action.complete = library.FILE  # type: ignore[attr-defined]
        elif action.dest in _VALUES and action.choices is None:
            action.choices = _VALUES[action.dest]
