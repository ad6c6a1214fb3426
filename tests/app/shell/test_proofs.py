"""A reply that proves itself: exported from the window, and verified by dropping it there."""

import json
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QUrl

from app.shell import proofs
from app.state.chat.trace import TokenTrace
from app.state.conversations.dropped import sort_out
from app.views.window.file_drops import FileDrops
from helpers.window.app_window import OpenWindow, Window


def drop(window: Window, path: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    window.main.findChildren(FileDrops)[0].take(data)


def test_a_reply_is_exported_with_proof_and_verified_by_dropping_it(
    open_window: OpenWindow, demo_pair: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window, path, notice = open_window(pair=demo_pair), tmp_path / "proof.json", None
    notice = window.main.notice
    monkeypatch.setattr(proofs, "ask_where_to_put", lambda *_: path)
    exchange = window.ask("Tell me a story about a fox.")
    view = window.view(exchange)
    view.reply_actions.button("proof").click()
    window.wait(path.exists)
    assert json.loads(path.read_bytes())["text"] == exchange.reply
    assert exchange.trace is not None
    assert TokenTrace.from_bytes(exchange.trace.to_bytes()).made == json.loads(json.dumps(exchange.trace.made))
    assert sort_out([path]).proofs == (path,)
    drop(window, path)
    window.wait(lambda: "Identical" in notice.text.text())
    path.write_bytes(path.read_bytes().replace(b"fox", b"cat"))
    drop(window, path)
    window.wait(lambda: "was changed after it was written" in notice.text.text())
    exchange.trace.made = None
    view.reply_actions.button("proof").click()
    assert "no record of how this reply was made" in notice.text.text()
