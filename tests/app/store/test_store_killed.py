"""A program that is killed loses nothing that it had a quarter of a second to keep."""

import copy
import json
import random
import select
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from app.state.chat.pictures import number_of
from app.state.conversations.conversation import UNFINISHED, Conversation, StoredMessage, title_from
from app.store.store import Store

AT_RISK_S = 0.25
ROOT = Path(__file__).resolve().parents[3]
Seen = dict[int, Any]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")


class Told:
    """What should be there after the steps that a child told: the same trees, in memory alone."""

    def __init__(self) -> None:
        self.conversations: dict[int, Conversation] = {}
        self.deleted: set[int] = set()
        self.kept: set[int] = set()

    @classmethod
    def from_store(cls, store: Store) -> "Told":
        told = cls()
        for head in store.conversations():
            conversation = store.load(head.id)
            assert conversation is not None
            told.conversations[head.id] = conversation
            told.kept.add(head.id)
        return told

    def take(self, step: list[Any]) -> None:
        kind, number, *rest = step
        if kind == "new":
            self.conversations[number] = Conversation(number, 0.0)
        elif kind in ("delete", "undelete"):
            (self.deleted.add if kind == "delete" else self.deleted.discard)(number)
        else:
            getattr(self, f"_{kind}")(self.conversations[number], *rest)

    def _ask(self, conversation: Conversation, number: int, parent: int | None, text: str) -> None:
        conversation.add(StoredMessage(number, parent, "user", text, 0.0))
        self.kept.add(conversation.id)
        conversation.title = conversation.title or title_from(text)

    def _begin(self, conversation: Conversation, number: int, question: int) -> None:
        settings = {"temperature": 0.5}
        conversation.add(StoredMessage(number, question, "assistant", "", 0.0, "waiting", "t", "d", settings))

    def _append(self, conversation: Conversation, number: int, text: str) -> None:
        conversation[number].text += text

    def _finish(self, conversation: Conversation, number: int, text: str) -> None:
        reply = conversation[number]
        reply.text, reply.status, reply.stats, reply.finish_reason = text, "done", {"rounds": number}, "stop"

    def _rename(self, conversation: Conversation, title: str) -> None:
        conversation.title = title

    def _pin(self, conversation: Conversation, pinned: bool) -> None:
        conversation.pinned = pinned

    def _choose(self, conversation: Conversation, number: int) -> None:
        conversation.choose(number)

    def _remove(self, conversation: Conversation, number: int) -> None:
        conversation.delete(number)

    def seen(self) -> Seen:
        """What matters of it, as it is after the program was started again."""
        return {
            number: _essence(conversation)
            for number, conversation in self.conversations.items()
            if number in self.kept and number not in self.deleted
        }


def _essence(conversation: Conversation) -> Any:
    messages = []
    for message in sorted(conversation, key=lambda each: each.id):
        status = "interrupted" if message.status in UNFINISHED else message.status
        stats = None if message.stats is None else dict(message.stats)
        told = (message.text, status, message.chosen, message.finish_reason, stats, dict(message.settings))
        messages.append((message.id, message.parent, message.role, *told))
    return conversation.title, conversation.pinned, conversation.chosen, messages


@contextmanager
def _child(path: Path, seed: int) -> Iterator["subprocess.Popen[bytes]"]:
    command = [sys.executable, "-m", "helpers.children.store_in_child", str(path), str(seed)]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        env={"PYTHONPATH": f"{ROOT / 'tests'}:{ROOT}", "PATH": "/usr/bin:/bin"},
        cwd=ROOT,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def _lines(process: "subprocess.Popen[bytes]", until: float) -> Iterator[bytes]:
    """What it says until then, as it comes."""
    assert process.stdout is not None
    while (left := until - time.monotonic()) > 0 and select.select([process.stdout], [], [], left)[0]:
        said = process.stdout.read1(65536)  # type: ignore[attr-defined]
        if not said:
            return
        yield said


