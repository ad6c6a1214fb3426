"""Define the tables of the store, version by version, and bring a file to the newest."""

from __future__ import annotations

import functools
import re
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path

from app.store.errors import UNREADABLE, StoreDamaged, StoreTooNew, is_damage
from app.store.rows import checksum, checksum_of_trace
from app.store.salvage import keys
from engine import Translatable

APPLICATION_ID = 0x4F757472
"""The identity of our files (sqlite.org/pragma.html#pragma_application_id): "Outr"."""

_HEADER = 100
_MAGIC = b"SQLite format 3\0"
_VERSION_AT = 60  # sqlite.org/fileformat.html, "User Version Number", big-endian
_APPLICATION_AT = 68
_LARGEST_VERSION = 9_999
_PAGE_SIZE_AT, _VERSIONS_AT, _FRACTIONS_AT = 16, 18, 20
_FORMAT_AT, _VACUUM_AT, _ENCODING_AT, _RESERVED = 44, 52, 56, slice(72, 92)
_ANOTHER = Translatable("it belongs to another program")
_HEADER_DAMAGED = Translatable("its first bytes are damaged")
_TABLES_DAMAGED = Translatable("the description of its tables is damaged")

_TABLES = """
CREATE TABLE conversations (
    id INTEGER PRIMARY KEY,
    title TEXT NOT NULL DEFAULT '',
    created REAL NOT NULL,
    updated REAL NOT NULL,
    pinned INTEGER NOT NULL DEFAULT 0,
    chosen INTEGER,
    deleted REAL
);
CREATE TABLE messages (
    id INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL REFERENCES conversations (id),
    parent INTEGER REFERENCES messages (id) CHECK (parent < id),
    role TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
    created REAL NOT NULL,
    status TEXT NOT NULL,
    chosen INTEGER,
    target TEXT NOT NULL DEFAULT '',
    draft TEXT NOT NULL DEFAULT '',
    settings TEXT NOT NULL DEFAULT '{}',
    stats TEXT,
    finish_reason TEXT,
    problem TEXT,
    text TEXT NOT NULL DEFAULT ''
);
CREATE INDEX messages_by_conversation ON messages (conversation);
CREATE INDEX messages_by_parent ON messages (parent) WHERE parent IS NOT NULL;
CREATE INDEX messages_unfinished ON messages (id) WHERE status IN ('waiting', 'writing');
CREATE TABLE pieces (
    number INTEGER PRIMARY KEY,
    message INTEGER NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
    text TEXT NOT NULL
);
CREATE INDEX pieces_by_message ON pieces (message);
CREATE TABLE traces (
    message INTEGER PRIMARY KEY REFERENCES messages (id) ON DELETE CASCADE,
    trace BLOB NOT NULL
);
"""

_SEARCH = """
CREATE VIRTUAL TABLE messages_fts USING fts5 (
    text, content = 'messages', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2', prefix = '1 2 3'
);
CREATE TRIGGER messages_inserted AFTER INSERT ON messages BEGIN
    INSERT INTO messages_fts (rowid, text) VALUES (new.id, new.text);
END;
CREATE TRIGGER messages_deleted AFTER DELETE ON messages BEGIN
    INSERT INTO messages_fts (messages_fts, rowid, text) VALUES ('delete', old.id, old.text);
END;
CREATE TRIGGER messages_changed AFTER UPDATE OF text ON messages BEGIN
    INSERT INTO messages_fts (messages_fts, rowid, text) VALUES ('delete', old.id, old.text);
    INSERT INTO messages_fts (rowid, text) VALUES (new.id, new.text);
END;
CREATE VIRTUAL TABLE titles_fts USING fts5 (
    title, content = 'conversations', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2', prefix = '1 2 3'
);
CREATE TRIGGER titles_inserted AFTER INSERT ON conversations BEGIN
    INSERT INTO titles_fts (rowid, title) VALUES (new.id, new.title);
END;
CREATE TRIGGER titles_deleted AFTER DELETE ON conversations BEGIN
    INSERT INTO titles_fts (titles_fts, rowid, title) VALUES ('delete', old.id, old.title);
END;
CREATE TRIGGER titles_changed AFTER UPDATE OF title ON conversations BEGIN
    INSERT INTO titles_fts (titles_fts, rowid, title) VALUES ('delete', old.id, old.title);
    INSERT INTO titles_fts (rowid, title) VALUES (new.id, new.title);
END;
INSERT INTO messages_fts (messages_fts) VALUES ('rebuild');
INSERT INTO titles_fts (titles_fts) VALUES ('rebuild');
"""

