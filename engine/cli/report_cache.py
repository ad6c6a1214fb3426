"""The report on a folder, kept as it was printed: while no file changes, the next one is the same.

It needs neither the figures nor the vocabularies of the models, so that nothing heavy is imported for it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from engine._version import __version__
from engine.library.walk import FoundModel, expanded
from engine.system.cache_files import folder_key, forget_oldest, library_place, read_file, write_file
from engine.system.extras import extra_installed

_FORMAT = 1
"""Counts up when a report says something else than it did."""
_MOST_REPORTS = 16


def state_of(folder: str | Path, found: Sequence[FoundModel]) -> str:
    """Equal while a report on the folder would say the same."""
    facts = (_FORMAT, __version__, extra_installed(), str(folder))
    summary = hashlib.blake2b(repr(facts).encode("utf-8", "surrogatepass"), digest_size=20)
    for item in found:
        line = f"{item.path}\0{item.kind}\0{item.problem}\0{item.stamps}\n"
        summary.update(line.encode("utf-8", "surrogatepass"))
    return summary.hexdigest()


def remembered_report(folder: str | Path, state: str) -> str | None:
    """The report that was printed in this state, or None."""
    try:
        known, _, text = read_file(_path(folder)).partition(b"\n")
        return text.decode() if known == state.encode() else None
    except (OSError, ValueError):
        return None


def remember_report(folder: str | Path, state: str, text: str) -> None:
    """Keep a report. Does nothing where it cannot write."""
    try:
        path = _path(folder)
        write_file(path, f"{state}\n{text}".encode())
        forget_oldest(path.parent, path.suffix, _MOST_REPORTS)
    except (OSError, ValueError):
        return


def _path(folder: str | Path) -> Path:
    return library_place() / f"{folder_key(expanded(folder))}.report"
