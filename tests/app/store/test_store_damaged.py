"""Damaged stores: each has its sentence and lets go of its lock; a damaged message is named, the others are read."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from app.state.conversations.conversation import Conversation, StoredMessage
from app.store.errors import StoreDamaged, StoreTooNew, TraceDamaged, is_damage, writing_error
from app.store.schema import APPLICATION_ID, MIGRATIONS, VERSION
from app.store.store import Store
from app.store.writer import mend_index
from helpers.children.stores import fill


@contextmanager
def _reopened(path: Path) -> Iterator[Store]:
    store = Store.open(path)
    try:
        yield store
    finally:
        store.close()


def _replace(path: Path, before: bytes, after: bytes) -> None:
    assert len(before) == len(after)
    data = path.read_bytes()
    assert before in data
    path.write_bytes(data.replace(before, after, 1))


def _write(path: Path, place: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(place)
        file.write(data)


def _loaded(store: Store, number: int = 1) -> Conversation:
    conversation = store.load(number)
    assert conversation is not None
    return conversation


def _damaged(store: Store, number: int = 1) -> list[int]:
    return [message.id for message in _loaded(store, number) if message.damaged]


def _changed(place: int, data: bytes) -> Callable[[Path], None]:
    return lambda path: _write(path, place, data)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda path: _replace(path, b"tablemessages", b"tablem\xe5ssages"), "the file is damaged"),
        (lambda path: _replace(path, b"CREATE TABLE messages", b"CREATE TABLE m\xe5ssages"), "the file is damaged"),
        (lambda path: _replace(path, b"CREATE TABLE messages", b"CREATE TABLE mzssages"), "the file is damaged"),
        (lambda path: _replace(path, b"INSERT INTO messages_fts (rowid", b"INSERT INTO messages_ftz (rowid"), "tables"),
        (lambda path: _replace(path, b"\n    created REAL", b"\n\xa0   created REAL"), "the file is damaged\\."),
        (_changed(0, b"S\x10Lite"), "first bytes"),
        (_changed(18, b"\x03"), "first bytes"),
        (_changed(56, b"\x00\x00\x00\x02"), "first bytes"),
        (_changed(60, b"\x04"), "first bytes"),
        (_changed(68, b"O\x74"), "first bytes"),
        (_changed(68, b"Qf"), "another program"),
        (lambda path: path.write_bytes(path.read_bytes()[:60]), "ends too early"),
        (lambda path: path.write_bytes(path.read_bytes()[:5000]), "malformed"),
    ],
)
def test_a_damaged_store_is_refused_each_time(path: Path, damage: Callable[[Path], None], said: str) -> None:
    """Each time: an opening that fails lets go of the lock."""
    with _reopened(path) as store:
        fill(store, 1, "question", "reply")
    damage(path)
    before = path.read_bytes()
    for _ in range(2):
        with pytest.raises(StoreDamaged, match=said):
            Store.open(path)
    assert path.read_bytes() == before


def test_a_message_of_sqlite_that_is_no_text_is_damage(path: Path) -> None:
    error = UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")
    assert is_damage(error)
    assert "is damaged" in str(writing_error(path, error))
    assert not is_damage(sqlite3.ProgrammingError("closed"))


def test_a_lock_file_with_something_in_it_is_no_damage_of_the_store(path: Path) -> None:
    path.with_name(f"{path.name}-lock").write_bytes(b"something else " * 100)
    with _reopened(path) as store:
        fill(store, 1, "question")


@pytest.mark.parametrize("suffix", ["-lock", "-wal", "-shm"])
def test_a_folder_in_the_place_of_a_file_of_sqlite_is_put_aside(path: Path, suffix: str) -> None:
    with _reopened(path) as store:
        fill(store, 1, "question")
    path.with_name(path.name + suffix).unlink(missing_ok=True)
    (path.with_name(path.name + suffix) / "within").mkdir(parents=True)
    with _reopened(path) as store:
        assert len(_loaded(store)) == 1
    assert (path.with_name(f"{path.name}{suffix}.replaced-1") / "within").is_dir()


def test_a_damaged_message_is_named_and_the_others_are_read(path: Path) -> None:
    with _reopened(path) as store:
        ids = fill(store, 1, "one lantern", "two harbours", "three ferries", "four bells")
    _replace(path, b"two harbours", b"two harbouRs")
    for _ in range(2):
        with _reopened(path) as store:
            loaded = _loaded(store)
            assert [message.text for message in loaded.path] == [
                "one lantern", "two harbouRs", "three ferries", "four bells",
            ]  # fmt: skip
            assert _damaged(store) == [ids[1]]


@pytest.mark.parametrize("before", [b"two harbours", b"target.gguf", b'{"rounds": 3}', b"stop"])
def test_all_of_a_message_is_under_its_checksum(path: Path, before: bytes) -> None:
    with _reopened(path) as store:
        fill(store, 1, "one lantern")
        reply = StoredMessage(1001, 1000, "assistant", "two harbours", 2.0, "done", "target.gguf")
        reply.stats, reply.finish_reason = {"rounds": 3}, "stop"
        with store.changes():
            store.add_messages(1, [reply])
    _replace(path, before, before[:2] + bytes([before[2] ^ 4]) + before[3:])
    with _reopened(path) as store:
        assert _damaged(store) == [1001]
        assert len(_loaded(store).path) == 2


def test_bytes_that_are_no_text_are_read_as_far_as_they_are(path: Path) -> None:
    with _reopened(path) as store:
        ids = fill(store, 1, "one lantern", "two harbours", "three")
    _replace(path, b"two harbours", b"two h\xe5rbours")
    with _reopened(path) as store:
        assert _loaded(store).path[1].text == "two h�rbours"
        assert _damaged(store) == [ids[1]]
        assert [hit.message for hit in store.search("harbours")] == [ids[1]]


@pytest.mark.parametrize(
    "change",
    [
        "text = x'ff00'", "settings = 'no JSON'", "settings = '[]'", "stats = '[1'", "stats = 7", "created = 'then'",
        "created = 1e300", "role = 'nobody'", "finish_reason = 8", "checksum = NULL", "checksum = 'x'",
    ],
)  # fmt: skip
def test_values_of_the_wrong_kind_are_damage_and_no_error(store: Store, change: str) -> None:
    ids = fill(store, 1, "one", "two", "three")
    store.connection.execute("PRAGMA ignore_check_constraints = ON")
    store.connection.execute(f"UPDATE messages SET {change} WHERE id = ?", (ids[1],))  # noqa: S608
    assert _damaged(store) == [ids[1]]
    assert len(_loaded(store).path) == 3
    assert len(store.conversations()) == 1


@pytest.mark.parametrize(("change", "status"), [("status = 'nothing'", "interrupted"), ("chosen = 'x'", "done")])
def test_what_changes_by_itself_is_checked_by_what_it_may_be(store: Store, change: str, status: str) -> None:
    ids = fill(store, 1, "one", "two", "three")
    store.connection.execute(f"UPDATE messages SET {change} WHERE id = ?", (ids[1],))  # noqa: S608
    assert [message.status for message in _loaded(store).path] == ["done", status, "done"]


def test_pages_that_are_gone_cost_the_messages_on_them(path: Path) -> None:
    with _reopened(path) as store:
        fill(store, 1, *[f"message {place} " * 40 for place in range(60)])
    sound = path.read_bytes()
    lost = 0
    for start in range(4096, len(sound), 4096):
        path.write_bytes(sound[:start] + bytes(4096) + sound[start + 4096 :])
        try:
            store = Store.open(path)
        except StoreDamaged:
            continue
        with closing(store):
            loaded = _loaded(store)
            assert len(loaded.path) == 60
            for place, message in enumerate(loaded.path):
                assert message.damaged or message.text == f"message {place} " * 40
            lost += len(_damaged(store))
            assert len(store.conversations()) == 1
    assert lost >= 60


def test_a_damaged_message_stays_marked_when_it_is_written_on(path: Path) -> None:
    with _reopened(path) as store:
        ids = fill(store, 1, "one lantern", "two harbours")
    _replace(path, b"two harbours", b"two harbouRs")
    with _reopened(path) as store, store.changes():
        store.set_status(ids[1], "waiting")
        store.append(ids[1], " and more")
    with _reopened(path) as store:
        assert _loaded(store).path[1].text == "two harbouRs and more"
        assert _damaged(store) == [ids[1]]


def test_a_damaged_piece_of_a_reply_marks_it(path: Path) -> None:
    with _reopened(path) as store:
        ids = fill(store, 1, "one lantern", "")
        with store.changes():
            store.set_status(ids[1], "writing")
            store.append(ids[1], "two harbours")
    _replace(path, b"two harbours", b"two harbouRs")
    with _reopened(path) as store:
        assert _loaded(store).path[1].text == "two harbouRs"
        assert _damaged(store) == [ids[1]]


def test_a_damaged_title_and_settings_are_told_until_they_are_written_anew(path: Path) -> None:
    with _reopened(path) as store:
        fill(store, 1, "question", title="Old harbour")
        with store.changes():
            store.set_settings(1, {"top_k": 40})
    data = path.read_bytes()
    path.write_bytes(data.replace(b"Old harbour", b"Old harbouR").replace(b'"top_k"', b'"top_j"'))
    with _reopened(path) as store:
        assert [head.title for head in store.conversations()] == ["Old harbouR"]
        assert _loaded(store).damaged == {"title", "settings"}
        with store.changes():
            store.rename(1, "New harbour")
            store.set_settings(1, {})
        assert _loaded(store).damaged == set()


def test_a_damaged_record_of_tokens_is_told(path: Path) -> None:
    with _reopened(path) as store:
        ids = fill(store, 1, "question", "reply", "question", "reply")
        with store.changes():
            store.save_trace(ids[1], b"how it came about")
            store.save_trace(ids[3], b"another one")
    _replace(path, b"how it came", b"how It came")
    with _reopened(path) as store:
        with pytest.raises(TraceDamaged, match="record of this reply"):
            store.load_trace(ids[1])
        assert store.load_trace(ids[3]) == b"another one"
        assert not _damaged(store)


def test_a_conversation_without_its_line_is_found_by_its_messages(store: Store) -> None:
    fill(store, 1, "one", "two", title="first")
    fill(store, 2, "three", title="second")
    store.connection.execute("PRAGMA foreign_keys = OFF")
    store.connection.execute("UPDATE conversations SET id = 900 WHERE id = 1")
    assert {head.id for head in store.conversations()} == {1, 2, 900}
    assert [message.text for message in _loaded(store).path] == ["one", "two"]
    assert store.first_free_id() == 2001


@pytest.mark.parametrize("change", ["deleted = 0", "deleted = 5, settings = 'x'"])
def test_a_conversation_that_only_seems_deleted_is_not_purged(store: Store, change: str) -> None:
    fill(store, 1, "one", "two", title="first")
    store.connection.execute(f"UPDATE conversations SET {change}")  # noqa: S608
    assert [head.id for head in store.conversations()] == [1]
    with store.changes():
        assert not store.purge()
    assert len(_loaded(store)) == 2


def _damage_index(path: Path) -> None:
    """Let the index say of the last message that it is another conversation's."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        select = "SELECT rootpage FROM sqlite_master WHERE name = 'messages_by_conversation'"
        (root,) = connection.execute(select).fetchone()
    data = path.read_bytes()
    # The record of conversation 77 and message 77003 (sqlite.org/fileformat.html, "Record Format").
    entry = bytes((7, 3, 1, 3, 77)) + (77003).to_bytes(3, "big")
    place = data.index(entry, (root - 1) * 4096)
    _write(path, place + 4, bytes([78]))


