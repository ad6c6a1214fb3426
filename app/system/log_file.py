"""Log errors in a small file that is replaced when it is full. Never log a word of a conversation.

Nothing is opened before the window is on screen: what is logged until then is kept and written afterwards.
"""

from __future__ import annotations

import logging
import platform
import re
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from app.system.places import is_frozen
from engine import __version__
from engine.host import private_file, private_folder

LOGGER = logging.getLogger("outrider")
"""The program's logger. Other libraries' logs are left out: they may quote anything."""
LOGGER.addHandler(logging.NullHandler())

FILE_NAME = "outrider.log"
_LARGEST = 1_000_000
_OLD_FILES = 2
_MOST_KEPT = 200
_SAYS_NO_TEXT = (ArithmeticError, AttributeError, ImportError, MemoryError, NameError, OSError, TypeError)
"""Errors whose messages concern the program or the system. Others may quote their input."""
_ADDRESS = re.compile(r"\b(?!file:|qrc:)[a-z][a-z0-9+.-]*:(?://)?[^\s'\"]{3,}", re.IGNORECASE)
_QUOTED = re.compile(r"\"[^\"]*\"|(?<!\w)'[^']*'(?!\w)")


class ProgramLog:
    """Write the log of one run. Attribute: path. Where it cannot be written, the program runs without one."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE_NAME
        self._kept = _Kept()
        self._file: logging.Handler | None = None

    def begin(self) -> None:
        """Begin to keep everything for the log."""
        LOGGER.setLevel(logging.INFO)
        LOGGER.propagate = False
        LOGGER.addHandler(self._kept)

    def open(self, qt_version: str = "") -> None:
        """Open the file, and write the kept records after a line about the program and the system."""
        if self._file is not None:
            return
        self._file = _make_handler(self.path)
        LOGGER.removeHandler(self._kept)
        LOGGER.addHandler(self._file)
        LOGGER.info("%s", about(qt_version))
        for record in self._kept.records:
            LOGGER.handle(record)
        self._kept.records.clear()

    def close(self) -> None:
        """Close the log at the end of the run. What was kept is written even now if it matters."""
        if self._kept.records:
            self.open()
        LOGGER.removeHandler(self._kept)
        LOGGER.propagate = True
        LOGGER.setLevel(logging.NOTSET)
        if self._file is not None:
            LOGGER.removeHandler(self._file)
            self._file.close()


def about(qt_version: str = "") -> str:
    """Return the versions and the system, for the log and for reports."""
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    frozen = "yes" if is_frozen() else "no"
    libraries = f"Python {sys.version.split()[0]}" + (f" · Qt {qt_version}" if qt_version else "")
    return f"Outrider {__version__} · frozen: {frozen} · {libraries} · {system}"


def note_error(error: BaseException) -> None:
    """Log an unexpected error: its place, without quoted contents."""
    LOGGER.error("%s", trace_of(error))


def trace_of(error: BaseException) -> str:
    """Return the trace of an error without its message, which may quote a conversation."""
    return "\n".join(_trace(error))


def without_home(text: str) -> str:
    """Return a text in which the user's folder is `~`: its name is private."""
    try:
        home = Path.home()
        names = {str(home), str(home.resolve())}
    except (OSError, RuntimeError):  # nobody's
        return text
    for name in names:
        if len(name) > 1:
            text = re.sub(re.escape(name) + r"(?![\w.-])", "~", text)
    return text


def without_quotes(message: str) -> str:
    """Return a message of a library without addresses and quoted texts, which may come from a conversation."""
    return _QUOTED.sub(lambda found: "<text>" if " " in found[0] else found[0], _ADDRESS.sub("<address>", message))


def _trace(error: BaseException) -> Iterator[str]:
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        said = f": {link}" if isinstance(link, _SAYS_NO_TEXT) else ""
        yield f"{type(link).__module__}.{type(link).__qualname__}{said}"
        yield "".join(traceback.format_tb(link.__traceback__)).rstrip()
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)


class _Line(logging.Formatter):
    """Format a line of the log."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a record without the name of the user."""
        return without_home(super().format(record))


class _Kept(logging.Handler):
    """Keep records until there is a file."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        if len(self.records) < _MOST_KEPT:
            self.records.append(record)


def _make_handler(path: Path) -> logging.Handler:
    from logging.handlers import RotatingFileHandler  # noqa: PLC0415 - it takes 20 ms, and not before the first paint

    class Quiet(RotatingFileHandler):
        """Ignore that a log cannot be written: this is nobody's problem."""

        def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
            """Ignore the error."""

        def _open(self) -> Any:
            private_file(path)
            return super()._open()

    try:
        private_folder(path.parent)
    except OSError:
        return logging.NullHandler()
    handler = Quiet(path, maxBytes=_LARGEST, backupCount=_OLD_FILES, encoding="utf-8", errors="replace", delay=True)
    handler.setFormatter(_Line("%(asctime)s %(levelname)s %(message)s"))
    return handler
