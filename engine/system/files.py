"""Expand paths as people write them; make files and folders for their owner alone; write files whole or not at all.

What this program keeps is nobody else's business, whatever the umask says: files have mode 0600, folders 0700. On
Windows the folders of a user's profile are private to begin with, and modes are left alone.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import sys
from contextlib import suppress
from pathlib import Path

_FILE, _FOLDER = 0o600, 0o700
_OWNER = 0o700
_HAS_MODES = sys.platform != "win32"


def expanded(path: str | Path) -> Path:
    """Return a path in which `~` is the home folder, and `~name` that of a user, if there is one."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def private_folder(folder: Path) -> None:
    """Make a folder, and those around it that are missing, for their owner alone. Raises OSError.

    One that is there keeps its mode: it may be somebody else's.
    """
    if folder.is_dir():
        return
    try:
        folder.mkdir(_FOLDER)
    except FileNotFoundError:
        if folder.parent.is_dir():
            raise
        private_folder(folder.parent)
        private_folder(folder)
    except FileExistsError:
        if not folder.is_dir():
            raise
    else:
        _set_mode(folder, _FOLDER)


def private_file(path: Path) -> None:
    """Make an empty file for its owner alone, or take one that is there from all others. Raises OSError."""
    # An existing file is not opened: closing it would release this process's locks on it.
    if path.exists():
        _take_from_others(path)
    else:
        path.touch(_FILE)
        _set_mode(path, _FILE)


def tighten(*folders: Path) -> None:
    """Take folders of ours, and the files in them, from all others: earlier versions left the modes to the umask.

    Does nothing if a folder is private already, and for what may not be changed.
    """
    for folder in folders:
        if not _is_open_to_others(folder):
            continue
        with suppress(OSError):
            for entry in os.scandir(folder):
                if entry.is_file(follow_symlinks=False):
                    _take_from_others(Path(entry))
        _take_from_others(folder)


def _is_open_to_others(path: Path) -> bool:
    try:
        return _HAS_MODES and bool(stat.S_IMODE(path.stat().st_mode) & ~_OWNER)
    except OSError:
        return False


def _take_from_others(path: Path) -> None:
    if _is_open_to_others(path):
        with suppress(OSError):
            path.chmod(path.stat().st_mode & _OWNER)


def _set_mode(path: Path, mode: int) -> None:
    """Set the mode of a new file, which an umask may have cut."""
    if _HAS_MODES and stat.S_IMODE(path.stat().st_mode) != mode:
        with suppress(OSError):
            path.chmod(mode)


def lock_alone(descriptor: int) -> None:
    """Lock an open file for this process, until it is closed. Raises OSError; BlockingIOError where another has it."""
    if sys.platform == "win32":
        import msvcrt  # noqa: PLC0415 - where it is

        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            raise BlockingIOError(errno.EAGAIN, "locked") from None
    else:
        import fcntl  # noqa: PLC0415 - where it is

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def write_whole(path: Path, data: bytes, *, lasting: bool = True, private: bool = False) -> None:
    """Replace the contents of the file with `data`. Raises OSError; then the file is as it was before.

    A device or a pipe is refused, not replaced. Whoever reads a file sees the old content or the new one. `lasting`:
    when this returns the file outlasts the end of the program and, where the system can be asked for it, of the power.
    A new file is for its owner alone; one that is there keeps its mode, of which `private` takes what others may do.
    """
    if path.is_symlink() and path.exists():
        path = path.resolve()  # Some keep such a file elsewhere, and a link to it here.
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "this is no file")  # Nobody's disk, pipe or /dev/null is replaced.
    part = path.with_name(f".{path.stem[:32]}-{secrets.token_hex(4)}.part")
    try:
        part.touch(_FILE, exist_ok=False)
        _set_mode(part, _FILE)
        with part.open("wb") as file:
            file.write(data)
            if lasting:
                file.flush()
                os.fsync(file.fileno())
        with suppress(FileNotFoundError):
            part.chmod(path.stat().st_mode & (_OWNER if private else 0o777))
        part.replace(path)
        if lasting:
            _keep_name(path.parent)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise


def _keep_name(folder: Path) -> None:
    """Flush the file's name to the disk too. Windows has no way to ask for it."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
