"""Walk quickly through the long pieces of GGUF headers, and recognise those that another file had too.

The models of a folder share a few vocabularies of a hundred thousand texts each. Comparing such a list with one that
was read before costs a thousandth of reading it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

LEAST_BYTES = 4096
"""Shorter pieces are read again: that is as quick."""
_MOST_BYTES = 160 * 2**20
_MOST_ALIKE = 16
PREFIX = 256
_CHUNK = 2**20
_WINDOW = 4 * 2**20
_LENGTH = 8
_ZEROS = 2**16


class HeaderPiece(NamedTuple):
    """Hold a part of a header. `number`: its own for ever; `body`: its bytes; `content`: its parsed content."""

    number: int
    prefix: bytes
    body: bytes
    content: Any


class KnownPieces:
    """Keep the long pieces of the headers that were read with it, the latest ones. For one thread at a time.

    `buffer`: room to read a part of a file into.
    """

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._by_kind: dict[Hashable, deque[HeaderPiece]] = {}
        self._ages: deque[Hashable] = deque()
        self._most = most_bytes
        self.buffer = memoryview(bytearray(_CHUNK))
        self._bytes = 0
        self._count = 0

    def alike(self, kind: Hashable, data: bytes, start: int) -> list[HeaderPiece]:
        """Return the pieces of a kind that begin as `data` does there.

        A kind is what they are, and how many elements they have.
        """
        return [piece for piece in self._by_kind.get(kind, ()) if data.startswith(piece.prefix, start)]

    def has(self, kind: Hashable) -> bool:
        """Return True if there is any of this kind."""
        return kind in self._by_kind

    def add(self, kind: Hashable, body: bytes, content: Any) -> HeaderPiece | None:
        """Store a piece, dropping the oldest; None if it is too short for that."""
        if not LEAST_BYTES <= len(body) <= self._most:
            return None
        self._count += 1
        piece = HeaderPiece(self._count, body[:PREFIX], body, content)
        pieces = self._by_kind.setdefault(kind, deque())
        pieces.appendleft(piece)
        self._ages.append(kind)
        self._bytes += len(body)
        while self._bytes > self._most:
            self._forget(self._ages[0])
        if len(pieces) > _MOST_ALIKE:
            self._forget(kind)
        return piece

    def _forget(self, kind: Hashable) -> None:
        self._ages.remove(kind)
        self._bytes -= len(self._by_kind[kind].pop().body)


def text_places(data: bytes, start: int, count: int) -> tuple[NDArray[np.int64], int]:
    """Find the lengths of a list's texts, shape (found,), and the end of the last text.

    Up to `count` texts from `start` on, those that lie whole in `data`. A length is eight bytes, so that of a text
    shorter than 256 bytes is one byte and seven zeros, and these are found all at once. Each is checked to lie where
    the text before it ends; where they do not (long texts, zeros in texts) it goes on by single steps.
    """
    found: list[NDArray[np.int64]] = []
    while count:
        places, end = _Window(data, start).places(count)
        if not len(places):
            break
        found.append(places)
        start, count = end, count - len(places)
    return (np.concatenate(found) if found else np.zeros(0, np.int64)), start


class _Window:
    """Hold a few megabytes of a list of texts."""

    def __init__(self, data: bytes, start: int) -> None:
        self._data = data
        self._start = start
        self._stop = min(len(data), start + _WINDOW)
        window = np.frombuffer(data, np.uint8, self._stop - start, start)
        self._guesses = _short_lengths(window)
        self._ends = self._guesses + _LENGTH + window[self._guesses]
        self._breaks = np.flatnonzero(self._ends[:-1] != self._guesses[1:])

    def places(self, count: int) -> tuple[NDArray[np.int64], int]:
        """Return as `text_places` does the texts that lie whole in the data and begin in the window."""
        found: list[NDArray[np.int64]] = []
        position, steps, before = 0, 8, -1
        while count and count != before:
            before = count
            for walk in (self._run, self._empty):
                run, position = walk(position, count)
                count -= len(run)
                found.append(run)
            if before - count < 16:
                # Guessing does not pay here, and must not cost more than it can gain.
                steps = min(2 * steps, 2**16)
                run, position = self._by_hand(position, min(count, steps))
                count -= len(run)
                found.append(run)
        return np.concatenate(found) + self._start, position + self._start

    def _run(self, position: int, count: int) -> tuple[NDArray[np.int64], int]:
        """Return texts from `position` on, each guessed rightly; and where they end."""
        place = int(np.searchsorted(self._guesses, position))
        if place == len(self._guesses) or self._guesses[place] != position:
            return self._guesses[:0], position
        broken = int(np.searchsorted(self._breaks, place))
        last = int(self._breaks[broken]) if broken < len(self._breaks) else len(self._guesses) - 1
        last = min(last, place + count - 1)
        if self._start + self._ends[last] > len(self._data):
            return self._guesses[place:last], int(self._guesses[last])
        return self._guesses[place : last + 1], int(self._ends[last])

    def _empty(self, position: int, count: int) -> tuple[NDArray[np.int64], int]:
        """Return texts of no length, as damaged files have them by the million; and where they end."""
        begin = self._start + position
        zeros = self._data[begin : min(begin + min(_LENGTH * count, _ZEROS), self._stop)]
        texts = (len(zeros) - len(zeros.lstrip(b"\0"))) // _LENGTH
        end = position + _LENGTH * texts
        return np.arange(position, end, _LENGTH, dtype=np.int64), end

    def _by_hand(self, position: int, count: int) -> tuple[NDArray[np.int64], int]:
        data, start, stop = self._data, self._start, self._stop
        found: list[int] = []
        for _ in range(count):
            begin = start + position
            if begin + _LENGTH > stop:
                break
            end = begin + _LENGTH + int.from_bytes(data[begin : begin + _LENGTH], "little")
            if end > len(data):
                break
            found.append(position)
            position = end - start
        return np.array(found, np.int64), position


def _short_lengths(window: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the places of bytes with seven zeros behind them."""
    zero = window == 0
    pairs = zero[1:-1] & zero[2:]
    fours = pairs[:-2] & pairs[2:]
    return np.flatnonzero(fours[:-3] & fours[3:]).astype(np.int64, copy=False)
