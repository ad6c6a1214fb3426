"""The writing thread: nothing waits for it, and nothing that it was given is lost."""

import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.state.conversations.conversation import ConversationSummary, StoredMessage
from app.store.conversations import ConversationStore
from app.store.errors import ChangeRefused, DiskFull, NotWritable, StoreError, writing_error
from app.store.store import FILE_NAME, Store
from app.store.writer import StoreWriter

SOON_S = 60.0


class Told:
    """What the writer says, as it comes."""

    def __init__(self) -> None:
        self.all: list[StoreError | None] = []
        self._came = threading.Condition()

    def __call__(self, trouble: StoreError | None) -> None:
        with self._came:
            self.all.append(trouble)
            self._came.notify_all()

    def wait(self, number: int) -> list[StoreError | None]:
        with self._came:
            assert self._came.wait_for(lambda: len(self.all) >= number, SOON_S)
        return self.all


class SmallDisk(Store):
    """Its other connections may not make the file larger than it is, as on a full disk, until there is space."""

    full = True

    def another(self) -> Store:
        other = super().another()
        if self.full:
            pages = other.connection.execute("PRAGMA page_count").fetchone()[0]
            other.connection.execute(f"PRAGMA max_page_count = {pages}").fetchone()
        return other


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def writer(store: Store, told: Told) -> Iterator[StoreWriter]:
    begun = StoreWriter(store, told, retry_s=0.05)
    yield begun
    begun.close(SOON_S)


@pytest.fixture
def small(tmp_path: Path) -> Iterator[SmallDisk]:
    opened = SmallDisk.open(tmp_path / FILE_NAME)
    assert isinstance(opened, SmallDisk)
    yield opened
    opened.close()


def _wait(event: threading.Event) -> None:
    event.wait(SOON_S)


def _conversation(store: Store) -> None:
    store.add_conversation(ConversationSummary(1, "One", 0.0, 0.0))
    store.add_messages(1, [StoredMessage(2, None, "user", "?", 0.0)])
    store.add_messages(1, [StoredMessage(3, 2, "assistant", "", 0.0, "waiting")])


def test_changes_are_kept_in_order(writer: StoreWriter, store: Store) -> None:
    writer.submit(_conversation)
    for title in ("a", "b", "c"):
        writer.submit(lambda store, title=title: store.rename(1, title))  # type: ignore[misc]
    assert writer.flush(SOON_S)
    assert writer.pending == 0
    assert store.conversations()[0].title == "c"


def test_texts_are_gathered_and_kept_soon(writer: StoreWriter, store: Store) -> None:
    writer.submit(_conversation)
    assert writer.flush(SOON_S)
    for number in range(100):
        writer.append(3, f"{number} ")
    limit = time.monotonic() + SOON_S
    while writer.pending and time.monotonic() < limit:
        time.sleep(0.005)
    pieces = store.connection.execute("SELECT text FROM pieces").fetchall()
    assert 1 <= len(pieces) < 20
    assert "".join(piece[0] for piece in pieces) == "".join(f"{number} " for number in range(100))


def test_handing_over_does_not_wait_for_the_disk(writer: StoreWriter, store: Store) -> None:
    held, go_on = threading.Event(), threading.Event()

    def slow(_: Store) -> None:
        held.set()
        go_on.wait(SOON_S)

    writer.submit(_conversation)
    writer.submit(slow)
    assert held.wait(SOON_S)
    start = time.perf_counter()
    for _ in range(1000):
        writer.append(3, "text ")
    writer.submit(lambda store: store.rename(1, "later"))
    took = time.perf_counter() - start
    assert not writer.flush(0.01)
    go_on.set()
    assert writer.flush(SOON_S)
    assert took < 1.0
    loaded = store.load(1)
    assert loaded is not None
    assert loaded.path[1].text == "text " * 1000
    assert loaded.title == "later"


def test_close_keeps_what_waits(store: Store, told: Told) -> None:
    writer = StoreWriter(store, told)
    writer.submit(_conversation)
    writer.append(3, "last words")
    assert writer.close(SOON_S)
    loaded = store.load(1)
    assert loaded is not None
    assert loaded.path[1].text == "last words"
    assert told.all == []


@pytest.mark.logs("a change could not be saved: IntegrityError")
@pytest.mark.logs("a change could not be saved: AttributeError")
def test_a_change_that_makes_no_sense_is_left_out_alone(writer: StoreWriter, store: Store, told: Told) -> None:
    held = threading.Event()
    writer.submit(lambda _: _wait(held))
    writer.submit(_conversation)
    writer.submit(lambda store: store.add_messages(99, [StoredMessage(9, None, "user", "?", 0.0)]))
    writer.submit(lambda store: store.rename(1, object()))  # type: ignore[arg-type]
    writer.submit(lambda store: store.pin(1, True))
    held.set()
    assert writer.flush(SOON_S)
    assert [type(each) for each in told.all] == [ChangeRefused, ChangeRefused]
    assert not writer.failing
    assert [(head.title, head.pinned) for head in store.conversations()] == [("One", True)]


