"""What a draft head gains on a target of a real model's size, against a draft model: both grown, both chosen by cost.

    make bench ARGS="heads [--temperatures 0,0.8] [--prompts 1] [--turns 2] [--tokens 64] [--vocabulary 128k] [--json]"

The demo target and its EAGLE-3 head grow to a billion weights together. Held-out prompts of each category are answered
in turns in one process: plain, with the head (auto, and a fixed lookahead), with the demo draft as it is (which costs a
hundredth of what a real one does), and with the demo draft grown to about 5 % of the target's weights, as the head has.
Auto may take the n-gram index too. A speedup is the median of ratios to the plain reply to the same prompt in
the same turn; the last table compares the head with each draft by the same measure.

With `--vocabulary 128k` the vocabulary of the target is padded to that of large models (131,072) with tokens that are
never drawn, and the head is compared with itself: with its own vocabulary of 2,048 tokens (`d2t`), and *spread*, with
an output row for each token of the target's. Both propose the same.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.grown.head_growth import grown_head, padded_target
from benchmarks.grown.workload import prompts_of, shown, spread
from benchmarks.machine import Quiet
from engine import GenerationResult, LoadConfig, SpeculativeDecoder, bundled_pair
from engine.errors import GrowthError
from engine.growth.arithmetic import FULL, GrownShape
from engine.growth.grown import grown_target
from engine.system.machine import describe_machine

DRAFT = GrownShape(8, 768, 2112)
PLAIN, HEAD = "plain", "head, auto"
WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    PLAIN: ("heads", {"lookahead": 0}),
    HEAD: ("heads", {"sources": ("ngram", "eagle3"), "lookahead": "auto"}),
    "head, 4": ("heads", {"method": "eagle3", "lookahead": 4}),
    "demo draft, auto": ("small", {"sources": ("ngram", "draft-model"), "lookahead": "auto"}),
    "grown draft, auto": ("large", {"sources": ("ngram", "draft-model"), "lookahead": "auto"}),
}
"""What each way drafts with, and its options."""
SPREAD = "spread"
PADDED: dict[str, tuple[str, dict[str, Any]]] = {
    **{way: WAYS[way] for way in (PLAIN, HEAD, "head, 4")},
    "spread head, auto": (SPREAD, WAYS[HEAD][1]),
    "spread head, 4": (SPREAD, WAYS["head, 4"][1]),
}
"""The same where the vocabulary is padded."""


@dataclass(frozen=True)
class Reply:
    """One measured reply: which ones it may be compared with (temperature, turn, prompt), and its tokens/s."""

    way: str
    temperature: float
    turn: int
    prompt: int
    category: str
    speed: float
    result: GenerationResult


def main() -> int:
    """Measure and print: 0. Where there is no workload: why, and 2."""
    args = _parse()
    try:
        target = (
            padded_target("q8_0", args.vocabulary, folder=args.to)
            if args.vocabulary
            else grown_target("q8_0", FULL, folder=args.to, say=_say)
        )
        drafts = {"heads": grown_head("q8_0", FULL, folder=args.to, vocabulary=args.vocabulary)}
        if args.vocabulary:
            drafts[SPREAD] = grown_head("q8_0", FULL, folder=args.to, vocabulary=args.vocabulary, spread=True)
        else:
            drafts["small"] = bundled_pair()[1]
            drafts["large"] = grown_target("q8_0", DRAFT, folder=args.to, target=bundled_pair()[1], say=_say)
    except GrowthError as error:
        print(error, file=sys.stderr)
        return 2
    quiet, ways = Quiet(args.patience), PADDED if args.vocabulary else WAYS
    replies = list(_replies(target, drafts, ways, quiet, args))
    figures = _figures(replies, list(ways), args.temperatures)
    report = {"machine": describe_machine(), "vocabulary": args.vocabulary, "figures": figures, "others": quiet.others}
    print(json.dumps(report) if args.json else _tables(report))
    return 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--temperatures", type=_numbers, default=[0.0, 0.8], metavar="X,…", help="(0,0.8)")
    parser.add_argument("--prompts", type=int, default=1, metavar="N", help="of each category (1)")
    parser.add_argument("--turns", type=int, default=2, metavar="N", help="how often each reply is measured (2)")
    parser.add_argument("--tokens", type=int, default=64, metavar="N", help="of each reply at most (64)")
    parser.add_argument("--patience", type=float, default=600.0, metavar="S", help="to wait for other programs (600)")
    parser.add_argument("--threads", type=int, default=2, metavar="N")
    parser.add_argument("--vocabulary", type=_size, default=0, metavar="N", help="pad it to so many tokens, as 128k")
    parser.add_argument("--to", type=Path, metavar="FOLDER", help="where grown models are kept (the user's cache)")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def _numbers(text: str) -> list[float]:
    return [float(item) for item in text.split(",")]


def _size(text: str) -> int:
    return int(text[:-1]) * 1024 if text.lower().endswith("k") else int(text)


def _replies(
    target: Path,
    drafts: dict[str, Path],
    measured: dict[str, tuple[str, dict[str, Any]]],
    quiet: Quiet,
    args: argparse.Namespace,
) -> Iterator[Reply]:
    with ExitStack() as stack:
        decoders = {}
        for name, path in drafts.items():
            decoder = decoders[name] = stack.enter_context(SpeculativeDecoder())
            decoder.attach_target(LoadConfig(target, threads=args.threads, trusted=True))
            if name in ("heads", SPREAD):
                decoder.attach_heads(path)
            else:
                decoder.attach_draft(LoadConfig(path, trusted=True))
        ways = list(measured)
        for turn in range(-1, args.turns):  # The first one is not counted: costs and acceptance are learned in it.
            for temperature in args.temperatures:
                for number, (category, prompt) in enumerate(prompts_of(args.prompts)):
                    first = (turn + number) % len(ways)
                    for way in ways[first:] + ways[:first]:
                        drafter, options = measured[way]
                        given = options | {"temperature": temperature, "max_tokens": args.tokens, "seed": 7 + turn}
                        speed, result = quiet.measure(partial(_reply, decoders[drafter], prompt, given))
                        if turn >= 0:
                            yield Reply(way, temperature, turn, number, category, speed, result)
            _say(f"turn {turn + 1} of {args.turns} done")


def _reply(decoder: SpeculativeDecoder, prompt: Any, options: dict[str, Any]) -> tuple[float, GenerationResult]:
    """Tokens/s, the prompt being in the caches already, and the result."""
    decoder.generate(prompt, **options | {"max_tokens": 2})
    began = perf_counter()
    result = decoder.generate(prompt, **options)
    return result.stats.emitted / (perf_counter() - began), result


def _figures(replies: list[Reply], ways: list[str], temperatures: list[float]) -> dict[str, Any]:
    by_key = {(reply.way, reply.temperature, reply.turn, reply.prompt): reply for reply in replies}

    def ratios(way: str, other: str, temperature: float, category: str | None = None) -> dict[str, float] | None:
        mine = [reply for reply in replies if (reply.way, reply.temperature) == (way, temperature)]
        counted = [reply for reply in mine if category in (None, reply.category)]
        return spread([each.speed / by_key[other, temperature, each.turn, each.prompt].speed for each in counted])

    figures: dict[str, Any] = {}
    for temperature in temperatures:
        table = {}
        for way in ways:
            mine = [reply for reply in replies if (reply.way, reply.temperature) == (way, temperature)]
            proposed = sum(reply.result.stats.proposed for reply in mine)
            table[way] = {
                "tokens_per_second": spread([reply.speed for reply in mine]),
                "speedup": ratios(way, PLAIN, temperature),
                "head_against_it": ratios(HEAD, way, temperature),
                "acceptance_rate": sum(reply.result.stats.accepted for reply in mine) / proposed if proposed else None,
                "mean_length": sum(each.result.stats.emitted for each in mine)
                / sum(each.result.stats.rounds for each in mine),
                "by_category": {
                    name: ratios(way, PLAIN, temperature, name)
                    for name in dict.fromkeys(reply.category for reply in mine)
                },
            }
        same = [
            reply.result.tokens == by_key[PLAIN, temperature, reply.turn, reply.prompt].result.tokens
            for reply in replies
            if reply.temperature == temperature
        ]
        figures[str(temperature)] = {"replies": len(same), "same_text": sum(same), "ways": table}
    return figures


def _tables(report: dict[str, Any]) -> str:
    padded = f", vocabulary padded to {report['vocabulary']:,}" if report["vocabulary"] else ""
    lines = [f"## Heads on the grown demo target ({FULL}), Q8_0{padded}", "", "Medians (middle half)."]
    for temperature, found in report["figures"].items():
        lines += [
            "",
            f"Temperature {temperature}: {found['same_text']} of {found['replies']} texts are the plain one's.",
        ]
        lines += ["", "| way | tokens/s | speedup | acceptance rate | mean length | head, auto against it |"]
        lines.append("|---|---|---|---|---|---|")
        for way, row in found["ways"].items():
            rate = "–" if row["acceptance_rate"] is None else f"{row['acceptance_rate']:.2f}"
            lines.append(
                f"| {way} | {shown(row['tokens_per_second'], 1)} | {shown(row['speedup'])} | {rate} "
                f"| {row['mean_length']:.2f} | {shown(row['head_against_it'])} |"
            )
        drafted = [way for way in found["ways"] if way != PLAIN]
        lines += ["", "| category | " + " | ".join(drafted) + " |", "|---|" + "---|" * len(drafted)]
        for category in found["ways"][PLAIN]["by_category"]:
            cells = (found["ways"][way]["by_category"][category]["median"] for way in drafted)
            lines.append(f"| {category} | " + " | ".join(f"{cell:.2f}" for cell in cells) + " |")
    return "\n".join(lines)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