_SETTINGS = """
ALTER TABLE conversations ADD COLUMN settings TEXT NOT NULL DEFAULT '{}';
"""

_CHECKSUMS = """
ALTER TABLE conversations ADD COLUMN title_checksum INTEGER;
ALTER TABLE conversations ADD COLUMN settings_checksum INTEGER;
ALTER TABLE messages ADD COLUMN checksum INTEGER;
ALTER TABLE pieces ADD COLUMN checksum INTEGER;
ALTER TABLE traces ADD COLUMN checksum INTEGER;
"""
_SEARCH_BESIDE = """
CREATE VIEW messages_beside AS SELECT id, beside FROM messages WHERE beside <> '';
CREATE VIRTUAL TABLE beside_fts USING fts5 (
    beside, content = 'messages_beside', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2',
    prefix = '1 2 3'
);
CREATE TRIGGER beside_inserted AFTER INSERT ON messages WHEN new.beside <> '' BEGIN
    INSERT INTO beside_fts (rowid, beside) VALUES (new.id, new.beside);
END;
CREATE TRIGGER beside_deleted AFTER DELETE ON messages WHEN old.beside <> '' BEGIN
    INSERT INTO beside_fts (beside_fts, rowid, beside) VALUES ('delete', old.id, old.beside);
END;
CREATE TRIGGER beside_changed AFTER UPDATE OF beside ON messages BEGIN
    INSERT INTO beside_fts (beside_fts, rowid, beside) SELECT 'delete', old.id, old.beside WHERE old.beside <> '';
    INSERT INTO beside_fts (rowid, beside) SELECT new.id, new.beside WHERE new.beside <> '';
END;
"""
_PARTS = f"""
ALTER TABLE messages ADD COLUMN parts TEXT;
ALTER TABLE messages ADD COLUMN beside TEXT NOT NULL DEFAULT '';
{_SEARCH_BESIDE}
"""
_DRAFTS = """
CREATE TABLE drafts (
    conversation INTEGER NOT NULL,
    part INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (conversation, part)
) WITHOUT ROWID;
"""
"""Unsent text. Conversation 0: the one that has no question yet."""
_DOCUMENTS = """
CREATE TABLE documents (
    conversation INTEGER NOT NULL,
    name TEXT NOT NULL,
    text BLOB NOT NULL,
    source BLOB NOT NULL,
    checksum INTEGER NOT NULL,
    PRIMARY KEY (conversation, name)
);
"""
"""The texts of a conversation's documents (0: as above), and the file if its pages can be shown."""
_PROJECTS = """
ALTER TABLE conversations ADD COLUMN project INTEGER NOT NULL DEFAULT 0;
"""
"""The project of a chat. A project is a line of the same table, without messages, which names itself here."""
_SOURCES = """
CREATE TABLE sources (
    hash TEXT PRIMARY KEY,
    data BLOB NOT NULL
);
ALTER TABLE documents ADD COLUMN hash TEXT NOT NULL DEFAULT '';
CREATE INDEX documents_by_hash ON documents (hash);
CREATE TRIGGER documents_deleted AFTER DELETE ON documents BEGIN
    DELETE FROM sources WHERE hash = old.hash AND NOT EXISTS (SELECT 1 FROM documents WHERE hash = old.hash);
END;
"""
"""The files of documents and pictures, each once, by their SHA-256; gone with the last document that is of them."""
_VECTORS = """
ALTER TABLE documents ADD COLUMN vectors BLOB NOT NULL DEFAULT x'';
ALTER TABLE documents ADD COLUMN vectors_of TEXT NOT NULL DEFAULT '';
"""
"""Vectors of a document's parts, with the embedding model that made them; they can be computed again."""
_FIRST_CHECKSUMS = (
    ("conversations", "id", "title_checksum = checksum(id, title), settings_checksum = checksum(id, settings)"),
    (
        "messages",
        "id",
        "checksum = checksum(id, parent, role, text, created, target, draft, settings, stats, finish_reason, problem)",
    ),
    ("pieces", "number", "checksum = checksum(message, text)"),
    ("traces", "message", "checksum = checksum_of_trace(message, trace)"),
)


