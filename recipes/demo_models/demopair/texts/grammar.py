"""The small tools all corpus generators share: template expansion, user noise, exchanges."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
_CHOICE = re.compile(r"\[([^\[\]]*)\]")


@dataclass(frozen=True)
class Exchange:
    """One user turn and its reply, with the possible subjects of a follow-up."""

    category: str
    prompt: str
    reply: str
    # A shorter way to say the reply, and what the exchange was about, where these make sense.
    short: str | None = None
    topic: str | None = None
    again: Callable[[random.Random], str] | None = None
    details: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Conversation:
    """Messages in order, as (role, text); the last one is a reply."""

    category: str
    messages: tuple[tuple[str, str], ...]

    def user_turns(self) -> list[str]:
        return [text for role, text in self.messages if role == "user"]


def material(name: str) -> dict[str, Any]:
    """Read a grammar's material: `material/NAME.json`."""
    folder = Path(__file__).parent / "material"
    texts: dict[str, Any] = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return texts


def expand(rng: random.Random, template: str, **slots: str) -> str:
    """Replace every `[a|b]` by one of its parts (`[a]` is optional), then fill `{slots}`."""

    def choose(match: re.Match[str]) -> str:
        parts: list[str] = match.group(1).split("|")
        if len(parts) == 1:
            parts.append("")
        return pick(rng, parts)

    count = 1
    while count:
        template, count = _CHOICE.subn(choose, template)
    text = template.format_map(slots) if slots else template
    return re.sub(r"(?<=\S)  +(?=\S)", " ", text).strip()


def pick(rng: random.Random, options: Sequence[T]) -> T:
    return options[rng.randrange(len(options))]


def article(noun: str) -> str:
    """The noun with "a" or "an" before it."""
    return f"an {noun}" if noun[:1].lower() in "aeiou" else f"a {noun}"


def mend_articles(text: str) -> str:
    """Turn every "a" before a vowel into "an"; the templates set the words side by side."""
    return re.sub(r"\b([Aa]) (?=[aeioAEIO]|um|un[^i]|ug)(?!one\b)", r"\1n ", text)


def cap(text: str) -> str:
    """The text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def ordered_sample(rng: random.Random, items: Sequence[T], count: int) -> list[T]:
    """A random subset that keeps the order, so that a greedy reader of it never walks in a circle."""
    chosen = sorted(rng.sample(range(len(items)), min(count, len(items))))
    return [items[i] for i in chosen]


def typo(rng: random.Random, text: str) -> str:
    """One slip of the fingers inside a word."""
    if len(text) < 8:
        return text
    at = rng.randrange(1, len(text) - 2)
    if not (text[at].isalpha() and text[at + 1].isalpha()):
        return text
    kind = rng.randrange(3)
    if kind == 0:
        return text[:at] + text[at + 1] + text[at] + text[at + 2 :]
    if kind == 1:
        return text[:at] + text[at + 1 :]
    return text[:at] + text[at] + text[at:]


def roughen(rng: random.Random, text: str) -> str:
    """A prompt as people type it: sometimes in lower case, without its point, polite, or with a slip."""
    draw = rng.random()
    if draw < 0.12:
        text = text[:1].lower() + text[1:]
    elif draw < 0.2 and "\n" not in text:
        text = text.lower()
    if rng.random() < 0.2:
        text = text.rstrip(".?!")
    extra = rng.random()
    if extra < 0.05:
        text = pick(rng, ["Please, ", "Hey, ", "Ok, ", "So, ", "Hi! ", "Hello, "]) + text
    elif extra < 0.09 and "\n" not in text:
        text = text.rstrip(".?!") + pick(rng, [" please", ", please.", ", please", " please?"])
    if rng.random() < 0.05:
        text = typo(rng, text)
    if rng.random() < 0.015:
        text += pick(rng, [" 🙂", " :)", "!!", " ;-)", "...", " 😀", "?!", " 👍", " …"])
    return text
