"""Small Python functions, asked for in words and answered in a code block."""

from __future__ import annotations

import random
from dataclasses import dataclass

from . import words
from .grammar import Exchange, expand, material, pick, roughen

_TEXTS = material("functions")

CATEGORY = "python functions"


@dataclass(frozen=True)
class Body:
    """tasks: templates of the request (third person); NAME and NUM in the code, of one line each, are filled in."""

    tasks: list[str]
    names: list[str]
    code: list[str]
    example: str = ""
    result: str = ""


BODIES = [Body(**body) for body in _TEXTS["bodies"]]
_ASK: list[str] = _TEXTS["ask"]
_LEAD: list[str] = _TEXTS["lead"]
_TAIL: list[str] = _TEXTS["tail"]


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
    short = _code("\n".join(body.code), name, n, "")
    docstring = f'    """{task[:1].upper()}{task[1:]}."""' if rng.random() < 0.5 else ""
    code = _code("\n".join(body.code), name, n, docstring)
    lead = expand(rng, pick(rng, _LEAD), task=task, name=name)
    reply = f"{lead}\n\n{code}" if lead else code
    tail_template = pick(rng, _TAIL)
    if tail_template and body.example:
        # Braces in an example are Python's own, so they are put in after the expansion.
        tail = expand(rng, tail_template, example="\1", result="\2")
        call = body.example.replace("NAME", name)
        if "NUM" not in "\n".join(body.code):
            reply += "\n\n" + tail.replace("\1", call).replace("\2", body.result)
    other_names = [n for n in body.names if n != name]

    def again(other: random.Random) -> str:
        return _code("\n".join(body.code), pick(other, other_names), n, docstring)

    return Exchange(CATEGORY, prompt, reply, short, task, again if other_names else None, {"name": name})


def _code(code: str, name: str, n: int, docstring: str) -> str:
    lines = code.strip("\n").replace("NAME", name).replace("NUM", str(n)).split("\n")
    at = next(i for i, line in enumerate(lines) if line.startswith("def "))
    if docstring:
        lines.insert(at + 1, docstring)
    return "```python\n" + "\n".join(lines) + "\n```"
