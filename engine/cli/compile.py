"""Run `compile`: compile the pinned llama.cpp with this project's kernels into the Python that runs this program."""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import re
import shlex
import subprocess
import sys

from engine.errors import NotAvailable
from engine.system.llama_settings import shared_settings
from engine.translatable import Translatable

_PACKAGE = "llama-cpp-python"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--print", action="store_true", dest="only_print", help="print the command, run nothing")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Compile, or print the command that would. Raises NotAvailable if it cannot be done here; gives pip's code."""
    command = compile_command()
    if args.only_print:
        print(shlex.join(command))
        return 0
    if getattr(sys, "frozen", False):
        raise NotAvailable(
            Translatable("Compiling llama.cpp"), Translatable("this program brings its own, compiled with the kernels.")
        )
    if importlib.util.find_spec("pip") is None:
        raise NotAvailable(
            Translatable("Compiling llama.cpp"),
            "{python} has no pip. Run: {python} -m ensurepip",
            python=sys.executable,
        )
    print(f"Compiling llama.cpp {_version()} with Outrider's kernels: about five minutes on two cores.", flush=True)
    return subprocess.run(command, check=False).returncode


def compile_command() -> list[str]:
    """Return the command line: pip compiles the installed version anew, and CMake reads the kernels' hook."""
    return [
        *(sys.executable, "-m", "pip", "install", "--force-reinstall", "--no-deps", "--no-cache-dir"),
        *("--no-binary", _PACKAGE),
        *(f"--config-settings=cmake.define.{name}={value}" for name, value in shared_settings().items()),
        f"{_PACKAGE}=={_version()}",
    ]


def _version() -> str:
    """Return the version that this program is for: the pin of the wheel, or the installed version."""
    try:
        wanted = importlib.metadata.requires("outrider") or []
    except importlib.metadata.PackageNotFoundError:
        wanted = []
    pins = (re.fullmatch(rf"{_PACKAGE}\s*==\s*([\w.]+)", each) for each in wanted)
    return next((pin[1] for pin in pins if pin), None) or importlib.metadata.version(_PACKAGE)
