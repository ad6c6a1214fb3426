"""The command line: generate, bench, models, presets and calibrate.

Exit codes: 0 done, 2 wrong usage or unusable model (one line on stderr), 3 a damaged installation, 130 cancelled.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn, TextIO

from engine._version import __version__
from engine.errors import Cancelled, EngineError, InstallationDamaged
from engine.loading.trial_entry import run_hidden_command
from engine.system.installation import EXIT_DAMAGED, check_installation

EXIT_DONE, EXIT_UNUSABLE, EXIT_CANCELLED = 0, 2, 130
_SAID_BY_ANY: tuple[list[str], ...] = ([], ["-h"], ["--help"], ["--version"])
"""Commands that a damaged program answers too."""


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_UNUSABLE, f"{self.prog}: {message} (see {self.prog} --help)\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and give its exit code."""
    argv = list(sys.argv[1:] if arguments is None else arguments)
    hidden = run_hidden_command(argv)
    if hidden is not None:
        return hidden
    try:
        if argv[:1] not in _SAID_BY_ANY:
            check_installation()
        args = _make_parser(argv[:1]).parse_args(argv)
        code = int(args.run(args))
        sys.stdout.flush()
    except Cancelled as error:
        print(f"outrider-engine: {error}", file=sys.stderr)
        return EXIT_CANCELLED
    except InstallationDamaged as error:
        print(f"outrider-engine: {error}", file=sys.stderr)
        return EXIT_DAMAGED
    except EngineError as error:
        print("outrider-engine: " + " ".join(str(error).split()), file=sys.stderr)
        return EXIT_UNUSABLE
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_DONE
    return code


# Arguments ----------------------------------------------------------------------------------------------------------


def _make_parser(command: list[str]) -> argparse.ArgumentParser:
    """The parser for a command. What only `generate` needs is imported for it alone: the others start at once."""
    parser = _Parser(prog="outrider-engine", description="Speculative decoding for local language models.")
    parser.add_argument("--version", action="version", version=f"Outrider {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    generate = commands.add_parser("generate", help="generate a reply", allow_abbrev=False)
    if command == ["generate"]:
        importlib.import_module("engine.cli.generate").add_arguments(generate)
    bench = commands.add_parser("bench", help="measure plain and speculative decoding", allow_abbrev=False)
    if command == ["bench"]:
        importlib.import_module("engine.cli.bench").add_arguments(bench)
    models = commands.add_parser("models", help="list the models of a folder and which of them can be paired")
    models.add_argument("folder", metavar="FOLDER", type=Path)
    models.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    models.set_defaults(run=_run_models)
    presets = commands.add_parser("presets", help="list known pairs and which of them can be run")
    presets.add_argument(
        "folder",
        metavar="FOLDER",
        type=Path,
        nargs="?",
        help="folder with the models (default: the Hugging Face cache)",
    )
    presets.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    presets.set_defaults(run=_run_presets)
    calibrate = commands.add_parser(
        "calibrate", help="measure the cost of a draft token and of a forward pass", allow_abbrev=False
    )
    if command == ["calibrate"]:
        importlib.import_module("engine.cli.calibrate").add_arguments(calibrate)
    return parser


def _run_presets(args: argparse.Namespace) -> int:
    return _print("engine.cli.presets", args)


def _run_models(args: argparse.Namespace) -> int:
    return _print("engine.cli.models", args)


def _print(command: str, args: argparse.Namespace) -> int:
    """Run a command that prints a table, or JSON, for which rich need not be imported."""
    console = _Plain(sys.stdout) if args.json else importlib.import_module("rich.console").Console()
    return int(importlib.import_module(command).run(args.folder, args.json, console))


class _Plain:
    """Where JSON goes."""

    def __init__(self, file: TextIO) -> None:
        self.file = file
