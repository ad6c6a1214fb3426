"""Continue tokens that are there already with a text: the tokens that a tokenizer would write behind them.

A tokenizer reads whole texts only. So a bounded tail of what is there is encoded together with the new text, and the
tokens are taken from where the new text begins. Where a token would reach across that place, what is left of it is
written with shorter tokens.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from weakref import WeakKeyDictionary

from engine.backends.base import Tokenizer
from engine.errors import EngineError

_TAIL = 16
FARTHEST = 48
"""A tail has at least and at most so many tokens: enough for the last words to come out as in the whole text, and
where it can be from the beginning of a word."""
_UNSETTLED = 4
"""Tokens behind a beginning within a word that may differ from those of the whole text."""

_indices: WeakKeyDictionary[Tokenizer, _Pieces] = WeakKeyDictionary()

_Span = tuple[int, int, int]
"""A token, and where it begins and ends, in bytes."""


class TextContinuation:
    """Continue tokens of one tokenizer by text. The work does not grow with the number of tokens that are there.

    Attribute: adds_space, whether the tokenizer puts a space before a text.
    """

    def __init__(self, tokenizer: Tokenizer, vocab_size: int) -> None:
        self._tokenizer = tokenizer
        self._vocab_size = vocab_size
        self.adds_space = self.join(self.encode("a") or ()) == b" a"

    def prepare(self) -> None:
        """Index the vocabulary now, once for each tokenizer: with 150,000 tokens that takes half a second."""
        self._pieces()

    def join(self, tokens: Sequence[int]) -> bytes:
        """Return the bytes that tokens add to a text."""
        return b"".join(map(self._tokenizer.piece, tokens))

    def encode(self, text: str) -> list[int] | None:
        """Return the tokens of a text without any around it, or None if the tokenizer cannot write it."""
        try:
            tokens = self._tokenizer.encode(text, add_special=False, parse_special=False)
        except EngineError:
            return None
        return tokens if all(token < self._vocab_size for token in tokens) else None

    def settled(self, tokens: Sequence[int]) -> list[int]:
        """Return those of `tokens` that stay whatever text follows, without those that a longer token may absorb."""
        open_from = self._pieces().open_end(self.join(tokens))
        place = 0
        for count, token in enumerate(tokens):
            place += len(self._tokenizer.piece(token))
            if place > open_from:
                return list(tokens[:count])
        return list(tokens)

    def cover(self, new: bytes) -> list[int]:
        """Return tokens that write `new` wherever it stands, or as much of its beginning as can be written."""
        return self._pieces().cover(new)

    def behind(self, tokens: Sequence[int], new: bytes) -> list[int]:
        """Return tokens that write `new` behind `tokens`, or as much of its beginning as can be written."""
        tail, _ = self._tail(tokens)
        before = self.join(tail)
        spans = self._spans(before + new)
        if spans is None:
            return self.cover(new)
        later = [span for span in spans if span[1] >= len(before)]
        gap = new[: later[0][1] - len(before)] if later else new
        covered = self.cover(gap) if gap else []
        if len(self.join(covered)) < len(gap):
            return covered
        return covered + [token for token, _, _ in later]

    def rewritten(self, tokens: Sequence[int], new: bytes) -> tuple[int, list[int]] | None:
        """Return the number of the last `tokens` to take back, and the tokens to write instead.

        All is as in a whole text then.

        None if the tokenizer cannot write the text, or only with a token that reaches across its beginning.
        """
        tail, unsettled = self._tail(tokens)
        spans = self._spans(self.join(tail) + new)
        if spans is None:
            return None
        begins = {begin: index for index, (_, begin, _) in enumerate(spans)}
        place, index = 0, None
        for kept, token in enumerate(tail):
            end = place + len(self._tokenizer.piece(token))
            if index is None and kept >= unsettled:
                index = begins.get(place)
            if index is not None:
                if index >= len(spans) or spans[index] != (token, place, end):
                    return len(tail) - kept, [token for token, _, _ in spans[index:]]
                index += 1
            place = end
        if index is None:
            index = begins.get(place)
        return None if index is None else (0, [token for token, _, _ in spans[index:]])

    def _tail(self, tokens: Sequence[int]) -> tuple[Sequence[int], int]:
        """Return the last tokens that add text, and the number of them that may differ if encoded alone."""
        last = tokens[-FARTHEST:]
        bare = next((index for index in range(len(last), 0, -1) if not self._tokenizer.piece(last[index - 1])), 0)
        last = last[bare:]
        for start in range(max(len(last) - _TAIL, 0), 0, -1):
            if self._tokenizer.piece(last[start])[:1] in (b" ", b"\n"):
                return last[start:], 0
        if len(last) < FARTHEST:
            return last, 0
        return last[-_TAIL:], _UNSETTLED

    def _spans(self, data: bytes) -> list[_Span] | None:
        """Return the tokens that write `data`; the first may begin before 0.

        None if it cannot be written exactly.
        """
        lead = next((index for index, byte in enumerate(data[:4]) if byte & 0xC0 != 0x80), 0)
        text = data[lead:].decode("utf-8", "replace")
        tokens = self.encode(text.removeprefix(" ") if self.adds_space else text)
        if tokens is None:
            return None
        joined = self.join(tokens)
        if not joined.endswith(data[lead:]):
            return None
        place = len(data) - len(joined)
        spans = []
        for token in tokens:
            end = place + len(self._tokenizer.piece(token))
            spans.append((token, place, end))
            place = end
        return spans

    def _pieces(self) -> _Pieces:
        known = _indices.get(self._tokenizer)
        if known is None or known.size != self._vocab_size:
            known = _indices[self._tokenizer] = _Pieces(self._tokenizer, self._vocab_size)
        return known


class _Pieces:
    """Index the tokens of a vocabulary by their bytes."""

    def __init__(self, tokenizer: Tokenizer, vocab_size: int) -> None:
        self.size = vocab_size
        # Of two tokens for the same bytes the later one: the byte tokens, which are a makeshift, come first.
        self._ids = {piece: token for token in range(vocab_size) if (piece := tokenizer.piece(token))}
        self._sorted = sorted(self._ids)
        self._longest = max(map(len, self._sorted), default=0)

    def open_end(self, data: bytes) -> int:
        """Find the longest end of `data` that also begins a longer token; its length if there is none."""
        for place in range(max(len(data) - self._longest, 0), len(data)):
            index = bisect_right(self._sorted, data[place:])
            if index < len(self._sorted) and self._sorted[index].startswith(data[place:]):
                return place
        return len(data)

    def cover(self, data: bytes) -> list[int]:
        """Return tokens for `data`, always the longest that fits; they end where none does."""
        tokens: list[int] = []
        place = 0
        while place < len(data):
            most = min(self._longest, len(data) - place)
            sizes = (size for size in range(most, 0, -1) if data[place : place + size] in self._ids)
            size = next(sizes, 0)
            if not size:
                break
            tokens.append(self._ids[data[place : place + size]])
            place += size
        return tokens


def whole_characters(data: bytes | bytearray) -> int:
    """Return the length of `data` without the half character at its end, if there is one (UTF-8)."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte & 0xC0 == 0x80:
            continue
        needed = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
        return len(data) - back if needed > back else len(data)
    return len(data)
