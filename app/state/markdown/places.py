"""Locate the text of rendered Markdown in its source: a parser of Markdown does not keep the places."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from html import unescape

_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|\w{1,31});")
_TARGET = re.compile(r"\]\(\s*(?:<[^<>\n]*>|(?:\\.|[^\s()\\]|\((?:\\.|[^()\s\\])*\))*)[^)\n]*\)")
_FARTHEST = 2_000
"""The range, in characters, of the search for a text whose source differs from it."""
_TRIES = 40


class SourceFinder:
    """Find texts one after the other in a source. `at`: the end of the last one, where the next search begins."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._lines = [0, *(match.end() for match in re.finditer("\n", source))]
        self.at = 0

    def go_to_line(self, number: int) -> None:
        """Skip to a line, unless it was passed already. `number` counts from 0."""
        if number < len(self._lines):
            self.at = max(self.at, self._lines[number])

    def skip_target(self) -> None:
        """Skip the address of a link, whose text was found."""
        if found := _TARGET.match(self._source, self.at):
            self.at = found.end()

    def find(self, text: str) -> tuple[int, int]:
        """Find the beginning and end of a text written as it is shown; -1, -1 if it is missing."""
        begin = self._source.find(text, self.at)
        if begin < 0:
            return -1, -1
        self.at = begin + len(text)
        return begin, self.at

    def pieces(self, text: str) -> Iterator[tuple[str, int, int]]:
        """Yield a text in pieces with where each begins and ends: escapes and entities are pieces of their own."""
        begin, end = self.find(text)
        if begin >= 0:
            yield text, begin, end
            return
        most = self.at + _FARTHEST
        starts = (at for at in range(self.at, min(len(self._source), most)) if self._source[at] in f"\\&{text[0]}")
        for _, start in zip(range(_TRIES), starts, strict=False):
            found = list(self._read(text, start))
            if sum(len(piece) for piece, _, _ in found) == len(text):
                self.at = found[-1][2]
                yield from found
                return
        yield text, -1, -1

    def _read(self, text: str, at: int) -> Iterator[tuple[str, int, int]]:
        """Read the source as Markdown does, as long as it gives the text."""
        source, done, begun = self._source, 0, at
        plain = ""
        while done < len(text):
            entity = _ENTITY.match(source, at) if source[at : at + 1] == "&" else None
            shown, end = text[done], at + 1
            if entity is not None and text.startswith(unescape(entity[0]), done):
                shown, end = unescape(entity[0]), entity.end()
            elif source[at : at + 1] == "\\" and source[at + 1 : at + 2] == shown and not shown.isalnum():
                end = at + 2
            elif source[at : at + 1] != shown and (source[at : at + 1], shown) != ("\n", " "):
                return
            if end - at == len(shown):
                plain += shown
            else:
                if plain:
                    yield plain, begun, at
                    plain = ""
                yield shown, at, end
                begun = end
            at, done = end, done + len(shown)
        if plain:
            yield plain, begun, at

    def lines_of(self, text: str, first: int) -> tuple[tuple[int, int], ...]:
        """Return the beginnings of a text's lines, in it and in the source, from a line on."""
        found = []
        place = 0
        for line in text.splitlines(keepends=True):
            bare = line.rstrip("\r\n")
            if first < len(self._lines):
                begin = self._lines[first]
                end = self._lines[first + 1] - 1 if first + 1 < len(self._lines) else len(self._source)
                at = self._source.rfind(bare, begin, end) if bare else end
                found.append((place, at))
                self.at = max(self.at, end)
            place += len(line)
            first += 1
        return tuple(found)


def source_of(lines: Sequence[tuple[int, int]], place: int) -> int:
    """Map a place of a text to its source, by the beginnings of its lines; -1: nowhere."""
    index = bisect_right(lines, (place, 2**62)) - 1
    if index < 0 or lines[index][1] < 0:
        return -1
    return lines[index][1] + place - lines[index][0]
