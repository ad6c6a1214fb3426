"""A conversation as a file and back; and files that somebody damaged."""

import itertools
import json
import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import app.store.conversations
from app.state.conversations import files as conversation_files
from app.state.conversations.conversation import Conversation, StoredMessage, clean
from app.state.conversations.files import (
    ConversationRefused,
    ExportFailed,
    Imported,
    file_name,
    from_json,
    to_json,
    write_file,
)
from app.state.conversations.formats import FORMATS
from app.state.conversations.markdown import Words, to_markdown
from app.store.conversations import ConversationStore
from app.store.store import FILE_NAME, Store

Damage = Callable[[dict[str, Any]], object]


@pytest.fixture
def conversation() -> Conversation:
    """1 → 2 → 3 → 4 (interrupted), and 2's sibling 5, which is not on the screen."""
    made = Conversation(77, 1000.5, title="Ferry *times*", pinned=True)
    figures = {"rounds": 4, "proposed": 16, "accepted": 12, "corrections": 4, "prompt_ms": 100.0, "total_ms": 2100.0}
    for message in (
        StoredMessage(101, None, "user", "When does it go?", 1001.0),
        StoredMessage(102, 101, "assistant", "At *noon*.\n\n```\ncode", 1002.0, "done", "big_one.gguf", "small.gguf",
                      {"temperature": 0.7, "nested": {"a": [1, None, "x"]}}, figures, "stop"),
        StoredMessage(103, 102, "user", "Sure?", 1003.0),
        StoredMessage(104, 103, "assistant", "I thi", 1004.0, "interrupted"),
        StoredMessage(105, 101, "assistant", "", 1005.0, "failed", "big_one.gguf", "", problem="No memory.\nNone."),
    ):  # fmt: skip
        made.add(message)
    made.choose(104)
    return made


def _back(text: str) -> Imported:
    return from_json(text.encode(), itertools.count(500).__next__)


def _compared(conversation: Conversation) -> Any:
    """All of it but the ids, which are numbered by place."""
    ids = {message.id: place for place, message in enumerate(conversation)}
    messages = [
        (
            ids[each.id],
            None if each.parent is None else ids[each.parent],
            None if each.chosen is None else ids.get(each.chosen),
            each.role,
            each.text,
            each.created,
            each.status,
            each.target,
            each.draft,
            each.settings,
            each.stats,
            each.finish_reason,
            each.problem,
        )
        for each in conversation
    ]
    head = (conversation.title, conversation.created, conversation.updated, conversation.pinned)
    return head, [ids[each.id] for each in conversation.path], messages


def test_export_and_import_give_the_same_conversation(conversation: Conversation) -> None:
    traces = {102: b"\0trace", 104: b""}
    imported = _back(to_json(conversation, traces))
    assert _compared(imported.conversation) == _compared(conversation)
    assert imported.conversation.id == 500
    assert imported.traces == {502: b"\0trace", 504: b""}
    assert to_json(imported.conversation, imported.traces) == to_json(conversation, traces)


def test_what_was_put_back_is_exported_where_it_was(conversation: Conversation) -> None:
    before = to_json(conversation)
    gone = [conversation[each] for each in conversation.below(102)]
    conversation.delete(102)
    conversation.restore(gone)
    assert to_json(conversation) == before


def test_a_reply_that_is_being_written_is_told_as_interrupted(conversation: Conversation) -> None:
    conversation[104].status = "writing"
    back = _back(to_json(conversation)).conversation
    assert [message.status for message in back.path][-1] == "interrupted"


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
_values = st.dictionaries(st.text(max_size=5).map(clean), _json, max_size=3)


