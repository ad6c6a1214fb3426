"""Gemma 4 and its assistant in plain float32 numpy, without a cache.

Source of the formulas: the documentation of Gemma4Assistant in Hugging Face's transformers (the assistant has no keys
of its own, reads those of the target's last layers, and makes all its tokens from one position), and llama.cpp's graphs
(src/models/gemma4.cpp, gemma4-assistant.cpp).
"""

import functools
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from helpers.heads.formulas import attention, inside, normed, plain_speeds, read_gguf, turned
from helpers.heads.gemma4 import BASE, BASE_IN_WINDOW, EPSILON, WINDOW, Array, Gemma

_normed = functools.partial(normed, epsilon=EPSILON)
Keys = tuple[Array, Array]


class AssistantReference:
    """A target and its assistant: tokens in, the rows of what the assistant proposes out."""

    def __init__(self, target: Path, assistant: Path, size: Gemma) -> None:
        self.size = size
        self.target, self.own = read_gguf(target)[0], read_gguf(assistant)[0]
        self._known: tuple[list[int], tuple[Array, Keys, Keys]] | None = None
        self.layers = 1 + max(int(name.split(".")[1]) for name in self.own if name.startswith("blk."))

    def states(self, tokens: Sequence[int]) -> tuple[Array, Keys, Keys]:
        """What leaves the target's last norm, and the keys and values of its last layers, with a window and full.

        A longer text that begins so and was asked for before is not computed again.
        """
        count = len(tokens)
        if self._known is None or self._known[0][:count] != list(tokens):
            self._known = list(tokens), self._computed(tokens)
        states, (key, value), (full_key, full_value) = self._known[1]
        return states[:count], (key[:count], value[:count]), (full_key[:count], full_value[:count])

    def _computed(self, tokens: Sequence[int]) -> tuple[Array, Keys, Keys]:
        size, tensors = self.size, self.target
        places = np.arange(len(tokens))
        x = tensors["token_embd.weight"][list(tokens)] * np.float32(np.sqrt(size.width))
        beside = self._beside(tokens, x) if size.beside else None
        kept: dict[bool, Keys] = {}
        for layer in range(size.layers):
            window, block = size.window(layer), _block(tensors, layer)
            inner = _normed(x, block["attn_norm"])
            query = self._query(inner, block, places, tensors, window=window)
            if "attn_k" in block:
                shared, width = size.shapes(layer)
                key = (inner @ block["attn_k"].T).reshape(len(x), shared, width)
                value = (inner @ block["attn_v"].T).reshape(key.shape) if "attn_v" in block else key
                turned = self._turned(_normed(key, block["attn_k_norm"]), places, tensors, window=window)
                kept[window] = turned, _normed(value, np.ones(width, np.float32))
            mixed = _attention(query, *kept[window], places, window=window) @ block["attn_output"].T
            x = x + _normed(mixed, block["post_attention_norm"])
            x = x + _feed_forward(x, block)
            if beside is not None:
                gated = _gelu(np.asarray(x @ block["inp_gate"].T, np.float32)) * beside[:, layer]
                x = x + _normed(np.asarray(gated @ block["proj"].T, np.float32), block["post_norm"])
            x = x * block["layer_output_scale"]
        return _normed(x, tensors["output_norm.weight"]), kept[True], kept[False]

    def chain(self, tokens: Sequence[int], states: Array, proposed: Sequence[int]) -> Array:
        """Rows behind the last token and behind each of `proposed` but the last. `states`: of all tokens but the last.

        Shape (proposed, vocabulary).
        """
        own, in_window, full = self.states(tokens[:-1])
        assert np.abs(own - states).max() < 1e-4
        place, state, token, rows = len(tokens) - 1, states[-1:], tokens[-1], []
        for following in proposed:
            hidden = self._hidden(token, state, place, in_window, full)
            rows.append(hidden[0] @ self.own["token_embd.weight"].T)
            state, token = hidden @ self.own["nextn.post_projection.weight"].T, following
        return np.stack(rows)

    def _hidden(self, token: int, state: Array, place: int, in_window: Keys, full: Keys) -> Array:
        embedded = self.target["token_embd.weight"][[token]] * np.float32(np.sqrt(self.size.width))
        x = np.concatenate([embedded, state], axis=1) @ self.own["nextn.pre_projection.weight"].T
        for layer in range(self.layers):
            block, window = _block(self.own, layer), layer < self.layers - 1
            places = np.asarray([place])
            query = self._query(_normed(x, block["attn_norm"]), block, places, self.own, window=window)
            mixed = _attention(query, *(in_window if window else full), places, window=window)
            x = x + _normed(mixed @ block["attn_output"].T, block["post_attention_norm"])
            x = (x + _feed_forward(x, block)) * block["layer_output_scale"]
        return _normed(x, self.own["output_norm.weight"])

    def _query(
        self, x: Array, block: dict[str, Array], places: np.ndarray, tensors: dict[str, Array], *, window: bool
    ) -> Array:
        query = (x @ block["attn_q"].T).reshape(len(x), self.size.heads, -1)
        return self._turned(_normed(query, block["attn_q_norm"]), places, tensors, window=window)

    def _turned(self, x: Array, places: np.ndarray, tensors: dict[str, Array], *, window: bool) -> Array:
        speeds = plain_speeds(x.shape[2], BASE_IN_WINDOW if window else BASE)
        slower = 1.0 if window else tensors["rope_freqs.weight"].astype(np.float64)
        return turned(x, speeds / slower, places)

    def _beside(self, tokens: Sequence[int], x: Array) -> Array:
        """What each layer takes of the tokens beside the text's states. Shape (tokens, layers, numbers)."""
        size, tensors = self.size, self.target
        shape = len(tokens), size.layers, size.beside
        own = tensors["per_layer_token_embd.weight"][list(tokens)].reshape(shape) * np.sqrt(size.beside)
        projected = (x @ tensors["per_layer_model_proj.weight"].T).reshape(shape) / np.sqrt(size.width)
        both = _normed(projected.astype(np.float32), tensors["per_layer_proj_norm.weight"]) + own
        return np.asarray(both / np.sqrt(2), np.float32)


def _block(tensors: dict[str, Array], layer: int) -> dict[str, Array]:
    return {name.removesuffix(".weight"): each for name, each in inside(tensors, f"blk.{layer}.").items()}


def _attention(query: Array, key: Array, value: Array, places: np.ndarray, *, window: bool) -> Array:
    """Gemma 4 does not scale its products."""
    behind = places[:, None] - np.arange(len(key))
    return attention(query, key, value, 1.0, (behind >= 0) & ((behind < WINDOW) | (not window)))


def _feed_forward(x: Array, block: dict[str, Array]) -> Array:
    inner = _normed(x, block["ffn_norm"])
    gated = _gelu(inner @ block["ffn_gate"].T) * (inner @ block["ffn_up"].T)
    return _normed(gated @ block["ffn_down"].T, block["post_ffw_norm"])


def _gelu(x: Array) -> Array:
    """Through float16 on the way in and out, as ggml's table has it."""
    near = x.astype(np.float16).astype(np.float32)
    found = 0.5 * near * (1 + np.tanh(np.sqrt(2 / np.pi) * (near + 0.044715 * near**3)))
    return np.where(x <= -10, 0, np.where(x >= 10, x, found.astype(np.float16))).astype(np.float32)
