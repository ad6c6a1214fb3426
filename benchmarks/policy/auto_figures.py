"""What the reports of `engine bench` say of auto: whether the musts are met, and tables.

A set is one category of the bundled prompts at one temperature. Auto is compared with the best fixed lookahead (plain
decoding among them), which is chosen on odd turns and compared on even ones: by the tokens of all replies of the set
and their time, since what is best for one prompt is not for the next, and since drawn replies are of different texts,
so that there is nothing to pair. With plain decoding it is compared reply by reply, in all turns.
Where the acceptance rate at lookahead 4 is high, auto must gain. (How much of a greedy gain is left with drawn tokens
is asked in drawn.py, which measures both in turns.)
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import bootstrap

from engine.bench.runs import AUTO, NGRAM, PLAIN

Reports = Mapping[str, Mapping[float, Mapping[str, Any]]]
"""Reports of `engine bench` by the kind of the target's weights and by temperature."""
OVER_BEST, OVER_PLAIN = 0.97, 0.98
GAINS = ((0.6, 1.3), (0.85, 1.6))
"""From which acceptance rate at lookahead 4 on which speedup over plain decoding is due, with a target in Q8_0."""
_HOSTILE = "hostile"
_PROMPTS = {False: "the bundled sets of prompts", True: "prompts that both demo models learned (familiar.json)"}
_SAMPLES = 2000
"""Bootstrap samples."""


@dataclass(frozen=True)
class Must:
    """One must: its words, the least that is due, and what was measured of each set that it is about."""

    name: str
    least: float
    measured: Mapping[str, float]

    @property
    def misses(self) -> list[str]:
        """The sets that fall short."""
        return [name for name, value in self.measured.items() if value < self.least]

    @property
    def met(self) -> bool:
        """Whether none falls short; so it is where no set is concerned."""
        return not self.misses


def find_musts(reports: Reports) -> list[Must]:
    """All musts, of every kind of weights."""
    return [must for kind, by_temperature in reports.items() for must in _musts_of(kind, by_temperature)]


def _musts_of(kind: str, reports: Mapping[float, Mapping[str, Any]]) -> Iterator[Must]:
    sets = {
        (category, temperature): found
        for temperature, report in reports.items()
        for category, found in report["categories"].items()
    }
    names = {key: f"{key[0]} at {key[1]:g}" for key in sets}
    over_best = {names[key]: _auto_over_best(found) for key, found in sets.items()}
    yield Must(f"{kind}: auto over the best fixed lookahead", OVER_BEST, over_best)
    over_plain = {
        names[key]: _speedup(found, AUTO) for key, found in sets.items() if key[0] == _HOSTILE or key[1] > 0.0
    }
    yield Must(f"{kind}: auto over plain decoding, hostile or drawn", OVER_PLAIN, over_plain)
    checked = {f"all at {temperature:g}": report["equal"] for temperature, report in reports.items()}
    alike = {name: 1.0 - _different(equal) for name, equal in checked.items() if equal["checked"]}
    yield Must(
        f"{kind}: greedy replies that are the plain one, or part where two tokens are too close to tell", 1.0, alike
    )
    if kind == "q8_0":
        for rate, least in GAINS:
            due = {names[key]: _speedup(found, AUTO) for key, found in sets.items() if _rate(found) >= rate}
            yield Must(f"{kind}: auto over plain decoding, acceptance at 4 from {rate} on", least, due)


def _auto_over_best(found: Mapping[str, Any]) -> float:
    return 0.0 if found["auto_to_best"] is None else float(found["auto_to_best"]["ratio"]["median"])


def _speedup(found: Mapping[str, Any], way: str) -> float:
    spread = found["ways"][way]["speedup"]
    return 0.0 if spread is None else float(spread["median"])


def _different(equal: Mapping[str, Any]) -> float:
    """The share of greedy replies that are not the plain one and should be."""
    counts: dict[str, int] = {key: equal[key] for key in ("same", "parted_at_a_near_tie", "different", "not_examined")}
    return (counts["different"] + counts["not_examined"]) / max(sum(counts.values()), 1)


def _rate(found: Mapping[str, Any]) -> float:
    """The acceptance rate at lookahead 4; 0 where nothing was proposed."""
    return float(found["ways"]["4"]["acceptance_rate"] or 0.0)


# Whole sets -----------------------------------------------------------------------------------------------------------


