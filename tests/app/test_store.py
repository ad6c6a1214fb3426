"""The store: what was kept comes back, whatever the file was like."""

import hashlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from app import places
from app.state.conversation import ConversationSummary, StoredMessage
from app.store import FILE_NAME, Store, default_path
from app.store_errors import (
    NoRoomForStore,
    StoreDamaged,
    StoreError,
    StoreInUse,
    StoreNotOpen,
    StoreTooNew,
    opening_error,
)
from app.store_schema import APPLICATION_ID, MIGRATIONS, VERSION
from helpers.processes import run_python


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / FILE_NAME


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    opened = Store.open(path)
    yield opened
    opened.close()


def _head(number: int, title: str = "", updated: float = 0.0) -> ConversationSummary:
    return ConversationSummary(number, title, 0.0, updated)


def _fill(store: Store, conversation: int, *texts: str, title: str = "") -> list[int]:
    """A conversation in one line. Its messages' ids are 1000 times its own and some."""
    messages = []
    for place, text in enumerate(texts):
        number = conversation * 1000 + place
        parent = number - 1 if place else None
        messages.append(StoredMessage(number, parent, "assistant" if place % 2 else "user", text, 1.0 + place))
    with store.changes():
        store.add_conversation(_head(conversation, title, updated=float(conversation)))
        store.add_messages(conversation, messages)
    return [message.id for message in messages]


def _add(store: Store, conversation: int, message: StoredMessage) -> None:
    with store.changes():
        store.add_conversation(_head(1))
        store.add_messages(conversation, [message])


def _reopen(store: Store) -> Store:
    store.close()
    return Store.open(store.path)


def test_the_usual_place_is_in_the_data_folder(isolated_home: Path) -> None:
    assert default_path() == places.data_folder() / "conversations.sqlite3"
    assert isolated_home in default_path().parents
    store = Store.open()
    store.close()
    assert default_path().is_file()


def test_all_of_a_message_comes_back(store: Store) -> None:
    question = StoredMessage(2, None, "user", "Is it \0 so? ŝ 🚢", 1.5, chosen=3)
    reply = StoredMessage(
        3, 2, "assistant", "It is.", 2.5, "failed", "target.gguf", "draft.gguf",
        {"temperature": 0.5, "stop": ["x"]}, {"rounds": 3, "by": [1, 2.5, None]}, "error", "No memory.",
    )  # fmt: skip
    with store.changes():
        store.add_conversation(ConversationSummary(1, "Title", 1.0, 2.0, pinned=True))
        store.add_messages(1, [question, reply])
        store.choose(1, {None: 2})
        store.save_trace(3, b"\0trace")
    loaded = store.load(1)
    assert loaded is not None
    assert list(loaded) == [question, reply]
    assert loaded.summary() == ConversationSummary(1, "Title", 1.0, 2.0, pinned=True, messages=2)
    assert loaded.chosen == 2
    assert store.load_trace(3) == b"\0trace"
    assert store.load_trace(2) is None
    assert store.load(99) is None
    assert store.first_free_id() == 4


def test_halves_of_pairs_are_no_failure(store: Store) -> None:
    _fill(store, 1, "half \ud83d here", title="half \udc00")
    loaded = store.load(1)
    assert loaded is not None
    assert loaded.path[0].text == "half ? here"
    assert loaded.title == "half ?"


def test_the_list_has_pinned_ones_first_then_the_newest(store: Store) -> None:
    for number in (1, 2, 3, 4):
        _fill(store, number, *["text"] * number)
    with store.changes():
        store.pin(2, True)
        store.touch(1, 10.0)
        store.rename(1, "one")
    listed = store.conversations()
    assert [(head.id, head.messages) for head in listed] == [(2, 2), (1, 1), (4, 4), (3, 3)]
    assert listed[0].pinned
    assert listed[1].title == "one"


def test_a_deleted_conversation_can_come_back_until_it_is_purged(store: Store) -> None:
    _fill(store, 1, "alpha", "beta", title="gamma")
    _fill(store, 2, "delta")
    with store.changes():
        store.delete(1, 5.0)
    assert [head.id for head in store.conversations()] == [2]
    assert store.load(1) is None
    assert store.search("alpha") == store.search("gamma") == []
    with store.changes():
        store.undelete(1)
        store.purge(1)
    assert [head.id for head in store.conversations()] == [2, 1]
    assert len(store.search("alpha")) == len(store.search("gamma")) == 1
    with store.changes():
        store.delete(1, 5.0)
        store.purge()
        store.undelete(1)
    assert [head.id for head in store.conversations()] == [2]
    assert store.connection.execute("SELECT count(*) FROM messages").fetchone() == (1,)


