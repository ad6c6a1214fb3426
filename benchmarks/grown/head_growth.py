"""Compute the weights of a large EAGLE-3 head that proposes what the small one inside it does, at a real head's cost.

It is as wide as its target, as published heads are. The grown target has the small one's states in its first channels
and zeros in the others (see arithmetic.py); what holds there of the stream holds here of the head's: `fc`, the
embedding, `attn_output` and `ffn_down` write to it, all other matrices read from it. `fc` reads three states side by
side, and the first layer's attention a token's embedding beside a state, so that their columns lie in pieces.

Where the target's vocabulary is padded (see padding.py), the head's is too. A *spread* head has no vocabulary of its
own (`d2t`): its output has a row for each token of the target's, and those that the small head does not know never win.
So it proposes the same, and pays for all the rows. The mark that tells tokens apart comes into its stream through `fc`.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from numpy.typing import NDArray

from benchmarks.grown.padding import Padded, PaddedGrowth, Padding, padding_to, put_block
from engine.errors import GrowthError
from engine.growth.arithmetic import (
    EMBEDDING,
    FULL,
    OUTPUT,
    SEED,
    GrownKind,
    GrownShape,
    Part,
    SmallFile,
    SmallModel,
)
from engine.growth.blocks import Bytes, Kind
from engine.growth.grown import KINDS, cache_folder, file_name, make_file, writer_of
from engine.library.names import bundled_pair, resolve_source

_NORMS = ("attn_norm", "attn_norm_2", "ffn_norm")


class HeadGrowth(Padded):
    """Plan the growth of an EAGLE-3 head in a GGUF file with its target.

    `spread`: without a vocabulary of its own. Raises GrowthError for a head that is not of this kind, or not of this
    target.
    """

    def __init__(self, path: Path, target: PaddedGrowth, seed: int = SEED, *, spread: bool = False) -> None:
        self.small, self.target, self.seed, self.spread = SmallFile(path, "eagle3"), target, seed, spread
        self.width = target.shape.width
        # The small head's may be wider than that of a target that hardly grows.
        self.feed_forward = max(target.shape.feed_forward, self._number("feed_forward_length"))
        old = self._old_width = self._number("embedding_length")
        heads, keys = self._number("attention.head_count"), self._number("attention.head_count_kv")
        self.head_size, self._ratio = old // heads, heads // keys
        self.layers = [int(layer) for layer in self.small.value("eagle3.target_layers")]
        if self._number("target_hidden_size") != target.small.width or max(self.layers) >= target.small.layers:
            raise GrowthError(f"{path.name} is a head of another target than {target.small.path.name}.")
        if self.width < old or self.width % (self.head_size * self._ratio):
            raise GrowthError(f"{path.name} cannot be as wide as a target of {self.width}. Choose another width.")
        self.heads = self.width // self.head_size
        self.kv_heads = self.heads // self._ratio
        self.scale = sqrt(old / self.width)
        known = len(self.small.tensors[EMBEDDING].data)
        self.vocabulary = target.vocabulary
        self.padding = padding_to(target.vocabulary, known, old, self.width)
        if spread and self.padding is None:
            raise GrowthError("A head can only be spread over a padded vocabulary.")
        if self.padding is not None and self.small.value("eagle3.norm_before_residual", otherwise=False):
            raise GrowthError(f"{path.name} normalises its stream: its vocabulary cannot be padded.")
        self.parts = list(self._parts())

    def _number(self, name: str) -> int:
        return int(self.small.value(f"eagle3.{name}"))

    def _parts(self) -> Iterator[Part]:
        kind, width, old, read = self.target.kind, self.width, self._old_width, self.target.small.width
        if not self.spread:
            yield Part("d2t", 0, self.small.tensors["d2t"].data.size, Kind.I64, "d2t")
        states = tuple((index * read, index * width, read) for index in range(len(self.layers)))
        yield self._matrix_part("fc", width, len(self.layers) * width, kind, pieces=states, writes=True)
        yield self._matrix_part("token_embd", self.vocabulary, width, kind, writes=True)
        beside, keys = ((0, 0, old), (old, width, old)), self.kv_heads * self.head_size
        yield self._matrix_part("blk.0.attn_q", width, 2 * width, kind, pieces=beside)
        yield self._matrix_part("blk.0.attn_k", keys, 2 * width, kind, pieces=beside)
        yield self._matrix_part("blk.0.attn_v", keys, 2 * width, kind, pieces=beside)
        yield self._matrix_part("blk.0.attn_output", width, width, kind, writes=True)
        yield self._matrix_part("blk.0.ffn_gate", self.feed_forward, width, kind)
        yield self._matrix_part("blk.0.ffn_up", self.feed_forward, width, kind)
        yield self._matrix_part("blk.0.ffn_down", width, self.feed_forward, kind, writes=True)
        drafted = self.vocabulary if self.spread else len(self.small.tensors[OUTPUT].data)
        yield self._matrix_part("output", drafted, width, kind)
        for name in (*(f"blk.0.{norm}" for norm in _NORMS), "output_norm"):
            yield Part(f"{name}.weight", 0, width, Kind.F32, f"{name}.weight")

    def _matrix_part(self, name: str, rows: int, columns: int, kind: Kind, **options: Any) -> Part:
        return Part(f"{name}.weight", rows, columns, kind, f"{name}.weight", **options)

    def content(self, part: Part) -> NDArray[Any]:
        """Return a tensor's contents, as those of a grown target; of `d2t` the small head's own."""
        return np.asarray(self.small.tensors["d2t"].data) if part.kind == Kind.I64 else super().content(part)

    def _pad(self, padding: Padding, part: Part, matrix: Bytes) -> None:
        """Lead the target's mark into the stream, and put the rows of a spread head's output where its tokens are."""
        if part.name == "fc.weight" and self.target.padding is not None:
            row = np.arange(part.rows) == padding.channel
            put_block(matrix, row, self.target.padding.channel, 1.0, part.kind)
        if part.name == OUTPUT and self.spread:
            table = np.asarray(self.small.tensors["d2t"].data).reshape(-1).astype(np.int64)
            rows = matrix[: len(table)].copy()
            matrix[table] = rows
            padding.output(matrix, part.kind, np.isin(np.arange(part.rows), table))

    def changed_metadata(self, file_type: gguf.LlamaFileType) -> dict[str, Any]:
        """Return the entries of the file that differ from the small head's."""
        return self.tokenizer() | {
            "general.name": f"{self.small.value('general.name', self.small.path.stem)}, grown to {self.width}",
            "general.size_label": f"{self.parameters / 1e6:.1f}M",
            "general.file_type": int(file_type),
            "eagle3.embedding_length": self.width,
            "eagle3.feed_forward_length": self.feed_forward,
            "eagle3.attention.head_count": self.heads,
            "eagle3.attention.head_count_kv": self.kv_heads,
            "eagle3.attention.layer_norm_rms_epsilon": self._epsilon(),
            "eagle3.target_hidden_size": self.target.shape.width,
            "eagle3.target_layers": [self.target.places[layer] for layer in self.layers],
        }

    def _epsilon(self) -> float:
        return float(self.small.value("eagle3.attention.layer_norm_rms_epsilon")) * self._old_width / self.width


