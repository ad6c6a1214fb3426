"""What the replies of llama.cpp's server and ours say: the server's best lookahead, ratios, the musts, tables."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean, median
from typing import Any

from benchmarks.peers.server_program import DEFAULT_LOOKAHEAD
from engine.bench.figures import spread

SERVER, OURS = "server", "ours"
PLAIN, AUTO = 0, "auto"
SWEEP, COMPARED = "sweep", "compared"
Setting = int | str
"""A lookahead, 0 being plain decoding, or the name of another way to draft."""
Way = tuple[str, Setting]
"""A side and its setting."""
Group = tuple[str, float]
"""A set of prompts and the temperature of their replies: what the musts call a set."""
MEAN_OVER_DEFAULT, LEAST_OVER_BEST, MEAN_OVER_BEST = 1.15, 0.97, 1.0
FAR_BEHIND = 0.7
Spread = dict[str, float] | None


@dataclass(frozen=True)
class Reply:
    """One measured reply. `phase`: whether it chooses among the server's lookaheads (sweep) or is compared.

    `prompt` and `turn` say which replies it may be compared with, those of its group and phase with both alike.
    `speed` is tokens/s after the first token; `proposed` and `accepted` count draft tokens.
    """

    way: Way
    group: Group
    phase: str
    prompt: int
    turn: int
    speed: float
    proposed: int
    accepted: int
    tokens: tuple[int, ...]


def choose_best(swept: Sequence[Reply]) -> Setting:
    """The setting with the highest median of ratios to the server's own plain decoding; 0 where none is above 1."""
    medians = _swept_medians(swept)
    return max(medians, key=medians.__getitem__, default=PLAIN)


def contenders(swept: Sequence[Reply]) -> list[Setting]:
    """The settings that are worth another turn: not far behind the best so far; and 0, which the rest is held to."""
    medians = _swept_medians(swept)
    least = FAR_BEHIND * max(medians.values(), default=0.0)
    return [setting for setting, ratio in medians.items() if setting == PLAIN or ratio >= least]


def _swept_medians(swept: Sequence[Reply]) -> dict[Setting, float]:
    found = {setting: ratios(swept, (SERVER, setting), (SERVER, PLAIN)) for setting in _settings(swept)}
    return {setting: median(each) for setting, each in found.items() if each}


def _settings(swept: Sequence[Reply]) -> list[Setting]:
    """Lookaheads first, the smallest at their head."""
    return sorted({reply.way[1] for reply in swept}, key=lambda setting: (isinstance(setting, str), setting))


def ratios(replies: Iterable[Reply], one: Way, other: Way) -> list[float]:
    """Speeds over speeds, of replies to the same prompt in the same turn."""
    speeds: dict[Way, dict[tuple[Group, str, int, int], float]] = {one: {}, other: {}}
    for reply in replies:
        if reply.way in speeds:
            speeds[reply.way][reply.group, reply.phase, reply.prompt, reply.turn] = reply.speed
    # A reply of one token has no speed.
    both = [(speed, speeds[other].get(key, 0.0)) for key, speed in speeds[one].items()]
    return [mine / theirs for mine, theirs in both if mine > 0.0 and theirs > 0.0]


def summarise(replies: Sequence[Reply], best: Mapping[Group, Setting]) -> dict[str, Any]:
    """The figures of one target. `best`: the server's setting that its sweep chose, of each group."""
    rows = [_row([r for r in replies if r.group == group], group, best[group]) for group in best]
    return {"sets": rows, "same_text": same_text(replies), "musts": judge(rows)}


