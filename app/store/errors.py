"""Define the errors of the store: one class per cause, each composing its own message."""

from __future__ import annotations

import errno
import shutil
import sqlite3
from pathlib import Path

from engine import Translatable


class StoreError(Exception):
    """Report any error of the store. `str()` of it is a sentence or two for a person. Attribute: path."""

    def __init__(self, path: Path, message: str) -> None:
        self.path = path
        super().__init__(message)


class StoreTooNew(StoreError):
    """Report that a newer version of the program wrote the file. It was not changed. Attributes: version, known."""

    def __init__(self, path: Path, version: int, known: int) -> None:
        self.version = version
        self.known = known
        super().__init__(
            path,
            Translatable(
                "The chats in {path} were written by a newer version of Outrider (format {version}; this version "
                "reads up to format {known}). Nothing was changed. Open them with the newer version.",
                path=path,
                version=version,
                known=known,
            ),
        )


class StoreDamaged(StoreError):
    """Report a file that is no store, or a damaged one. It was not changed."""

    def __init__(self, path: Path, reason: str) -> None:
        self.reason = reason
        super().__init__(
            path,
            Translatable(
                "The chats in {path} cannot be read: {reason}. Restore the file from a backup, or move it away "
                "to start with an empty list.",
                path=path,
                reason=reason,
            ),
        )


class StoreNotOpen(StoreError):
    """Report a folder or file that cannot be read, made or written. Attribute: reason."""

    def __init__(self, path: Path, reason: str) -> None:
        self.reason = reason
        super().__init__(
            path,
            Translatable(
                "Cannot open the chats in {path}: {reason}. Make the folder and the file writable.",
                path=path,
                reason=reason,
            ),
        )


class NoRoomForStore(StoreError):
    """Report that there is not even space to open the file."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            path,
            Translatable(
                "Cannot open the chats in {path}: the disk is full. Free some space and restart Outrider.",
                path=path,
            ),
        )


class StoreInUse(StoreError):
    """Report that another program has the store."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            path,
            Translatable(
                "Another program is using the chats in {path}. Close the other instance of Outrider and start again.",
                path=path,
            ),
        )


class NotSaved(StoreError):
    """Report that something could not be written; it is kept in memory and tried again. Base of its causes."""


class DiskFull(NotSaved):
    """Report that there is no space left."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            path,
            Translatable(
                "The disk that holds {parent} is full, so recent changes are not saved yet. Free some space: "
                "Outrider then saves them automatically while it is open.",
                parent=path.parent,
            ),
        )


class NotWritable(NotSaved):
    """Report that writing failed for another reason. Attribute: reason."""

    def __init__(self, path: Path, reason: str) -> None:
        self.reason = reason
        super().__init__(
            path,
            Translatable(
                "Recent changes cannot be saved in {parent}: {reason}. Outrider tries again every few seconds "
                "while it is open.",
                parent=path.parent,
                reason=reason,
            ),
        )


class ChangeRefused(StoreError):
    """Report a change that the store left out as senseless: a mistake of the program. Attribute: reason."""

    def __init__(self, path: Path, reason: str) -> None:
        self.reason = reason
        super().__init__(path, Translatable("A change could not be saved: {reason}.", reason=reason))


def opening_error(path: Path, error: sqlite3.Error | OSError) -> StoreError:
    """Return the error for a person when a store could not be opened or read."""
    if isinstance(error, OSError):
        if error.errno == errno.ENOSPC:
            return NoRoomForStore(path)
        return StoreNotOpen(path, error.strerror or type(error).__name__)
    code = _code(error)
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreInUse(path)
    if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_AUTH):
        return StoreNotOpen(path, str(error))
    if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and _is_full(path)):
        return NoRoomForStore(path)
    if code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_PROTOCOL):
        return StoreNotOpen(path, str(error))
    return StoreDamaged(path, str(error))


def writing_error(path: Path, error: Exception) -> StoreError:
    """Return the error for a person when something could not be written."""
    code = _code(error)
    if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and _is_full(path)):
        return DiskFull(path)
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return NotWritable(path, Translatable("the file is damaged ({reason})", reason=error))
    if code in _PASSING:
        return NotWritable(path, str(error))
    return ChangeRefused(path, str(error))


_LITTLE = 2**20
_PASSING = (
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_PROTOCOL,
)


def _is_full(path: Path) -> bool:
    # SQLite gives a quota, and a limit for the size of a file, the name of a general I/O error.
    try:
        return shutil.disk_usage(path.parent).free < _LITTLE
    except OSError:
        return False


def _code(error: Exception) -> int:
    # SQLite's primary result code is the low byte (sqlite.org/rescode.html).
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
