"""Measure published models with long prompts: what a token costs there, and what speculation brings.

    make bench ARGS="long [--lengths 200,2000,10000,30000] [--parts costs,reading,replies]
                          [--tasks quote,summarise,code] [--tokens N] [--turns N]
                          [--cache f16|q8_0] [--server PROGRAM] [--json]"

The models are the Qwen pair in the folder that REAL_MODELS names (~/.cache/real-models); prompts are this project's own
pages and code, cut to a length, with a question behind them; replies are greedy.

- costs: milliseconds of a forward of 1 to 9 tokens behind so many, and of a draft token.
- reading: seconds from nothing to the first token, without a draft and with one, in turns; with `--server` also what
  llama.cpp's server takes to read.
- replies: tokens/s of auto over those of plain, by task, in turns, behind a prompt that both have read.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from benchmarks.machine import say
from benchmarks.peers.server_program import Server, ServerFailed, Settings
from benchmarks.real.real_models import find_pairs, fresh_caches, models_folder
from engine import GenerationResult, LoadConfig, SpeculativeDecoder
from engine.backends.threads import Meter
from engine.bench.runs import balanced_order
from engine.cancel import CancelToken
from engine.errors import EngineError
from engine.system.machine import describe_machine
from helpers.paths import ROOT

NOT_MEASURED = 2
PARTS = ("costs", "reading", "replies")
SIZES = (1, 2, 3, 4, 5, 7, 9)
_PAGES = ("ARCHITECTURE.md", "CONTRIBUTING.md", "docs/README.md", "docs/performance.md")
_CODE = "engine/drafting"
TASKS = {
    "quote": ("pages", "Write the first ten lines of this text again, word for word, then explain them."),
    "summarise": ("pages", "Summarise this text in five sentences."),
    "code": ("code", "Write the first class of this code again, with a docstring for each of its methods."),
}
"""By name: the prompt's content, and the question."""


@dataclass(frozen=True)
class Bench:
    """Hold the decoder and the options."""

    decoder: SpeculativeDecoder
    args: argparse.Namespace

    def prompt(self, length: int, task: str) -> list[int]:
        """Return a conversation's tokens, about so many: a text, cut, and the question of a task."""
        target = self.decoder.target
        assert target is not None
        kind, question = TASKS[task]
        text = "\n\n".join(path.read_text(encoding="utf-8") for path in _files(kind))
        tokens = target.tokenizer.encode(text, add_special=False, parse_special=False)
        text = self.decoder.decode(list(islice(cycle(tokens), max(length - 60, 40))))
        return self.decoder.prompt_tokens([{"role": "user", "content": f"{text}\n\n{question}"}])

    def forget(self) -> None:
        """Empty the caches."""
        for backend in (self.decoder.target, self.decoder.draft):
            if backend is not None:
                backend.truncate(0)

    def reply(self, prompt: list[int], lookahead: Any, tokens: int) -> GenerationResult:
        """Return a greedy reply."""
        return self.decoder.generate(prompt, max_tokens=tokens, temperature=0.0, lookahead=lookahead)


def _files(kind: str) -> Sequence[Path]:
    return [ROOT / name for name in _PAGES] if kind == "pages" else sorted((ROOT / _CODE).glob("*.py"))


def measure_costs(bench: Bench, prompt: list[int]) -> dict[str, float]:
    """Return milliseconds by number of tokens, and of a draft token."""
    bench.reply(prompt, 0, 1)
    bench.reply(prompt, 4, 8)
    found: dict[str, float] = {}
    for name, backend, sizes in (("", bench.decoder.target, SIZES), ("draft ", bench.decoder.draft, SIZES[:1])):
        if backend is None:
            continue
        with Meter(backend, CancelToken(), perf_counter) as meter:
            times: dict[int, list[float]] = {size: [] for size in sizes}
            for turn in range(5):
                for size in sizes:
                    times[size].append(meter.forward(size, int(turn == 0)))
        found |= {f"{name}{size}": min(values) for size, values in times.items()}
    return found


def measure_reading(bench: Bench, prompt: list[int], server: Server | None) -> dict[str, list[float]]:
    """Return seconds to the first token, by way."""
    ways = ["plain", "auto", *(["server"] if server else [])]
    found: dict[str, list[float]] = {way: [] for way in ways}
    for turn in range(bench.args.turns):
        for place in balanced_order(len(ways), turn):
            way = ways[place]
            if way == "server":
                assert server is not None
                found[way].append(server.complete(prompt, 1, {"temperature": 0.0}, cached=False).read_ms / 1000.0)
                continue
            bench.forget()
            began = perf_counter()
            lookahead: Any = 0 if way == "plain" else "auto"
            events = bench.decoder.stream(prompt, max_tokens=2, temperature=0.0, lookahead=lookahead)
            with closing(events):
                next(event for event in events if getattr(event, "text", ""))
                found[way].append(perf_counter() - began)
            say(f"{way}: first token after {found[way][-1]:.1f} s")
    return found


