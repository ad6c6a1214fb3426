"""Keep small files in the user's cache: read with suspicion, written whole or not at all, never too many of them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from engine.system.files import private_folder, tighten, write_whole

_MOST_BYTES = 256 * 2**20
_OLD_S = 60.0


def cache_folder() -> Path:
    """Return the user's cache folder of this program: all of it saves time, none is needed. It may not exist."""
    return user_cache_path("outrider")


def tighten_cache() -> None:
    """Take the user's cache from all others, where an earlier version left it open to them."""
    folder = cache_folder()
    inside = folder.iterdir() if folder.is_dir() else ()
    tighten(*(path for path in inside if path.is_dir() and not path.is_symlink()), folder)


def library_place() -> Path:
    """Return the folder of scan results. It may not exist."""
    return cache_folder() / "library"


def folder_key(folder: Path) -> str:
    """Return a file name for the data about a folder."""
    return hashlib.blake2b(os.fsencode(folder.absolute()), digest_size=16).hexdigest()


def read_file(path: Path) -> bytes:
    """Return the bytes of a file of ours. Raises OSError if it is no file, or too large to be ours."""
    if not path.is_file() or path.stat().st_size > _MOST_BYTES:
        raise FileNotFoundError(path)
    return path.read_bytes()


def read_json(path: Path) -> dict[str, Any]:
    """Return the JSON object of a file of ours; an empty one if it cannot be read."""
    try:
        data = json.loads(read_file(path))
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def write_file(path: Path, content: bytes) -> None:
    """Write a file of the cache, and the folders around it. Raises OSError."""
    private_folder(path.parent)
    tighten_cache()
    write_whole(path, content, lasting=False, private=True)
    _sweep(path.parent)


def _sweep(folder: Path) -> None:
    """Remove half-written files of killed programs, old enough that nobody is writing them."""
    now = datetime.now(UTC).timestamp()
    with suppress(OSError):
        for part in folder.glob(".*.part"):
            if now - part.stat().st_mtime > _OLD_S:
                part.unlink()


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Write a JSON object as a file of the cache. Raises OSError."""
    write_file(path, json.dumps(data).encode())


def forget_oldest(place: Path, suffix: str, most: int, most_bytes: int = _MOST_BYTES) -> None:
    """Remove the files of a kind that were written first, beyond so many or so many bytes. Raises OSError."""
    found = [(path.stat().st_mtime_ns, path.stat().st_size, path) for path in place.glob(f"*{suffix}")]
    total = 0
    for index, (_, size, path) in enumerate(sorted(found, reverse=True)):
        total += size
        if index >= most or total > most_bytes:
            path.unlink(missing_ok=True)
