"""The file of the store, whatever it is like: of another version or program, damaged, in use, out of reach."""

import hashlib
import os
import sqlite3
from pathlib import Path

import pytest

from app.store.errors import (
    NoRoomForStore,
    StoreDamaged,
    StoreError,
    StoreInUse,
    StoreNotOpen,
    StoreTooNew,
    opening_error,
)
from app.store.schema import APPLICATION_ID, MIGRATIONS, VERSION
from app.store.store import FILE_NAME, Store
from helpers.children.stores import fill, reopen
from helpers.processes import own_clock, run_python


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / FILE_NAME


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
    monkeypatch.setattr("app.store.schema.MIGRATIONS", steps)
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
    fill(store, 1, "from the future")
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
from app.store import store
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
    fill(store, 1, "made again")
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
    fill(store, 1, *["some longer text " * 50] * 100)
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
    fill(store, 1, "a secret")
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
    before = own_clock()
    with pytest.raises(StoreInUse, match="Close the other"):
        Store.open(store.path)
    assert own_clock() - before < 2.0
    again = reopen(store)
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
    fill(store, 1, "for now")
    assert len(store.search("now")) == 1
    folder = store.path.parent
    store.close()
    assert not folder.exists()
