"""Examine many texts in one piece of memory, all at once: fingerprints, repetitions, validity.

A vocabulary has a hundred thousand texts. One by one in Python each question takes a tenth of a second; here it takes
a few milliseconds.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

_SPACE = "\u2581".encode()
_WORD = 8
_LONG = 512
"""Bytes from which a text is hashed by itself: the words of all others are taken in turns."""
_PAD_BEGIN = int.from_bytes(b"[PAD\0\0\0\0", "little")
_PAD_MASK = np.uint64(2**32 - 1)
_MASKS = np.array([2 ** (8 * count) - 1 for count in range(_WORD + 1)], np.uint64)
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


class TextTable:
    """Hold texts in `data`, from `starts` on, `lengths` bytes each; both arrays have the shape (count,).

    The eight bytes before each text are not part of another one.
    """

    def __init__(self, data: bytes, starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> None:
        self._data = data
        self._starts = starts
        self._lengths = lengths

    @classmethod
    def of(cls, texts: Sequence[bytes]) -> TextTable:
        """Return a table of these texts."""
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        gap = bytes(_WORD)
        starts = np.cumsum(lengths + _WORD) - lengths
        return cls(gap + gap.join(texts), starts, lengths)

    def __len__(self) -> int:
        return len(self._starts)

    def __iter__(self) -> Iterator[bytes]:
        yield from self._some(np.arange(len(self)))

    def _some(self, which: NDArray[np.int64]) -> Iterator[bytes]:
        starts = self._starts[which]
        ends = starts + self._lengths[which]
        yield from map(self._data.__getitem__, map(slice, starts.tolist(), ends.tolist()))

    def lines(self) -> bytes:
        """Return the texts with eight line ends before each. Valid UTF-8 exactly if every text is."""
        if not len(self):
            return b""
        first = int(self._starts[0]) - _WORD
        last = int(self._starts[-1] + self._lengths[-1])
        copy = np.frombuffer(self._data, np.uint8, last - first, first).copy()
        for place in range(_WORD):
            copy[self._starts - (first + _WORD - place)] = ord("\n")
        return copy.tobytes()

    def cut_at_zeros(self) -> TextTable:
        """Return each text up to its first zero byte."""
        return TextTable.of([text.partition(b"\0")[0] for text in self])

    def repeated(self) -> bool:
        """Return True if a text occurs twice; empty ones do not count, and one ends at its first zero byte."""
        if b"\0" not in self.lines():
            hashes = np.sort(self.hashes()[self._lengths > 0])
            if not np.any(hashes[1:] == hashes[:-1]):
                return False
        filled = [text for text in self.cut_at_zeros() if text]
        return len(set(filled)) < len(filled)

    def hashes(self) -> NDArray[np.uint64]:
        """Return a hash of each text, shape (count,)."""
        hashes = self._lengths.astype(np.uint64) * _FACTOR
        padded = self._data + bytes(_WORD)
        words: NDArray[np.uint64] = np.ndarray(len(padded) - _WORD + 1, "<u8", padded, strides=(1,))
        active = np.flatnonzero((self._lengths > 0) & (self._lengths <= _LONG))
        places, left = self._starts[active], self._lengths[active]
        while len(active):
            word = words[places] & _MASKS[np.minimum(left, _WORD)]
            mixed = (hashes[active] ^ word) * _FACTOR
            hashes[active] = mixed ^ (mixed >> _HALF)
            more = left > _WORD
            active, places, left = active[more], places[more] + _WORD, left[more] - _WORD
        long = np.flatnonzero(self._lengths > _LONG)
        if len(long):
            hashes[long] ^= np.fromiter(map(zlib.crc32, self._some(long)), np.uint64, len(long)) * _FACTOR
        return hashes

    def beginning_with(self, marks: Sequence[bytes]) -> NDArray[np.bool_]:
        """Mark the texts that begin with one of these marks of at most eight bytes, shape (count,)."""
        padded = self._data + bytes(_WORD)
        words: NDArray[np.uint64] = np.ndarray(len(padded) - _WORD + 1, "<u8", padded, strides=(1,))
        first, found = words[self._starts], np.zeros(len(self), np.bool_)
        for mark in marks:
            here = (first & _MASKS[len(mark)]) == np.uint64(int.from_bytes(mark, "little"))
            found |= here & (self._lengths >= len(mark))
        return found

    def fingerprints(self) -> NDArray[np.uint32]:
        """Return numbers that are equal where token texts are, shape (count,); 0 for padding: empty texts and [PAD…].

        Converters write the spaces of added tokens as they are, and all others as SentencePiece does: they are the
        same here.
        """
        hashes = self.hashes()
        spaced = self._with_spaces()
        if len(spaced):
            replaced = [text.replace(b" ", _SPACE) for text in self._some(spaced)]
            hashes[spaced] = TextTable.of(replaced).hashes()
        prints = ((hashes * _FACTOR) >> _HALF).astype(np.uint32)
        prints[prints == 0] = 1
        prints[self._padding()] = 0
        return prints

    def _with_spaces(self) -> NDArray[np.int64]:
        """Mark the texts with a space in them."""
        if not len(self):
            return np.zeros(0, np.int64)
        first = int(self._starts[0]) - _WORD
        spaces = np.flatnonzero(np.frombuffer(self.lines(), np.uint8) == ord(" ")) + first
        found = np.searchsorted(self._starts, spaces, "right") - 1
        return found[np.diff(found, prepend=-1) > 0]  # np.unique would import numpy.ma, at each start.

    def _padding(self) -> NDArray[np.int64]:
        """Mark the texts that stand for nothing."""
        padded = self._data + bytes(_WORD)
        words: NDArray[np.uint64] = np.ndarray(len(padded) - _WORD + 1, "<u8", padded, strides=(1,))
        named = (self._lengths >= 5) & ((words[self._starts] & _PAD_MASK) == _PAD_BEGIN)
        found = np.flatnonzero(named)
        ends = np.frombuffer(padded, np.uint8)[self._starts[found] + self._lengths[found] - 1]
        return np.concatenate([np.flatnonzero(self._lengths == 0), found[ends == ord("]")]])
