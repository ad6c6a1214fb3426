"""Small talk: greetings, feelings, likes, thanks, jokes, the model's name, goodbye; and the graceful "don't know"."""

from __future__ import annotations

import random

from . import words
from .grammar import Exchange, article, cap, expand, material, mend_articles, pick, roughen

_TEXTS = material("smalltalk")

CATEGORY = "small talk"

_OFFER: str = _TEXTS["offer"]

# Each entry: ways to say it, ways to answer.
_TALK: list[tuple[str, list[str]]] = _TEXTS["talk"]

_GOOD = ["happy", "great", "good", "fine", "cheerful", "excited", "wonderful", "proud", "calm", "relaxed", "better"]
_BAD = ["sad", "tired", "lonely", "angry", "stressed", "ill", "sick", "nervous", "bored", "worried", "unhappy", "upset"]
_LIKED: list[str] = _TEXTS["liked"]


def slots(rng: random.Random) -> dict[str, str]:
    """One draw of everything the talk templates may name."""
    animal, liked = pick(rng, words.ANIMALS), pick(rng, _LIKED)
    return {
        "animal": animal,
        "an_animal": article(animal),
        "place": pick(rng, words.PLACES),
        "thing": pick(rng, words.THINGS),
        "thing2": pick(rng, words.THINGS),
        "food": pick(rng, words.FOODS),
        "food2": pick(rng, words.FOODS),
        "colour": pick(rng, words.COLOURS),
        "adj": pick(rng, words.ADJECTIVES),
        "adj2": pick(rng, words.ADJECTIVES),
        "good": pick(rng, _GOOD),
        "bad": pick(rng, _BAD),
        "liked": liked,
        "Liked": cap(liked),
        "name": words.person_name(rng),
        "city": pick(rng, words.CITIES),
        "daytime": pick(rng, ["morning", "evening", "afternoon"]),
        "rest": pick(rng, ["day", "evening", "time", "rest of the day"]),
    }


def generate(rng: random.Random) -> Exchange:
    """One exchange of small talk."""
    prompts, replies = pick(rng, _TALK)
    values = slots(rng)
    prompt = roughen(rng, expand(rng, prompts, **values))
    template = pick(rng, replies)
    if rng.random() < 0.12:
        # Two things in one breath, as people do: the answer goes to the second.
        prompt = expand(rng, "[Hello|Hi|Hey|Good morning|Hello there][!|,|.] ") + " " + prompt
    return Exchange(CATEGORY, prompt, mend_articles(expand(rng, template, **values)))


_UNKNOWN: list[str] = _TEXTS["unknown"]
_UNKNOWN_REPLY: list[str] = _TEXTS["unknown_reply"]
_VERBS = [
    "fix",
    "build",
    "buy",
    "sell",
    "clean",
    "repair",
    "install",
    "explain",
    "find",
    "change",
    "learn",
    "improve",
    "open",
    "test",
    "describe",
    "check",
]


def unknown(rng: random.Random) -> Exchange:
    """A question outside the lists, answered modestly."""
    kind = rng.random()
    if kind < 0.4:
        topic = words.invented_word(rng)
    elif kind < 0.7:
        topic = " ".join(pick(rng, words.COMMON) for _ in range(rng.choice([1, 2, 2, 3])))
    elif kind < 0.85:
        topic = f"{words.person_name(rng)} {words.invented_name(rng)}"
    else:
        topic = f"the {pick(rng, words.COMMON)} of {pick(rng, [*words.CITIES, *words.COMMON])}"
    values = {"topic": topic, "Topic": cap(topic), "verb": pick(rng, _VERBS)}
    prompt = roughen(rng, expand(rng, pick(rng, _UNKNOWN), **values))
    reply = expand(rng, pick(rng, _UNKNOWN_REPLY), **values)
    if reply.endswith("bar above?"):
        reply = reply[:-1] + "."
    elif reply.endswith((f"about {topic}.", "instead.")):
        reply = reply[:-1] + "?"
    return Exchange(CATEGORY, prompt, reply, topic=topic)
