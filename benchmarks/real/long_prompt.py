"""Measure published models on a prompt of 2,800 tokens: the time to read it, and the speed of the reply."""

import argparse
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.machine import Quiet, say
from benchmarks.peers.server_figures import AUTO, OURS, PLAIN, SERVER, Setting, Way, show_median, show_ratio
from benchmarks.peers.server_program import DEFAULT_LOOKAHEAD, Server
from benchmarks.real.against_server import open_servers
from benchmarks.real.real_models import RealPair, fresh_caches, opened
from engine import SpeculativeDecoder
from engine.bench.figures import spread
from engine.bench.runs import balanced_order
from engine.config import check_lookahead
from helpers.paths import ROOT

LENGTH = 2800
_TEXTS = ("ARCHITECTURE.md", "CONTRIBUTING.md")
_QUESTION = "\n\nIn a few sentences: what is this page about?"
_GREEDY = {"temperature": 0.0, "top_k": 40, "top_p": 0.95, "min_p": 0.05, "seed": 0}


@dataclass(frozen=True)
class Long:
    """Hold, by way, seconds to read the prompt and tokens/s of the reply, one of each turn."""

    pair: RealPair
    read_s: Mapping[Way, Sequence[float]]
    speeds: Mapping[Way, Sequence[float]]


def measure_long(pair: RealPair, program: Path | None, args: argparse.Namespace) -> Long:
    """Measure a pair. `program` None: without the server. Raises ServerFailed, and LoadFailed and its kinds."""
    with ExitStack() as stack:
        stack.enter_context(fresh_caches())
        servers: dict[Setting, Server] = {}
        if program is not None:
            servers = open_servers(stack, pair, program, args, [DEFAULT_LOOKAHEAD], {})
        decoder = stack.enter_context(opened(pair))
        ways: list[Way] = [*((SERVER, setting) for setting in servers), (OURS, PLAIN), (OURS, AUTO)]
        prompt = long_prompt(decoder)
        read: dict[Way, list[float]] = {way: [] for way in ways}
        speeds: dict[Way, list[float]] = {way: [] for way in ways}
        quiet = Quiet(args.patience, helping_s=lambda: sum(server.processor_s() for server in servers.values()))
        decoder.generate(prompt[:64], max_tokens=8, lookahead="auto")
        for turn in range(args.turns):
            for place in balanced_order(len(ways), turn):
                way = ways[place]
                found = quiet.measure(partial(_reply, servers, decoder, way, prompt, args.tokens))
                read[way].append(found[0])
                speeds[way].append(found[1])
            say(f"{pair.name}, long prompt: turn {turn + 1} of {args.turns}")
    return Long(pair, read, speeds)


def long_prompt(decoder: SpeculativeDecoder) -> list[int]:
    """Return `LENGTH` tokens: this project's own pages, and a question about them."""
    assert decoder.target is not None
    tokenizer = decoder.target.tokenizer
    text = "".join((ROOT / name).read_text(encoding="utf-8") for name in _TEXTS)
    question = tokenizer.encode(_QUESTION, add_special=False, parse_special=False)
    page = tokenizer.encode(text, add_special=True, parse_special=False)
    return [*page[: LENGTH - len(question)], *question]


def _reply(
    servers: Mapping[Setting, Server], decoder: SpeculativeDecoder, way: Way, prompt: list[int], most: int
) -> tuple[float, float]:
    """Return seconds to read the prompt, with empty caches, and tokens/s of the reply."""
    if way[0] == SERVER:
        answer = servers[way[1]].complete(prompt, most, _GREEDY, cached=False)
        return answer.read_ms / 1000.0, answer.speed
    for backend in (decoder.target, decoder.draft):
        if backend is not None:
            backend.truncate(0)
    stats = decoder.generate(prompt, max_tokens=most, lookahead=check_lookahead(way[1])).stats
    return stats.prompt_ms / 1000.0, stats.tokens_per_second


def show(found: Sequence[Long]) -> list[str]:
    """Return the table."""
    how = (
        f"This project's own pages as a prompt of {LENGTH:,} tokens that nothing has read before, greedy; medians, "
        "ratios with their middle half. The server counts what its draft reads to the tokens behind the prompt."
    )
    heads = ["", "prompt read, s", "ours / server", "tokens/s behind it", "ours / server"]
    lines = [how, "", f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    for each in found:
        lines += [_line(each, way) for way in each.speeds]
    return lines


def _line(each: Long, way: Way) -> str:
    plain = way[1] == PLAIN
    drafting = (SERVER, DEFAULT_LOOKAHEAD)
    rival = (SERVER, PLAIN) if plain or drafting not in each.speeds else drafting
    cells = [
        f"{each.pair.title}, {way[0]}, {'plain' if plain else way[1] if way[0] == OURS else f'lookahead {way[1]}'}"
    ]
    for values, digits in ((each.read_s, 2), (each.speeds, 1)):
        both = zip(values[way], values[rival], strict=True) if way[0] == OURS and rival in values else ()
        cells += [
            show_median(spread(values[way]), digits),
            show_ratio(spread([one / other for one, other in both if other])),
        ]
    return f"| {' | '.join(cells)} |"
