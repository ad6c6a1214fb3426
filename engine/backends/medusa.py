"""Share the parts of Medusa heads that any backend needs: the target's states, of which a draft reads the last one.

Source of the formulas: Cai et al. 2024, arXiv:2401.10774, section 2.1.1: head k adds a residual of its own to the
target's last state, and its output layer tells the token that stands k places behind the next one, k from 1 on.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from engine.backends.base import Backend, Logits
from engine.backends.block_heads import BlockLayers
from engine.backends.heads import States
from engine.errors import BackendFailure
from engine.formats.draft_head import DraftHead
from engine.translatable import Translatable

_KEPT = 256
"""Positions whose states are kept: a text that is cut back further is drafted from one round later on."""


class StateBlocks(BlockLayers):
    """Compute a block from the target's state before the pending token alone. `most`: the number of heads."""

    method = "medusa"
    first = 1
    """There is no state before the first token."""

    def __init__(self, name: str, head: DraftHead, count: int, target: Backend) -> None:
        self.name = name
        self.tokenizer = target.tokenizer
        self.layers = head.layers
        self.width = head.width
        self.vocab_size = target.vocab_size
        self.most = count
        self._states: dict[int, States] = {}
        """The states of the last positions, shape (width,)."""

    def feed(self, first: int, tokens: Sequence[int], states: States, *, wanted: bool) -> None:
        for position, state in enumerate(states, first):
            self._states[position] = state.copy()
        if len(self._states) > 2 * _KEPT:
            least = first + len(tokens) - _KEPT
            self._states = {position: state for position, state in self._states.items() if position >= least}

    def knows(self, first: int) -> bool:
        state = self._states.get(first - 1)
        return state is not None and not np.isnan(state[0])

    def block(self, first: int, token: int, count: int) -> Logits:
        if not self.knows(first):
            raise BackendFailure(Translatable("the head has no hidden states to begin with"), first)
        return self.rows(self._states[first - 1], count)

    @abstractmethod
    def rows(self, state: States, count: int) -> Logits:
        """Return the logits of the first `count` heads behind a state of shape (width,): (count, vocab_size)."""

    def cut(self, position: int) -> None:
        pass