def compare_sets(replies: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Auto over the best fixed lookahead in replies of `engine bench`; None where there are none to compare.

    A way's speed is that of all its replies together: their tokens by their time. The best is chosen on odd turns (the
    first, the third, …) and compared on even ones. `ratio`: the ratio of the speeds as its median, and the middle half
    of what it is in samples of the replies, drawn with replacement ("Bootstrap methods", Efron 1979).
    """
    written = [reply for reply in replies if reply["emitted"] and reply["tokens_per_second"]]
    odd, even = ([reply for reply in written if reply["turn"] % 2 == half] for half in (0, 1))
    fixed = {reply["way"] for reply in odd} - {AUTO, NGRAM}
    if not fixed:
        return None
    best = max(sorted(fixed), key=lambda way: _speed(_of_way(odd, way)))
    ours, theirs = _of_way(even, AUTO), _of_way(even, best)
    if not ours.size or not theirs.size:
        return None
    ratio = low = high = _speed(ours) / _speed(theirs)
    if min(len(ours), len(theirs)) > 1:
        low, high = middle_half(
            lambda mine, others: _speed(ours[mine]) / _speed(theirs[others]), len(ours), len(theirs)
        )
    return {"way": best, "ratio": {"median": ratio, "low": low, "high": high}}


def middle_half(statistic: Callable[..., float], *counts: int) -> tuple[float, float]:
    """Between which values the middle half of a statistic lies, in bootstrap samples.

    `statistic` gets an array of indices for each of the `counts`, drawn from so many with replacement.
    """
    places = tuple(np.arange(count) for count in counts)
    low, high = bootstrap(
        places,
        statistic,
        n_resamples=_SAMPLES,
        confidence_level=0.5,
        method="percentile",
        vectorized=False,
        rng=0,
    ).confidence_interval
    return float(low), float(high)


def _of_way(replies: Sequence[Mapping[str, Any]], way: str) -> NDArray[np.float64]:
    """A row of tokens and seconds for each reply."""
    mine = [(r["emitted"], r["emitted"] / r["tokens_per_second"]) for r in replies if r["way"] == way]
    return np.array(mine, np.float64).reshape(-1, 2)


def _speed(replies: NDArray[np.float64]) -> float:
    tokens, seconds = replies.sum(axis=0)
    return float(tokens / seconds)


# Tables ---------------------------------------------------------------------------------------------------------------


def show(reports: Reports, musts: list[Must], *, familiar: bool = False) -> str:
    """For people, and for RESULTS.md. `familiar`: the prompts were those that the draft knows well."""
    first = next(iter(next(iter(reports.values())).values()))
    how = (
        f"`python -m engine bench` with {_PROMPTS[familiar]}, replies of {first['settings']['max_tokens']} "
        f"tokens at most, target on {first['target']['threads']} threads. Medians (middle half). The best fixed "
        "lookahead is chosen on odd turns and compared on even ones, by all tokens of a set and their time (middle "
        "half of 2,000 bootstrap samples)."
    )
    lines = [
        f"## Auto on the grown demo target in {' and '.join(map(str.upper, reports))}, with the demo draft"
        + (", where that foresees most" if familiar else ""),
        "",
        how,
    ]
    for kind, by_temperature in reports.items():
        for temperature, report in by_temperature.items():
            lines += ["", *_tables(kind, temperature, report)]
    lines += ["", "Musts, by the set that is lowest:", "", *map(must_line, musts)]
    return "\n".join(lines)


def _tables(kind: str, temperature: float, report: Mapping[str, Any]) -> list[str]:
    ways = [name for name in report["ways"] if name not in (PLAIN, AUTO, NGRAM)]
    heads = ["prompts", "plain, tokens/s", "auto, tokens/s", "auto / plain", "best fixed", "auto / best"]
    heads += ["n-gram / plain", "accepted: at 4, auto"]
    lines = [
        _circumstances(kind, temperature, report),
        "",
        f"| {' | '.join(heads)} |",
        "|" + "---|" * len(heads),
        *(_row(name, found) for name, found in {**report["categories"], "all": report}.items()),
        "",
        f"| speedup at lookahead | {' | '.join(ways)} |",
        "|---|" + "---|" * len(ways),
    ]
    for name, found in report["categories"].items():
        lines.append(f"| {name} | {' | '.join(f'{_speedup(found, way):.2f}' for way in ways)} |")
    return lines


def _circumstances(kind: str, temperature: float, report: Mapping[str, Any]) -> str:
    plain, auto = report["ways"][PLAIN], report["ways"][AUTO]
    return (
        f"**{kind.upper()}, temperature {temperature:g}**: {len(report['prompts'])} prompts in "
        f"{len(report['categories'])} sets, {report['settings']['repeats']} turns; loaded in {report['load_s']:.1f} s, "
        f"{report['memory']['at_end'] / 2**20:,.0f} MiB of memory at the end; prompts read with "
        f"{_median(plain['prompt_tokens_per_second'], 0)} tokens/s, first token after "
        f"{_median(plain['first_token_ms'], 0)} ms (auto {_median(auto['first_token_ms'], 0)} ms). Other programs took "
        f"{report['other_programs']:.0%} of the processors. {_equality(report['equal'])}"
    )


def _row(name: str, found: Mapping[str, Any]) -> str:
    ways, best = found["ways"], found["auto_to_best"]
    cells = [
        name,
        _shown(ways[PLAIN]["tokens_per_second"], 1),
        _shown(ways[AUTO]["tokens_per_second"], 1),
        _shown(ways[AUTO]["speedup"], 2),
        "–" if best is None else str(best["way"]),
        "–" if best is None else _shown(best["ratio"], 2),
        f"{_speedup(found, NGRAM):.2f}" if NGRAM in ways else "–",
        ", ".join("–" if (rate := ways[way]["acceptance_rate"]) is None else f"{rate:.2f}" for way in ("4", AUTO)),
    ]
    return f"| {' | '.join(cells)} |"


def _equality(equal: Mapping[str, Any]) -> str:
    if not equal["checked"]:
        return "Tokens were drawn, so that the ways write different texts."
    return (
        f"Greedy replies: {equal['same']} the plain one token for token, {equal['parted_at_a_near_tie']} parted where "
        f"two tokens are too close to tell, {equal['different']} different."
    )


def must_line(must: Must) -> str:
    """A must for people: what was measured of the set that is lowest, whether it is met, which sets fall short."""
    if not must.measured:
        return f"- {must.name}: no such set"
    misses = f" (below: {', '.join(must.misses)})" if must.misses else ""
    verdict = "met" if must.met else "NOT met"
    return f"- {must.name}: {min(must.measured.values()):.3f}, must {must.least:g}: {verdict}{misses}"


def _shown(spread: Mapping[str, float] | None, digits: int) -> str:
    if spread is None:
        return "–"
    return f"{spread['median']:.{digits}f} ({spread['low']:.{digits}f}–{spread['high']:.{digits}f})"


def _median(spread: Mapping[str, float] | None, digits: int) -> str:
    return "–" if spread is None else f"{spread['median']:.{digits}f}"
