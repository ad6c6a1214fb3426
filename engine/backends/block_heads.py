"""Make a head that proposes a whole block at once look like a backend: DFlash, DSpark and Medusa.

Such a head (DFlash: Chen et al. 2026, arXiv:2602.06036) puts what it makes of the target's states into its cache, one
entry for each token that the target has read, and then computes the pending token and as many masked ones in one pass
that looks both ways. The distributions of the block's tokens do not depend on which of them are drawn, but for
DFlash2's, each of which depends on the token before.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.backends.base import Backend, Logits
from engine.backends.heads import BATCH, HeadBackend, HeadLayers, States
from engine.backends.prefix import common_prefix
from engine.errors import BackendFailure
from engine.translatable import Translatable


@dataclass(frozen=True, slots=True)
class Lattice:
    """Hold a block whose tokens depend on the one before each (DFlash2).

    `tokens`: what may come at each place, shape (count, candidates); `scores`: of each of them behind each candidate of
    the place before, shape (count, candidates before, candidates). At the first place the ones before are all alike.
    """

    tokens: NDArray[np.int64]
    scores: NDArray[np.float32]
    vocab_size: int

    def __len__(self) -> int:
        return len(self.tokens)

    def row(self, place: int, before: int) -> Logits:
        """Return the logits at a place behind the token `before`, shape (vocab_size,). Raises BackendFailure."""
        held = np.flatnonzero(self.tokens[place - 1] == before) if place else np.zeros(1, np.int64)
        if not len(held):
            raise BackendFailure(Translatable("a block of the head ends here"), place)
        found = np.full(self.vocab_size, -np.inf, np.float32)
        found[self.tokens[place]] = self.scores[place, held[0]]
        return found


class BlockLayers(HeadLayers):
    """Compute a block. Attributes: as of HeadLayers, and most (tokens that a block proposes at most)."""

    most: int
    first: int = 0

    def combine(self, states: States) -> States:
        return states

    def knows(self, first: int) -> bool:
        """Return True if it has the states from which the block of a pending token at position `first` is made."""
        return True

    @abstractmethod
    def block(self, first: int, token: int, count: int) -> Logits | Lattice:
        """Return the logits of the `count` tokens behind the pending `token` at position `first`.

        Shape (count, vocab_size), or what they are by the token before each. Nothing of it stays in the cache. Raises
        BackendFailure.
        """


class BlockHeadBackend(HeadBackend):
    """Draft block by block behind an interface that asks token by token (see HeadBackend)."""

    def __init__(self, layers: BlockLayers, target: Backend) -> None:
        super().__init__(layers, target)
        self._block_layers = layers
        self._rows: Logits | Lattice | None = None
        self._depths: list[int] = []
        self.most = self._wanted = layers.most

    def ready(self, count: int) -> bool:
        return super().ready(count) and self._block_layers.knows(count - 1)

    def expect(self, count: int) -> None:
        self._wanted = min(count, self._block_layers.most)

    def read_states(self, first: int, tokens: Sequence[int], states: States) -> None:
        self._rows = None
        if first > self._seen:
            self.truncate(0)
            return
        alike = first + common_prefix(self._tokens[first : self._seen], tokens)
        self._forget(alike)
        del self._tokens[first:]
        self._tokens.extend(tokens)
        self._seen = first + len(tokens)
        for start in range(alike, self._seen, BATCH):
            end = min(start + BATCH, self._seen)
            self._layers.feed(start, self._tokens[start:end], states[start - first : end - first], wanted=False)
            self._held = self._exact = end

    @property
    def grows(self) -> bool:
        """Return True: the tokens after a node depend on its depth alone."""
        return True

    def grow(self, tokens: Sequence[int], parents: Sequence[int]) -> Logits:
        rows, own = self._rows, len(self._tokens) - self._seen
        if rows is None:
            raise BackendFailure(Translatable("the head has no hidden states to begin with"), self.length)
        depths = [0 if parent < 0 else self._depths[parent] + 1 for parent in parents]
        self._depths.extend(depths)
        if own + max(depths) >= len(rows):
            raise BackendFailure(Translatable("a block of the head ends here"), self.length)
        if isinstance(rows, Lattice):
            return np.stack([rows.row(own + depth, token) for depth, token in zip(depths, tokens, strict=True)])
        return rows[[own + depth for depth in depths]]

    def truncate(self, length: int) -> None:
        if length <= self._seen:
            self._rows = None
        super().truncate(length)

    def _compute(self) -> Logits:
        own = len(self._tokens) - 1 - self._seen
        if own < 0 or self._held != self._seen:
            raise BackendFailure(Translatable("the head has no hidden states to begin with"), self.length)
        if own == 0 or self._rows is None:
            room = self.context_length - self._seen - 1
            count = max(min(self._wanted, room), 1)
            self._depths = []
            self._rows = self._block_layers.block(self._seen, self._tokens[self._seen], count)
        if own >= len(self._rows):
            raise BackendFailure(Translatable("a block of the head ends here"), self.length)
        if isinstance(self._rows, Lattice):
            return self._rows.row(own, self._tokens[-1])[None]
        return self._rows[own : own + 1]