def _fill_checksums(connection: sqlite3.Connection) -> None:
    """Compute all first checksums. Unreadable rows have none, and count as damaged."""
    connection.create_function("checksum", -1, checksum, deterministic=True)
    connection.create_function("checksum_of_trace", 2, checksum_of_trace, deterministic=True)
    for table, key, sums in _FIRST_CHECKSUMS:
        change = f"UPDATE {table} SET {sums}"  # noqa: S608 - our own names
        try:
            connection.execute(change)
        except UNREADABLE as error:
            if not _is_unreadable(error):
                raise
            for number in keys(connection, table, key):
                _add_checksum(connection, f"{change} WHERE {key} = ?", number)


def _add_checksum(connection: sqlite3.Connection, change: str, number: int) -> None:
    try:
        connection.execute(change, (number,))
    except UNREADABLE as error:
        if not _is_unreadable(error):
            raise


def _is_unreadable(error: Exception) -> bool:
    """Return True if a value is damaged: a function of ours is not even called with bytes that are no text."""
    return is_damage(error) or getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_ERROR


MIGRATIONS: tuple[str, ...] = (
    *(_TABLES, _SEARCH, _SETTINGS, _CHECKSUMS, _PARTS, _DRAFTS, _DOCUMENTS, _PROJECTS, _SOURCES, _VECTORS),
)
"""MIGRATIONS[n] brings a file of version n to version n + 1. A step that was released is never changed."""

_COMPLETIONS: Mapping[int, Callable[[sqlite3.Connection], None]] = {4: _fill_checksums}
"""Functions behind the statements of a version, in the same transaction: for changes outside SQL."""

VERSION = len(MIGRATIONS)
"""The version that this program writes."""


def check_header(path: Path) -> None:
    """Check the first bytes of a file, so that a refused one is not even opened.

    Raises StoreTooNew, StoreDamaged (no SQLite file, or another program's), OSError (it cannot be read).
    """
    header = _header(path)
    if header is None:
        return
    ours = len(header) == _HEADER and _number(header, _APPLICATION_AT) == APPLICATION_ID
    if not header.startswith(_MAGIC):
        raise StoreDamaged(path, _HEADER_DAMAGED if ours else Translatable("it is not an Outrider chat file"))
    if len(header) < _HEADER:
        raise StoreDamaged(path, Translatable("it ends too early"))
    if not ours:
        _check_owner(path, _number(header, _APPLICATION_AT))
    elif not _is_plausible(header):
        # SQLite would take some of these for other formats, and read nonsense.
        raise StoreDamaged(path, _HEADER_DAMAGED)
    _refuse_newer(path, _number(header, _VERSION_AT))


def _check_owner(path: Path, application: int) -> None:
    """Refuse another program's file. 0: perhaps one of ours whose program was killed while making it."""
    if application:
        damaged = (application ^ APPLICATION_ID).bit_count() <= 2
        raise StoreDamaged(path, _HEADER_DAMAGED if damaged else _ANOTHER)


def _is_plausible(header: bytes) -> bool:
    """Return True if the header is one that our files have (sqlite.org/fileformat.html, "The Database Header")."""
    page_size = int.from_bytes(header[_PAGE_SIZE_AT : _PAGE_SIZE_AT + 2], "big")
    return (
        (page_size == 1 or (page_size >= 512 and page_size.bit_count() == 1))
        and all(each in (1, 2) for each in header[_VERSIONS_AT : _VERSIONS_AT + 2])
        and header[_FRACTIONS_AT : _FRACTIONS_AT + 4] == bytes((0, 64, 32, 32))
        and _number(header, _FORMAT_AT) in (0, 1, 2, 3, 4)
        and _number(header, _VACUUM_AT) == 0
        and _number(header, _ENCODING_AT) in (0, 1)
        and not any(header[_RESERVED])
    )


