"""`bench` with the bundled pair, in a process of its own."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.paths import ROOT

SMALL = ("--lookaheads", "2,8", "--repeats", "2", "--max-tokens", "24")


@pytest.mark.skipif(sys.platform == "win32", reason="there Ctrl+C reaches every process of the console")
def test_ctrl_c_shows_what_there_is(bundled_target: Path, bundled_draft: Path) -> None:
    command = [sys.executable, "-m", "engine", "bench", *SMALL[:2], "--repeats", "500", "--max-tokens", "24"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        said = [process.stderr.readline() for _ in range(3)]
        assert "Ctrl+C stops" in said[-1]
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.5)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "PARTIAL" in out
    assert "plain" in out
