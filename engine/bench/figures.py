"""Compute figures from measured replies: medians with their spread, paired ratios, the best lookahead, the noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median, quantiles
from typing import Any

from engine.bench.runs import AUTO, DIFFERENT, NEAR_TIE, NGRAM, PLAIN, SAME, SERVER, UNEXAMINED, LeftOut, Reply

_ENOUGH = 3
"""The fewest pairs from which a faster way is named."""
_SHORT = 16
_UNSTEADY = 0.15
_BUSY = 0.05
_Speeds = dict[tuple[int, int], float]


def spread(values: Sequence[float]) -> dict[str, float] | None:
    """Return median, the middle half (low, high), least and most, and the count; None without values."""
    if not values:
        return None
    low, _, high = quantiles(values, n=4, method="inclusive") if len(values) > 1 else (values[0],) * 3
    return {
        "median": median(values),
        "low": low,
        "high": high,
        "least": min(values),
        "most": max(values),
        "values": len(values),
    }


def ratios(ours: _Speeds, theirs: _Speeds, turns: Callable[[int], bool] = lambda _turn: True) -> list[float]:
    """Return speeds over speeds of the replies to the same prompt in the same turn, of the chosen turns."""
    return [ours[key] / theirs[key] for key in ours if key in theirs and theirs[key] > 0.0 and turns(key[1])]


def told_apart(values: Sequence[float]) -> bool:
    """Return True if paired ratios lie on one side of 1: three pairs at least, and the middle half without 1."""
    if len(values) < _ENOUGH:
        return False
    low, _, high = quantiles(values, n=4, method="inclusive")
    return low > 1.0 or high < 1.0


def summarise(replies: Sequence[Reply], ways: Sequence[str]) -> dict[str, Any]:
    """Return the figures of a set of replies: of each way, the best fixed lookahead, and auto against it."""
    speeds = {name: _speeds(replies, name) for name in ways}
    fixed = [name for name in ways if name not in (AUTO, NGRAM, SERVER)]
    return {
        "ways": {
            name: _figures([r for r in replies if r.way == name], ratios(speeds[name], speeds[PLAIN])) for name in ways
        },
        "best_fixed": _best_fixed(speeds, fixed),
        "auto_to_best": _auto_to_best(speeds, fixed) if AUTO in speeds else None,
    }


def _speeds(replies: Sequence[Reply], name: str) -> _Speeds:
    return {(reply.prompt, reply.turn): reply.speed for reply in replies if reply.way == name and _has_speed(reply)}


def _has_speed(reply: Reply) -> bool:
    """Return True if its number of tokens is known: a server may not tell."""
    return "tokens" not in reply.result.stats.untold


def _figures(replies: Sequence[Reply], speedups: Sequence[float]) -> dict[str, Any]:
    stats = [reply.result.stats for reply in replies]
    proposed, rounds = sum(each.proposed for each in stats), sum(each.rounds for each in stats)
    fresh = [reply for reply in replies if reply.fresh]
    read = [(reply.result.prompt_evaluated, reply.result.stats.prompt_ms) for reply in fresh]
    return {
        "replies": len(replies),
        "tokens_per_second": spread([reply.speed for reply in replies if _has_speed(reply)]),
        "speedup": spread(speedups),
        "acceptance_rate": sum(each.accepted for each in stats) / proposed if proposed else None,
        "mean_length": sum(each.emitted for each in stats) / rounds if rounds else None,
        "average_lookahead": sum(each.lookahead_sum for each in stats) / rounds if rounds else None,
        "prompt_tokens_per_second": spread([1000.0 * tokens / ms for tokens, ms in read if ms > 0.0]),
        "first_token_ms": spread([reply.first_token_ms for reply in fresh]),
    }


# Which is best --------------------------------------------------------------------------------------------------------


def _best_of(speeds: dict[str, _Speeds], names: Sequence[str], turns: Callable[[int], bool]) -> str | None:
    """Return the name with the highest median speedup in some of the turns."""
    medians = {name: median(found) for name in names if (found := ratios(speeds[name], speeds[PLAIN], turns))}
    return max(medians, key=medians.__getitem__) if medians else None


def _best_fixed(speeds: dict[str, _Speeds], fixed: Sequence[str]) -> dict[str, Any] | None:
    """Return the fastest of plain decoding and the fixed lookaheads, and those not distinguishable from it."""
    best = _best_of(speeds, fixed, lambda _turn: True)
    if best is None or len(fixed) == 1:
        return None
    rivals = [name for name in fixed if name != best and not told_apart(ratios(speeds[best], speeds[name]))]
    return {"way": best, "not_told_apart": rivals}


def _auto_to_best(speeds: dict[str, _Speeds], fixed: Sequence[str]) -> dict[str, Any] | None:
    """Return auto's speed over that of the best fixed lookahead.

    Whoever wins among many has had luck too, so the best is chosen on odd turns (the first, the third, …) and compared
    on even ones; with one turn only it is the same for both.
    """
    split = any(turn % 2 for _, turn in speeds[AUTO])
    best = _best_of(speeds, fixed, lambda turn: not split or turn % 2 == 0)
    found = [] if best is None else ratios(speeds[AUTO], speeds[best], lambda turn: not split or turn % 2 == 1)
    if not found:
        return None
    return {"way": best, "ratio": spread(found), "told_apart": told_apart(found), "split": split}


# What must be said with it --------------------------------------------------------------------------------------------


def count_equal(comparisons: Sequence[str | None]) -> dict[str, Any]:
    """Count the greedy replies that were the plain one. `checked` False: tokens were drawn, nothing to compare."""
    names = {SAME: "same", NEAR_TIE: "parted_at_a_near_tie", DIFFERENT: "different", UNEXAMINED: "not_examined"}
    return {"checked": any(comparisons)} | {key: comparisons.count(name) for name, key in names.items()}


def unsteadiness(replies: Sequence[Reply]) -> float:
    """Return the variation of plain decoding of one prompt between turns: the largest of (fastest / slowest - 1)."""
    speeds = _speeds(replies, PLAIN)
    by_prompt: dict[int, list[float]] = {}
    for (prompt, _), speed in speeds.items():
        by_prompt.setdefault(prompt, []).append(speed)
    return max((max(found) / min(found) - 1.0 for found in by_prompt.values() if min(found) > 0.0), default=0.0)


def make_notes(
    replies: Sequence[Reply],
    summary: dict[str, Any],
    equal: dict[str, Any],
    left_out: Sequence[LeftOut],
    other_programs: float = 0.0,
    row_difference: float | None = None,
) -> list[str]:
    """Return sentences for a person: the best lookahead, auto's share of it, noise, and errors.

    `row_difference`: the target's, see Backend.
    """
    notes = [note for note in (_best_note(summary["best_fixed"]), _auto_note(summary["auto_to_best"])) if note]
    if other_programs > _BUSY:
        notes.append(
            f"Other programs used {other_programs:.0%} of the processors meanwhile: do not rely on these speeds."
        )
    varied = unsteadiness(replies)
    if varied > _UNSTEADY:
        notes.append(
            f"Plain decoding of the same prompt varied by up to {varied:.0%} between runs: other programs "
            "were active, or the replies are too short. Small differences are not significant."
        )
    short = sum(reply.result.stats.emitted < _SHORT for reply in replies)
    if short:
        notes.append(f"{short} of {len(replies)} replies have fewer than {_SHORT} tokens; their speeds are imprecise.")
    notes += _equality_notes(equal)
    if row_difference:
        notes.append(
            "Not batch-invariant: computing several tokens at once changes logits, by up to "
            f"{row_difference:.1g} in the check after loading. A greedy reply with a draft may part from the plain "
            "one at near ties."
        )
    notes += [f"Left out: prompt {each.number + 1} of {each.category}: {each.why}" for each in left_out]
    return notes


def _best_note(best: dict[str, Any] | None) -> str | None:
    if best is None:
        return None
    name = called(best["way"])
    if not best["not_told_apart"]:
        return f"Best fixed lookahead: {name}."
    rivals = ", ".join(called(rival) for rival in best["not_told_apart"])
    return f"No best fixed lookahead: {name} has the highest median, but its lead over {rivals} is within the spread."


def _auto_note(auto: dict[str, Any] | None) -> str | None:
    if auto is None:
        return None
    how = "chosen on odd runs, compared on even runs" if auto["split"] else "chosen and compared on the same run"
    name, ratio = called(auto["way"]), auto["ratio"]
    middle = f"{ratio['median']:.2f}× (interquartile range {ratio['low']:.2f}–{ratio['high']:.2f})"
    apart = "" if auto["told_apart"] else ", which is within the spread"
    if ratio["values"] < _ENOUGH:
        apart = ", but there are too few measurements to tell"
    return f"Auto against the best fixed lookahead ({name}; {how}): {middle}{apart}."


def _equality_notes(equal: dict[str, Any]) -> list[str]:
    if not equal["checked"]:
        return ["Tokens were sampled, so the replies of different modes differ and are not compared."]
    notes = []
    if equal["parted_at_a_near_tie"]:
        notes.append(
            f"{equal['parted_at_a_near_tie']} replies diverge from the plain reply where the target's two best "
            "tokens are too close to call; this is expected."
        )
    if equal["different"]:
        notes.append(f"{equal['different']} replies DIFFER from the plain reply. This is a bug: please report it.")
    if equal["not_examined"]:
        notes.append(f"{equal['not_examined']} replies differ from the plain reply; the cause was not examined.")
    return notes or ["Every reply equals the plain reply, token for token."]


def called(way: str) -> str:
    """Return a way's name in a sentence."""
    return {PLAIN: "0 (plain decoding)", NGRAM: "n-gram"}.get(way, way)


def count_threads(threads: int) -> str:
    """Return a number of threads in a sentence."""
    return f"{threads} thread{'' if threads == 1 else 's'}"
