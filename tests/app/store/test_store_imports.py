"""Imports into the store: all of a file or nothing of it, in steps between which others are kept."""

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import app.store.imports
from app.state.conversations.conversation import Conversation, StoredMessage
from app.state.conversations.files import ConversationRefused, to_json
from app.store.conversations import ConversationStore
from app.store.errors import StoreError
from app.store.store import FILE_NAME, Store


class Stopped(Exception):
    """Stands for whatever ends an import."""


def _exported(path: Path, count: int = 40) -> Path:
    conversation = Conversation(1, 5.0, title="Rivers")
    for number in range(2, 2 + count, 2):
        parent = number - 1 if number > 2 else None
        conversation.add(StoredMessage(number, parent, "user", f"Question {number}", 6.0))
        conversation.add(StoredMessage(number + 1, number, "assistant", f"Reply {number}", 7.0))
    traces = {3: b"trace"}
    path.write_text(to_json(conversation, traces), encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app.store.imports, "_MOST_MESSAGES", 8)


@pytest.fixture
def keeper(tmp_path: Path) -> Iterator[ConversationStore]:
    kept = ConversationStore(Store.open(tmp_path / FILE_NAME), lambda trouble: pytest.fail(str(trouble)))
    yield kept
    kept.close(10.0)


def _rows(path: Path) -> list[int]:
    with sqlite3.connect(path) as connection:
        found = connection.execute(
            "SELECT (SELECT count(*) FROM conversations), (SELECT count(*) FROM messages), "
            "(SELECT count(*) FROM traces), (SELECT count(*) FROM messages_fts WHERE messages_fts MATCH 'reply')"
        ).fetchone()
    connection.close()
    return [*found]


def test_it_is_whole_when_it_is_given(keeper: ConversationStore, tmp_path: Path) -> None:
    shares: list[float] = []
    conversation = keeper.import_file(_exported(tmp_path / "a.json"), shares.append)
    assert shares == sorted(shares)
    assert 0.0 <= shares[0] < 0.5 < shares[-1] <= 1.0
    assert keeper.writer.pending == 0
    (summary,) = keeper.conversations()
    assert (summary.title, summary.messages, summary.updated) == ("Rivers", 40, 7.0)
    loaded = keeper.load(conversation.id)
    assert loaded is not None
    assert [message.text for message in loaded.path] == [message.text for message in conversation.path]
    assert keeper.load_trace(min(message.id for message in conversation) + 1) == b"trace"


@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 0.7, 0.95])
def test_nothing_stays_of_one_that_was_stopped(keeper: ConversationStore, tmp_path: Path, share: float) -> None:
    def stop(done: float) -> None:
        if done >= share:
            raise Stopped

    with pytest.raises(Stopped):
        keeper.import_file(_exported(tmp_path / "a.json"), stop)
    assert keeper.writer.flush(10.0)
    assert _rows(tmp_path / FILE_NAME) == [0, 0, 0, 0]


def test_one_that_is_stopped_while_its_last_step_is_on_its_way_is_gone_too(
    keeper: ConversationStore, tmp_path: Path
) -> None:
    held = threading.Event()

    def stop(done: float) -> None:
        if done > 0.95 and not held.is_set():
            held.set()
            assert keeper.writer.flush(10.0)
            raise Stopped

    with pytest.raises(Stopped):
        keeper.import_file(_exported(tmp_path / "a.json"), stop)
    assert held.is_set()
    assert keeper.writer.flush(10.0)
    assert _rows(tmp_path / FILE_NAME) == [0, 0, 0, 0]


def test_of_a_program_that_was_killed_meanwhile_nothing_is_left_at_the_next_start(
    keeper: ConversationStore, tmp_path: Path
) -> None:
    copies: list[Path] = []

    def copy(done: float) -> None:
        if done > 0.5:
            with sqlite3.connect(tmp_path / FILE_NAME) as source:
                path = tmp_path / f"copy{len(copies)}.sqlite3"
                with sqlite3.connect(path) as target:
                    source.backup(target)
                target.close()
            source.close()
            copies.append(path)

    keeper.import_file(_exported(tmp_path / "a.json"), copy)
    assert len(copies) > 3
    seen = set()
    for path in copies:
        again = ConversationStore(Store.open(path), lambda trouble: pytest.fail(str(trouble)))
        seen.add(sum(each.messages for each in again.conversations()))
        assert again.writer.flush(10.0)
        assert again.close(10.0)
        rows = _rows(path)
        assert rows[:2] in ([0, 0], [1, 40])
    assert seen <= {0, 40}


def test_what_is_said_meanwhile_is_kept_between_its_steps(keeper: ConversationStore, tmp_path: Path) -> None:
    other = keeper.new()
    written: list[int] = []

    def ask(done: float) -> None:
        if done > 0.5 and not len(other):
            keeper.ask(other, "Meanwhile")
        with sqlite3.connect(tmp_path / FILE_NAME) as connection:
            written.append(connection.execute("SELECT count(*) FROM messages WHERE text = 'Meanwhile'").fetchone()[0])
        connection.close()

    keeper.import_file(_exported(tmp_path / "a.json"), ask)
    assert 0 < written.index(1) < len(written) - 1, "it was there before the import was over"


def test_a_full_disk_holds_it_up_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    troubles: list[StoreError | None] = []
    keeper = ConversationStore(Store.open(tmp_path / FILE_NAME), troubles.append, retry_s=0.05)
    add, full = Store.add_messages, threading.Event()
    full.set()

    def add_messages(self: Store, number: int, messages: list[StoredMessage]) -> None:
        if full.is_set():
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error
        add(self, number, messages)

    monkeypatch.setattr(Store, "add_messages", add_messages)

    def note(done: float) -> None:
        if troubles:
            full.clear()

    with caplog.at_level("CRITICAL"):
        conversation = keeper.import_file(_exported(tmp_path / "a.json"), note)
    assert len(troubles) == 2
    assert troubles[1] is None
    assert keeper.close(10.0)
    store = Store.open(tmp_path / FILE_NAME)
    loaded = store.load(conversation.id)
    store.close()
    assert loaded is not None
    assert len(loaded) == 40


def test_what_the_store_refuses_is_refused_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    troubles: list[StoreError | None] = []
    keeper = ConversationStore(Store.open(tmp_path / FILE_NAME), troubles.append)
    add = Store.add_messages

    def add_messages(self: Store, number: int, messages: list[StoredMessage]) -> None:
        if any(message.text == "Reply 20" for message in messages):
            raise ValueError
        add(self, number, messages)

    monkeypatch.setattr(Store, "add_messages", add_messages)
    with caplog.at_level("CRITICAL"), pytest.raises(ConversationRefused, match=r"a\.json.*Nothing was changed"):
        keeper.import_file(_exported(tmp_path / "a.json"))
    assert keeper.writer.flush(10.0)
    assert keeper.close(10.0)
    assert _rows(tmp_path / FILE_NAME) == [0, 0, 0, 0]
