"""Measure from start to first paint: the program against an empty window with a plot.

    make bench ARGS="startup [--pairs N] [--offscreen] [--profile] [--json]"

The other side is a PySide6 window with an empty pyqtgraph plot in it and nothing else. Both are processes of their own
that take turns, and who begins changes from pair to pair; the time goes from just before a process is started until its
window has painted itself for the first time, and a ratio is the median over the pairs. On Linux the windows are on an X
server of their own (Xvfb) where there is one. Files are warm. The program starts as it does for a user who has used it
before: with a settings file and conversations.

`--profile` prints what the program's start is made of instead (python -X importtime, the slowest modules).

The must: a ratio of at most 1.6. Gives 1 if it is not met.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from benchmarks.machine import Quiet
from benchmarks.window.startup_sides import PAINTED
from helpers import xvfb
from helpers.paths import ROOT

MUST = 1.6
SIDES = ("program", "empty")
_SLOWEST = 25
_QUESTIONS = 3
_RUN_S = 120.0
_SIDES = Path(__file__).with_name("startup_sides.py")


def prepare(folder: Path) -> None:
    """Write a past user's files: settings, and some conversations."""
    from app.settings.settings import Settings, SettingsFile  # noqa: PLC0415 - the sides import only what they need
    from app.store.conversations import ConversationStore  # noqa: PLC0415 - as above
    from app.store.store import Store  # noqa: PLC0415 - as above

    SettingsFile(folder / "settings.json").save(Settings(first_launch=False))
    keeper = ConversationStore(Store.open(folder / "store.sqlite3"), lambda _error: None)
    for number in range(_QUESTIONS):
        conversation = keeper.new()
        keeper.ask(conversation, f"Question {number}")
    keeper.close(5.0)


def first_paint(side: str, folder: Path, environment: dict[str, str]) -> float:
    """Milliseconds from the start of a side to its first paint."""
    began = datetime.now(UTC).timestamp()
    done = subprocess.run(
        [sys.executable, str(_SIDES), side, str(folder)],
        capture_output=True,
        text=True,
        env=environment,
        cwd=ROOT,
        timeout=_RUN_S,
        check=False,
    )
    line = next((line for line in done.stdout.splitlines() if line.startswith(PAINTED)), None)
    if line is None:
        raise RuntimeError(f"{side} did not paint (exit code {done.returncode}): {done.stderr[-800:]}")
    return 1000.0 * (float(line.removeprefix(PAINTED)) - began)


def measure(pairs: int, folder: Path, environment: dict[str, str], patience_s: float) -> dict[str, Any]:
    """The report: milliseconds of both sides, the ratios of the pairs."""
    quiet = Quiet(patience_s=patience_s)
    found: dict[str, list[float]] = {side: [] for side in SIDES}
    for number in range(pairs + 1):
        for side in SIDES if number % 2 else reversed(SIDES):
            paint = quiet.measure(lambda side=side: first_paint(side, folder, environment))  # type: ignore[misc]
            if number:  # the first ones read files that were not read before
                found[side].append(paint)
    ratios = [mine / other for mine, other in zip(found["program"], found["empty"], strict=True)]
    return {
        "milliseconds": found,
        "ratios": ratios,
        "ratio": median(ratios),
        "met": median(ratios) <= MUST,
        "platform": environment["QT_QPA_PLATFORM"],
        "others": max(quiet.others),
    }


def profile(folder: Path, environment: dict[str, str]) -> str:
    """The slowest imports of the program's start, by their own time."""
    command = [sys.executable, "-X", "importtime", str(_SIDES), "program", str(folder)]
    subprocess.run(
        command[:1] + command[3:], capture_output=True, env=environment, cwd=ROOT, timeout=_RUN_S, check=True
    )
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, cwd=ROOT, timeout=_RUN_S, check=True
    )
    rows = []
    for line in done.stderr.partition(PAINTED)[0].splitlines():
        own, _, rest = line.removeprefix("import time:").partition("|")
        if own.strip().isdigit():
            whole, _, name = rest.partition("|")
            rows.append((int(own) / 1000.0, int(whole) / 1000.0, name.strip()))
    rows.sort(reverse=True)
    told = [f"{own:8.1f} ms, with what it imports {whole:8.1f} ms  {name}" for own, whole, name in rows[:_SLOWEST]]
    return "\n".join([*told, f"{sum(own for own, _, _ in rows):8.1f} ms in all, {len(rows)} modules"])


def table(report: dict[str, Any]) -> str:
    """The figures for people, and for results.md."""
    names = {"program": "Outrider", "empty": "an empty window with a plot"}
    lines = [
        "## From start to first paint",
        "",
        (
            "The program against an empty PySide6 window with a pyqtgraph plot, in turns, "
            f"{len(report['ratios'])} times each ({report['platform']}). The must is a ratio of at most {MUST}."
        ),
        "",
        "| | first paint, ms |",
        "|---|---|",
    ]
    lines += [f"| {names[side]} | {_shown(values, 0)} |" for side, values in report["milliseconds"].items()]
    verdict = "met" if report["met"] else "not met"
    lines += ["", f"Ratio {_shown(report['ratios'], 2)}: {verdict}."]
    return "\n".join(lines)


def _shown(values: list[float], digits: int) -> str:
    low, _, high = quantiles(values, n=4) if len(values) > 1 else (values[0],) * 3
    return f"{median(values):,.{digits}f} ({low:,.{digits}f}–{high:,.{digits}f})"


def main() -> int:
    """Measure and print; or be one of the sides."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--offscreen", action="store_true", help="without an X server")
    parser.add_argument("--patience", type=float, default=120.0, metavar="S", help="to wait for other programs, in all")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="outrider-bench-")))
        # Both sides find their modules compiled, as an installed program does, whatever is in the source's folders.
        compiled = {"PYTHONPYCACHEPREFIX": str(folder / "compiled")}
        environment = os.environ | {"QT_QPA_PLATFORM": "offscreen", **compiled}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        if xvfb.available() and not args.offscreen:
            display = stack.enter_context(xvfb.x_server())
            environment |= {"DISPLAY": display, "QT_QPA_PLATFORM": "xcb"}
        prepare(folder)
        if args.profile:
            print(profile(folder, environment))
            return 0
        report = measure(args.pairs, folder, environment, args.patience)
    print(json.dumps(report) if args.json else table(report))
    return 0 if report["met"] else 1


if __name__ == "__main__":
    sys.exit(main())