@pytest.mark.logs("conversations cannot be saved: DiskFull")
def test_a_full_disk_is_told_once_and_everything_is_kept_when_there_is_space(small: SmallDisk, told: Told) -> None:
    keeper = ConversationStore(small, told, retry_s=0.05)
    conversation = keeper.new()
    question = keeper.ask(conversation, "A question " + "that is long " * 2000)
    reply = keeper.begin_reply(conversation, question.id, target="t", draft="d", settings={})
    assert [type(each) for each in told.wait(1)] == [DiskFull]
    for number in range(200):
        keeper.append(conversation, reply.id, f"{number} and more text, ")
    keeper.save_trace(reply.id, b"trace")
    time.sleep(0.3)
    assert keeper.writer.failing
    assert len(told.all) == 1
    assert small.conversations() == []
    assert keeper.load(conversation.id) is conversation
    small.full = False
    assert told.wait(2)[1] is None
    assert keeper.writer.flush(SOON_S)
    keeper.finish(conversation, reply.id, reply.text, "done")
    assert keeper.writer.flush(SOON_S)
    loaded = small.load(conversation.id)
    assert loaded is not None
    assert list(loaded) == list(conversation)
    assert small.load_trace(reply.id) == b"trace"
    assert keeper.close(SOON_S)


@pytest.mark.logs("conversations cannot be saved: DiskFull")
def test_closing_on_a_full_disk_says_that_something_is_not_saved(small: SmallDisk, told: Told) -> None:
    writer = StoreWriter(small, told, retry_s=60.0)
    writer.submit(_conversation)
    writer.submit(lambda store: store.rename(1, "x" * 100_000))
    told.wait(1)
    start = time.monotonic()
    assert not writer.close(SOON_S)
    assert time.monotonic() - start < 5.0