def test_an_index_that_lacks_messages_is_built_again(path: Path) -> None:
    with _reopened(path) as store:
        fill(store, 77, "one", "two", "three", "four")
    _damage_index(path)
    with _reopened(path) as store:
        assert len(_loaded(store, 77)) == 3
        with store.changes():
            mend_index(store.connection)
        assert len(_loaded(store, 77)) == 4


def test_ids_that_no_program_gave_are_not_counted_on(store: Store) -> None:
    fill(store, 1, "one")
    store.connection.execute("INSERT INTO conversations (id, created, updated) VALUES (9223372036854775807, 0, 0)")
    assert store.first_free_id() == 1001


def _version_3(path: Path) -> None:
    """A store as the version before the checksums made it."""
    with closing(sqlite3.connect(path)) as connection:
        for step in MIGRATIONS[:3]:
            connection.executescript(step)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("PRAGMA user_version = 3")
        connection.execute(
            "INSERT INTO conversations (id, title, created, updated, settings) VALUES (1, 'Old', 1, 2, ?)",
            ('{"top_k": 4}',),
        )
        connection.executemany(
            "INSERT INTO messages (id, conversation, parent, role, created, status, text) VALUES (?, 1, ?, ?, 1, ?, ?)",
            [
                (2, None, "user", "done", "an old lantern"),
                (3, 2, "assistant", "writing", "it "),
                (4, 3, "user", "done", "x"),
            ],
        )
        connection.execute("INSERT INTO pieces (message, text) VALUES (3, 'glows')")
        connection.execute("INSERT INTO traces (message, trace) VALUES (3, x'0102')")
        connection.commit()


