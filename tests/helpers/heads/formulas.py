"""Formulas of heads and models, in plain float32 numpy and without a cache."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from numpy.typing import NDArray

from helpers.heads.layouts import floats_of

Array = NDArray[np.float32]


def read_gguf(path: Path) -> tuple[dict[str, Array], dict[str, Any]]:
    """Read the tensors and the header's entries of a file."""
    reader = gguf.GGUFReader(path)
    entries = {name: field.contents() for name, field in reader.fields.items()}
    return {tensor.name: floats_of(tensor) for tensor in reader.tensors}, entries


def inside(tensors: dict[str, Array], prefix: str) -> dict[str, Array]:
    return {name.removeprefix(prefix): each for name, each in tensors.items() if name.startswith(prefix)}


def normed(x: Array, weight: Array, epsilon: float = 1e-5) -> Array:
    exact = x.astype(np.float64)
    scale = 1 / np.sqrt(np.mean(exact**2, axis=-1, keepdims=True) + epsilon)
    return np.asarray(exact * scale * weight, np.float32)


def silu(x: Array) -> Array:
    return np.asarray(x / (1 + np.exp(-x)), np.float32)


def gated(x: Array, gate: Array, up: Array, down: Array) -> Array:
    return np.asarray((silu(x @ gate.T) * (x @ up.T)) @ down.T, np.float32)


def heads_of(x: Array, weight: Array, heads: int, bias: Array | float = 0.0) -> Array:
    """Project to heads, shape (tokens, heads, width)."""
    return np.asarray(x @ weight.T + bias, np.float32).reshape(len(x), heads, -1)


def attention(query: Array, key: Array, value: Array, scale: float, seen: Any = None) -> Array:
    """Mix values of shape (tokens, heads, width), all heads side by side.

    `seen`: which keys a token sees; without it those up to its own.
    """
    group = query.shape[1] // key.shape[1]
    scores = np.einsum("ihd,jhd->hij", query, np.repeat(key, group, axis=1)) * scale
    scores = np.where(np.tri(len(query), len(key), dtype=bool) if seen is None else seen, scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    weights /= weights.sum(axis=2, keepdims=True)
    mixed = np.einsum("hij,jhd->ihd", weights, np.repeat(value, group, axis=1))
    return np.asarray(mixed.reshape(len(query), -1), np.float32)


def plain_speeds(width: int, base: float = 10000.0) -> NDArray[np.float64]:
    """Return the radians a place by which each pair of a head turns."""
    half = width // 2
    return np.asarray(base ** (-np.arange(half) / half))


def turned(x: Array, speeds: NDArray[np.float64], places: Any = None, *, pairs: bool = False, by: float = 1.0) -> Array:
    """Turn the halves of each head, or with `pairs` its neighbours, by its token's place."""
    angles = (np.arange(len(x)) if places is None else places)[:, None, None] * speeds
    half = x.shape[2] // 2
    first, second = (x[..., 0::2], x[..., 1::2]) if pairs else (x[..., :half], x[..., half:])
    cos, sin = by * np.cos(angles), by * np.sin(angles)
    both = first * cos - second * sin, first * sin + second * cos
    made = np.stack(both, axis=3).reshape(x.shape) if pairs else np.concatenate(both, axis=2)
    return np.asarray(made, np.float32)


def spread(rows: Array, table: Array | None, count: int, otherwise: float = -np.inf) -> Array:
    """Return rows over the target's vocabulary of `count` from those over a draft's own."""
    if table is None:
        return rows
    found = np.full((len(rows), count), otherwise, np.float32)
    found[:, table.astype(np.int64)] = rows
    return found


def rows_of_a_chain(
    hidden_of: Any, output: Array, tokens: Sequence[int], given: Array, proposed: Sequence[int]
) -> Array:
    """Return the rows behind `tokens` and each of `proposed` but the last, where a head goes on from its own states."""
    text, rows = list(tokens), []
    for token in proposed:
        hidden = hidden_of(text, given)
        rows.append(output @ hidden[-1])
        given = np.concatenate([given, hidden[-1:]])
        text.append(token)
    return np.stack(rows)
