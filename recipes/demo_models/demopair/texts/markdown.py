"""Markdown lists, checklists, numbered steps and tables."""

from __future__ import annotations

import random

from . import words
from .grammar import Exchange, cap, expand, material, ordered_sample, pick, roughen

_TEXTS = material("markdown")

CATEGORY = "lists and tables"

NUMBERS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]

_LIST_ASK: list[str] = _TEXTS["list_ask"]
_NUMBERED_ASK: list[str] = _TEXTS["numbered_ask"]
_CHECK_ASK: list[str] = _TEXTS["check_ask"]
_LEAD: list[str] = _TEXTS["lead"]
_TAIL: list[str] = _TEXTS["tail"]
_TABLE_ASK: list[str] = _TEXTS["table_ask"]
_PLAN_ASK: list[str] = _TEXTS["plan_ask"]
_PRO_ASK: list[str] = _TEXTS["pro_ask"]
_PROS: list[str] = _TEXTS["pros"]
_CONS: list[str] = _TEXTS["cons"]
_ACTIVITIES = [
    "sport",
    "cooking",
    "cleaning",
    "learning",
    "reading",
    "gardening",
    "music",
    "practice",
    "study",
    "running",
    "family",
    "time",
    "writing",
    "homework",
    "shopping",
    "exercise",
    "piano",
    "lessons",
    "painting",
    "walking",
    "meals",
    "swimming",
]
_TASKS: list[str] = _TEXTS["tasks"]
_GENERIC: list[str] = _TEXTS["generic"]
LISTS: list[tuple[str, list[str]]] = _TEXTS["lists"]
"""Names of a topic, and its items."""
TABLES: list[tuple[str, list[str], list[list[str]]]] = _TEXTS["tables"]
"""Names of a topic, titles of columns, rows."""


def _topic(rng: random.Random) -> tuple[str, list[str]]:
    """A topic (as it was named) and its items, in a fixed order."""
    if rng.random() < 0.1:
        noun = pick(rng, [*words.THINGS, *words.COMMON, words.invented_word(rng)])
        return f"ideas for {noun}", [g.format(t=noun) for g in _GENERIC]
    named, items = pick(rng, LISTS)
    return pick(rng, named.split("|")), items


def bullets(rng: random.Random) -> Exchange:
    """A request for a list in one of three shapes."""
    topic, items = _topic(rng)
    style = rng.random()
    ask = _LIST_ASK if style < 0.62 else _NUMBERED_ASK if style < 0.84 else _CHECK_ASK
    count = rng.choice([3, 4, 5, 5, 6, 7])
    template = pick(rng, ask)
    if "{number}" not in template and "{digit}" not in template:
        count = rng.choice([4, 5, 5, 6])
    count = min(count, len(items))
    word = pick(rng, [NUMBERS[count], NUMBERS[count], str(count)])
    prompt = roughen(rng, expand(rng, template, topic=topic, Topic=cap(topic), number=word, digit=str(count)))
    marks = ["- "] * 12 if style < 0.62 else [f"{n}. " for n in range(1, 13)] if style < 0.84 else ["- [ ] "] * 12
    whole = topic.split()[0] in ("days", "week", "months", "planets", "steps")
    if whole and "{number}" not in template and "{digit}" not in template:
        count = len(items)
    lead = expand(
        rng, pick(rng, _LEAD), topic=topic, Topic=cap(topic), number=str(count) if count > 10 else NUMBERS[count]
    )

    def body(other: random.Random) -> str:
        chosen = items[:count] if whole else ordered_sample(other, items, count)
        return "\n".join(mark + item for mark, item in zip(marks, chosen, strict=False))

    tail = expand(rng, pick(rng, _TAIL))
    reply = "\n\n".join(part for part in (lead, body(rng), tail) if part)
    first = ", ".join(ordered_sample(rng, items, 3)) + "."
    return Exchange(CATEGORY, prompt, reply, first, topic, body)


def render_table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table without padding."""
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def table(rng: random.Random) -> Exchange:
    """A request for a table of known things."""
    named, head, rows = pick(rng, TABLES)
    topic = pick(rng, named.split("|"))
    count = rng.choice([3, 4, 4, 5])
    template = pick(rng, _TABLE_ASK)
    column = pick(rng, head[1:])
    word = pick(rng, [NUMBERS[count], str(count)])
    prompt = roughen(rng, expand(rng, template, topic=topic, number=word, column=column.lower()))
    if "{number}" not in template:
        count = rng.choice([3, 4, 5])
    narrow = "{column}" in template and rng.random() < 0.8

    def body(other: random.Random) -> str:
        chosen = ordered_sample(other, rows, count)
        if narrow:
            at = head.index(column)
            return render_table([head[0], column], [[row[0], row[at]] for row in chosen])
        return render_table(head, chosen)

    lead = expand(rng, "[||Here is the table:|Here is a table of {topic}:|**{Topic}**]", topic=topic, Topic=cap(topic))
    reply = f"{lead}\n\n{body(rng)}" if lead else body(rng)
    return Exchange(CATEGORY, prompt, reply, None, topic, body)


def _plan(rng: random.Random) -> Exchange:
    activity = pick(rng, _ACTIVITIES)
    prompt = roughen(rng, expand(rng, pick(rng, _PLAN_ASK), activity=activity))
    hours = [f"{h}:00" for h in range(8, 20)]

    def body(other: random.Random) -> str:
        days = words.DAYS if other.random() < 0.5 else words.DAYS[:5]
        return render_table(["Day", "Time", "Plan"], [[d, pick(other, hours), pick(other, _TASKS)] for d in days])

    return Exchange(CATEGORY, prompt, f"Here is a plan for {activity}:\n\n{body(rng)}", None, activity, body)


def _pros(rng: random.Random) -> Exchange:
    thing = pick(
        rng,
        [
            *words.THINGS,
            *_ACTIVITIES,
            "living in the city",
            "working at home",
            "having a dog",
            "having a cat",
            "travelling by train",
            "a small car",
            "a big house",
            "early mornings",
            "living alone",
            "a garden",
        ],
    )
    prompt = roughen(rng, expand(rng, pick(rng, _PRO_ASK), thing=thing))

    def body(other: random.Random) -> str:
        good = ordered_sample(other, _PROS, other.choice([2, 3]))
        bad = ordered_sample(other, _CONS, other.choice([2, 3]))
        lines = ["**Pros**", "", *[f"- {cap(g)}" for g in good], "", "**Cons**", "", *[f"- {cap(b)}" for b in bad]]
        return "\n".join(lines)

    return Exchange(CATEGORY, prompt, f"Pros and cons of {thing}:\n\n{body(rng)}", None, thing, body)


def generate(rng: random.Random) -> Exchange:
    """One request for something in Markdown."""
    draw = rng.random()
    if draw < 0.56:
        return bullets(rng)
    if draw < 0.86:
        return table(rng)
    if draw < 0.94:
        return _plan(rng)
    return _pros(rng)