def measure_replies(bench: Bench, length: int) -> dict[str, dict[str, Any]]:
    """Return tokens/s of plain and auto by task, of each turn, and what auto's rounds accepted."""
    found: dict[str, dict[str, Any]] = {}
    for task in bench.args.tasks:
        prompt = bench.prompt(length, task)
        bench.reply(prompt, 0, 1)
        written = {bench.reply(prompt, "auto", bench.args.tokens).tokens}
        row: dict[str, Any] = {"plain": [], "auto": []}
        for turn in range(bench.args.turns):
            for place in balanced_order(2, turn):
                reply = bench.reply(prompt, (0, "auto")[place], bench.args.tokens)
                stats = reply.stats
                written.add(reply.tokens)
                row[("plain", "auto")[place]].append(stats.tokens_per_second)
                if place:
                    row |= {"proposed": stats.proposed, "accepted": stats.accepted, "rounds": stats.rounds}
        row["ratios"] = [auto / plain for plain, auto in zip(row["plain"], row["auto"], strict=True)]
        row["same"] = len(written) == 1
        found[task] = row
        said = ", ".join(f"{ratio:.2f}" for ratio in row["ratios"])
        say(f"{length}, {task}: auto ÷ plain {said}; {'the same text' if row['same'] else 'TEXTS DIFFER'}")
    return found


@contextmanager
def _opened(args: argparse.Namespace, context: int) -> Iterator[tuple[SpeculativeDecoder, Server | None] | None]:
    """Open the pair, and the server if one is asked for; None if the pair is not there."""
    pair = next((pair for pair in find_pairs(models_folder()) if pair.name == "qwen"), None)
    if pair is None:
        yield None
        return
    with ExitStack() as stack:
        stack.enter_context(fresh_caches())
        decoder = stack.enter_context(SpeculativeDecoder())
        decoder.attach_target(LoadConfig(pair.target, context, trusted=True, cache_type=args.cache))
        if pair.draft is not None:
            decoder.attach_draft(LoadConfig(pair.draft, context, trusted=True, cache_type=args.cache))
        server = None
        if args.server:
            server = stack.enter_context(Server(args.server, Settings(pair.target, None, 0, args.threads, context, ())))
        yield decoder, server


def main() -> int:
    """Measure and print: 0; without models: the reason, and 2."""
    args = _parse()
    report: dict[str, Any] = {"machine": describe_machine(), "cache": args.cache, "lengths": {}}
    try:
        with _opened(args, max(args.lengths) + 1024) as opened:
            if opened is None:
                print(f"There is no Qwen pair in {models_folder()}.", file=sys.stderr)
                return NOT_MEASURED
            bench = Bench(opened[0], args)
            for length in args.lengths:
                prompt = bench.prompt(length, "summarise")
                found: dict[str, Any] = {"tokens": len(prompt)}
                if "reading" in args.parts:
                    found["reading"] = measure_reading(bench, prompt, opened[1])
                if "costs" in args.parts:
                    found["costs"] = measure_costs(bench, prompt)
                if "replies" in args.parts:
                    found["replies"] = measure_replies(bench, length)
                report["lengths"][length] = found
                say(json.dumps(found))
    except (EngineError, ServerFailed) as error:
        print(error, file=sys.stderr)
        return NOT_MEASURED
    print(json.dumps(report) if args.json else "\n".join(_tables(report)))
    return 0


def _tables(report: dict[str, Any]) -> list[str]:
    lines = ["## Long prompts", "", f"Qwen2.5-Coder 1.5B with 0.5B, caches in {report['cache']}; medians of the turns."]
    for found in report["lengths"].values():
        lines += ["", f"{found['tokens']:,} tokens:"]
        for way, seconds in found.get("reading", {}).items():
            lines.append(f"- first token, {way}: {median(seconds):.2f} s")
        if costs := found.get("costs"):
            lines.append(
                "- milliseconds by tokens of a forward: " + ", ".join(f"{n}: {ms:.1f}" for n, ms in costs.items())
            )
        for task, row in found.get("replies", {}).items():
            lines.append(
                f"- {task}: plain {median(row['plain']):.1f}, auto {median(row['auto']):.1f} tokens/s, "
                f"auto ÷ plain {median(row['ratios']):.2f} ({min(row['ratios']):.2f} to {max(row['ratios']):.2f}); "
                f"{row['accepted']} of {row['proposed']} accepted in {row['rounds']} rounds; "
                f"{'the same text' if row['same'] else 'TEXTS DIFFER'}"
            )
    return lines


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)

    def listed(kind: Any) -> Any:
        return lambda text: [kind(part) for part in text.split(",")]

    parser.add_argument("--lengths", type=listed(int), default=[200, 2000, 10_000, 30_000], metavar="N,…")
    parser.add_argument("--parts", type=listed(str), default=list(PARTS), metavar="PART,…", help=", ".join(PARTS))
    parser.add_argument("--tasks", type=listed(str), default=list(TASKS), metavar="TASK,…", help=", ".join(TASKS))
    parser.add_argument("--tokens", type=int, default=64, metavar="N", help="of each reply (64)")
    parser.add_argument("--turns", type=int, default=3, metavar="N", help="of each way (3)")
    parser.add_argument("--threads", type=int, default=2, metavar="N", help="of the server (2)")
    parser.add_argument("--cache", default="f16", metavar="TYPE", help="of keys and values (f16)")
    parser.add_argument("--server", type=Path, metavar="PROGRAM", help="llama.cpp's server, compared by reading")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if not set(args.parts) <= set(PARTS) or not set(args.tasks) <= set(TASKS):
        parser.error(f"parts are {', '.join(PARTS)}; tasks are {', '.join(TASKS)}")
    return args


if __name__ == "__main__":
    sys.exit(main())