def padded_target(
    kind: GrownKind,
    vocabulary: int,
    shape: GrownShape = FULL,
    *,
    folder: Path | None = None,
    target: Path | None = None,
) -> Path:
    """Return the target grown with so many tokens, made if it is not there yet: a GGUF file. Raises GrowthError."""
    growth = _target(kind, shape, None, vocabulary)
    path = (cache_folder() if folder is None else folder) / _name(growth.small.path, growth, kind, spread=False)
    if not path.exists():
        make_file(growth.size, path, writer_of(growth, kind))
    return path


def grown_head(
    kind: GrownKind,
    shape: GrownShape = FULL,
    *,
    folder: Path | None = None,
    target: Path | None = None,
    head: Path | None = None,
    vocabulary: int = 0,
    spread: bool = False,
) -> Path:
    """Return the EAGLE-3 head for a grown target of that kind and shape, made if it is not there yet: a GGUF file.

    `head` is what is grown (the demo target's head) with its `target` (the demo target); `vocabulary`: that of the
    target, `spread`: over all of which the head's own is spread. Raises GrowthError.
    """
    growth = _target(kind, shape, target, vocabulary)
    larger = HeadGrowth(resolve_source("demo-head") if head is None else head, growth, spread=spread)
    path = (cache_folder() if folder is None else folder) / _name(larger.small.path, growth, kind, spread=spread)
    if not path.exists():
        make_file(larger.size, path, writer_of(larger, kind))
    return path


def _target(kind: GrownKind, shape: GrownShape, target: Path | None, vocabulary: int) -> PaddedGrowth:
    if kind == "transformers":
        raise GrowthError("The vocabulary of a GGUF file can be padded, not that of a folder. Choose a GGUF kind.")
    small = SmallModel(bundled_pair()[0] if target is None else target)
    return PaddedGrowth(small, shape, KINDS[kind][0], vocabulary=vocabulary)


def _name(small: Path, growth: PaddedGrowth, kind: GrownKind, *, spread: bool) -> str:
    if growth.padding is None:
        return file_name(small, growth.shape, kind)
    note = f"x{growth.vocabulary}{'-spread' if spread else ''}"
    return file_name(small, growth.shape, kind, growth.padding, spread, note=note)
