"""Writes a file whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path


def write_whole(path: Path, data: bytes) -> None:
    """Put `data` into the file, in place of what was there. Raises OSError; then the file is as it was before.

    When it returns the file outlasts the end of the program and, where the system can be asked for it, of the power.
    """
    if path.is_symlink() and path.exists():
        path = path.resolve()  # Some keep such a file elsewhere, and a link to it here.
    part = path.with_name(f".{path.stem[:32]}-{secrets.token_hex(4)}.part")
    try:
        with part.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileNotFoundError):
            part.chmod(path.stat().st_mode & 0o777)
        part.replace(path)
        _keep_name(path.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink()
        raise


def _keep_name(folder: Path) -> None:
    """Have it on the disk too under which name the file is. Windows has no way to ask for it."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
