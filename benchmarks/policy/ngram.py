"""What an n-gram index is worth: plain decoding, the index alone, and the index before a draft model, in turns.

    make bench ARGS="ngram [--target FILE] [--draft FILE] [--grown q8_0] [--repeats 3] [--json]"

Two kinds of prompts: a text to be repeated with one change, and free prose. Greedy, so that all methods write the same
text and only the time differs; each repeat runs every prompt with every method, one after the other, so that a machine
that is busy for a while slows all. Without --target the demo target; --grown takes the demo target grown to a billion
weights (see grow.py). On a busy machine processor time tells more than time, but only with one thread: threads that
wait for each other count too. The must: on repeats acceptance above 0.6 and a speedup above 1.5, on prose a speedup of
0.95 at least.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

from engine.decoder import SpeculativeDecoder
from engine.events import Finished, PromptProgress
from engine.growth.grown import grown_target
from engine.library.names import bundled_pair
from engine.stats import GenerationStats
from helpers.models.pairs import HELD_OUT, open_files

METHODS: dict[str, dict[str, Any]] = {
    "plain": {"method": "autoregressive"},
    "ngram": {"method": "ngram"},
    "ngram+draft-model": {"sources": ("ngram", "draft-model")},
    "draft-model": {"method": "draft-model"},
}
REPEAT = (
    (
        "Rewrite this text with an exclamation mark at the end: The singing kangaroo threw David near the library. "
        "Where did the sailor easy the carrot? Ask Tyrk at kyAmau about the noon."
    ),
    (
        "The meeting is all day long in room 35. skyfftru deackknoo skoimp. Victor wrote the shy coat yesterday.\n\n"
        "Rewrite this with an exclamation mark at the end."
    ),
    (
        "Rosa's rabbit fell into the tower. Clara sold the famous donkey after the storm. How did the wizard example "
        "the rice.\n\nRewrite this with a question mark at the end."
    ),
    (
        "Rewrite this text with a question mark at the end: Should car loud noun warm guide? Blow review sudden. I saw "
        "a dolphin with golden citys."
    ),
    (
        "Rewrite this text in quotation marks: My pumpkin is orange, but your pumpkin is silver. We cleaned the quite "
        "and took the mole. Include speak hurt reply."
    ),
    (
        "My broom is pink, but your broom is polite. News source crowd least choose subject made leg planet "
        "why. It takes 44 travels and 44 kaitclauxs. We lost the mother and ordered the spoon.\n\n"
        "Rewrite this in quotation marks."
    ),
    (
        "Usual low put spot form. The weather in Lisbon was famous at 32 o'clock. The meeting is today in room 24. "
        "DRI-6640 is the number of the cut.\n\nRewrite this without the first sentence."
    ),
    (
        "Rewrite this text without the first sentence: Lucky whose place possible. The scientist counted 4 pumpkins "
        "yesterday. Rest business keep least sound science pay position."
    ),
)
"""One change each, such as the demo target makes: a word in the middle replaced is more than it can."""
PROSE_CATEGORIES = ("short stories", "everyday questions")


@dataclass
class Run:
    """One method over the prompts of a kind, once: what was counted, and the seconds after reading the prompts."""

    stats: GenerationStats = field(default_factory=GenerationStats)
    tokens: list[tuple[int, ...]] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def speed(self) -> float:
        """Tokens per second."""
        return self.stats.emitted / self.seconds


def prose_prompts(count: int) -> list[str]:
    """Held-out prompts that ask for text of the model's own, evenly from the categories."""
    entries = json.loads(HELD_OUT.read_text(encoding="utf-8"))
    of_each = [[each["prompt"] for each in entries if each["category"] == name] for name in PROSE_CATEGORIES]
    return [prompts[index] for index in range(count) for prompts in of_each][:count]


def measure(
    decoder: SpeculativeDecoder,
    prompts: Sequence[str],
    methods: Sequence[str],
    most: int,
    clock: Callable[[], float] = perf_counter,
) -> dict[str, Run]:
    """Every prompt with every method, one after the other."""
    runs = {name: Run() for name in methods}
    for prompt in prompts:
        for name, run in runs.items():
            began = clock()
            for event in decoder.stream(prompt, max_tokens=most, **METHODS[name]):
                if isinstance(event, PromptProgress):
                    began = clock()
                elif isinstance(event, Finished):
                    run.seconds += clock() - began
                    run.stats += event.result.stats
                    run.tokens.append(event.result.tokens)
    return runs


