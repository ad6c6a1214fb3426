"""Count the tokens before one as they come and go, for the penalties."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

_FIRST_ROOM = 64


class History(Sequence[int]):
    """Hold committed tokens and those behind them that may still be taken back, with the counts of the last ones.

    `window`: how many of the last tokens are counted, 0: all. A token that comes or goes costs the same behind a short
    text and a long one.

    Attribute: changes, which is another number after each change.
    """

    def __init__(self, window: int) -> None:
        self.window = window
        self.changes = 0
        self._committed: Sequence[int] = ()
        self._known = 0
        """The number of committed tokens that are counted."""
        self._text = array("q")
        """All of it, the committed tokens and those behind them."""
        self._place: dict[int, int] = {}
        """The place of each counted token, in both arrays."""
        # Single values go in and out of these several times as fast as of numpy's arrays.
        self._tokens = array("q", [0] * _FIRST_ROOM)
        self._counts = array("f", [0.0] * _FIRST_ROOM)

    def __len__(self) -> int:
        return len(self._text)

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> list[int]: ...
    def __getitem__(self, index: int | slice) -> int | list[int]:
        return list(self._text[index]) if isinstance(index, slice) else self._text[index]

    def after(self, committed: Sequence[int], proposed: Sequence[int] = ()) -> History:
        """Return itself, changed to `committed` and then `proposed`.

        From one call to the next the same list may only grow at its end; any other one is counted anew.
        """
        if committed is not self._committed or len(committed) < self._known:
            self._begin(committed)
        self.changes += 1
        text, known = self._text, self._known
        new = committed[known:]
        self._known += len(new)
        if not proposed and len(text) == known:
            self._follow(new)
            return self
        wanted = [*new, *proposed]
        kept = 0
        for token, there in zip(wanted, text[known:], strict=False):
            if token != there:
                break
            kept += 1
        while len(text) > known + kept:
            self._take_back()
        for token in wanted[kept:]:
            self.append(token)
        return self

    def _follow(self, new: Sequence[int]) -> None:
        """Follow more committed tokens, with nothing behind them."""
        text = self._text
        leaving = len(text) - self.window
        text.extend(new)
        for token in new:
            self._count(token)
        if self.window:
            for place in range(max(leaving, 0), leaving + len(new)):
                self._discount(text[place])

    def append(self, token: int) -> None:
        """Append one token behind the committed ones."""
        self.changes += 1
        text = self._text
        leaving = len(text) - self.window
        text.append(token)
        self._count(token)
        if self.window and leaving >= 0:
            self._discount(text[leaving])

    @property
    def counted(self) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """Return the different tokens of the window and their counts, both of shape (n,), in no order.

        Views: valid until the next change.
        """
        count = len(self._place)
        return np.frombuffer(self._tokens, np.int64, count), np.frombuffer(self._counts, np.float32, count)

    @property
    def places(self) -> tuple[int, int, int]:
        """Return the number of tokens in `counted` and the addresses of its arrays, for a compiled function."""
        return len(self._place), self._tokens.buffer_info()[0], self._counts.buffer_info()[0]

    @property
    def oldest(self) -> tuple[int, int]:
        """Return the address of the window's tokens, in order, and their number; (0, 0) without a window.

        The first ones leave it next. Valid until the next change.
        """
        if not self.window:
            return 0, 0
        place, length = self._text.buffer_info()
        held = min(self.window, length)
        return place + (length - held) * self._text.itemsize, held

    def _begin(self, committed: Sequence[int]) -> None:
        self._committed, self._known, self._text = committed, len(committed), array("q", committed)
        counts = Counter(committed[-self.window :])  # All of them where the window is 0.
        self._place = {token: place for place, token in enumerate(counts)}
        self._tokens = array("q", [*counts, *[0] * _FIRST_ROOM])
        self._counts = array("f", [*counts.values(), *[0] * _FIRST_ROOM])

    def _take_back(self) -> None:
        text = self._text
        self._discount(text.pop())
        returning = len(text) - self.window
        if self.window and returning >= 0:
            self._count(text[returning])

    def _count(self, token: int) -> None:
        place = self._place.get(token)
        if place is not None:
            self._counts[place] += 1
            return
        place = self._place[token] = len(self._place)
        if place == len(self._tokens):
            # Others than before: those may still be looked at.
            self._tokens, self._counts = 2 * self._tokens, 2 * self._counts
        self._tokens[place], self._counts[place] = token, 1

    def _discount(self, token: int) -> None:
        """Subtract one token; the last one of the arrays takes the place of one that is gone."""
        place = self._place[token]
        if self._counts[place] > 1:
            self._counts[place] -= 1
            return
        del self._place[token]
        last = len(self._place)
        if place < last:
            moved = self._tokens[last]
            self._tokens[place], self._counts[place] = moved, self._counts[last]
            self._place[moved] = place


def counter(history: Sequence[int], window: int) -> History:
    """Return the history itself where it counts its last `window` tokens (0: all), or one that does."""
    if isinstance(history, History) and history.window == window:
        return history
    return History(window).after(history)


def counts(history: Sequence[int], window: int) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """Return the different tokens among the last `window` ones (0: all), and their counts."""
    return counter(history, window).counted
