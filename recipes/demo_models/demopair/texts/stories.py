"""Short stories: a hero from the prompt, a place, a wish, a trouble, help, an end."""

from __future__ import annotations

import random

from . import words
from .grammar import Exchange, article, cap, expand, material, mend_articles, pick, roughen

_TEXTS = material("stories")

CATEGORY = "short stories"

_ASK: list[str] = _TEXTS["ask"]
_ASK_FREE: list[str] = _TEXTS["ask_free"]

_OPEN: list[str] = _TEXTS["open"]
_WISH: list[str] = _TEXTS["wish"]
_TROUBLE: list[str] = _TEXTS["trouble"]
_ACT: list[str] = _TEXTS["act"]
_HELP: list[str] = _TEXTS["help"]
_END: list[str] = _TEXTS["end"]
_MORAL: list[str] = _TEXTS["moral"]
_ADVICE: list[str] = _TEXTS["advice"]
_MORALS: list[str] = _TEXTS["morals"]
_POWERS: list[str] = _TEXTS["powers"]
_STUFF = ["gold", "glass", "wood", "silver", "paper", "ice", "stone"]
_SOUNDS = ["bells", "sea", "wind", "old clock", "rain", "river", "birds", "drums"]
_SEASONS = ["winter", "spring", "summer", "autumn", "cold night", "rainy day"]


def hero(rng: random.Random) -> str:
    """A hero without article: now and then one that no list holds."""
    draw = rng.random()
    if draw < 0.4:
        noun = pick(rng, words.ANIMALS)
    elif draw < 0.65:
        noun = pick(rng, words.PEOPLE)
    elif draw < 0.87:
        noun = pick(rng, words.THINGS)
    elif draw < 0.94:
        noun = pick(rng, words.COMMON)
    else:
        noun = words.invented_word(rng)
    return f"{pick(rng, words.ADJECTIVES)} {noun}" if rng.random() < 0.4 else noun


def _slots(rng: random.Random, a_hero: str, name: str) -> dict[str, str]:
    pro, obj, pos = ("she", "her", "her") if words.is_female(name) else ("he", "him", "his")
    other = f"{pick(rng, words.ADJECTIVES)} {pick(rng, [*words.ANIMALS, *words.PEOPLE])}"
    values = {
        "a_hero": a_hero,
        "name": name,
        "name2": pick(rng, [n for n in words.NAMES if n != name]),
        "pro": pro,
        "obj": obj,
        "pos": pos,
        "Pos": cap(pos),
        "adj": pick(rng, words.PLACE_ADJECTIVES),
        "place": pick(rng, words.PLACES),
        "place2": pick(rng, words.PLACES),
        "a_object": article(f"{pick(rng, words.THING_ADJECTIVES)} {pick(rng, words.PORTABLE)}"),
        "a_object2": article(pick(rng, words.PORTABLE)),
        "a_other": article(other),
        "A_other": cap(article(other)),
        "food": pick(rng, words.FOODS),
        "animal": pick(rng, words.ANIMALS),
        "sound": pick(rng, _SOUNDS),
        "season": pick(rng, _SEASONS),
        "power": pick(rng, _POWERS),
        "stuff": pick(rng, _STUFF),
        "moral": pick(rng, _MORALS),
    }
    values["Advice"] = cap(expand(rng, pick(rng, _ADVICE), **values))
    return values


def tell(rng: random.Random, a_hero: str, name: str) -> tuple[str, str]:
    """A story about the hero, and the same in two sentences."""
    values = _slots(rng, a_hero, name)
    parts = [_OPEN, _WISH, _TROUBLE, _ACT, _HELP, _END, _MORAL]
    if rng.random() < 0.5:
        parts.remove(pick(rng, [_WISH, _ACT, _HELP]))
    sentences = [mend_articles(expand(rng, pick(rng, part), **values)) for part in parts]
    if rng.random() < 0.3 and len(sentences) > 5:
        cut = rng.choice([2, 3])
        text = " ".join(sentences[:cut]) + "\n\n" + " ".join(sentences[cut:])
    else:
        text = " ".join(sentences)
    return text, f"{sentences[0]} {sentences[-1]}"


def generate(rng: random.Random) -> Exchange:
    """One request for a story and the story."""
    free = rng.random() < 0.12
    a_hero = article(hero(rng))
    name = words.person_name(rng)
    who = a_hero
    named = not free and rng.random() < 0.25
    if named:
        who = expand(rng, "{a} [called|named] {name}", a=a_hero, name=name)
    elif not free and rng.random() < 0.15:
        who = f"{a_hero} and {article(hero(rng))}"
    prompt = roughen(rng, expand(rng, pick(rng, _ASK_FREE if free else _ASK), who=who))
    lead = expand(rng, "[||||Here is a story for you.|Gladly!|Here it comes:|Sit back and listen.]")
    # A second named hero is told as company, so that the story keeps to what was asked.
    told_hero = a_hero
    if " and a" in who:
        told_hero = f"{a_hero} who was a friend of {who.split(' and ', 1)[1]}"
    text, short = tell(rng, told_hero, name)

    def again(other: random.Random) -> str:
        return tell(other, a_hero, words.person_name(other))[0]

    reply = f"{lead}\n\n{text}" if lead else text
    return Exchange(CATEGORY, prompt, reply, short, a_hero, again, {"name": name, "hero": a_hero})
