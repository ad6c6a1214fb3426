"""EAGLE-3 in plain float32, from the paper's formulas (Li et al. 2025, arXiv:2503.01840): what a head must compute."""

from collections.abc import Sequence
from pathlib import Path

import gguf
import numpy as np
from numpy.typing import NDArray

from helpers.heads.layouts import floats_of

Array = NDArray[np.float32]


class EagleReference:
    """One head with one attention layer: pairs of a token and the state before it in, logits out. No cache."""

    def __init__(self, path: Path) -> None:
        reader = gguf.GGUFReader(path)
        self.tensors = {tensor.name: floats_of(tensor) for tensor in reader.tensors}
        entries = {name: field.contents() for name, field in reader.fields.items()}
        self.heads = int(entries["eagle3.attention.head_count"])
        self.shared = int(entries["eagle3.attention.head_count_kv"])
        self.epsilon = float(entries["eagle3.attention.layer_norm_rms_epsilon"])
        self.normed = bool(entries.get("eagle3.norm_before_residual"))
        self.normed_fc = bool(entries.get("eagle3.norm_before_fc"))
        self.base = float(entries.get("eagle3.rope.freq_base", 10000.0))

    def combine(self, states: Array) -> Array:
        """g: the projection of the target's states, shape (tokens, 3 * width)."""
        if self.normed_fc:
            states = self._norm(states, "enc.output_norm.weight")
        return states @ self.tensors["fc.weight"].T

    def pairs(self, tokens: Sequence[int], states: Array) -> tuple[Array, Array]:
        """Logits behind each pair, over the target's vocabulary, and the states that take g's place for the next."""
        embedded = self._norm(self.tensors["token_embd.weight"][list(tokens)], "blk.0.attn_norm.weight")
        normed = self._norm(states, "blk.0.attn_norm_2.weight")
        hidden = (normed if self.normed else states) + self._attention(np.concatenate([embedded, normed], axis=1))
        inner = self._norm(hidden, "blk.0.ffn_norm.weight")
        gate = inner @ self.tensors["blk.0.ffn_gate.weight"].T
        up = inner @ self.tensors["blk.0.ffn_up.weight"].T
        hidden = hidden + (gate / (1 + np.exp(-gate)) * up) @ self.tensors["blk.0.ffn_down.weight"].T
        drafted = self._norm(hidden, "output_norm.weight") @ self.tensors["output.weight"].T
        table = self.tensors.get("d2t")
        if table is None:
            return drafted, hidden
        logits = np.full((len(drafted), len(self.tensors["token_embd.weight"])), -np.inf, np.float32)
        logits[:, table.astype(np.int64)] = drafted
        return logits, hidden

    def chain(self, tokens: Sequence[int], states: Array, proposed: Sequence[int]) -> Array:
        """Rows behind the last token and behind each of `proposed` but the last. `states`: of all tokens but the last.

        Shape (proposed, vocabulary).
        """
        given, text = self.combine(states), list(tokens[1:])
        rows = []
        for token in proposed:
            logits, hidden = self.pairs(text, given)
            rows.append(logits[-1])
            given = np.concatenate([given, hidden[-1:]])
            text.append(token)
        return np.stack(rows)

    def _attention(self, x: Array) -> Array:
        width = len(self.tensors["blk.0.attn_q.weight"]) // self.heads

        def split(name: str, heads: int) -> Array:
            return (x @ self.tensors[f"blk.0.attn_{name}.weight"].T).reshape(len(x), heads, width).transpose(1, 0, 2)

        query, key = self._rotated(split("q", self.heads)), self._rotated(split("k", self.shared))
        value = split("v", self.shared)
        key, value = (np.repeat(each, self.heads // self.shared, axis=0) for each in (key, value))
        scores = query @ key.transpose(0, 2, 1) / np.sqrt(width)
        scores = np.where(np.tril(np.ones((len(x), len(x)), bool)), scores, -np.inf)
        weights = np.exp(scores - scores.max(axis=2, keepdims=True))
        mixed = weights / weights.sum(axis=2, keepdims=True) @ value
        found: Array = mixed.transpose(1, 0, 2).reshape(len(x), -1) @ self.tensors["blk.0.attn_output.weight"].T
        return found

    def _rotated(self, x: Array) -> Array:
        width = x.shape[2]
        angles = np.arange(x.shape[1])[:, None] * self.base ** (-np.arange(0, width, 2) / width)
        even, odd = x[:, :, 0::2], x[:, :, 1::2]
        turned = np.empty_like(x)
        turned[:, :, 0::2] = even * np.cos(angles) - odd * np.sin(angles)
        turned[:, :, 1::2] = even * np.sin(angles) + odd * np.cos(angles)
        return turned

    def _norm(self, x: Array, name: str) -> Array:
        scale = 1 / np.sqrt(np.mean(x.astype(np.float64) ** 2, axis=1, keepdims=True) + self.epsilon)
        normed: Array = (x * scale * self.tensors[name]).astype(np.float32)
        return normed
