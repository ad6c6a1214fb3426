"""Convert messages to rows of the store, and rows to messages."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from app.state.conversations.conversation import StoredMessage, clean

COLUMNS = "id, parent, role, text, created, status, target, draft, settings, stats, finish_reason, problem, chosen"


def row_of(message: StoredMessage) -> tuple[object, ...]:
    """Return a message as its row."""
    return (
        message.id,
        message.parent,
        message.role,
        clean(message.text),
        message.created,
        message.status,
        clean(message.target),
        clean(message.draft),
        json.dumps(message.settings),
        None if message.stats is None else json.dumps(message.stats),
        message.finish_reason,
        None if message.problem is None else clean(message.problem),
        message.chosen,
    )


def message_of(row: tuple[object, ...]) -> StoredMessage:
    """Return a row as its message. Raises sqlite3.DatabaseError where it is damaged."""
    values = list(row)
    try:
        settings = json.loads(values[8])  # type: ignore[arg-type]
        stats = None if values[9] is None else json.loads(values[9])  # type: ignore[arg-type]
    except (ValueError, TypeError, RecursionError) as error:
        raise sqlite3.DatabaseError("a message is damaged") from error
    if not (isinstance(values[3], str) and isinstance(settings, dict) and isinstance(stats, dict | None)):
        raise sqlite3.DatabaseError("a message is damaged")
    values[8], values[9] = settings, stats
    return StoredMessage(*values)  # type: ignore[arg-type]


def settings_of(told: object) -> dict[str, Any]:
    """Return a conversation's generation settings as stored. Unreadable values count as none."""
    try:
        settings = json.loads(told) if isinstance(told, str) else None
    except (ValueError, RecursionError):
        settings = None
    return settings if isinstance(settings, dict) else {}
