"""Messages with parts in the store: saved, reopened, searched, edited, damaged, brought up from older versions."""

import contextlib
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.state.chat.messages import question_messages, reply_messages
from app.state.conversations.conversation import Conversation, StoredMessage
from app.state.conversations.formats import FORMATS
from app.store.conversations import ConversationStore
from app.store.schema import APPLICATION_ID, MIGRATIONS, VERSION
from app.store.store import Store
from app.store.writer import rebuild_search
from engine import ImagePart, Message, ReasoningPart, TextPart, ToolCall
from helpers.chats import FIVE_TURNS


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[ConversationStore]:
    kept = ConversationStore(Store.open(path), lambda trouble: pytest.fail(str(trouble)))
    try:
        yield kept
    finally:
        assert kept.close(10.0)


def _read(conversation: Conversation) -> list[Message]:
    found: list[Message] = []
    for message in conversation.path:
        found += (question_messages if message.role == "user" else reply_messages)(message.text, message.messages)
    return found


def _file(path: Path) -> Path:
    path.write_text(json.dumps(FIVE_TURNS), encoding="utf-8")
    return path


def test_five_turns_are_saved_reopened_edited_continued_exported_and_imported(path: Path, tmp_path: Path) -> None:
    prompt = [Message.from_mapping(each) for each in FIVE_TURNS][1:]
    with _opened(path) as kept:
        imported = kept.import_file(_file(tmp_path / "chat.json"))
        kept.adopt(imported)
        number = imported.id
        assert _read(imported) == prompt
    with _opened(path) as kept:
        conversation = kept.load(number)
        assert conversation is not None
        assert _read(conversation) == prompt
        assert conversation.settings == {"system": "You are a guide."}
        last = conversation.leaf
        assert last is not None
        question = kept.ask(
            conversation, "What now?", messages=(Message("user", [TextPart("What now?"), ImagePart("x")]),)
        )
        reply = kept.begin_reply(conversation, question.id, target="t", draft="", settings={})
        kept.append(conversation, reply.id, "<think>Hm.</think>Wait")
        said = (Message("assistant", [ReasoningPart("Hm."), TextPart("Wait"), ToolCall("", "wait", {"s": 1})]),)
        kept.finish(conversation, reply.id, "<think>Hm.</think>Wait", "done", messages=said)
        prompt += [*question.messages, *said]
    with _opened(path) as kept:
        conversation = kept.load(number)
        assert conversation is not None
        assert _read(conversation) == prompt
        copy = tmp_path / "copy.json"
        kept.export(conversation, FORMATS["json"], copy)
        imported = kept.import_file(copy)
        kept.adopt(imported)
        assert _read(imported) == prompt
        assert [each.text for each in imported.path] == [each.text for each in conversation.path]
        second = tmp_path / "second.json"
        kept.export(imported, FORMATS["json"], second)
        told = [json.loads(each.read_text("utf-8")) for each in (copy, second)]
        assert told[0]["messages"] == told[1]["messages"]


def test_what_is_beside_the_text_is_found(path: Path, tmp_path: Path) -> None:
    with _opened(path) as kept:
        conversation = kept.import_file(_file(tmp_path / "chat.json"))
        kept.writer.flush(10.0)
        reply = conversation.path[1]
        for words in ("Rain 12", "weather cologne"):
            (hit,) = kept.search(words)
            assert hit.conversation == conversation.id
        (hit,) = kept.search("12 °C")
        assert (hit.message, "Rain, 12 °C" in hit.snippet) == (reply.id, True)
        assert kept.search("tool_call_id") == []
        (hit,) = kept.search("brief")
        assert hit.message == conversation.path[6].id
        rebuild_search(kept.store.connection)
        for index in ("messages_fts", "beside_fts"):
            kept.store.connection.execute(f"INSERT INTO {index} ({index}, rank) VALUES ('integrity-check', 1)")  # noqa: S608
        kept.adopt(conversation)
        kept.delete_message(conversation, conversation.path[0].id)
        kept.writer.flush(10.0)
        assert kept.search("Rain") == []
        kept.store.connection.execute("INSERT INTO beside_fts (beside_fts, rank) VALUES ('integrity-check', 1)")


