"""Measure the opening and scrolling of a kept conversation of 5,000 messages in the real window.

    make bench ARGS="conversation [--messages N] [--opens N] [--colors on|off] [--json]"

Each reply has a record of its tokens. All of it is measured twice, in processes of their own: without and with colours
in the Markdown. Prints milliseconds: from the click to all of the first sight drawn (with what of it the click itself
took), and the gaps of a 10 ms timer while the reader scrolls in several ways. `most work`: how long of a gap the window
really worked. The memory is the process's own (USS), in MB: when it was opened, and after each way of scrolling.

The musts: no gap over 50 ms, and at the end no more than 1.2 times the memory with colours. Gives 1 if one is not met.
"""

import argparse
import asyncio
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from time import perf_counter
from typing import Any

os.environ["QT_API"] = "pyside6"
os.environ["PYQTGRAPH_QT_LIB"] = "PySide6"
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import psutil

from app.settings.settings import Settings, SettingsFile
from app.shell.bootstrap import run
from app.shell.program import Program
from app.state.chat.trace import TOP, TokenTrace
from app.state.conversations.conversation import ConversationSummary, StoredMessage
from app.store.store import Store
from app.system.single_instance import Claim
from engine import Origin, RoundEvent, TokenEvent
from helpers.paths import BENCH
from helpers.window.gap_probe import GapProbe

SMALL, LARGE = 1, 2
LONGEST_MS, MOST_MEMORY = 50.0, 1.2
_ROUND: tuple[Origin, ...] = ("accepted", "accepted", "accepted", "correction")
_TOKEN = re.compile(r"\s?\w{1,6}|\s+|[^\w\s]")
_PARTS = (
    "Some *words* and `code`, on and on, " * 4,
    "A longer part of the reply, which says **more** than the others and so goes over several lines. " * 6,
    "- one thing\n- another thing\n- the [last](https://example.org) thing",
    "```python\ndef squares(count):\n    return [number * number for number in range(count)]\n```",
    "| name | value |\n|---|---|\n| one | 1 |\n| two | 2 |",
    "## A heading\n\n> and a quote of somebody",
)


def fill(path: Path, messages: int) -> None:
    """Make a store with a small conversation and a large one, with a record of each reply."""
    draw = random.Random(7)
    store = Store.open(path)
    with store.changes():
        for conversation, count in ((SMALL, 4), (LARGE, messages)):
            store.add_conversation(ConversationSummary(conversation, f"Talk {conversation}", 1e9, 1e9))
            written = list(_messages(conversation * 1_000_000, count, draw))
            store.add_messages(conversation, written)
            for message in written:
                if message.role == "assistant":
                    store.save_trace(message.id, record(message.text).to_bytes())
    store.close()


def record(text: str) -> TokenTrace:
    """A record of this reply: rounds of four tokens with alternatives, and a guess that was not kept."""
    trace = TokenTrace()
    names = {number: f" word{number}" for number in range(TOP + 1)}
    tops = tuple((number, -0.4 * (number + 1)) for number in range(TOP))
    for index, token in enumerate(_TOKEN.findall(text)):
        number = index // 4 + 1
        trace.add(TokenEvent(index % 500, token, _ROUND[index % 4], number, index, -0.1, -0.2, tops), names)
        if index % 4 == 3:
            trace.add_round(RoundEvent(number, "draft-model", 4, 4, 3, 4.0, 30.0, None, ((TOP, -0.9),)), names)
    return trace


def _messages(first: int, count: int, draw: random.Random) -> Iterable[StoredMessage]:
    for number in range(first, first + count):
        parent = number - 1 if number > first else None
        if (number - first) % 2 == 0:
            text = f"Question {number}: why is that so? " * draw.randint(1, 6)
            yield StoredMessage(number, parent, "user", text, 1e9)
        else:
            text = "\n\n".join(draw.choices(_PARTS, k=draw.randint(1, 7)))
            yield StoredMessage(number, parent, "assistant", text, 1e9, finish_reason="stop")


def measure(messages: int, opens: int, *, colored: bool) -> dict[str, Any]:
    """Open and scroll in the real window."""
    found: dict[str, Any] = {"opened_ms": [], "clicked_ms": [], "gaps_ms": {}, "memory_mb": []}

    async def script(program: Program, _loop: asyncio.AbstractEventLoop) -> int:
        program.window.resize(1280, 800)
        await asyncio.sleep(4.0)
        for _ in range(opens):
            program.controller.open(SMALL)
            await asyncio.sleep(0.5)
            await _open(program, found)
            await asyncio.sleep(0.5)
        await asyncio.sleep(2.0)
        found["memory_mb"].append(_memory())
        await _scroll(program, found)
        return 0

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "conversations.sqlite3"
        fill(path, messages)
        file = SettingsFile(Path(folder) / "settings.json")
        file.save(Settings(tokens_colored=colored))
        run(["outrider"], file, claim=Claim(path, None), script=script)
    return found


