"""Find a reply's citations: the parts of documents that stand in the questions, by their numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from app.state.chat.attachments import split_question
from engine.host import QuotedPart, find_repeated, read_quoted

_CITED = re.compile(r"\[(\d{1,5}(?:\s?[,;]\s?\d{1,5}){0,9})\]")
_PAGE = re.compile(r"(page|slide) (\d{1,6})\b")
_MOST_COMPARED = 120_000
"""Characters of parts that a reply is compared with, the last ones given."""


@dataclass(frozen=True, slots=True)
class CitedPart:
    """Hold a part of a document as a model was given it, and `name`, the file that it comes from."""

    name: str
    part: QuotedPart

    @property
    def number(self) -> int:
        return self.part.number

    @property
    def place(self) -> str:
        """Return its place, without headings: "page 3"."""
        return self.part.where.partition(" · ")[0]

    @property
    def page(self) -> int:
        """Return the number of its page or slide; 0 if it has none."""
        found = _PAGE.match(self.part.where)
        return int(found[2]) if found else 0


@dataclass(frozen=True, slots=True)
class Cited:
    """Hold a stretch of text, from `start` to before `end`, that names parts or repeats one of them."""

    start: int
    end: int
    number: int


@lru_cache(maxsize=64)
def sources_in(question: str) -> tuple[CitedPart, ...]:
    """Return the parts of documents that a question gives."""
    if not question.startswith("File: "):
        return ()
    _, files = split_question(question)
    return tuple(CitedPart(file.name, part) for file in files for part in read_quoted(file.text))


def cited_in(text: str) -> Iterator[Cited]:
    """Yield each number that a text cites: [3], or [3, 4]."""
    for found in _CITED.finditer(text):
        numbers = [*re.finditer(r"\d+", found[1])]
        for place, number in enumerate(numbers):
            start = found.start() if place == 0 else found.start(1) + number.start()
            end = found.end() if place == len(numbers) - 1 else found.start(1) + number.end()
            yield Cited(start, end, int(number[0]))


def repeated_in(text: str, sources: Iterable[CitedPart]) -> list[Cited]:
    """Find the places where a text repeats parts word for word, by comparing."""
    taken: list[QuotedPart] = []
    left = _MOST_COMPARED
    for source in reversed(list(sources)):
        left -= len(source.part.text)
        if left < 0:
            break
        taken.append(source.part)
    return [Cited(each.start, each.end, each.number) for each in find_repeated(text, reversed(taken))] if taken else []
