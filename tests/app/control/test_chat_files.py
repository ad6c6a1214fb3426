"""Imports beside everything else: progress, cancelling, closing; the window goes on meanwhile."""

import gc
import json
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from app.shell.bootstrap import SWITCH_S
from app.state.chat.activity import Activity
from app.store.store import Store
from helpers.children.hostile_imports import chain, chat
from helpers.decoding.scripted_decoder import Script
from helpers.seldom import often
from helpers.window.app_window import OpenWindow, Window
from helpers.window.chats import ECHO, questions, titles
from helpers.window.gap_probe import GapProbe

SOON_MS = 100.0


def _file(path: Path, told: dict[str, Any]) -> Path:
    path.write_text(json.dumps(told), encoding="utf-8")
    return path


def _works(window: Window, wanted: str) -> Callable[[], bool]:
    return lambda: window.controller.activity.work == wanted


def _longest(window: Window, path: Path) -> float:
    """How long this program kept its window waiting while a file was imported and shown, in ms; the best of two."""
    longest = []
    for _ in range(2):
        window.controller.new_chat()
        window.qtbot.wait(300)
        probe = GapProbe()
        probe.start()
        window.import_(path, 120_000)
        window.qtbot.wait(1_300)
        probe.stop()
        longest.append(probe.report()["most_held"])
    return min(longest)