def _row(replies: Sequence[Reply], group: Group, best: Setting) -> dict[str, Any]:
    compared = [reply for reply in replies if reply.phase == COMPARED]
    swept = [reply for reply in replies if reply.phase == SWEEP]
    ours, plain = (OURS, AUTO), (SERVER, PLAIN)
    return {
        "category": group[0],
        "temperature": group[1],
        "best_lookahead": best,
        "tokens_per_second": {
            "server_plain": speed_of(compared, plain),
            "server_default": speed_of(compared, (SERVER, DEFAULT_LOOKAHEAD)),
            "server_best": speed_of(compared, (SERVER, best)),
            "plain": speed_of(compared, (OURS, PLAIN)),
            "auto": speed_of(compared, ours),
        },
        "auto_over_default": spread(ratios(compared, ours, (SERVER, DEFAULT_LOOKAHEAD))),
        "auto_over_best": spread(ratios(compared, ours, (SERVER, best))),
        "auto_over_plain": spread(ratios(compared, ours, (OURS, PLAIN))),
        "plain_over_server_plain": spread(ratios(compared, (OURS, PLAIN), plain)),
        "acceptance": {
            "server_default": acceptance_of(compared, (SERVER, DEFAULT_LOOKAHEAD)),
            "auto": acceptance_of(compared, ours),
        },
        "sweep": {k: spread(ratios(swept, (SERVER, k), plain)) for k in _settings(swept)},
    }


def speed_of(replies: Sequence[Reply], way: Way) -> Spread:
    return spread([reply.speed for reply in replies if reply.way == way and reply.speed > 0.0])


def acceptance_of(replies: Sequence[Reply], way: Way) -> float | None:
    mine = [reply for reply in replies if reply.way == way]
    proposed = sum(reply.proposed for reply in mine)
    return sum(reply.accepted for reply in mine) / proposed if proposed else None


def same_text(replies: Sequence[Reply]) -> dict[str, int]:
    """How many greedy replies were our first plain one to that prompt, of each side."""
    greedy = [reply for reply in replies if reply.group[1] == 0.0]
    plain: dict[tuple[Group, int], tuple[int, ...]] = {}
    for reply in greedy:
        if reply.way == (OURS, PLAIN):
            plain.setdefault((reply.group, reply.prompt), reply.tokens)
    found: dict[str, int] = {}
    for side in (OURS, SERVER):
        mine = [reply for reply in greedy if reply.way[0] == side and (reply.group, reply.prompt) in plain]
        found |= {
            f"{side}_replies": len(mine),
            f"{side}_same": sum(reply.tokens == plain[reply.group, reply.prompt] for reply in mine),
        }
    return found


# The musts ------------------------------------------------------------------------------------------------------------


