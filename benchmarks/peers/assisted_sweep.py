"""Our loop against transformers' assisted generation, a sweep of both sides' settings, in turns.

Every setting of either side writes the same greedy replies, prompt by prompt, in an order that rotates. The best of
each side is chosen on odd turns and compared on even ones, so that no luck of the choice counts in the comparison.
"""

from argparse import Namespace
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Any

from benchmarks.peers.assisted_pair import Assistance, Pair
from engine.config import Lookahead

BEST_MUST = 1.0
DEFAULTS_MUST = 1.15
_PLAIN = "plain"
_DEFAULTS = "transformers: defaults"
_AUTO = "ours: auto"

Side = Callable[[Sequence[int], int], tuple[float, list[int]]]
"""From a prompt and a number of tokens to seconds and the tokens of a reply."""


@dataclass(frozen=True)
class Timing:
    """One reply: which setting wrote it, of which prompt (by number), in which turn (from 1), and how fast."""

    side: str
    prompt: int
    turn: int
    seconds: float
    tokens: int


def sweep_pair(pair: Pair, args: Namespace, say: Callable[[str], None]) -> dict[str, Any]:
    """The figures of one pair. `args`: assistants, ours, prompts, tokens, turns. Raises SystemExit if texts differ."""
    sides = _sides(pair, args.assistants, args.ours)
    prompts = pair.prompts(args.prompts)
    texts = [pair.theirs(prompt, None, args.tokens)[1] for prompt in prompts]
    for side in sides.values():
        side(prompts[0], args.tokens)
    timings = []
    for turn in range(1, args.turns + 1):
        for number, prompt in enumerate(prompts):
            for name in _rotated(list(sides), turn + number):
                seconds, tokens = sides[name](prompt, args.tokens)
                if not pair.too_close(prompt, texts[number], tokens):
                    raise SystemExit(f"{name} wrote other tokens than transformers' plain decoding: no comparison.")
                timings.append(Timing(name, number, turn, seconds, len(tokens)))
        say(f"  turn {turn} of {args.turns} done")
    assert pair.decoder.target is not None
    known = {"parameters": pair.decoder.target.parameters, "threads": pair.threads, "prompts": len(prompts)}
    return known | judge(timings) | {"costs": _costs(pair)}


def _sides(pair: Pair, assistants: Iterable[int], lookaheads: Iterable[Lookahead]) -> dict[str, Side]:
    hows = [Assistance(), *(Assistance(tokens, rate) for tokens in assistants for rate in (0.0, None))]
    theirs: dict[str, Side] = {
        f"transformers: {how}": lambda prompt, tokens, how=how: pair.theirs(prompt, how, tokens)  # type: ignore[misc]
        for how in hows
    }
    ours: dict[str, Side] = {
        f"ours: {lookahead or _PLAIN}": lambda prompt, tokens, k=lookahead: pair.ours(prompt, k, tokens)  # type: ignore[misc]
        for lookahead in lookaheads
    }
    plain: dict[str, Side] = {f"transformers: {_PLAIN}": lambda prompt, tokens: pair.theirs(prompt, None, tokens)}
    return ours | plain | theirs


def _rotated(names: list[str], by: int) -> list[str]:
    by %= len(names)
    return names[by:] + names[:by]


def judge(timings: Sequence[Timing]) -> dict[str, Any]:
    """What the timings say: speeds of all settings, the best ones of the odd turns, and the ratios of the even turns.

    A ratio is the other's time through that of ours with the lookahead auto, of the same prompt in the same turn.
    """
    odd = [timing for timing in timings if timing.turn % 2]
    even = [timing for timing in timings if not timing.turn % 2]
    names = list(dict.fromkeys(timing.side for timing in timings))
    drafting = [name for name in names if name.startswith("transformers") and not name.endswith(_PLAIN)]
    fixed = [name for name in names if name.startswith("ours") and name != _AUTO]
    best = _quickest(odd, drafting)
    prompts = sorted({timing.prompt for timing in timings})
    best_each = {prompt: _quickest([each for each in odd if each.prompt == prompt], drafting) for prompt in prompts}
    best_fixed = _quickest(odd, fixed)
    return {
        "tokens_per_second": {name: _speed(timings, name) for name in names},
        "best": best,
        "best_of_each_prompt": [best_each[prompt] for prompt in prompts],
        "our_best_fixed": best_fixed,
        "against_best": _ratios(even, lambda _: best),
        "against_best_of_each_prompt": _ratios(even, best_each.__getitem__),
        "against_defaults": _ratios(even, lambda _: _DEFAULTS),
        "against_our_best_fixed": _ratios(even, lambda _: best_fixed),
        "against_plain": _ratios(even, lambda _: f"ours: {_PLAIN}"),
        "replies": len(timings),
    }