def test_a_store_without_checksums_gets_them(path: Path) -> None:
    _version_3(path)
    with _reopened(path) as store:
        assert store.connection.execute("PRAGMA user_version").fetchone() == (VERSION,)
        loaded = _loaded(store)
        assert [message.text for message in loaded] == ["an old lantern", "it glows", "x"]
        assert loaded.title == "Old"
        assert loaded.settings == {"top_k": 4}
        assert not loaded.damaged
        assert not _damaged(store)
        assert store.load_trace(3) == b"\1\2"
    _replace(path, b"an old lantern", b"an old lanterN")
    with _reopened(path) as store:
        assert _damaged(store) == [2]


def test_a_damaged_old_store_is_brought_up_to_date_as_far_as_it_can_be_read(path: Path) -> None:
    _version_3(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE messages SET text = CAST(x'61ff62' AS TEXT) WHERE id = 4")
    with _reopened(path) as store:
        assert [message.text for message in _loaded(store)] == ["an old lantern", "it glows", "a�b"]
        assert _damaged(store) == [4]


def test_a_newer_version_is_told_from_a_damaged_one(path: Path) -> None:
    Store.open(path).close()
    _write(path, 60, (VERSION + 1).to_bytes(4, "big"))
    with pytest.raises(StoreTooNew):
        Store.open(path)
    _write(path, 60, (2**26).to_bytes(4, "big"))
    with pytest.raises(StoreDamaged, match="first bytes"):
        Store.open(path)