def judge(rows: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Of each must: what was measured, what was demanded, whether it is met; a must of each set also names the misses.

    The spread of a set is half the width of the middle half of its ratios.
    """
    default, best = _medians(rows, "auto_over_default"), _medians(rows, "auto_over_best")
    slower = [name for name, value, margin in default if value < 1.0 - margin]
    below = [name for name, value, _ in best if value < LEAST_OVER_BEST]
    return {
        "mean_over_default": _mean_must(default, len(rows), MEAN_OVER_DEFAULT),
        "each_over_default": _each_must(default, len(rows), 1.0, slower),
        "mean_over_best": _mean_must(best, len(rows), MEAN_OVER_BEST),
        "each_over_best": _each_must(best, len(rows), LEAST_OVER_BEST, below),
    }


def _medians(rows: Sequence[dict[str, Any]], name: str) -> list[tuple[str, float, float]]:
    """Of each set that has such a ratio: its name, the median, half the width of the middle half."""
    return [
        (f"{row['category']} {row['temperature']:g}", ratio["median"], (ratio["high"] - ratio["low"]) / 2.0)
        for row in rows
        if (ratio := row[name]) is not None
    ]


def _mean_must(found: Sequence[tuple[str, float, float]], sets: int, least: float) -> dict[str, Any]:
    mean = geometric_mean([value for _, value, _ in found]) if found else None
    # A set that could not be compared says nothing, so nothing is proved.
    return {"measured": mean, "least": least, "met": mean is not None and len(found) == sets and mean >= least}


def _each_must(
    found: Sequence[tuple[str, float, float]], sets: int, least: float, misses: Sequence[str]
) -> dict[str, Any]:
    lowest = min((value for _, value, _ in found), default=None)
    return {
        "measured": lowest,
        "least": least,
        "misses": list(misses),
        "met": bool(found) and len(found) == sets and not misses,
    }


# Tables ---------------------------------------------------------------------------------------------------------------


def tables(kind: str, found: dict[str, Any]) -> list[str]:
    """The lines that show the figures of one target."""
    same = found["same_text"]
    heads = (
        "prompts, temperature",
        *("server plain", f"server at {DEFAULT_LOOKAHEAD} (default)", "server's best", "ours plain", "auto"),
        *("auto / default", "auto / best", "auto / ours plain", "accepted: server, auto"),
    )
    lines = [f"**{kind}**: tokens/s, and ratios with their middle half.", "", f"| {' | '.join(heads)} |"]
    lines.append("|" + "---|" * len(heads))
    lines += [_line(row) for row in found["sets"]]
    lines += ["", *_sweep_table(found["sets"]), "", *map(_must_line, found["musts"].items())]
    lines.append(
        f"- Greedy replies that were our plain one, token for token: {same['ours_same']} of {same['ours_replies']} of "
        f"ours, {same['server_same']} of {same['server_replies']} of the server's."
    )
    return lines


def _line(row: dict[str, Any]) -> str:
    speeds, accepted = row["tokens_per_second"], row["acceptance"]
    cells = [
        f"{row['category']}, {row['temperature']:g}",
        *(show_median(speeds[name], 1) for name in ("server_plain", "server_default")),
        f"{show_median(speeds['server_best'], 1)} (at {row['best_lookahead']})",
        *(show_median(speeds[name], 1) for name in ("plain", "auto")),
        *(show_ratio(row[name]) for name in ("auto_over_default", "auto_over_best", "auto_over_plain")),
        f"{show_rate(accepted['server_default'])}, {show_rate(accepted['auto'])}",
    ]
    return f"| {' | '.join(cells)} |"


def _sweep_table(rows: Sequence[dict[str, Any]]) -> list[str]:
    """What the server's lookaheads gave in the turns that only choose."""
    lookaheads = list(rows[0]["sweep"]) if rows else []
    lines = [
        "The server's lookaheads against its own plain decoding, in the turns that choose its best:",
        "",
        "| prompts, temperature | " + " | ".join(map(str, lookaheads)) + " |",
        "|" + "---|" * (len(lookaheads) + 1),
    ]
    for row in rows:
        cells = " | ".join(show_median(row["sweep"][k], 2) for k in lookaheads)
        lines.append(f"| {row['category']}, {row['temperature']:g} | {cells} |")
    return lines


_MUSTS = {
    "mean_over_default": "geometric mean over the server's default",
    "each_over_default": "lowest set over the server's default, less its spread",
    "mean_over_best": "geometric mean over the server's best",
    "each_over_best": "lowest set over the server's best",
}


def _must_line(must: tuple[str, dict[str, Any]]) -> str:
    name, found = must
    measured = "nothing measured" if found["measured"] is None else f"{found['measured']:.3f}"
    misses = f" (below: {', '.join(found['misses'])})" if found.get("misses") else ""
    return f"- {_MUSTS[name]}: {measured}, must {found['least']:g}: {'met' if found['met'] else 'NOT met'}{misses}"


def show_ratio(found: Spread) -> str:
    return "–" if found is None else f"{found['median']:.2f} ({found['low']:.2f}–{found['high']:.2f})"


def show_median(found: Spread, digits: int) -> str:
    return "–" if found is None else f"{found['median']:.{digits}f}"


def show_rate(rate: float | None) -> str:
    return "–" if rate is None else f"{rate:.2f}"
