"""The window, killed while it writes: what it has shown is there at the next start."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

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

(folder / "settings.json").write_text('{"first_launch": false}')
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