def test_what_was_deleted_is_not_in_the_file_any_more(store: Store) -> None:
    _fill(store, 1, "the password is lanternfish")
    with store.changes():
        store.add_messages(1, (StoredMessage(5000 + place, None, "user", "xyz", 0.0) for place in range(100)))
    _fill(store, 2, "another that stays")
    with store.changes():
        store.delete(1, 1.0)
        store.purge(1)
        first = True
        while store.forget_words(first=first):
            first = False
    assert store.search("stays")
    store.connection.execute("INSERT INTO messages_fts (messages_fts, rank) VALUES ('integrity-check', 1)")
    store.close()
    assert b"lanternfish" not in store.path.read_bytes()


def test_a_deep_conversation_is_deleted(store: Store) -> None:
    ids = _fill(store, 1, *["text"] * 999)
    with store.changes():
        store.delete_messages(ids[10:])
    loaded = store.load(1)
    assert loaded is not None
    assert len(loaded) == 10
    with store.changes():
        store.add_messages(1, (StoredMessage(5000 + place, 1009, "user", "x", 0.0) for place in range(1000)))
        store.delete(1, 1.0)
        steps = 1
        while store.purge():
            steps += 1
    assert steps == 1 + 1010 // 200
    assert store.connection.execute("SELECT count(*) FROM messages").fetchone() == (0,)
    assert store.connection.execute("SELECT count(*) FROM conversations").fetchone() == (0,)


def test_changes_are_kept_together_or_not_at_all(store: Store) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        _add(store, 99, StoredMessage(5, None, "user", "x", 0.0))
    assert store.conversations() == []


@pytest.mark.parametrize("message", [StoredMessage(5, 5, "user", "", 0.0), StoredMessage(5, 6, "user", "", 0.0)])
def test_the_file_itself_refuses_circles(store: Store, message: StoredMessage) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        _add(store, 1, message)


# Replies that are being written -----------------------------------------------------------------------------------


def test_a_reply_that_was_being_written_is_found_as_far_as_it_came(store: Store) -> None:
    _fill(store, 1, "question")
    with store.changes():
        store.add_messages(1, [StoredMessage(1001, 1000, "assistant", "", 2.0, "waiting")])
    for piece in ("One ", "two ", "🚢 three"):
        with store.changes():
            store.append(1001, piece)
    loaded = store.load(1)
    assert loaded is not None
    assert loaded.path[1].text == "One two 🚢 three"
    again = _reopen(store)
    try:
        loaded = again.load(1)
        assert loaded is not None
        assert (loaded.path[1].status, loaded.path[1].text) == ("interrupted", "One two 🚢 three")
        assert len(again.search("three")) == 1
        assert again.connection.execute("SELECT count(*) FROM pieces").fetchone() == (0,)
    finally:
        again.close()


def test_a_reply_that_is_written_on_keeps_what_it_had(store: Store) -> None:
    _, reply = _fill(store, 1, "question", "It began ")
    with store.changes():
        store.set_status(reply, "waiting")
        store.append(reply, "and went on")
    again = _reopen(store)
    try:
        loaded = again.load(1)
        assert loaded is not None
        assert (loaded.path[1].status, loaded.path[1].text) == ("interrupted", "It began and went on")
    finally:
        again.close()


def test_the_end_of_a_reply_takes_the_place_of_its_pieces(store: Store) -> None:
    _, reply = _fill(store, 1, "question", "")
    with store.changes():
        store.append(reply, "half a wo")
    done = StoredMessage(reply, 1000, "assistant", "whole words", 2.0, stats={"rounds": 1}, finish_reason="stop")
    with store.changes():
        store.save_message(done)
        store.append(4711, "of a message that is gone")
    loaded = store.load(1)
    assert loaded is not None
    assert loaded.path[1] == done
    assert store.search("half") == []
    assert store.connection.execute("SELECT count(*) FROM pieces").fetchone() == (0,)


def test_what_a_piece_costs_does_not_grow_with_the_reply(store: Store) -> None:
    """Pages of the log are counted, not seconds."""
    _, reply = _fill(store, 1, "question", "")

    def pages_of_a_piece() -> int:
        before = store.log_size()
        with store.changes():
            store.append(reply, "twenty signs or so. ")
        return (store.log_size() - before) // 4096

    first = pages_of_a_piece()
    with store.changes():
        store.append(reply, "x" * 500_000)
    assert max(pages_of_a_piece() for _ in range(50)) <= first + 2


# Search -----------------------------------------------------------------------------------------------------------


