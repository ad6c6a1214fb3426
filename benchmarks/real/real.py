"""Measure published models as people run them: against llama.cpp's server, beside busy programs, from the first reply.

    make bench ARGS="real [--only speeds,busy,auto,cold,memory] [--quick] [--turns N] [--pairs qwen,smollm2,gemma]
                          [--sets code,editing,chat,German] [--server PROGRAM] [--readme]"

The models are looked for in the folder that REAL_MODELS names (~/.cache/real-models): Qwen2.5-Coder 1.5B with 0.5B as
its draft, SmolLM2 135M alone, and Gemma 3 270M with SmolLM2 as the draft, whose vocabulary differs. What is there of
them is measured. All speculation settings are the defaults, all caches are empty at first, and the prompts are those of
real_prompts.json.

- speeds: plain, lookahead 4, the n-gram index and auto, greedy and at temperature 0.8, against llama.cpp's server with
  the setting that is its best for each set.
- busy: beside one loop a core that does nothing else, in the library and through our server; and quiet replies of a
  pair whose first reply ever was beside three loops a core.
- auto: auto against the best fixed lookahead, in the first reply ever and from the second on.
- cold: from the start to the first token, as the part `cold_start` measures it.
- memory: the most that a process with the pair takes.

Where a must is not met it gives 1; where nothing could be measured, 2. With the sizes that are set it takes
three quarters of an hour; `--quick` four minutes.
"""

import argparse
import logging
import os
import sys
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from signal import SIGTERM, signal
from statistics import median
from typing import TypeVar

from benchmarks.machine import FOLDER, say
from benchmarks.peers import cold_start
from benchmarks.peers.llama_programs import NotBuilt, build_server
from benchmarks.peers.server_program import ServerFailed
from benchmarks.peers.serving import NotServed
from benchmarks.real import against_server, beside_loops, first_replies, peak_memory
from benchmarks.real.figures import Must, must_line
from benchmarks.real.peak_memory import NoReply
from benchmarks.real.real_models import FOLDER as FOLDER_VARIABLE
from benchmarks.real.real_models import NAMES, SETS, RealPair, find_pairs, models_folder
from engine.errors import EngineError
from engine.system.machine import physical_cores

MEASURED, MUST_NOT_MET, NOT_MEASURED = 0, 1, 2
T = TypeVar("T")


@dataclass
class Found:
    """The requirements, the rows of README's table, and the count of measured parts."""

    musts: list[Must]
    rows: list[str]
    parts: int = 0


Run = Callable[[Sequence[RealPair], Path | None, argparse.Namespace, Found], list[str]]


@dataclass(frozen=True)
class RealPart:
    """A part: its title, its function, its turns (also of a short look) and prompts of each set.

    `with_server`: it needs llama.cpp's server. `each_pair` False: a short look at it takes the smallest pair only.
    """

    title: str
    run: Run
    turns: int
    quick_turns: int = 1
    prompts: int = 1
    with_server: bool = False
    each_pair: bool = True


def _speeds(pairs: Sequence[RealPair], program: Path | None, args: argparse.Namespace, found: Found) -> list[str]:
    how = (
        f"Prompts of the sets {', '.join(args.sets)}; replies of {args.tokens} tokens at most. llama.cpp's server (the "
        "same version, its default options, none of our kernels, as many threads as there are physical cores) has the "
        f"same draft at lookaheads {', '.join(map(str, args.lookaheads))} and its own n-gram index; its best setting "
        "for a set is chosen in other turns than those that compare. Drawn tokens: top-k 40, top-p 0.95, min-p 0.05."
    )
    lines = [how]
    for pair in pairs:
        compared = against_server.compare(pair, program, args)
        lines += ["", *against_server.show(compared)]
        found.rows += against_server.readme_rows(compared)
    return lines


