"""Clocks that jump, and a slow disk that two windows share: everything goes on, nothing is lost or damaged.

`--seed` repeats a run, `--share` shortens it.
"""

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Self

import pytest

from app.store.store import Store
from helpers.campaigns import Campaign
from helpers.odd_machine import OddMachine, compiler
from helpers.paths import ROOT, TESTS

HANG_S = 20.0
JUMPS, TWO_WINDOWS = 60, 20
_HOUR, _DAY, _YEAR = 3_600, 86_400, 31_557_600
_CALLED = "Outrider is already running: its window was brought to the front.\n"
_NO_ANSWER = (
    "outrider: another instance of Outrider has the chats open and does not respond. Quit it and start again.\n"
)

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="a preloaded library stands in for the machine"),
    pytest.mark.skipif(not compiler(), reason="there is no C compiler"),
]


class Steered:
    """A window in a process of its own: see `helpers.children.steered_window`. Attribute: slowest (answer, seconds)."""

    def __init__(self, folder: Path, machine: OddMachine) -> None:
        self.slowest = 0.0
        self._log = folder.parent / "errors.txt"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-X", "faulthandler", "-m", "helpers.children.steered_window", str(folder)],
                cwd=ROOT,
                env=_environment(machine),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )

    def __enter__(self) -> Self:
        self.told = self._listen()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()

    def do(self, *order: str) -> dict[str, Any]:
        """Give an order; gives what the window tells when it is done."""
        began = time.monotonic()
        self._say(order)
        self.told = self._listen()
        self.slowest = max(self.slowest, time.monotonic() - began)
        return self.told

    def quit(self) -> None:
        """Close the window, which ends in order and has no traceback to show."""
        self._say(["quit"])
        code = self._process.wait(HANG_S)
        said = self._log.read_text("utf-8", "replace")
        assert code == 0, said
        assert "Traceback" not in said, said

    def _say(self, order: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()

    def _listen(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"it ended: {self._process.wait()}\n{self._log.read_text('utf-8', 'replace')}"
        told: dict[str, Any] = json.loads(line)
        return told


def _environment(machine: OddMachine) -> dict[str, str]:
    paths = {"QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": f"{TESTS}{os.pathsep}{ROOT}"}
    return os.environ | paths | machine.environment


def _kept(folder: Path) -> dict[str, list[str]]:
    """The texts on the path of each chat in the store, by title."""
    store = Store.open(folder / "conversations.sqlite3")
    try:
        assert store.connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        loaded = {each.title: store.load(each.id) for each in store.conversations()}
        return {title: [message.text for message in each.path] for title, each in loaded.items() if each is not None}
    finally:
        store.close()


# Clocks ---------------------------------------------------------------------------------------------------------------


def _jump(workshop: Path, seed: int, jumps: int) -> float:
    """Ask after each jump of the clock; gives the slowest answer in seconds."""
    folder = workshop / "profile"
    folder.mkdir()
    machine = OddMachine(folder, workshop)
    draw = random.Random(seed)
    expected: dict[str, list[str]] = {}
    with Steered(folder, machine) as window:
        for number in range(jumps):
            jump = draw.choice([_HOUR, _DAY, 40 * _DAY, _YEAR, 11 * _YEAR]) * draw.uniform(-1.0, 1.0)
            machine.set_clock(jump)
            asked = f"Question {number}"
            if not expected or draw.random() < 0.7:
                window.do("new")
                expected[asked] = []
            title = [*expected][-1]
            expected[title] += [asked, "A reply."]
            told = window.do("ask", asked)
            where = f"seed {seed}, jump {number} by {jump:.0f} s: {told}"
            assert told["rows"][:2] == ["[today]", title], where
            assert sorted(row for row in told["rows"] if row[0] != "[") == sorted(expected), where
            assert told["path"] == expected[title], where
            assert not told["said"], where
        saved_by = time.monotonic() + 1.0
        while not window.do("look")["saved"]:
            assert time.monotonic() < saved_by, f"seed {seed}: not saved"
        window.quit()
    machine.set_clock(draw.uniform(-5, 5) * _YEAR)
    assert _kept(folder) == expected, f"seed {seed}"
    return window.slowest


@pytest.mark.alone
def test_a_clock_that_jumps_a_few_times(tmp_path: Path) -> None:
    assert _jump(tmp_path, 1, 8) < HANG_S


@pytest.mark.soak
@pytest.mark.timeout(1_800)
def test_clocks_that_jump(tmp_path: Path, campaign: Campaign) -> None:
    slowest = _jump(tmp_path, campaign.seed, campaign.tries(JUMPS))
    assert slowest < HANG_S
    campaign.note(slowest_answer_s=round(slowest, 1))


# A slow disk ----------------------------------------------------------------------------------------------------------


def _share_a_disk(workshop: Path, seed: int, questions: int = 4) -> tuple[str, float]:
    """One window works, another is started on its chats; gives what that said, and the slowest answer in seconds."""
    folder = workshop / "profile"
    folder.mkdir()
    machine = OddMachine(folder, workshop)
    draw = random.Random(seed)
    machine.slow_down(50, 200, draw.choice([0, 4, 8, 20]))
    expected: dict[str, list[str]] = {}
    with Steered(folder, machine) as window:
        second = None
        for number in range(questions):
            if number == 1:
                second = _start_second(folder, machine)
            asked = f"Question {number}"
            window.do("new")
            window.do("ask", asked)
            expected[asked] = [asked, "A reply."]
        assert second is not None
        try:
            said, errors = second.communicate(timeout=2 * HANG_S)
        finally:
            second.kill()
        assert (said + errors) in (_CALLED, _NO_ANSWER), (seed, second.returncode, said, errors)
        assert second.returncode == (0 if said else 2), (seed, said, errors)
        assert not window.do("look")["said"], (seed, window.told)
        limit = time.monotonic() + HANG_S
        while not window.do("look")["saved"]:
            assert time.monotonic() < limit, f"seed {seed}: not saved"
            time.sleep(0.1)
        window.quit()
    assert _kept(folder) == expected, f"seed {seed}"
    return said or errors, window.slowest


def _start_second(folder: Path, machine: OddMachine) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "app", f"--settings={folder / 'settings.json'}"]
    command.append(f"--conversations={folder / 'conversations.sqlite3'}")
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, env=_environment(machine), stdout=pipe, stderr=pipe, text=True)