def _quickest(timings: Sequence[Timing], names: Sequence[str]) -> str:
    """The setting of the least median time, summed over the prompts."""

    def total(name: str) -> float:
        of_prompt: dict[int, list[float]] = {}
        for timing in timings:
            if timing.side == name:
                of_prompt.setdefault(timing.prompt, []).append(timing.seconds)
        return sum(map(median, of_prompt.values()))

    return min(names, key=total)


def _speed(timings: Sequence[Timing], name: str) -> dict[str, float]:
    return _spread([timing.tokens / timing.seconds for timing in timings if timing.side == name])


def _ratios(timings: Sequence[Timing], other: Callable[[int], str]) -> dict[str, float]:
    seconds = {(timing.side, timing.prompt, timing.turn): timing.seconds for timing in timings}
    return _spread(
        [
            seconds[other(timing.prompt), timing.prompt, timing.turn] / timing.seconds
            for timing in timings
            if timing.side == _AUTO
        ]
    )


def _spread(values: list[float]) -> dict[str, float]:
    """Median, and between which values the middle half lies."""
    low, _, high = quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
    return {"median": median(values), "low": low, "high": high}


def _costs(pair: Pair) -> dict[str, float]:
    """What a forward of n tokens costs against one, and a draft token ("draft"), as auto knows it now."""
    knowledge = pair.decoder._knowledge
    if knowledge is None:
        return {}
    costs = knowledge.costs
    one = costs.verify(1)
    return {str(n): costs.verify(n) / one for n in (2, 3, 5, 9, 17, 33)} | {"draft": costs.draft() / one}


def meets_musts(found: dict[str, Any]) -> bool:
    """Whether ours is as fast as the best of theirs, and enough faster than their defaults."""
    best, defaults = found["against_best"]["median"], found["against_defaults"]["median"]
    return bool(best >= BEST_MUST and defaults >= DEFAULTS_MUST)


# Tables ---------------------------------------------------------------------------------------------------------------


def sweep_tables(report: dict[str, Any]) -> str:
    """For people, and for RESULTS.md."""
    where = (
        f"Float32. Greedy replies of {report['tokens']} tokens at most, equal on both sides; whole calls, prompt "
        "included. Medians (middle half); the best of transformers' settings chosen on odd turns, compared on even "
        "ones. A ratio is their time through that of ours with auto; the musts are "
        f"{BEST_MUST:.2f} and {DEFAULTS_MUST:.2f}."
    )
    columns = (
        "| target, weights | threads | auto against their best | which | against the best of each prompt "
        "| against their defaults | against our best fixed | which | against our plain |"
    )
    lines = [
        "## Auto against transformers' assisted generation, both swept",
        "",
        where,
        "",
        columns,
        "|---|---|---|---|---|---|---|---|---|",
    ]
    lines += map(_row, report["pairs"])
    for found in report["pairs"]:
        lines += ["", f"{found['pair']}, tokens/s:", "", *_speeds(found["tokens_per_second"])]
        costs = ", ".join(f"{size}: {cost:.2f}" for size, cost in found["costs"].items())
        lines += ["", f"What auto takes a forward of n tokens and a draft token to cost, against one token: {costs}."]
    return "\n".join(lines)


def _row(found: dict[str, Any]) -> str:
    cells = [
        f"{found['pair']}, {found['parameters'] / 1e6:,.0f} M",
        str(found["threads"]),
        _shown(found["against_best"]),
        found["best"].partition(": ")[2],
        _shown(found["against_best_of_each_prompt"]),
        _shown(found["against_defaults"]),
        _shown(found["against_our_best_fixed"]),
        found["our_best_fixed"].partition(": ")[2],
        _shown(found["against_plain"]),
    ]
    return "| " + " | ".join(cells) + " |"


def _speeds(speeds: dict[str, dict[str, float]]) -> list[str]:
    rows = [f"| {name} | {_shown(speed, 1)} |" for name, speed in speeds.items()]
    return ["| setting | tokens/s |", "|---|---|", *rows]


def _shown(spread: dict[str, float], digits: int = 2) -> str:
    return f"{spread['median']:.{digits}f} ({spread['low']:.{digits}f}–{spread['high']:.{digits}f})"
