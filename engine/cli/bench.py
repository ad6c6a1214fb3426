"""Run `bench`: plain and speculative decoding of the same prompts, interleaved, in one run.

With `--json` one object on a line:

- `version` of this program, `partial` (whether it was cancelled midway), `machine`, `load_s`
- `target`, `draft` (or null), `heads` (of the target, or null): name, parameters, weight_bytes, context_length, threads
  (those that it was measured with), device, batch_invariant (whether a token's logits were found to be the same however
  many tokens are computed with it; null: not measured)
- `memory`: resident bytes of this process: before_load, loaded, at_end
- `other_programs`: the share of the processors, 0 to 1, that other programs took during the measurement
- `settings`: sampling, lookaheads, repeats, max_tokens, raw
- `prompts`: category, number, tokens, max_tokens of each; `left_out`: category, number, why
- `ways`: for plain, each lookahead, auto and ngram: replies, tokens_per_second, speedup (against the plain reply to the
  same prompt in the same turn), acceptance_rate, mean_length, average_lookahead, prompt_tokens_per_second,
  first_token_ms. Speeds, ratios and times are {median, low, high (the middle half), least, most, values} or null
- `best_fixed`: way, not_told_apart (the ways whose distance to it is within the spread); null without a draft
- `auto_to_best`: way (the best fixed lookahead), ratio, told_apart, split (chosen on odd turns, compared on even ones)
- `categories`: ways, best_fixed and auto_to_best of each category
- `equal`: checked, same, parted_at_a_near_tie, different, not_examined: greedy replies against the plain ones
- `notes`: sentences for a person
- `replies`: every measurement: way, category, prompt (index into `prompts`), turn, order, fresh, first_token_ms, text
  (same, near tie, different, not examined or null), finish_reason, prompt_tokens, prompt_evaluated, and of the stats
  emitted, rounds, proposed, accepted, average_lookahead, tokens_per_second, draft_ms, target_ms, prompt_ms, total_ms
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from time import perf_counter
from typing import Any

import psutil

from engine._version import __version__
from engine.backends.base import Backend
from engine.bench.figures import count_equal, make_notes, summarise
from engine.bench.measure import BenchRequest, Measured, WaysProgress
from engine.bench.measure import measure as run_measurement
from engine.bench.prompts import BenchPrompt, bundled_prompts, read_prompts
from engine.bench.runs import DEFAULT_LOOKAHEADS, LeftOut, PreparedPrompt, Reply, Sizes, drafting_method, make_ways
from engine.cancel import CancelToken
from engine.cli.cancellable import EXIT_CANCELLED, EXIT_DONE, run_cancellable
from engine.cli.common import add_loading_options, add_sampling_options, attach_named_heads, load_named
from engine.config import GenerationRequest, SamplingConfig, check_lookahead
from engine.decoder import SpeculativeDecoder
from engine.errors import InvalidLookahead, InvalidRequest, ModelNotLoaded, PairWarning
from engine.system.machine import describe_machine

_EVERY_S = 10.0
_OF_STATS = (
    *("emitted", "rounds", "proposed", "accepted", "average_lookahead", "tokens_per_second"),
    *("draft_ms", "target_ms", "prompt_ms", "total_ms"),
)
Say = Callable[[str], None]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `bench`."""
    models = parser.add_argument_group("models (default: the bundled pair)")
    models.add_argument("-m", "--target", metavar="T", help="as for generate")
    models.add_argument(
        "-d",
        "--draft",
        metavar="D",
        help="like --target; without one, and without --heads, only plain decoding and n-gram are measured",
    )
    models.add_argument("--heads", metavar="PATH", help="GGUF file or folder with draft heads for the target")
    add_loading_options(models.add_argument)
    add = parser.add_argument_group("measurement").add_argument
    add(
        "--prompts",
        type=Path,
        metavar="FILE",
        help='JSON list, {"category": [prompt…]}, or text with one prompt per line',
    )
    add(
        "--per-category",
        type=int,
        metavar="N",
        help="prompts per category (default: 1 of the built-in sets, all of a file)",
    )
    add("--raw", action="store_true", help="do not apply the chat template")
    add(
        "--lookaheads",
        metavar="LIST",
        help=f"lookaheads to measure (default: {','.join(map(str, DEFAULT_LOOKAHEADS))})",
    )
    add(
        "--ngram",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="also measure the n-gram index (default: yes)",
    )
    add("--repeats", type=int, metavar="N", help="number of runs (default: 3, fewer on a slow machine)")
    add(
        "-n",
        "--max-tokens",
        type=int,
        metavar="N",
        help="maximum number of new tokens (default: 64, fewer on a slow machine)",
    )
    add_sampling_options(parser)
    out = parser.add_argument_group("results").add_argument
    out("--json", action="store_true", help="print one JSON object instead of tables, without progress")
    out("--plot", type=Path, metavar="FILE.png", help="plot speedup and acceptance rate by lookahead")
    parser.set_defaults(run=run)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Hold the command's arguments, checked."""

    prompts: tuple[BenchPrompt, ...]
    lookaheads: tuple[int, ...]
    sampling: SamplingConfig
    repeats: int | None
    max_tokens: int | None
    raw: bool
    ngram: bool


