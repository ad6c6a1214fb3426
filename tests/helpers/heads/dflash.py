"""DFlash and DSpark heads for GGUF targets, made without training, and what they must compute, in plain float32."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from numpy.typing import NDArray

from helpers.heads.formulas import attention, heads_of, inside, normed, plain_speeds, read_gguf, silu, spread, turned
from helpers.heads.layouts import floats_of, instead, number_of, scaled, some_tokens, write_gguf

Array = NDArray[np.float32]
MASK = 0
KERNEL, GROUP, RANK = 3, 8, 16
"""Of DFlash2: places that a convolution reads, numbers of a state that share its weights, and of a token's code."""


def write_dflash(
    path: Path,
    target: Path,
    *,
    block: int = 6,
    read: tuple[int, ...] = (1, 2, 3),
    depth: int = 2,
    kept: int | None = None,
    states: float = 0.05,
    markov: bool = False,
    selector: int = 0,
    anchored: bool = True,
    seed: int = 0,
    **changed: Array | None,
) -> Path:
    """A head in llama.cpp's layout (architecture dflash), in float32; with `markov` DSpark, with `selector` DFlash2.

    `selector`: of how many tokens it chooses one at each place, by the one before.

    Its masks attend to the pending token, whose embedding its first layer carries to all of them; so they propose what
    that makes likely. `kept`: so many tokens are in the draft's own vocabulary. `anchored`: DSpark's first row proposes
    too. `changed`: tensors in place of those of the same name ("." as "__"), None to leave one out.
    """
    reader = gguf.GGUFReader(target)
    found = {tensor.name: floats_of(tensor) for tensor in reader.tensors}
    output, (vocabulary, width) = found["output.weight"], found["token_embd.weight"].shape
    rng = np.random.default_rng(seed)
    made = {name: found[name] for name in ("token_embd.weight", "output.weight", "output_norm.weight")}
    made["fc.weight"] = scaled(rng, width, len(read) * width)
    made["enc.output_norm.weight"] = states * np.ones(width, np.float32)
    for layer in range(depth):
        parts = _block(rng, made["token_embd.weight"], first=layer == 0)
        made |= {f"blk.{layer}.{name}.weight": values for name, values in parts.items()}
    if markov:
        made |= {f"markov_w{number}.weight": scaled(rng, vocabulary, 16, 2.0) for number in (1, 2)}
    if selector:
        made |= _selector(rng, vocabulary, width, depth)
    tensors: dict[str, NDArray[Any]] = {**instead(made, changed)}
    if kept is not None:
        table = some_tokens(rng, vocabulary, kept)
        tensors |= {"output.weight": output[table], "d2t": table}
        if "markov_w2.weight" in tensors:
            tensors["markov_w2.weight"] = tensors["markov_w2.weight"][table]
    entries = _entries(number_of(reader, "context_length"), width, depth)
    entries |= {"block_size": block, "target_layers": read}
    if selector:
        sizes = {"conv_kernel_size": KERNEL, "conv_group_size": GROUP, "selector_rank": RANK}
        entries |= sizes | {"selector_top_k": selector}
    if markov:
        entries |= {"sample_from_anchor": anchored, "has_confidence_head": False}
    return write_gguf(path, "dflash", entries, tensors, reader)


def _entries(context: int, width: int, depth: int) -> dict[str, Any]:
    return {
        "block_count": depth,
        "context_length": context,
        "embedding_length": width,
        "feed_forward_length": 2 * width,
        "attention.head_count": 1,
        "attention.head_count_kv": 1,
        "attention.key_length": width,
        "attention.value_length": width,
        "attention.layer_norm_rms_epsilon": 1e-5,
        "rope.dimension_count": width,
        "tokenizer.ggml.mask_token_id": MASK,
    }


def _block(rng: np.random.Generator, embedding: Array, *, first: bool) -> dict[str, Array]:
    """Return the tensors of a layer; the first one carries the pending token's embedding to all masks."""
    width = embedding.shape[1]
    ones, mask = np.ones(width, np.float32), embedding[MASK] / np.linalg.norm(embedding[MASK])
    carried = np.eye(width, dtype=np.float32) - np.outer(mask, mask) if first else scaled(rng, width, width, 0.1)
    return {
        "attn_norm": ones,
        "ffn_norm": ones,
        "attn_q_norm": ones * np.float32(0.3),
        "attn_k_norm": ones,
        "attn_q": scaled(rng, width, width),
        "attn_k": scaled(rng, width, width),
        "attn_v": np.asarray(carried, np.float32),
        "attn_output": np.eye(width, dtype=np.float32) * np.float32(100 if first else 1),
        "ffn_gate": scaled(rng, 2 * width, width),
        "ffn_up": scaled(rng, 2 * width, width),
        "ffn_down": scaled(rng, width, 2 * width, 0.1),
    }


