"""Show messages without a console: a program for windows has none on Windows."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from typing import Any

_PARENT = -1
_CODE_PAGE = "utf-8"
_ERROR_BOX = 0x10


@contextlib.contextmanager
def spoken() -> Iterator[None]:
    """Show this block's output: in the console, in the parent's console, or in a message box.

    Afterwards `sys.stdout` and `sys.stderr` are files in any case, if only the one that forgets everything.
    """
    if sys.stdout is not None and sys.stderr is not None:
        yield
        return
    console = _parents_console()
    said = io.StringIO()
    out, err = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = out or console or said, err or console or said
    try:
        yield
    finally:
        if said.getvalue().strip():
            message_box(said.getvalue())
        nowhere = console or open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - it stays open to the end
        sys.stdout, sys.stderr = out or nowhere, err or nowhere


def message_box(text: str, *, error: bool = False) -> bool:
    """Show a text in a message box of Windows, and wait until it is closed. False: this is another system."""
    windows = _windows()
    if windows is None:
        return False
    windows.user32.MessageBoxW(None, text, "Outrider", _ERROR_BOX if error else 0)
    return True


def _parents_console() -> io.TextIOWrapper | None:
    windows = _windows()
    if windows is None or not windows.kernel32.AttachConsole(_PARENT):
        return None
    try:
        return open("CONOUT$", "w", encoding=_CODE_PAGE, errors="replace", buffering=1)  # noqa: PTH123 - a device
    except OSError:
        return None


def _windows() -> Any:
    """Return the libraries of Windows; None on another system."""
    if sys.platform != "win32":
        return None
    import ctypes  # noqa: PLC0415 - only needed where there is no console

    return ctypes.windll