def test_scripts_without_spaces_are_found_beside_the_text_too(path: Path) -> None:
    store = Store.open(path)
    conversation = Conversation(1, 1.0)
    store.add_conversation(conversation.summary())
    said = (Message("tool", "天気は雨です"),)
    store.add_messages(
        1,
        [StoredMessage(2, None, "user", "Weather?", 1.0), StoredMessage(3, 2, "assistant", "Wet", 1.0, messages=said)],
    )
    assert [hit.message for hit in store.search("雨")] == [3]
    assert [hit.message for hit in store.search("雨 天気")] == [3]
    assert store.search("雪") == []
    store.close()


def test_a_reply_that_went_on_is_what_it_became(path: Path) -> None:
    """The parts are those of the text that ended: what was written behind it before a crash leaves the text alone."""
    store = Store.open(path)
    store.add_conversation(Conversation(1, 1.0).summary())
    said = (Message("assistant", [ReasoningPart("x"), TextPart("Half")]),)
    store.add_messages(
        1, [StoredMessage(2, None, "user", "Go", 1.0), StoredMessage(3, 2, "assistant", "Half", 1.0, messages=said)]
    )
    store.set_status(3, "waiting")
    loaded = store.load(1)
    assert loaded is not None
    assert loaded[3].messages == said
    store.append(3, " and half")
    store.close()
    store = Store.open(path)
    loaded = store.load(1)
    assert loaded is not None
    assert (loaded[3].text, loaded[3].messages, loaded[3].status) == ("Half and half", (), "interrupted")
    assert not loaded[3].damaged
    store.close()


@pytest.mark.parametrize("parts", ['[{"role": "assistant", "content": "Other"}]', "no JSON", None, b"\xff\xfe", 7])
def test_changed_parts_are_damage(path: Path, parts: object) -> None:
    store = Store.open(path)
    store.add_conversation(Conversation(1, 1.0).summary())
    said = (Message("assistant", [ReasoningPart("x"), TextPart("Yes")]),)
    store.add_messages(
        1, [StoredMessage(2, None, "user", "Go", 1.0), StoredMessage(3, 2, "assistant", "Yes", 1.0, messages=said)]
    )
    store.connection.execute("UPDATE messages SET parts = ? WHERE id = 3", (parts,))
    loaded = store.load(1)
    assert loaded is not None
    assert [message.damaged for message in loaded] == [False, True]
    assert loaded[3].text == "Yes"
    store.close()


@pytest.mark.parametrize("version", range(1, VERSION))
def test_older_stores_are_brought_up_and_keep_parts_then(path: Path, version: int) -> None:
    connection = sqlite3.connect(path)
    for step in MIGRATIONS[:version]:
        connection.executescript(step)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {version}")
    connection.execute("INSERT INTO conversations (id, title, created, updated) VALUES (1, 'Old', 1, 2)")
    connection.execute(
        "INSERT INTO messages (id, conversation, parent, role, created, status, text) "
        "VALUES (2, 1, NULL, 'user', 1, 'done', 'an old lantern'), (3, 1, 2, 'assistant', 1, 'done', 'it glows')"
    )
    connection.commit()
    connection.close()
    store = Store.open(path)
    assert [hit.message for hit in store.search("glows")] == [3]
    said = (Message("tool", "found in a harbour"),)
    store.add_messages(
        1, [StoredMessage(4, 3, "user", "Where?", 1.0), StoredMessage(5, 4, "assistant", "There", 1.0, messages=said)]
    )
    assert [hit.message for hit in store.search("harbour")] == [5]
    loaded = store.load(1)
    assert loaded is not None
    assert [message.text for message in loaded] == ["an old lantern", "it glows", "Where?", "There"]
    assert loaded[5].messages == said
    store.delete_messages([2, 3, 4, 5])
    assert store.search("harbour") == store.search("lantern") == []
    store.close()


def test_words_beside_a_text_that_changed_are_found_no_more(path: Path) -> None:
    store = Store.open(path)
    store.add_conversation(Conversation(1, 1.0).summary())
    reply = StoredMessage(3, 2, "assistant", "There", 1.0, messages=(Message("tool", "in a harbour"),))
    store.add_messages(1, [StoredMessage(2, None, "user", "Where?", 1.0), reply])
    for words, found in (("on a hill", ["hill"]), ("on a hill", ["hill"]), ("", []), ("by a river", ["river"])):
        reply.messages = (Message("tool", words),) if words else ()
        store.save_message(reply)
        assert [word for word in ("harbour", "hill", "river") if store.search(word)] == found
        store.connection.execute("INSERT INTO beside_fts (beside_fts, rank) VALUES ('integrity-check', 1)")
    store.close()