@pytest.fixture
def threads_as_in_the_program() -> Iterator[None]:
    """Let the window have its turn as often as the program does: by default it waits five times as long for it."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_S)
    yield
    sys.setswitchinterval(before)


@pytest.mark.alone
@pytest.mark.usefixtures("threads_as_in_the_program")
@pytest.mark.parametrize("kind", often(["a chain", "nodes", "a text"], "a chain"))
def test_the_window_goes_on_meanwhile(open_window: OpenWindow, tmp_path: Path, kind: str) -> None:
    path = {
        "a chain": lambda: _file(tmp_path / "a.json", chain(20_000)),
        "nodes": lambda: _file(tmp_path / "a.json", chain(3) | {"x": [[]] * 1_000_000}),
        "a text": lambda: _file(tmp_path / "a.json", chain(1, "word " * 4_000_000)),
    }[kind]()
    window = open_window(Script(ECHO))
    assert _longest(window, path) < SOON_MS
    taken = kind != "nodes"
    assert (window.program.conversations.open is not None) == taken
    assert ("Cannot import a.json" in window.main.notice.text.text()) != taken


def test_memory_is_that_of_what_is_kept(open_window: OpenWindow, tmp_path: Path) -> None:
    window = open_window(Script(ECHO))
    for told, most in ((chain(2_000, "text " * 2_000), 60), (chain(1, "x" * 60_000_000), 120)):
        path = _file(tmp_path / "a.json", told)
        del told
        tracemalloc.start()
        window.import_(path, 60_000)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < most * 2**20


def test_no_garbage_is_kept_for_good(open_window: OpenWindow, tmp_path: Path) -> None:
    window, before = open_window(), gc.get_freeze_count()
    window.import_(_file(tmp_path / "none.json", {"none": 1}), 20_000)
    assert gc.get_freeze_count() <= before
    assert gc.isenabled()


def test_progress_is_shown_and_cancelling_leaves_nothing(open_window: OpenWindow, tmp_path: Path) -> None:
    window = open_window(Script(ECHO))
    window.ask("One")
    path = _file(tmp_path / "long.json", chain(20_000))
    seen: list[Activity] = []
    window.controller.activity_changed.connect(lambda: seen.append(window.controller.activity))
    window.controller.import_(path)
    window.controller.import_(path)
    window.wait(window.main.strip.isVisible)
    assert window.main.strip.word.text().startswith("Importing long.json")
    window.wait(lambda: (seen[-1].fraction or 0.0) > 0.1)
    window.main.strip.button.click()
    window.wait(_works(window, "idle"))
    assert not window.main.strip.isVisible()
    assert titles(window) == ["Today", "One"]
    assert questions(window) == ["One"]
    assert not window.notices()
    fractions = [each.fraction for each in seen if each.fraction is not None]
    assert fractions == sorted(fractions)
    window.import_(_file(tmp_path / "short.json", chain(4)))
    assert questions(window) == ["Said 1", "Said 3"], "the next import works"


def test_a_reply_is_written_meanwhile_and_escape_cancels_that_first(open_window: OpenWindow, tmp_path: Path) -> None:
    window = open_window(Script("word " * 500, round_s=0.01))
    window.controller.import_(_file(tmp_path / "long.json", chain(30_000)))
    exchange = window.send("One")
    window.wait(lambda: len(exchange.reply) > 50)
    assert window.program.conversations.files.activity.work == "importing"
    window.controller.cancel()
    window.ended(exchange)
    assert exchange.status == "cancelled"
    assert window.controller.activity.work == "importing"
    window.controller.cancel()
    window.wait(_works(window, "idle"))
    assert questions(window) == ["One"]


def test_two_at_once_come_one_after_the_other(open_window: OpenWindow, tmp_path: Path) -> None:
    window = open_window(Script(ECHO))
    for name in ("a", "b"):
        window.controller.import_(_file(tmp_path / f"{name}.json", chain(600, name) | {"title": name}))
    window.controller.import_(_file(tmp_path / "c.json", {"format": "another"}))
    window.wait(lambda: window.main.notice.isVisible() and _works(window, "idle")())
    assert sorted(titles(window)[1:]) == ["a", "b"]
    assert questions(window)[0] == "b 1"
    assert not window.notices(), "the chat on the screen has nothing to do with it"
    said = window.main.notice.text.text()
    assert said == "Cannot import c.json: it is not a chat exported by Outrider. Nothing was changed."


@pytest.mark.parametrize("share", often([0.0, 0.3, 0.6], 0.3))
def test_closing_the_window_leaves_nothing_of_it(open_window: OpenWindow, tmp_path: Path, share: float) -> None:
    window = open_window(Script(ECHO))
    window.ask("One")
    window.controller.import_(_file(tmp_path / "long.json", chain(20_000)))
    window.wait(lambda: (window.controller.activity.fraction or 0.0) >= share)
    assert window.close()
    window = open_window(Script(ECHO))
    assert titles(window) == ["Today", "One"]
    assert window.close()
    store = Store.open(tmp_path / "conversations.sqlite3")
    counted = store.connection.execute("SELECT count(*) FROM conversations").fetchone()
    store.close()
    assert counted == (1,)


@pytest.mark.parametrize("told", [chat([]), chain(5)])
def test_what_came_of_it_can_be_gone_on_with(open_window: OpenWindow, tmp_path: Path, told: dict[str, Any]) -> None:
    window = open_window(Script(ECHO))
    window.import_(_file(tmp_path / "a.json", told))
    window.ask("And now?")
    shown = window.program.conversations.open
    assert shown is not None
    window.controller.new_chat()
    window.controller.open(shown.id)
    assert questions(window)[-1] == "And now?"
    assert len(shown) == len(told["messages"]) + 2


def test_an_export_is_whole_though_the_window_is_closed_at_once(open_window: OpenWindow, tmp_path: Path) -> None:
    window = open_window(Script(ECHO))
    window.import_(_file(tmp_path / "a.json", chain(6_000)), 60_000)
    shown = window.program.conversations.open
    assert shown is not None
    window.program.conversations.export(shown.id, "json", tmp_path / "b.json")
    assert not (tmp_path / "b.json").exists(), "it is written beside"
    assert window.close()
    told = json.loads((tmp_path / "b.json").read_text(encoding="utf-8"))
    assert len(told["messages"]) == 6_000


def test_an_export_that_fails_is_told(open_window: OpenWindow, tmp_path: Path) -> None:
    window = open_window(Script(ECHO))
    window.ask("One")
    shown = window.program.conversations.open
    assert shown is not None
    window.export(shown.id, "json", tmp_path / "no folder" / "b.json")
    said = window.main.notice.text.text()
    assert said.startswith("Cannot write")
    assert "Choose another folder" in said
