"""A window in which settings are changed is killed, again and again: what was changed is there, and nothing else."""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from app.settings.settings import SettingsFile
from app.store.store import Store
from helpers.paths import ROOT, TESTS

AT_RISK_S = 0.5
"""What was changed so long before the end is in the store: its thread writes a moment later."""


def _kill(folder: Path, after_s: float) -> tuple[int, int]:
    """How far it had come: settings and, of what was old enough to be safe, the conversation."""
    environment = os.environ | {"QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": f"{TESTS}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-m", "helpers.children.settings_in_child", str(folder)]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline()]
        threading.Timer(after_s, process.kill).start()
        lines += process.stdout.readlines()
        killed = time.monotonic()
    told = [json.loads(line) for line in lines if line.endswith("}\n")]
    safe = [each["own"] for each in told if each["at"] < killed - AT_RISK_S]
    return told[-1]["defaults"], max(safe, default=0)


@pytest.mark.timeout(120)
def test_settings_of_a_window_that_is_killed(tmp_path: Path) -> None:
    last = 0
    for turn in range(2):
        defaults, own = _kill(tmp_path, 0.7 + 0.23 * turn)
        file = SettingsFile(tmp_path / "settings.json")
        settings = file.load()
        assert file.trouble is None
        number = settings.sampling["top_k"]
        assert number >= defaults > last, "each time it goes on where it was"
        # Killed between two fields, or in the middle of both: a change each, whole or not there.
        assert settings.sampling["system"] in [f"{each} " * (each % 200) for each in (number, number - 1)]
        assert settings.theme in [("dark", "light", "system")[each % 3] for each in (number, number - 1)]
        store = Store.open(tmp_path / "conversations.sqlite3")
        (conversation,) = store.conversations()
        loaded = store.load(conversation.id)
        store.close()
        assert loaded is not None
        kept = loaded.settings["top_k"]
        assert kept >= own
        assert loaded.settings["system"] in [f"{each} " * (each % 200) for each in (kept, kept - 1)]
        last = number
    assert not list(tmp_path.glob("*damaged*"))
