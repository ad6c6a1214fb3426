"""MTP layers in plain float32 numpy, from the papers' formulas: no cache, no PyTorch.

DeepSeek-AI 2024, arXiv:2412.19437, section 2.2 (the modules), section 2.1 (attention with latent keys, experts); the
gated attention and the norms of Qwen3-Next as its authors publish them.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from helpers.heads.formulas import attention, normed, plain_speeds, silu, turned
from helpers.heads.torch_mtp import Array, names_of, read_tensors


class FolderMtpReference:
    """The MTP layers of a folder that helpers.heads.torch_mtp wrote."""

    def __init__(self, folder: Path, count: int = 1) -> None:
        self.config: dict[str, Any] = json.loads((folder / "config.json").read_text("utf-8"))
        self.kind = str(self.config["model_type"])
        self.tensors = read_tensors(folder)
        self.plus = 1.0 if self.kind.startswith("qwen") else 0.0
        self.epsilon = float(self.config["rms_norm_eps"])
        self.heads = int(self.config["num_attention_heads"])
        self.shared = int(self.config["num_key_value_heads"])
        rope = self.config["rope_parameters"]
        self.base, self.part = float(rope["rope_theta"]), float(rope.get("partial_rotary_factor", 1.0))
        self.names = [names_of(self.kind, index, int(self.config["num_hidden_layers"])) for index in range(count)]

    def chain(self, tokens: Sequence[int], states: Array, proposed: Sequence[int]) -> Array:
        """Rows behind the last token and behind each of `proposed` but the last. `states`: of all tokens but the last.

        Shape (proposed, vocabulary). A single layer goes on from its own state; of several each makes one row.
        """
        text, given, rows = list(tokens), self._normed(states, "model.norm"), []
        for number, token in enumerate(proposed):
            names = self.names[min(number, len(self.names) - 1)]
            hidden = self._layer(names, text[len(text) - len(given) :], given)
            rows.append(hidden[-1] @ self.tensors["lm_head.weight"].T)
            given = hidden if len(self.names) > 1 else np.concatenate([given, hidden[-1:]])
            text.append(token)
        return np.stack(rows)

    def _layer(self, names: dict[str, str], tokens: Sequence[int], states: Array) -> Array:
        embedded = self._normed(self.tensors["model.embed_tokens.weight"][list(tokens)], names["token_norm"])
        pair = np.concatenate([embedded, self._normed(states, names["state_norm"])], axis=1)
        x, block = pair @ self.tensors[f"{names['projection']}.weight"].T, names["block"]
        attention = self._latent if self.kind == "deepseek_v3" else self._attention
        x = x + attention(f"{block}self_attn.", self._normed(x, f"{block}input_layernorm"))
        inner = self._normed(x, f"{block}post_attention_layernorm")
        x = x + self._feed_forward(f"{block}mlp.", inner)
        return self._normed(x, names["norm"])

    def _attention(self, at: str, x: Array) -> Array:
        """Attention with shared keys; Qwen's has a gate beside each head's query."""
        count, gated = len(x), self.plus > 0
        query = self._times(x, f"{at}q_proj").reshape(count, self.heads, -1)
        gate = np.ones((), np.float32)
        if gated:
            query, beside = np.split(query, 2, axis=2)
            gate = np.asarray(1 / (1 + np.exp(-beside.reshape(count, -1))), np.float32)
        key = self._times(x, f"{at}k_proj").reshape(count, self.shared, -1)
        value = self._times(x, f"{at}v_proj").reshape(count, self.shared, -1)
        width = query.shape[2]
        part = int(width * self.part)
        query, key = (
            np.concatenate([turned(each[..., :part], plain_speeds(part, self.base)), each[..., part:]], axis=2)
            for each in (self._normed(query, f"{at}q_norm"), self._normed(key, f"{at}k_norm"))
        )
        mixed = attention(query, key, value, width**-0.5)
        return self._times(mixed * gate, f"{at}o_proj")

    def _latent(self, at: str, x: Array) -> Array:
        """Attention whose keys and values come from a short vector, with a turned part that all heads share."""
        count, config = len(x), self.config
        part, rest, value = (int(config[name]) for name in ("qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim"))
        short = self._normed(self._times(x, f"{at}q_a_proj"), f"{at}q_a_layernorm", 1e-6)
        query = self._times(short, f"{at}q_b_proj").reshape(count, self.heads, rest + part)
        both = self._times(x, f"{at}kv_a_proj_with_mqa")
        rank = int(config["kv_lora_rank"])
        latent = self._normed(both[:, :rank], f"{at}kv_a_layernorm", 1e-6)
        kept = self._times(latent, f"{at}kv_b_proj").reshape(count, self.heads, rest + value)
        speeds = plain_speeds(part, self.base)
        common = np.repeat(turned(both[:, None, rank:], speeds, pairs=True), self.heads, axis=1)
        key = np.concatenate([kept[..., :rest], common], axis=2)
        query = np.concatenate([query[..., :rest], turned(query[..., rest:], speeds, pairs=True)], axis=2)
        return self._times(attention(query, key, kept[..., rest:], (rest + part) ** -0.5), f"{at}o_proj")

    def _feed_forward(self, at: str, x: Array) -> Array:
        if f"{at}gate.weight" not in self.tensors:
            return self._gated(at, x)
        scores, config = self._times(x, f"{at}gate"), self.config
        wanted = int(config["num_experts_per_tok"])
        if self.plus:
            weights = np.exp(scores - scores.max(axis=1, keepdims=True))
            weights /= weights.sum(axis=1, keepdims=True)
            chosen, scale = weights, 1.0
            shared = self._gated(f"{at}shared_expert.", x)
            shared = shared / (1 + np.exp(-self._times(x, f"{at}shared_expert_gate")))
        else:
            weights = np.asarray(1 / (1 + np.exp(-scores)), np.float32)
            chosen = self._in_best_groups(weights + self.tensors[f"{at}gate.e_score_correction_bias"])
            scale = float(config["routed_scaling_factor"])
            shared = self._gated(f"{at}shared_experts.", x)
        found = np.array(shared)
        for row in range(len(x)):
            best = np.argsort(-chosen[row], kind="stable")[:wanted]
            share = weights[row, best] / weights[row, best].sum()
            for expert, part in zip(best, share, strict=True):
                found[row] += scale * part * self._gated(f"{at}experts.{expert}.", x[row : row + 1])[0]
        return found

    def _in_best_groups(self, scores: Array) -> Array:
        """Scores with those of all but the best groups of experts left out; two experts speak for a group."""
        groups, kept = int(self.config["n_group"]), int(self.config["topk_group"])
        parts = scores.reshape(len(scores), groups, -1)
        worth = np.sort(parts, axis=2)[:, :, -2:].sum(axis=2)
        best = np.argsort(-worth, axis=1)[:, :kept]
        out = np.full_like(parts, -np.inf)
        for row, groups_of in enumerate(best):
            out[row, groups_of] = parts[row, groups_of]
        return out.reshape(scores.shape)

    def _gated(self, at: str, x: Array) -> Array:
        gate = self._times(x, f"{at}gate_proj")
        return self._times(silu(gate) * self._times(x, f"{at}up_proj"), f"{at}down_proj")

    def _times(self, x: Array, name: str) -> Array:
        return np.asarray(x @ self.tensors[f"{name}.weight"].T, np.float32)

    def _normed(self, x: Array, name: str, epsilon: float | None = None) -> Array:
        return normed(x, self.plus + self.tensors[f"{name}.weight"], epsilon or self.epsilon)
