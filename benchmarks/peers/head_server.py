"""Draft heads against llama.cpp's own server with each of its types: the same target and head files, in turns.

    make bench ARGS="head_server [--types eagle3,mtp,assistant,dflash,dflash2,dspark] [--lookaheads 1,2,3,5,8]
                     [--turns 2] [--tokens 48]"

EAGLE-3 is the demo target with its head, both grown to a billion weights (Q8_0), and answers the bundled prompts. The
other types are made models of some 60 million random weights (float32), whose heads guess what their construction makes
likely; they answer prompts of chance, and say what a round costs rather than what a head is worth. One server runs for
each lookahead, all of a type at once.

*Counts*: greedy replies, half of them to their end and half without one, one fixed lookahead after the other: how many
tokens each side proposed, and how many were accepted. The must: within 2 %.

*Speeds*, in tokens/s behind the first token, at temperature 0 and 0.8: the server plain, with its default lookahead and
with the best of its sweep, which other turns choose; ours plain, with that same best lookahead, and auto. A ratio is
the median over replies to the same prompt in the same turn. The must for EAGLE-3: 1.5 times the server's best.

Gives 0 if the musts are met, 1 if not, 2 if it could not be measured.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from signal import SIGTERM, signal
from statistics import geometric_mean
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.grown.head_growth import grown_head
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
    ratios,
)
from benchmarks.peers.server_options import CONTEXT, FOLDER, TOP, parse, say, server_parser
from benchmarks.peers.server_program import DEFAULT_LOOKAHEAD, Server, ServerFailed, Settings
from engine import LoadConfig, SpeculativeDecoder, bundled_pair
from engine.bench.figures import spread
from engine.bench.prompts import bundled_prompts
from engine.bench.runs import PreparedPrompt, prepare
from engine.config import SamplingConfig
from engine.errors import GrowthError
from engine.growth.arithmetic import FULL
from engine.growth.grown import grown_target
from engine.library.names import resolve_source
from engine.system.machine import describe_machine
from helpers.heads.dflash import write_dflash
from helpers.heads.eagle import write_plain_target
from helpers.heads.gemma4 import Gemma, write_assistant, write_gemma4
from helpers.heads.mtp import write_mtp_target
from helpers.models.hybrid_model import Size

ASSISTANT = "assistant"
"""MTP in a file of its own that reads the cache of a Gemma 4."""
DFLASH2 = "dflash2"
"""DFlash that chooses each token by the one before; both sides know it by the file."""
TYPES = ("eagle3", "mtp", ASSISTANT, "dflash", DFLASH2, "dspark")
LOOKAHEADS = (1, 2, DEFAULT_LOOKAHEAD, 5, 8)
COUNTS_WITHIN, OVER_BEST = 0.02, 1.5
_LAYERS, _WIDTH, _VOCABULARY = 8, 640, 4096
_PROMPT_TOKENS = 12


@dataclass(frozen=True)
class Pair:
    """A target and the file of its head, which is its own with MTP."""

    kind: str
    target: Path
    head: Path

    @property
    def method(self) -> str:
        """The draft method, as both sides call it."""
        return {ASSISTANT: "mtp", DFLASH2: "dflash"}.get(self.kind, self.kind)


def make_pair(kind: str, folder: Path, to: Path | None = None, *, small: bool = False) -> Pair:
    """The files of a type; `small`: nothing grown or large, for counts. Raises GrowthError."""
    width, layers = (64, 4) if small else (_WIDTH, _LAYERS)
    if kind == "eagle3" and small:
        return Pair(kind, bundled_pair()[0], resolve_source("demo-head"))
    if kind == "eagle3":
        return Pair(kind, grown_target("q8_0", FULL, folder=to, say=say), grown_head("q8_0", FULL, folder=to))
    if kind == "mtp":
        size = Size(layers=layers, width=width, inner=2 * width, heads=4, vocabulary=_VOCABULARY)
        target = write_mtp_target(folder / "mtp.gguf", size=size)
        return Pair(kind, target, target)
    if kind == ASSISTANT:
        gemma = Gemma(layers=layers, width=width, inner=2 * width, vocabulary=_VOCABULARY, context=CONTEXT)
        target = write_gemma4(folder / "gemma4.gguf", gemma)
        return Pair(kind, target, write_assistant(folder / "assistant.gguf", target, gemma, width=width - 32))
    target = folder / "blocks.gguf"
    if not target.exists():
        write_plain_target(target, layers=layers, width=width, vocabulary=_VOCABULARY, mixing=0.25)
    read, selector = (1, 2, layers - 2), 6 if kind == DFLASH2 else 0
    head = write_dflash(folder / f"{kind}.gguf", target, block=9, read=read, markov=kind == "dspark", selector=selector)
    return Pair(kind, target, head)


def main() -> int:
    """Measure and print."""
    args = _parse()
    # Ended from outside it ends its servers too.
    signal(SIGTERM, lambda *_: sys.exit(2))
    report: dict[str, Any] = {"machine": describe_machine(), "types": {}}
    try:
        program = args.server or build_server(FOLDER)
        with TemporaryDirectory() as folder:
            for kind in args.types:
                report["types"][kind] = _measure(
                    make_pair(kind, Path(folder), args.to, small=args.small), program, args
                )
                found = report["types"][kind]
                say(f"{kind}: counts within {found['counts_within']:.1%}: {found['counts']}")
    except (GrowthError, NotBuilt, ServerFailed) as error:
        print(f"llama.cpp's server could not be compared with: {error}", file=sys.stderr)
        return 2
    print(json.dumps(report) if args.json else _text(report, args))
    return 0 if all(_met(kind, found) for kind, found in report["types"].items()) else 1


def _met(kind: str, found: dict[str, Any]) -> bool:
    mean = _mean_over_best(found)
    enough = kind != "eagle3" or mean is None or mean >= OVER_BEST
    return bool(found["counts_within"] <= COUNTS_WITHIN and enough)


def _mean_over_best(found: dict[str, Any]) -> float | None:
    best = [row["auto_over_best"]["median"] for row in found["rows"] if row["auto_over_best"] is not None]
    return geometric_mean(best) if best else None


def _parse() -> argparse.Namespace:
    parser = server_parser(__doc__, "type", TYPES, default=TYPES, lookaheads=LOOKAHEADS, prompts=1, tokens=48, turns=2)
    add = parser.add_argument
    add("--counted", type=int, default=128, metavar="N", help="tokens of a reply whose proposals are counted (128)")
    add("--small", action="store_true", help="the demo pair as it is and tiny models: for counts, not for speeds")
    args = parse(parser, "type", TYPES, ("prompts", "tokens", "counted"))
    if min(args.lookaheads) < 1 or args.turns < 0:
        parser.error("the lookaheads must be above 0, and no turn below it")
    return args


def _measure(pair: Pair, program: Path, args: argparse.Namespace) -> dict[str, Any]:
    """The figures of one type. Raises ServerFailed."""
    with ExitStack() as stack:
        servers = {}
        for lookahead in (PLAIN, *args.lookaheads):
            own = None if pair.head == pair.target else pair.head
            settings = Settings(pair.target, own, lookahead, args.threads, CONTEXT, kind=f"draft-{pair.method}")
            servers[lookahead] = stack.enter_context(Server(program, settings))
        decoder = stack.enter_context(SpeculativeDecoder())
        decoder.attach_target(LoadConfig(pair.target, context_length=CONTEXT, threads=args.threads, trusted=True))
        decoder.attach_heads(LoadConfig(pair.head, trusted=True))
        return Comparison(pair, servers, decoder, args).run()


class Comparison:
    """All replies of one type. Raises ServerFailed."""

    def __init__(
        self, pair: Pair, servers: dict[int, Server], decoder: SpeculativeDecoder, args: argparse.Namespace
    ) -> None:
        self.pair, self.servers, self.decoder, self.args = pair, servers, decoder, args
        self.quiet = Quiet(args.patience, helping_s=self._servers_s, sample_s=0.1)
        self._seed = 0

    def _servers_s(self) -> float:
        return sum(each.processor_s() for each in self.servers.values())

    def run(self) -> dict[str, Any]:
        """Count, then measure: counts by lookahead, rows by temperature."""
        prompts = self._prompts()
        counts = {lookahead: self._counts(prompts, lookahead) for lookahead in self.servers if lookahead}
        off = [abs(ours - theirs) / max(theirs, 1) for row in counts.values() for ours, theirs in row.values()]
        found: dict[str, Any] = {"counts": counts, "counts_within": max(off, default=0.0), "rows": []}
        for temperature in self.args.temperatures if self.args.turns else ():
            found["rows"].append(self._row(prompts, (self.pair.kind, temperature)))
            say(
                f"{self.pair.kind}, {temperature:g}: {_shown(found['rows'][-1]['auto_over_best'])} of the server's best"
            )
        return found | {"others": self.quiet.others}

    def _prompts(self) -> tuple[PreparedPrompt, ...]:
        assert self.decoder.target is not None
        if self.pair.kind == "eagle3":
            found, _ = prepare(self.decoder.target, bundled_prompts(self.args.prompts), max_tokens=self.args.tokens)
            # Each has a number in its category: here they are compared all together.
            return tuple(replace(prompt, number=index) for index, prompt in enumerate(found))
        rng = np.random.default_rng(7)
        drawn = rng.integers(300, _VOCABULARY, (8 * self.args.prompts, _PROMPT_TOKENS)).tolist()
        return tuple(
            PreparedPrompt("chance", index, tuple(tokens), self.args.tokens) for index, tokens in enumerate(drawn)
        )

    def _counts(self, prompts: Sequence[PreparedPrompt], lookahead: int) -> dict[str, tuple[int, int]]:
        """Proposed and accepted of all greedy replies: ours, the server's."""
        total = np.zeros((2, 2), int)
        most = self.args.counted
        for prompt, on in product(prompts, (False, True)):
            greedy = {"temperature": 0.0, "seed": 1, "ignore_eos": on, "cache_prompt": False}
            answer = self.servers[lookahead].complete(prompt.tokens, most, greedy)
            result = self.decoder.generate(
                prompt.tokens,
                temperature=0.0,
                ignore_eos=on,
                method=self.pair.method,
                lookahead=lookahead,
                max_tokens=most,
            )
            if result.tokens != answer.tokens:
                say(f"{self.pair.kind} at {lookahead}, prompt {prompt.number}: the texts part, left out")
                continue
            total += [[result.stats.proposed, answer.proposed], [result.stats.accepted, answer.accepted]]
        return {
            "proposed": (int(total[0, 0]), int(total[0, 1])),
            "accepted": (int(total[1, 0]), int(total[1, 1])),
        }

    def _row(self, prompts: Sequence[PreparedPrompt], group: Group) -> dict[str, Any]:
        replies: list[Reply] = []
        lookaheads: list[Setting] = list(self.servers)
        for prompt in prompts:
            replies += self._turn([(SERVER, each) for each in lookaheads], prompt, group, SWEEP, 0)
            lookaheads = contenders(replies)
        best = choose_best(replies)
        fixed = best or DEFAULT_LOOKAHEAD
        theirs = dict.fromkeys((PLAIN, DEFAULT_LOOKAHEAD, best))
        ways: list[Way] = [*((SERVER, each) for each in theirs), (OURS, PLAIN), (OURS, fixed), (OURS, AUTO)]
        for prompt in prompts:
            for turn in range(-1, self.args.turns):  # In the first one auto learns; it is not counted.
                found = self._turn(ways if turn >= 0 else [(OURS, AUTO)], prompt, group, COMPARED, turn)
                replies += found if turn >= 0 else []
        compared = [reply for reply in replies if reply.phase == COMPARED]
        swept = [reply for reply in replies if reply.phase == SWEEP]

        def speed(way: Way) -> dict[str, float] | None:
            return spread([each.speed for each in compared if each.way == way and each.speed > 0.0])

        return {
            "temperature": group[1],
            "best": best,
            "fixed": fixed,
            "speeds": {f"{side} {how}": speed((side, how)) for side, how in ways},
            "server_plain": speed((SERVER, PLAIN)),
            "server_default": speed((SERVER, DEFAULT_LOOKAHEAD)),
            "server_best": speed((SERVER, best)),
            "plain": speed((OURS, PLAIN)),
            "fixed_speed": speed((OURS, fixed)),
            "auto": speed((OURS, AUTO)),
            "auto_over_best": spread(ratios(compared, (OURS, AUTO), (SERVER, best))),
            "auto_over_default": spread(ratios(compared, (OURS, AUTO), (SERVER, DEFAULT_LOOKAHEAD))),
            "auto_over_plain": spread(ratios(compared, (OURS, AUTO), (OURS, PLAIN))),
            "fixed_over_server": spread(ratios(compared, (OURS, fixed), (SERVER, fixed))),
            "server_best_over_plain": spread(ratios(compared, (SERVER, best), (SERVER, PLAIN))),
            "sweep": {each: spread(ratios(swept, (SERVER, each), (SERVER, PLAIN))) for each in self.servers},
        }

    def _turn(self, ways: Sequence[Way], prompt: PreparedPrompt, group: Group, phase: str, turn: int) -> list[Reply]:
        """Replies of all ways to a prompt, beginning with another one each time."""
        self._seed += 1
        first = self._seed % len(ways)
        order = [*ways[first:], *ways[:first]]
        return [self.quiet.measure(partial(self._reply, way, prompt, group, phase, turn)) for way in order]

    def _reply(self, way: Way, prompt: PreparedPrompt, group: Group, phase: str, turn: int) -> Reply:
        """A reply whose prompt was read before."""
        found = self._ask_server if way[0] == SERVER else self._generate
        found(way, prompt, group[1], 1)
        speed, proposed, accepted, tokens = found(way, prompt, group[1], prompt.max_tokens)
        return Reply(way, group, phase, prompt.number, turn, speed, proposed, accepted, tokens)

    def _ask_server(
        self, way: Way, prompt: PreparedPrompt, temperature: float, most: int
    ) -> tuple[float, int, int, tuple[int, ...]]:
        sampling = {"temperature": temperature, "seed": self._seed, **TOP}
        answer = self.servers[int(way[1])].complete(prompt.tokens, most, sampling)
        return answer.speed, answer.proposed, answer.accepted, answer.tokens

    def _generate(
        self, way: Way, prompt: PreparedPrompt, temperature: float, most: int
    ) -> tuple[float, int, int, tuple[int, ...]]:
        sampling = SamplingConfig(temperature=temperature, seed=self._seed, **TOP)  # type: ignore[arg-type]
        how: dict[str, Any] = {"lookahead": way[1]}
        if way[1] not in (PLAIN, AUTO):
            how["method"] = self.pair.method
        result = self.decoder.generate(prompt.tokens, sampling=sampling, max_tokens=most, **how)
        return result.stats.tokens_per_second, result.stats.proposed, result.stats.accepted, result.tokens


