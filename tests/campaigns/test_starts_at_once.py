"""Twenty starts of the window at once, again and again: one opens, the others call it, say so and end.

`--seed` repeats a campaign, `--share` shortens it.
"""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from app.store.store import Store
from helpers.campaigns import Campaign
from helpers.paths import ROOT
from helpers.processes import MARK, left_of

STARTS, TIMES = 20, 10
HANG_S = 20.0
_BUSY_S = 60.0
"""How long twenty starts may take on two cores until the last one has imported what it needs."""
_CALLED = "Outrider is already running: its window was brought to the front.\n"
_ENDED_ERRORS = {"", "This plugin does not support raise()\n"}

pytestmark = pytest.mark.skipif(os.name == "nt", reason="about signals")


def _start_at_once(folder: Path, draw: random.Random, number: int) -> float:
    """Start so many, most of them in the same moment; gives how long it took until one was left, in seconds."""
    folder.mkdir()
    mark = f"{os.getpid()}-{time.monotonic_ns()}"
    store = folder / "data" / "conversations.sqlite3"
    homes = {f"XDG_{kind}_HOME": str(folder / kind.lower()) for kind in ("CONFIG", "DATA", "CACHE", "STATE")}
    environment = os.environ | homes | {"QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": str(ROOT), MARK: mark}
    command = [sys.executable, "-X", "faulthandler", "-m", "app", f"--conversations={store}"]
    began = time.monotonic()
    processes = []
    pipe = subprocess.PIPE
    for _ in range(number):
        processes.append(subprocess.Popen(command, cwd=ROOT, env=environment, stdout=pipe, stderr=pipe, text=True))
        time.sleep(draw.choice((0.0, 0.0, 0.0, 0.05)))
    try:
        while sum(each.poll() is None for each in processes) > 1:
            assert time.monotonic() - began < _BUSY_S, "more than one is left"
            time.sleep(0.02)
        seconds = time.monotonic() - began
        first = next(each for each in processes if each.poll() is None)
        for each in processes:
            if each is not first:
                out, err = each.communicate(timeout=HANG_S)
                assert (each.returncode, out, err) == (0, _CALLED, "")
        # One more, now that it is quiet: the window that is left answers.
        last = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=HANG_S, check=False
        )
        assert (last.returncode, last.stdout, last.stderr) == (0, _CALLED, "")
        first.send_signal(signal.SIGTERM)
        out, err = first.communicate(timeout=HANG_S)
        assert (first.returncode, out) == (0, ""), err
        assert set(err.splitlines(keepends=True)) <= _ENDED_ERRORS, err
    finally:
        for each in processes:
            each.kill()
            each.communicate()
    left = left_of(mark)
    assert not left, left
    Store.open(store).close()
    return seconds


@pytest.mark.timeout(120)
def test_a_few_starts_at_once(tmp_path: Path) -> None:
    _start_at_once(tmp_path / "profile", random.Random(5), 3)


@pytest.mark.soak
@pytest.mark.timeout(1_800)
def test_starts_at_once(tmp_path: Path, campaign: Campaign) -> None:
    draw = random.Random(campaign.seed)
    took = [_start_at_once(tmp_path / str(time_), draw, STARTS) for time_ in range(campaign.tries(TIMES))]
    campaign.note(starts=STARTS * len(took), slowest_s=round(max(took), 1))
