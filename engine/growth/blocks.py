"""Fill matrices with blocks of 32 values, the unit of the quantised kinds: normal values, and blocks that are zero."""

from __future__ import annotations

from functools import cache

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Kind
from numpy.typing import NDArray

__all__ = ["BLOCK", "Bytes", "Kind", "blocks_like", "pool"]

BLOCK = 32
_POOL_BLOCKS = 65_521
"""A prime, so that the pool's repetitions fall differently on the rows of every matrix."""
_STD = 0.02
"""The deviation of the random weights: that of real models of this size, and the activations stay small."""
_SCALED = (Kind.Q8_0, Kind.Q4_0)
"""Kinds whose blocks begin with a float16 scale."""
Bytes = NDArray[np.uint8]


@cache
def pool(kind: Kind, seed: int) -> tuple[Bytes, Bytes]:
    """Return blocks of normal values, and blocks that are zero: each of shape (blocks, bytes of 32 values)."""
    values = np.random.default_rng(seed).normal(0.0, _STD, (_POOL_BLOCKS, BLOCK)).astype(np.float32)
    blocks: Bytes = gguf.quants.quantize(values, kind).view(np.uint8).reshape(_POOL_BLOCKS, -1)
    nothing = blocks.copy() if kind in _SCALED else np.zeros_like(blocks)
    if kind in _SCALED:
        nothing[:, :2] = 0
    return blocks, nothing


def blocks_like(value: float, kind: Kind) -> Bytes:
    """Return the bytes of a block that holds `value` and 31 zeros."""
    numbers = np.zeros((1, BLOCK), np.float32)
    numbers[0, 0] = value
    block: Bytes = gguf.quants.quantize(numbers, kind).view(np.uint8).reshape(-1)
    return block
