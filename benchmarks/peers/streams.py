"""Four clients of the local server at once: their replies in one batch, and in turns.

The models are the first published pair that is there (see real/real_models.py), the lookahead fixed or automatic.
Each run has both ways, in alternating order; every client sends two requests, one after the other. Replies are greedy,
and must be the same both ways. The must: at least 1.3 times the tokens/s of in turns.

    make bench ARGS="streams [--runs N] [--tokens N] [--lookahead K]"
"""

import argparse
import json
import sys
import threading
from collections.abc import Sequence
from statistics import median
from time import perf_counter

from benchmarks.real.real_models import find_pairs, models_folder, opened
from engine import GenerationRequest
from engine.backends.caches_in_memory import MOST_BYTES
from engine.server.guard import Limits
from engine.server.streams import ReplyStreams
from helpers.decoding.serving import asked, served

LEAST = 1.3
CLIENTS, REQUESTS = 4, 2
_QUESTIONS = (
    "Tell me a story about a fox.",
    "What is the capital of France?",
    "Write a poem about rain.",
    "Explain how bread is baked.",
    "Write a list of three animals.",
    "Who was Isaac Newton?",
    "Describe a small village.",
    "What is a prime number?",
)


def measure(url: str, tokens: int, lookahead: int | str) -> tuple[float, dict[str, str]]:
    """Return the tokens/s of all clients, and the reply to each question."""
    replies: dict[str, str] = {}
    counts: list[int] = []

    def client(number: int) -> None:
        for question in _QUESTIONS[number * REQUESTS : (number + 1) * REQUESTS]:
            messages = [{"role": "user", "content": question}]
            body = {"messages": messages, "max_tokens": tokens, "lookahead": lookahead, "ignore_eos": True}
            status, reply = asked(url, "/v1/chat/completions", json.dumps(body).encode(), X_Client_Id=str(number))
            assert status == 200, reply
            replies[question] = reply["choices"][0]["message"]["content"]
            counts.append(reply["usage"]["completion_tokens"])

    threads = [threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)]
    began = perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / (perf_counter() - began), replies


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table. Exit status 1: a must is not met."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=40)
    parser.add_argument("--lookahead", default="4")
    args = parser.parse_args(arguments)
    lookahead = int(args.lookahead) if args.lookahead.isdigit() else args.lookahead
    pairs = find_pairs(models_folder())
    if not pairs:
        print(f"No published model is in {models_folder()}.", file=sys.stderr)
        return 2
    rates: dict[str, list[float]] = {"in turns": [], "at once": []}
    same = True
    with opened(pairs[0]) as decoder:
        decoder.generate(_QUESTIONS[0], max_tokens=args.tokens, lookahead=lookahead)  # What follows finds it in memory.
        turns, streams = ReplyStreams(1), ReplyStreams()
        streams.open(decoder, GenerationRequest("Once"), MOST_BYTES)
        with served(decoder, Limits(), turns) as one, served(decoder, Limits(), streams) as other:
            for run in range(args.runs + 1):  # The first one warms up.
                replies = {}
                for way, url in (("in turns", one), ("at once", other))[:: 1 if run % 2 else -1]:
                    rate, replies[way] = measure(url, args.tokens, lookahead)
                    print(run, way, f"{rate:.1f}", file=sys.stderr, flush=True)
                    if run:
                        rates[way].append(rate)
                same = same and replies["in turns"] == replies["at once"]
    ratios = sorted(b / a for a, b in zip(rates["in turns"], rates["at once"], strict=True))
    print("## Four clients of the local server at once\n")
    print(f"{pairs[0].title}, lookahead {args.lookahead}: {CLIENTS} clients with {REQUESTS} requests of {args.tokens}")
    print(f"tokens each, greedy, {args.runs} runs of both ways in alternating order.\n")
    print("| | tokens/s, median | least | most |\n|---|---|---|---|")
    for way, values in rates.items():
        print(f"| {way} | {median(values):.1f} | {min(values):.1f} | {max(values):.1f} |")
    print(
        f"\nAt once: {median(ratios):.2f} times in turns ({ratios[0]:.2f} to {ratios[-1]:.2f}; must: at least {LEAST})."
    )
    print(f"The replies are {'the same both ways' if same else 'NOT the same'}.")
    return 0 if same and median(ratios) >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
