"""A chat with damaged messages in the window: they stand in their places, marked, and are named."""

from pathlib import Path

import pytest

from app.state.conversations.conversation import StoredMessage
from app.store.store import Store
from app.views.chat.entry import DamageLine
from helpers.children.stores import fill
from helpers.decoding.scripted_decoder import Script
from helpers.window.app_window import OpenWindow, Window
from helpers.window.chats import questions

NOTE = "This message was damaged on the disk and may not read as it was written."


def _make(path: Path, *damaged: tuple[bytes, bytes]) -> None:
    store = Store.open(path)
    fill(store, 1, "one lantern", "two harbours", "three ferries", "four bells", title="Old harbour")
    with store.changes():
        store.save_trace(1003, b"how it came about")
    store.close()
    data = path.read_bytes()
    for before, after in damaged:
        assert before in data
        data = data.replace(before, after, 1)
    path.write_bytes(data)


def _notes(window: Window) -> list[str]:
    return [line.text() for line in window.main.findChildren(DamageLine) if line.isVisible()]


def _open(open_window: OpenWindow, tmp_path: Path, *damaged: tuple[bytes, bytes]) -> Window:
    _make(tmp_path / "conversations.sqlite3", *damaged)
    window = open_window(Script())
    window.controller.open(1)
    window.wait(lambda: len(questions(window)) == 2)
    return window


def test_a_sound_chat_says_nothing(open_window: OpenWindow, tmp_path: Path) -> None:
    window = _open(open_window, tmp_path)
    assert not _notes(window)
    assert not window.notices()


def test_a_damaged_reply_is_marked_and_named(open_window: OpenWindow, tmp_path: Path) -> None:
    window = _open(open_window, tmp_path, (b"two harbours", b"two harbouRs"))
    window.wait(lambda: _notes(window) == [NOTE])
    assert window.first().damaged == {"reply"}
    assert window.first().reply == "two harbouRs"
    (said,) = window.notices()
    assert "“Old harbour”" in said
    assert "message 2 (“two harbouRs”)" in said
    out = tmp_path / "out.md"
    window.export(1, "markdown", out)
    assert out.read_text("utf-8").count(f"> {NOTE}") == 1


def test_a_damaged_question_and_title_are_named(open_window: OpenWindow, tmp_path: Path) -> None:
    window = _open(open_window, tmp_path, (b"three ferries", b"three ferrieS"), (b"Old harbour", b"Old harbouR"))
    window.wait(lambda: _notes(window) == [NOTE])
    (said,) = window.notices()
    assert "its title, message 3 (“three ferrieS”)" in said
    window.program.conversations.rename(1, "New harbour")
    window.controller.new_chat()
    window.controller.open(1)
    assert "its title" not in window.notices()[0]


def test_a_new_reply_to_a_damaged_question_keeps_the_mark(open_window: OpenWindow, tmp_path: Path) -> None:
    window = _open(open_window, tmp_path, (b"three ferries", b"three ferrieS"))
    view = window.view(window.controller.transcript.entries[1])  # type: ignore[arg-type]
    view._act_on_reply("regenerate")
    window.wait(lambda: not window.controller.busy and len(questions(window)) == 2)
    window.wait(lambda: _notes(window) == [NOTE])


def test_a_damaged_record_of_tokens_is_said_once(open_window: OpenWindow, tmp_path: Path) -> None:
    window = _open(open_window, tmp_path, (b"how it came", b"how It came"))
    exchange = window.controller.transcript.entries[1]
    for _ in range(3):
        window.program.conversations.load_trace(exchange)  # type: ignore[arg-type]
    (said,) = window.notices()
    assert "record of this reply" in said


@pytest.mark.parametrize("kind", ["json", "markdown"])
def test_an_export_says_what_is_damaged(open_window: OpenWindow, tmp_path: Path, kind: str) -> None:
    window = _open(open_window, tmp_path, (b"two harbours", b"two harbouRs"))
    out = tmp_path / f"out.{kind}"
    window.export(1, kind, out)
    told = out.read_text("utf-8")
    assert told.count('"damaged": true' if kind == "json" else NOTE) == 1
    if kind == "json":
        window.import_(out)
        shown = window.program.conversations.open
        assert shown is not None
        assert [message.damaged for message in shown.path] == [False, True, False, False]


def test_what_stands_for_a_lost_message_is_named(open_window: OpenWindow, tmp_path: Path) -> None:
    path = tmp_path / "conversations.sqlite3"
    _make(path)
    store = Store.open(path)
    store.connection.execute("PRAGMA foreign_keys = OFF")
    store.connection.execute("DELETE FROM messages WHERE id = 1001")
    store.close()
    window = open_window(Script())
    window.controller.open(1)
    (said,) = window.notices()
    assert "message 2, which is lost" in said
    shown = window.program.conversations.open
    assert shown is not None
    assert shown[1001] == StoredMessage(1001, 1000, "assistant", "", 0.0, damaged=True)
    assert questions(window) == ["one lantern", "three ferries"]
