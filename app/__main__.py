"""`python -m app`: the window."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from engine import __version__, run_hidden_command

EXIT_UNUSABLE = 2


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_UNUSABLE, f"{self.prog}: {message} (see {self.prog} --help)\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Show the window and stay until it is closed; gives the exit code."""
    argv = list(sys.argv[1:] if arguments is None else arguments)
    hidden = run_hidden_command(argv)
    if hidden is not None:
        return hidden
    args = _make_parser().parse_args(argv)
    problem = _no_screen()
    if problem is not None:
        print(f"outrider: {problem}", file=sys.stderr)  # noqa: T201 - there is no window to say it in
        return EXIT_UNUSABLE
    # Before anything imports Qt.
    os.environ["QT_API"] = "pyside6"
    os.environ["PYQTGRAPH_QT_LIB"] = "PySide6"
    return _run(args)


def _run(args: argparse.Namespace) -> int:
    from app.bootstrap import run  # noqa: PLC0415 - Qt is not imported before the hidden command had its turn
    from app.settings import SettingsFile  # noqa: PLC0415
    from app.smoke import make_script  # noqa: PLC0415

    settings_file = SettingsFile(args.settings) if args.settings else SettingsFile.default()
    if args.smoke_test:
        # The smoke test is about the program as it comes, not about what this user chose.
        script = make_script(args.prompt, args.screenshot)
        return run(["outrider"], SettingsFile(None), script=script)
    return run(["outrider"], settings_file, models_folder=args.models_folder)


def _make_parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="outrider", description="Chat with local language models, with speculative decoding.")
    parser.add_argument("--version", action="version", version=f"Outrider {__version__}")
    parser.add_argument("--models-folder", type=Path, metavar="DIR", help="look for GGUF models there")
    parser.add_argument("--settings", type=Path, metavar="FILE", help="keep the settings in this file")
    smoke = parser.add_argument_group("checking that it works")
    smoke.add_argument(
        "--smoke-test", action="store_true", help="send one prompt to the bundled pair, print a line of JSON, and end"
    )
    smoke.add_argument("--prompt", default="What is Outrider?", metavar="TEXT", help="the prompt of the smoke test")
    smoke.add_argument("--screenshot", type=Path, metavar="FILE", help="save a picture of the smoke test's window")
    return parser


def _no_screen() -> str | None:
    """Why no window can be shown, where that is known before Qt gives up on its own (it would abort)."""
    if sys.platform != "linux" or os.environ.get("QT_QPA_PLATFORM"):
        return None
    if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        return None
    return "there is no display. Start it on a desktop, or set QT_QPA_PLATFORM=offscreen."


if __name__ == "__main__":
    sys.exit(main())
