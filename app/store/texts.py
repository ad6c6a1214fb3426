"""Read the texts of all chats for an index of them, on any thread, beside the store."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

_CHATS = """
SELECT c.id, max(m.id), count(*), sum(length(m.text)) FROM conversations c JOIN messages m ON m.conversation = c.id
WHERE c.deleted IS NULL AND ?1 IN (0, c.id) GROUP BY c.id ORDER BY c.updated DESC
"""
_MESSAGES = "SELECT text FROM messages WHERE conversation = ? AND text != '' ORDER BY id"


def texts_of(path: Path, chat: int = 0) -> list[tuple[str, str, Callable[[], str]]]:
    """Return the key, the version and the reader of each chat in a store, the latest first; [] if it is damaged.

    `chat`: of that one alone. A chat that cannot be read any more raises OSError when it is read.
    """
    try:
        with closing(_open(path)) as connection:
            rows = connection.execute(_CHATS, (chat,)).fetchall()
    except sqlite3.Error:
        return []
    return [
        (f"chat{number}", f"{last} {count} {size}", partial(_read, path, number)) for number, last, count, size in rows
    ]


def _read(path: Path, number: int) -> str:
    try:
        with closing(_open(path)) as connection:
            return "\n\n".join(text for (text,) in connection.execute(_MESSAGES, (number,)))
    except sqlite3.Error as error:
        raise OSError(str(error)) from error


def _open(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=2.0)