class _LastingToken(CancelToken):
    """Remember a request to stop, as the engine drops it when the current reply has ended."""

    asked = False

    def cancel(self) -> None:
        self.asked = True
        super().cancel()


def run(args: argparse.Namespace) -> int:
    """Measure, print, perhaps draw: 0, or 130 where it was cancelled after something was measured.

    Raises EngineError and its kinds; Cancelled where nothing was measured.
    """
    wanted = _check(args)
    draw = (
        None if args.plot is None else importlib.import_module("engine.cli.printed.bench_plot").prepare_plot(args.plot)
    )
    cancel = _LastingToken()
    say: Say = _silent if args.json else _say

    def work() -> int:
        report = measure(args, wanted, cancel, say)
        if args.json:
            sys.stdout.write(json.dumps(report) + "\n")
        else:
            importlib.import_module("engine.cli.printed.bench_tables").print_report(report)
        if draw is not None:
            draw(report)
            say(f"The plot was written to {args.plot}.")
        return EXIT_CANCELLED if report["partial"] else EXIT_DONE

    return run_cancellable(work, cancel)


# Arguments ------------------------------------------------------------------------------------------------------------


def _check(args: argparse.Namespace) -> _Wanted:
    for name in ("repeats", "per_category"):
        value = getattr(args, name)
        if value is not None and value < 1:
            raise InvalidRequest(f"--{name.replace('_', '-')} must be a whole number above 0, not {value}.")
    GenerationRequest("x", max_tokens=args.max_tokens)
    given = {field.name: getattr(args, field.name, None) for field in fields(SamplingConfig)}
    given["banned_tokens"] = args.ban
    sampling = SamplingConfig(**{name: value for name, value in given.items() if value is not None})
    if args.prompts is None:
        prompts = bundled_prompts(args.per_category or 1)
    else:
        prompts = read_prompts(args.prompts, args.per_category)
    lookaheads = _lookaheads(args.lookaheads)
    return _Wanted(prompts, lookaheads, sampling, args.repeats, args.max_tokens, args.raw, args.ngram)


def _lookaheads(text: str | None) -> tuple[int, ...]:
    if text is None:
        return DEFAULT_LOOKAHEADS
    found = []
    for part in text.split(","):
        try:
            lookahead = check_lookahead(int(part))
        except ValueError:
            raise InvalidLookahead(part.strip()) from None
        found.append(int(lookahead))
    return tuple(found)


# Measuring ------------------------------------------------------------------------------------------------------------


def measure(args: argparse.Namespace, wanted: _Wanted, cancel: _LastingToken, say: Say) -> dict[str, Any]:
    """Load the models, measure, and give the report. Raises EngineError and its kinds."""
    process = psutil.Process()
    memory = {"before_load": process.memory_info().rss}
    began = perf_counter()
    with _load(args, cancel, say) as decoder:
        load_s = perf_counter() - began
        memory["loaded"] = process.memory_info().rss
        target, sources = decoder.target, decoder.sources
        if target is None:
            raise ModelNotLoaded
        measured = _measure(decoder, wanted, cancel, say)
        memory["at_end"] = process.memory_info().rss
        models: dict[str, dict[str, Any] | None] = {"target": _describe(target), "draft": None, "heads": None}
        models |= {each.method.needs: _describe(each.model) for each in sources if each.model is not None}
    head = {"version": __version__, "partial": measured.partial, "machine": describe_machine(), "load_s": load_s}
    bench, busy = measured.bench, measured.other_programs
    rest = {
        "memory": memory,
        "other_programs": busy,
        "settings": _settings(wanted, measured.sizes, has_draft=bool(sources)),
        "prompts": [_prompt_to_dict(prompt) for prompt in bench.prompts],
    }
    compared = [None if each is None else each.verdict for each in measured.compared]
    names = [way.name for way in bench.ways]
    noise = busy, target.row_difference
    return head | models | rest | make_report(measured.replies, names, compared, measured.left_out, *noise)


