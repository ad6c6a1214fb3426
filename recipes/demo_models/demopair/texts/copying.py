"""Repeat this, and rewrite this with one change: texts that cannot be known by heart."""

from __future__ import annotations

import random
import re

from . import words
from .grammar import Exchange, article, cap, expand, material, pick, roughen

_TEXTS = material("copying")

CATEGORY = "repeat and rewrite"

_VERBS: list[str] = _TEXTS["verbs"]
_TIMES: list[str] = _TEXTS["times"]


def sentence(rng: random.Random) -> str:
    """A sentence of a kind that people paste: sense, half sense, or none."""
    draw = rng.random()
    if draw < 0.22:
        count = rng.choice([3, 4, 5, 6, 8, 10])
        return cap(" ".join(pick(rng, words.COMMON) for _ in range(count))) + pick(rng, ".....!?")
    if draw < 0.32:
        count = rng.choice([2, 3, 4, 5, 6])
        return " ".join(words.invented_word(rng) for _ in range(count)) + pick(rng, ["", ".", "!"])
    noun, noun2 = pick(rng, words.COMMON), pick(rng, [*words.THINGS, *words.ANIMALS, *words.FOODS])
    values = {
        "name": words.person_name(rng),
        "name2": words.person_name(rng),
        "adj": pick(rng, words.ADJECTIVES),
        "adj2": pick(rng, words.ADJECTIVES),
        "noun": noun,
        "noun2": noun2,
        "verb": pick(rng, _VERBS),
        "verb2": pick(rng, _VERBS),
        "place": pick(rng, words.PLACES),
        "city": pick(rng, words.CITIES),
        "n": str(rng.randrange(2, 100)),
        "code": words.code_word(rng),
        "odd": words.invented_word(rng),
        "colour": pick(rng, words.COLOURS),
        "a_animal": article(pick(rng, words.ANIMALS)),
        "person": pick(rng, words.PEOPLE),
        "day": pick(rng, words.DAYS),
        "month": pick(rng, words.MONTHS),
        "word": pick(rng, words.COMMON),
        "word2": pick(rng, words.COMMON),
    }
    values["time"] = pick(rng, _TIMES).format(**values)
    return expand(rng, pick(rng, _SENTENCES), **values)


_SENTENCES: list[str] = _TEXTS["sentences"]

_REPEAT_ASK: list[str] = _TEXTS["repeat_ask"]
_BACK = ["{text}", "{text}", "{text}", "{text}", "[Here it is|Here you are|Gladly|Sure]:\n\n{text}"]


def text(rng: random.Random, most: int = 3) -> str:
    """One to `most` sentences, or a short string."""
    draw = rng.random()
    if draw < 0.1:
        return pick(rng, [words.code_word(rng), words.invented_word(rng), pick(rng, words.COMMON)])
    return " ".join(sentence(rng) for _ in range(rng.randrange(1, most + 1)))


