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
_FEW, _LONG = 32, 12
"""Places that are compared one by one; words in a row of which the first places will do."""


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
    sources = _Sources(parts)
    sentences = list(_stretches(_SENTENCE, text, said))
    edges = [*sentences, *_stretches(_LINE, text, said)]
    starts, ends = {begin for begin, _ in edges}, {end for _, end in edges}
    limits = [len(said)] * len(said)
    for begin, end in sentences:
        limits[begin:end] = [end] * (end - begin)
    words_said = [word for _, _, word in said]
    found: list[Repeated] = []
    place = 0
    while place < len(said):
        size, number = sources.longest(words_said, place, limits[place])
        whole = size >= _SHORTEST_SENTENCE and place in starts and place + size in ends
        if size >= _RUN or whole:
            found.append(Repeated(said[place][0], said[place + size - 1][1], number))
            place += size
        else:
            place += 1
    return found


class _Sources:
    """Hold the words of parts, and where each three in a row stand."""

    def __init__(self, parts: Iterable[QuotedPart]) -> None:
        self._parts = [(part.number, [each.casefold() for each in _WORD.findall(part.text)]) for part in parts]
        self._places: dict[tuple[str, ...], list[tuple[int, int]]] = {}
        for source, (_, words) in enumerate(self._parts):
            for at, key in enumerate(zip(words, words[1:], words[2:], strict=False)):
                self._places.setdefault(key, []).append((source, at))
        self._going_on: dict[tuple[int, str], list[tuple[int, int]]] = {}

    def longest(self, said: list[str], place: int, limit: int) -> tuple[int, int]:
        """Count the words from a place to before `limit` that stand in a row in a part; return that, and its number."""
        most = limit - place
        best, number = 0, 0
        size, places = _SHORTEST_SENTENCE, self._places.get(tuple(said[place : min(place + 3, limit)]), [])
        # What stands in very many places, as in a table of zeros, is compared once and not at each of them.
        while len(places) > _FEW and size < min(most, _LONG):
            going_on = self._with_next(places, said[place + size], size)
            if not going_on:
                most = size
                break
            size, places = size + 1, going_on
        for source, at in places[:_FEW]:
            words = self._parts[source][1]
            length = size
            while length < min(most, len(words) - at) and said[place + length] == words[at + length]:
                length += 1
            if length > best:
                best, number = length, self._parts[source][0]
        return best, number

    def _with_next(self, places: list[tuple[int, int]], word: str, size: int) -> list[tuple[int, int]]:
        """Return those of many places behind whose first words, so many, this one stands."""
        key = id(places), word
        if key not in self._going_on:
            parts = self._parts
            self._going_on[key] = [(n, at) for n, at in places if parts[n][1][at + size : at + size + 1] == [word]]
        return self._going_on[key]


def _stretches(kind: re.Pattern[str], reply: str, said: list[tuple[int, int, str]]) -> Iterator[tuple[int, int]]:
    """Yield the sentences or lines of a reply as its words: the first, and the one behind the last."""
    place = 0
    for stretch in kind.finditer(reply):
        begin = place
        while place < len(said) and said[place][0] < stretch.end():
            place += 1
        if place > begin:
            yield begin, place
