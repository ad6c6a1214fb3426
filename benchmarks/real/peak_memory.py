"""Measure the peak memory of a process that writes one reply: our command, and llama.cpp's server."""

import argparse
import re
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks.machine import say
from benchmarks.peers.server_program import DEFAULT_LOOKAHEAD
from benchmarks.real.against_server import open_servers
from benchmarks.real.real_models import CONTEXT, RealPair, fresh_caches, opened, real_prompts
from engine.bench.runs import prepare
from helpers.paths import ROOT

TOKENS = 64
_GREEDY = {"temperature": 0.0, "seed": 0}
_TOLD = """
import re, sys
from pathlib import Path
from engine.__main__ import main
code = main()
print(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1], file=sys.stderr)
sys.exit(code)
"""


class NoReply(Exception):
    """The command did not write its reply; the message is its last words."""


@dataclass(frozen=True)
class Memory:
    """Hold the bytes of both sides; None: not measured. `lookahead`: the server's."""

    pair: RealPair
    ours: int
    theirs: int | None
    lookahead: int = 0


def measure_memory(pair: RealPair, program: Path | None, args: argparse.Namespace) -> Memory:
    """Measure a pair. `program` None: without the server. Raises NoReply, ServerFailed, LoadFailed and its kinds."""
    with fresh_caches():
        (prompt,) = real_prompts(args.sets[:1], 1)
        ours = _command_peak(pair, str(prompt.prompt))
        if program is None:
            return Memory(pair, ours, None)
        with opened(pair) as decoder:
            assert decoder.target is not None
            (prepared,), _ = prepare(decoder.target, [prompt])
        with ExitStack() as stack:
            servers = open_servers(stack, pair, program, args, [DEFAULT_LOOKAHEAD], {})
            lookahead, server = list(servers.items())[-1]
            server.complete(prepared.tokens, TOKENS, _GREEDY)
            say(f"{pair.name}: memory measured")
            return Memory(pair, ours, peak_of(server.pid), int(lookahead))


def _command_peak(pair: RealPair, prompt: str) -> int:
    """Return the peak resident memory of `generate`, without its child that tries the files.

    The process tells it itself: what `wait4` tells counts the parent's memory too, of which the child began as a copy.
    """
    draft = ["--draft", "none" if pair.draft is None else str(pair.draft)]
    command = [sys.executable, "-c", _TOLD, "generate", "--target", str(pair.target), *draft]
    command += ["--ctx", str(CONTEXT), "--max-tokens", str(TOKENS), prompt]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    *_said, peak = done.stderr.strip().rsplit("\n", 1)
    if done.returncode or not peak.isdecimal():
        raise NoReply(f"`generate` ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    return int(peak) * 1024


def peak_of(pid: int) -> int:
    """Return the peak resident memory of a running process in bytes; 0 outside Linux."""
    status = Path(f"/proc/{pid}/status")
    found = re.search(r"VmHWM:\s*(\d+) kB", status.read_text(encoding="utf-8")) if status.is_file() else None
    return int(found[1]) * 1024 if found else 0


def show(found: Sequence[Memory]) -> list[str]:
    """Return the table."""
    how = (
        f"Peak resident memory of one process, mapped files among it, after a reply of {TOKENS} tokens, a context of "
        f"{CONTEXT:,}: `outrider-engine generate` with auto, and llama.cpp's server with the same draft."
    )
    heads = ["", "files, MiB", "ours, MiB", "llama.cpp's server, MiB", "ours / server"]
    return [how, "", f"| {' | '.join(heads)} |", "|" + "---|" * len(heads), *map(_line, found)]


def _line(each: Memory) -> str:
    without = " (without the draft)" if each.pair.draft and not each.lookahead else ""
    cells = [each.pair.title, *(f"{size / 2**20:,.0f}" for size in (each.pair.size, each.ours))]
    cells += [f"{each.theirs / 2**20:,.0f}{without}", f"{each.ours / each.theirs:.2f}"] if each.theirs else ["–", "–"]
    return f"| {' | '.join(cells)} |"
