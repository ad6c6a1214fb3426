"""Measure a document in a question as the window gives it: speculation's gain, and the cost of finding passages.

    make bench ARGS="documents [--length N] [--tokens N] [--turns N] [--tasks quote,summarise] [--pair qwen] [--json]"

The window itself (off the screen) loads the pair, attaches a PDF file of about so many tokens to a question in a new
chat, and sends it, plain and with lookahead auto in turns. Each turn the file has another name, so whichever way is
first reads all of it. Prints tokens/s of auto over those of plain and the seconds to the first token by task; and how
long it takes to find the parts of a book of 300 pages that fit a question. Gives 1 where a must is not met: quoting
2.0, summarising 1.15, the first token no later with auto, parts found in 0.3 s; 2 where the models are not there.
"""

import argparse
import asyncio
import json
import os
import random
import sys
import tempfile
from collections.abc import Callable
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

os.environ["QT_API"] = "pyside6"
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import Paragraph, SimpleDocTemplate

from app.settings.settings import Settings, SettingsFile
from app.shell.bootstrap import run
from app.shell.program import Program
from app.state.chat.documents import attached
from app.state.chat.stored_documents import ChatDocument, StoredDocument
from app.state.chat.transcript import Exchange
from app.state.models.selection import Lookahead
from app.state.settings.generation import CHOSEN
from benchmarks.machine import say
from benchmarks.real.real_models import RealPair, find_pairs, models_folder
from engine import Document, Section
from engine.bench.runs import balanced_order
from engine.system.machine import describe_machine
from helpers.paths import ROOT

NOT_MEASURED = 2
TASKS = {
    "quote": ("Write the first ten lines of this text again, word for word, then explain them.", 2.0),
    "summarise": ("Summarise this text in five sentences.", 1.15),
}
"""By name: the question, and the required ratio of auto over plain."""
FIRST_TOKEN, FINDING_S = 1.02, 0.3
_LETTERS_A_TOKEN = 4.2
_PAGES, _PAGE_LETTERS, _QUESTIONS = 300, 2_400, 20
_WAYS: tuple[Lookahead, ...] = (0, "auto")


