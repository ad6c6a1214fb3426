"""Compare in the window gives the figures of the command `bench`, for the same pair and prompt."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app.views.compare.compare import CompareDialog
from app.views.compare.sweep import SweepDialog
from engine import WayFigures
from helpers.paths import ROOT
from helpers.window.app_window import OpenWindow, Window

PROMPT = "Tell me a story about a shy dragon."
ROUNDS = 3
"""Turns of window and command, one after the other, so that a machine that is slow for a while slows both."""
SLACK = 1.1
"""What two runs of one program may differ by, on top of their spread: each lays its memory out anew."""


def _bench(pair: tuple[Path, Path], folder: Path, lookaheads: str, turns: int, tokens: int) -> dict[str, Any]:
    prompts = folder / "prompts.json"
    prompts.write_text(json.dumps([PROMPT]), "utf-8")
    command = [sys.executable, "-m", "engine", "bench", "--json", "--target", str(pair[0]), "--draft", str(pair[1])]
    sizes = ["--lookaheads", lookaheads, "--no-ngram", "--repeats", str(turns), "--max-tokens", str(tokens)]
    command += ["--prompts", str(prompts), *sizes]
    done = subprocess.run(command, cwd=ROOT, env=os.environ, capture_output=True, text=True, check=True)
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def _measure(window: Window, dialog: CompareDialog | SweepDialog, turns: int, tokens: int) -> tuple[WayFigures, ...]:
    dialog.prompt.setPlainText(PROMPT)
    for picker, value in ((dialog.repeats, turns), (dialog.tokens, tokens)):
        picker.setCurrentText(str(value))
    dialog.start.click()
    run = window.program.compare.runs[dialog.kind]
    window.wait(lambda: not run.running, 300_000)
    assert run.status == "done", run.problem
    assert run.report is not None
    return run.report.ways


def _check(ours: dict[str, list[float]], theirs: dict[str, list[float]], what: str) -> None:
    """Each median of the window lies within what the command's replies showed."""
    for name, speeds in ours.items():
        low, high = min(theirs[name]), max(theirs[name])
        middle = sorted(speeds)[len(speeds) // 2]
        print(f"{what} {name}: window {middle:.2f} of {sorted(speeds)}, bench {low:.2f} to {high:.2f}")
        assert low / SLACK <= middle <= high * SLACK


@pytest.mark.soak
def test_compare_gives_the_figures_of_bench(
    open_window: OpenWindow, demo_pair: tuple[Path, Path], tmp_path: Path
) -> None:
    window = open_window(pair=demo_pair)
    window.models.choose_lookahead(4)
    window.main.commands.run("proof.compare")
    dialog = window.main.findChild(CompareDialog)
    assert dialog is not None
    ours: dict[str, list[float]] = {}
    theirs: dict[str, list[float]] = {}
    gains: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for way in _measure(window, dialog, 9, 96):
            assert way.tokens_per_second is not None
            assert way.speedup is not None
            ours.setdefault(way.name, []).append(way.tokens_per_second.median)
            if way.name == "4":
                gains[0].append(way.speedup.median)
        report = _bench(demo_pair, tmp_path, "4", 9, 96)
        for name, row in report["ways"].items():
            theirs.setdefault(name, []).extend((row["tokens_per_second"]["least"], row["tokens_per_second"]["most"]))
        gains[1].extend((report["ways"]["4"]["speedup"]["least"], report["ways"]["4"]["speedup"]["most"]))
    _check(ours, theirs, "tokens/s,")
    _check({"4": gains[0]}, {"4": gains[1]}, "speedup,")


@pytest.mark.soak
def test_sweep_gives_the_figures_of_bench(
    open_window: OpenWindow, demo_pair: tuple[Path, Path], tmp_path: Path
) -> None:
    window = open_window(pair=demo_pair)
    window.main.commands.run("proof.sweep")
    dialog = window.main.findChild(SweepDialog)
    assert dialog is not None
    ours: dict[str, list[float]] = {}
    theirs: dict[str, list[float]] = {}
    for _ in range(ROUNDS):
        for way in _measure(window, dialog, 5, 64):
            assert way.tokens_per_second is not None
            ours.setdefault(way.name, []).append(way.tokens_per_second.median)
        lookaheads = ",".join(map(str, range(1, 17)))
        for name, row in _bench(demo_pair, tmp_path, lookaheads, 5, 64)["ways"].items():
            theirs.setdefault(name, []).extend((row["tokens_per_second"]["least"], row["tokens_per_second"]["most"]))
    _check(ours, theirs, "tokens/s,")