@pytest.mark.logs("conversations cannot be saved: DiskFull")
def test_traces_do_not_fill_the_memory_while_nothing_can_be_written(
    small: SmallDisk, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.store.writer._MOST_TRACES", 10_000)
    writer = StoreWriter(small, told, retry_s=60.0)
    writer.submit(_conversation)
    writer.submit(lambda store: store.rename(1, "x" * 100_000))
    told.wait(1)
    for number in range(50):
        writer.save_trace(3, bytes([number]) * 1000)
    assert sum(queued.bytes_of_trace for queued in writer._queue) <= 10_000
    small.full = False
    assert writer.flush(SOON_S)
    assert small.load_trace(3) == bytes([49]) * 1000
    writer.close(SOON_S)


@pytest.mark.logs("conversations cannot be saved: NotWritable")
def test_a_store_that_another_program_holds_is_tried_again(store: Store, told: Told) -> None:
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    writer = StoreWriter(store, told, retry_s=0.05)
    writer.submit(_conversation)
    assert [type(each) for each in told.wait(1)] == [NotWritable]
    other.execute("ROLLBACK")
    other.close()
    assert told.wait(2)[1] is None
    assert writer.close(SOON_S)
    assert len(store.conversations()) == 1


def test_each_cause_has_its_error(tmp_path: Path) -> None:
    for code, kind in (
        (sqlite3.SQLITE_FULL, DiskFull),
        (sqlite3.SQLITE_IOERR, NotWritable),
        (sqlite3.SQLITE_READONLY, NotWritable),
        (sqlite3.SQLITE_CORRUPT, NotWritable),
        (sqlite3.SQLITE_CONSTRAINT, ChangeRefused),
    ):
        error = sqlite3.OperationalError("said by SQLite")
        error.sqlite_errorcode = code
        assert type(writing_error(tmp_path / FILE_NAME, error)) is kind


@pytest.fixture
def keeper(store: Store, told: Told) -> Iterator[ConversationStore]:
    kept = ConversationStore(store, told)
    yield kept
    assert kept.close(SOON_S)
    assert told.all == []


def test_all_that_a_person_does_is_there_after_a_restart(keeper: ConversationStore, store: Store) -> None:
    conversation = keeper.new()
    first = keeper.ask(conversation, "# What is *this*? And that?")
    assert conversation.title == "What is this?"
    old = keeper.begin_reply(conversation, first.id, target="t", draft="", settings={"k": (1, 2)})
    keeper.append(conversation, old.id, "It is")
    keeper.append(conversation, old.id, " that.")
    assert old.text == "It is that."
    keeper.finish(conversation, old.id, "It is that!", "done", stats={"x": float("inf")}, finish_reason="stop")
    assert (old.settings, old.stats) == ({"k": [1, 2]}, {"x": None})
    new = keeper.begin_reply(conversation, first.id, target="t", draft="d", settings={})
    keeper.finish(conversation, new.id, "", "failed", problem="No memory.")
    edited = keeper.ask(conversation, "Edited \ud800", first.parent, first=True)
    assert edited.text == "Edited ?"
    keeper.ask(conversation, "unanswered")
    keeper.choose(conversation, old.id)
    keeper.ask(conversation, "and then?")
    keeper.delete_message(conversation, edited.id)
    keeper.rename(conversation.id, " Another\n name ")
    keeper.pin(conversation.id, True)
    assert keeper.writer.flush(SOON_S)
    loaded = store.load(conversation.id)
    assert loaded is not None
    assert loaded.summary() == conversation.summary()
    assert loaded.title == "Another name"
    assert list(loaded) == list(conversation)
    assert [message.id for message in loaded.path] == [message.id for message in conversation.path]


def test_a_reply_that_is_continued_grows(keeper: ConversationStore, store: Store) -> None:
    conversation = keeper.new()
    question = keeper.ask(conversation, "Count.")
    reply = keeper.begin_reply(conversation, question.id, target="t", draft="", settings={})
    keeper.finish(conversation, reply.id, "One, ", "cancelled")
    keeper.resume(conversation, reply.id)
    keeper.append(conversation, reply.id, "two")
    assert keeper.writer.flush(SOON_S)
    loaded = store.load(conversation.id)
    assert loaded is not None
    assert loaded.path[1].text == reply.text == "One, two"


def test_what_comes_after_a_message_was_deleted_is_nothing(keeper: ConversationStore) -> None:
    conversation = keeper.new()
    question = keeper.ask(conversation, "Count.")
    reply = keeper.begin_reply(conversation, question.id, target="t", draft="", settings={})
    keeper.append(conversation, reply.id, "One")
    keeper.delete_message(conversation, question.id)
    keeper.append(conversation, reply.id, "two")
    assert keeper.finish(conversation, reply.id, "One, two", "done") is None
    keeper.save_trace(reply.id, b"x")
    assert keeper.writer.flush(SOON_S)
    assert keeper.load_trace(reply.id) is None


def test_a_conversation_in_use_is_the_same_object(keeper: ConversationStore) -> None:
    conversation = keeper.new()
    keeper.ask(conversation, "Is it?")
    assert keeper.load(conversation.id) is conversation
    number = conversation.id
    assert keeper.writer.flush(SOON_S)
    del conversation
    loaded = keeper.load(number)
    assert loaded is not None
    assert keeper.load(number) is loaded


def test_an_empty_conversation_is_not_kept_and_its_name_is(keeper: ConversationStore) -> None:
    keeper.new()
    named = keeper.new()
    keeper.rename(named.id, "Mine")
    keeper.pin(named.id, True)
    assert keeper.writer.flush(SOON_S)
    assert keeper.conversations() == []
    keeper.ask(named, "A question")
    assert keeper.writer.flush(SOON_S)
    assert [(head.title, head.pinned) for head in keeper.conversations()] == [("Mine", True)]


def test_delete_undo_and_purge(keeper: ConversationStore) -> None:
    numbers = []
    for _ in range(3):
        conversation = keeper.new()
        keeper.ask(conversation, "A question")
        numbers.append(conversation.id)
        keeper.delete(conversation.id)
    keeper.undelete(numbers[0])
    keeper.purge(numbers[0])
    keeper.purge(numbers[1])
    assert keeper.writer.flush(SOON_S)
    assert [head.id for head in keeper.conversations()] == numbers[:1]
    keeper.undelete(numbers[1])
    keeper.undelete(numbers[2])
    assert keeper.writer.flush(SOON_S)
    assert {head.id for head in keeper.conversations()} == {numbers[0], numbers[2]}


def test_what_was_deleted_before_a_kill_goes_at_the_next_start(store: Store, told: Told) -> None:
    with store.changes():
        _conversation(store)
        store.rename(1, "lanternfish")
        store.add_messages(1, [StoredMessage(10 + place, 2, "user", "x", 0.0) for place in range(1200)])
        store.delete(1, 1.0)
    keeper = ConversationStore(store, told)
    assert keeper.writer.flush(SOON_S)
    assert store.connection.execute("SELECT count(*) FROM messages").fetchone() == (0,)
    assert store.connection.execute("SELECT count(*) FROM conversations").fetchone() == (0,)
    assert keeper.close(SOON_S)
    assert b"lanternfish" not in store.path.read_bytes()
    assert told.all == []
