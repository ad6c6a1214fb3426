"""Measure the local server's overhead over the library: tokens/s, and the time to the first token.

The library here and `serve` in a process of its own write the same greedy reply in turns with the same model, one after
the other, a few times; the server's is read as a stream. The quickest of each counts, since what other programs do
meanwhile is not ours. The model has random weights of such a size that it writes
about 100 tokens/s with one thread. The musts: at most 3 % fewer tokens/s, and the first token at most 5 ms later.

    make bench ARGS="serving [--runs N] [--tokens N]"
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from time import perf_counter

from engine.config import LoadConfig
from engine.decoder import SpeculativeDecoder
from engine.events import TokenEvent
from helpers.models.random_model import Shape, write_random_model
from helpers.paths import ROOT

SHAPE = Shape(layers=16, width=768, inner=2048, heads=12, key_heads=12, vocabulary=32_000)
MOST_SLOWER, MOST_LATER_MS = 0.03, 5.0
_PROMPT = list(range(40, 48))


@dataclass(frozen=True)
class Run:
    """One reply: the time to its first token in milliseconds, and tokens/s behind that."""

    first_ms: float
    rate: float


class NotServed(Exception):
    """The server did not start; the message is its last words."""


@contextmanager
def served(path: Path, *options: str) -> Iterator[HTTPConnection]:
    """Run the command with a target and these options, and connect with it. Raises NotServed."""
    command = [sys.executable, "-m", "engine", "serve", "--target", str(path), *options, "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            said, address = "", None
            while address is None and (line := process.stderr.readline()):
                said, address = line.strip(), re.search(r" on http://([^:/]+):(\d+)/", line)
            if address is None:
                raise NotServed(said or "it ended without a word")
            with closing(HTTPConnection(address[1], int(address[2]), timeout=600)) as connection:
                yield connection
        finally:
            process.terminate()


def of_library(decoder: SpeculativeDecoder, prompt: list[int], tokens: int) -> Run:
    """Stream a reply from the library and time its tokens."""
    began = perf_counter()
    events = decoder.stream(prompt, max_tokens=tokens, lookahead=0)
    return _run([perf_counter() - began for event in events if isinstance(event, TokenEvent)], tokens)


def of_server(connection: HTTPConnection, prompt: list[int], tokens: int) -> Run:
    """Stream a reply from the server and time its tokens."""
    body = {"prompt": prompt, "max_tokens": tokens, "lookahead": 0, "stream": True}
    data, times, began = json.dumps(body), [], perf_counter()
    connection.request("POST", "/v1/completions", data, {"Content-Type": "application/json"})
    with connection.getresponse() as response:
        while line := response.readline():
            if line.startswith(b"data: {"):  # One says at the end that it is over.
                times.append(perf_counter() - began)
    return _run(times, tokens)


def _run(times: Sequence[float], tokens: int) -> Run:
    return Run(1000 * times[0], (tokens - 1) / (times[-1] - times[0]))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table. Exit status 1: a must is not met."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--tokens", type=int, default=100)
    args = parser.parse_args(arguments)
    ours: list[Run] = []
    theirs: list[Run] = []
    with tempfile.TemporaryDirectory() as folder, SpeculativeDecoder() as decoder:
        path = write_random_model(Path(folder) / "random.gguf", SHAPE)
        decoder.attach_target(LoadConfig(path, threads=1, trusted=True))
        with served(path, "--threads", "1") as connection:
            for number in range(args.runs + 1):
                # Each run another prompt, so that both read it; the first one warms up.
                prompt = [number + 1, *_PROMPT]
                ours.append(of_library(decoder, prompt, args.tokens))
                theirs.append(of_server(connection, prompt, args.tokens))
                print(ours[-1], theirs[-1], file=sys.stderr, flush=True)
    library, server = ours[1:], theirs[1:]
    slower = 1 - max(run.rate for run in server) / max(run.rate for run in library)
    later = min(run.first_ms for run in server) - min(run.first_ms for run in library)
    print("## The local server beside the library\n")
    print(f"A model of {SHAPE.parameters / 1e6:.0f} M random weights, Q8_0, one thread, plain decoding;")
    print(f"{args.runs} replies of {args.tokens} tokens, streamed, in turns: the quickest, and the median.\n")
    print("| | tokens/s | median | first token, ms | median |\n|---|---|---|---|---|")
    for name, runs in (("library", library), ("server", server)):
        rates, firsts = [run.rate for run in runs], [run.first_ms for run in runs]
        print(f"| {name} | {max(rates):.1f} | {median(rates):.1f} | {min(firsts):.1f} | {median(firsts):.1f} |")
    print(f"\nThe quickest: {100 * slower:.1f} % fewer tokens/s (must: at most 3), first token {later:.1f} ms later")
    print("(must: at most 5).")
    return 0 if slower <= MOST_SLOWER and later <= MOST_LATER_MS else 1


if __name__ == "__main__":
    sys.exit(main())
