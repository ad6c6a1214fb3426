"""Map tokens to positions in a document that shows a reply."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right

_UNFIT = re.compile("[\x00-\x08\x0b-\x1f\x7f\ufdd0-\ufdef\ufffc\ud800-\udfff]")


def showable(text: str) -> str:
    """The text as a document can hold it: of the same length, without control characters and halves of characters."""
    return _UNFIT.sub("\N{REPLACEMENT CHARACTER}", text)


def length_of(text: str) -> int:
    """Its length in a document of Qt: in units of UTF-16."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


class TokenPlaces:
    """The place of each token: positions in the document, from the first to behind the last."""

    def __init__(self) -> None:
        self._starts = array("I")
        self._ends = array("I")

    def __len__(self) -> int:
        return len(self._starts)

    def add(self, start: int, end: int) -> None:
        """The next token stands here."""
        self._starts.append(start)
        self._ends.append(end)

    def span(self, index: int) -> tuple[int, int]:
        """Return the beginning and the end of a token."""
        return self._starts[index], self._ends[index]

    def at(self, position: int) -> int | None:
        """The token to which the character behind this position belongs."""
        index = bisect_right(self._starts, position) - 1
        return index if index >= 0 and position < self._ends[index] else None

    def first_from(self, position: int) -> int:
        """The first token that ends behind this position; their number where there is none."""
        return bisect_right(self._ends, position)

    def first_at(self, position: int) -> int:
        """The first token that begins at this position or behind it; their number where there is none."""
        return bisect_left(self._starts, position)

    def shift(self, index: int) -> None:
        """One more position was put in before this token."""
        for later in range(index, len(self._starts)):
            self._starts[later] += 1
            self._ends[later] += 1