def _settings(wanted: _Wanted, sizes: Sizes | None, *, has_draft: bool) -> dict[str, Any]:
    return {
        "sampling": asdict(wanted.sampling),
        "lookaheads": sorted(set(wanted.lookaheads) - {0}) if has_draft else [],
        "repeats": None if sizes is None else sizes.repeats,
        "max_tokens": None if sizes is None else sizes.max_tokens,
        "raw": wanted.raw,
    }


def make_report(
    replies: Sequence[Reply],
    ways: Sequence[str],
    compared: Sequence[str | None],
    left_out: Sequence[LeftOut] = (),
    other_programs: float = 0.0,
    row_difference: float | None = None,
) -> dict[str, Any]:
    """Return the part of the report that is made from the replies, and notes on them."""
    summary, equal = summarise(replies, ways), count_equal(compared)
    categories = dict.fromkeys(reply.category for reply in replies)
    return summary | {
        "left_out": [asdict(each) for each in left_out],
        "categories": {name: summarise([r for r in replies if r.category == name], ways) for name in categories},
        "equal": equal,
        "notes": make_notes(replies, summary, equal, left_out, other_programs, row_difference),
        "replies": [_reply_to_dict(reply, text) for reply, text in zip(replies, compared, strict=True)],
    }


def _prompt_to_dict(prompt: PreparedPrompt) -> dict[str, Any]:
    return {
        "category": prompt.category,
        "number": prompt.number,
        "tokens": len(prompt.tokens),
        "max_tokens": prompt.max_tokens,
    }


def _reply_to_dict(reply: Reply, text: str | None) -> dict[str, Any]:
    result = reply.result
    names = ("way", "category", "prompt", "turn", "order", "fresh", "first_token_ms")
    return {
        **{name: getattr(reply, name) for name in names},
        "text": text,
        "finish_reason": result.finish_reason,
        "prompt_tokens": result.prompt_tokens,
        "prompt_evaluated": result.prompt_evaluated,
        **{name: getattr(result.stats, name) for name in _OF_STATS},
    }


def _describe(model: Backend) -> dict[str, Any]:
    names = ("name", "parameters", "weight_bytes", "context_length", "threads", "device", "batch_invariant")
    return {name: getattr(model, name) for name in names}


def _load(args: argparse.Namespace, cancel: CancelToken, say: Say) -> SpeculativeDecoder:
    heads = None if args.heads == "none" else args.heads
    bundled = args.target is None and args.draft is None and heads is None
    draft = "demo" if bundled else args.draft
    say("Loading…")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PairWarning)
        decoder = load_named(args, args.target or "demo", None if draft == "none" else draft, cancel=cancel)
        if heads is not None:
            attach_named_heads(decoder, args, heads, cancel)
    for warning in decoder.warnings:
        say(warning)
    return decoder


def _measure(decoder: SpeculativeDecoder, wanted: _Wanted, cancel: _LastingToken, say: Say) -> Measured:
    """Measure, and report progress. Raises Cancelled if nothing was measured."""
    ways = make_ways(wanted.lookaheads, drafting_method(decoder), ngram=wanted.ngram)
    said = perf_counter()

    def note(progress: WaysProgress) -> bool:
        nonlocal said
        sizes, left = progress.measured.sizes, progress.seconds_left
        if progress.stage == "warming up" and progress.done == 0:
            say(f"Warming up: {len(ways)} modes, {len(progress.measured.bench.prompts)} prompts.")
        elif progress.stage == "measuring" and progress.done == 0 and sizes is not None:
            said = perf_counter()
            say(
                f"{progress.total} replies of up to {sizes.max_tokens} tokens, each measured {_times(sizes.repeats)}: "
                f"about {_duration(sizes.seconds)}. Ctrl+C stops and shows the results so far."
            )
        elif progress.stage == "measuring" and left is not None and perf_counter() - said >= _EVERY_S:
            said = perf_counter()
            say(f"{progress.done} of {progress.total} replies, about {_duration(left)} left")
        return not cancel.asked

    sizes = (wanted.repeats, wanted.max_tokens, wanted.raw)
    return run_measurement(decoder, BenchRequest(wanted.prompts, ways, wanted.sampling, *sizes), cancel, note)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _duration(seconds: float) -> str:
    return f"{max(seconds, 1.0):.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def _silent(_text: str) -> None:
    """Print nothing: only the result is wanted."""
