"""Connect to the file of the store, hold the lock beside it, and write the file again where it was taken away."""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
import stat
import sys
import time
from pathlib import Path

from app.store.errors import StoreInUse
from engine.host import private_file, private_folder

_WAIT_S = 2.0
_LOCK_S = 0.25
"""The time of retries for a lock, while the window waits: a network disk refuses one now and then."""
_LOOK_S = 0.01
_NO_DATABASE = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)


def connect(path: Path) -> sqlite3.Connection:
    """Open the file. Raises whatever SQLite makes of it: see `app.store.errors.UNREADABLE`."""
    # It is there: where it was taken away meanwhile, SQLite must not begin an empty one.
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=_WAIT_S, isolation_level=None)
    try:
        _use_log(connection)
        # A kill of the program loses nothing that was committed; a power cut may lose the last commits, never more.
        connection.execute("PRAGMA synchronous = NORMAL")
        # Only `Store.merge_log` waits for the disk, when nothing else is to be written.
        connection.execute("PRAGMA wal_autocheckpoint = 0").fetchone()
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON").fetchone()
        connection.execute("PRAGMA journal_size_limit = 4194304").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _use_log(connection: sqlite3.Connection) -> None:
    """Turn write-ahead logging on; for the locks of that SQLite does not wait by itself."""
    limit = time.monotonic() + _LOCK_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > limit:
                raise
        time.sleep(_LOOK_S)


def log_file(path: Path) -> Path:
    """Return the write-ahead log of the store at `path`."""
    return path.with_name(f"{path.name}-wal")


def _log_files(path: Path) -> tuple[Path, Path]:
    """Return the log of the store at `path`, and SQLite's index of it."""
    return log_file(path), path.with_name(f"{path.name}-shm")


class FilePlace:
    """Identify the file of an open store, and detect its removal."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._own = _identity(path)
        self._own_log: tuple[int, int] | None = None

    def is_gone(self) -> bool:
        """Return True if the file was removed: later writes are lost with the program."""
        return _identity(self.path) != self._own

    def is_new(self) -> bool:
        """Return True if there is another file in its place."""
        return _identity(self.path) not in (self._own, None)

    def is_disturbed(self) -> bool:
        """Return True if the file or its log was taken away. For the connection that writes."""
        log = _identity(log_file(self.path))
        if self._own_log is None:
            self._own_log = log
        return self.is_gone() or log != self._own_log

    def restore(self, connection: sqlite3.Connection) -> Path | None:
        """Write all that a connection to the old file sees into a new one in its place.

        Returns where something that had taken its place is now, None if nothing had. Raises OSError, sqlite3.Error:
        then the connection still has everything.
        """
        path = self.path
        private_folder(path.parent)
        part = path.with_name(f".{path.stem}-{secrets.token_hex(4)}.part")
        try:
            part.touch(0o600, exist_ok=False)
            with contextlib.closing(sqlite3.connect(part)) as copy:
                connection.backup(copy)
            aside = _put_aside(path) if os.path.lexists(path) and self.is_gone() else None
            for name in _log_files(path):
                # They belong to the file that was here.
                if name.is_dir():
                    _put_aside(name)
                else:
                    name.unlink(missing_ok=True)
            part.replace(path)
        except BaseException:
            for suffix in ("", "-wal", "-shm", "-journal"):
                with contextlib.suppress(OSError):
                    part.with_name(part.name + suffix).unlink()
            raise
        return aside


def _identity(path: Path) -> tuple[int, int] | None:
    """Identify a file among others of its name at other times; None if there is no file.

    None on Windows too, where a file that is open cannot be taken away.
    """
    if sys.platform == "win32":
        return None
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


def _put_aside(path: Path) -> Path:
    """Rename the file at `path`, without replacing another."""
    number = 1
    while os.path.lexists(aside := path.with_name(f"{path.name}.replaced-{number}")):
        number += 1
    return path.rename(aside)


def lock_file(path: Path) -> Path:
    """Return the file that is locked while the store at `path` is in use. Nothing is ever in it."""
    return path.with_name(f"{path.name}-lock")


def take_lock(path: Path) -> sqlite3.Connection:
    """Hold a lock that the system releases however this program ends: ids are counted here, by one program alone.

    Raises StoreInUse, and what `connect` raises.
    """
    for name in (lock_file(path), *_log_files(path)):
        if name.is_dir():
            # It is none of SQLite's, and would keep it from opening the file.
            _put_aside(name)
    try:
        return _take_lock(path)
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _NO_DATABASE:
            raise
    # Something else got into the lock file: it says nothing about the store.
    lock_file(path).write_bytes(b"")
    return _take_lock(path)


def _take_lock(path: Path) -> sqlite3.Connection:
    private_file(lock_file(path))
    lock = sqlite3.connect(lock_file(path), timeout=_LOCK_S, isolation_level=None)
    try:
        lock.execute("PRAGMA journal_mode = MEMORY").fetchone()
        lock.execute("BEGIN EXCLUSIVE")
    except BaseException as error:
        lock.close()
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
            raise StoreInUse(path) from error
        raise
    return lock