def _text(report: dict[str, Any], args: argparse.Namespace) -> str:
    made = "the others are made models of chance" if set(report["types"]) - {"eagle3"} else ""
    pair = (
        "the bundled target with its head"
        if args.small
        else f"the demo target grown ({FULL}, Q8_0) with its grown head"
    )
    eagle = f"EAGLE-3: {pair}" if "eagle3" in report["types"] else ""
    models = "; ".join(each for each in (eagle, made) if each)
    lines = [
        "## Draft heads against llama.cpp's own server",
        "",
        f"The server of the same llama.cpp, with its default options and no kernels of ours; threads: {args.threads}.",
        f"{models[0].upper()}{models[1:]}.",
        "",
        "Tokens that were proposed and accepted in greedy replies (ours, the server's):",
        "",
        "| type | lookahead | proposed | accepted |",
        "|---|---|---|---|",
    ]
    for kind, found in report["types"].items():
        for lookahead, row in found["counts"].items():
            cells = (f"{ours}, {theirs}" for ours, theirs in (row["proposed"], row["accepted"]))
            lines.append(f"| {kind} | {lookahead} | {' | '.join(cells)} |")
    if args.turns:
        lines += ["", *_speeds(report)]
    lines.append("")
    for kind, found in report["types"].items():
        must = f"{kind}: counts within {found['counts_within']:.1%}, must {COUNTS_WITHIN:.0%}"
        if kind == "eagle3" and (mean := _mean_over_best(found)) is not None:
            must += f"; auto over the server's best {mean:.2f}, must {OVER_BEST}"
        lines.append(f"- {must}: {'met' if _met(kind, found) else 'NOT met'}")
        if found["others"]:
            busy, whole = sum(share > Quiet.limit for share in found["others"]), len(found["others"])
            lines.append(f"- During {busy} of {whole} replies other programs took more than 5 % of the processors.")
    return "\n".join(lines)


