"""Keep a store in memory, for a session that keeps nothing: it works where not even a temporary file can be written."""

from __future__ import annotations

import secrets
import sqlite3
from pathlib import Path

from app.store.connection import FilePlace
from app.store.schema import migrate
from app.store.store import Store


class NoPlace(FilePlace):
    """Be the place of a store without a file."""

    def is_disturbed(self) -> bool:
        """Return False: nobody can take it away."""
        return False


class MemoryStore(Store):
    """Keep a store in memory until it is closed. Its connections share one database (sqlite.org/sharedcache.html)."""

    def __init__(self, address: str) -> None:
        super().__init__(Path("memory"), _connect(address))
        self.place = NoPlace(self.path)
        self._address = address

    @classmethod
    def begin(cls) -> MemoryStore:
        """Return an empty one."""
        store = cls(f"file:outrider-{secrets.token_hex(8)}?mode=memory&cache=shared")
        migrate(store.connection)
        return store

    def _follow(self) -> None:
        """Read the same memory: no file can be taken away."""

    def another(self) -> Store:
        """Return another connection to the same memory."""
        return MemoryStore(self._address)


def _connect(address: str) -> sqlite3.Connection:
    connection = sqlite3.connect(address, uri=True, isolation_level=None)
    connection.execute("PRAGMA foreign_keys = ON")
    # Whoever reads neither waits for the one that writes nor stops it.
    connection.execute("PRAGMA read_uncommitted = ON")
    return connection