def _kill_once(path: Path, seed: int, before: Told) -> int:
    """Kill the child once, and return the number of steps old enough to be safe. All of them were."""
    with _child(path, seed) as process:
        assert process.stdout is not None
        said = b""
        drawn = random.Random(seed)
        if drawn.random() < 0.8:
            for piece in _lines(process, time.monotonic() + 60.0):
                said += piece
                break
        # The others may still be starting, and opening the store, when they are killed.
        for piece in _lines(process, time.monotonic() + drawn.uniform(0.0, 1.2)):
            said += piece
        killed_at = time.monotonic()
        process.kill()
        process.wait()
        said += process.stdout.read()
    lines = [json.loads(line) for line in said.splitlines(keepends=True) if line.endswith(b"\n")]
    assert not [line for line in lines if "trouble" in line]
    steps = [line["step"] for line in lines if "step" in line]
    done = [line["done"] for line in lines if "done" in line]
    safe = sum(1 for moment in done if moment < killed_at - AT_RISK_S)
    with _opened(path) as store:
        _check_sound(store)
        found = Told.from_store(store).seen()
    assert found in _possible(before, steps, safe), f"seed {seed}: {safe} of {len(steps)} steps should be there"
    return safe


def _possible(before: Told, steps: Iterable[list[Any]], safe: int) -> Iterator[Seen]:
    told = copy.deepcopy(before)
    for number, step in enumerate(steps):
        if number >= safe:
            yield told.seen()
        told.take(step)
    yield told.seen()


@contextmanager
def _opened(path: Path) -> Iterator[Store]:
    store = Store.open(path)
    try:
        yield store
    finally:
        store.close()


def _check_sound(store: Store) -> None:
    assert store.connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert store.connection.execute("PRAGMA foreign_key_check").fetchall() == []
    store.connection.execute("INSERT INTO messages_fts (messages_fts, rank) VALUES ('integrity-check', 1)")
    store.connection.execute("INSERT INTO titles_fts (titles_fts, rank) VALUES ('integrity-check', 1)")
    assert store.connection.execute("SELECT count(*) FROM pieces").fetchone() == (0,)


def _kill_often(path: Path, times: int) -> None:
    before = Told()
    safe = 0
    for seed in range(times):
        safe += _kill_once(path, seed, before)
        with _opened(path) as store:
            before = Told.from_store(store)
    assert safe > times


@pytest.mark.alone
def test_a_few_kills_lose_nothing_older_than_a_quarter_of_a_second(tmp_path: Path) -> None:
    _kill_often(tmp_path / "conversations.sqlite3", 4)


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_a_hundred_kills_lose_nothing_older_than_a_quarter_of_a_second(tmp_path: Path) -> None:
    _kill_often(tmp_path / "conversations.sqlite3", 100)


DOCUMENTED = """
import sys, time
from pathlib import Path
from app.state.chat.stored_documents import StoredDocument
from app.state.chat.pictures import KIND, number_of
from app.store.conversations import ConversationStore
from app.store.store import Store
from engine import Document, Section

store = ConversationStore(Store.open(Path(sys.argv[1])), print)
document = Document("a.pdf", "PDF", (Section("The lamp was lit at dusk.", "page", "1"),), 1)
# As the window does: attached before there is a chat, then asked.
store.save_document(None, StoredDocument.of(document, b"%PDF" * 100_000))
picture = Document("cat.png", KIND, (Section(f"[picture {number_of(b'PNG' * 9)}]"),), 0)
store.save_document(None, StoredDocument.of(picture, b"PNG" * 9))
chat = store.new()
store.move_documents(chat)
question = store.ask(chat, "When was the lamp lit?")
reply = store.begin_reply(chat, question.id, target="t", draft="", settings={})
store.append(chat, reply.id, "At dusk [1]")
project = store.new_project("Harbour")
store.set_settings(project, {"instructions": "Cite."})
store.save_document(project, StoredDocument.of(document, b""))
store.set_project(chat.id, project.id)
print(chat.id, project.id, flush=True)
time.sleep(60)
"""


def test_documents_and_projects_are_there_after_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "conversations.sqlite3"
    command = [sys.executable, "-c", DOCUMENTED, str(path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        chat, project = map(int, process.stdout.readline().split())
        time.sleep(AT_RISK_S)
        process.kill()
    store = Store.open(path)
    document, picture = store.documents(chat)
    assert (picture.name, store.source(number_of(b"PNG" * 9))) == ("cat.png", b"PNG" * 9)
    assert document.read().sections[0].text == "The lamp was lit at dusk."
    assert document.source == b"%PDF" * 100_000
    kept = store.load(chat)
    assert kept is not None
    assert (kept.project, [each.text for each in kept.path]) == (project, ["When was the lamp lit?", "At dusk [1]"])
    shared = store.load(project)
    assert shared is not None
    assert (shared.is_project, shared.title, shared.settings) == (True, "Harbour", {"instructions": "Cite."})
    assert [each.name for each in store.documents(project)] == ["a.pdf"]
    assert [each.is_project for each in store.conversations()].count(True) == 1
    store.close()
