"""Auto against llama.cpp's own server, with the same target, draft, threads, prompts and sampling.

    make bench ARGS="server [--kinds q8_0,q4_0] [--tokens 32] [--prompts 2] [--sweeps 2] [--turns 3]"

The target is the grown demo target, the draft the demo draft. One server runs for each lookahead (0 is plain decoding;
the server's API has no lookahead of a request), all at once, and they answer in turns, beginning with another one each
time. For each set of prompts and each temperature the *sweeps* choose the server's best lookahead (those that are far
behind are left out of further sweeps), and new *turns* compare: the server plain, with its default and with that best,
ours plain and auto. A ratio is the median over replies to the same prompt in the same turn.

Tokens/s leave the prompt out on both sides: it is in the cache when the clock starts. The server counts the tokens
after the first, from the time when the first was drawn; ours counts all, from before the forward that draws the first.
The server's kernels are its own, so that greedy texts may part where two tokens are close.

The musts: over the server's default 1.15 in the geometric mean and no set below 1 by more than its spread; over its
best 1.0 in the geometric mean and 0.97 on every set. With the sizes that are set it takes some ten minutes a kind.
Gives 0 if the musts are met, 1 if not, 2 if it could not be measured.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path
from signal import SIGTERM, signal
from time import perf_counter
from typing import Any

import psutil

from benchmarks.machine import Quiet
from benchmarks.peers.llama_programs import NotBuilt, build_server
from benchmarks.peers.server_figures import (
    AUTO,
    COMPARED,
    OURS,
    PLAIN,
    SERVER,
    SWEEP,
    Group,
    Reply,
    Setting,
    Way,
    choose_best,
    contenders,
    summarise,
    tables,
)
from benchmarks.peers.server_options import CONTEXT, FOLDER, TOP, parse, say, server_parser
from benchmarks.peers.server_program import DEFAULT_LOOKAHEAD, Server, ServerFailed, Settings
from engine import LoadConfig, SpeculativeDecoder, bundled_pair
from engine.bench.prompts import BenchPrompt, bundled_prompts
from engine.bench.runs import NGRAM, PreparedPrompt, prepare
from engine.config import SamplingConfig, check_lookahead
from engine.errors import GrowthError
from engine.growth.arithmetic import FULL, GrownKind
from engine.growth.grown import grown_target
from engine.options import GenerationOptions
from engine.system.machine import describe_machine

LOOKAHEADS = (1, 2, DEFAULT_LOOKAHEAD, 5, 7, 11, 16)


def main() -> int:
    """Measure and print."""
    args = _parse()
    # Ended from outside it ends its servers too.
    signal(SIGTERM, lambda *_: sys.exit(2))
    busy = psutil.cpu_percent(interval=3.0)
    report: dict[str, Any] = {"machine": describe_machine(), "busy_before_percent": busy, "kinds": {}}
    report["settings"] = {name: str(value) for name, value in vars(args).items()}
    try:
        program = args.server or build_server(FOLDER)
        for kind in args.kinds:
            report["kinds"][kind] = _measure_kind(grown_target(kind, FULL, folder=args.to, say=say), program, args)
    except (GrowthError, NotBuilt, ServerFailed) as error:
        print(f"llama.cpp's server could not be compared with: {error}", file=sys.stderr)
        return 2
    text = _text(report, args)
    print(json.dumps(report) if args.json else text)
    return 0 if all(must["met"] for found in report["kinds"].values() for must in found["musts"].values()) else 1


def _parse() -> argparse.Namespace:
    kinds: tuple[GrownKind, ...] = ("q8_0", "q4_0", "f16")
    parser = server_parser(
        __doc__, "kind", kinds, default=["q8_0"], lookaheads=(PLAIN, *LOOKAHEADS), prompts=2, tokens=32, turns=3
    )
    add = parser.add_argument
    add("--categories", type=lambda text: text.split(","), metavar="NAME,…", help="of the prompts (all)")
    add("--sweeps", type=int, default=2, metavar="N", help="turns that choose the server's best lookahead (2)")
    add("--server-options", type=str.split, default=[], metavar="TEXT", help="more arguments for every server")
    return parse(parser, "kind", kinds, ("prompts", "tokens", "sweeps", "turns"))


def _measure_kind(path: Path, program: Path, args: argparse.Namespace) -> dict[str, Any]:
    """The figures of one target. Raises ServerFailed."""
    check_memory(path.stat().st_size, len(args.lookaheads))
    with ExitStack() as stack:
        servers = {}
        for lookahead in args.lookaheads:
            extra = tuple(args.server_options)
            settings = Settings(path, bundled_pair()[1], lookahead, args.threads, CONTEXT, extra)
            servers[lookahead] = stack.enter_context(Server(program, settings))
            say(f"{path.name}: server with lookahead {lookahead} runs")
        decoder = stack.enter_context(SpeculativeDecoder())
        decoder.attach_target(LoadConfig(path, context_length=CONTEXT, threads=args.threads, trusted=True))
        decoder.attach_draft(LoadConfig(bundled_pair()[1], context_length=CONTEXT, trusted=True))
        wanted = bundled_prompts(args.prompts)
        if args.categories:
            wanted = tuple(prompt for prompt in wanted if prompt.category in args.categories)
        return Comparison(servers, decoder, wanted, args).run()


def check_memory(size: int, servers: int) -> None:
    """Check that so many servers of models of so many bytes fit beside our own program. Raises ServerFailed.

    Each process keeps weights of its own in the worst case.
    """
    needed, free = 1.4 * size * (servers + 1), psutil.virtual_memory().available
    if needed > free:
        raise ServerFailed(
            f"{servers} servers and our own program may need {needed / 2**30:.0f} GiB, and {free / 2**30:.0f} GiB are "
            "free. Ask for fewer --lookaheads."
        )


class Comparison:
    """All replies to one target. Raises ServerFailed.

    Attributes: servers by setting, decoder (loaded), wanted (the prompts), args (tokens, temperatures, sweeps, turns,
    patience); ours: our ways, a lookahead or the n-gram index each; theirs: the server's settings that are compared
    beside its best one; replies, and best (the server's setting of each group), once `run`; quiet, and idle (of each
    reply, the share of one processor that the servers took whose turn it was not).
    """

    def __init__(
        self,
        servers: Mapping[Setting, Server],
        decoder: SpeculativeDecoder,
        wanted: Sequence[BenchPrompt],
        args: argparse.Namespace,
        *,
        ours: Sequence[Setting] = (PLAIN, AUTO),
        theirs: Sequence[Setting] = (PLAIN, DEFAULT_LOOKAHEAD),
    ) -> None:
        self.servers, self.decoder, self.wanted, self.args = servers, decoder, wanted, args
        self.ours, self.theirs = [(OURS, way) for way in ours], theirs
        self.quiet = Quiet(args.patience, helping_s=self._servers_s, sample_s=0.1)
        self.idle: list[float] = []
        self.replies: list[Reply] = []
        self.best: dict[Group, Setting] = {}
        self._seed = 0

    def _servers_s(self) -> float:
        return sum(each.processor_s() for each in self.servers.values())

    def run(self) -> dict[str, Any]:
        """Measure everything: the figures of server_figures.summarise, and how quiet it was."""
        assert self.decoder.target is not None
        prompts, _ = prepare(self.decoder.target, self.wanted, max_tokens=self.args.tokens)
        self._warm_up(prompts[0])
        replies, best = self.replies, self.best
        for category in dict.fromkeys(prompt.category for prompt in prompts):
            for temperature in self.args.temperatures:
                group = category, temperature
                mine = [prompt for prompt in prompts if prompt.category == category]
                replies += self._sweep(mine, group)
                best[group] = choose_best([r for r in replies if r.group == group])
                replies += list(self._compare(mine, group, best[group]))
                say(self._progress(replies, group, best[group]))
        return summarise(replies, best) | {
            "repeated": self.quiet.repeated,
            "others": self.quiet.others,
            "idle_servers": max(self.idle, default=0.0),
            "replies": [asdict(reply) | {"tokens": len(reply.tokens)} for reply in replies],
        }

    def _warm_up(self, prompt: PreparedPrompt) -> None:
        for way in [*((SERVER, setting) for setting in self.servers), *self.ours]:
            self._reply(way, prompt, (prompt.category, 0.0), SWEEP, 0)

    def _sweep(self, prompts: Sequence[PreparedPrompt], group: Group) -> list[Reply]:
        found: list[Reply] = []
        settings = list(self.servers)
        for prompt in prompts:
            for turn in range(self.args.sweeps if len(settings) > 1 else 0):
                found += self._turn([(SERVER, setting) for setting in settings], prompt, group, SWEEP, turn)
                settings = contenders(found)
        return found

    def _compare(self, prompts: Sequence[PreparedPrompt], group: Group, best: Setting) -> Iterator[Reply]:
        theirs = [setting for setting in dict.fromkeys((*self.theirs, best)) if setting in self.servers]
        ways: list[Way] = [*((SERVER, setting) for setting in theirs), *self.ours]
        for prompt in prompts:
            for turn in range(self.args.turns):
                yield from self._turn(ways, prompt, group, COMPARED, turn)

    def _turn(self, ways: list[Way], prompt: PreparedPrompt, group: Group, phase: str, turn: int) -> Iterator[Reply]:
        """A prompt's turns follow each other, so that it is read once and stays in the caches."""
        self._seed += 1
        first = self._seed % len(ways)
        for way in [*ways[first:], *ways[:first]]:
            yield self._measure(way, prompt, group, phase, turn)

    def _measure(self, way: Way, prompt: PreparedPrompt, group: Group, phase: str, turn: int) -> Reply:
        waiting = [each for lookahead, each in self.servers.items() if way != (SERVER, lookahead)]
        before, began = sum(each.processor_s() for each in waiting), perf_counter()
        reply = self.quiet.measure(partial(self._reply, way, prompt, group, phase, turn))
        self.idle.append((sum(each.processor_s() for each in waiting) - before) / (perf_counter() - began))
        return reply

    def _reply(self, way: Way, prompt: PreparedPrompt, group: Group, phase: str, turn: int) -> Reply:
        """A reply whose prompt was read before. Both sides get the same seed, though they draw in different ways."""
        found = self._ask_server if way[0] == SERVER else self._generate
        found(way, prompt, group[1], 1)
        speed, proposed, accepted, tokens = found(way, prompt, group[1], prompt.max_tokens)
        return Reply(way, group, phase, prompt.number, turn, speed, proposed, accepted, tokens)

    def _ask_server(
        self, way: Way, prompt: PreparedPrompt, temperature: float, most: int
    ) -> tuple[float, int, int, tuple[int, ...]]:
        sampling = {"temperature": temperature, "seed": self._seed, **TOP}
        answer = self.servers[way[1]].complete(prompt.tokens, most, sampling)
        return answer.speed, answer.proposed, answer.accepted, answer.tokens

    def _generate(
        self, way: Way, prompt: PreparedPrompt, temperature: float, most: int
    ) -> tuple[float, int, int, tuple[int, ...]]:
        sampling = SamplingConfig(temperature=temperature, seed=self._seed, **TOP)  # type: ignore[arg-type]
        options: GenerationOptions = {"sampling": sampling, "max_tokens": most}
        options |= {"method": NGRAM} if way[1] == NGRAM else {"lookahead": check_lookahead(way[1])}
        result = self.decoder.generate(prompt.tokens, **options)
        stats = result.stats
        return stats.tokens_per_second, stats.proposed, stats.accepted, result.tokens

    def _progress(self, replies: list[Reply], group: Group, best: Setting) -> str:
        row = summarise([reply for reply in replies if reply.group == group], {group: best})["sets"][0]
        default, over_best = row["auto_over_default"], row["auto_over_best"]
        shown = [f"{each['median']:.2f}" if each else "–" for each in (default, over_best)]
        return f"{group[0]}, {group[1]:g}: auto / default {shown[0]}, auto / best (at {best}) {shown[1]}"


def _text(report: dict[str, Any], args: argparse.Namespace) -> str:
    where = (
        "The server of the same llama.cpp, built with its default options and without kernels of ours; "
        f"{args.threads} threads, replies of {args.tokens} tokens at most. Drawn tokens: top-k 40, top-p 0.95, "
        "min-p 0.05. Its best lookahead was chosen in other turns than those that compare."
    )
    lines = [f"## Auto against llama.cpp's own server, grown demo target ({FULL})", "", where]
    for kind, found in report["kinds"].items():
        busy = sum(share > Quiet.limit for share in found["others"])
        lines += ["", *tables(kind, found)]
        lines.append(
            f"- During {busy} of {len(found['others'])} replies other programs took more than 5 % of the processors; "
            f"the servers whose turn it was not took at most {found['idle_servers']:.1%} of one."
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
