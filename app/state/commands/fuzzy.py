"""Find a line by some of its letters: "cmp" finds "Compare plain and speculative"."""

from __future__ import annotations

from dataclasses import dataclass

_START, _FOLLOWS, _WORD_START, _GAP = 12.0, 8.0, 10.0, 0.3
_WHOLE = 40.0
"""Letters that stand together as they were typed are worth more than any scattered ones."""
_MOST = 200
"""Characters of a line that are looked at."""


@dataclass(frozen=True, slots=True)
class FuzzyMatch:
    """Hold the score of a matching line (more is better), and the indices of the typed letters."""

    score: float
    places: tuple[int, ...]


def match(query: str, text: str) -> FuzzyMatch | None:
    """Match `text` with a typed query; None if a typed word is missing. Case does not matter.

    Each word of the query is looked for on its own: its letters together, else one after the other.
    """
    line = _plain(text[:_MOST])
    score, places = 0.0, set[int]()
    for word in _plain(query).split():
        found = _together(word, line) or _scattered(word, line)
        if found is None:
            return None
        score += found.score
        places.update(found.places)
    return FuzzyMatch(score - 0.05 * len(line), tuple(sorted(places)))


def _plain(text: str) -> str:
    """Return a text in small letters, each still at its place (some grow to two)."""
    return "".join(small if len(small := letter.lower()) == 1 else letter for letter in text)


def _begins(line: str, place: int) -> bool:
    return place == 0 or not line[place - 1].isalnum()


def _together(word: str, line: str) -> FuzzyMatch | None:
    """Match the word in one piece: at the beginning of a word of the line, if it begins any."""
    first = place = line.find(word)
    if first < 0:
        return None
    while place >= 0 and not _begins(line, place):
        place = line.find(word, place + 1)
    best = first if place < 0 else place
    score = _WHOLE + len(word) * _FOLLOWS + (_WORD_START if place >= 0 else 0.0) + (_START if best == 0 else 0.0)
    return FuzzyMatch(score, tuple(range(best, best + len(word))))


def _scattered(word: str, line: str) -> FuzzyMatch | None:
    """Return one letter after the other; from each place at which the first one stands, the best of these."""
    best: FuzzyMatch | None = None
    start = line.find(word[0])
    while start >= 0:
        found = _from(word, line, start)
        if found is None:
            break
        if best is None or found.score > best.score:
            best = found
        start = line.find(word[0], start + 1)
    return best


def _from(word: str, line: str, start: int) -> FuzzyMatch | None:
    places: list[int] = []
    score = 0.0
    for letter in word:
        after = places[-1] + 1 if places else start
        place = _next_start(letter, line, after) if places else start
        if place < 0:
            return None
        score += _WORD_START if _begins(line, place) else 0.0
        score += _FOLLOWS if places and place == after else -_GAP * (place - after)
        places.append(place)
    return FuzzyMatch(score, tuple(places))


def _next_start(letter: str, line: str, after: int) -> int:
    """Find the next index of a letter: at once, at the beginning of a word, or anywhere."""
    first = line.find(letter, after)
    if first == after:
        return first
    place = first
    while place >= 0 and not _begins(line, place):
        place = line.find(letter, place + 1)
    return first if place < 0 else place
