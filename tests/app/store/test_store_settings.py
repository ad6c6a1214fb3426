"""What a conversation's replies are asked with is kept with it, also in files of older versions."""

import sqlite3
from pathlib import Path

import pytest

from app.state.settings.generation import GenerationChoice
from app.store.conversations import ConversationStore
from app.store.schema import APPLICATION_ID, MIGRATIONS, VERSION
from app.store.store import Store

CHOICE = GenerationChoice(temperature=0.8, stop=("END",), system="Be brief.").to_mapping()


def _keeper(path: Path) -> ConversationStore:
    return ConversationStore(Store.open(path), lambda _error: None)


def test_it_is_kept_from_the_first_question_on(tmp_path: Path) -> None:
    keeper = _keeper(tmp_path / "c.sqlite3")
    conversation, empty = keeper.new(), keeper.new()
    keeper.set_settings(empty, {"top_k": 3})
    keeper.set_settings(conversation, CHOICE)
    keeper.ask(conversation, "Hello")
    later = keeper.new()
    keeper.ask(later, "Hello")
    keeper.set_settings(later, {"top_k": 7})
    assert keeper.close(5.0)
    keeper = _keeper(tmp_path / "c.sqlite3")
    for number, settings in ((conversation.id, CHOICE), (later.id, {"top_k": 7})):
        found = keeper.load(number)
        assert found is not None
        assert found.settings == settings
    assert keeper.load(empty.id) is None, "one without messages is not kept"
    assert keeper.close(5.0)


@pytest.mark.parametrize("version", range(1, VERSION))
def test_older_files_have_none(tmp_path: Path, version: int) -> None:
    path = tmp_path / "c.sqlite3"
    connection = sqlite3.connect(path)
    for step in MIGRATIONS[:version]:
        connection.executescript(step)
    connection.execute("INSERT INTO conversations (id, title, created, updated) VALUES (1, 'Old', 1.0, 2.0)")
    connection.execute(
        "INSERT INTO messages (id, conversation, role, created, status, text) "
        "VALUES (1, 1, 'user', 1.0, 'done', 'Hello')"
    )
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {version}")
    connection.commit()
    connection.close()
    keeper = _keeper(path)
    found = keeper.load(1)
    assert found is not None
    assert (found.title, [message.text for message in found]) == ("Old", ["Hello"])
    assert found.settings == {}
    keeper.set_settings(found, CHOICE)
    assert keeper.close(5.0)
    store = Store.open(path)
    again = store.load(1)
    store.close()
    assert again is not None
    assert again.settings == CHOICE


@pytest.mark.parametrize("wrong", ["", "{", "[]", "null", "7", "[" * 100_000])
def test_what_cannot_be_read_counts_as_none(tmp_path: Path, wrong: str) -> None:
    keeper = _keeper(tmp_path / "c.sqlite3")
    conversation = keeper.new()
    keeper.ask(conversation, "Hello")
    assert keeper.close(5.0)
    store = Store.open(tmp_path / "c.sqlite3")
    with store.changes():
        store.connection.execute("UPDATE conversations SET settings = ?", (wrong,))
    found = store.load(conversation.id)
    store.close()
    assert found is not None
    assert found.settings == {}
    assert len(found) == 1


@pytest.mark.parametrize(
    ("column", "wrong"), [("settings", "[]"), ("settings", "7"), ("settings", "{"), ("stats", "[1]"), ("text", b"\xff")]
)
def test_a_damaged_message_is_told_and_nothing_is_made_of_it(tmp_path: Path, column: str, wrong: str | bytes) -> None:
    keeper = _keeper(tmp_path / "c.sqlite3")
    conversation = keeper.new()
    keeper.ask(conversation, "Hello")
    assert keeper.close(5.0)
    store = Store.open(tmp_path / "c.sqlite3")
    with store.changes():
        store.connection.execute(f"UPDATE messages SET {column} = ?", (wrong,))  # noqa: S608 - our columns
    found = store.load(conversation.id)
    store.close()
    assert found is not None
    (message,) = found
    assert message.damaged
    assert (message.settings, message.stats) == ({}, None)
