"""Remember on disk which files have passed their trial, so that it costs time once.

A memory that is missing, damaged or unwritable costs one trial more.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

from engine.system.cache_files import cache_folder, write_file

_REMEMBERED = 1024
"""Keys; two for each file."""


def state_of(path: Path) -> str:
    """Return a key for a file in its present state, whatever it is loaded with. Raises OSError."""
    status = path.stat()
    return f"{status.st_size} {status.st_mtime_ns} {os.fspath(path.absolute())}"


def has_passed(key: str) -> bool:
    """Return True if the trial of this key has passed."""
    return key in _passed()


def remember_passed(*keys: str) -> None:
    """Remember that it passed, forgetting the oldest beyond some hundreds. Does nothing if it cannot write."""
    kept = [*[known for known in _passed() if known not in keys], *keys][-_REMEMBERED:]
    with suppress(OSError):
        write_file(_passed_path(), json.dumps({"passed": kept}).encode())


def _passed() -> list[str]:
    try:
        loaded = json.loads(_passed_path().read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return []
    passed = loaded.get("passed") if isinstance(loaded, dict) else None
    return [key for key in passed if isinstance(key, str)] if isinstance(passed, list) else []


def _passed_path() -> Path:
    return cache_folder() / "passed.json"