def report(repeats: Sequence[dict[str, Run]]) -> dict[str, dict[str, Any]]:
    """For each method acceptance, mean length, the speedup of each repeat, and prompts with another text than plain's.

    A text may differ where two logits lie closer than the rounding of a batch. The speedup is that of tokens/s.
    """
    rows = {}
    for name in repeats[0]:
        total = sum((runs[name].stats for runs in repeats), GenerationStats())
        speeds = [runs[name].speed for runs in repeats]
        speedups = [runs[name].speed / runs["plain"].speed for runs in repeats]
        first = repeats[0]
        rows[name] = {
            "tokens": total.emitted // len(repeats),
            "tokens_per_second": median(speeds),
            "speedup": median(speedups),
            "speedups": speedups,
            "acceptance_rate": total.acceptance_rate,
            "mean_length": total.mean_length,
            "by_source": {
                each.name: {"rounds": each.rounds // len(repeats), "acceptance_rate": each.acceptance_rate}
                for each in total.by_method
            },
            "other_texts": sum(a != b for a, b in zip(first[name].tokens, first["plain"].tokens, strict=True)),
            "verify_costs": _verify_costs([runs[name].stats for runs in repeats], first["plain"].stats),
        }
    return rows


def _verify_costs(stats: Sequence[GenerationStats], plain: GenerationStats) -> dict[int, float]:
    """Measured milliseconds of a forward of n tokens over those of one token in plain decoding."""
    total = sum(stats, GenerationStats())
    one = plain.target_ms_by_size[0] / plain.forwards_by_size[0]
    return {
        size: milliseconds / count / one
        for size, (count, milliseconds) in enumerate(
            zip(total.forwards_by_size, total.target_ms_by_size, strict=True), 1
        )
        if count
    }


def main() -> int:
    """Measure and print; 0 if the musts are met, 1 if not."""
    args = _parse()
    demo_target, demo_draft = bundled_pair()
    target = grown_target(args.grown, say=_say) if args.grown else args.target or demo_target
    methods = [name for name in METHODS if name != "draft-model" or args.draft_alone]
    kinds = {"repeat": REPEAT[: args.prompts], "prose": prose_prompts(args.prompts)}
    clock = process_time if args.processor_time else perf_counter
    with open_files(target, args.draft or demo_draft, threads=args.threads) as decoder:
        for prompts in kinds.values():
            measure(decoder, prompts[:1], methods, 8)  # The first forwards touch memory for the first time.
        runs: dict[str, list[dict[str, Run]]] = {kind: [] for kind in kinds}
        for number in range(args.repeats):
            for kind, prompts in kinds.items():
                runs[kind].append(measure(decoder, prompts, methods, args.tokens, clock))
            _say(f"repeat {number + 1} of {args.repeats} done")
    result = {kind: report(repeats) for kind, repeats in runs.items()}
    met = _met(result)
    print(json.dumps({"target": target.name, "met": met, **result}) if args.json else _table(target.stem, result))
    return 0 if met else 1


def _met(result: dict[str, dict[str, dict[str, Any]]]) -> bool:
    repeat, prose = result["repeat"]["ngram"], result["prose"]["ngram"]
    return bool(repeat["acceptance_rate"] > 0.6 and repeat["speedup"] > 1.5 and prose["speedup"] >= 0.95)


def _table(target: str, result: dict[str, dict[str, dict[str, Any]]]) -> str:
    how = (
        f"{target}; greedy; medians over repeats (least to most). The musts, of the index alone, are "
        f"{'met' if _met(result) else 'NOT met'}: with repetition an acceptance above 0.6 and a speedup above 1.5, on "
        "prose a speedup of 0.95."
    )
    lines = [
        "## What an n-gram index is worth",
        "",
        how,
        "",
        "| prompts | method | tokens/s | speedup | acceptance rate | mean length | other texts than plain |",
        "|---|---|---|---|---|---|---|",
    ]
    for kind, rows in result.items():
        for name, row in rows.items():
            speedups = row["speedups"]
            cells = [
                kind,
                name,
                f"{row['tokens_per_second']:.1f}",
                f"{row['speedup']:.2f} ({min(speedups):.2f}–{max(speedups):.2f})",
                f"{row['acceptance_rate']:.2f}" if name != "plain" else "–",
                f"{row['mean_length']:.2f}",
                str(row["other_texts"]),
            ]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", type=Path, metavar="FILE", help="what writes (the demo target)")
    parser.add_argument("--grown", choices=("q8_0", "q4_0", "f16"), help="the demo target grown, in this kind")
    parser.add_argument("--draft", type=Path, metavar="FILE", help="the draft model (the demo draft)")
    parser.add_argument("--draft-alone", action="store_true", help="measure the draft model alone too")
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="times that all is measured (3)")
    parser.add_argument("--prompts", type=int, default=8, metavar="N", help="prompts of each kind (8)")
    parser.add_argument("--tokens", type=int, default=128, metavar="N", help="most tokens of a reply (128)")
    parser.add_argument("--threads", type=int, default=2, metavar="N")
    parser.add_argument("--processor-time", action="store_true", help="count that in place of time, on a busy machine")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