def _busy(pairs: Sequence[RealPair], program: Path | None, args: argparse.Namespace, found: Found) -> list[str]:
    # Gemma's pair says nothing that these two do not say.
    pairs = [pair for pair in pairs if pair.name != "gemma"] or pairs
    beside = [beside_loops.measure_beside(pair, args) for pair in pairs]
    afterwards = [beside_loops.measure_afterwards(pair, args) for pair in pairs if pair.draft]
    found.musts += beside_loops.musts_of(beside, afterwards)
    return beside_loops.show(beside, afterwards)


def _auto(pairs: Sequence[RealPair], program: Path | None, args: argparse.Namespace, found: Found) -> list[str]:
    near = [first_replies.compare_first(pair, args) for pair in pairs if pair.draft]
    found.musts += first_replies.musts_of(near)
    return first_replies.show(near)


def _cold(pairs: Sequence[RealPair], program: Path | None, args: argparse.Namespace, found: Found) -> list[str]:
    if program is None:
        raise ServerFailed("cold starts are compared with llama.cpp's server, which is not there.")
    # Qt takes its time in a short look.
    args.ways = cold_start.WAYS[:2] if args.quick else cold_start.WAYS
    cases = {pair.name: (pair.target, pair.draft) for pair in pairs if pair.name in cold_start.CASES}
    try:
        reports = [cold_start.measure(cold_start.CASES[name], models, program, args) for name, models in cases.items()]
    except RuntimeError as error:
        raise NoReply(str(error)) from None
    found.musts += [
        Must(
            f"llama.cpp's server over ours to the first token, {when} start",
            1.0 / limit,
            {
                f"{report['title']} {name}": 1.0 / median(ratios)
                for report in reports
                for name, ratios in report["ratios"].items()
                if name.endswith(when)
            },
        )
        for when, limit in cold_start.MUSTS.items()
    ]
    return cold_start.table(reports).splitlines()[2:]


def _memory(pairs: Sequence[RealPair], program: Path | None, args: argparse.Namespace, found: Found) -> list[str]:
    return peak_memory.show([peak_memory.measure_memory(pair, program, args) for pair in pairs])


PARTS = {
    "speeds": RealPart(
        "Against llama.cpp's server, and against plain decoding", _speeds, 2, prompts=2, with_server=True
    ),
    "busy": RealPart("Beside programs that compute", _busy, 3, each_pair=False),
    "auto": RealPart("Auto from the first reply on", _auto, 6, 2),
    "cold": RealPart("From the start to the first token", _cold, 5, with_server=True, each_pair=False),
    "memory": RealPart("Memory", _memory, 1, with_server=True),
}


