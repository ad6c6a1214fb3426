"""The window, killed while it writes: what it has shown is there at the next start."""

import itertools
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from app.store.store import Store
from helpers.paths import ROOT, TESTS

AT_RISK_S = 0.25
CHILD = """
import functools, sys, time
from pathlib import Path
import app.shell.bootstrap as bootstrap
from app.settings.settings import SettingsFile
from app.system.single_instance import Call, claim_or_call
from helpers.decoding.scripted_decoder import Script, ScriptedDecoder
import asyncio

reply = "".join(f"{number:06} and " for number in range(20_000))
bootstrap.bundled_pair = lambda: (Path("big.gguf"), Path("small.gguf"))
bootstrap.build = functools.partial(bootstrap.build, make_decoder=lambda: ScriptedDecoder(Script(reply, round_s=0.002)))
folder = Path(sys.argv[1])

async def script(program, loop):
    program.controller.reply_grew.connect(
        lambda exchange, _text: print(time.monotonic(), len(exchange.reply), flush=True)
    )
    while program.window.panel.plots is None or not program.models.settled:
        await asyncio.sleep(0.02)
    program.window.prompt_sent.emit("Go on")
    await asyncio.sleep(600)

claim = claim_or_call(folder / "c.sqlite3", Call())
bootstrap.run(["outrider"], SettingsFile(folder / "settings.json"), claim=claim, script=script)
"""


@pytest.mark.alone
@pytest.mark.skipif(os.name == "nt", reason="about signals")
@pytest.mark.parametrize("after", [0.3, 0.93])
def test_what_was_shown_is_there_after_a_kill(tmp_path: Path, after: float) -> None:
    environment = os.environ | {"QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": f"{TESTS}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-c", CHILD, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        time.sleep(after)
        killed = time.monotonic()
        process.send_signal(signal.SIGKILL)
        lines = [first, *process.stdout.read().splitlines()]
    shown = [(float(when), int(size)) for when, size in (line.split() for line in lines if line.count(" ") == 1)]
    due = max(size for when, size in shown if when < killed - AT_RISK_S)
    store = Store.open(tmp_path / "c.sqlite3")
    assert store.connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    (summary,) = store.conversations()
    conversation = store.load(summary.id)
    assert conversation is not None
    question, reply = conversation.path
    store.close()
    assert question.text == "Go on"
    assert reply.status == "interrupted"
    assert reply.text == "".join(f"{number:06} and " for number in range(20_000))[: len(reply.text)]
    assert len(reply.text) >= due > 0


# Of a window in which somebody does all sorts of things ---------------------------------------------------------------


def _kill_busy_window(folder: Path, seed: int) -> int:
    """Gives how much of what it told was old enough to be safe: all of that was there."""
    environment = os.environ | {"QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": f"{TESTS}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-m", "helpers.children.window_in_child", str(folder), str(seed)]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        timer = threading.Timer(random.Random(seed).uniform(0.05, 2.0), process.kill)
        timer.start()
        lines = [first, *process.stdout.readlines()]
        killed = time.monotonic()
    said = [json.loads(line) for line in lines if line.endswith("}\n")]
    told = [each for each in said if each]
    safe = sum(1 for each in told if each["at"] < killed - AT_RISK_S)
    found = _what_is_there(folder / "conversations.sqlite3", {each["open"] for each in told})
    possible = told[max(safe - 1, 0) :]
    fits = any(_fits(found, *pair) for pair in itertools.pairwise([*possible, possible[-1]]))
    # It may have been killed after something was kept and before it could be told.
    assert fits or (not said[-1] and _differs_by_one(found, told[-1])), (seed, found, possible)
    return safe


def _differs_by_one(found: tuple[dict[str, str], dict[int, list[list[str]]]], told: Any) -> bool:
    titles = found[0]
    changed = [number for number in {*titles, *told["titles"]} if titles.get(number) != told["titles"].get(number)]
    return len(changed) <= 1


def _what_is_there(path: Path, numbers: set[int]) -> tuple[dict[str, str], dict[int, list[list[str]]]]:
    """The titles of the conversations, and what is said in those of these numbers."""
    store = Store.open(path)
    assert store.connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    titles = {str(each.id): each.title for each in store.conversations()}
    loaded = {number: store.load(number) for number in numbers}
    store.close()
    paths = {
        number: [] if kept is None else [[message.role, message.text] for message in kept.path]
        for number, kept in loaded.items()
    }
    return titles, paths


def _fits(found: tuple[dict[str, str], dict[int, list[list[str]]]], told: Any, then: Any) -> bool:
    """Whether all is there that was told, and nothing but that and what was told then."""
    titles, paths = found
    for number in {*told["titles"], *then["titles"], *titles}:
        if titles.get(number) not in (told["titles"].get(number), then["titles"].get(number)):
            return False
    return any(_is_there(paths.get(each["open"], []), each["path"]) for each in (told, then))


def _is_there(kept: list[list[str]], told: list[list[str]]) -> bool:
    """Whether what was told is kept; its last text, and what came after it, may have grown since."""
    same = [*told]
    last = [same.pop()] if same else []
    grown = kept[len(same) : len(told)]
    return (
        kept[: len(same)] == same
        and all(
            role == kept_role and kept_text.startswith(text)
            for (role, text), (kept_role, kept_text) in zip(last, grown, strict=False)
        )
        and len(kept) >= len(told)
        and len(kept) <= len(told) + 2
    )


@pytest.mark.soak
@pytest.mark.timeout(1_800)
@pytest.mark.skipif(os.name == "nt", reason="about signals")
def test_a_busy_window_loses_nothing_in_a_hundred_kills(tmp_path: Path) -> None:
    assert sum(_kill_busy_window(tmp_path, 100 + seed) for seed in range(100)) > 1_000
