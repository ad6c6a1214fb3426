"""Conversations in the window: in and out of files, trouble with the store, and many of them."""

import sqlite3
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

import pytest

import app.control.conversations
import app.shell.files
import app.store.connection
import app.store.conversations
from app.settings.settings import Settings
from app.state.chat.intents import Regenerate
from app.state.chat.transcript import Exchange
from app.state.conversations.conversation import ConversationSummary, StoredMessage
from app.state.conversations.list import MOST_AT_FIRST, Heading
from app.store.conversations import ConversationStore
from app.store.store import Store
from engine import GenerationStats
from helpers.decoding.scripted_decoder import Script
from helpers.processes import own_clock
from helpers.window.app_window import OpenWindow
from helpers.window.chats import ECHO, LONG, number, questions, titles


def test_export_and_import(open_window: OpenWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    window = open_window(Script(ECHO))
    exchange = window.ask("One")
    window.main.transcript.intent.emit(Regenerate(exchange))
    window.ended(window.first())
    conversation = number(window, "One")
    for kind, name in (("markdown", "a.md"), ("json", "a.json")):
        path = tmp_path / name
        monkeypatch.setattr(app.shell.files, "ask_where_to_save", lambda *_args, path=path: path)
        window.main.left.export_wanted.emit(conversation, kind)
        window.wait(lambda: window.program.conversations.files.activity.work == "idle")
    assert "Reply to One" in (tmp_path / "a.md").read_text("utf-8")
    monkeypatch.setattr(app.shell.files, "ask_what_to_import", lambda *_args: [tmp_path / "a.json"])
    files = window.program.conversations.files
    window.main.left.import_button.click()
    window.wait(lambda: files.activity.work == "idle")
    assert titles(window) == ["Today", "One", "One"]
    assert window.program.conversations.list.open_id != conversation
    assert window.first().reply_branch == (2, 2)
    assert window.first().stats is not None
    (tmp_path / "a.json").write_text("{", "utf-8")
    window.main.left.import_button.click()
    window.wait(lambda: files.activity.work == "idle")
    assert titles(window) == ["Today", "One", "One"]
    assert "Cannot import a.json" in window.main.notice.text.text()


@pytest.mark.logs("StoreTooNew")
def test_a_newer_store_is_left_alone_and_told(open_window: OpenWindow, tmp_path: Path) -> None:
    path = tmp_path / "conversations.sqlite3"
    Store.open(path).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 1000")
    connection.close()
    before = path.read_bytes()
    window = open_window(Script())
    window.wait(window.main.notice.isVisible)
    assert "newer version" in window.main.notice.text.text()
    assert "are not saved" in window.main.notice.text.text()
    assert window.ask("Does it work?").status == "done"
    assert titles(window) == ["Today", "Does it work?"], "for this run"
    window.main.notice.button.click()
    assert not window.main.notice.isVisible()
    assert window.close()
    assert path.read_bytes() == before


@pytest.mark.logs("StoreDamaged")
def test_a_damaged_store_is_left_alone_and_told(open_window: OpenWindow, tmp_path: Path) -> None:
    path = tmp_path / "conversations.sqlite3"
    path.write_bytes(b"no database at all " * 100)
    before = path.read_bytes()
    window = open_window(Script())
    window.wait(window.main.notice.isVisible)
    assert "cannot be read" in window.main.notice.text.text()
    assert window.ask("Does it work?").status == "done"
    assert window.close()
    assert path.read_bytes() == before


def test_without_a_store_a_conversation_lasts_as_long_as_the_window(open_window: OpenWindow) -> None:
    window = open_window(Script(lambda messages: f"{LONG} Reply to {messages[-1].content}", round_s=0.001), store=None)
    for text in ("One", "Two"):
        window.controller.new_chat()
        exchange = window.send(text)
        while not exchange.ended:
            window.program.conversations.search("reply")
            window.program.conversations.search("")
            window.qtbot.wait(5)
    window.controller.open(number(window, "One"))
    window.main.transcript.intent.emit(Regenerate(window.first()))
    window.ended(window.first())
    assert window.program.conversations.store.writer.flush(5.0)
    window.program.conversations.search("reply to two")
    assert titles(window) == ["Two"]
    assert not window.main.notice.isVisible()
    assert window.close()
    assert titles(open_window(Script(), store=None)) == []


@pytest.mark.logs("conversations cannot be saved: NotWritable")
def test_trouble_with_saving_is_told_and_that_it_is_over(
    open_window: OpenWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The test need not wait as long as a user does.
    monkeypatch.setattr(app.store.connection, "_WAIT_S", 0.2)
    monkeypatch.setattr(ConversationStore.__init__, "__kwdefaults__", {"retry_s": 0.3})
    window = open_window(Script(ECHO))
    window.ask("Before")
    other = sqlite3.connect(tmp_path / "conversations.sqlite3", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    window.ask("Meanwhile")
    window.wait(window.main.notice.isVisible)
    assert "cannot be saved" in window.main.notice.text.text()
    other.execute("ROLLBACK")
    other.close()
    window.wait(lambda: window.main.notice.text.text() == "All changes are saved again.")
    assert window.close()
    again = open_window(Script())
    again.wait(lambda: questions(again) == ["Before", "Meanwhile"])


@pytest.mark.alone
def test_a_thousand_conversations(open_window: OpenWindow, tmp_path: Path) -> None:
    store = Store.open(tmp_path / "conversations.sqlite3")
    with store.changes():
        for place in range(1, 1_001):
            store.connection.execute(
                "INSERT INTO conversations (id, title, created, updated) VALUES (?, ?, ?, ?)",
                (place, f"Conversation {place}", float(place), 1.7e9 + place),
            )
    store.close()
    window = open_window(Script(), ready=False)
    began = own_clock()
    window.controller.restore(0)
    window.main.left.list.doItemsLayout()
    window.main.left.grab()
    took = own_clock() - began
    assert len(titles(window)) == MOST_AT_FIRST + 1, "the latest ones"
    assert isinstance(window.program.conversations.list.rows[0], Heading)
    assert took < 0.2
    window.ready()
    bar = window.main.left.list.verticalScrollBar()

    def all_there() -> bool:
        bar.setValue(bar.maximum())
        return len(titles(window)) == 1_001

    window.wait(all_there)


@pytest.mark.alone
def test_five_thousand_messages_open_at_once(open_window: OpenWindow, tmp_path: Path) -> None:
    reply = "Some *words* and `code`, and more of them.\n\n- one\n- two\n\n```python\nprint('three')\n```\n" * 3
    stats = asdict(GenerationStats(rounds=30, proposed=70, accepted=50, rejected=20, plain_tokens=9, total_ms=900.0))
    store = Store.open(tmp_path / "conversations.sqlite3")
    with store.changes():
        for number in (1, 2):
            store.add_conversation(ConversationSummary(number, f"Long {number}", 1.7e9, 1.7e9 + number))
        store.add_messages(
            1,
            (
                StoredMessage(3 + place, 2 + place, "assistant", reply, 1.7e9 + place, stats=stats)
                if place % 2
                else StoredMessage(3 + place, 2 + place if place else None, "user", "And then?", 1.7e9 + place)
                for place in range(5_000)
            ),
        )
    store.close()
    window = open_window(Script())
    took = []
    for _ in range(3):
        window.controller.open(2)
        window.qtbot.wait(50)
        began = own_clock()
        window.controller.open(1)
        window.main.grab()
        took.append(own_clock() - began)
        assert len(window.controller.transcript) == 2_500
    assert min(took) < 0.3


def test_a_conversation_with_the_demo_pair(open_window: OpenWindow, demo_pair: tuple[Path, Path]) -> None:
    window = open_window(pair=demo_pair, settings=Settings(lookahead=4))
    first = window.ask("What is Outrider?", 60_000)
    window.main.transcript.intent.emit(Regenerate(first))
    window.ended(window.first(), 60_000)
    assert window.first().reply_branch == (2, 2)
    stats = window.stats(window.first())
    assert window.close()
    again = open_window(pair=demo_pair, settings=window.program.settings)
    again.wait(lambda: len(again.controller.transcript) == 1)
    exchange = again.first()
    assert exchange.reply_branch == (2, 2)
    assert exchange.stats == stats
    assert exchange.reply == window.first().reply
    again.program.conversations.load_trace(exchange)
    assert exchange.trace is not None
    assert exchange.trace.text == exchange.reply
    assert sum(exchange.trace.counts.values()) == stats.emitted
    second = again.ask("Tell me more.", 60_000)
    assert second.status == "done"


def test_records_that_were_read_are_let_go(open_window: OpenWindow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app.control.conversations, "_MOST_LOADED", 2)
    window = open_window(Script(ECHO))
    for question in ("One", "Two", "Three", "Four"):
        window.ask(question)
    assert window.close()
    again = open_window(Script(ECHO))
    again.wait(lambda: len(again.controller.transcript) == 4)
    conversations, shown = again.program.conversations, list(again.controller.transcript)
    first, second, third, fourth = (entry for entry in shown if isinstance(entry, Exchange))
    conversations.load_trace(first)
    assert first.trace is not None
    first.status = "writing"
    for exchange in (second, third, fourth):
        conversations.load_trace(exchange)
    assert [entry.trace is None for entry in (first, second, third, fourth)] == [False, True, False, False], (
        "what is written goes on with its record"
    )
    first.status = "done"
    conversations.load_trace(second)
    assert second.trace is not None
    assert second.trace.text == second.reply


def test_what_was_said_last_is_on_top_though_the_clock_was_put_back(
    open_window: OpenWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = open_window(Script(ECHO))
    clock = datetime.now().astimezone().replace(hour=12).timestamp()  # Hours before are today too.
    for title, wrong in (("Right", 0), ("Ahead", 90 * 86_400), ("Back", -3_600), ("Far back", -7_200)):
        monkeypatch.setattr(app.store.conversations, "now", lambda wrong=wrong: clock + wrong)
        window.main.new_chat_wanted.emit()
        window.ask(title)
    assert titles(window) == ["Today", "Far back", "Back", "Ahead", "Right"]
    window.controller.open(number(window, "Right"))
    window.ask("Again")
    assert titles(window)[1] == "Right"