def main() -> int:
    """Measure and print."""
    args = _parse()
    logging.basicConfig(level=logging.ERROR)
    # Ended from outside it ends its servers and loops too.
    signal(SIGTERM, lambda *_: sys.exit(NOT_MEASURED))
    folder = models_folder()
    pairs = [pair for pair in find_pairs(folder) if pair.name in args.pairs]
    if not pairs:
        say(f"None of the models is in {folder}: {FOLDER_VARIABLE} names another folder.")
        return NOT_MEASURED
    program, without = _server(args)
    files = ", ".join(dict.fromkeys(path.name for pair in pairs for path in (pair.target, pair.draft) if path))
    print(f"## Published models\n\n{files}. {without}".rstrip())
    found = Found([], [])
    for name in args.only:
        say(f"{name}…")
        lines = _run_part(PARTS[name], pairs, program, args, found)
        # What was measured is not lost where somebody ends the rest.
        print("\n".join(["", f"### {PARTS[name].title}", "", *lines]), flush=True)
    print("\n".join(_conclusions(found, args)))
    if not found.parts:
        return NOT_MEASURED
    return MEASURED if all(must.met for must in found.musts) else MUST_NOT_MET


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--only", type=_listed(str), default=list(PARTS), metavar="PART,…", help=f"of {', '.join(PARTS)}")
    add("--quick", action="store_true", help="only look, with small sizes")
    add("--turns", type=int, metavar="N", help="of each part (its own number)")
    add("--pairs", type=_listed(str), default=list(NAMES), metavar="NAME,…", help=f"of {', '.join(NAMES)}")
    add("--sets", type=_listed(str), default=list(SETS), metavar="NAME,…", help=f"of {', '.join(SETS)}")
    add("--prompts", type=int, metavar="N", help="of each set, 4 at most (1, of the speeds 2)")
    add("--temperatures", type=_listed(float), default=[0.0, 0.8], metavar="X,…", help="of the speeds (0,0.8)")
    add("--tokens", type=int, metavar="N", help="of each reply of the speeds and the long prompt (48, with --quick 24)")
    add("--lookaheads", type=_listed(int), metavar="N,…", help="of the server's sweep (2,3,5,8)")
    add("--sweeps", type=int, default=1, metavar="N", help="turns that choose the server's best setting (1)")
    add("--threads", type=int, default=physical_cores(), metavar="N", help="of llama.cpp's server")
    add("--patience", type=float, default=60.0, metavar="S", help="to wait for other programs, of each pair (60)")
    add("--server", metavar="PROGRAM", help="a llama-server that is there; none: measure without it")
    add("--readme", action="store_true", help="print the rows of README's table too")
    args = parser.parse_args()
    for name, known in (("only", PARTS), ("pairs", NAMES), ("sets", SETS)):
        if not set(getattr(args, name)) <= set(known):
            parser.error(f"--{name} takes {', '.join(known)}")
    args.tokens = args.tokens or (24 if args.quick else 48)
    args.lookaheads = args.lookaheads or list((3, 5) if args.quick else against_server.LOOKAHEADS)
    if args.quick:
        args.temperatures, args.sets = args.temperatures[:1], args.sets[:1]
    given = [size for size in (args.prompts, args.turns) if size is not None]
    if min(*given, args.tokens, args.sweeps, args.threads, *args.lookaheads) < 1:
        parser.error("the sizes must be above 0")
    if args.turns == 1 and "auto" in args.only:
        parser.error("auto takes 2 turns at least: the best is chosen on some and compared on the others")
    return args


def _listed(kind: Callable[[str], T]) -> Callable[[str], list[T]]:
    def listed(text: str) -> list[T]:
        return [kind(item) for item in text.split(",")]

    return listed


def _server(args: argparse.Namespace) -> tuple[Path | None, str]:
    """Return llama.cpp's server, built if missing; or None and the reason ("" if no part needs it)."""
    if not any(PARTS[name].with_server for name in args.only):
        return None, ""
    if args.server == "none":
        return None, "llama.cpp's server was left out."
    if args.server:
        program = Path(args.server).expanduser()
        if not (program.is_file() and os.access(program, os.X_OK)):
            return None, f"{program} is no program, so that llama.cpp's server was left out."
        return program, ""
    try:
        return build_server(FOLDER), ""
    except NotBuilt as error:
        return None, f"llama.cpp's server could not be built: {error}"


def _run_part(
    part: RealPart, pairs: Sequence[RealPair], program: Path | None, args: argparse.Namespace, found: Found
) -> list[str]:
    """Measure a part; return its lines, or the reason for its absence."""
    args = copy(args)
    args.turns = args.turns or (part.quick_turns if args.quick else part.turns)
    args.prompts = args.prompts or (1 if args.quick else part.prompts)
    if args.quick and not part.each_pair:
        pairs = [min(pairs, key=lambda pair: pair.size)]
    try:
        lines = part.run(pairs, program, args, found)
    except (EngineError, ServerFailed, NotServed, NoReply) as error:
        say(f"Not measured: {error}")
        return [f"Not measured: {error}"]
    found.parts += 1
    return lines


def _conclusions(found: Found, args: argparse.Namespace) -> list[str]:
    lines = ["", "Musts, by what is lowest:", "", *map(must_line, found.musts)] if found.musts else []
    if args.readme:
        lines += ["", "README's table:", "", "| models | compared with | times as fast |", "|---|---|---|", *found.rows]
    return lines


if __name__ == "__main__":
    sys.exit(main())
