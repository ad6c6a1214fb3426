"""Measure the window's responsiveness while the bundled pair writes at full speed, and the window's cost.

    make bench ARGS="window [--replies N] [--target T --draft D] [--hidden-panel] [--json]"

Prints gaps of a 10 ms timer (milliseconds), tokens/s in the window and without one, and their ratio.
Replies with and without the window take turns, so that both see the same machine.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

os.environ["QT_API"] = "pyside6"
os.environ["PYQTGRAPH_QT_LIB"] = "PySide6"
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from app.settings.settings import Settings, SettingsFile
from app.shell.bootstrap import run
from app.shell.program import Program
from engine import bundled_pair, load
from helpers.paths import BENCH
from helpers.window.gap_probe import GapProbe

LOOKAHEAD = 4
"""Fixed in the window and without it, since auto would learn differently in each."""
PROMPTS = (
    "Tell me a story about a shy dragon.",
    "Write a Python function that checks if a number is prime.",
    "Make a table of animals and their food.",
    "Write a bedtime story about a lonely lighthouse.",
    "What is Outrider?",
)


def in_window(target: Path, draft: Path, prompts: list[str], *, panel: bool) -> dict[str, Any]:
    """Replies in the real window, with a 10 ms timer beside them."""
    found: dict[str, Any] = {"speeds": []}

    async def script(program: Program, _loop: asyncio.AbstractEventLoop) -> int:
        program.window.resize(1280, 800)
        await asyncio.sleep(3.0)
        if not panel:
            program.window.bar.right_button.click()
        probe = GapProbe()
        for prompt in prompts:
            program.controller.new_chat()
            await asyncio.sleep(0.2)
            probe.start()
            program.window.prompt_sent.emit(prompt)
            while program.controller.busy:  # noqa: ASYNC110 - as a person looks at it
                await asyncio.sleep(0.02)
            await asyncio.sleep(0.15)
            probe.stop()
            stats = next(iter(program.controller.transcript)).stats  # type: ignore[union-attr]
            if stats is not None:
                found["speeds"].append((stats.emitted, stats.total_ms - stats.prompt_ms))
        found["probe"] = probe.report()
        return 0

    with tempfile.TemporaryDirectory() as folder:
        file = SettingsFile(Path(folder) / "settings.json")
        file.save(Settings(target=str(target), sources=[str(draft)], lookahead=LOOKAHEAD))
        run(["outrider"], file, script=script)
    return found


def without_window(target: Path, draft: Path, prompts: list[str]) -> list[tuple[int, float]]:
    """The same replies by the engine alone."""
    with load(target, draft) as decoder:
        decoder.generate("Hello", max_tokens=32)
        results = [decoder.generate(prompt, lookahead=LOOKAHEAD) for prompt in prompts]
    return [(r.stats.emitted, r.stats.total_ms - r.stats.prompt_ms) for r in results]


def speed(replies: list[tuple[int, float]]) -> float:
    """Tokens per second over all replies."""
    return 1000.0 * sum(tokens for tokens, _ in replies) / sum(ms for _, ms in replies)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replies", type=int, default=20)
    parser.add_argument("--target", type=Path)
    parser.add_argument("--draft", type=Path)
    parser.add_argument("--hidden-panel", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--part", choices=("window", "engine"))
    args = parser.parse_args()
    pair: tuple[Path, Path] = (args.target, args.draft) if args.target else bundled_pair()
    prompts = [PROMPTS[number % len(PROMPTS)] for number in range(args.replies)]
    if args.part == "engine":
        print(json.dumps({"speeds": without_window(*pair, prompts)}))
        return 0
    if args.part == "window":
        print(json.dumps(in_window(*pair, prompts, panel=not args.hidden_panel)))
        return 0

    def part(name: str) -> dict[str, Any]:
        command = [sys.executable, str(BENCH), "window", *sys.argv[1:], "--part", name]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return dict(json.loads(done.stdout.splitlines()[-1]))

    began = perf_counter()
    alone = [part("engine")]
    window = [part("window")]
    alone.append(part("engine"))
    window.append(part("window"))
    alone.append(part("engine"))
    speeds = {"window": [speed(run["speeds"]) for run in window], "alone": [speed(run["speeds"]) for run in alone]}
    report = {
        "gaps_ms": [run["probe"] for run in window],
        "tokens_per_second": speeds,
        "ratio": statistics.median(speeds["window"]) / statistics.median(speeds["alone"]),
        "seconds": round(perf_counter() - began, 1),
    }
    print(json.dumps(report, indent=2) if args.json else table(report))
    return 0


def table(report: dict[str, Any]) -> str:
    """The figures for people, and for results.md."""
    gaps = report["gaps_ms"]
    inside, alone = (", ".join(f"{value:,.0f}" for value in values) for values in report["tokens_per_second"].values())
    lines = [
        "## The window while a reply streams",
        "",
        f"The bundled pair at full speed, lookahead {LOOKAHEAD}; gaps of a 10 ms timer in the window, in milliseconds.",
        "",
        f"| run | {' | '.join(name.replace('_', ' ') for name in gaps[0])} |",
        "|---|" + "---|" * len(gaps[0]),
    ]
    lines += [
        f"| {run} | {' | '.join(f'{value:g}' for value in found.values())} |" for run, found in enumerate(gaps, 1)
    ]
    lines += ["", f"Tokens/s in the window {inside}; without it {alone}; ratio of the medians {report['ratio']:.2f}."]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
