"""Map a document's positions to its source, so that tokens of the source can be shown in it."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple


class Shown(NamedTuple):
    """Hold a part of a document, positions `begin` to `end`, with the part of the source that it shows.

    Parts of the same length are written as they are shown, character by character; of others only the whole is known.
    """

    begin: int
    end: int
    source_begin: int
    source_end: int

    def place(self, at: int) -> int:
        """Return the position of a place of the source, within this part of the document."""
        if self.end - self.begin == self.source_end - self.source_begin:
            return self.begin + min(max(at - self.source_begin, 0), self.end - self.begin)
        return self.begin if at <= self.source_begin else self.end

    def source(self, position: int) -> int:
        """Return the place of the source that a position of this part shows."""
        if self.end - self.begin == self.source_end - self.source_begin:
            return self.source_begin + position - self.begin
        return self.source_begin


def utf16_length(text: str) -> int:
    """Return the length of a text in a document of Qt: in units of UTF-16."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


class SourceMap:
    """Hold the parts of one document, in the order of the source: in a mirrored table not the document's."""

    def __init__(self) -> None:
        self._by_place: Sequence[int] = ()
        self._mirrored = False
        self._begins, self._ends = array("L"), array("L")
        self._source_begins, self._source_ends = array("L"), array("L")

    def __len__(self) -> int:
        return len(self._begins)

    def __getitem__(self, index: int) -> Shown:
        return Shown(self._begins[index], self._ends[index], self._source_begins[index], self._source_ends[index])

    def add(self, text: str, position: int, source: int, source_end: int) -> None:
        """Add a text that was written at a position, after all others, and stands here in the source."""
        if source_end - source == len(text) and text and max(text) > "\uffff":
            # Qt counts in units of UTF-16.
            for sign in text:
                units = 2 if sign > "\uffff" else 1
                self._add(Shown(position, position + units, source, source + 1))
                position, source = position + units, source + 1
            return
        self._add(Shown(position, position + utf16_length(text), source, source_end))

    def _add(self, shown: Shown) -> None:
        at = bisect_right(self._source_begins, shown.source_begin)
        over = at < len(self) and self._source_begins[at] < shown.source_end
        if shown.source_begin < 0 or over or (at and shown.source_begin < self._source_ends[at - 1]):
            return
        self._mirrored = self._mirrored or at < len(self)
        for places, place in zip(
            (self._begins, self._ends, self._source_begins, self._source_ends), shown, strict=True
        ):
            places.insert(at, place)

    def cut(self, number: int) -> None:
        """Forget all but the first parts."""
        self._by_place = ()
        for places in (self._begins, self._ends, self._source_begins, self._source_ends):
            del places[number:]

    def between(self, begin: int, end: int) -> Iterator[Shown]:
        """Yield the parts that are, at least partly, between two positions of the document."""
        if len(self._by_place) != len(self):
            places = range(len(self))
            self._by_place = sorted(places, key=self._begins.__getitem__) if self._mirrored else places
        first = bisect_right(self._by_place, begin, key=self._ends.__getitem__)
        for at in range(first, len(self)):
            part = self[self._by_place[at]]
            if part.begin >= end:
                return
            yield part

    def shown_of(self, begin: int, end: int) -> tuple[int, int]:
        """Return the positions between which a part of the source is shown; the same one twice if it is hidden."""
        first = bisect_right(self._source_ends, begin)
        last = bisect_left(self._source_begins, end) - 1
        if first > last:
            place = self._begins[first] if first < len(self) else (self._ends[-1] if len(self) else 0)
            return place, place
        place = self[first].place(begin)
        # Of a token in two cells of a mirrored table only its part in the first.
        return place, self[last].place(end) if self[last].begin >= self[first].begin else self[first].end

    @property
    def source_begin(self) -> int:
        """Return the beginning of the first part in the source, -1 if there is none."""
        return self._source_begins[0] if len(self) else -1

    @property
    def source_end(self) -> int:
        """Return the end of the last part in the source, -1 if there is none."""
        return self._source_ends[-1] if len(self) else -1
