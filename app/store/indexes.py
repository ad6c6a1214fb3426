"""Build indexes again that are damaged: they are made from conversations and messages, so nothing is lost with them."""

from __future__ import annotations

import sqlite3

from app.store.salvage import damage_passed_over
from app.store.schema import make_search_again

_MOST_PAGES = 65_536
"""256 MB: comparing more would hold up those who want to write."""


def mend_index(connection: sqlite3.Connection) -> None:
    """Build the index of the messages again where it lacks some: their conversations would lack them too."""
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    if pages > _MOST_PAGES:
        return
    with damage_passed_over():
        table = "SELECT id, conversation FROM messages NOT INDEXED"
        index = "SELECT id, conversation FROM messages INDEXED BY messages_by_conversation WHERE conversation > 0"
        if connection.execute(f"{table} EXCEPT {index} LIMIT 1").fetchone() is not None:
            connection.execute("REINDEX messages")


def rebuild_search(connection: sqlite3.Connection) -> None:
    """Build the indexes of the search from titles and messages again, with their tables.

    SQLite describes those itself, and finds out only when it writes into them that their description is damaged.
    """
    make_search_again(connection)


def rebuild_indexes(connection: sqlite3.Connection) -> None:
    """Build all indexes again, those of the search too."""
    connection.execute("REINDEX")
    rebuild_search(connection)
