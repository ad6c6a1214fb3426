"""Make a vocabulary larger with tokens that are never drawn, as a real model's is: its cost, and the same text.

A row of the output that belongs to no token must lose everywhere, by far. So one channel of the stream that the small
model does not use, the *mark*, holds the same small number at every token: its square is too small to change a norm but
in its last bit, now and then. The last norm makes a large number of it, whatever the length of the stream, and the rows
of added tokens multiply that by a negative one, those of the small model's tokens by zero. Norms within the layers
multiply it by zero. It is the first channel behind the small model's, so that its block of 32 values is shared with
none of theirs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any

import gguf
import numpy as np
from numpy.typing import NDArray

from engine.errors import GrowthError
from engine.growth.arithmetic import (
    EMBEDDING,
    LAST_NORM,
    OUTPUT,
    SEED,
    Growing,
    GrownShape,
    Growth,
    Part,
    SmallModel,
)
from engine.growth.blocks import BLOCK, Bytes, Kind, blocks_like

MARK = 127 * 2.0**-22
"""What the channel holds at every token: exact in each kind, and its scale still is a float16."""
_LONGEST = 1024.0
"""A stream of this length still lowers the logits of added tokens by `_LOWERED`: the root of the sum of its squares."""
_LOWERED = 127.0
Rows = slice | NDArray[np.bool_]


@dataclass(frozen=True)
class Padding:
    """Say how a vocabulary is padded: `tokens` in all, and which channel is the mark."""

    tokens: int
    channel: int

    def embedding(self, matrix: Bytes, kind: Kind) -> None:
        """Mark every token."""
        put_block(matrix, slice(None), self.channel, MARK, kind)

    def output(self, matrix: Bytes, kind: Kind, known: NDArray[np.bool_]) -> None:
        """Let the rows of tokens lose that are not `known`, and keep the mark out of the others."""
        put_block(matrix, known, self.channel, 0.0, kind)
        put_block(matrix, ~known, self.channel, -_LOWERED, kind)

    def norm(self, weights: NDArray[np.float32], *, last: bool) -> None:
        """Make a number of 1 or more of the mark in the last norm, hide it from what reads the stream in a layer."""
        weights[self.channel] = _LONGEST / (MARK * sqrt(len(weights))) if last else 0.0


def put_block(matrix: Bytes, rows: Rows, column: int, value: float, kind: Kind) -> None:
    """Put a value and 31 zeros into rows of a matrix. `column`: the first of a block."""
    block = blocks_like(value, kind)
    start = column // BLOCK * len(block)
    matrix[rows, start : start + len(block)] = block


def padding_to(tokens: int, known: int, old_width: int, width: int) -> Padding | None:
    """Return how a vocabulary of `known` tokens becomes one of `tokens`; None where it stays as it is (also 0).

    Raises GrowthError.
    """
    if tokens in (0, known):
        return None
    if tokens < known:
        raise GrowthError(f"The vocabulary must be of {known} tokens or more, not {tokens}.")
    if old_width % BLOCK or width < old_width + BLOCK:
        raise GrowthError("A padded vocabulary needs a model that is wider than the small one.")
    return Padding(tokens, old_width)


def padded_tokenizer(entries: Mapping[str, Any], tokens: int) -> dict[str, Any]:
    """Return those entries of a tokenizer that have one item a token, with unused tokens behind its own."""
    known = len(entries["tokenizer.ggml.tokens"])
    fillers: dict[str, list[Any]] = {
        "tokenizer.ggml.tokens": [f"<|unused {number}|>" for number in range(known, tokens)],
        "tokenizer.ggml.token_type": [int(gguf.TokenType.UNUSED)] * (tokens - known),
    }
    fillers["tokenizer.ggml.scores"] = [-1e9] * (tokens - known)
    return {key: [*entries[key], *added] for key, added in fillers.items() if key in entries}


class Padded(Growing):
    """Grow with a padded vocabulary. Attribute: padding (None: the vocabulary stays as it is)."""

    padding: Padding | None = None

    def tokenizer(self) -> dict[str, Any]:
        """Return the entries of the tokenizer, and the size of its vocabulary, where that is padded."""
        if self.padding is None:
            return {}
        small, tokens = self.small, self.padding.tokens
        entries = {key: field.contents() for key, field in small.fields.items() if key.startswith("tokenizer.")}
        return padded_tokenizer(entries, tokens) | {f"{small.architecture}.vocab_size": tokens}

    def content(self, part: Part) -> NDArray[Any]:
        """Return a tensor's contents with what a padded vocabulary needs in them."""
        values = super().content(part)
        if self.padding is not None and part.rows:
            self._pad(self.padding, part, values)
        elif self.padding is not None:
            self.padding.norm(values, last=part.name == LAST_NORM)
        return values

    def _pad(self, padding: Padding, part: Part, matrix: Bytes) -> None:
        """Put what a padded vocabulary needs into a matrix."""
        if part.name == EMBEDDING:
            padding.embedding(matrix, part.kind)
        if part.name == OUTPUT:
            padding.output(matrix, part.kind, np.arange(part.rows) < len(self.small.tensors[OUTPUT].data))


class PaddedGrowth(Padded, Growth):
    """Plan the growth of a target to so many tokens, those that it lacks unused (0: its own). Raises GrowthError."""

    def __init__(
        self, small: SmallModel, shape: GrownShape, kind: Kind, seed: int = SEED, *, vocabulary: int = 0
    ) -> None:
        known = len(small.tensors[EMBEDDING].data)
        self.padding = padding_to(vocabulary, known, small.width, shape.width)
        self._tokens = vocabulary or known
        if self.padding is not None and OUTPUT not in small.tensors:
            raise GrowthError(f"{small.path.name} has no output matrix of its own: its vocabulary cannot be padded.")
        super().__init__(small, shape, kind, seed)

    @property
    def vocabulary(self) -> int:
        """Return the number of tokens, the unused ones too."""
        return self._tokens
