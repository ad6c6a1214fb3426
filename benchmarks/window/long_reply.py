"""Measure the window's responsiveness while a reply of 20,000 tokens of Markdown streams into it.

    make bench ARGS="long_reply [--tokens N] [--per-second N] [--runs N] [--json]"

All of the program with its store and its panel; only the decoder is scripted, for a speed that no model has here. Text
of four characters a token, with headings, lists, tables, quotes and code in colours. Prints the gaps of a 10 ms timer
(milliseconds) and the memory after each quarter; each run is a process of its own. Gives 1 if a must is not met: no gap
over 50 ms, and 99 % of them under 25 ms.
"""

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

os.environ["QT_API"] = "pyside6"
os.environ["PYQTGRAPH_QT_LIB"] = "PySide6"
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import psutil

from app.settings.settings import SettingsFile
from app.shell import bootstrap
from app.shell.program import Program
from app.state.chat.transcript import Exchange
from app.system.single_instance import Claim
from helpers.decoding.scripted_decoder import PER_ROUND, Script, ScriptedDecoder
from helpers.paths import BENCH
from helpers.window.gap_probe import GapProbe

WORDS = ("quick", "model", "writes", "long", "answers", "about", "tables", "and", "code", "while", "someone", "reads")


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


LONGEST_MS, P99_MS = 50.0, 25.0


def measure(tokens: int, per_second: float) -> dict[str, Any]:
    """One reply in the real window."""
    script = Script(reply(4 * tokens), round_s=PER_ROUND / per_second)
    make: Any = lambda: ScriptedDecoder(script)  # noqa: E731 - of another type, on purpose
    bootstrap.build = partial(bootstrap.build, make_decoder=make)
    found: dict[str, Any] = {}

    async def drive(program: Program, _loop: asyncio.AbstractEventLoop) -> int:
        program.window.resize(1280, 800)
        await asyncio.sleep(4.0)
        probe, memory = GapProbe(), psutil.Process()
        sizes = [memory.memory_info().rss]
        began = perf_counter()
        probe.start()
        program.window.prompt_sent.emit("All of it")
        exchange = program.controller.transcript.entries[-1]
        assert isinstance(exchange, Exchange)
        while not exchange.ended:
            await asyncio.sleep(0.02)
            if len(exchange.reply) * 4 // len(str(script.reply)) >= len(sizes):
                sizes.append(memory.memory_info().rss)
        view = program.window.transcript.view_of(exchange)
        while view is not None and not view.reply.is_settled:  # noqa: ASYNC110 - as a person looks at it
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.3)
        probe.stop()
        found["gaps_ms"] = probe.report()
        found["tokens_per_second"] = round(tokens / (perf_counter() - began))
        found["megabytes"] = [round(size / 1e6) for size in sizes]
        return 0 if exchange.reply == script.reply else 1

    with tempfile.TemporaryDirectory() as folder:
        claim = Claim(Path(folder) / "conversations.db", None)
        found["code"] = bootstrap.run(["outrider"], SettingsFile(Path(folder) / "s.json"), claim=claim, script=drive)
    return found


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=20_000)
    parser.add_argument("--per-second", type=int, default=3_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--part", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.part:
        print(json.dumps(measure(args.tokens, args.per_second)))
        return 0
    command = [
        sys.executable,
        str(BENCH),
        "long_reply",
        "--part",
        "--tokens",
        str(args.tokens),
        "--per-second",
        str(args.per_second),
    ]
    runs = []
    for _ in range(args.runs):
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        runs.append(json.loads(done.stdout.splitlines()[-1]))
    print(json.dumps(runs, indent=2) if args.json else table(args.tokens, runs))
    met = all(run["gaps_ms"]["longest"] <= LONGEST_MS and run["gaps_ms"]["p99"] <= P99_MS for run in runs)
    return 0 if met and not any(run["code"] for run in runs) else 1


def table(tokens: int, runs: list[dict[str, Any]]) -> str:
    """The figures for people, and for results.md."""
    names = list(runs[0]["gaps_ms"])
    said = (
        f"{tokens:,} tokens of Markdown from a scripted decoder; window, panel and store as always. Gaps of a 10 ms "
        f"timer in milliseconds (musts: none over {LONGEST_MS:g}, 99 % under {P99_MS:g}); memory in MB at the start "
        "and after each quarter."
    )
    lines = [
        "## A long reply in the whole window",
        "",
        said,
        "",
        f"| run | {' | '.join(name.replace('_', ' ') for name in names)} | tokens/s | memory |",
        "|---|" + "---|" * (len(names) + 2),
    ]
    for number, run in enumerate(runs, 1):
        gaps = " | ".join(f"{run['gaps_ms'][name]:g}" for name in names)
        memory = ", ".join(map(str, run["megabytes"]))
        lines.append(f"| {number} | {gaps} | {run['tokens_per_second']:,} | {memory} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
