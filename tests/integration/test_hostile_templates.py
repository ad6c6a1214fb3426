"""The command line with a model whose chat template turns hostile on a word."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from engine.system.hidden_commands import RENDERING
from helpers.campaigns import Campaign
from helpers.models.hostile_templates import HOSTILE, WORD, write_hostile
from helpers.paths import ROOT

_CALL_S, _CALL_BYTES = 6.0, 900e6


@dataclass
class Ended:
    """How a call ended. `peak`: of it and all its children together, in bytes."""

    code: int
    errors: str
    seconds: float
    peak: int


def memory_of(process: psutil.Process) -> int:
    """Bytes that a process and its children take now."""
    total = 0
    with suppress(psutil.Error):
        for each in (process, *process.children(recursive=True)):
            with suppress(psutil.Error):
                total += each.memory_info().rss
    return total


def renders(process: psutil.Process) -> bool:
    """True if a template has been at work for a while, other than that of the trial."""
    with suppress(psutil.Error):
        for each in process.children():
            if RENDERING in each.cmdline() and each.cpu_times().user > 0.4:
                return True
    return False


def ask(model: Path, text: str, *, interrupt: bool = False) -> Ended:
    """Ask as a user does; `interrupt`: press Ctrl+C while the template is at work, `seconds` count from there."""
    command = [sys.executable, "-m", "engine", "generate", "--target", str(model), "--max-tokens", "4", text]
    began = time.perf_counter()
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        watched, peak = psutil.Process(process.pid), 0
        while process.poll() is None and time.perf_counter() - began < 30:
            peak = max(peak, memory_of(watched))
            if interrupt and renders(watched):
                interrupt, began = False, time.perf_counter()
                process.send_signal(signal.SIGINT)
            time.sleep(0.03)
        seconds = time.perf_counter() - began
        process.kill()
        _, errors = process.communicate()
    return Ended(process.returncode, errors, seconds, peak)


def check(ended: Ended) -> None:
    """One clear error, or an answer, within the limits."""
    assert ended.code in {0, 2}, ended.errors
    assert "Traceback" not in ended.errors
    if ended.code == 2:
        assert ended.errors.splitlines()[-1].startswith("outrider-engine: ")
    assert ended.seconds < _CALL_S
    assert ended.peak < _CALL_BYTES


@pytest.fixture
def hostile(bundled_draft: Path, tmp_path: Path) -> Path:
    return write_hostile(bundled_draft, tmp_path / "hostile.gguf", HOSTILE["words"])


@pytest.mark.alone
def test_ctrl_c_ends_a_template_without_end(hostile: Path) -> None:
    ended = ask(hostile, f"open {WORD}", interrupt=True)
    assert ended.code == 130, ended.errors
    assert ended.seconds < 1.0
    assert "Traceback" not in ended.errors


def ask_each(names: Iterable[str], model: Path, folder: Path, *, always: bool = False) -> dict[str, object]:
    """Ask a model with each of these templates; gives figures of how it ended."""
    answered, slowest, largest = 0, (0.0, ""), (0, "")
    wrong = []
    for name in names:
        text = "hello" if always else f"open {WORD}"
        ended = ask(write_hostile(model, folder / "hostile.gguf", HOSTILE[name], always=always), text)
        try:
            check(ended)
        except AssertionError:
            wrong.append(f"{name}: {ended}")
        answered += ended.code == 0
        slowest, largest = max(slowest, (ended.seconds, name)), max(largest, (ended.peak, name))
    assert not wrong, "\n".join(wrong)
    slow, large = f"{slowest[0]:.1f} s ({slowest[1]})", f"{largest[0] / 1e6:.0f} MB ({largest[1]})"
    return {"answered": answered, "slowest": slow, "most_memory": large}


@pytest.mark.soak
@pytest.mark.timeout(3_600)
def test_every_hostile_template(bundled_draft: Path, tmp_path: Path, campaign: Campaign) -> None:
    """The first call has the trial too, which the template passes."""
    campaign.note(**ask_each(campaign.draw(HOSTILE), bundled_draft, tmp_path))


@pytest.mark.soak
@pytest.mark.timeout(3_600)
def test_templates_that_are_hostile_from_the_beginning(bundled_draft: Path, tmp_path: Path, campaign: Campaign) -> None:
    """They meet the trial: the file is refused, or each question is."""
    campaign.note(**ask_each(campaign.draw(HOSTILE), bundled_draft, tmp_path, always=True))
