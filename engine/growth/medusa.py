"""Compute large Medusa heads that propose what the small ones inside them do, at a real target's cost.

The grown target's state holds the small one's in its first channels and zeros in the others (see arithmetic.py). So
each matrix may hold anything in its added columns, but those of the outputs are zero: there the residual layers leave
what their added rows make of the state.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.errors import GrowthError
from engine.formats.safetensors.heads import MEDUSA_FILE, MedusaLayout, read_medusa
from engine.formats.safetensors.reader import read_safetensors
from engine.growth.arithmetic import SEED

_STD = 0.02
Half = NDArray[np.float16]


class MedusaGrowth:
    """Plan the growth of a folder of Medusa heads in float16 to a target's `width`.

    Raises GrowthError for a width that is too small or weights of another kind, ModelFileBroken, ModelNotSupported.
    """

    def __init__(self, folder: Path, width: int, seed: int = SEED) -> None:
        self.folder, self.width, self.seed = folder, width, seed
        self.layout: MedusaLayout = read_medusa(folder)
        self._stored = read_safetensors(folder / MEDUSA_FILE).tensors
        if width < self.layout.head.width:
            raise GrowthError(f"The width must be {self.layout.head.width} or more, not {width}.")
        if {each.dtype for each in self._stored.values()} != {"F16"}:
            raise GrowthError(f"{folder.name} has no weights in float16. Choose other heads.")

    @property
    def size(self) -> int:
        """Return the bytes of all weights."""
        return sum(2 * int(np.prod(self._shape(name))) for name in self._stored)

    def write(self, to: Path) -> None:
        """Write the folder. Raises OSError."""
        to.mkdir()
        header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
        end = 0
        shapes = {name: self._shape(name) for name in self._stored}
        for name, shape in shapes.items():
            start, end = end, end + 2 * int(np.prod(shape))
            header[name] = {"dtype": "F16", "shape": list(shape), "data_offsets": [start, end]}
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        with (to / MEDUSA_FILE).open("wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            for values in self._contents(shapes):
                file.write(values.data)
        (to / "config.json").write_bytes((self.folder / "config.json").read_bytes())

    def _shape(self, name: str) -> tuple[int, ...]:
        """Return a large tensor's shape: a residual layer's is square, an output has a row for each token."""
        if name.endswith("bias"):
            return (self.width,)
        return (self.width if "linear" in name else self.layout.drafted, self.width)

    def _contents(self, shapes: dict[str, tuple[int, ...]]) -> Iterator[Half]:
        rng = np.random.default_rng(self.seed)
        data = np.memmap(self.folder / MEDUSA_FILE, np.uint8, "r")
        for name, shape in shapes.items():
            stored = self._stored[name]
            old = data[stored.offset : stored.offset + stored.size].view(np.float16).reshape(stored.shape)
            values = np.zeros(shape, np.float16)
            if "linear" in name:
                values[...] = rng.normal(0.0, _STD, shape)
            values[tuple(slice(size) for size in old.shape)] = old
            yield values
