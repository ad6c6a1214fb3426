"""What it costs an honest chat template that it is rendered in a process of its own.

    make bench ARGS="rendering [--rounds N] [--json]"

A conversation of 40 turns is rendered in turns in this process, as a template without limits would be, and as a reply
has it rendered: the request there, the text back. The last message is another one each time, so that no text is kept
from before. *again* is the same conversation once more, as the reply asks for what the context meter asked for.

The must: at most 3 ms more, in the median. Gives 1 if it is not met.
"""

import argparse
import json
import sys
import threading
from collections.abc import Callable
from statistics import median, quantiles
from time import perf_counter

from engine.chat import sandbox
from engine.chat.render import Renderer, keep_warm, let_go
from engine.messages.message import Message

MUST_MS = 3.0
TURNS, LETTERS = 40, 600
TEMPLATE = (
    "{%- set ns = namespace(system='') -%}{%- for m in messages if m.role == 'system' -%}"
    "{%- set ns.system = m.content | trim -%}{%- endfor -%}"
    "<|start|>system\n{{ ns.system or 'You are helpful.' }}<|end|>\n"
    "{%- for m in messages -%}{%- if m.role not in ['system', 'user', 'assistant'] -%}"
    "{{ raise_exception('Unknown role ' ~ m.role) }}{%- endif -%}{%- if m.role != 'system' -%}"
    "{{ '<|start|>' + m.role + '\n' + m.content | trim + '<|end|>' + '\n' }}{%- endif -%}{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{ '<|start|>assistant\n' }}{%- endif -%}"
)


def conversation(last: str) -> list[Message]:
    """Return the turns, of which the last is given."""
    words = "It was a bright cold day in April, and the clocks were striking thirteen “again”. " * 8
    turns = [Message("assistant" if turn % 2 else "user", f"{turn}: {words}"[:LETTERS]) for turn in range(TURNS - 1)]
    return [Message("system", "Be brief."), *turns, Message("user", last)]


def here(messages: list[Message]) -> str:
    """Render in this process."""
    said = [{"role": message.role, "content": message.content} for message in messages]
    variables = {"messages": said, "bos_token": "<s>", "eos_token": "</s>", "add_generation_prompt": True}
    return sandbox.render(TEMPLATE, {**variables, "tools": None})


def apart(messages: list[Message]) -> str:
    """Render in the child."""
    return Renderer().render(TEMPLATE, messages, "<s>", "</s>")


def timed(render: Callable[[list[Message]], str], messages: list[Message]) -> tuple[float, str]:
    """Return the milliseconds that it takes, and the text."""
    began = perf_counter()
    text = render(messages)
    return 1000.0 * (perf_counter() - began), text


def measure(rounds: int) -> dict[str, list[float]]:
    """Return milliseconds of each round and way; both ways give the same text."""
    taken: dict[str, list[float]] = {"here": [], "apart": [], "again": []}
    owner = threading.Event()
    keep_warm(owner)
    try:
        for number in range(-3, rounds):
            messages = conversation(f"Question {number}?")
            figures = [timed(here, messages), timed(apart, messages), timed(apart, messages)]
            if len({text for _, text in figures}) != 1:
                raise RuntimeError("the two ways give different texts")
            if number >= 0:  # Those before warm both up.
                for name, (ms, _) in zip(taken, figures, strict=True):
                    taken[name].append(ms)
    finally:
        let_go(owner)
    return taken


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=300, help="conversations (default: 300)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args()
    taken = measure(args.rounds)
    more = median(taken["apart"]) - median(taken["here"])
    figures = {
        name: {"median_ms": round(median(each), 3), "p95_ms": round(quantiles(each, n=20)[-1], 3)}
        for name, each in taken.items()
    }
    if args.json:
        print(json.dumps({**figures, "more_ms": round(more, 3), "must_ms": MUST_MS}))
    else:
        print(
            f"## A chat template apart\n\n{TURNS} turns of {LETTERS} characters, {args.rounds} rounds, milliseconds.\n"
        )
        print("| way | median | 95 % below |\n|---|---|---|")
        for name, each in figures.items():
            print(f"| {name} | {each['median_ms']} | {each['p95_ms']} |")
        print(f"\nIt costs {more:.2f} ms more (must: at most {MUST_MS:g}).")
    return int(more > MUST_MS)


if __name__ == "__main__":
    sys.exit(main())
