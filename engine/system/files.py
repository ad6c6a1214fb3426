"""Expand paths as people write them, and write files whole or not at all."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path


def expanded(path: str | Path) -> Path:
    """Return a path in which `~` is the home folder, and `~name` that of a user, where there is one."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def write_whole(path: Path, data: bytes, *, lasting: bool = True, private: bool = False) -> None:
    """Put `data` into the file, in place of what was there. Raises OSError; then the file is as it was before.

    Whoever reads it sees the old content or the new one. `lasting`: when this returns the file outlasts the end of the
    program and, where the system can be asked for it, of the power. `private`: a new file is for its owner alone.
    """
    if path.is_symlink() and path.exists():
        path = path.resolve()  # Some keep such a file elsewhere, and a link to it here.
    part = path.with_name(f".{path.stem[:32]}-{secrets.token_hex(4)}.part")
    try:
        if private:
            part.touch(0o600, exist_ok=False)
        with part.open("wb" if private else "xb") as file:
            file.write(data)
            if lasting:
                file.flush()
                os.fsync(file.fileno())
        with suppress(FileNotFoundError):
            part.chmod(path.stat().st_mode & 0o777)
        part.replace(path)
        if lasting:
            _keep_name(path.parent)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise


def _keep_name(folder: Path) -> None:
    """Have it on the disk too under which name the file is. Windows has no way to ask for it."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
