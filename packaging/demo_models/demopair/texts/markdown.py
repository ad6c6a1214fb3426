"""Markdown lists, checklists, numbered steps and tables."""

from __future__ import annotations

import random

from demopair.texts.material.markdown_items import LISTS, TABLES

from . import words
from .grammar import Exchange, cap, expand, ordered_sample, pick, roughen

CATEGORY = "lists and tables"

NUMBERS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]

_LIST_ASK = [
    "[Give me|Write|Make|Can you make|Show me|Please make|Create|I need] a [Markdown |short |bulleted |bullet |]list of {topic}[.|, please.|?|]",
    "[List|Name|Give me|Write down|Tell me] {number} {topic}[.|, please.|]",
    "[Give me|Make|Write] a list [of|with] {number} {topic}[.|]",
    "[List|Name|Give me] some {topic}[.| in Markdown.| as bullet points.| as a list.]",
    "[What are|Which are] {number} [good |typical |]{topic}[?|]",
    "{Topic} as a [list|bullet list|Markdown list][.|, please.|]",
]
_NUMBERED_ASK = [
    "[Give me|Write|Make] a numbered list of {topic}[.|]",
    "[Number|List] {number} {topic} [from 1 to {digit}|in order|with numbers|as a numbered list][.|]",
    "[Top|The top|My top] {digit} {topic}[.|, please.|?|]",
]
_CHECK_ASK = [
    "[Make|Write|Give me|Create] a checklist [of|for|with] {topic}[.|]",
    "[Checklist|A checklist|To-do list|A todo list] [of|for|with] {topic}[, please.|.|]",
]
_LEAD = [
    "",
    "",
    "Here [is|comes] [a|your] list of {topic}:",
    "{Topic}:",
    "[Sure|Gladly|Of course]! Here are {number} {topic}:",
    "Here are {number} {topic}:",
    "**{Topic}**",
    "## {Topic}",
]
_TAIL = [
    "",
    "",
    "",
    "",
    "[Shall I add more|Would you like more|Do you need another one]?",
    "[I hope this helps|That should do for a start].",
]
_TABLE_ASK = [
    "[Make|Write|Give me|Show me|Create|Draw|I need|Can you make] a [Markdown |small |]table [of|with|about] {topic}[.|, please.|]",
    "[Make|Write|Show] a table of {number} {topic}[.|]",
    "[Show|Put|Give me|Write] {topic} [in|as] a [Markdown |]table[.|, please.|]",
    "[A|One] table [of|with] {topic} and their {column}[, please.|.|]",
    "[Make|Write|Give me] a table [of|with] {topic} and [the|their] {column}[.|]",
    "[Compare|List] {topic} in a [Markdown |]table[.|]",
]
_PLAN_ASK = [
    "[Make|Write|Give me] a [weekly plan|plan for the week|timetable|schedule] for {activity}[.| as a table.| in a Markdown table.|]",
    "[Plan|Help me plan] [my week of|a week of|a week for] {activity}[.| in a table.|]",
]
_PRO_ASK = [
    "[What are the|List the|Give me the|Name] pros and cons of {thing}[.|?|]",
    "[Pros and cons|Advantages and disadvantages] of {thing}[?|, please.|]",
]
_PROS = [
    "it is often cheap",
    "it is easy to begin",
    "it can be great fun",
    "it brings people together",
    "it saves time",
    "it is good for your health",
    "it looks nice",
    "you learn something new",
]
_CONS = [
    "it takes time",
    "it can be expensive",
    "it needs some space",
    "not everybody likes it",
    "it may get boring",
    "it is hard to change later",
    "it depends on the weather",
    "you need patience",
]
_ACTIVITIES = """sport cooking cleaning learning reading gardening music practice study running family time writing
homework shopping exercise piano lessons painting walking meals swimming""".split()
_TASKS = [
    "Plan",
    "Practise",
    "Rest",
    "Learn",
    "Repeat",
    "Meet a friend",
    "Try something new",
    "Easy day",
    "Long session",
    "Review",
    "Warm up",
    "Day off",
]
_GENERIC = [
    "Decide what you need for {t}",
    "Make a small plan for {t}",
    "Ask somebody who knows {t}",
    "Collect everything for {t}",
    "Start with the easy part",
    "Take notes on the way",
    "Check the result",
    "Take a break",
    "Tell a friend about {t}",
    "Enjoy {t}",
]


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
