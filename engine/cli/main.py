"""Run the command line: parse the arguments, run the command, and end with its exit code.

Exit codes: 0 done, 2 wrong usage or unusable model (one line on stderr), 3 a damaged installation, 130 cancelled.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from io import TextIOWrapper
from itertools import pairwise
from pathlib import Path
from typing import NoReturn

from engine._version import __version__
from engine.cli.arguments.parser import CommandParser
from engine.cli.cancellable import EXIT_CANCELLED, EXIT_DONE, EXIT_UNUSABLE
from engine.errors import Cancelled, EngineError, InstallationDamaged, InvalidRequest, NotAvailable
from engine.system.hidden_commands import run_hidden_command
from engine.system.installation import EXIT_DAMAGED, check_installation

_SAID_BY_ANY: tuple[list[str], ...] = ([], ["-h"], ["--help"], ["--version"])
"""Commands that a damaged program answers too."""
_REPLIES = (["generate"], ["chat"])
_MODELS = {"-m", "--target", "-d", "--draft"}
"""Commands that load models for certain, and the options behind which they are named."""


class _Version(argparse.Action):
    """Print the version, and a note on the installed llama.cpp."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        print(f"Outrider {__version__}")
        try:
            importlib.import_module("engine.system.processor").check_processor()
            library = importlib.import_module("engine.backends.llama_cpp.library")
            library.prepare_library()
            note = None if library.has_kernels() else library.STOCK_BUILD
        except Exception as error:  # noqa: BLE001 - a program without a working llama.cpp has a version too
            note = str(error) if isinstance(error, EngineError) else f"llama.cpp cannot be used: {error}"
        if note is not None:
            print(note)
        parser.exit()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and give its exit code."""
    argv = list(sys.argv[1:] if arguments is None else arguments)
    hidden = run_hidden_command(argv)
    if hidden is not None:
        return hidden
    try:
        _prepare_output()
        try:
            return _run(argv)
        finally:
            sys.stdout.flush()
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # That is how rich leaves where nobody reads on.
            return EXIT_DONE
        raise
    except (Cancelled, KeyboardInterrupt) as error:
        return _complain(str(error) or str(Cancelled()), EXIT_CANCELLED)
    except InstallationDamaged as error:
        return _complain(str(error), EXIT_DAMAGED)
    except EngineError as error:
        words = importlib.import_module("engine.cli.arguments.words")
        return _complain(words.in_options(error), EXIT_UNUSABLE)
    except BrokenPipeError:
        _drop_output()
        return EXIT_DONE
    except OSError as error:
        _drop_output()
        what = "Cannot write the output" if error.filename is None else f"Cannot use {error.filename}"
        return _complain(f"{what}: {error.strerror or error}.", EXIT_UNUSABLE)


def _run(argv: list[str]) -> int:
    if argv[:1] not in _SAID_BY_ANY:
        check_installation()
    # Before all else of these commands: their imports take as long as those of the children.
    models = [value for name, value in pairwise(argv) if name in _MODELS] if argv[:1] in _REPLIES else []
    with _begun(models) if models else nullcontext():
        parser = make_parser(argv[:1])
        args = parser.parse_args(importlib.import_module("engine.cli.arguments.kept").with_kept(argv, parser))
        # For the commands that have something to do: most of the time of the others goes into imports.
        importlib.import_module("engine.system.cache_files").tighten_cache()
        return int(args.run(args))


@contextmanager
def _begun(models: Sequence[str]) -> Iterator[None]:
    """Begin with loading these."""
    early = importlib.import_module("engine.loading.early")
    with early.trials(*models), early.early_weights(*models):
        yield


# Output -------------------------------------------------------------------------------------------------------------


def _prepare_output() -> None:
    """Write characters that the output's encoding lacks by their numbers; read nothing from an input that is closed."""
    if sys.stdout is None or sys.stderr is None:  # Closed by the parent.
        raise InvalidRequest("Standard output or standard error is closed. Leave both open.")
    if isinstance(sys.stdout, TextIOWrapper) and sys.stdout.errors in ("strict", "surrogateescape"):
        sys.stdout.reconfigure(errors="backslashreplace")
    if sys.stdin is None:
        sys.stdin = Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115 - for as long as the program runs


def _drop_output() -> None:
    """Redirect further output to the null device: its reader is gone, or the disk is full."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(text: str, code: int) -> int:
    with suppress(OSError, ValueError):
        print(f"outrider-engine: {text}", file=sys.stderr)
    return code


# Arguments ----------------------------------------------------------------------------------------------------------


_COMMANDS = {
    "generate": "write a reply",
    "chat": "hold a conversation in the terminal",
    "bench": "measure plain and speculative decoding",
    "models": "list the models of a folder and which of them can be paired",
    "search": "search the Hugging Face hub for models",
    "get": "download a model from the Hugging Face hub",
    "recommend": "name models that this machine carries, each with its draft",
    "alias": "name models as you like",
    "stored": "list the models that are here: their room, when they were used, what depends on them",
    "remove": "move a model to the system's bin",
    "presets": "list known pairs and which of them can be run",
    "calibrate": "measure the cost of a draft token and of a forward pass",
    "template": "print what a model reads of a conversation",
    "verify": "compute a reply again by its proof, and compare",
    "parse": "part a raw reply into reasoning, content and tool calls",
    "compile": "compile llama.cpp with Outrider's kernels into this Python",
    "convert-head": "make safetensors of pickled draft heads (.bin, .pt)",
    "train-head": "train a draft head for a model, from its own replies",
    "serve": "serve OpenAI's and Anthropic's interfaces on this machine",
    "tools": "list, add and switch servers of tools (MCP)",
    "connect": "set other programs to use the local server, and try it",
    "rpc-server": "lend this machine's processor and memory to others",
    "completion": "print the completion script of a shell",
}
_MODULES = {
    "completion": "engine.cli.arguments.completion",
    "convert-head": "engine.cli.convert_head",
    "rpc-server": "engine.cli.rpc_server",
    "train-head": "engine.cli.train_head",
}
"""The modules of commands that are not in the module of their name."""
_EXAMPLES = """\
examples:
  outrider-engine generate "Tell me a story about a shy dragon."
  outrider-engine chat -m big.gguf -d small.gguf
  outrider-engine models ~/models
"""


def make_parser(only: Sequence[str] | None = None) -> CommandParser:
    """Return the parser. `only`: the commands whose arguments are needed, None: all.

    What only one of them needs is imported for it alone: the others start at once.
    """
    description = "Speculative decoding for local language models."
    parser = CommandParser(prog="outrider-engine", description=description, epilog=_EXAMPLES)
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, help_ in _COMMANDS.items():
        command = commands.add_parser(name, help=help_, description=f"{help_[:1].upper()}{help_[1:]}.")
        if only is not None and name not in only:
            continue
        command.set_defaults(every_command=make_parser)
        _fill(command, _MODULES.get(name, f"engine.cli.{name}"), wanted=only is not None)
    return parser


def _fill(command: argparse.ArgumentParser, module: str, *, wanted: bool) -> None:
    """Add the arguments of a command. `wanted`: it is to be run. Raises NotAvailable."""
    try:
        importlib.import_module(module).add_arguments(command)
    except ModuleNotFoundError as error:
        if not wanted:
            return
        name, package = command.prog.rpartition(" ")[2], str(error.name).partition(".")[0]
        advice = f"the package {package} is not installed. Run: pip install 'outrider[server]'"
        raise NotAvailable(f"The command {name}", advice) from None
