"""Find passages of a document that a reply repeats word for word, by comparing the words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from engine.documents.quoted import QuotedPart

_WORD = re.compile(r"[-−+]?\d+(?:[.,:/]\d+)*|\w+", re.UNICODE)
_SENTENCE = re.compile(r"(?:[^.!?。！？]|\.(?=\d))+[.!?。！？]*")  # noqa: RUF001 - full-width signs end sentences
_LINE = re.compile(r"[^\n]+")
_CITED = re.compile(r"\[\d[\d,; ]{0,60}\]")
_RUN = 6
"""Words in a row that make a repetition wherever they stand; a whole sentence may be shorter."""
_SHORTEST_SENTENCE = 3


@dataclass(frozen=True, slots=True)
class Repeated:
    """Hold a stretch of a reply that stands in a part: from `start` to before `end`."""

    start: int
    end: int
    number: int


def find_repeated(reply: str, parts: Iterable[QuotedPart]) -> list[Repeated]:
    """Find the places where a reply repeats parts word for word, in order. Case, blanks and punctuation do not count.

    A repetition is a whole sentence or line, or six words in a row within a sentence.
    """
    text = _CITED.sub(lambda cited: " " * len(cited[0]), reply)
    said = [(each.start(), each.end(), each[0].casefold()) for each in _WORD.finditer(text)]
    sources = [(part.number, [each.casefold() for each in _WORD.findall(part.text)]) for part in parts]
    places: dict[tuple[str, ...], list[tuple[int, int]]] = {}
    for source, (_, words) in enumerate(sources):
        for at, key in enumerate(zip(words, words[1:], words[2:], strict=False)):
            places.setdefault(key, []).append((source, at))
    sentences = list(_stretches(_SENTENCE, text, said))
    edges = [*sentences, *_stretches(_LINE, text, said)]
    starts, ends = {begin for begin, _ in edges}, {end for _, end in edges}
    words_said = [word for _, _, word in said]
    found: list[Repeated] = []
    place = 0
    while place < len(said):
        limit = next((end for begin, end in sentences if begin <= place < end), len(said))
        size, number = _longest(words_said[:limit], place, sources, places)
        whole = size >= _SHORTEST_SENTENCE and place in starts and place + size in ends
        if size >= _RUN or whole:
            found.append(Repeated(said[place][0], said[place + size - 1][1], number))
            place += size
        else:
            place += 1
    return found


def _longest(
    said: list[str],
    place: int,
    sources: list[tuple[int, list[str]]],
    places: dict[tuple[str, ...], list[tuple[int, int]]],
) -> tuple[int, int]:
    """Count the words from a place on that stand in a row in a part; return that, and the part's number."""
    best, number = 0, 0
    for source, at in places.get(tuple(said[place : place + _SHORTEST_SENTENCE]), []):
        words = sources[source][1]
        size = 0
        while place + size < len(said) and at + size < len(words) and said[place + size] == words[at + size]:
            size += 1
        if size > best:
            best, number = size, sources[source][0]
    return best, number


def _stretches(kind: re.Pattern[str], reply: str, said: list[tuple[int, int, str]]) -> Iterator[tuple[int, int]]:
    """Yield the sentences or lines of a reply as its words: the first, and the one behind the last."""
    place = 0
    for stretch in kind.finditer(reply):
        begin = place
        while place < len(said) and said[place][0] < stretch.end():
            place += 1
        if place > begin:
            yield begin, place
