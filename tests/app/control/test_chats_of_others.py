"""Chats of other programs in the window: what comes, what is told, and the same file twice."""

import json
import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.shell.chat_exports import ChatExports
from app.shell.files import imports_menu
from app.state.conversations.dropped import sort_out
from app.store import other_programs
from app.store.other_programs import MOST_AT_ONCE, ImportReport
from helpers.campaigns import Campaign
from helpers.decoding.scripted_decoder import Script
from helpers.window.app_window import OpenWindow, Window
from helpers.window.chats import ECHO, questions, titles
from helpers.window.gap_probe import GapProbe


def _chat(number: int) -> dict[str, Any]:
    said = ((0, "user", f"Question <b>{number}</b>"), (1, "assistant", f"Reply {number}"))
    mapping = {
        str(place): {
            "parent": str(place - 1),
            "message": {"author": {"role": role}, "content": {"content_type": "text", "parts": [text]}},
        }
        for place, role, text in said
    }
    return {
        "title": f"Chat {number}",
        "create_time": 1.7e9 + number,
        "conversation_id": f"{number}",
        "mapping": mapping,
    }


def test_they_come_once_and_damaged_ones_are_named(
    open_window: OpenWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = open_window(Script(ECHO))
    one = tmp_path / "x.json"
    with monkeypatch.context() as patch:
        patch.setattr(other_programs, "MOST_OPENED", 1)
        one.write_text(json.dumps([_chat(0)]))
        window.import_(one)
    assert not questions(window), "one with too many messages is listed only"
    one.write_text(json.dumps([_chat(1)]))
    window.import_(one)
    assert questions(window) == ["Question <b>1</b>"], "the only one is shown"
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("conversations-000.json", json.dumps([_chat(1), {"mapping": {}, "title": "Lost"}, _chat(2)]))
        archive.writestr("conversations-001.json", json.dumps([_chat(3)]))
    found = sort_out([tmp_path / "all.zip"])
    assert found.conversations == (tmp_path / "all.zip",)
    window.import_(tmp_path / "all.zip")
    said = window.main.notice.text.text()
    assert said == ("2 chats imported. 1 chat was here already. 1 chat could not be read: Lost (it has no messages)")
    listed = [each for each in titles(window) if each.startswith("Chat")]
    assert listed == ["Chat 3", "Chat 2", "Chat 1", "Chat 0"]
    window.import_(one)
    assert window.main.notice.text.text() == "1 chat was here already."
    assert window.close()
    window = open_window(Script(ECHO))
    folder = tmp_path / "folder"
    folder.mkdir()
    shutil.copy(one, folder)
    window.program.conversations.export(window.program.conversations.summaries()[0].id, "json", folder / "own.json")
    window.wait((folder / "own.json").exists)
    for _ in range(2):
        window.import_(folder)
        assert len(titles(window)) == len(listed) + 1, "one's own export is here already"
    window.ask("And now?")
    (tmp_path / "none.zip").write_bytes((tmp_path / "all.zip").read_bytes()[:-60])
    window.import_(tmp_path / "none.zip")
    assert "Cannot import none.zip" in window.main.notice.text.text()


def _longer(number: int, *texts: str) -> dict[str, Any]:
    told = _chat(number)
    for place, text in enumerate(texts, 2):
        role = "assistant" if place % 2 else "user"
        message = {"author": {"role": role}, "content": {"content_type": "text", "parts": [text]}}
        told["mapping"][str(place)] = {"parent": str(place - 1), "message": message}
    return told


def test_a_chat_that_went_on_is_brought_up_to_date(open_window: OpenWindow, tmp_path: Path) -> None:
    window = open_window(Script(ECHO))
    path = tmp_path / "x.json"
    path.write_text(json.dumps([_chat(1), _chat(2)]))
    window.import_(path)
    listed = titles(window)
    window.controller.open(window.program.conversations.summaries()[0].id)
    assert questions(window) == ["Question <b>2</b>"]
    path.write_text(json.dumps([_longer(1, "And?", "So."), _longer(2, "Why?", "Thus."), _chat(3)]))
    window.import_(path)
    assert window.main.notice.text.text() == "1 chat imported. 2 chats brought up to date."
    assert questions(window) == ["Question <b>2</b>", "Why?"], "the open one too"
    assert titles(window) == [listed[0], "Chat 3", *listed[1:]]
    window.import_(path)
    assert window.main.notice.text.text() == "3 chats were here already."
    assert window.close()
    window = open_window(Script(ECHO))
    for each in window.program.conversations.summaries():
        window.controller.open(each.id)
        assert len(questions(window)) == (1 if each.title == "Chat 3" else 2)


def test_chats_come_from_where_another_program_keeps_them(
    open_window: OpenWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    window = open_window(Script(ECHO))
    commands = window.main.commands
    command = commands["conversations.import-LM Studio"]
    assert command.enabled is not None
    assert not command.enabled()
    assert imports_menu(window.program) is None
    folder = tmp_path / ".lmstudio" / "conversations"
    folder.mkdir(parents=True)
    versions = [{"role": "user", "content": [{"type": "text", "text": "Hi there"}]}]
    told = {"name": "Old", "createdAt": 1.7e12, "messages": [{"versions": versions, "currentlySelected": 0}]}
    (folder / "1.conversation.json").write_text(json.dumps(told))
    commands.run("conversations.import-LM Studio")
    window.wait(lambda: "Old" in titles(window))
    menu = imports_menu(window.program)
    assert menu is not None
    assert [action.text() for action in menu.actions()] == ["Import files…", "Import from LM Studio"]


def _idle(window: Window) -> bool:
    return window.program.conversations.files.activity.work == "idle"


def test_all_chats_are_exported_on_a_schedule(open_window: OpenWindow, tmp_path: Path) -> None:
    window = open_window(Script(ECHO))
    window.ask("One")
    window.ask("Two")
    exports = window.main.findChild(ChatExports)
    assert exports is not None
    exports.folder = tmp_path / "kept"
    exports.look()
    assert not exports.archives(), "off until it is asked for"
    old = [exports.folder / f"outrider-chats-2020-01-{day:02}-000000.zip" for day in range(1, 13)]
    exports.folder.mkdir()
    for each in (*old, exports.folder / "mine.zip"):
        each.write_bytes(b"")
        os.utime(each, (1e9, 1e9))
    window.program.settings.chat_exports = "daily"
    window.wait(lambda: len(exports.archives()) == 10 and _idle(window))
    *kept, last = exports.archives()
    assert kept == old[3:]
    assert (exports.folder / "mine.zip").exists()
    with zipfile.ZipFile(last) as archive:
        assert sorted(archive.namelist()) == ["One.json", "One.md"]
        assert "Two" in archive.read("One.md").decode()
    exports.look()
    assert exports.archives()[-1] == last, "not before tomorrow"
    window.import_(last)
    assert window.main.notice.text.text() == "1 chat was here already."
    window.program.conversations.export_everything(exports.folder / "mine.zip" / "x.zip")
    window.wait(lambda: _idle(window) and "Cannot write" in window.main.notice.text.text())


def test_cancelling_keeps_the_chats_that_came(open_window: OpenWindow, tmp_path: Path) -> None:
    window = open_window(Script(ECHO))
    path = tmp_path / "x.json"
    path.write_text(json.dumps([_chat(number) | {"filler": "x" * 20_000} for number in range(300)]))
    told, portions = list[ImportReport](), list[int]()
    files = window.program.conversations.files
    files.chats_imported.connect(told.append)
    files.chats_came.connect(lambda chats: portions.append(len(chats)))
    window.controller.import_(path)
    window.wait(lambda: (files.activity.fraction or 0.0) > 0.1)
    files.cancel()
    window.wait(lambda: files.activity.work == "idle")
    came = told[0].new
    assert 0 < came < 300
    window.program.conversations.list.most = 100
    window.import_(path)
    assert (told[1].known, told[1].new) == (came, 300 - came)
    assert sum(portions) == 300
    assert max(portions) <= MOST_AT_ONCE < 300, "few are taken in one turn of the window"
    _look_at_older_ones(window, [f"Chat {number}" for number in range(299, -1, -1)])


def _look_at_older_ones(window: Window, chats: list[str]) -> None:
    """A long list shows the latest chats, and others as somebody goes on; what is pinned always."""
    conversations, rows = window.program.conversations, window.main.left.list
    assert titles(window) == ["Older", *chats[:100]]
    conversations.pin(conversations.summaries()[-1].id, pinned=True)
    assert titles(window) == ["Pinned", chats[-1], "Older", *chats[:100]]
    rows.verticalScrollBar().setValue(rows.verticalScrollBar().maximum())
    window.wait(lambda: titles(window) == ["Pinned", chats[-1], "Older", *chats[:200]])
    assert rows.verticalScrollBar().value() > 0, "it stands where it was"


@pytest.mark.soak
@pytest.mark.timeout(3_600)
def test_fifty_thousand_chats_come_beside_a_chat(open_window: OpenWindow, tmp_path: Path, campaign: Campaign) -> None:
    """A gigabyte, while a reply is written: in bounded memory, and the window reacts all the time."""
    count = 500 * campaign.tries(100)
    path, filler = tmp_path / "all.zip", "Nothing of interest was said, and nobody wrote it down. " * 350
    with zipfile.ZipFile(path, "w") as archive:
        for first in range(0, count, 500):
            chats = [_longer(number, f"{filler}{number}") for number in range(first, first + 500)]
            archive.writestr(f"conversations-{first // 500:03}.json", json.dumps(chats))
    script = Script("word " * 400_000, round_s=0.02)
    window = open_window(script)
    window.wait(lambda: not window.controller.busy)
    exchange, probe = window.send("Go on."), GapProbe()
    window.wait(lambda: exchange.reply)
    before = _peak()
    probe.start()
    window.controller.import_(path)
    window.wait(lambda: _idle(window), 3_500_000)
    imported = probe.report()
    assert window.main.notice.text.text() == f"{count} chats imported."
    assert exchange.status == "writing"
    probe.stop()
    used, chat = GapProbe(), window.program.conversations.open
    assert chat is not None
    used.start()
    steps: tuple[Callable[[], None], ...] = (
        window.controller.new_chat,
        lambda: window.controller.send("One"),
        lambda: window.controller.open(chat.id),
    )
    for act in steps:
        act()
        window.qtbot.wait(300)
    campaign.note(chats=count, imported=imported, used=used.report(), memory=f"{_peak() - before} MB more")
    assert max(imported["most_work"], used.report()["most_work"]) < 50.0
    window.controller.cancel()


def _peak() -> int:
    """The most memory that this process has had, in MB."""
    told = Path("/proc/self/status").read_text(encoding="ascii")
    return int(next(line for line in told.splitlines() if line.startswith("VmHWM")).split()[1]) // 1024
