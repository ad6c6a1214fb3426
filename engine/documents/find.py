"""Find the parts of documents that fit a question: words by BM25 (SQLite's FTS5), fused with vectors where there are.

Headings count more than text. Words are found by their beginnings too, so that *lighthouse* finds *lighthouses*; in
scripts without blanks two letters in a row are what a word is elsewhere.
"""

from __future__ import annotations

import math
import re
import sqlite3
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from engine.documents.document import Section

_HEADING_WEIGHT, _PLACE_WEIGHT, _TEXT_WEIGHT = 3.0, 1.0, 1.0
_RANK_CONSTANT = 60
"""The constant of reciprocal rank fusion (Cormack et al. 2009)."""
_MOST_WORDS = 48
_CANDIDATES = 40
"""Parts by BM25 of which the best are chosen."""
_TOGETHER, _NEXT = 2.0, 0.8
"""The weight of words that stand in one sentence, beside BM25; that of words in two sentences next to each other."""
_LONG_WORD = 5
_WORD = re.compile(r"\w+", re.UNICODE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|[\n。！？]+")  # noqa: RUF001 - full-width signs end sentences
_WITHOUT_BLANKS = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
_STOP = frozenset(
    [
        *("a", "about", "an", "and", "are", "as", "at", "be", "by", "can", "could", "did", "do", "does", "for", "from"),
        *("had", "has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "me", "my", "of", "on", "or", "our"),
        *("please", "say", "says", "so", "tell", "that", "the", "their", "them", "there", "these", "they", "this"),
        *("to", "was", "we", "were", "what", "when", "where", "which", "who", "whom", "whose", "why", "will", "with"),
        *("would", "you", "your"),
        *("aber", "als", "am", "auch", "auf", "aus", "bei", "bin", "bis", "das", "dass", "dem", "den", "der", "des"),
        *("die", "du", "ein", "eine", "einem", "einen", "einer", "eines", "er", "es", "für", "hat", "haben", "ich"),
        *("ihr", "im", "ist", "ja", "kann", "mit", "nach", "nicht", "oder", "sie", "sind", "über", "um", "und", "uns"),
        *("unter", "von", "vom", "vor", "war", "waren", "wann", "warum", "wem", "wen", "wer", "wie", "wird", "wo"),
        *("zu", "zum", "zur"),
    ]
)


@dataclass(frozen=True, slots=True)
class FoundPart:
    """Hold a part that fits a question. `number`: its place among the parts; `score`: larger is better."""

    number: int
    score: float


Vectors = Callable[[str], Sequence[float]]
"""Returns each part's similarity to a question (larger is more similar), or nothing where that is not known."""


class PartIndex:
    """Hold an index of parts in memory; any thread may ask it. `close` it when nobody does any more."""

    def __init__(self, parts: Sequence[Section]) -> None:
        self.parts = tuple(parts)
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(":memory:", check_same_thread=False)
        self._connection.execute(
            "CREATE VIRTUAL TABLE parts USING fts5 ("
            "place, headings, text, content = '', tokenize = 'unicode61 remove_diacritics 2')"
        )
        rows = ((n, each.at, _pairs(" ".join(each.headings)), _pairs(each.text)) for n, each in enumerate(self.parts))
        self._connection.executemany("INSERT INTO parts (rowid, place, headings, text) VALUES (?, ?, ?, ?)", rows)

    def close(self) -> None:
        """Free the index."""
        with self._lock:
            self._connection.close()

    def find(self, question: str, count: int = 5, vectors: Vectors | None = None) -> list[FoundPart]:
        """Return the parts that fit a question best, the best first; none if nothing fits."""
        similarity = () if vectors is None else vectors(question)
        by_words = self._by_words(question, max(count, 20) if similarity else count)
        if not similarity:
            return by_words[:count]
        by_vectors = sorted(range(len(similarity)), key=lambda number: -similarity[number])[: max(count, 20)]
        scores: dict[int, float] = {}
        for ranking in ([each.number for each in by_words], by_vectors):
            for rank, number in enumerate(ranking):
                scores[number] = scores.get(number, 0.0) + 1 / (_RANK_CONSTANT + rank + 1)
        best = sorted(scores, key=lambda number: -scores[number])[:count]
        return [FoundPart(number, scores[number]) for number in best]

    def _by_words(self, question: str, count: int) -> list[FoundPart]:
        """Return parts by BM25, those first of which one sentence, or two, have many of the rare words together."""
        words = _words(question)
        if not words:
            return []
        asked = " OR ".join(
            [*map(_said, words), *(f'"{one} {two}"' for one, two in pairwise(_WORD.findall(_pairs(question).lower())))]
        )
        order = f"bm25(parts, {_PLACE_WEIGHT}, {_HEADING_WEIGHT}, {_TEXT_WEIGHT})"
        with self._lock:
            rows = self._connection.execute(
                f"SELECT rowid, {order} FROM parts WHERE parts MATCH ? ORDER BY {order} LIMIT ?",  # noqa: S608 - ours
                (asked, max(_CANDIDATES, count)),
            ).fetchall()
            rare = {word: self._rarity(word) for word in words}
        found = [FoundPart(number, _TOGETHER * _best(self.parts[number], rare) - score) for number, score in rows]
        return sorted(found, key=lambda each: -each.score)[:count]

    def _rarity(self, word: str) -> float:
        """Return the weight of a word: the fewer parts have it, the larger."""
        (have,) = self._connection.execute("SELECT count(*) FROM parts WHERE parts MATCH ?", (_said(word),)).fetchone()
        return math.log(1 + (len(self.parts) - have + 0.5) / (have + 0.5))


def _words(question: str) -> list[str]:
    words = dict.fromkeys(word.lower() for word in _WORD.findall(_pairs(question)))
    return [word for word in words if word not in _STOP][:_MOST_WORDS]


def _said(word: str) -> str:
    """Return a word as FTS5 is asked for it: a long one also by its beginning."""
    stem = _stem(word)
    return f'("{word}" OR "{stem}" *)' if stem else f'"{word}"'


def _best(part: Section, rare: Mapping[str, float]) -> float:
    """Return the weight of the words that stand together in the best sentence of a part, or in two neighbours."""
    sentences = [[each.lower() for each in _WORD.findall(_pairs(text))] for text in _SENTENCE.split(part.text)]
    have = [frozenset(word for word in rare if _stands_in(word, words)) for words in sentences]
    head = " ".join((part.at, *part.headings)).lower()
    above = frozenset(word for word in rare if word in head)
    together = [above | have[at] for at in range(len(have))]
    pairs = [above | one | two for one, two in pairwise(have)]
    weights = [sum(rare[word] for word in words) for words in together]
    return max([*weights, *(_NEXT * sum(rare[word] for word in words) for words in pairs)], default=0.0)


def _stands_in(word: str, words: Sequence[str]) -> bool:
    stem = _stem(word)
    return word in words or (bool(stem) and any(each.startswith(stem) for each in words))


def _pairs(text: str) -> str:
    """Return a text in which scripts without blanks stand as overlapping pairs of letters."""

    def part(found: re.Match[str]) -> str:
        run = found[0]
        return f" {' '.join(run[at : at + 2] for at in range(max(len(run) - 1, 1)))} "

    return _WITHOUT_BLANKS.sub(part, text)


def _stem(word: str) -> str:
    """Return the beginning that a long word has in common with its other forms; "" for a short one or a number."""
    if len(word) < _LONG_WORD or not word.isalpha():
        return ""
    return word[: max(4, len(word) - (3 if len(word) > 7 else 2 if len(word) > 5 else 1))]


def with_neighbours(found: Sequence[FoundPart], parts: Sequence[Section], letters: int) -> list[int]:
    """Choose the parts to give, in the order of the document, while so many characters last.

    The best one comes with its neighbours, then the others, then theirs: what a hit says often goes on beside it.
    """
    taken: list[int] = []
    left = letters
    numbers = [each.number for each in found]
    wanted = numbers[:1] + [neighbour for number in numbers[:1] for neighbour in (number + 1, number - 1)] + numbers
    wanted += [neighbour for number in numbers for neighbour in (number + 1, number - 1)]
    for number in dict.fromkeys(wanted):
        if 0 <= number < len(parts) and len(parts[number].text) <= left:
            taken.append(number)
            left -= len(parts[number].text)
    return sorted(taken)
