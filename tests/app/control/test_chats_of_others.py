"""Chats of other programs in the window: what comes, what is told, and the same file twice."""

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

from app.state.conversations.dropped import sort_out
from app.store.brought import Brought
from helpers.decoding.scripted_decoder import Script
from helpers.window.app_window import OpenWindow
from helpers.window.chats import ECHO, questions, titles


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


def test_they_come_once_and_damaged_ones_are_named(open_window: OpenWindow, tmp_path: Path) -> None:
    window = open_window(Script(ECHO))
    one = tmp_path / "x.json"
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
    assert listed == ["Chat 3", "Chat 2", "Chat 1"]
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
        assert len(titles(window)) == len(listed) + 2, "with one's own export, once"
    window.ask("And now?")
    (tmp_path / "none.zip").write_bytes((tmp_path / "all.zip").read_bytes()[:-60])
    window.import_(tmp_path / "none.zip")
    assert "Cannot import none.zip" in window.main.notice.text.text()


def test_cancelling_keeps_the_chats_that_came(open_window: OpenWindow, tmp_path: Path) -> None:
    window = open_window(Script(ECHO))
    path = tmp_path / "x.json"
    path.write_text(json.dumps([_chat(number) | {"filler": "x" * 20_000} for number in range(300)]))
    told: list[Brought] = []
    files = window.program.conversations.files
    files.brought.connect(told.append)
    window.controller.import_(path)
    window.wait(lambda: (files.activity.fraction or 0.0) > 0.1)
    files.cancel()
    window.wait(lambda: files.activity.work == "idle")
    came = len(told[0].summaries)
    assert 0 < came < 300
    window.import_(path)
    assert (told[1].known, len(told[1].summaries)) == (came, 300 - came)
