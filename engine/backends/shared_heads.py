"""Make a head that reads the target's cache look like a backend: Gemma 4's assistants.

Such a head has no keys of its own, so that nothing of the text is ever computed for it: its first entry is made of the
pending token and of the target's state before it, each further one of a token that it proposed and of its own state.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.backends.base import Backend, Logits
from engine.backends.heads import BATCH, HeadBackend, HeadLayers, States
from engine.backends.prefix import common_prefix
from engine.errors import BackendFailure
from engine.translatable import Translatable


class SharedCacheHeadBackend(HeadBackend):
    """Draft with a head from the target's cache (see HeadBackend). It keeps the states of the last tokens alone.

    Its layers are fed one entry at a time; `ahead` counts from the pending token's.
    """

    counts_pictures = True

    def __init__(self, layers: HeadLayers, target: Backend) -> None:
        super().__init__(layers, target)
        self._states: States = np.zeros((0, layers.width), np.float32)
        self._first = 0
        """The position of the first state that is kept: those up to `_seen` are."""
        self._computed = 0
        """The number of tokens behind which the head computed last; `_own` is the state of the last of them."""

    def ready(self, count: int) -> bool:
        return self._first < count - 1 <= self._seen

    def read_states(self, first: int, tokens: Sequence[int], states: States) -> None:
        if first > self._seen:  # Something in between was never shown.
            self.truncate(0)
            return
        alike = first + common_prefix(self._tokens[first:], tokens)
        if alike < self._computed:
            self._own = None
        del self._tokens[first:]
        self._tokens.extend(tokens)
        self._seen = first + len(tokens)
        self._first = max(first, self._seen - BATCH)
        self._states = states[self._first - first :].copy()

    def read_on(self) -> bool:
        """Return False: it computes nothing of the text."""
        return False

    def truncate(self, length: int) -> None:
        super().truncate(length)
        if length < self._computed:
            self._own, self._branches = None, []
        self._first = min(self._first, self._seen)

    def _compute(self) -> Logits:
        """Compute the positions from the pending token on that are missing, and return the logits behind the last."""
        pending, end = min(self._seen, len(self._tokens) - 1), len(self._tokens)
        if not self._first < pending:
            raise BackendFailure(Translatable("the head has no hidden states to begin with"), self.length)
        begin = self._computed if self._own is not None and pending < self._computed < end else pending
        found: Logits | None = None
        for index in range(begin, end):
            state = self._states[pending - 1 - self._first] if index == pending else self._own
            found = self._entry(index, index - pending, state)
        if found is None:
            raise BackendFailure(Translatable("the head has no hidden states to begin with"), self.length)
        return found

    def _entry(self, index: int, ahead: int, state: States | None) -> Logits | None:
        self._own, self._branches = None, []
        if state is None:
            return None
        self._layers.ahead = ahead
        found = self._layers.feed(index, self._tokens[index : index + 1], state[None], wanted=True)
        if found is None:
            return None
        self._own, self._computed = found[1].copy(), index + 1
        self._held = self._computed
        return found[0]
