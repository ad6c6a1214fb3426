"""Test a model's feeding and rollback on the model itself, before it writes anything.

transformers' models differ in what they do with a cache: most take several tokens at once at any time, some ignore
their state when several are fed (Mamba's scan starts from zero), some keep things of their own. Nothing declares it, so
eight tokens are read without a cache, which is what the model means, and then with it in the ways that matter.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch

from engine.backends.transformers.cache import Memory, Recomputing, memories

Feeding = Literal["together", "first", "singly"]
"""Several tokens in one forward: always, only into an empty memory, or never."""

_FEEDINGS: tuple[Feeding, ...] = ("together", "first", "singly")

_TOLERANCE = {torch.float32: 1e-4, torch.float64: 1e-4, torch.float16: 2e-2}
_COARSE = 1e-1
"""The largest difference of two computations of a row, in standard deviations of the row, by number format."""
_EXACT = 1e-5
_TELLING = 0.2
"""A recurrent state counts as used where ignoring it moves the row at least five times as far."""
_REFUSALS = (RuntimeError, ValueError, TypeError, AttributeError, LookupError, AssertionError)
"""The errors that models raise at a cache that is not theirs; another way is tried then."""
_COUNT = 8
_FIRST, _MARK = 3, 4


class LooksAhead(Exception):
    """Report that the model's rows depend on tokens that follow: it does not write text token by token."""


class NotNumbers(Exception):
    """Report that the model's rows are not numbers: its weights are damaged."""


@dataclass(frozen=True)
class CacheUse:
    """Describe the memory and the feeding of a model. `vocab_size`: rows of its logits."""

    memory: Memory
    feeding: Feeding
    vocab_size: int


def find_way(model: Any, embeddings: int) -> CacheUse:
    """Return the best way that gives the rows that the model gives without a cache.

    `embeddings`: token ids that it can read.

    Raises LooksAhead, NotNumbers, and whatever the model raises where it cannot even be run without a cache.
    """
    takes = frozenset(inspect.signature(model.forward).parameters)
    tokens = [(7919 * index + 13) % embeddings for index in range(_COUNT)]
    whole = Recomputing(model, takes)
    rows = whole.run(tokens, _COUNT).float()
    if rows.isnan().any():
        raise NotNumbers
    rows = _finite(rows)
    whole.reset()
    if not _alike(whole.run(tokens[:_FIRST], _FIRST), rows[:_FIRST], _COARSE):
        raise LooksAhead
    whole.reset()
    stateless = _finite(whole.run(tokens[_MARK:], _COUNT - _MARK))
    whole.reset()
    for make in memories(model, takes):
        for feeding in _FEEDINGS:
            if _obeys(make, feeding, tokens, rows, stateless):
                return CacheUse(make(), feeding, rows.shape[1])
    return CacheUse(whole, "together", rows.shape[1])


def _obeys(
    make: Callable[[], Memory], feeding: Feeding, tokens: Sequence[int], rows: torch.Tensor, stateless: torch.Tensor
) -> bool:
    """Return True if feeding, going back and feeding on gives the rows that were computed without a cache."""
    try:
        memory = make()
        dtype = memory.model.dtype
        first = feed(memory, feeding, tokens[:_FIRST], _FIRST)
        second = feed(memory, feeding, tokens[_FIRST:_MARK], 1)
        saved = None if memory.can_crop else memory.save()
        feed(memory, feeding, tokens[:2], 1)
        if memory.can_crop:
            memory.crop(_MARK)
        else:
            memory.restore(saved)
        last = feed(memory, feeding, tokens[_MARK:], _COUNT - _MARK)
    except torch.OutOfMemoryError:
        raise
    except _REFUSALS:
        return False
    read = torch.cat((first, second, last))
    # A model fed token by token gives the same rows whatever is proposed; they may then differ more from those read
    # at once, as they do in transformers' own loop.
    tolerance = _TOLERANCE.get(dtype, _COARSE) if feeding == "together" else _COARSE
    if not _alike(read, rows, tolerance):
        return False
    return memory.can_crop or _uses_state(_finite(last), rows[_MARK:], stateless)


def feed(memory: Memory, feeding: Feeding, tokens: Sequence[int], rows: int) -> torch.Tensor:
    """Feed `tokens` in the pieces that the model takes; the logits behind the last `rows` of them."""
    if feeding == "together" or len(tokens) == 1 or (feeding == "first" and memory.length == 0):
        return memory.run(tokens, rows)
    silent = len(tokens) - rows
    found = [memory.run([token], int(index >= silent)) for index, token in enumerate(tokens)]
    return torch.cat(found[silent:]) if rows else found[-1]


def _alike(read: torch.Tensor, rows: torch.Tensor, tolerance: float) -> bool:
    return bool(((_finite(read) - rows).abs().amax(1) <= tolerance * rows.std(1)).all())


def _uses_state(read: torch.Tensor, rows: torch.Tensor, stateless: torch.Tensor) -> bool:
    """Return True if the rows are those behind the whole text, and clearly not those behind the last tokens alone."""
    error = (read - rows).abs().amax(1)
    allowed = torch.maximum(_TELLING * (stateless - rows).abs().amax(1), _EXACT * rows.std(1))
    return bool((error <= allowed).all())


def _finite(rows: torch.Tensor) -> torch.Tensor:
    """Return the rows in float32; values ruled out by minus infinity count as 0.

    A row that is not a number stays one.
    """
    return torch.nan_to_num(rows.float(), torch.nan, 0.0, 0.0)
