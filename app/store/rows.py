"""Convert messages to rows of the store, and rows to messages. A checksum detects changes on the disk."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from typing import Any
from zlib import crc32

from app.state.chat.messages import Messages, further_words, messages_from_json, messages_to_json
from app.state.conversations.conversation import ROLES, STATUSES, StoredMessage, clean
from engine import EngineError

COLUMNS = (
    "id, parent, role, text, created, status, target, draft, settings, stats, finish_reason, problem, chosen, "
    "checksum, parts"
)
"""The columns read of a message."""
WRITTEN = f"{COLUMNS}, beside"
"""The columns written of it: besides, the words that only its parts contain, for the search."""
DAMAGED = -1
"""The checksum of data known to be damaged: no real one is negative."""

_READ = json.JSONDecoder().raw_decode
"""Parses the output of `json.dumps`, ignoring anything around it."""
_LAST_DAY = 253_402_300_799  # the end of the year 9999, in seconds since 1970


def checksum(*values: object) -> int:
    """Return the CRC-32 of values, each as SQLite gives it: a number from 0 to 2**32 - 1."""
    return crc32("\0".join(map(str, values)).encode("utf-8", "surrogatepass"))


def checksum_of_trace(message_id: int, trace: bytes) -> int:
    """Return the CRC-32 of a reply's token record, and of its message."""
    return crc32(trace, message_id & 0xFFFF_FFFF)


def row_of(message: StoredMessage) -> tuple[object, ...]:
    """Return a message as its row."""
    values = (
        message.id,
        message.parent,
        message.role,
        clean(message.text),
        float(message.created),
        message.status,
        clean(message.target),
        clean(message.draft),
        json.dumps(message.settings),
        None if message.stats is None else json.dumps(message.stats),
        message.finish_reason,
        None if message.problem is None else clean(message.problem),
        message.chosen,
    )
    parts = json.dumps(messages_to_json(message.messages)) if message.messages else None
    # Status and branch change by themselves: they are checked by what they may be.
    kept = DAMAGED if message.damaged else checksum(*values[:5], *values[6:12], *([] if parts is None else [parts]))
    return (*values, kept, parts, clean(further_words(message.messages, message.text)))


def message_of(row: Sequence[Any]) -> StoredMessage:
    """Return a row as its message: whatever is in it. What is not as it was written is marked as damaged."""
    (
        number,
        parent,
        role,
        text,
        created,
        status,
        target,
        draft,
        settings,
        stats,
        reason,
        problem,
        chosen,
        kept,
        parts,
    ) = row
    summed = (
        f"{number}\0{parent}\0{role}\0{text}\0{created}\0{target}\0{draft}\0{settings}\0{stats}\0{reason}\0{problem}"
    )
    if parts is not None:
        summed = f"{summed}\0{parts}"
    if kept != crc32(summed.encode("utf-8", "surrogatepass")):
        return _message_of_damaged(row)
    # Nothing within is ever changed in place.
    values = dict(_settings(settings))
    figures = None if stats is None else _READ(stats)[0]
    if status not in STATUSES:
        status = "interrupted" if role == "assistant" else "done"
    if not isinstance(chosen, int):
        chosen = None
    message = StoredMessage(
        number, parent, role, text, created, status, target, draft, values, figures, reason, problem, chosen
    )
    if parts is not None:
        message.messages = _messages_of(parts)
    return message


@functools.lru_cache(maxsize=64)
def _settings(text: str) -> dict[str, Any]:
    """Return settings as JSON has them: most replies of a chat have the same."""
    settings: dict[str, Any] = json.loads(text)
    return settings


def _message_of_damaged(row: Sequence[Any]) -> StoredMessage:
    number, parent, role, text, created, status, target, draft, settings, stats, reason, problem, chosen, _, parts = row
    return StoredMessage(
        number,
        parent if isinstance(parent, int) else None,
        role if role in ROLES else "user",
        text_of(text),
        time_of(created),
        status if status in STATUSES else "done",
        text_of(target),
        text_of(draft),
        settings_of(settings),
        settings_of(stats) or None,
        text_of(reason) or None,
        text_of(problem) or None,
        chosen if isinstance(chosen, int) else None,
        damaged=True,
        messages=_messages_of(parts),
    )


def lost_message(number: int, parent: int | None) -> StoredMessage:
    """Make a stand-in for an unreadable message."""
    return StoredMessage(number, parent, "user", "", 0.0, damaged=True)


def settings_of(value: object) -> dict[str, Any]:
    """Return a conversation's generation settings as stored. Unreadable values count as none."""
    try:
        settings = json.loads(value) if isinstance(value, str) else None
    except (ValueError, RecursionError):
        settings = None
    return settings if isinstance(settings, dict) else {}


def _messages_of(value: object) -> Messages:
    """Return the messages beside a text as stored. Unreadable ones count as none."""
    try:
        return () if value is None else messages_from_json(json.loads(text_of(value)))
    except (ValueError, RecursionError, EngineError):
        return ()


def text_of(value: object) -> str:
    """Return a value as text; '' for other types."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str) else ""


def time_of(value: object) -> float:
    """Return a time that a date can be made of: seconds since 1970."""
    return float(value) if isinstance(value, int | float) and 0 <= value <= _LAST_DAY else 0.0
