"""Compare replies of published models, each of our ways and llama.cpp's server with its best setting, in turns."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean

from benchmarks.machine import Quiet, say
from benchmarks.peers.comparison import Comparison, check_memory
from benchmarks.peers.server_figures import (
    AUTO,
    COMPARED,
    OURS,
    PLAIN,
    SERVER,
    Group,
    Reply,
    Setting,
    Spread,
    Way,
    acceptance_of,
    ratios,
    same_text,
    show_median,
    show_rate,
    show_ratio,
    speed_of,
)
from benchmarks.peers.server_program import DEFAULT_LOOKAHEAD, Server, Settings
from benchmarks.real.real_models import CONTEXT, RealPair, fresh_caches, opened, real_prompts
from engine.bench.figures import spread
from engine.bench.runs import NGRAM

FIXED = 4
LOOKAHEADS = (2, DEFAULT_LOOKAHEAD, 5, 8)
_INDEX = {
    "ngram-simple": ("--spec-type", "ngram-simple"),
    "ngram-simple 4/16": (
        *("--spec-type", "ngram-simple"),
        *("--spec-ngram-simple-size-n", "4", "--spec-ngram-simple-size-m", "16"),
    ),
}
"""The server's own indices over the text: as it has them by default, and one that looks for shorter repeats."""
_ANY = range(300, 316)
"""Tokens of any vocabulary."""


@dataclass(frozen=True)
class Compared:
    """All replies of a pair, the server's best setting of each group, and other programs' processor shares."""

    pair: RealPair
    replies: Sequence[Reply]
    best: Mapping[Group, Setting]
    others: Sequence[float]

    @property
    def refused(self) -> bool:
        """Return True if the server was measured and has no lookahead: it proposes nothing with the draft."""
        theirs = {reply.way[1] for reply in self.replies if reply.way[0] == SERVER}
        return self.pair.draft is not None and bool(theirs) and not any(map(_is_lookahead, theirs))

    def ratio(self, group: Group, one: Way, other: Way) -> Spread:
        """Return speeds over speeds in the turns that compare, of one group."""
        return spread(ratios([r for r in self.replies if r.group == group and r.phase == COMPARED], one, other))

    def over_best(self, group: Group, way: Way = (OURS, AUTO)) -> Spread:
        """Return the same over the server's best setting."""
        return self.ratio(group, way, (SERVER, self.best[group]))


def compare(pair: RealPair, program: Path | None, args: argparse.Namespace) -> Compared:
    """Measure a pair. `program` None: without the server. Raises ServerFailed, and LoadFailed and its kinds."""
    with ExitStack() as stack:
        stack.enter_context(fresh_caches())
        servers = open_servers(stack, pair, program, args, args.lookaheads, _INDEX) if program else {}
        decoder = stack.enter_context(opened(pair))
        ours = (PLAIN, *((FIXED,) if pair.draft else ()), NGRAM, AUTO)
        wanted = real_prompts(args.sets, args.prompts)
        comparison = Comparison(servers, decoder, wanted, args, ours=ours, theirs=(PLAIN,))
        comparison.run()
    return Compared(pair, comparison.replies, comparison.best, comparison.quiet.others)


def open_servers(
    stack: ExitStack,
    pair: RealPair,
    program: Path,
    args: argparse.Namespace,
    lookaheads: Sequence[int],
    index: Mapping[str, tuple[str, ...]],
) -> dict[Setting, Server]:
    """Run a server for each setting, all at once; those with the draft only where it proposes. Raises ServerFailed.

    With a draft of another vocabulary llama.cpp's server decodes plainly, and says so nowhere but in its log.
    """
    check_memory(pair.size, 1 + len(lookaheads) * (pair.draft is not None) + len(index))

    def run(lookahead: int, *extra: str) -> Server:
        settings = Settings(pair.target, pair.draft, lookahead, args.threads, CONTEXT, extra)
        server = stack.enter_context(Server(program, settings))
        say(f"{pair.name}: a server runs, {lookahead or ' '.join(extra) or 'plain'}")
        return server

    servers: dict[Setting, Server] = {PLAIN: run(PLAIN)}
    for lookahead in lookaheads if pair.draft else ():
        server = run(lookahead)
        if not server.complete(_ANY, 16, {"temperature": 0.0}).proposed:
            server.close()
            break
        servers[lookahead] = server
    return servers | {name: run(PLAIN, *extra) for name, extra in index.items()}


def _is_lookahead(setting: Setting) -> bool:
    return isinstance(setting, int) and setting != PLAIN


def show(found: Compared) -> list[str]:
    """Return the lines about a pair."""
    draft = found.pair.draft is not None
    heads = [
        "prompts, temperature",
        "server plain",
        "server's best",
        "plain",
        *([f"lookahead {FIXED}"] if draft else []),
    ]
    heads += ["n-gram", "auto", "auto / server's best", "auto / plain", "plain / server plain", "auto accepted"]
    lines = [f"**{found.pair.title}**: tokens/s, and ratios with their middle half.", ""]
    lines += [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads), *(_line(found, group) for group in found.best)]
    same, busy = same_text(found.replies), sum(share > Quiet.limit for share in found.others)
    told = (
        f"{same['ours_same']} of {same['ours_replies']} greedy replies of ours are the plain one, token for token. "
        f"During {busy} of {len(found.others)} replies other programs took more than 5 % of the processors."
    )
    lines += ["", told]
    if found.refused:
        lines.append("llama.cpp's server proposes nothing with this draft, whose vocabulary is another one.")
    return lines


def _line(found: Compared, group: Group) -> str:
    mine = [reply for reply in found.replies if reply.group == group and reply.phase == COMPARED]
    best = found.best[group]
    named = f" ({'plain' if best == PLAIN else best})" if found.over_best(group) else ""
    ways: list[Setting] = [PLAIN, *([FIXED] if found.pair.draft else []), NGRAM, AUTO]
    cells = [
        f"{group[0]}, {group[1]:g}",
        show_median(speed_of(mine, (SERVER, PLAIN)), 1),
        show_median(speed_of(mine, (SERVER, best)), 1) + named,
        *(show_median(speed_of(mine, (OURS, way)), 1) for way in ways),
        show_ratio(found.over_best(group)),
        show_ratio(found.ratio(group, (OURS, AUTO), (OURS, PLAIN))),
        show_ratio(found.ratio(group, (OURS, PLAIN), (SERVER, PLAIN))),
        show_rate(acceptance_of(mine, (OURS, AUTO))),
    ]
    return f"| {' | '.join(cells)} |"


def readme_rows(found: Compared) -> Iterator[str]:
    """Yield the rows of README's table."""
    drafting = "no draft" if found.refused or not found.pair.draft else "the same draft"
    rows = (
        (f"llama.cpp's server, its best setting for each set, {drafting}", (OURS, AUTO), None),
        ("llama.cpp's server without drafting, plain decoding in both", (OURS, PLAIN), (SERVER, PLAIN)),
        ("plain decoding in Outrider", (OURS, AUTO), (OURS, PLAIN)),
    )
    for compared_with, one, other in rows:
        each = [found.ratio(group, one, other or (SERVER, best)) for group, best in found.best.items()]
        medians = [ratio["median"] for ratio in each if ratio is not None]
        if medians:
            span = f"{min(medians):.2f}–{max(medians):.2f}"
            yield f"| {found.pair.title} | {compared_with} | {geometric_mean(medians):.2f} ({span}) |"
