"""Compute a tree of tokens in one forward of transformers, by positions and a mask of ancestors.

A node stands at the position of its depth, and sees the text and the nodes on its own path. Source of the mask: Miao
et al., "SpecInfer" (2023), section 4.2. Whether a model obeys positions and mask is tried, as its way to remember is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from engine.backends.transformers.cache import CacheMemory, Memory

_TEXT, _TREE, _PARENTS = (3, 1, 4, 1, 5), (2, 6, 5, 3, 5), (-1, 0, 0, 1, 2)
"""A tree of two branches that is tried: the same token stands in both, behind different ones."""
TRIED = len(_TEXT) + len(_TREE)
"""Tokens that there must be room for."""
_TOLERANCE = {torch.float32: 1e-3, torch.float64: 1e-6}
_COARSE = 0.1
"""Differences from the chain's rows that count as rounding, in standard deviations of a row."""


def ancestors(parents: Sequence[int]) -> NDArray[np.bool_]:
    """Return the mask of the nodes that each node of a tree sees, itself included: shape (nodes, nodes)."""
    seen = np.eye(len(parents), dtype=np.bool_)
    for node, parent in enumerate(parents):
        if parent >= 0:
            seen[node] |= seen[parent]
    return seen


def run_tree(memory: CacheMemory, tokens: Sequence[int], parents: Sequence[int]) -> torch.Tensor:
    """Append the nodes of a tree to the cache in one forward; the logits behind each, shape (nodes, vocabulary)."""
    seen = ancestors(parents)
    visible = np.concatenate([np.ones((len(tokens), memory.length), np.bool_), seen], axis=1)
    mask = np.where(visible, 0.0, -np.inf).astype(np.float32)
    dtype = memory.model.dtype
    lowest = torch.finfo(dtype).min
    shown = torch.from_numpy(mask).clamp(min=lowest).to(dtype).to(memory.model.device)
    places = memory.length + seen.sum(axis=1) - 1
    return memory.run_placed(tokens, torch.from_numpy(places).to(memory.model.device), shown[None, None])


def try_trees(memory: Memory) -> bool:
    """Return True if a model gives the rows of its chains for a tree too. The memory is as before then."""
    if not isinstance(memory, CacheMemory) or not memory.takes_trees:
        return False
    before = memory.length
    try:
        memory.run(_TEXT, 1)
        rows = run_tree(memory, _TREE, _PARENTS).float()
        memory.keep_path(len(_TEXT) + before, [0, 2, 4])
        kept = memory.run([7], 1).float()
        memory.crop(before + len(_TEXT))
        first = memory.run([2, 6, 3], 3).float()
        memory.crop(before + len(_TEXT))
        second = memory.run([2, 5, 5, 7], 4).float()
        expected = torch.stack([first[0], first[1], second[1], first[2], second[2]])
        allowed = _TOLERANCE.get(memory.model.dtype, _COARSE) * expected.std(1)
        return bool(
            ((rows - expected).abs().amax(1) <= allowed).all() and (kept[0] - second[3]).abs().max() <= allowed.max()
        )
    except (RuntimeError, ValueError, TypeError, IndexError, AttributeError, KeyError, NotImplementedError):
        return False
    finally:
        memory.crop(before)