def _long_text(rng: random.Random) -> str:
    """A text of 6 to 60 words without sense."""
    banks = (words.COMMON, words.NAMES, [*words.THINGS, *words.ADJECTIVES], None)
    bank = pick(rng, banks)
    count = rng.randrange(6, 60)
    if bank is None:
        return " ".join(words.invented_word(rng) for _ in range(count // 2))
    drawn = [pick(rng, bank) if rng.random() < 0.8 else pick(rng, words.COMMON) for _ in range(count)]
    return cap(" ".join(drawn)) + pick(rng, ["", ".", "!"])


def drill(rng: random.Random) -> Exchange:
    """Copying and nothing else, with long texts: it teaches a model to look back at the prompt."""
    draw = rng.random()
    if draw < 0.3:
        return rewrite(rng)
    body = _long_text(rng) if draw < 0.75 else " ".join(sentence(rng) for _ in range(rng.randrange(2, 7)))
    ask = expand(rng, pick(rng, _REPEAT_ASK), text="\0").replace("\0", body)
    return Exchange(CATEGORY, ask, body, body)


def repeat(rng: random.Random) -> Exchange:
    """Make a request to repeat the text as it is, or a word several times."""
    if rng.random() < 0.1:
        word = pick(rng, [pick(rng, words.COMMON), words.invented_word(rng), words.person_name(rng)])
        times = rng.randrange(2, 6)
        spelled = ["two", "three", "four", "five"][times - 2]
        number = pick(rng, [spelled, str(times)])
        ask = expand(
            rng, "[Repeat|Say|Write] [the word |]{q}{w}{q} {n} times[.|]", w=word, n=number, q=pick(rng, ["", '"'])
        )
        return Exchange(CATEGORY, ask, " ".join([word] * times), topic=word)
    body = text(rng)
    ask = expand(rng, pick(rng, _REPEAT_ASK), text="\0").replace("\0", body)
    if "\n\n" not in ask and rng.random() < 0.15:
        ask = ask[:1].lower() + ask[1:]
    reply = expand(rng, pick(rng, _BACK), text="\0").replace("\0", body)
    return Exchange(CATEGORY, ask, reply, body)


_REWRITE_ASK: list[str] = _TEXTS["rewrite_ask"]


def _swap(rng: random.Random, body: str) -> tuple[str, str, str] | None:
    """(change as a phrase, change as a command, result) for one word replaced everywhere."""
    found = sorted(set(re.findall(r"[A-Za-z0-9][A-Za-z0-9]+", body)))
    if not found:
        return None
    old = pick(rng, found)
    if old[0].isupper() and not body.startswith(old):
        new = words.person_name(rng)
    elif old[0].isupper():
        new = cap(pick(rng, words.COMMON))
    elif old.isdigit():
        new = str(rng.randrange(2, 1000))
    else:
        new = pick(
            rng, [pick(rng, words.COMMON), pick(rng, words.ANIMALS), pick(rng, words.COLOURS), words.invented_word(rng)]
        )
    if new == old:
        return None
    result = re.sub(rf"(?<![A-Za-z0-9]){re.escape(old)}(?![A-Za-z0-9])", new, body)
    quote = pick(rng, ["", '"', '"', "'"])
    o, n = f"{quote}{old}{quote}", f"{quote}{new}{quote}"
    phrase = expand(
        rng,
        "[with {n} instead of {o}|and replace {o} with {n}|with {o} replaced by {n}|but [change|turn] {o} "
        "[to|into] {n}|but with {n} in place of {o}|and change {o} to {n}]",
        o=o,
        n=n,
    )
    bare = expand(rng, "[replace|change|swap] {o} [with|by|to] {n}", o=o, n=n)
    return phrase, bare, result


def _edit(rng: random.Random, body: str) -> tuple[str, str, str] | None:
    """A change other than a swapped word."""
    kind = rng.randrange(6)
    if kind == 0:
        extra = sentence(rng)
        return f'and add "{extra}" at the end', f'add "{extra}" at the end', f"{body} {extra}"
    if kind == 1:
        extra = sentence(rng)
        return f'and begin with "{extra}"', f'put "{extra}" at the beginning', f"{extra} {body}"
    if kind == 2 and body.endswith("."):
        return "with an exclamation mark at the end", "end it with an exclamation mark", body[:-1] + "!"
    if kind == 3 and body.endswith("."):
        return "with a question mark at the end", "end it with a question mark", body[:-1] + "?"
    if kind == 4 and ". " in body:
        return "without the first sentence", "remove the first sentence", body.split(". ", 1)[1]
    if kind == 5:
        return "in quotation marks", "put it in quotation marks", f'"{body}"'
    return None


def rewrite(rng: random.Random) -> Exchange:
    """The text again with one change."""
    while True:
        body = " ".join(sentence(rng) for _ in range(rng.choice([1, 1, 2, 2, 3])))
        made = _swap(rng, body) if rng.random() < 0.72 else _edit(rng, body)
        if made is not None and made[2].strip():
            break
    phrase, bare, result = made
    template = expand(rng, pick(rng, _REWRITE_ASK), change="\1", bare="\2", text="\0")
    if template.startswith("\2"):
        bare = cap(bare)
    ask = template.replace("\1", phrase).replace("\2", bare).replace("\0", body)
    reply = expand(rng, pick(rng, _BACK), text="\0").replace("\0", result)
    return Exchange(CATEGORY, ask, reply, result)


def generate(rng: random.Random) -> Exchange:
    """One exercise in copying."""
    made = repeat(rng) if rng.random() < 0.45 else rewrite(rng)
    prompt = made.prompt
    if rng.random() < 0.04:
        prompt = roughen(rng, prompt.split(":", 1)[0]) + ":" + prompt.split(":", 1)[1] if ":" in prompt else prompt
    return Exchange(CATEGORY, prompt, made.reply, made.short, made.topic)
