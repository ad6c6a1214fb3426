"""Measure the idle program's processor use.

    make bench ARGS="idle [--seconds S] [--rest S] [--cases NAME,…] [--offscreen] [--json]"

The window with the bundled pair writes a reply of two hundred tokens, everything that comes after a reply is over
(`--rest`), and then the processor time of the whole process is counted while nothing happens: with the Speculation
panel shown (*panel*), with it hidden (*hidden*), and before anything was asked (*new*). Each case is a process of its
own. The window has the keyboard, so its cursor blinks as it does before a user. On Linux it is on an X server of its
own (Xvfb) where there is one.

The must: under 0.5 % of one core, over a minute. Gives 1 if it is not met.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from helpers import xvfb
from helpers.paths import BENCH, ROOT

MUST_PERCENT = 0.5
CASES = {"new": "nothing asked yet", "panel": "after a reply, panel shown", "hidden": "after a reply, panel hidden"}
_PROMPT = "Write a bedtime story about a lonely lighthouse."
_TOKENS = 200
_RUN_S = 240.0
_TRIES = 30
"""Attempts to get the keyboard focus without a window manager."""


def be_idle(case: str, folder: Path, seconds: float, rest: float) -> int:
    """Run the window idle, and print its processor use."""
    os.environ["QT_API"], os.environ["PYQTGRAPH_QT_LIB"] = "pyside6", "PySide6"
    from app.settings.settings import Settings, SettingsFile  # noqa: PLC0415 - as above
    from app.shell.bootstrap import run  # noqa: PLC0415 - Qt must be told first which binding

    async def script(program: Any, loop: Any) -> int:
        window = program.window
        while not program.models.settled or program.controller.activity.work != "idle":  # noqa: ASYNC110 - as a person looks at it
            await asyncio.sleep(0.1)
        if case != "new":
            await _have_a_reply(program)
        if case == "hidden":
            window.show_right(False)
        for _ in range(_TRIES):
            window.activateWindow()
            window.prompt.setFocus()
            await asyncio.sleep(0.1)
            if window.isActiveWindow():
                break
        await asyncio.sleep(rest)
        began, took = perf_counter(), process_time()
        done = loop.create_future()
        loop.call_later(seconds, done.set_result, None)
        await done
        took, lasted = process_time() - took, perf_counter() - began
        told = {"percent": 100.0 * took / lasted, "seconds": lasted, "active": window.isActiveWindow()}
        print(json.dumps(told), flush=True)
        return 0

    file = SettingsFile(folder / "settings.json")
    file.save(Settings(first_launch=False))
    return run(["outrider"], file, script=script)


async def _have_a_reply(program: Any) -> None:
    program.window.prompt_sent.emit(_PROMPT)
    while program.controller.busy:
        await asyncio.sleep(0.05)
        exchange = program.controller.transcript.entries[-1]
        if len(exchange.reply.split()) > _TOKENS:
            program.controller.cancel()


def measure(case: str, args: argparse.Namespace, environment: dict[str, str]) -> dict[str, Any]:
    """One case."""
    with tempfile.TemporaryDirectory(prefix="outrider-bench-") as folder:
        times = ["--seconds", str(args.seconds), "--rest", str(args.rest)]
        command = [sys.executable, str(BENCH), "idle", "--case", case, "--folder", folder, *times]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            env=environment,
            cwd=ROOT,
            timeout=_RUN_S + args.seconds + args.rest,
            check=False,
        )
    line = next((line for line in done.stdout.splitlines() if line.startswith('{"percent"')), None)
    if line is None:
        raise RuntimeError(f"{case} was not measured (exit code {done.returncode}): {done.stderr[-800:]}")
    return {"case": case, **json.loads(line)}


def table(report: dict[str, Any]) -> str:
    """The figures for people, and for results.md."""
    rows = report["cases"]
    lines = [
        "## What the idle program takes",
        "",
        (
            f"Processor time of the whole process while nothing happens, in per cent of one core, over "
            f"{rows[0]['seconds']:.0f} s ({report['platform']}). The must is less than {MUST_PERCENT} %."
        ),
        "",
        "| | % of a core | keyboard in the window |",
        "|---|---|---|",
    ]
    lines += [f"| {CASES[row['case']]} | {row['percent']:.2f} | {'yes' if row['active'] else 'no'} |" for row in rows]
    return "\n".join([*lines, "", "Met." if report["met"] else "Not met."])


def main() -> int:
    """Measure and print; or be the program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument(
        "--rest", type=float, default=5.0, metavar="S", help="between the reply and the measurement (5)"
    )
    parser.add_argument("--cases", default=",".join(CASES), metavar="NAME,…")
    parser.add_argument("--offscreen", action="store_true", help="without an X server")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--case", choices=CASES, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.case is not None:
        return be_idle(args.case, args.folder, args.seconds, args.rest)
    with ExitStack() as stack:
        environment = os.environ | {"QT_QPA_PLATFORM": "offscreen", "PYTHONUNBUFFERED": "1"}
        if xvfb.available() and not args.offscreen:
            environment |= xvfb.environment(stack.enter_context(xvfb.x_server()))
        rows = [measure(case, args, environment) for case in args.cases.split(",")]
    met = all(row["percent"] < MUST_PERCENT for row in rows)
    report = {"cases": rows, "met": met, "platform": environment["QT_QPA_PLATFORM"]}
    print(json.dumps(report) if args.json else table(report))
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
