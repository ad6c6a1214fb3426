"""Compute the weights of a large target with a layer for later tokens (MTP), which writes what the small one does.

It is the demo target's sibling in the architecture qwen35: see arithmetic.py for how a target grows. What differs:

- queries come with a gate, two times the rows a head, and the norms of queries and keys are a head's size, which stays;
- one layer has a recurrent state and writes nothing; added layers have attention, and write nothing either;
- the layer for later tokens reads a token's embedding beside a state, so that its columns lie in two pieces.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from numpy.typing import NDArray

from engine.errors import GrowthError
from engine.growth.arithmetic import SEED, Growing, GrownShape, Part, SmallFile
from engine.growth.blocks import BLOCK, Kind

_HEAD_NORMS = ("attn_q_norm", "attn_k_norm")
_NORMS = ("attn_norm", "post_attention_norm")
_WRITING = ("attn_output", "ffn_down", "ssm_out")
_RECURRENT = ("attn_qkv", "attn_gate", "ssm_alpha", "ssm_beta")
_STATE = ("ssm_conv1d.weight", "ssm_norm.weight", "ssm_dt.bias", "ssm_a")
_KEPT = (*_HEAD_NORMS, "ssm_conv1d", "ssm_norm", "bias", "ssm_a")
_PAIR_NORMS = ("enorm", "hnorm", "shared_head_norm")


class MtpGrowth(Growing):
    """Plan the growth of a qwen35 target in a GGUF file, its layer for later tokens included.

    Raises GrowthError for a file that is not of this kind, or a shape that it cannot be grown to.
    """

    def __init__(self, path: Path, shape: GrownShape, kind: Kind, seed: int = SEED) -> None:
        self.small, self.shape, self.kind, self.seed = SmallFile(path, "qwen35"), shape, kind, seed
        old = self._old_width = self._number("embedding_length")
        heads, keys = self._number("attention.head_count"), self._number("attention.head_count_kv")
        self.head_size = self._number("attention.key_length")
        if self._number("nextn_predict_layers") != 1 or "attn_output" not in self._kinds(
            self._number("block_count") - 1
        ):
            raise GrowthError(f"{path.name} has no layer for later tokens. Choose another model.")
        layers, step = self._number("block_count") - 1, int(np.lcm(self.head_size * heads // keys, BLOCK))
        for name, new, least, multiple in (
            ("layers", shape.layers, layers, 1),
            ("width", shape.width, old, step),
            ("feed-forward", shape.feed_forward, self._number("feed_forward_length"), BLOCK),
        ):
            if new < least or new % multiple:
                raise GrowthError(f"The {name} must be {least} or more and a multiple of {multiple}, not {new}.")
        self.heads = shape.width // self.head_size
        self.kv_heads = self.heads * keys // heads
        self.scale = sqrt(old / shape.width)
        self.places = [(2 * layer + 1) * shape.layers // (2 * layers) for layer in range(layers)]
        """Which of the large model's layers are the small one's: spread evenly."""
        self.parts = list(self._parts())

    def _number(self, name: str) -> int:
        return int(self.small.value(f"qwen35.{name}"))

    def _kinds(self, layer: int) -> set[str]:
        """Return which matrices a layer of the small model has."""
        before = f"blk.{layer}."
        return {name.removeprefix(before).split(".")[0] for name in self.small.tensors if name.startswith(before)}

    def _parts(self) -> Iterator[Part]:
        width, layers = self.shape.width, len(self.places)
        vocabulary = len(self.small.tensors["token_embd.weight"].data)
        yield Part("token_embd.weight", vocabulary, width, self.kind, "token_embd.weight", writes=True)
        yield Part("output_norm.weight", 0, width, Kind.F32, "output_norm.weight")
        finer = Kind.Q8_0 if self.kind == Kind.Q4_0 else self.kind
        yield Part("output.weight", vocabulary, width, finer, "output.weight")
        for layer in range(self.shape.layers):
            yield from self._layer(layer, self.places.index(layer) if layer in self.places else None)
        yield from self._layer(self.shape.layers, layers)
        ours, theirs = f"blk.{self.shape.layers}.nextn", f"blk.{layers}.nextn"
        beside = ((0, 0, self._old_width), (self._old_width, width, self._old_width))
        source = f"{theirs}.eh_proj.weight"
        yield Part(f"{ours}.eh_proj.weight", width, 2 * width, self.kind, source, writes=True, pieces=beside)
        for name in _PAIR_NORMS:
            yield Part(f"{ours}.{name}.weight", 0, width, Kind.F32, f"{theirs}.{name}.weight")

    def _layer(self, layer: int, old: int | None) -> Iterator[Part]:
        """Return the parts of one layer; `old`: the small model's inside it, None for an added one."""
        width, inner, keys = self.shape.width, self.shape.feed_forward, self.kv_heads * self.head_size
        sizes = {"ffn_gate": (inner, width), "ffn_up": (inner, width), "ffn_down": (width, inner)}
        recurrent = old is not None and "ssm_a" in self._kinds(old)
        before = f"blk.{old}."
        if recurrent:
            rows = {name: len(self.small.tensors[f"{before}{name}.weight"].data) for name in _RECURRENT}
            sizes |= {name: (count, width) for name, count in rows.items()}
            sizes["ssm_out"] = (width, self._number("ssm.inner_size"))
        else:
            sizes |= {"attn_q": (2 * width, width), "attn_k": (keys, width), "attn_v": (keys, width)}
            sizes["attn_output"] = (width, width)
        for name, (rows_, columns) in sizes.items():
            source = None if old is None else f"{before}{name}.weight"
            yield Part(f"blk.{layer}.{name}.weight", rows_, columns, self.kind, source, name in _WRITING)
        for name in (*_NORMS, *(() if recurrent else _HEAD_NORMS)):
            source = None if old is None else f"{before}{name}.weight"
            size = self.head_size if name in _HEAD_NORMS else width
            yield Part(f"blk.{layer}.{name}.weight", 0, size, Kind.F32, source)
        for name in _STATE if recurrent else ():
            shape = self.small.tensors[f"{before}{name}"].data.shape
            rows_ = shape[0] if len(shape) > 1 else 0
            yield Part(f"blk.{layer}.{name}", rows_, shape[-1], Kind.F32, f"{before}{name}")

    def content(self, part: Part) -> NDArray[Any]:
        """Return a tensor's contents as those of a grown target; what has a head's or a state's size stays as it is."""
        if part.source is not None and part.source.split(".")[-2 if part.source.endswith(".weight") else -1] in _KEPT:
            return np.asarray(self.small.tensors[part.source].data)
        return super().content(part)

    def changed_metadata(self, file_type: gguf.LlamaFileType) -> dict[str, Any]:
        """Return the entries of the file that differ from the small model's."""
        recurrent = {self.places[layer] for layer in range(len(self.places)) if "ssm_a" in self._kinds(layer)}
        epsilon = float(self.small.value("qwen35.attention.layer_norm_rms_epsilon"))
        return {
            "general.name": f"{self.small.value('general.name', self.small.path.stem)}, grown to {self.shape}",
            "general.size_label": f"{self.parameters / 1e6:.1f}M",
            "general.file_type": int(file_type),
            "qwen35.block_count": self.shape.layers + 1,
            "qwen35.embedding_length": self.shape.width,
            "qwen35.feed_forward_length": self.shape.feed_forward,
            "qwen35.attention.head_count": self.heads,
            "qwen35.attention.head_count_kv": self.kv_heads,
            "qwen35.attention.layer_norm_rms_epsilon": epsilon * self._old_width / self.shape.width,
            "qwen35.attention.recurrent_layers": [layer in recurrent for layer in range(self.shape.layers + 1)],
        }
