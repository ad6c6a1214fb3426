"""Evaluate the replies of llama.cpp's server and ours: the server's best setting, ratios, equal texts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from engine.bench.figures import spread

SERVER, OURS = "server", "ours"
PLAIN, AUTO = 0, "auto"
SWEEP, COMPARED = "sweep", "compared"
Setting = int | str
"""A lookahead, 0 being plain decoding, or the name of another way to draft."""
Way = tuple[str, Setting]
"""A side and its setting."""
Group = tuple[str, float]
"""A set of prompts and the temperature of their replies."""
FAR_BEHIND = 0.7
Spread = dict[str, float] | None


@dataclass(frozen=True)
class Reply:
    """One measured reply. `phase`: the search for the server's lookahead (sweep), or the comparison.

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
    """The setting with the highest median of ratios to the server's own plain decoding; 0 if none is above 1."""
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


def speed_of(replies: Sequence[Reply], way: Way) -> Spread:
    return spread([reply.speed for reply in replies if reply.way == way and reply.speed > 0.0])


def acceptance_of(replies: Sequence[Reply], way: Way) -> float | None:
    mine = [reply for reply in replies if reply.way == way]
    proposed = sum(reply.proposed for reply in mine)
    return sum(reply.accepted for reply in mine) / proposed if proposed else None


def same_text(replies: Sequence[Reply]) -> dict[str, int]:
    """Count each side's greedy replies equal to our first plain one to that prompt."""
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


def show_ratio(found: Spread) -> str:
    return "–" if found is None else f"{found['median']:.2f} ({found['low']:.2f}–{found['high']:.2f})"


def show_median(found: Spread, digits: int) -> str:
    return "–" if found is None else f"{found['median']:.{digits}f}"


def show_rate(rate: float | None) -> str:
    return "–" if rate is None else f"{rate:.2f}"
