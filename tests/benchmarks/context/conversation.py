"""How long a kept conversation of 5,000 messages takes to open in the real window, and how smoothly it scrolls.

    python tests/benchmarks/context/conversation.py [--messages N] [--opens N] [--json]

Prints milliseconds: from the click to all of the first sight drawn (with what of it the click itself took), and the
gaps of a 10 ms timer while the reader scrolls in several ways. `most work`: how long of a gap the window really worked.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from time import perf_counter
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "tests"))
os.environ["QT_API"] = "pyside6"
os.environ["PYQTGRAPH_QT_LIB"] = "PySide6"
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from app.settings.settings import SettingsFile  # noqa: E402 - Qt must be told first which binding
from app.shell.bootstrap import run  # noqa: E402 - Qt must be told first which binding
from app.shell.program import Program  # noqa: E402 - Qt must be told first which binding
from app.state.conversations.conversation import ConversationSummary, StoredMessage  # noqa: E402 - Qt must be told first
from app.store.store import Store  # noqa: E402 - Qt must be told first which binding
from app.system.single_instance import Claim  # noqa: E402 - Qt must be told first which binding
from helpers.window.gap_probe import GapProbe  # noqa: E402 - Qt must be told first which binding

SMALL, LARGE = 1, 2
_PARTS = (
    "Some *words* and `code`, on and on, " * 4,
    "A longer part of the reply, which says **more** than the others and so goes over several lines. " * 6,
    "- one thing\n- another thing\n- the [last](https://example.org) thing",
    "```python\ndef squares(count):\n    return [number * number for number in range(count)]\n```",
    "| name | value |\n|---|---|\n| one | 1 |\n| two | 2 |",
    "## A heading\n\n> and a quote of somebody",
)


def fill(path: Path, messages: int) -> None:
    """Make a store with a small conversation and a large one."""
    draw = random.Random(7)
    store = Store.open(path)
    with store.changes():
        for conversation, count in ((SMALL, 4), (LARGE, messages)):
            store.add_conversation(ConversationSummary(conversation, f"Talk {conversation}", 1e9, 1e9))
            store.add_messages(conversation, _messages(conversation * 1_000_000, count, draw))
    store.close()


def _messages(first: int, count: int, draw: random.Random) -> Iterable[StoredMessage]:
    for number in range(first, first + count):
        parent = number - 1 if number > first else None
        if (number - first) % 2 == 0:
            text = f"Question {number}: why is that so? " * draw.randint(1, 6)
            yield StoredMessage(number, parent, "user", text, 1e9)
        else:
            text = "\n\n".join(draw.choices(_PARTS, k=draw.randint(1, 7)))
            yield StoredMessage(number, parent, "assistant", text, 1e9, finish_reason="stop")


def measure(messages: int, opens: int) -> dict[str, Any]:
    """Open and scroll in the real window."""
    found: dict[str, Any] = {"messages": messages, "opened_ms": [], "clicked_ms": [], "gaps_ms": {}}

    async def script(program: Program, _loop: asyncio.AbstractEventLoop) -> int:
        program.window.resize(1280, 800)
        await asyncio.sleep(4.0)
        for _ in range(opens):
            program.controller.open(SMALL)
            await asyncio.sleep(0.5)
            await _open(program, found)
            await asyncio.sleep(0.5)
        await asyncio.sleep(2.0)
        await _scroll(program, found["gaps_ms"])
        return 0

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "conversations.sqlite3"
        fill(path, messages)
        run(["outrider"], SettingsFile(Path(folder) / "settings.json"), claim=Claim(path, None), script=script)
    return found


async def _open(program: Program, found: dict[str, Any]) -> None:
    transcript = program.window.transcript
    began = perf_counter()
    program.controller.open(LARGE)
    found["clicked_ms"].append(round(1000.0 * (perf_counter() - began), 1))
    while not transcript.is_drawn:  # noqa: ASYNC110 - as a person looks at it
        await asyncio.sleep(0.001)
    transcript.viewport().repaint()
    found["opened_ms"].append(round(1000.0 * (perf_counter() - began), 1))


async def _scroll(program: Program, gaps: dict[str, Any]) -> None:
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
        gaps[name] = probe.report()


def table(found: dict[str, Any]) -> str:
    """The figures for people."""
    gaps = found["gaps_ms"]
    columns = list(next(iter(gaps.values())))
    lines = [
        "## A long conversation in the window",
        "",
        f"{found['messages']:,} messages, read from the store.",
        f"Opened and drawn after {_list(found['opened_ms'])} ms; the click took {_list(found['clicked_ms'])} ms.",
        "Gaps of a 10 ms timer while it is scrolled, in milliseconds:",
        "",
        f"| way | {' | '.join(name.replace('_', ' ') for name in columns)} |",
        "|---|" + "---|" * len(columns),
    ]
    lines += [f"| {way} | {' | '.join(f'{value:g}' for value in row.values())} |" for way, row in gaps.items()]
    return "\n".join(lines)


def _list(values: list[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=5_000)
    parser.add_argument("--opens", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    found = measure(args.messages, args.opens)
    print(json.dumps(found, indent=2) if args.json else table(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