@st.composite
def _conversations(draw: st.DrawFn) -> Conversation:
    made = Conversation(1, draw(st.floats(0, 1e9)), title=" ".join(draw(st.text(max_size=20)).split()))
    made.pinned = draw(st.booleans())
    for number in range(2, 2 + draw(st.integers(0, 12))):
        parent = draw(st.sampled_from([None, *made.messages]))
        replies = parent is not None and made[parent].role == "user" and draw(st.booleans())
        made.add(
            StoredMessage(
                number,
                parent,
                "assistant" if replies else "user",
                draw(st.text(max_size=20)),
                draw(st.floats(0, 1e9)),
                draw(st.sampled_from(["done", "cancelled", "failed", "interrupted"])),
                draw(st.text(max_size=5)),
                draw(st.text(max_size=5)),
                draw(_values),
                draw(st.none() | _values),
                draw(st.none() | st.text(max_size=5)),
                draw(st.none() | st.text(max_size=5)),
            )
        )
    for chosen in draw(st.lists(st.sampled_from([None, *made.messages]), max_size=4)):
        if chosen is not None:
            made.choose(chosen)
    return made


@settings(deadline=None, max_examples=60)
@given(_conversations())
def test_any_conversation_comes_back_the_same(made: Conversation) -> None:
    assert _compared(_back(to_json(made)).conversation) == _compared(made)


def _nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def _set(place: int | None, name: str, value: object) -> Damage:
    def damage(told: dict[str, Any]) -> None:
        (told if place is None else told["messages"][place])[name] = value

    return damage


def _without(place: int | None, name: str) -> Damage:
    return lambda told: (told if place is None else told["messages"][place]).pop(name)


DAMAGES: dict[str, Damage] = {
    "another format": _set(None, "format", "something"),
    "a newer version": _set(None, "version", conversation_files.VERSION + 1),
    "version true": _set(None, "version", True),
    "version 0": _set(None, "version", 0),
    "no title": _without(None, "title"),
    "a number as title": _set(None, "title", 5),
    "pinned 1": _set(None, "pinned", 1),
    "created as text": _set(None, "created", "now"),
    "created true": _set(None, "created", True),
    "created too late": _set(None, "created", 1e300),
    "created long ago": _set(None, "updated", -1),
    "messages no list": _set(None, "messages", {}),
    "no messages": _without(None, "messages"),
    "chosen not there": _set(None, "chosen", 99),
    "chosen no first message": _set(None, "chosen", 2),
    "chosen text": _set(None, "chosen", "1"),
    "a message that is none": lambda told: told["messages"].append("text"),
    "an id twice": _set(1, "id", 1),
    "an id true": _set(0, "id", True),
    "an id as text": _set(0, "id", "1"),
    "no id": _without(0, "id"),
    "a circle": _set(0, "parent", 4),
    "its own parent": _set(2, "parent", 3),
    "a parent that is not there": _set(2, "parent", 77),
    "a parent of an odd type": _set(2, "parent", [1]),
    "a reply at the beginning": _set(1, "parent", None),
    "a reply below a reply": _set(1, "role", "user"),
    "a reply to a reply": _set(3, "parent", 2),
    "an unknown role": _set(0, "role", "system"),
    "a role of an odd type": _set(0, "role", ["user"]),
    "an unknown status": _set(0, "status", "odd"),
    "a status of an odd type": _set(0, "status", {}),
    "still being written": _set(3, "status", "writing"),
    "no text": _without(0, "text"),
    "text null": _set(0, "text", None),
    "half a pair": _set(0, "text", "\ud800"),
    "settings a list": _set(1, "settings", []),
    "stats a text": _set(1, "stats", "x"),
    "stats too deep": _set(1, "stats", {"a": _nested(50)}),
    "a huge number": _set(1, "stats", {"a": "HUGE"}),
    "half a pair in stats": _set(1, "stats", {"\udc00": 1}),
    "a problem that is a number": _set(1, "problem", 1),
    "a chosen message that is elsewhere": _set(0, "chosen", 4),
    "a trace that is none": _set(1, "trace", "not base64!"),
    "a trace of an odd type": _set(1, "trace", 7),
    "a trace of a question": _set(0, "trace", "AAAA"),
}


