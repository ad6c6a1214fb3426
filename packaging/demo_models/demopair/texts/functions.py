"""Small Python functions, asked for in words and answered in a code block."""

from __future__ import annotations

import random

from demopair.texts.material.function_bodies_text import BODIES

from . import words
from .grammar import Exchange, expand, pick, roughen

CATEGORY = "python functions"

_ASK = [
    "[Write|Write me|Please write|Can you write|Give me|Show me|Create|I need|Could you write] a [small |short |simple |]Python function "
    "[that|which] {task}[.|?|]",
    "[Python function|A Python function|Function in Python|Python code|Python] [that|which] {task}[.|, please.|]",
    "[How do I write|How can I write|How would you write] a [Python |]function that {task}[ in Python|][?|]",
    "[Write|Give me|Show me] [Python code|some Python|code in Python|code] that {task}[.|]",
    "[Write|Define|Create] a [Python |]function called {name} that {task}[.|]",
    "[Write|Define|Create] a [Python |]function named {name} which {task}[.|]",
    "[Define|Write] {name} in Python: it {task}[.|]",
]
_LEAD = [
    "",
    "",
    "[Here it is|Here you are|Sure|Of course|Gladly]:",
    "This [Python |]function {task}:",
    "[Here is|This is] `{name}`:",
]
_TAIL = [
    "",
    "",
    "",
    "For example, `{example}` gives `{result}`.",
    "[Try it|Test it] with `{example}`[; the result is `{result}`|].",
    "Call it with `{example}`.",
]


def generate(rng: random.Random) -> Exchange:
    """One request for a function and the function."""
    body = pick(rng, BODIES)
    n = rng.choice([2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 20, 50, 100])
    task = expand(rng, pick(rng, body.tasks), n=str(n))
    template = pick(rng, _ASK)
    name = pick(rng, body.names)
    if "{name}" in template and rng.random() < 0.5:
        name = pick(
            rng,
            [
                words.invented_word(rng),
                f"my_{name}",
                f"{pick(rng, words.COMMON)}_{pick(rng, words.COMMON)}",
                f"do_{name}",
            ],
        )
    prompt = (
        roughen(rng, expand(rng, template, task=task, name=name))
        if rng.random() < 0.6
        else expand(rng, template, task=task, name=name)
    )
    short = _code(body.code, name, n, "")
    docstring = f'    """{task[:1].upper()}{task[1:]}."""' if rng.random() < 0.5 else ""
    code = _code(body.code, name, n, docstring)
    lead = expand(rng, pick(rng, _LEAD), task=task, name=name)
    reply = f"{lead}\n\n{code}" if lead else code
    tail_template = pick(rng, _TAIL)
    if tail_template and body.example:
        # Braces in an example are Python's own, so they are put in after the expansion.
        tail = expand(rng, tail_template, example="\1", result="\2")
        call = body.example.replace("NAME", name)
        if "NUM" not in body.code:
            reply += "\n\n" + tail.replace("\1", call).replace("\2", body.result)
    other_names = [n for n in body.names if n != name]

    def again(other: random.Random) -> str:
        return _code(body.code, pick(other, other_names), n, docstring)

    return Exchange(CATEGORY, prompt, reply, short, task, again if other_names else None, {"name": name})


def _code(code: str, name: str, n: int, docstring: str) -> str:
    lines = code.strip("\n").replace("NAME", name).replace("NUM", str(n)).split("\n")
    at = next(i for i, line in enumerate(lines) if line.startswith("def "))
    if docstring:
        lines.insert(at + 1, docstring)
    return "```python\n" + "\n".join(lines) + "\n```"
