"""Stores with known content, ways to damage their files, and the judgement on what is said and shown of them."""

import json
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from app.state.conversations.conversation import Conversation, ConversationSummary, StoredMessage
from app.state.conversations.formats import FORMATS
from app.store.conversations import ConversationStore
from app.store.errors import SearchDamaged, StoreDamaged, StoreError, StoreTooNew, TraceDamaged
from app.store.store import Store
from app.words.damage import damage_words

CONVERSATIONS = 6
_PAGE = 4_096
_SCHEMA_WORDS = (b"CREATE TABLE ", b"CREATE INDEX ", b"CREATE TRIGGER ", b"CREATE VIRTUAL ")


@dataclass(slots=True)
class Content:
    """What is in a store: conversations, and the token records by message."""

    conversations: dict[int, Conversation] = field(default_factory=dict)
    traces: dict[int, bytes] = field(default_factory=dict)


def make_store(path: Path, seed: int) -> Content:
    """Make a store with conversations of all sorts. Each word of the messages is in the file once, in capitals."""
    drawn = random.Random(seed)
    words = (f"W{number:06}" for number in range(10**6))
    number = 1
    store = Store.open(path)
    with store.changes():
        for conversation in range(1, CONVERSATIONS + 1):
            head = ConversationSummary(number, f"Chat number {conversation}", 1.7e9, 1.7e9 + conversation)
            store.add_conversation(head)
            store.set_settings(head.id, {"temperature": 0.5, "system": f"prompt of {conversation}"})
            number += 1
            messages: list[StoredMessage] = []
            for place in range(drawn.randrange(8, 30)):
                parent = _parent(messages, place, drawn)
                text = " ".join(next(words) for _ in range(drawn.choice((3, 10, 40, 400, 1_200))))
                message = StoredMessage(number, parent, "assistant" if place % 2 else "user", text, 1.7e9 + number)
                if place % 2:
                    message.target, message.draft = "target.gguf", "draft.gguf"
                    message.settings, message.stats = {"temperature": 0.5}, {"rounds": number, "proposed": 7}
                    message.finish_reason = "stop"
                messages.append(message)
                number += 1
            store.add_messages(head.id, messages)
            for message in messages[1::4]:
                store.save_trace(message.id, drawn.randbytes(300))
    content = read(store)
    store.close()
    return content


def _parent(messages: list[StoredMessage], place: int, drawn: random.Random) -> int | None:
    if place % 2:
        return messages[-1].id
    replies = [message.id for message in messages if message.role == "assistant"]
    # Mostly one line, with some branches.
    return None if not replies else replies[-1] if drawn.random() < 0.8 else drawn.choice(replies)


def read(store: Store) -> Content:
    content = Content()
    for head in store.conversations():
        conversation = store.load(head.id)
        assert conversation is not None
        content.conversations[head.id] = conversation
        for message in conversation:
            trace = store.load_trace(message.id)
            if trace is not None:
                content.traces[message.id] = trace
    return content


def flip(path: Path, offset: int, bit: int) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        (byte,) = file.read(1)
        file.seek(offset)
        file.write(bytes([byte ^ (1 << bit)]))


def offset_in_text(data: bytes, content: Content, drawn: random.Random) -> tuple[int, int]:
    """A place in the text of a message; and the message's id."""
    while True:
        message = drawn.choice([each for conversation in content.conversations.values() for each in conversation])
        place = data.find(drawn.choice(message.text.split()).encode())
        if place >= 0:
            return place + drawn.randrange(7), message.id