@pytest.fixture
def keeper(tmp_path: Path) -> Iterator[ConversationStore]:
    store = Store.open(tmp_path / FILE_NAME)
    kept = ConversationStore(store, lambda trouble: pytest.fail(str(trouble)))
    yield kept
    assert kept.close(10.0)


def _refused(keeper: ConversationStore, path: Path, data: bytes) -> ConversationRefused:
    path.write_bytes(data)
    keeper.writer.flush(10.0)
    before = list(keeper.store.connection.iterdump())
    with pytest.raises(ConversationRefused, match=r"Cannot import bad\.json: .*Nothing was changed") as told:
        keeper.import_file(path)
    assert keeper.writer.pending == 0
    assert list(keeper.store.connection.iterdump()) == before
    return told.value


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_file_is_refused_and_changes_nothing(
    keeper: ConversationStore, tmp_path: Path, conversation: Conversation, damage: Damage
) -> None:
    told = json.loads(to_json(conversation, {102: b"x"}))
    damage(told)
    _refused(keeper, tmp_path / "bad.json", json.dumps(told).replace('"HUGE"', "1e999").encode())


@pytest.mark.parametrize(
    "data",
    [
        b"", b"{", b"[]", b"null", b"\xff\xfe\x00", b"[" * 100_000, b'{"a":' * 100_000, b"NaN", b"1" * 10_000,
        b'{"format": "outrider-conversation", "format": "outrider-conversation"}', b"\x00" * 1000, b'"\xed\xa0\x80"',
        b'{"format": "outrider-conversation", "version": 1, "title": "", "created": Infinity}',
    ],
)  # fmt: skip
def test_what_is_no_conversation_is_refused(keeper: ConversationStore, tmp_path: Path, data: bytes) -> None:
    _refused(keeper, tmp_path / "bad.json", data)


def test_a_file_that_is_too_large_or_not_there_is_refused(
    keeper: ConversationStore, tmp_path: Path, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversation_files, "LARGEST_FILE", 1000)
    _refused(keeper, tmp_path / "bad.json", to_json(conversation).encode())
    monkeypatch.setattr(conversation_files, "LARGEST_FILE", 10**6)
    monkeypatch.setattr(conversation_files, "_MOST_MESSAGES", 3)
    _refused(keeper, tmp_path / "bad.json", to_json(conversation).encode())
    with pytest.raises(ConversationRefused):
        keeper.import_file(tmp_path / "not there")
    with pytest.raises(ConversationRefused):
        keeper.import_file(tmp_path)