def _speeds(report: dict[str, Any]) -> list[str]:
    heads = (
        *("type, temperature", "server plain", f"server at {DEFAULT_LOOKAHEAD} (default)", "server's best"),
        *("ours plain", "ours, fixed", "auto"),
        *("auto / best", "auto / default", "auto / ours plain", "same lookahead", "best / server plain"),
    )
    lines = ["Tokens/s, and ratios with their middle half:", "", f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for kind, found in report["types"].items():
        for row in found["rows"]:
            columns = (
                f"{kind}, {row['temperature']:g}",
                *(_middle(row[name]) for name in ("server_plain", "server_default")),
                f"{_middle(row['server_best'])} (at {row['best']})",
                _middle(row["plain"]),
                f"{_middle(row['fixed_speed'])} (at {row['fixed']})",
                _middle(row["auto"]),
                *(_shown(row[f"auto_over_{name}"]) for name in ("best", "default", "plain")),
                _shown(row["fixed_over_server"]),
                _shown(row["server_best_over_plain"]),
            )
            lines.append(f"| {' | '.join(columns)} |")
    return lines


def _shown(found: dict[str, float] | None) -> str:
    return "–" if found is None else f"{found['median']:.2f} ({found['low']:.2f}–{found['high']:.2f})"


def _middle(found: dict[str, float] | None) -> str:
    return "–" if found is None else f"{found['median']:.1f}"


if __name__ == "__main__":
    sys.exit(main())
