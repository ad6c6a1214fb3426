"""Compute the weights of large Medusa heads that propose what the small ones inside them do, at a real set's cost.

The state that they read has the small target's in its first channels and zeros in the others (see arithmetic.py: the
norm behind the last layer leaves zeros where the stream has them). The residual matrices write to that state: their
added rows are zero. Their added columns, and those of the output layers, may hold anything.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from numpy.typing import NDArray

from engine.errors import GrowthError, LoadFailed
from engine.formats.safetensors.heads import MEDUSA_FILE, read_medusa
from engine.formats.safetensors.reader import read_safetensors
from engine.formats.safetensors.values import read_rows
from engine.growth.arithmetic import SEED, Growing, Growth, Part, SmallFile
from engine.growth.blocks import BLOCK, Bytes, Kind
from engine.growth.transformers_folder import write_tensors


class SmallMedusa(SmallFile):
    """Read Medusa heads in a folder. Raises GrowthError where they cannot be read."""

    def __init__(self, folder: Path) -> None:
        self.path = folder
        try:
            self.layout = read_medusa(folder)
            self._places = {
                self.layout.names[name]: (path, tensor)
                for path in self.layout.files
                for name, tensor in read_safetensors(path).tensors.items()
                if name in self.layout.names
            }
        except LoadFailed as error:
            raise GrowthError(str(error)) from None

    def numbers(self, name: str) -> NDArray[np.float32]:
        path, tensor = self._places[name]
        try:
            found = read_rows(path, tensor, 0, tensor.shape[0] if len(tensor.shape) == 2 else 1)
        except (LoadFailed, OSError) as error:
            raise GrowthError(f"{self.path.name} cannot be read: {error}. Choose other heads.") from None
        return found if len(tensor.shape) == 2 else found[0]

    def rows(self, name: str, kind: Kind) -> Bytes:
        data = np.ascontiguousarray(gguf.quants.quantize(self.numbers(name), kind))
        found: Bytes = data.view(np.uint8).reshape(len(data), -1)
        return found


class MedusaGrowth(Growing):
    """Plan the growth of Medusa heads in a folder with their target: float16, biases float32.

    Raises GrowthError for heads of another target.
    """

    small: SmallMedusa

    def __init__(self, folder: Path, target: Growth, seed: int = SEED) -> None:
        self.small, self.seed, self.scale = SmallMedusa(folder), seed, 1.0
        self._width = target.shape.width
        vocabulary = len(target.small.tensors["token_embd.weight"].data)
        layout = self.small.layout
        if (layout.head.width, layout.drafted) != (target.small.width, vocabulary) or self._width % BLOCK:
            raise GrowthError(f"{folder.name} has heads of another target than {target.small.path.name}.")
        self.parts = list(self._parts())

    def _parts(self) -> Iterator[Part]:
        layout, width = self.small.layout, self._width
        for head in range(layout.count):
            for layer in range(layout.depth):
                name = f"{head}.{layer}.linear"
                yield Part(f"{name}.weight", width, width, Kind.F16, f"{name}.weight", writes=True)
                yield Part(f"{name}.bias", 0, width, Kind.F32, f"{name}.bias")
            name = f"{head}.{layout.depth}.weight"
            yield Part(name, layout.drafted, width, Kind.F16, name)

    def content(self, part: Part) -> NDArray[Any]:
        """Return a tensor's contents: of a bias zeros behind the small one's."""
        if part.rows:
            return self._matrix(part)
        values = self.small.numbers(part.name)
        return np.pad(values, (0, part.columns - len(values)))

    def write(self, folder: Path) -> None:
        """Write config.json and the weights. Raises GrowthError, OSError."""
        folder.mkdir()
        layout = self.small.layout
        config = {"medusa_num_heads": layout.count, "medusa_num_layers": layout.depth}
        (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
        write_tensors(folder / MEDUSA_FILE, self.parts, lambda part: part.name, self.content)
