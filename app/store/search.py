"""Search the full text of titles and messages: a person's text, in any form, becomes a safe query to SQLite."""

from __future__ import annotations

import re
import sqlite3
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.store.rows import text_of

_COLUMNS = {"messages_fts": "text", "beside_fts": "beside", "titles_fts": "title"}
INDEXES = tuple(_COLUMNS)
"""The search indexes: messages by their texts and by their parts' further texts, conversations by their titles."""
_INDEXES_OF = {"messages": ("messages_fts", "beside_fts"), "conversations": ("titles_fts",)}
_MOST_WORDS = 16
_NEWEST = 10_000
_BEFORE, _AFTER = 30, 90
_SPACELESS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")
"""Scripts that put no space between words (and Hangul, whose words have endings): FTS5 sees a line as one word."""


@dataclass(frozen=True, slots=True)
class SearchHit:
    """Hold a conversation that a search found. `message`: the message with the match, None if only the title has it.

    `snippet`: some words around it, on one line; `marks`: what is to be emphasised in it, as (start, length).
    """

    conversation: int
    message: int | None
    snippet: str
    marks: tuple[tuple[int, int], ...]


def quoted(words: Sequence[str]) -> str:
    """Return a question to FTS5: all of the words, in any order, each as the beginning of a word.

    No word is taken as an operator.

    Each word is one string of sqlite.org/fts5.html#fts5_strings, where marks within it separate as spaces do.
    """
    return " ".join(f'"{word}"*' for word in words)


def words_of(typed: str) -> list[str]:
    """Split a typed query into words. Punctuation is dropped, and so is everything after the sixteenth word."""
    parts = typed.encode("utf-8", "replace").decode("utf-8").replace('"', " ").replace("\0", " ").split()
    return [part for part in parts if any(sign.isalnum() for sign in part)][:_MOST_WORDS]


def search(connection: sqlite3.Connection, typed: str, limit: int) -> list[SearchHit]:
    """Return conversations with all words in the title or in one message: titles first, then the newest, one each."""
    words = words_of(typed)
    if not words:
        return []
    messages = {
        conversation: message
        for message, conversation in _matches(connection, words, "messages", _NEWEST_OF_EACH, limit)
    }
    titles = [row[0] for row in _matches(connection, words, "conversations", _TITLES, limit)]
    found = []
    for conversation in list(dict.fromkeys([*titles, *messages]))[:limit]:
        message = messages.get(conversation)
        text = ""
        if message is not None:
            # As bytes: damaged ones may be no text.
            select = "SELECT CAST(text AS BLOB), CAST(beside AS BLOB) FROM messages WHERE id = ?"
            row = connection.execute(select, (message,)).fetchone()
            texts = ["", ""] if row is None else [text_of(each) for each in row]
            text = texts[0] if _holds(texts[0], words) or not texts[1] else texts[1]
        found.append(SearchHit(conversation, message, *snippet(text, words)))
    return found


_NEWEST_OF_EACH = """
SELECT max(m.id), m.conversation FROM ({matching}) AS f
JOIN messages AS m ON m.id = f.id JOIN conversations AS c ON c.id = m.conversation
WHERE c.deleted IS NULL GROUP BY m.conversation ORDER BY 1 DESC LIMIT ?
"""
_TITLES = """
SELECT c.id FROM ({matching}) AS f JOIN conversations AS c ON c.id = f.id
WHERE c.deleted IS NULL ORDER BY c.updated DESC LIMIT ?
"""


def _matches(
    connection: sqlite3.Connection, words: Sequence[str], table: str, outer: str, limit: int
) -> Iterator[tuple[int, ...]]:
    """Return the rows of `outer` for the ids of `table` one of whose searched columns has all of the words."""
    spaced = [word for word in words if not _SPACELESS.search(word)]
    within = [word for word in words if _SPACELESS.search(word)]
    indexes = _INDEXES_OF[table]
    # Of a word that nearly every message has, the newest are enough.
    newest = f"SELECT rowid AS id FROM {{0}} WHERE {{0}} MATCH ? ORDER BY rowid DESC LIMIT {_NEWEST}"  # noqa: S608
    matching = " UNION ".join(f"SELECT id FROM ({newest.format(index)})" for index in indexes)  # noqa: S608
    values: list[str | int] = [quoted(spaced)] * len(indexes) if spaced else []
    if within:
        holds = " OR ".join(f"instr({_COLUMNS[index]}, ?)" for index in indexes)
        conditions = [*[f"({holds})"] * len(within), *([f"id IN ({matching})"] if spaced else [])]
        matching = f"SELECT id FROM {table} WHERE {' AND '.join(conditions)}"  # noqa: S608
        values = [*(word for word in within for _ in indexes), *values]
    return connection.execute(outer.format(matching=matching), (*values, limit))


def _holds(text: str, words: Sequence[str]) -> bool:
    """Return True if each of the words is found in a text."""
    plain = _bare(text)
    return all(re.search(_pattern(_bare(word)), plain, re.IGNORECASE) for word in words)


def snippet(text: str, words: Sequence[str]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Return the text around the first of the words on one line, and where words stand in it: (start, length) each."""
    if not text:
        return "", ()
    pattern = re.compile("|".join(_pattern(word) for word in sorted(words, key=len, reverse=True)), re.IGNORECASE)
    first = pattern.search(text)
    if first is None:
        pattern = re.compile("|".join(_pattern(_bare(word)) for word in words), re.IGNORECASE)
        first = pattern.search(_bare(text))
    at = 0 if first is None else first.start()
    start = _word_start(text, max(at - _BEFORE, 0))
    shown = " ".join(text[start : at + _AFTER].split())
    if start > 0:
        shown = f"… {shown}"
    if at + _AFTER < len(text):
        shown += "…"
    marks = tuple((hit.start(), hit.end() - hit.start()) for hit in pattern.finditer(_bare(shown)))
    return shown, marks or tuple((hit.start(), hit.end() - hit.start()) for hit in pattern.finditer(shown))


def _pattern(word: str) -> str:
    begins = "" if _SPACELESS.search(word) else r"(?<!\w)"
    return begins + r"[\W_]+".join(re.escape(part) for part in re.findall(r"\w+", word))


def _bare(text: str) -> str:
    """Return the text without accents, letter by letter: FTS5 is configured to ignore them."""
    return text if text.isascii() else "".join(unicodedata.normalize("NFD", sign)[0] for sign in text)


def _word_start(text: str, at: int) -> int:
    if at == 0 or text[at - 1].isspace():
        return at
    blank = text.find(" ", at, at + _BEFORE)
    return at if blank < 0 else blank + 1
