"""A chat of yesterday: what models read of it is kept on disk, comes back after a restart, goes with the chat."""

from contextlib import suppress
from pathlib import Path

from PySide6.QtCore import QCoreApplication

from app.control.replies import PendingReply
from app.settings.settings import Settings
from app.system.places import caches_folder
from helpers.decoding.scripted_decoder import Script
from helpers.window.app_window import OpenWindow, Window

LONG = "Tell me a story about a fox and an owl who live by the river. " * 14


def asked(window: Window, text: str) -> tuple[str, int]:
    """The reply to a question, and how many tokens of its prompt were read."""
    ended: list[PendingReply] = []
    window.controller.replies.ended.connect(ended.append)
    exchange = window.ask(text)
    assert ended[0].reading is not None
    return exchange.reply, ended[0].reading.total


def kept(folder: Path) -> set[str]:
    while True:
        with suppress(FileNotFoundError):  # A chat's folder may go while it is looked through.
            return {path.parent.name for path in folder.glob("*/*.kv")}


def test_a_chat_of_yesterday_is_not_read_again(
    open_window: OpenWindow, demo_pair: tuple[Path, Path], tmp_path: Path
) -> None:
    settings = Settings(lookahead=4, sampling={"max_tokens": 12, "temperature": 0.0})
    folder = caches_folder(tmp_path / "conversations.sqlite3")
    window = open_window(pair=demo_pair, settings=settings)
    _, read = asked(window, LONG)
    assert read > 150
    chat = window.program.conversations.open
    assert chat is not None
    window.wait(lambda: kept(folder) == {f"chat{chat.id}"})
    assert window.close()
    again = open_window(pair=demo_pair)
    again.wait(lambda: again.controller.transcript.entries)
    _, read = asked(again, "And then?")
    assert read < 60
    # The chat goes, and what was kept of it.
    other = again.program.conversations
    again.program.controller.new_chat()
    asked(again, LONG + "Now!")
    new = other.open
    assert new is not None
    again.wait(lambda: kept(folder) == {f"chat{chat.id}", f"chat{new.id}"})
    other.delete(chat.id)
    again.wait(lambda: kept(folder) == {f"chat{new.id}"})
    # One switch, and nothing is kept any more.
    again.program.settings.keep_caches = False
    again.wait(lambda: not kept(folder))
    asked(again, "And then what?")
    QCoreApplication.processEvents()
    assert again.close()
    assert not kept(folder)


def test_what_is_left_of_chats_that_are_gone_goes_at_the_next_start(open_window: OpenWindow, tmp_path: Path) -> None:
    folder = caches_folder(tmp_path / "conversations.sqlite3")
    (folder / "chat77").mkdir(parents=True)
    (folder / "chat77" / "00-11.kv").touch()
    window = open_window(Script())
    window.wait(lambda: not (folder / "chat77").exists())
