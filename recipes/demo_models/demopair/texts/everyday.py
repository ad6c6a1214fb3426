"""Everyday questions: how-to's, facts of daily life, definitions, and simple sums."""

from __future__ import annotations

import random

from . import words
from .grammar import Exchange, article, cap, expand, material, pick, roughen

_TEXTS = material("everyday")

CATEGORY = "everyday questions"

_HOW_ASK: list[str] = _TEXTS["how_ask"]
_HOW_LEAD: list[str] = _TEXTS["how_lead"]
_HOW_TAIL = ["", "", " [Take your time|That is all|Good luck].", " [It gets easier every time|Practice helps]."]

_WHAT_ASK: list[str] = _TEXTS["what_ask"]

_SUM_ASK: list[str] = _TEXTS["sum_ask"]
FACTS: list[tuple[str, str]] = _TEXTS["facts"]
"""Ways to ask, ways to answer."""
HOW_TO = [(task, steps.split(" / ")) for task, steps in _TEXTS["how_to"].items()]
"""A task, with other ways to say it, and its steps in their order."""
THINGS: list[tuple[str, str, str]] = _TEXTS["things"]
"""A thing ("=" before it: no article), its definition, an addition."""


def _sum(rng: random.Random) -> Exchange:
    kind = rng.randrange(3)
    if kind == 0:
        x, y = rng.randrange(1, 21), rng.randrange(1, 21)
        op, sign, result = "plus", "+", x + y
    elif kind == 1:
        x = rng.randrange(2, 21)
        y = rng.randrange(1, x)
        op, sign, result = "minus", "-", x - y
    else:
        x, y = rng.randrange(2, 11), rng.randrange(2, 11)
        op, sign, result = "times", pick(rng, ["*", "x"]), x * y
    ask = expand(rng, pick(rng, _SUM_ASK), x=str(x), y=str(y), op=op, sign=sign)
    reply = f"{x} {op} {y} is {result}."
    return Exchange(CATEGORY, roughen(rng, ask), reply, str(result), "sums", lambda r: _sum(r).reply)


def _calendar(rng: random.Random) -> Exchange:
    """Days and months in their order."""
    if rng.random() < 0.5:
        names, unit = words.DAYS, "day"
    else:
        names, unit = words.MONTHS, "month"
    at = rng.randrange(len(names))
    step, relation = pick(rng, [(1, "after"), (-1, "before")])
    answer = names[(at + step) % len(names)]
    ask = expand(rng, f"[What|Which] {unit} [comes|is] {relation} {names[at]}[?|]")
    reply = expand(rng, f"[{answer} comes {relation} {names[at]}|The {unit} {relation} {names[at]} is {answer}].")
    return Exchange(CATEGORY, roughen(rng, ask), reply, f"{answer}.")


def _how_to(rng: random.Random) -> Exchange:
    task, steps = pick(rng, HOW_TO)
    shown = pick(rng, task.split("|"))
    lead = expand(rng, pick(rng, _HOW_LEAD), task=shown)
    if rng.random() < 0.25:
        body = "\n".join(f"{n}. {cap(step)}." for n, step in enumerate(steps, 1))
        reply = f"{lead.rstrip(' :.') or 'Like this'}:\n\n{body}"
    else:
        parts = [cap(steps[0]), pick(rng, ["Then ", "After that, ", "Next, "]) + steps[1], *[cap(s) for s in steps[2:]]]
        reply = " ".join(part for part in (lead, ". ".join(parts) + ".", expand(rng, pick(rng, _HOW_TAIL))) if part)
    prompt = roughen(rng, expand(rng, pick(rng, _HOW_ASK), task=shown))
    return Exchange(CATEGORY, prompt, reply, cap(steps[0]) + ".", shown)


def _fact(rng: random.Random) -> Exchange:
    asks, answers = pick(rng, FACTS)
    prompt = roughen(rng, expand(rng, asks))
    reply = expand(rng, answers)
    lead = expand(
        rng, pick(rng, ["", "", "", "", "", "[Good question!|Let me think.|That is easy.|I can tell you that.]"])
    )
    return Exchange(CATEGORY, prompt, f"{lead} {reply}".strip(), reply.split(". ")[0].rstrip(".") + ".")


def _what_is(rng: random.Random) -> Exchange:
    thing, kind, detail = pick(rng, THINGS)
    a_thing = thing if thing.startswith("=") else article(thing)
    a_thing = a_thing.lstrip("=")
    prompt = roughen(rng, expand(rng, pick(rng, _WHAT_ASK), a_thing=a_thing))
    first = f"{cap(a_thing)} is {expand(rng, kind)}."
    reply = f"{first} {cap(expand(rng, detail))}."
    return Exchange(CATEGORY, prompt, reply, first, thing.lstrip("="))


def generate(rng: random.Random) -> Exchange:
    """One everyday question and its answer."""
    draw = rng.random()
    if draw < 0.1:
        return _sum(rng)
    if draw < 0.14:
        return _calendar(rng)
    if draw < 0.46:
        return _how_to(rng)
    if draw < 0.76:
        return _fact(rng)
    return _what_is(rng)
