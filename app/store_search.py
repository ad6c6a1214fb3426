"""Full-text search over titles and messages: what a person types, in any form, becomes a safe question to SQLite."""

from __future__ import annotations

import re
import sqlite3
from dataclasses import dataclass

_MOST_WORDS = 16
_BEGIN, _END = "\x02", "\x03"
_SNIPPET_WORDS = 16
_LOOKED_THROUGH = 2_000


@dataclass(frozen=True, slots=True)
class Found:
    """A conversation that has what was looked for. `message`: in which message, None where it is only in the title.

    `snippet`: some words around it, on one line; `marks`: what is to be emphasised in it, as (start, length).
    """

    conversation: int
    message: int | None
    snippet: str
    marks: tuple[tuple[int, int], ...]


def quoted(typed: str) -> str:
    """What was typed as a question to FTS5: all of the words, in any order, each as the beginning of a word.

    "" where no word was typed. Nothing of it is an operator (sqlite.org/fts5.html#fts5_strings).
    """
    return " ".join(f'"{word}"*' for word in _words(typed))


def _words(typed: str) -> list[str]:
    parts = typed.replace('"', " ").replace("\0", " ").split()
    return [part for part in parts if any(sign.isalnum() for sign in part)][:_MOST_WORDS]


def search(connection: sqlite3.Connection, typed: str, limit: int) -> list[Found]:
    """Conversations with all of the words, in the title or in one message: the newest hits first, one each."""
    asked = quoted(typed)
    if not asked:
        return []
    messages: dict[int, int] = {}
    for message, conversation in connection.execute(_MESSAGES, (asked, _LOOKED_THROUGH)):
        messages.setdefault(conversation, message)
    titles = [row[0] for row in connection.execute(_TITLES, (asked, limit))]
    order = list(dict.fromkeys([*titles, *messages]))[:limit]
    found = []
    for conversation in order:
        message = messages.get(conversation)
        text = ""
        if message is not None:
            row = connection.execute(_SNIPPET, (_BEGIN, _END, _SNIPPET_WORDS, asked, message)).fetchone()
            text = "" if row is None else row[0]
        found.append(Found(conversation, message, *_unmarked(text)))
    return found


_MESSAGES = """
SELECT f.rowid, m.conversation FROM messages_fts AS f
JOIN messages AS m ON m.id = f.rowid JOIN conversations AS c ON c.id = m.conversation
WHERE messages_fts MATCH ? AND c.deleted IS NULL ORDER BY f.rowid DESC LIMIT ?
"""
_TITLES = """
SELECT f.rowid FROM titles_fts AS f JOIN conversations AS c ON c.id = f.rowid
WHERE titles_fts MATCH ? AND c.deleted IS NULL ORDER BY c.updated DESC LIMIT ?
"""
_SNIPPET = "SELECT snippet(messages_fts, 0, ?, ?, '…', ?) FROM messages_fts WHERE messages_fts MATCH ? AND rowid = ?"


def _unmarked(text: str) -> tuple[str, tuple[tuple[int, int], ...]]:
    text = " ".join(text.split())
    plain = ""
    marks = []
    start = None
    for part in re.split(f"([{_BEGIN}{_END}])", text):
        if part == _BEGIN:
            start = len(plain)
        elif part == _END:
            if start is not None and len(plain) > start:
                marks.append((start, len(plain) - start))
            start = None
        else:
            plain += part
    return plain, tuple(marks)
