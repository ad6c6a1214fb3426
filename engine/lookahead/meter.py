"""Timing forwards of one model behind what its cache holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle, islice

from engine.backends.base import Backend
from engine.cancel import CancelToken
from engine.errors import RewindNotSupported, TextNotEncodable
from engine.lookahead.costs import CostModel

_LEAST_MS = 1e-6
_TEXT = (
    "The committee met on a rainy Thursday to discuss the new bridge. Nobody had read the report, which ran to 214 "
    "pages; still, after an hour of polite disagreement, three of the seven members asked for a longer version."
)
"""Ordinary text: where a model sends tokens to different experts, one token over and over would be too cheap."""


class Meter:
    """Times forwards of one model behind what its cache holds.

    Attributes: room (tokens that a forward may have and be taken back); clock (seconds).
    """

    def __init__(self, backend: Backend, cancel: CancelToken, clock: Callable[[], float]) -> None:
        self._backend = backend
        self._cancel = cancel
        self._base = backend.length
        self._tokens = _ordinary_tokens(backend)
        self.clock = clock
        self.room = min(CostModel.MOST, backend.context_length - self._base)
        if backend.rewind.kind == "window":
            self.room = min(self.room, backend.rewind.depth or 0)
        if backend.rewind.kind == "none":
            self.room = min(self.room, 0 if self._base else 1)

    def forward(self, n: int) -> float:
        """Milliseconds of a forward of `n` tokens with n rows, which is taken back again."""
        self._cancel.check("Measuring")
        self._backend.mark()
        began = self.clock()
        self._backend.forward(self._tokens[:n], n)
        milliseconds = 1000.0 * (self.clock() - began)
        self._backend.truncate(self._base)
        return milliseconds

    def in_a_row(self, most: int, budget_s: float) -> list[float]:
        """Milliseconds of forwards of one token each, one behind the other: two at least, `most` at most."""
        times: list[float] = []
        end = self.clock() + budget_s
        self._backend.mark()
        while len(times) < min(most, self.room) and (len(times) < 2 or self.clock() < end):
            self._cancel.check("Measuring")
            began = self.clock()
            self._backend.forward([self._tokens[len(times)]], 1)
            times.append(1000.0 * (self.clock() - began))
        self._backend.truncate(self._base)
        return times


@contextmanager
def taken_back(backend: Backend, cancel: CancelToken) -> Iterator[None]:
    """Within, forwards heed `cancel`; afterwards the cache holds what it held.

    A cache that cannot keep its promise to go back is emptied, which the next reply makes up for.
    """
    base = backend.length
    backend.watch(cancel)
    try:
        yield
    finally:
        backend.watch(None)
        if backend.length > base:
            try:
                backend.truncate(base)
            except RewindNotSupported:
                backend.truncate(0)


def typical(times: Sequence[float]) -> float:
    """One from the lower third, the lower one of two: what disturbs makes it longer."""
    return max(sorted(times)[(len(times) - 1) // 3], _LEAST_MS)


def _ordinary_tokens(backend: Backend) -> list[int]:
    """Tokens of ordinary text for the largest forward."""
    try:
        found = backend.tokenizer.encode(_TEXT, add_special=False, parse_special=False)
    except TextNotEncodable:
        found = []
    inside: Iterable[int] = [token for token in found if 0 <= token < backend.vocab_size] or range(backend.vocab_size)
    return list(islice(cycle(inside), CostModel.MOST))
