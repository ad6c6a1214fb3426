"""Start the window, for `python -m app` and the program `outrider`.

Exit codes: 0 closed, or the window that has the same conversations was brought to the front; 1 the smoke test failed;
2 wrong usage or no display; 3 a damaged installation.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from app.system.console import spoken
from app.system.places import describe, restore_environment, tighten_folders
from app.system.single_instance import Call, Claim, NoAnswer, claim_or_call
from engine import InstallationDamaged, __version__
from engine.host import Installation, installation_folder, run_hidden_command

EXIT_UNUSABLE = 2
_NO_ANSWER = "another instance of Outrider has the chats open and does not respond. Quit it and start again."


class _Parser(argparse.ArgumentParser):
    """Report argument errors in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_UNUSABLE, f"{self.prog}: {message} (see {self.prog} --help)\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Show the window and stay until it is closed; return the exit code."""
    argv = list(sys.argv[1:] if arguments is None else arguments)
    hidden = run_hidden_command(argv)
    if hidden is not None:
        return hidden
    restore_environment()
    with spoken():
        args = _parse(argv)
        if args.paths:
            print(describe(args.settings), end="")  # noqa: T201 - this is what it is for
            return 0
    problem = _no_screen()
    try:
        installation = _check_files()
    except InstallationDamaged as damage:
        from app.system.damage_dialog import report  # noqa: PLC0415 - it is not needed in a program that is whole

        return report(damage, attended=not args.smoke_test, has_screen=problem is None)
    if problem is not None:
        print(f"outrider: {problem}", file=sys.stderr)  # noqa: T201 - there is no window to say it in
        return EXIT_UNUSABLE
    tighten_folders()
    try:
        claim = None if args.smoke_test else _claim(args)
    except NoAnswer:
        print(f"outrider: {_NO_ANSWER}", file=sys.stderr)  # noqa: T201 - there is no window to say it in
        return EXIT_UNUSABLE
    if claim is None and not args.smoke_test:
        with spoken():
            print("Outrider is already running: its window was brought to the front.")  # noqa: T201 - as above
        return 0
    # Before anything imports Qt.
    os.environ["QT_API"] = "pyside6"
    os.environ["PYQTGRAPH_QT_LIB"] = "PySide6"
    return _run(args, installation, claim)


def _claim(args: argparse.Namespace) -> Claim | None:
    """Return the hold on the conversations; None if another window has it and was called. Raises NoAnswer."""
    from app.store.store import default_path  # noqa: PLC0415 - the smoke test keeps nothing

    store = args.conversations or default_path()
    return claim_or_call(store.absolute(), Call.here(args.model, args.models_folder))


def _parse(argv: list[str]) -> argparse.Namespace:
    parser = _make_parser()
    args = parser.parse_args(argv)
    if args.smoke_test and args.model is not None:
        parser.error("the smoke test takes no MODEL: it begins with the bundled pair")
    return args


def _check_files() -> Installation | None:
    """Run the quick check of a frozen program's files; return None for any other. Raises InstallationDamaged."""
    folder = installation_folder()
    if folder is None:
        return None
    installation = Installation(folder)
    installation.check_files()
    return installation


def _run(args: argparse.Namespace, installation: Installation | None, claim: Claim | None) -> int:
    from app.settings.settings import SettingsFile  # noqa: PLC0415
    from app.shell.bootstrap import StartOptions, run  # noqa: PLC0415 - Qt is not imported before the hidden command had its turn
    from app.shell.smoke import make_script  # noqa: PLC0415

    settings_file = SettingsFile(args.settings) if args.settings else SettingsFile.default()
    script = None
    if args.smoke_test:
        # The smoke test is about the program as it comes, not about what this user chose.
        script = make_script(args.prompt, args.screenshot, args.models_folder)
        settings_file = SettingsFile(None)
    options = StartOptions(args.models_folder, None if args.model is None else args.model.absolute())
    return run(["outrider"], settings_file, options=options, installation=installation, claim=claim, script=script)


def _make_parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="outrider", description="Chat with local language models, with speculative decoding.")
    parser.add_argument("--version", action="version", version=f"Outrider {__version__}")
    parser.add_argument(
        "--paths",
        action="store_true",
        help="print where settings, data, logs and caches are, and whether the program is frozen",
    )
    parser.add_argument(
        "model", nargs="?", type=Path, metavar="MODEL", help="GGUF file to use as the target in this session"
    )
    parser.add_argument("--models-folder", type=Path, metavar="DIR", help="search this folder for models")
    parser.add_argument("--settings", type=Path, metavar="FILE", help="store the settings in this file")
    parser.add_argument("--conversations", type=Path, metavar="FILE", help="store the chats in this file")
    smoke = parser.add_argument_group("smoke test")
    smoke.add_argument(
        "--smoke-test",
        action="store_true",
        help="send a prompt to the bundled pair (and to the smallest model of DIR), print one line of JSON, and exit",
    )
    smoke.add_argument("--prompt", default="What is Outrider?", metavar="TEXT", help="prompt for the smoke test")
    smoke.add_argument("--screenshot", type=Path, metavar="FILE", help="save a screenshot of the smoke test's window")
    return parser


def _no_screen() -> str | None:
    """Return the reason that no window can be shown, if known before Qt fails (it would abort)."""
    if sys.platform != "linux" or os.environ.get("QT_QPA_PLATFORM"):
        return None
    if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        return None
    return "there is no display. Start it on a desktop, or set QT_QPA_PLATFORM=offscreen."


if __name__ == "__main__":
    sys.exit(main())
