"""Replies of ours and of llama.cpp's own server, with the same target, draft, threads, prompts and sampling, in turns.

One server runs for each setting, all at once, and they answer beginning with another one each time. For each set of
prompts and each temperature the *sweeps* choose the server's best setting (those that are far behind are left out of
further sweeps), and new *turns* compare. Tokens/s leave the prompt out on both sides: it is in the cache when the clock
starts. The server counts the tokens after the first, from the time when the first was drawn; ours counts all, from
before the forward that draws the first.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import psutil

from benchmarks.machine import Quiet, say
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
    ratios,
    show_ratio,
)
from benchmarks.peers.server_program import DEFAULT_LOOKAHEAD, Server, ServerFailed
from engine import SpeculativeDecoder
from engine.bench.figures import spread
from engine.bench.prompts import BenchPrompt
from engine.bench.runs import NGRAM, PreparedPrompt, prepare
from engine.config import SamplingConfig, check_lookahead
from engine.options import GenerationOptions

TOP = {"top_k": 40, "top_p": 0.95, "min_p": 0.05}
"""Sampling limits where tokens are drawn: the server's defaults, given to both sides."""


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
    beside its best one; replies, and best (the server's setting of each group), once `run`; quiet.
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
        self.replies: list[Reply] = []
        self.best: dict[Group, Setting] = {}
        self._seed = 0

    def _servers_s(self) -> float:
        return sum(each.processor_s() for each in self.servers.values())

    def run(self) -> None:
        """Measure everything."""
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
        """Measure all sides on one prompt in a row, so that it is read once and stays in the caches."""
        self._seed += 1
        first = self._seed % len(ways)
        for way in [*ways[first:], *ways[:first]]:
            yield self.quiet.measure(partial(self._reply, way, prompt, group, phase, turn))

    def _reply(self, way: Way, prompt: PreparedPrompt, group: Group, phase: str, turn: int) -> Reply:
        """Measure a reply to a prompt read before. Both sides get one seed, though they draw in different ways."""
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
        compared = [reply for reply in replies if reply.group == group and reply.phase == COMPARED]
        over_best = show_ratio(spread(ratios(compared, (OURS, AUTO), (SERVER, best))))
        return f"{group[0]}, {group[1]:g}: auto / best (at {best}) {over_best}"
