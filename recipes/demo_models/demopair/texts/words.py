"""Word lists written for the corpus; the generators combine them."""

from __future__ import annotations

import random

from .grammar import material, pick

_TEXTS = material("words")
NAMES: list[str] = _TEXTS["names"]
_FEMALE: frozenset[str] = frozenset(_TEXTS["female"])


def is_female(name: str) -> bool:
    """True if stories speak of this name as "she"; invented names go by their last letter."""
    return name in _FEMALE or (name.endswith("a") and name not in {"Joshua", "Luca", "Nikita"})


ANIMALS: list[str] = _TEXTS["animals"]
PEOPLE: list[str] = _TEXTS["people"]
THINGS: list[str] = _TEXTS["things"]
ADJECTIVES: list[str] = _TEXTS["adjectives"]
PLACE_ADJECTIVES: list[str] = _TEXTS["place_adjectives"]
THING_ADJECTIVES: list[str] = _TEXTS["thing_adjectives"]
PORTABLE: list[str] = _TEXTS["portable"]
PLACES: list[str] = _TEXTS["places"]
FOODS: list[str] = _TEXTS["foods"]
COLOURS: list[str] = _TEXTS["colours"]
CITIES: list[str] = _TEXTS["cities"]

# Signs outside plain ASCII, so that the byte tokens are met too.
FOREIGN: list[str] = _TEXTS["foreign"]
DAYS: list[str] = _TEXTS["days"]
MONTHS: list[str] = _TEXTS["months"]

# Everyday words of many kinds: they give the tokenizer and the copying exercises an English to work on.
COMMON: list[str] = _TEXTS["common"]
_ONSETS: list[str] = _TEXTS["onsets"]
_NUCLEI: list[str] = _TEXTS["nuclei"]
_CODAS: list[str] = _TEXTS["codas"]


def invented_word(rng: random.Random) -> str:
    """A word that no list holds; copying it cannot be done from memory."""
    count = rng.choice([1, 2, 2, 2, 3])
    return "".join(pick(rng, _ONSETS) + pick(rng, _NUCLEI) + pick(rng, _CODAS) for _ in range(count))


def invented_name(rng: random.Random) -> str:
    return invented_word(rng).capitalize()


def person_name(rng: random.Random) -> str:
    return pick(rng, NAMES) if rng.random() < 0.8 else invented_name(rng)


def code_word(rng: random.Random) -> str:
    """A string such as people paste: an order number, a file name, an address."""
    kind = rng.randrange(8)
    number = rng.randrange(10 ** rng.randrange(1, 6))
    if kind == 0:
        return f"{invented_word(rng)[:3].upper()}-{number}"
    if kind == 1:
        return f"{pick(rng, COMMON)}_{pick(rng, COMMON)}.{pick(rng, ['txt', 'py', 'md', 'csv', 'png'])}"
    if kind == 2:
        return f"{invented_word(rng)}@{pick(rng, COMMON)}.example"
    if kind == 3:
        return "".join(rng.choice("abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789") for _ in range(6))
    if kind == 4:
        return f"{number}.{rng.randrange(100)}"
    if kind == 5:
        return f"{rng.randrange(24)}:{rng.randrange(60):02d}"
    if kind == 6:
        return " ".join(pick(rng, FOREIGN) for _ in range(rng.choice([1, 1, 2, 3])))
    return f"{number}"
