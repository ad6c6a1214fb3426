"""EAGLE-3 in plain float32, from the paper's formulas (Li et al. 2025, arXiv:2503.01840): what a head must compute."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from helpers.heads.formulas import Array, attention, gated, heads_of, normed, plain_speeds, read_gguf, spread, turned


class EagleReference:
    """One head with one attention layer: pairs of a token and the state before it in, logits out. No cache."""

    def __init__(self, path: Path) -> None:
        self.tensors, entries = read_gguf(path)
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
        hidden = hidden + gated(inner, *(self.tensors[f"blk.0.ffn_{part}.weight"] for part in ("gate", "up", "down")))
        drafted = self._norm(hidden, "output_norm.weight") @ self.tensors["output.weight"].T
        return spread(drafted, self.tensors.get("d2t"), len(self.tensors["token_embd.weight"])), hidden

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
        query, key, value = (
            heads_of(x, self.tensors[f"blk.0.attn_{name}.weight"], heads)
            for name, heads in (("q", self.heads), ("k", self.shared), ("v", self.shared))
        )
        mixed = attention(self._rotated(query), self._rotated(key), value, query.shape[2] ** -0.5)
        return np.asarray(mixed @ self.tensors["blk.0.attn_output.weight"].T, np.float32)

    def _rotated(self, x: Array) -> Array:
        return turned(x, plain_speeds(x.shape[2], self.base), pairs=True)

    def _norm(self, x: Array, name: str) -> Array:
        return normed(x, self.tensors[name], self.epsilon)