def check_log(path: Path) -> None:
    """Read the version in a write-ahead log of a killed program: it may stand there alone.

    Raises StoreTooNew, StoreDamaged (another program's file), sqlite3.Error. The file and its log stay as they are.
    """
    header = _header(path)
    log = path.with_name(f"{path.name}-wal")
    has_log = log.exists() and log.stat().st_size > 0
    if header is None or (not has_log and _number(header, _APPLICATION_AT) == APPLICATION_ID):
        return
    # Whoever only reads never writes the log back into the file, but makes an index of it: that is taken away again.
    index = path.with_name(f"{path.name}-shm")
    had_index = index.exists()
    mode = "mode=ro" if has_log else "mode=ro&immutable=1"
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True)
    try:
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        application = int(connection.execute("PRAGMA application_id").fetchone()[0])
        tables = int(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
    finally:
        connection.close()
        if has_log and not had_index:
            index.unlink(missing_ok=True)
    _refuse_newer(path, version)
    if application != APPLICATION_ID and (application or tables):
        raise StoreDamaged(path, _ANOTHER)


def _header(path: Path) -> bytes | None:
    """Return the first bytes. None of a file that is empty or not there."""
    if not path.exists():
        return None
    with path.open("rb") as file:
        return file.read(_HEADER) or None


def _number(header: bytes, place: int) -> int:
    return int.from_bytes(header[place : place + 4], "big")


def _refuse_newer(path: Path, version: int) -> None:
    if version > _LARGEST_VERSION:
        raise StoreDamaged(path, _HEADER_DAMAGED)
    if version > VERSION:
        raise StoreTooNew(path, version, VERSION)


def migrate(connection: sqlite3.Connection) -> int:
    """Migrate an open file to the newest version, all steps or none. Returns its old version."""
    before = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if before == VERSION:
        return before
    connection.execute("BEGIN IMMEDIATE")
    try:
        for version, step in enumerate(MIGRATIONS[before:], before + 1):
            for statement in _statements(step):
                connection.execute(statement)
            if version in _COMPLETIONS:
                _COMPLETIONS[version](connection)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    # The version now stands in the file itself, where an older program looks for it.
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return before


def make_search_again(connection: sqlite3.Connection) -> None:
    """Make the tables of the search anew, from titles and messages, in a transaction of the caller's."""
    for source in ("messages", "titles", "beside"):
        for what in ("inserted", "deleted", "changed"):
            connection.execute(f"DROP TRIGGER IF EXISTS {source}_{what}")
        connection.execute(f"DROP TABLE IF EXISTS {source}_fts")
    connection.execute("DROP VIEW IF EXISTS messages_beside")
    for statement in _statements(_SEARCH + _SEARCH_BESIDE):
        connection.execute(statement)
    connection.execute("INSERT INTO beside_fts (beside_fts) VALUES ('rebuild')")


def check_tables(path: Path, connection: sqlite3.Connection) -> None:
    """Compare the descriptions of tables, indexes and triggers with those they were made from. Raises StoreDamaged.

    One changed letter may make each later change fail, or do something else.
    """
    found = _tables(connection)
    if any(found.get(name) != made for name, made in _tables_made().items()):
        raise StoreDamaged(path, _TABLES_DAMAGED)


@functools.cache
def _tables_made() -> dict[str, str]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        migrate(connection)
        return _tables(connection)
    finally:
        connection.close()


def _tables(connection: sqlite3.Connection) -> dict[str, str]:
    rows = connection.execute("SELECT type || ' ' || name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    # The tables behind the search belong to SQLite, whose versions may describe them differently.
    return {name: re.sub(r"\s+", " ", sql) for name, sql in rows if "_fts_" not in name}


def _statements(script: str) -> list[str]:
    found = []
    rest = ""
    for line in script.splitlines(keepends=True):
        rest += line
        if sqlite3.complete_statement(rest):
            found.append(rest)
            rest = ""
    return found