def _selector(rng: np.random.Generator, vocabulary: int, width: int, depth: int) -> dict[str, Array]:
    """What DFlash2 has beside DFlash's: convolutions that pass on what they read, nearly, and codes of tokens."""
    found = {
        "selector_predecessor.weight": scaled(rng, vocabulary, RANK, 1.0),
        "selector_successor.weight": scaled(rng, vocabulary, RANK, 0.5),
        "selector_hidden.weight": scaled(rng, RANK, width, 1.0),
    }
    for layer in range(depth):
        for part in ("attn", "ffn"):
            base = 0.1 * rng.standard_normal((2, KERNEL, width))
            base[:, 0] += 1.0
            found[f"blk.{layer}.{part}_conv_base"] = np.asarray(base, np.float32)
            found[f"blk.{layer}.{part}_conv_proj.weight"] = scaled(rng, 2 * KERNEL * (width // GROUP), width, 0.1)
    return found


class DFlashReference:
    """One head without a cache. Source of the formulas: arXiv:2602.06036; its layers are Qwen3's, looking both ways."""

    def __init__(self, path: Path) -> None:
        self.tensors, entries = read_gguf(path)
        self.depth, self.block = int(entries["dflash.block_count"]), int(entries["dflash.block_size"])
        self.candidates = int(entries.get("dflash.selector_top_k", 0))
        self.markov = "markov_w1.weight" in self.tensors
        self.anchored = self.markov and bool(entries.get("dflash.sample_from_anchor", True))

    def chain(self, tokens: Sequence[int], states: Array, proposed: Sequence[int]) -> Array:
        """Rows behind the last token, of which there are as many as `proposed`; only DFlash2's depend on these."""
        count = len(proposed)
        rows = count if self.anchored else count + 1
        block = [tokens[-1], *[MASK] * (rows - 1)]
        x = self.tensors["token_embd.weight"][block]
        given = normed(states @ self.tensors["fc.weight"].T, self.tensors["enc.output_norm.weight"])
        for layer in range(self.depth):
            x = self._layer(inside(self.tensors, f"blk.{layer}."), x, given)
        left = normed(x, self.tensors["output_norm.weight"])
        logits = self._spread(left @ self.tensors["output.weight"].T, -np.inf)
        if self.candidates:
            return self._chosen(logits, left, [tokens[-1], *proposed])
        if self.markov:
            logits = self._chained(logits, block[0])
        return logits[rows - count :]

    def _chained(self, logits: Array, token: int) -> Array:
        found = logits.copy()
        for row in range(0 if self.anchored else 1, len(found)):
            bias = self.tensors["markov_w1.weight"][token] @ self.tensors["markov_w2.weight"].T
            found[row] += self._spread(bias[None], 0.0)[0]
            token = int(found[row].argmax())
        return found

    def _chosen(self, logits: Array, left: Array, tokens: Sequence[int]) -> Array:
        """The likeliest tokens at each place, scored with the token before; all others are out."""
        before, behind = (self.tensors[f"selector_{name}.weight"] for name in ("predecessor", "successor"))
        rows = np.full((len(logits) - 1, logits.shape[1]), -np.inf, np.float32)
        for place in range(1, len(logits)):
            best = np.argsort(-logits[place], kind="stable")[: self.candidates]
            gate = self.tensors["selector_hidden.weight"] @ left[place]
            rows[place - 1, best] = logits[place, best] + behind[best] @ (before[tokens[place - 1]] * gate)
        return rows

    def _blended(self, x: Array, dynamic: Array, base: Array, side: int) -> Array:
        """DFlash2's convolution over the block: each place with those before, by weights of its own."""
        found = np.zeros_like(x)
        weights = dynamic.reshape(len(x), 2, KERNEL, -1)[:, side]
        for tap in range(min(KERNEL, len(x))):
            each = np.repeat(weights[:, tap], GROUP, axis=1) + base[side, tap]
            found[tap:] += each[tap:] * x[: len(x) - tap]
        return found

    def _spread(self, rows: Array, otherwise: float) -> Array:
        return spread(rows, self.tensors.get("d2t"), len(self.tensors["token_embd.weight"]), otherwise)

    def _layer(self, layer: dict[str, Array], x: Array, given: Array) -> Array:
        inner, count = normed(x, layer["attn_norm.weight"]), len(given)
        dynamic: dict[str, Array] = {}
        if self.candidates:
            dynamic["attn"] = inner @ layer["attn_conv_proj.weight"].T
            inner = self._blended(inner, dynamic["attn"], layer["attn_conv_base"], 0)
        both = np.concatenate([given, inner])
        query = normed(inner @ layer["attn_q.weight"].T, layer["attn_q_norm.weight"])[:, None]
        key = normed(both @ layer["attn_k.weight"].T, layer["attn_k_norm.weight"])[:, None]
        speeds = plain_speeds(key.shape[2])
        query, key = turned(query, speeds, count + np.arange(len(x))), turned(key, speeds)
        mixed = attention(query, key, heads_of(both, layer["attn_v.weight"], 1), key.shape[2] ** -0.5, seen=True)
        mixed = mixed @ layer["attn_output.weight"].T
        if self.candidates:
            mixed = self._blended(mixed, dynamic["attn"], layer["attn_conv_base"], 1)
        x = x + mixed
        inner = normed(x, layer["ffn_norm.weight"])
        if self.candidates:
            dynamic["ffn"] = inner @ layer["ffn_conv_proj.weight"].T
            inner = self._blended(inner, dynamic["ffn"], layer["ffn_conv_base"], 0)
        gate = inner @ layer["ffn_gate.weight"].T
        passed = silu(gate) * (inner @ layer["ffn_up.weight"].T)
        passed = passed @ layer["ffn_down.weight"].T
        if self.candidates:
            passed = self._blended(passed, dynamic["ffn"], layer["ffn_conv_base"], 1)
        return np.asarray(x + passed, np.float32)