def _memory() -> float:
    return round(psutil.Process().memory_full_info().uss / 1e6, 1)


async def _open(program: Program, found: dict[str, Any]) -> None:
    transcript = program.window.transcript
    began = perf_counter()
    program.controller.open(LARGE)
    found["clicked_ms"].append(round(1000.0 * (perf_counter() - began), 1))
    while not transcript.is_drawn:  # noqa: ASYNC110 - as a person looks at it
        await asyncio.sleep(0.001)
    transcript.viewport().repaint()
    found["opened_ms"].append(round(1000.0 * (perf_counter() - began), 1))


async def _scroll(program: Program, found: dict[str, Any]) -> None:
    bar = program.window.transcript.verticalScrollBar()
    most, page, draw = bar.maximum(), bar.pageStep(), random.Random(3)
    ways: dict[str, tuple[list[int], float]] = {
        "wheel up": ([most - 60 * step for step in range(400)], 0.016),
        "wheel down": ([most // 2 + 60 * step for step in range(400)], 0.016),
        "pages": ([most // 3 + page * step for step in range(100)], 0.05),
        "drag through all": ([most * step // 400 for step in range(401)], 0.016),
        "here and there": ([draw.randint(0, most) for _ in range(60)], 0.1),
    }
    for name, (values, pause) in ways.items():
        bar.setValue(values[0])
        await asyncio.sleep(1.0)
        probe = GapProbe()
        probe.start()
        for value in values:
            bar.setValue(value)
            await asyncio.sleep(pause)
        await asyncio.sleep(0.3)
        probe.stop()
        found["gaps_ms"][name] = probe.report()
        found["memory_mb"].append(_memory())


def table(report: dict[str, Any]) -> str:
    """The figures for people."""
    lines = [
        "## A long conversation in the window",
        "",
        f"{report['messages']:,} messages with records of their tokens, read from the store.",
        "Gaps of a 10 ms timer while it is scrolled, in milliseconds.",
    ]
    for name, found in report["colors"].items():
        gaps = found["gaps_ms"]
        columns = list(next(iter(gaps.values())))
        lines += [
            "",
            f"Colours {name}: opened and drawn after {_list(found['opened_ms'])} ms;",
            f"the click took {_list(found['clicked_ms'])} ms; memory {_list(found['memory_mb'])} MB.",
            "",
            f"| way | {' | '.join(name.replace('_', ' ') for name in columns)} |",
            "|---|" + "---|" * len(columns),
        ]
        lines += [f"| {way} | {' | '.join(f'{value:g}' for value in row.values())} |" for way, row in gaps.items()]
    if report["memory_ratio"] is not None:
        lines += ["", f"Memory with colours, at the end: {report['memory_ratio']:.2f} times that without."]
    verdict = "met" if report["met"] else "not met"
    lines += ["", f"No gap over {LONGEST_MS:g} ms, memory at most {MOST_MEMORY:g} times: {verdict}."]
    return "\n".join(lines)


def _list(values: list[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)


def report_of(colors: dict[str, dict[str, Any]], messages: int) -> dict[str, Any]:
    """Compose the report of all figures, with True if the requirements are met."""
    longest = max(row["longest"] for found in colors.values() for row in found["gaps_ms"].values())
    ends = [found["memory_mb"][-1] for found in colors.values()]
    ratio = ends[1] / ends[0] if len(ends) == 2 else None
    met = longest <= LONGEST_MS and (ratio is None or ratio <= MOST_MEMORY)
    return {"messages": messages, "colors": colors, "memory_ratio": ratio, "met": met}


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=5_000)
    parser.add_argument("--opens", type=int, default=5)
    parser.add_argument("--colors", choices=("off", "on"), help="only without, or only with")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if args.colors is not None:
        found = {args.colors: measure(args.messages, args.opens, colored=args.colors == "on")}
    else:
        found = {colors: _part(colors) for colors in ("off", "on")}
    report = report_of(found, args.messages)
    print(json.dumps(report) if args.json else table(report))
    return 0 if report["met"] else 1


def _part(colors: str) -> dict[str, Any]:
    command = [sys.executable, str(BENCH), "conversation", *sys.argv[1:], "--colors", colors, "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    return dict(json.loads(done.stdout.splitlines()[-1])["colors"][colors])


if __name__ == "__main__":
    sys.exit(main())
