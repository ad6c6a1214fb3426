"""Run the command line: `python -m engine`, and the program `outrider-engine`."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn


def _leave(_signal: int, _frame: object) -> NoReturn:
    """End the process at once, without a traceback: a command's files on disk are whole at every moment."""
    os.write(2, b"outrider-engine: The request was cancelled.\n")
    os._exit(130)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and give its exit code. `arguments` None: those of the process."""
    # First of all: most of the time of a short command goes into its imports. Work that can be cancelled in an orderly
    # way hears Ctrl+C itself while it lasts.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)
    from engine.cli.main import main as run_command  # noqa: PLC0415 - see above

    return run_command(arguments)


if __name__ == "__main__":
    sys.exit(main())
