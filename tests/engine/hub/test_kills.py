"""Downloads that are killed at random moments, with cuts and busy servers between: each goes on where it was."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engine.cancel import CancelToken
from engine.hub.web import Web
from helpers.hub import Fault, LocalHub, sha256
from helpers.paths import ROOT

NAME = "big-Q8_0.gguf"
_LOST = 4 * 2**20


def kill_and_resume(folder: Path, kills: int, size: int, speed: float, seed: int) -> None:
    """Kill a download so often, and let it end. What came twice is no more than what a kill may lose."""
    chance = random.Random(seed)
    model = b"GGUF" + (chance.randbytes(999_983) * (size // 999_983 + 1))[:size]
    with LocalHub({"maker/big": {NAME: model}}) as hub:
        command = [sys.executable, "-m", "engine", "get", "maker/big", "--to", str(folder)]
        environment = os.environ | {"HF_ENDPOINT": hub.url, "PYTHONPATH": str(ROOT)}
        for _ in range(kills):
            told = {"Retry-After": "0"}
            hub.faults = type(hub.faults)([Fault(speed=speed)])
            if chance.random() < 0.6:
                cut = Fault(speed=speed, cut=chance.randrange(size // kills))
                hub.faults.extendleft([Fault(status=chance.choice((429, 503)), headers=told), cut])
            before = hub.out
            with subprocess.Popen(command, env=environment, cwd=ROOT, stderr=subprocess.DEVNULL) as process:
                deadline = time.monotonic() + 30
                goal = before + chance.randrange(1, max(size // kills, 2))
                while hub.out < goal and process.poll() is None and time.monotonic() < deadline:
                    time.sleep(0.001)
                process.send_signal(signal.SIGKILL)
            assert not (folder / NAME).exists() or (folder / NAME).read_bytes() == model
        hub.faults.clear()
        subprocess.run(command, env=environment, cwd=ROOT, check=True, timeout=120, stdout=subprocess.DEVNULL)
        assert sha256((folder / NAME).read_bytes()) == sha256(model)
        assert [path.name for path in folder.rglob("*")] == [NAME]
        assert hub.most_again(NAME) <= _LOST
        assert hub.out < 2 * size


def test_a_reader_that_waits_has_little_under_way() -> None:
    with LocalHub({"maker/big": {NAME: bytes(24 * 2**20)}}) as hub:
        pieces = Web().pieces(f"{hub.files_url}/maker/big/{NAME}", CancelToken(), {})
        next(pieces), next(pieces)
        before = -1
        while hub.out != before:  # Until what the kernel holds on both sides is full.
            before = hub.out
            time.sleep(0.1)
        pieces.close()
        assert 0 < before <= _LOST


def test_killed_and_gone_on(tmp_path: Path) -> None:
    kill_and_resume(tmp_path / "models", 2, 6_000_000, 20e6, 1)


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_killed_at_fifty_moments(tmp_path: Path) -> None:
    kill_and_resume(tmp_path / "models", 50, 400_000_000, 40e6, 2)
