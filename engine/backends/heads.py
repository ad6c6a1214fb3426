"""Wrap a draft head as a backend: it continues a text, but from the hidden states of its target.

A head (EAGLE-3: Li et al. 2025, arXiv:2503.01840; MTP: DeepSeek-AI 2024, arXiv:2412.19437) is a layer or a few. Its
*entry* for the token at position p is made of that token and of the target's state at p - 1, from which the token was
drawn. Ahead of the target, the head's own last state replaces the target's.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.backends.base import Backend, Logits, Rewind, Tokenizer
from engine.backends.prefix import common_prefix
from engine.errors import BackendClosed, BackendFailure, ContextFull, TokenOutOfRange
from engine.translatable import Translatable

States = NDArray[np.float32]
BATCH = 64
"""Entries that are fed at once at most."""


class HeadLayers(ABC):
    """Compute a head's entries, and keep their keys and values.

    Attributes: name; method (its draft method); tokenizer (the target's); layers (the
    states of the target that it reads, as in engine.backends.base.HiddenStates); width (numbers in a combined state);
    vocab_size (of its logits: the target's); first (position of the first entry: 1, or 0 if the first token has one
    too, with a state of zeros); branches (whether it computes trees, with `branch`); parameters and weight_bytes;
    ahead (set before each `feed`: 0 if the states are the target's, n for the n-th entry after these, made of the
    head's own).
    """

    name: str
    method: str
    tokenizer: Tokenizer
    layers: tuple[int, ...]
    width: int
    vocab_size: int
    first: int = 1
    branches: bool = False
    ahead: int = 0
    parameters: int = 0
    weight_bytes: int = 0

    @abstractmethod
    def combine(self, states: States) -> States:
        """Make entries, shape (tokens, width), from states of shape (tokens, layers * width)."""

    @abstractmethod
    def feed(self, first: int, tokens: Sequence[int], states: States, *, wanted: bool) -> tuple[Logits, States] | None:
        """Append the entries of the tokens at positions `first`, …, at most BATCH, with the states before them.

        Returns, if `wanted`, the logits after the last one, shape (1, vocab_size), and its own state, shape
        (width,): views that are valid until the next call. Raises BackendFailure.
        """

    def branch(
        self, positions: Sequence[int], tokens: Sequence[int], states: States, seen: NDArray[np.bool_]
    ) -> tuple[Logits, States]:
        """Append entries of a tree behind the text, at positions that may repeat, with the states before them.

        `seen`: mask of the tree's entries that each one sees, shape (tokens, entries of the tree up to these). Returns
        the logits behind each, shape (tokens, vocab_size), and its own state, shape (tokens, width). The next `feed` or
        `cut` drops the tree. Raises BackendFailure.
        """
        raise NotImplementedError

    @abstractmethod
    def cut(self, position: int) -> None:
        """Forget the entries from `position` on."""

    @abstractmethod
    def close(self) -> None:
        """Free the head. Closing twice is harmless."""


class _KeptStates:
    """Store a state of each position, in blocks: as much memory as the text needs, and none of it is ever copied."""

    BLOCK = 1024

    def __init__(self, width: int) -> None:
        self._width = width
        self._blocks: list[States] = []

    def put(self, first: int, states: States) -> None:
        """Keep the states of the positions from `first` on, before which there are no gaps; forget those behind."""
        end = first + len(states)
        needed = -(-end // self.BLOCK)
        del self._blocks[needed:]
        self._blocks.extend(np.empty((self.BLOCK, self._width), np.float32) for _ in range(len(self._blocks), needed))
        for begin, block in self._parts(first, end):
            block[:] = states[begin - first : begin - first + len(block)]

    def get(self, first: int, end: int) -> States:
        """Return the states of the positions from `first` to before `end`, a view where they are in one block."""
        parts = [block for _, block in self._parts(first, end)]
        return parts[0] if len(parts) == 1 else np.concatenate([np.empty((0, self._width), np.float32), *parts])

    def _parts(self, first: int, end: int) -> Iterator[tuple[int, States]]:
        """Yield the parts of a range by block: the index of the first row, and the rows."""
        for number in range(first // self.BLOCK, -(-end // self.BLOCK)):
            start = number * self.BLOCK
            begin = max(first, start)
            yield begin, self._blocks[number][begin - start : end - start]


class _Branch(NamedTuple):
    """Hold a node of a tree: its depth, its own state, and which nodes up to it are on its path."""

    depth: int
    state: States
    seen: NDArray[np.bool_]


class HeadBackend(Backend):
    """Draft with a head as with a separate model (see Backend): made of its layers and its loaded target.

    It reads and keeps the target's states as they are computed (it is a StateReader), and never runs the target:
    accepted entries drafted from its own states are recomputed from the target's, together with the next draft. Its
    `length` counts the tokens of the text, computed or not.
    """

    rewind = Rewind("any")
    most: int | None = None
    """Tokens of a draft at most; None: as many as are asked for."""
    counts_pictures = False
    """True if its positions must be those of the target's cache, in which pictures take some that it is not shown."""
    resting = False
    """Set by the drafter: nothing will be asked for a while, so that states are only kept, and no entry computed."""

    def __init__(self, layers: HeadLayers, target: Backend) -> None:
        self._layers = layers
        self.name = layers.name
        self.method = layers.method
        self.target = target
        self.vocab_size = layers.vocab_size
        self.context_length = target.context_length
        self.eos_token_ids = target.eos_token_ids
        self.tokenizer = layers.tokenizer
        self.device = target.device
        self.threads = target.threads
        self.parameters = layers.parameters
        self.weight_bytes = layers.weight_bytes
        self.rows = target.rows
        self._tokens: list[int] = []
        self._kept = _KeptStates(layers.width)
        self._raw: States = np.zeros((0, 0), np.float32)
        self._combined = self._seen = 0
        """The states of so many positions are combined; are known: those between, BATCH at most, as they were shown."""
        self._exact = self._held = layers.first
        """Entries before the first place are computed from the target's states, those before the second are held."""
        self._own: States | None = None
        self._branches: list[_Branch] = []

    # What the target computes -----------------------------------------------------------------------------------------

    @property
    def state_layers(self) -> Sequence[int]:
        """Return the target's states that it reads."""
        return self._layers.layers

    def expect(self, count: int) -> None:
        """Set the most tokens of the next draft."""

    def ready(self, count: int) -> bool:
        """Return True if it can draft behind `count` tokens, of which the target has read all but the last."""
        return self._layers.first < count <= self._seen + 1

    @property
    def seen(self) -> int:
        """Return the number of leading tokens whose states are known."""
        return self._seen

    def read_states(self, first: int, tokens: Sequence[int], states: States) -> None:
        """Keep the states of tokens that the target has read (see StateReader)."""
        if first > self._seen:  # Something in between was never shown: there is no beginning to build on.
            self.truncate(0)
            return
        alike = first + common_prefix(self._tokens[first:], tokens)
        self._forget(alike)
        del self._tokens[first:]
        self._tokens.extend(tokens)
        self._seen, self._combined = first, min(self._combined, first)
        if first - self._combined + len(states) > BATCH:
            self._combine()
        if len(states) > BATCH:
            self._put(self._layers.combine(states))
        else:  # What is rejected is never combined.
            if self._raw.shape[1] != states.shape[1]:
                self._raw = np.empty((BATCH, states.shape[1]), np.float32)
            waiting = first - self._combined
            self._raw[waiting : waiting + len(states)] = states
        self._seen = first + len(tokens)
        while not self.resting and self.read_on():
            pass

    def read_on(self) -> bool:
        """Compute the next BATCH unread entries, if there are as many; return True if it did."""
        if self._seen - self._exact < BATCH:
            return False
        self._feed_exact(self._exact + BATCH, wanted=False)
        return True

    def _combine(self) -> None:
        """Combine the states that are kept as the target gave them."""
        if self._combined < self._seen:
            self._put(self._layers.combine(self._raw[: self._seen - self._combined]))

    def _put(self, combined: States) -> None:
        """Keep combined states of the positions that come next."""
        self._kept.put(self._combined, combined)
        self._combined += len(combined)

    def _forget(self, position: int) -> None:
        """Drop entries from `position` on, whose token or predecessor has changed."""
        position = max(position, self._layers.first)
        self._exact = min(self._exact, position)
        if self._held > position:
            self._held = position
            self._layers.cut(position)

    # A backend --------------------------------------------------------------------------------------------------------

    @property
    def length(self) -> int:
        return len(self._tokens)

    @property
    def tokens(self) -> Sequence[int]:
        return self._tokens

    def forward(self, tokens: Sequence[int], n_outputs: int) -> Logits:
        if self.closed:
            raise BackendClosed
        held = len(self._tokens)
        if not len(tokens) or n_outputs not in (0, 1):
            raise BackendFailure(Translatable("a head returns one row of logits at most"), held)
        for token in tokens:
            if not 0 <= token < self.target.vocab_size:
                raise TokenOutOfRange(token, self.target.vocab_size)
        if held + len(tokens) > self.context_length:
            raise ContextFull(held + len(tokens), self.context_length)
        self._tokens.extend(tokens)
        if not n_outputs:
            return np.empty((0, self.vocab_size), np.float32)
        try:
            return self._compute()
        except BackendFailure:
            del self._tokens[held:]
            raise

    @property
    def grows(self) -> bool:
        """Return True if it computes trees, with `grow`."""
        return self._layers.branches

    def grow(self, tokens: Sequence[int], parents: Sequence[int]) -> Logits:
        """Compute nodes of a tree after the text, all of which is computed; return the logits after each.

        `parents`: the index of each node's parent, counted over all calls since that forward, or -1 if it follows
        the text. Shape (tokens, vocab_size). The text stays as it is. Raises BackendFailure.
        """
        known, end = self._branches, len(self._tokens)
        if self.closed or self._own is None or self._held != end:
            raise BackendFailure(Translatable("the head has no hidden states to begin with"), self.length)
        depths = [0 if parent < 0 else known[parent].depth + 1 for parent in parents]
        states = np.stack([self._own if parent < 0 else known[parent].state for parent in parents])
        seen = np.zeros((len(tokens), len(known) + len(tokens)), np.bool_)
        for index, parent in enumerate(parents):
            seen[index, len(known) + index] = True
            if parent >= 0:
                seen[index, : len(known[parent].seen)] |= known[parent].seen
        logits, own = self._layers.branch([end + depth for depth in depths], tokens, states, seen)
        known.extend(map(_Branch, depths, own.copy(), seen))
        return logits

    def _compute(self) -> Logits:
        """Compute the entries that are not held yet, up to the last token's, and return the logits behind it."""
        end, known = len(self._tokens), min(self._seen + 1, len(self._tokens))
        found: Logits | None = None
        if self._exact < known:
            while self.read_on():
                pass
            found = self._feed_exact(known, wanted=True)
        while self._held < end and self._own is not None:
            found = self._feed(self._held, self._own[None], wanted=True, ahead=self._held - self._exact + 1)
        if found is None or self._held < end:
            raise BackendFailure(Translatable("the head has no hidden states to begin with"), self.length)
        return found

    def _feed_exact(self, end: int, *, wanted: bool) -> Logits | None:
        """Feed entries before `end` from the target's states, in place of those that came from the head's own."""
        first = self._exact
        self._forget(first)
        self._combine()
        states = self._kept.get(max(first - 1, 0), end - 1)
        if first == 0:
            states = np.concatenate([np.zeros((1, self._layers.width), np.float32), states])
        found = self._feed(first, states, wanted=wanted)
        self._exact = self._held
        return found

    def _feed(self, first: int, states: States, *, wanted: bool, ahead: int = 0) -> Logits | None:
        tokens = self._tokens[first : first + len(states)]
        self._layers.ahead = ahead
        self._own = None
        self._branches = []
        found = self._layers.feed(first, tokens, states, wanted=wanted)
        self._held = first + len(states)
        if found is None:
            return None
        self._own = found[1].copy()
        return found[0]

    def truncate(self, length: int) -> None:
        if self.closed:
            raise BackendClosed
        del self._tokens[length:]
        self._seen = min(self._seen, length)
        self._combined = min(self._combined, length)
        self._forget(length)

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._layers.close()