def offset_in_structure(data: bytes, kind: int, drawn: random.Random) -> int:
    """A place in the text of the schema, in the header, in the head of a page, or anywhere in a page."""
    if kind == 0:
        starts = [place for word in _SCHEMA_WORDS for place in _all(data, word)]
        return drawn.choice(starts) + drawn.randrange(200)
    if kind == 1:
        return drawn.randrange(100)
    page = drawn.randrange(1, len(data) // _PAGE) * _PAGE
    return page + (drawn.randrange(64) if kind == 2 else drawn.randrange(_PAGE))


def _all(data: bytes, word: bytes) -> Iterator[int]:
    place = data.find(word)
    while place >= 0:
        yield place
        place = data.find(word, place + 1)


def is_version(offset: int) -> bool:
    """True if the number of the store's version is there: a changed one may look like a newer program's."""
    return 60 <= offset < 64


@dataclass(slots=True)
class Verdict:
    """What became of a damaged store. `wrong`: what should not be so, in words; `damaged`: messages that are named."""

    refused: str = ""
    damaged: frozenset[int] = frozenset()
    parts: frozenset[str] = frozenset()
    wrong: list[str] = field(default_factory=list)


def judge(path: Path, content: Content, *, may_be_newer: bool = False) -> Verdict:
    """Open a damaged store twice, look at all of it, export it, write to it, and say what came of it."""
    verdict = Verdict()
    for _ in range(2):
        try:
            store = Store.open(path)
        except (StoreDamaged, StoreTooNew) as error:
            verdict.refused = type(error).__name__
            if isinstance(error, StoreTooNew) and not may_be_newer:
                verdict.wrong.append(f"refused as {error}")
            if "\n" in str(error) or str(path) not in str(error):
                verdict.wrong.append(f"said {error!r}")
            continue
        except Exception as error:  # noqa: BLE001 - whatever it is, it is wrong
            verdict.wrong.append(f"opening: {type(error).__name__}: {error}")
            continue
        try:
            _look(store, path, content, verdict)
        except Exception as error:  # noqa: BLE001
            verdict.wrong.append(f"looking: {type(error).__name__}: {error}")
        finally:
            store.close()
    return verdict


def _look(store: Store, path: Path, content: Content, verdict: Verdict) -> None:
    troubles: list[StoreError | None] = []
    keeper = ConversationStore(store, troubles.append)
    try:
        listed = {head.id: head for head in keeper.conversations()}
        damaged: set[int] = set()
        for number, original in content.conversations.items():
            found = keeper.load(number)
            if found is None or number not in listed:
                verdict.wrong.append(f"conversation {number} is lost")
                continue
            named = {message.id for message in found if message.damaged}
            damaged |= named
            verdict.wrong += _differences(original, found)
            if (named or found.damaged) and str(found.title) not in damage_words(found):
                verdict.wrong.append(f"the words name nothing of {number}")
            verdict.parts |= frozenset(found.damaged)
            verdict.wrong += _exported(keeper, found, path.parent)
        verdict.damaged |= frozenset(damaged)
        verdict.wrong += _traces(store, content, damaged)
        _search(keeper, content)
        verdict.wrong += _written(keeper, troubles)
    finally:
        if not keeper.close(10.0) and not any(troubles):
            verdict.wrong.append("not saved, and nothing was said")


def _differences(original: Conversation, found: Conversation) -> list[str]:
    wrong = []
    if found.title != original.title and "title" not in found.damaged:
        wrong.append(f"another title: {found.title!r}")
    if found.settings != original.settings and "settings" not in found.damaged:
        wrong.append(f"other settings: {found.settings!r}")
    for message in original:
        if message.id not in found:
            wrong.append(f"message {message.id} is lost")
        elif not found[message.id].damaged and _essence(found[message.id]) != _essence(message):
            wrong.append(f"message {message.id} differs, and nothing is said")
    # What was asked at the last look is there too.
    wrong += [
        f"message {each.id} was never written"
        for each in found
        if each.id not in original and not each.damaged and each.text != "asked"
    ]
    return wrong


def _essence(message: StoredMessage) -> StoredMessage:
    return replace(message, chosen=None, status="done")


def _exported(keeper: ConversationStore, found: Conversation, folder: Path) -> list[str]:
    wrong = []
    for kind, export_format in FORMATS.items():
        file = folder / f"export{export_format.suffix}"
        keeper.export(found, export_format, file)
        text = file.read_text("utf-8")
        shown = found.path if kind == "markdown" else list(found)
        named = text.count("> This message was damaged") if kind == "markdown" else text.count('"damaged": true')
        if named != sum(message.damaged for message in shown):
            wrong.append(f"the export as {kind} names {named} damaged messages")
        if kind == "json" and len(json.loads(text)["messages"]) != len(found):
            wrong.append("the export lacks messages")
    return wrong


def _traces(store: Store, content: Content, damaged: set[int]) -> list[str]:
    wrong = []
    for number, trace in content.traces.items():
        try:
            if store.load_trace(number) != trace and number not in damaged:
                wrong.append(f"another record of {number}")
        except TraceDamaged:
            pass
    return wrong


def _search(keeper: ConversationStore, content: Content) -> None:
    for conversation in content.conversations.values():
        for message in list(conversation)[:3]:
            try:
                keeper.search(message.text.split()[0])
            except SearchDamaged:
                return


def _written(keeper: ConversationStore, troubles: list[StoreError | None]) -> list[str]:
    """Ask something in a new conversation: it is kept, or it is said that it is not."""
    fresh = keeper.new()
    keeper.ask(fresh, "asked")
    if keeper.writer.flush(5.0) and not any(troubles):
        kept = keeper.store.load(fresh.id)
        return [] if kept is not None and [each.text for each in kept] == ["asked"] else ["what was written is lost"]
    return [] if any(troubles) else ["not saved, and nothing was said"]


def truncate(path: Path, drawn: random.Random) -> str:
    """Cut the file off somewhere."""
    size = drawn.randrange(1, path.stat().st_size)
    with path.open("r+b") as file:
        file.truncate(size)
    return f"cut off after {size} bytes"


def zero_page(path: Path, drawn: random.Random) -> str:
    """Fill a page with zeros."""
    page = drawn.randrange(path.stat().st_size // _PAGE)
    with path.open("r+b") as file:
        file.seek(page * _PAGE)
        file.write(bytes(_PAGE))
    return f"page {page} zeroed"


def foreign_file(path: Path, drawn: random.Random) -> str:
    """Put another program's file in its place."""
    kind = drawn.choice(("text", "noise", "database"))
    path.unlink()
    if kind == "database":
        connection = sqlite3.connect(path)
        connection.execute("CREATE TABLE bookmarks (address)")
        connection.commit()
        connection.close()
    else:
        path.write_bytes(b"Dear diary, " * 999 if kind == "text" else drawn.randbytes(9_999))
    return f"a foreign {kind}"


def swapped_log(path: Path, drawn: random.Random) -> str:
    """Put noise, or the log of another store, beside it."""
    log = path.with_name(f"{path.name}-wal")
    if drawn.random() < 0.5:
        log.write_bytes(drawn.randbytes(drawn.randrange(1, 20_000)))
        return "a log of noise"
    other = path.parent / "other.sqlite3"
    other.unlink(missing_ok=True)
    connection = sqlite3.connect(other, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE bookmarks (address)")
    shutil.copy(other.with_name("other.sqlite3-wal"), log)
    connection.close()
    return "the log of another database"


WAYS: dict[str, Callable[[Path, random.Random], str]] = {
    "truncated": truncate,
    "zeroed": zero_page,
    "foreign": foreign_file,
    "log": swapped_log,
}
