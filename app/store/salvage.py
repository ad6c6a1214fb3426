"""Read conversations from a damaged file: the readable parts in their places, and marked if they were changed.

Each first tries the short way, as for a sound file; only where that fails it goes row by row.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from app.state.conversations.conversation import UNFINISHED, Conversation, ConversationSummary, StoredMessage
from app.store.errors import UNREADABLE, is_damage
from app.store.rows import COLUMNS, checksum, lost_message, message_of, settings_of, text_of, time_of

_LARGEST_ID = 2**48
"""No real id is as large: they are counted from 1."""
_LINE = "SELECT id, title, created, updated, pinned, title_checksum, project FROM conversations"
_HEAD = (
    "SELECT id, title, created, updated, pinned, title_checksum, project, chosen, settings, settings_checksum, deleted "
    "FROM conversations"
)
_NOTHING = ("", 0.0, 0.0, 0, None, 0)
"""A line of which nothing can be read, behind its id."""
_COUNTS = "SELECT conversation, count(*) FROM messages GROUP BY conversation"
_MESSAGES = f"SELECT {COLUMNS} FROM messages"  # noqa: S608 - our columns


def summaries(connection: sqlite3.Connection) -> list[ConversationSummary]:
    """Return all conversations: pinned ones first, then by the last change, newest first."""
    try:
        rows = connection.execute(f"{_LINE} WHERE deleted IS NULL").fetchall()
        messages = dict(connection.execute(_COUNTS).fetchall())
        deleted = connection.execute(f"{_HEAD} WHERE deleted IS NOT NULL").fetchall()
        sound = all(checksum(row[0], row[1]) == row[5] for row in rows) and all(map(_is_deleted, deleted))
    except UNREADABLE as error:
        if not is_damage(error):
            raise
        rows, messages, sound = [], {}, False
    if not sound:
        rows, messages = _lines_left(connection)
    found = (_summary(row, messages.get(row[0], 0)) for row in rows)
    return sorted(found, key=lambda each: (each.pinned, each.updated, each.id), reverse=True)


def load(connection: sqlite3.Connection, conversation_id: int) -> Conversation | None:
    """Return a whole conversation with all of its branches, or None if there is none (any more)."""
    try:
        row = connection.execute(f"{_HEAD} WHERE id = ?", (conversation_id,)).fetchone()
        if row is not None and _is_deleted(row):
            return None
        messages = _messages(connection, conversation_id)
        if row is not None and _is_tree(messages):
            return _conversation(row, messages)
    except UNREADABLE as error:
        if not is_damage(error):
            raise
    return _load_what_is_left(connection, conversation_id)


def drafts(connection: sqlite3.Connection, conversation_id: int) -> dict[int, str]:
    """Return the unsent text of a conversation, as far as it can be read."""
    select = "SELECT part, text FROM drafts WHERE conversation = ?"
    with damage_passed_over(), _any_text(connection):
        return {part: text_of(text) for part, text in connection.execute(select, (conversation_id,))}
    return {}


def deleted(connection: sqlite3.Connection) -> list[int]:
    """Return the conversations that were deleted. One that only seems so, as its line is damaged, is none of them."""
    return [row[0] for row in connection.execute(f"{_HEAD} WHERE deleted IS NOT NULL") if _is_deleted(row)]


def _is_deleted(row: Sequence[Any]) -> bool:
    number, title, _, _, _, title_kept, _, _, settings, settings_kept, when = row
    if not isinstance(when, float) or when <= 0.0:
        return False
    return bool(checksum(number, title) == title_kept and checksum(number, settings) == settings_kept)


def keys(connection: sqlite3.Connection, table: str, key: str, where: str = "", *values: object) -> list[int]:
    """Return the numbers of the readable rows of a table, from both ends if there is a gap."""
    found: set[int] = set()
    for order in ("ASC", "DESC"):
        with damage_passed_over():
            rows = connection.execute(f"SELECT {key} FROM {table} {where} ORDER BY {key} {order}", values)  # noqa: S608
            # Those before the damage are kept.
            found.update(row[0] for row in rows)
            break
    return sorted(found)


@contextlib.contextmanager
def damage_passed_over() -> Iterator[None]:
    """End a `with` block at an error that says that the file is damaged; others go on."""
    try:
        yield
    except UNREADABLE as error:
        if not is_damage(error):
            raise


# The short way --------------------------------------------------------------------------------------------------------


def _summary(head: Sequence[Any], messages: int) -> ConversationSummary:
    number, title, created, updated, pinned, _, project = head[:7]
    project = project if isinstance(project, int) else 0
    times = time_of(created), time_of(updated)
    return ConversationSummary(number, text_of(title), *times, bool(pinned), messages, project)


def _messages(connection: sqlite3.Connection, conversation_id: int) -> list[StoredMessage]:
    rows = connection.execute(f"{_MESSAGES} WHERE conversation = ? ORDER BY id", (conversation_id,))
    messages = [message_of(row) for row in rows]
    for message in messages:
        if message.status in UNFINISHED:
            add_pieces(connection, message)
    return messages


def add_pieces(connection: sqlite3.Connection, message: StoredMessage) -> None:
    """Append the later pieces to a reply."""
    rows = connection.execute("SELECT text, checksum FROM pieces WHERE message = ? ORDER BY number", (message.id,))
    for text, kept in rows:
        message.text += text_of(text)
        # They were those of the shorter text.
        message.messages = ()
        message.damaged |= kept != checksum(message.id, text)


def _is_tree(messages: Iterable[StoredMessage]) -> bool:
    """Return True if each message has its parent before it, and each reply a question above it."""
    roles: dict[int | None, str] = {None: ""}
    for message in messages:
        above = roles.get(message.parent)
        if above is None or (message.role == "assistant" and above != "user"):
            return False
        roles[message.id] = message.role
    return True


def _conversation(row: Sequence[Any], messages: Iterable[StoredMessage]) -> Conversation:
    number, title, _, _, _, title_kept, _, chosen, settings, settings_kept, _ = row
    conversation = Conversation.from_messages(_summary(row, 0), chosen if isinstance(chosen, int) else None, messages)
    conversation.settings = settings_of(settings)
    if checksum(number, title) != title_kept:
        conversation.damaged.add("title")
    if checksum(number, settings) != settings_kept:
        conversation.damaged.add("settings")
    return conversation


# What is left ---------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _any_text(connection: sqlite3.Connection) -> Iterator[None]:
    """Read bytes that are no UTF-8 as far as they are."""
    connection.text_factory = lambda data: data.decode("utf-8", "replace")
    try:
        yield
    finally:
        connection.text_factory = str


def _row(connection: sqlite3.Connection, select: str, number: int) -> Any:
    """Return a row by its number; None if there is none, or it cannot be read."""
    with damage_passed_over(), _any_text(connection):
        return connection.execute(f"{select} WHERE id = ?", (number,)).fetchone()
    return None


def _lines_left(connection: sqlite3.Connection) -> tuple[list[Sequence[Any]], dict[int, int]]:
    """Salvage `summaries`; a conversation of which only messages are found has a line without a title."""
    counts: dict[int, int] = {}
    with damage_passed_over():
        # Those before the damage are kept.
        counts.update(connection.execute(_COUNTS))
    lines = []
    for number in sorted({*keys(connection, "conversations", "id"), *counts}):
        row = _row(connection, _HEAD, number) or (number, *_NOTHING)
        if len(row) == 1 + len(_NOTHING) or not _is_deleted(row):
            lines.append(row)
    return lines, counts


def _load_what_is_left(connection: sqlite3.Connection, conversation_id: int) -> Conversation | None:
    row = _row(connection, _HEAD, conversation_id)
    ids = _ids(connection, conversation_id)
    if (row is None and not ids) or (row is not None and _is_deleted(row)):
        return None
    messages = []
    for number in ids:
        message_row = _row(connection, _MESSAGES, number)
        message = lost_message(number, None) if message_row is None else message_of(message_row)
        if message.status in UNFINISHED:
            with damage_passed_over(), _any_text(connection):
                add_pieces(connection, message)
        messages.append((message, message_row is None))
    nothing = (conversation_id, *_NOTHING, None, "{}", None, 0)
    return _conversation(nothing if row is None else row, _tree(connection, messages))


def _ids(connection: sqlite3.Connection, conversation_id: int) -> list[int]:
    """Return the messages of a conversation that the index or the table itself knows."""
    found: set[int] = set()
    for source in ("messages", "messages NOT INDEXED"):
        found.update(keys(connection, source, "id", "WHERE conversation = ?", conversation_id))
    return sorted(found)


def _tree(connection: sqlite3.Connection, messages: Iterable[tuple[StoredMessage, bool]]) -> list[StoredMessage]:
    """Rebuild the tree of messages: those of unknown place below the one before; lost ones between are replaced."""
    found: dict[int, StoredMessage] = {}
    for message, lost in messages:
        before = next(reversed(found), None)
        if lost or (message.parent is not None and message.parent >= message.id):
            message.parent, message.damaged = before, True
        elif message.parent is not None and message.parent not in found:
            if _is_known(connection, message.parent) or message.parent < (before or 0):
                message.parent, message.damaged = before, True
            else:
                found[message.parent] = _fitted(lost_message(message.parent, before), found, lost=True)
        found[message.id] = _fitted(message, found, lost=lost)
    return list(found.values())


def _fitted(message: StoredMessage, found: dict[int, StoredMessage], *, lost: bool) -> StoredMessage:
    above = None if message.parent is None else found[message.parent].role
    if lost:
        message.role = "assistant" if above == "user" else "user"
    elif message.role == "assistant" and above != "user":
        # It would not be shown.
        message.role, message.damaged = "user", True
    return message


def _is_known(connection: sqlite3.Connection, number: int) -> bool:
    """Return True if a message has this number: of another conversation, as this one lacks it."""
    with damage_passed_over():
        return connection.execute("SELECT 1 FROM messages WHERE id = ?", (number,)).fetchone() is not None
    return False


def first_free_id(connection: sqlite3.Connection) -> int:
    """Return a number larger than every id of a conversation or message. Both count in one row."""
    largest = 0
    for table in ("conversations", "messages"):
        try:
            select = f"SELECT coalesce(max(id), 0) FROM {table} WHERE id < {_LARGEST_ID}"  # noqa: S608
            largest = max(largest, int(connection.execute(select).fetchone()[0]))
        except UNREADABLE as error:
            if not is_damage(error):
                raise
            largest = max([largest, *(each for each in keys(connection, table, "id") if each < _LARGEST_ID)])
    return largest + 1