def text_of_pages(letters: int, turn: int = 0) -> str:
    """Return the pages of this project from that of a turn on, as letters that every font has.

    Each turn has its own page: what one text gains says little, and pages change.
    """
    pages = [ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
    first = turn % len(pages)
    found = "\n\n".join(page.read_text(encoding="utf-8") for page in pages[first:] + pages[:first])
    return "".join(islice(cycle(found), letters)).encode("latin-1", "replace").decode("latin-1")


def write_pdf(path: Path, text: str) -> None:
    """Write a text as a PDF file, line by line."""
    style = getSampleStyleSheet()["Normal"]
    lines = [line.replace("&", "&amp;").replace("<", "&lt;") for line in text.splitlines() if line.strip()]
    SimpleDocTemplate(str(path)).build([Paragraph(line, style) for line in lines])


async def until(condition: Callable[[], object]) -> None:
    """Wait until something is so."""
    while not condition():  # noqa: ASYNC110 - as a person looks at it
        await asyncio.sleep(0.005)


async def ask(program: Program, path: Path, question: str, lookahead: Lookahead) -> tuple[Exchange, float]:
    """Ask about a file in a new chat; return the exchange, and the seconds to the first token."""
    program.controller.new_chat()
    program.models.choose_lookahead(lookahead)
    program.attachments.add([path])
    await until(lambda: not program.attachments.pending)
    program.window.prompt.set_text(question)
    await until(lambda: program.context.settled and program.controller.activity.work == "idle")
    first: list[float] = []
    grown = program.controller.reply_grew.connect(lambda *_: first.append(perf_counter()))
    began = perf_counter()
    program.window.prompt.button.click()
    await until(program.controller.transcript.entries.__len__)
    exchange = program.controller.transcript.entries[-1]
    assert isinstance(exchange, Exchange)
    await until(lambda: exchange.ended and not program.controller.busy)
    program.controller.reply_grew.disconnect(grown)
    return exchange, first[0] - began


async def measure(program: Program, folder: Path, args: argparse.Namespace) -> dict[str, Any]:
    """Return, by task, tokens/s and seconds to the first token of plain and auto, and the texts."""
    await until(lambda: program.models.settled and program.models.is_loaded)
    await until(lambda: program.controller.activity.work == "idle")
    number = 0
    found: dict[str, Any] = {}
    for task in args.tasks:
        row: dict[str, Any] = {"speed": ([], []), "first": ([], []), "same": True, "accepted": ([], [])}
        for turn in range(-1, args.turns):  # The first one warms up.
            number += 1
            path = folder / f"{number:03} pages.pdf"
            write_pdf(path, text_of_pages(int(args.length * _LETTERS_A_TOKEN), max(turn, 0)))
            texts = set()
            for order, place in enumerate(balanced_order(len(_WAYS), max(turn, 0))):
                exchange, first = await ask(program, path, TASKS[task][0], _WAYS[place])
                stats = exchange.stats
                if stats is None or stats.tokens_per_second is None:
                    raise RuntimeError(str(exchange.problem))
                say(
                    f"{task}, {_WAYS[place]}: {stats.tokens_per_second:.1f} tokens/s, {stats.accepted} of "
                    f"{stats.proposed} accepted, first {first:.2f} s"
                )
                texts.add(exchange.reply)
                if turn >= 0:
                    row["speed"][place].append(stats.tokens_per_second)
                    row["accepted"][place].append((stats.accepted, stats.proposed))
                    if not order:  # The second one finds the document in the target's cache.
                        row["first"][place].append(first)
            row["same"] &= len(texts) == 1
        found[task] = row
    return found | {"finding": await measure_finding(program)}


async def measure_finding(program: Program) -> list[float]:
    """Return the seconds of putting together questions about a book, each with the parts that fit it."""
    text = text_of_pages(_PAGES * _PAGE_LETTERS)
    pages = [text[at : at + _PAGE_LETTERS] for at in range(0, len(text), _PAGE_LETTERS)]
    sections = tuple(Section(f"{page}\n\nPage {n}.", "page", str(n)) for n, page in enumerate(pages, 1))
    document = Document("book.pdf", "PDF", sections, _PAGES)
    book = attached(ChatDocument.of(document, StoredDocument.of(document, b"")))
    draw, took = random.Random(1), []
    program.controller.new_chat()
    for _ in range(_QUESTIONS):
        page = draw.choice(pages).split()
        at = draw.randrange(len(page) - 12)
        began = perf_counter()
        program.documents.question(f"What is said about {' '.join(page[at : at + 12])}?", [book])
        took.append(perf_counter() - began)
        await asyncio.sleep(0)
    return took


def measured(pair: RealPair, args: argparse.Namespace) -> dict[str, Any]:
    """Measure in the window, with settings of its own."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        settings = Settings(
            target=str(pair.target),
            sources=[] if pair.draft is None else [str(pair.draft)],
            drafting="model" if pair.draft else "none",
            sampling={"temperature": 0.0, "max_tokens": args.tokens, CHOSEN: True},
            first_launch=False,
            keep_caches=False,
            own_texts=False,
        )
        file = SettingsFile(folder / "settings.json")
        file.save(settings)

        async def script(program: Program, _loop: asyncio.AbstractEventLoop) -> int:
            found.update(await measure(program, folder, args))
            return 0

        run(["outrider"], file, script=script)
    return found


def conclude(found: dict[str, Any]) -> list[tuple[str, float, float, bool]]:
    """Return the requirements: name, figure, bound, and True if it is met."""
    rows = []
    for task, row in found.items():
        if task == "finding":
            most = max(row)
            rows.append(("seconds to find the parts of a book of 300 pages", most, FINDING_S, most <= FINDING_S))
            continue
        plain, auto = (median(each) for each in row["speed"])
        rows.append((f"{task}, auto ÷ plain", auto / plain, TASKS[task][1], auto / plain >= TASKS[task][1]))
        plain, auto = (median(each) for each in row["first"])
        rows.append((f"{task}, first token, auto ÷ plain", auto / plain, FIRST_TOKEN, auto / plain <= FIRST_TOKEN))
    return rows


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--length", type=int, default=2_000, metavar="N", help="tokens of the document, about")
    parser.add_argument("--tokens", type=int, default=96, metavar="N", help="of each reply")
    parser.add_argument("--turns", type=int, default=4, metavar="N")
    parser.add_argument("--tasks", type=lambda text: text.split(","), default=list(TASKS), metavar="TASK,…")
    parser.add_argument("--pair", default="qwen", metavar="NAME")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if not set(args.tasks) <= set(TASKS):
        parser.error(f"tasks are {', '.join(TASKS)}")
    pair = next((pair for pair in find_pairs(models_folder()) if pair.name == args.pair), None)
    if pair is None:
        print(f"There is no pair {args.pair} in {models_folder()}.", file=sys.stderr)
        return NOT_MEASURED
    found = measured(pair, args)
    rows = conclude(found)
    if args.json:
        print(json.dumps({"machine": describe_machine(), "pair": pair.title, "found": found}))
    else:
        print(f"## A document in the window\n\n{pair.title}, about {args.length:,} tokens.\n")
        print("| | measured | must | |\n|---|---|---|---|")
        for what, figure, bound, met in rows:
            print(f"| {what} | {figure:.2f} | {bound:g} | {'met' if met else 'NOT MET'} |")
        print(
            f"\nTexts {'equal' if all(row['same'] for task, row in found.items() if task != 'finding') else 'DIFFER'}."
        )
    return 0 if all(met for *_, met in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