@pytest.mark.soak
def test_two_windows_on_a_slow_disk_once(tmp_path: Path) -> None:
    said, slowest = _share_a_disk(tmp_path, 2, questions=2)
    assert said == _CALLED
    assert slowest < HANG_S


@pytest.mark.soak
@pytest.mark.timeout(3_600)
def test_two_windows_on_a_slow_disk(tmp_path: Path, campaign: Campaign) -> None:
    ends = []
    for number in range(campaign.tries(TWO_WINDOWS)):
        workshop = tmp_path / str(number)
        workshop.mkdir()
        ends.append(_share_a_disk(workshop, campaign.seed + number))
    called, slowest = sum(said == _CALLED for said, _ in ends), max(slow for _, slow in ends)
    campaign.note(called_the_window=called, gave_up=len(ends) - called, slowest_answer_s=round(slowest, 1))


_OPENINGS = """
import sys
from pathlib import Path
from app.store.store import Store
for _ in range(10):
    Store.open(Path(sys.argv[1]) / "c.sqlite3").close()
"""


def test_the_chats_are_opened_where_locks_fail_now_and_then(tmp_path: Path) -> None:
    folder = tmp_path / "profile"
    folder.mkdir()
    machine = OddMachine(folder, tmp_path)
    machine.slow_down(0.1, 0.2, 4)
    command = [sys.executable, "-c", _OPENINGS, str(folder)]
    done = subprocess.run(command, cwd=ROOT, env=_environment(machine), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