def test_words_are_found_by_their_beginnings_in_any_order(store: Store) -> None:
    _fill(store, 1, "How does the ferry cross?", "Slowly, by *lantern* light at Café Zürich.", title="Harbour talk")
    _fill(store, 2, "Something else", "entirely", title="Ferry times")
    assert [(hit.conversation, hit.message) for hit in store.search("fer")] == [(2, None), (1, 1000)]
    assert [hit.message for hit in store.search("light LANT")] == [1001]
    assert [hit.message for hit in store.search("cafe zurich")] == [1001]
    assert [hit.conversation for hit in store.search("harbour")] == [1]
    assert store.search("ferry light") == []
    assert store.search("erry") == []


def test_a_snippet_shows_the_words_and_where_they_are(store: Store) -> None:
    _fill(store, 1, "word " * 200 + "before\n\n the   Café and a lantern after " + "word " * 200)
    (hit,) = store.search("cafe lan")
    assert "before the Café and a lantern after" in hit.snippet
    assert hit.snippet.startswith("… ")
    assert hit.snippet.endswith("…")
    assert [hit.snippet[start : start + length] for start, length in hit.marks] == ["Café", "lan"]
    assert len(hit.snippet) < 160


def test_scripts_without_spaces_are_searched_within(store: Store) -> None:
    _fill(store, 1, "投机解码很快", "แม่น้ำสายใหญ่", title="关于解码")
    assert [hit.message for hit in store.search("解码")] == [1000]
    assert [hit.message for hit in store.search("น้ำ")] == [1001]
    assert [hit.conversation for hit in store.search("于解")] == [1]
    assert store.search("解码 missing") == []


@pytest.mark.parametrize(
    "typed",
    ["", " ", '"', '""', "*", "a*", "NOT", "a OR b", "NEAR(a b)", "text:a", "^a", "(a", "a)", "-a", "a + b",
     "'; DROP", "\0", "a\0b", "%", "_", "\\", "{a}", "\ud800", "🚢", "--", "a" * 99_999, "a " * 9_000, "\u202e",
     "e\u0301", "हिन्दी"],
)  # fmt: skip
def test_whatever_is_typed_is_no_failure(store: Store, typed: str) -> None:
    _fill(store, 1, "some text a b", title="a title")
    assert isinstance(store.search(typed), list)


def test_signs_separate_words_as_in_the_text(store: Store) -> None:
    _fill(store, 1, "See llama.cpp, snake_case and C++ or हिन्दी.")
    for typed in ("llama.cpp", "llama.c", "snake_case", "c++", "cpp, snake", "हिन्दी", "-- llama"):
        (hit,) = store.search(typed)
        assert hit.marks, typed


def test_search_follows_what_changes(store: Store) -> None:
    ids = _fill(store, 1, "alpha", "beta", title="gamma")
    with store.changes():
        store.rename(1, "delta")
        store.delete_messages(ids[1:])
    assert store.search("gamma") == store.search("beta") == []
    assert len(store.search("delta")) == len(store.search("alpha")) == 1
    store.connection.execute("INSERT INTO messages_fts (messages_fts, rank) VALUES ('integrity-check', 1)")


# Files of all sorts -----------------------------------------------------------------------------------------------


def _version_1(path: Path) -> None:
    """A store as the first version made it: without full-text search."""
    path.parent.mkdir(parents=True)
    connection = sqlite3.connect(path)
    connection.executescript(MIGRATIONS[0])
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute("PRAGMA user_version = 1")
    connection.execute("INSERT INTO conversations (id, title, created, updated) VALUES (1, 'Old harbour', 1, 2)")
    connection.execute(
        "INSERT INTO messages (id, conversation, parent, role, created, status, text) "
        "VALUES (2, 1, NULL, 'user', 1, 'done', 'an old lantern'), (3, 1, 2, 'assistant', 1, 'writing', 'it ')"
    )
    connection.execute("INSERT INTO pieces (message, text) VALUES (3, 'glows')")
    connection.commit()
    connection.close()


def test_a_store_of_version_1_is_brought_up_to_date(path: Path) -> None:
    _version_1(path)
    store = Store.open(path)
    try:
        assert store.connection.execute("PRAGMA user_version").fetchone() == (VERSION,)
        loaded = store.load(1)
        assert loaded is not None
        assert [(message.text, message.status) for message in loaded] == [
            ("an old lantern", "done"),
            ("it glows", "interrupted"),
        ]
        assert [hit.message for hit in store.search("lantern")] == [2]
        assert [hit.message for hit in store.search("glows")] == [3]
        assert len(store.search("harbour")) == 1
    finally:
        store.close()


