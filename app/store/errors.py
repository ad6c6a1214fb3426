"""Define the errors of the store: one class per cause, each composing its own message."""

from __future__ import annotations

import errno
import shutil
import sqlite3
from pathlib import Path

from engine import Translatable
from engine.host import filled


class StoreError(Exception):
    """Report any error of the store. `str()` of it is a sentence or two for a person, `message` filled with `fields`.

    Attributes: path, reason (where the error has one).
    """

    reason: str = ""

    def __init__(self, message: str, path: Path, **fields: object) -> None:
        self.path = path
        vars(self).update(fields)
        super().__init__(filled(message, {"path": path} | fields))


class StoreTooNew(StoreError):
    """Report that a newer version of the program wrote the file. It was not changed. Attribute: version."""

    version: int

    def __init__(self, path: Path, version: int, known: int) -> None:
        super().__init__(
            "The chats in {path} were written by a newer version of Outrider (format {version}; this version "
            "reads up to format {known}). Nothing was changed. Open them with the newer version.",
            path=path,
            version=version,
            known=known,
        )


class StoreDamaged(StoreError):
    """Report a file that is no store, or a damaged one. It was not changed."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            "The chats in {path} cannot be read: {reason}. Restore the file from a backup, or move it away "
            "to start with an empty list.",
            path=path,
            reason=reason,
        )


class TraceDamaged(StoreDamaged):
    """Report the record of a reply's tokens that is not as it was written. Its text is another matter."""

    def __init__(self, path: Path) -> None:
        StoreError.__init__(
            self, "The record of this reply’s tokens in {path} is damaged, so it cannot be shown.", path=path
        )


class SearchDamaged(StoreDamaged):
    """Report that the index of the search is damaged. It is made from the messages, and can be made again."""

    def __init__(self, path: Path) -> None:
        StoreError.__init__(
            self,
            "The search index of the chats in {path} is damaged. Outrider is building it again: repeat the search "
            "in a moment.",
            path=path,
        )


class StoreNotOpen(StoreError):
    """Report a folder or file that cannot be read, made or written."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            "Cannot open the chats in {path}: {reason}. Make the folder and the file writable.",
            path=path,
            reason=reason,
        )


class NoRoomForStore(StoreError):
    """Report a disk without space to even open the file."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            "Cannot open the chats in {path}: the disk is full. Free some space and restart Outrider.", path=path
        )


class StoreInUse(StoreError):
    """Report that another program has the store."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            "Another program is using the chats in {path}. Close the other instance of Outrider and start again.",
            path=path,
        )


class NotSaved(StoreError):
    """Report a failed write; the change is kept in memory and tried again. Base of its causes."""


class DiskFull(NotSaved):
    """Report a full disk."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            "The disk that holds {parent} is full, so recent changes are not saved yet. Free some space: "
            "Outrider then saves them automatically while it is open.",
            path=path,
            parent=path.parent,
        )


class NotWritable(NotSaved):
    """Report that writing failed for another reason."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            "Recent changes cannot be saved in {parent}: {reason}. Outrider tries again every few seconds "
            "while it is open.",
            path=path,
            parent=path.parent,
            reason=reason,
        )


class StoreRestored(StoreError):
    """Report that the file was deleted or replaced while it was in use, and written again, with everything in it.

    Attribute: aside (where what had taken its place is now; None: nothing had).
    """

    aside: Path | None

    def __init__(self, path: Path, aside: Path | None) -> None:
        if aside is None:
            super().__init__(
                "The file of the chats, {path}, was deleted while Outrider was running. Outrider has written it again; "
                "nothing is lost.",
                path=path,
                aside=aside,
            )
        else:
            super().__init__(
                "The file of the chats, {path}, was replaced while Outrider was running. Outrider has written it "
                "again; what had replaced it is now in {aside}.",
                path=path,
                aside=aside,
            )


class ChangeRefused(StoreError):
    """Report a change that the store left out as senseless: a mistake of the program."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__("A change could not be saved: {reason}.", path=path, reason=reason)


UNREADABLE = (sqlite3.Error, UnicodeDecodeError, MemoryError)
"""The errors of reading a damaged file: a message of SQLite that quotes damaged bytes, say, is no UTF-8 either."""


def is_damage(error: Exception) -> bool:
    """Return True if an error of reading or writing says that the file is damaged, as against locked, full or gone."""
    code = _code(error)
    if isinstance(error, sqlite3.DatabaseError) and code:
        return code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
    # The module's own error about bytes that are no text has no code.
    return type(error) is sqlite3.OperationalError or isinstance(error, UnicodeDecodeError)


def is_senseless(error: Exception) -> bool:
    """Return True if SQLite made no sense of a question of ours: then the text of its schema is damaged."""
    return _code(error) == sqlite3.SQLITE_ERROR


def opening_error(path: Path, error: Exception) -> StoreError:
    """Return the error for a person when a store could not be opened or read."""
    if isinstance(error, OSError):
        full = error.errno == errno.ENOSPC
        return NoRoomForStore(path) if full else StoreNotOpen(path, error.strerror or type(error).__name__)
    if isinstance(error, MemoryError):
        return StoreNotOpen(path, Translatable("there is not enough memory"))
    code = _code(error)
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreInUse(path)
    if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and _is_full(path)):
        return NoRoomForStore(path)
    if code in _OUT_OF_REACH:
        return StoreNotOpen(path, str(error))
    return StoreDamaged(path, _damage(error))


def writing_error(path: Path, error: Exception) -> StoreError:
    """Return the error for a person when something could not be written."""
    if isinstance(error, OSError):
        full = error.errno == errno.ENOSPC
        return DiskFull(path) if full else NotWritable(path, error.strerror or type(error).__name__)
    code = _code(error)
    if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and _is_full(path)):
        return DiskFull(path)
    if isinstance(error, MemoryError):
        return NotWritable(path, Translatable("there is not enough memory"))
    if is_damage(error):
        return NotWritable(path, _damage(error))
    if code in _PASSING:
        return NotWritable(path, str(error))
    return ChangeRefused(path, str(error))


_LITTLE = 2**20
_OUT_OF_REACH = (
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_AUTH,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_PROTOCOL,
)
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


def _damage(error: Exception) -> str:
    """Return SQLite's complaint about a file, on one line."""
    if not _code(error):
        # The interpreter's words quote the bytes that should have been a text, which may be from a chat.
        return Translatable("the file is damaged")
    return Translatable("the file is damaged ({reason})", reason=" ".join(str(error).split()))


def _is_full(path: Path) -> bool:
    # SQLite gives a quota, and a limit for the size of a file, the name of a general I/O error.
    try:
        return shutil.disk_usage(path.parent).free < _LITTLE
    except OSError:
        return False


def _code(error: Exception) -> int:
    # SQLite's primary result code is the low byte (sqlite.org/rescode.html).
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
