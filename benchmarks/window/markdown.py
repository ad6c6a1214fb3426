"""How responsive a window stays while a long Markdown reply streams into it, and how much memory that takes.

    make bench ARGS="markdown [--tokens N] [--per-second N] [--at-once] [--json]"

Text of four characters a token, with headings, lists, tables, quotes and code in colours. Prints the gaps of a 10 ms
timer (milliseconds), the processor time, and the memory after each quarter.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
from importlib.resources import files
from time import perf_counter, thread_time

os.environ["QT_API"] = "pyside6"
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import psutil
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QScrollArea, QWidget

from app.settings.settings import Settings
from app.views.markdown.reply import ReplyView
from app.views.widgets.paint_budget import PaintBudget
from app.views.widgets.theme import Theme
from helpers.window.gap_probe import GapProbe

WORDS = (
    "the",
    "quick",
    "model",
    "writes",
    "long",
    "answers",
    "about",
    "tables",
    "and",
    "code",
    "while",
    "someone",
    "reads",
)


def reply(characters: int) -> str:
    """Markdown of about this length."""
    draw = random.Random(1)

    def words(number: int) -> str:
        looks = (draw.choices(("%s", "**%s**", "`%s`"), (90, 5, 5))[0] for _ in range(number))
        return " ".join(look % draw.choice(WORDS) for look in looks)

    found, size = [], 0
    while size < characters:
        functions = (f"def f{n}(x: int) -> str:\n    # {words(5)}\n    return f'{{x}}' * {n}\n\n" for n in range(8))
        rows = "".join(f"| {words(2)} | {words(3)} | {n} |\n" for n in range(draw.randint(3, 12)))
        items = "".join(f"- {words(9)}\n" for _ in range(6))
        found.append(
            f"## {words(4)}\n\n{words(80)}\n\n{items}\n1. {words(12)}\n2. {words(9)}\n   - {words(6)}\n\n"
            f"```python\n{''.join(functions)}```\n\n| a | b | c |\n|---|:-:|--:|\n{rows}\n> {words(20)}\n\n"
        )
        size += len(found[-1])
    return "".join(found)[:characters]


def measure(text: str, per_second: float) -> dict[str, object]:
    """Let a reply stream. `per_second`: characters."""
    application = QApplication([])
    theme = Theme(
        application,
        (files("resources") / "styles" / "window.qss").read_text(encoding="utf-8"),
        "",
        Settings(theme="light"),
    )
    area, page = QScrollArea(), QWidget()
    area.resize(808, 800)
    area.setWidget(page)
    page.resize(790, 800)
    view = ReplyView(theme, PaintBudget(), page)
    view.resize(760, 0)

    def follow() -> None:
        page.resize(790, view.height())
        area.verticalScrollBar().setValue(area.verticalScrollBar().maximum())

    view.grew.connect(follow)
    area.show()
    QTest.qWait(200)
    memory = psutil.Process()
    probe = GapProbe()
    probe.start()
    began, worked = perf_counter(), thread_time()
    sizes = [memory.memory_info().rss]
    at = 0
    while at < len(text) and per_second:
        due = min(int((perf_counter() - began) * per_second), len(text))
        if due > at:
            view.grow(text[at:due])
        if due * 4 // len(text) > at * 4 // len(text):
            sizes.append(memory.memory_info().rss)
        at = max(due, at)
        QTest.qWait(2)
    view.finish(text)
    while not view.is_settled:
        QTest.qWait(2)
    QTest.qWait(30)
    probe.stop()
    return {
        "gaps_ms": probe.report(),
        "processor_s": round(thread_time() - worked, 2),
        "seconds": round(perf_counter() - began, 2),
        "megabytes": [round(size / 1e6, 1) for size in (*sizes, memory.memory_info().rss)],
    }


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=20_000)
    parser.add_argument("--per-second", type=int, default=2_000)
    parser.add_argument("--at-once", action="store_true")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    report = measure(reply(4 * args.tokens), 0 if args.at_once else 4 * args.per_second)
    print(
        json.dumps(report, indent=2) if args.json else "\n".join(f"{name}: {value}" for name, value in report.items())
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