def test_a_migration_that_fails_leaves_the_old_version(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _version_1(path)
    steps = (*MIGRATIONS[:1], "CREATE TABLE half (id); INSERT INTO nowhere VALUES (1);")
    monkeypatch.setattr("app.store_schema.MIGRATIONS", steps)
    with pytest.raises(StoreDamaged):
        Store.open(path)
    monkeypatch.undo()
    store = Store.open(path)
    assert store.search("lantern")
    store.close()


def _marks(folder: Path) -> dict[str, str]:
    return {
        each.name: hashlib.sha256(each.read_bytes()).hexdigest()
        for each in sorted(folder.iterdir())
        if not each.name.endswith("-lock")
    }


def test_a_newer_store_is_refused_and_not_touched(path: Path) -> None:
    store = Store.open(path)
    _fill(store, 1, "from the future")
    store.connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    store.close()
    before = _marks(path.parent)
    with pytest.raises(StoreTooNew, match=r"newer version.*Nothing was changed") as told:
        Store.open(path)
    assert told.value.version == VERSION + 1
    assert _marks(path.parent) == before
    assert list(before) == [FILE_NAME]


def test_a_newer_version_that_only_the_log_knows_is_refused_too(path: Path) -> None:
    """As left by a newer program that was killed right after its migration."""
    Store.open(path).close()
    script = (
        "import os, sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None); "
        "c.execute('PRAGMA journal_mode = WAL'); c.execute('CREATE TABLE newer (id)'); "
        f"c.execute('PRAGMA user_version = {VERSION + 5}'); os._exit(0)"
    )
    assert run_python("-c", script, str(path)).returncode == 0
    (path.parent / f"{FILE_NAME}-shm").unlink()
    before = _marks(path.parent)
    assert set(before) == {FILE_NAME, f"{FILE_NAME}-wal"}
    with pytest.raises(StoreTooNew):
        Store.open(path)
    assert _marks(path.parent) == before


@pytest.mark.parametrize("last", ["PRAGMA foreign_keys", "BEGIN", "PRAGMA user_version =", "PRAGMA wal_checkpoint"])
def test_a_program_that_is_killed_while_it_makes_the_file_can_make_it_again(path: Path, last: str) -> None:
    script = f"""
import os, sqlite3, sys
from pathlib import Path
from app import store
class Killed(sqlite3.Connection):
    def execute(self, sql, *values):
        if sql.startswith({last!r}) and "-lock" not in self.execute2("PRAGMA database_list").fetchone()[2]:
            os._exit(9)
        return super().execute(sql, *values)
    def execute2(self, sql):
        return super().execute(sql)
connect = sqlite3.connect
sqlite3.connect = lambda *a, **k: connect(*a, factory=Killed, **k)
store.Store.open(Path(sys.argv[1]))
"""
    assert run_python("-c", script, str(path)).returncode == 9
    assert path.stat().st_size > 0
    store = Store.open(path)
    _fill(store, 1, "made again")
    store.close()


@pytest.mark.parametrize("content", [b"no database at all", b"SQLite format 3\0" + b"\xff" * 50, os.urandom(8192)])
def test_a_file_that_is_no_store_is_refused_and_not_touched(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(StoreDamaged, match="move it away"):
        Store.open(path)
    assert _marks(path.parent) == {FILE_NAME: hashlib.sha256(content).hexdigest()}


@pytest.mark.parametrize("journal", ["DELETE", "WAL"])
def test_the_file_of_another_program_is_refused_and_not_touched(path: Path, journal: str) -> None:
    path.parent.mkdir()
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA journal_mode = {journal}").fetchone()
    connection.execute("CREATE TABLE messages (id)")
    connection.commit()
    connection.close()
    before = _marks(path.parent)
    with pytest.raises(StoreDamaged, match="another program"):
        Store.open(path)
    assert _marks(path.parent) == before


def test_a_store_with_damaged_pages_says_so(path: Path) -> None:
    store = Store.open(path)
    _fill(store, 1, *["some longer text " * 50] * 100)
    store.close()
    sound = path.read_bytes()
    refused = 0
    for start in range(4096, len(sound), 8 * 4096):
        path.write_bytes(sound[:start] + b"\xa5" * 4096 + sound[start + 4096 :])
        try:
            store = Store.open(path)
        except StoreError:
            refused += 1
            continue
        try:
            store.conversations()
            store.load(1)
            store.search("longer")
        except StoreDamaged:
            refused += 1
        finally:
            store.close()
    assert refused


@pytest.mark.skipif(os.name != "posix", reason="there are no such modes")
def test_nobody_else_may_read_the_conversations(store: Store) -> None:
    _fill(store, 1, "a secret")
    modes = {each.name: each.stat().st_mode & 0o777 for each in store.path.parent.iterdir() if each.stat().st_size}
    assert {FILE_NAME, f"{FILE_NAME}-wal"} <= set(modes)
    assert set(modes.values()) == {0o600}


def test_an_empty_file_is_a_new_store(path: Path) -> None:
    path.parent.mkdir()
    path.touch()
    store = Store.open(path)
    assert store.conversations() == []
    store.close()


def test_a_store_that_is_open_elsewhere_is_refused(store: Store) -> None:
    before = time.monotonic()
    with pytest.raises(StoreInUse, match="Close the other"):
        Store.open(store.path)
    assert time.monotonic() - before < 2.0
    again = _reopen(store)
    again.close()


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreNotOpen, match="Make the folder"):
        Store.open(tmp_path / "file" / "below" / FILE_NAME)
    (tmp_path / "folder" / FILE_NAME).mkdir(parents=True)
    with pytest.raises(StoreNotOpen):
        Store.open(tmp_path / "folder" / FILE_NAME)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_that_cannot_be_written_is_told(path: Path) -> None:
    path.parent.mkdir()
    path.parent.chmod(0o500)
    with pytest.raises(StoreNotOpen):
        Store.open(path)


def test_each_cause_has_its_error(tmp_path: Path) -> None:
    for code, kind in (
        (sqlite3.SQLITE_FULL, NoRoomForStore),
        (sqlite3.SQLITE_READONLY, StoreNotOpen),
        (sqlite3.SQLITE_CANTOPEN, StoreNotOpen),
        (sqlite3.SQLITE_IOERR, StoreNotOpen),
        (sqlite3.SQLITE_BUSY, StoreInUse),
        (sqlite3.SQLITE_CORRUPT, StoreDamaged),
    ):
        error = sqlite3.OperationalError("said by SQLite")
        error.sqlite_errorcode = code
        assert type(opening_error(tmp_path / FILE_NAME, error)) is kind


def test_a_session_that_cannot_save_has_a_store_for_itself() -> None:
    store = Store.temporary()
    _fill(store, 1, "for now")
    assert len(store.search("now")) == 1
    folder = store.path.parent
    store.close()
    assert not folder.exists()


# Speed ------------------------------------------------------------------------------------------------------------


def _shortest_ms(function: Callable[[], object], times: int = 3) -> float:
    took = []
    for _ in range(times):
        start = time.perf_counter()
        function()
        took.append(time.perf_counter() - start)
    return 1000.0 * min(took)


@pytest.mark.timeout(120)
def test_large_stores_answer_quickly(store: Store) -> None:
    """The budgets are 200 ms for the list, 100 ms for a search and 300 ms for the window; here far less than those."""
    words = [f"{first}{second}" for first in "abcdefghij" for second in ("ble", "cter", "dling", "ssel", "nd")]
    stats = {f"figure_{number}": number * 1.5 for number in range(30)}
    with store.changes():
        for conversation in range(1, 1001):
            texts = [
                " ".join(words[(conversation * 7 + place * 13 + k * k) % 50] for k in range(40)) for place in range(10)
            ]
            store.add_conversation(_head(conversation, texts[0][:40]))
            store.add_messages(
                conversation,
                [
                    StoredMessage(
                        10_000 + conversation * 10 + place,
                        None if place == 0 else 10_000 + conversation * 10 + place - 1,
                        "assistant" if place % 2 else "user",
                        text,
                        0.0,
                    )
                    for place, text in enumerate(texts)
                ],
            )
        store.add_conversation(_head(5000, "long"))
        store.add_messages(
            5000,
            [
                StoredMessage(
                    100_000 + place,
                    None if place == 0 else 100_000 + place - 1,
                    "assistant" if place % 2 else "user",
                    "a reply of some length " * 12,
                    0.0,
                    settings={"temperature": 0.7},
                    stats=stats if place % 2 else None,
                )
                for place in range(5000)
            ],
        )
    assert len(store.conversations()) == 1001
    assert _shortest_ms(store.conversations) < 200.0
    loaded = store.load(5000)
    assert loaded is not None
    assert len(loaded.path) == 5000
    assert _shortest_ms(lambda: store.load(5000)) < 1000.0
    assert len(store.search("a")) == 100
    for typed in ("a", "able", "reply", "bcter cnd", "解"):
        assert _shortest_ms(partial(store.search, typed)) < 300.0