def test_no_damage_is_anything_but_refused(conversation: Conversation) -> None:
    sound = to_json(conversation, {102: b"trace"}).encode()
    drawn = random.Random(3)
    refused = 0
    for _ in range(1500):
        data = bytearray(sound)
        for _ in range(drawn.randint(1, 3)):
            place = drawn.randrange(len(data))
            kind = drawn.random()
            if kind < 0.4:
                data[place] = drawn.randrange(256)
            elif kind < 0.7:
                del data[place : place + drawn.randint(1, 40)]
            else:
                data[place:place] = data[drawn.randrange(len(data)) :][: drawn.randint(1, 60)]
        try:
            imported = from_json(bytes(data), itertools.count(1).__next__)
        except ConversationRefused:
            refused += 1
        else:
            _back(to_json(imported.conversation, imported.traces))
    assert refused > 500


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where values are in JSON, objects and lists too."""
    yield path
    for name, each in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from _places(each, (*path, name))


def test_hostile_values_are_refused_or_taken_wherever_they_stand(conversation: Conversation) -> None:
    """Nothing of them ends the process, or comes out as another error."""
    sound = to_json(conversation, {102: b"trace"})
    deep: Any = 1
    for _ in range(900):
        deep = [deep]
    values = [-1, 0, 255, 256, 2**31, 2**32, 2**40, float("nan"), "a\ud83db", "a\0b", "\udc00" * 9, deep, None, {}, []]
    places = [place for place in _places(json.loads(sound)) if place]
    for place, value in random.Random(5).sample([*itertools.product(places, values)], 300):
        told = within = json.loads(sound)
        for name in place[:-1]:
            within = within[name]
        within[place[-1]] = value
        with suppress(ConversationRefused):
            imported = from_json(json.dumps(told).encode(), itertools.count(1).__next__)
            _back(to_json(imported.conversation, imported.traces))


def test_import_keeps_all_of_it(
    keeper: ConversationStore, tmp_path: Path, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "conversation.json"
    write_file(path, to_json(conversation, {102: b"trace"}))
    imported = keeper.import_file(path)
    assert keeper.writer.flush(10.0)
    loaded = keeper.store.load(imported.id)
    assert loaded is not None
    assert _compared(loaded) == _compared(imported) == _compared(conversation)
    again = keeper.import_file(path)
    assert again.id != imported.id
    keeper.ask(again, "And more?")
    monkeypatch.setattr(app.store.conversations, "_FLUSH_S", 0.01)
    reply = next(message.id for message in imported if keeper.store.load_trace(message.id))
    keeper.writer.submit(lambda _store: time.sleep(0.2))
    keeper.save_trace(reply, b"newer")
    keeper.export(imported, FORMATS["json"], tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text(encoding="utf-8") == to_json(conversation, {102: b"newer"})
    assert len(keeper.conversations()) == 2
    assert keeper.search("noon")


def test_markdown_is_the_branch_on_the_screen(conversation: Conversation) -> None:
    assert to_markdown(conversation) == (
        "# Ferry *times*\n\n"
        "## You\n\nWhen does it go?\n\n"
        "## Reply\n\n*big\\_one.gguf with small.gguf · 8.0 tokens/s · acceptance rate 75%*\n\n"
        "At *noon*.\n\n```\ncode\n```\n\n"
        "## You\n\nSure?\n\n"
        "## Reply\n\n*interrupted*\n\nI thi\n"
    )
    conversation.choose(105)
    text = to_markdown(conversation, Words(question="Frage", reply="Antwort", statuses={"failed": "misslungen"}))
    assert text.endswith(
        "## Frage\n\nWhen does it go?\n\n## Antwort\n\n*big\\_one.gguf · misslungen*\n\n> No memory.\n> None.\n"
    )


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("```\na", "```\na\n```"),
        ("```\na\n```", "```\na\n```"),
        ("~~~~\n```\na", "~~~~\n```\na\n~~~~"),
        ("````\n```\na", "````\n```\na\n````"),
        ("``` a ``` b", "``` a ``` b"),
        ("    ```\na", "    ```\na"),
    ],
)
def test_an_open_fence_does_not_swallow_what_follows(text: str, closed: str) -> None:
    made = Conversation(1, 0.0)
    made.add(StoredMessage(2, None, "user", text, 0.0))
    assert to_markdown(made) == f"# Conversation\n\n## You\n\n{closed}\n"


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out.md"
    write_file(path, "first \ud800\n")
    assert path.read_bytes() == b"first ?\n"

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ExportFailed, match="No space left on device"):
        write_file(path, "second")
    assert path.read_bytes() == b"first ?\n"
    assert [each.name for each in tmp_path.iterdir() if each.is_file()] == ["out.md"]
    with pytest.raises(ExportFailed):
        write_file(tmp_path / "nowhere" / "out.md", "x")


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ('What is it? A/B: "test" <x>', "What is it A B test x.md"),
        ("", "conversation 1970-01-01.md"),
        ("CON", "conversation 1970-01-01.md"),
        ("../../etc/passwd", "etc passwd.md"),
        ("...", "conversation 1970-01-01.md"),
        ("Fähre – 3", "Fähre – 3.md"),
        ("x" * 200, "x" * 80 + ".md"),
    ],
)
def test_every_title_gives_a_file_name(title: str, name: str) -> None:
    assert file_name(Conversation(1, 0.0, title=title), ".md") == name
