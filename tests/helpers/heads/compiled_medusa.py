"""Medusa heads for GGUF targets, written and computed without PyTorch or the safetensors package."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from numpy.typing import NDArray

from engine.backends.base import Backend
from engine.config import LoadConfig
from engine.formats.draft_head import NORMED
from engine.loading.open import open_backend
from helpers.heads.layouts import floats_of
from helpers.heads.replies import Recorder

Array = NDArray[np.float32]


class NormedStates(Recorder):
    """Record the states behind the norm of the last layer."""

    def __init__(self) -> None:
        super().__init__((NORMED,))


def states_of(target: Backend, tokens: Sequence[int]) -> tuple[Array, Array]:
    """The states behind the norm and the logits behind each token, fed a few at a time so that all have rows."""
    reader, rows = NormedStates(), []
    target.show_states(reader)
    target.truncate(0)
    for start in range(0, len(tokens), 16):
        piece = tokens[start : start + 16]
        rows.append(target.forward(piece, len(piece)).copy())
    target.show_states(None)
    return np.stack(reader.states), np.concatenate(rows)


def write_medusa_for(
    folder: Path,
    target: Path,
    *,
    heads: int = 3,
    depth: int = 1,
    rows: int | None = None,
    width: int | None = None,
    dtype: str = "F32",
    residual: float = 0.02,
    seed: int = 0,
    without: str = "",
) -> Path:
    """Heads that know what mostly follows a token, and so what follows the likely next one; and small residuals.

    Each gives a token the target's own logits of those after which it mostly comes, of such as texts end up with.
    `rows`, `width`: of the output layers, others than the target's; `without`: a tensor that is left out.
    """
    rng = np.random.default_rng(seed)
    backend = open_backend(LoadConfig(target, threads=1, trusted=True))
    try:
        after = np.concatenate([states_of(backend, [7, token])[1][1:] for token in range(backend.vocab_size)])
    finally:
        backend.close()
    output, following = output_of(target), after.argmax(axis=1)
    (size, own), token = output.shape, np.arange(len(output))
    usual = np.unique(following[following[following]])
    shape = rows or size, width or own
    tensors: dict[str, NDArray[Any]] = {}
    for head in range(heads):
        token = following[token]
        fitted = np.zeros((max(shape[0], size), max(shape[1], own)))
        np.add.at(fitted[:, :own], token[usual], output[usual])
        for layer in range(depth):
            tensors[f"{head}.{layer}.linear.weight"] = residual * rng.standard_normal((shape[1], shape[1]))
            tensors[f"{head}.{layer}.linear.bias"] = residual * rng.standard_normal(shape[1])
        tensors[f"{head}.{depth}.weight"] = fitted[: shape[0], : shape[1]]
    tensors.pop(without, None)
    folder.mkdir(parents=True, exist_ok=True)
    config = {"medusa_num_heads": heads, "medusa_num_layers": depth, "base_model_name_or_path": "target"}
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    write_safetensors(folder / "medusa_lm_head.safetensors", tensors, dtype)
    return folder


def write_safetensors(path: Path, tensors: dict[str, NDArray[Any]], dtype: str = "F32") -> None:
    """Write a file as the format's description says: a length, a JSON header, the tensors one behind the other."""
    header, data = {}, b""
    for name, values in tensors.items():
        stored = np.ascontiguousarray(values, np.float32)
        if dtype == "F8_E4M3":
            piece = _in_eight_bits(stored)
        elif dtype == "BF16":
            piece = (stored.view(np.uint32) >> 16).astype("<u2").tobytes()
        else:
            piece = stored.astype("<f2" if dtype == "F16" else "<f4").tobytes()
        header[name] = {
            "dtype": dtype,
            "shape": list(values.shape),
            "data_offsets": [len(data), len(data) + len(piece)],
        }
        data += piece
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def eight_bits(code: int) -> float:
    """The value of a byte in F8_E4M3."""
    exponent, fraction = code >> 3 & 15, code & 7
    size = fraction * 2.0**-9 if exponent == 0 else (8 + fraction) * 2.0 ** (exponent - 10)
    return -size if code & 128 else size


def _in_eight_bits(values: Array) -> bytes:
    """The bytes of the nearest values in F8_E4M3."""
    codes = sorted((code for code in range(256) if code & 127 != 127), key=eight_bits)
    table = np.array([eight_bits(code) for code in codes])
    places = np.searchsorted((table[1:] + table[:-1]) / 2, values.ravel())
    return np.array(codes, np.uint8)[places].tobytes()


def read_plainly(path: Path) -> dict[str, Array]:
    """The tensors of such a file in float32."""
    whole = path.read_bytes()
    begin = 8 + int.from_bytes(whole[:8], "little")
    found = {}
    for name, entry in json.loads(whole[8:begin]).items():
        first, end = entry["data_offsets"]
        kinds = {"F8_E4M3": "u1", "BF16": "<u2", "F16": "<f2", "F32": "<f4"}
        values = np.frombuffer(whole[begin + first : begin + end], kinds[entry["dtype"]])
        if entry["dtype"] == "BF16":
            values = (values.astype(np.uint32) << 16).view(np.float32)
        if entry["dtype"] == "F8_E4M3":
            values = np.array([eight_bits(code) for code in values.tolist()])
        found[name] = values.astype(np.float32).reshape(entry["shape"])
    return found


class PlainMedusa:
    """The heads in plain float32: arXiv:2401.10774, section 2.1.1."""

    def __init__(self, folder: Path) -> None:
        self.tensors = read_plainly(folder / "medusa_lm_head.safetensors")
        self.depth = json.loads((folder / "config.json").read_text("utf-8"))["medusa_num_layers"]

    def chain(self, tokens: Sequence[int], states: Array, proposed: Sequence[int]) -> Array:
        """Rows behind the last token, as many as `proposed`, from the last of the target's states behind the norm."""
        rows = []
        for head in range(len(proposed)):
            x = states[-1]
            for layer in range(self.depth):
                inner = self.tensors[f"{head}.{layer}.linear.weight"] @ x + self.tensors[f"{head}.{layer}.linear.bias"]
                x = x + inner / (1 + np.exp(-inner))
            rows.append(self.tensors[f"{head}.{self.depth}.weight"] @ x)
        return np.stack(rows).astype(np.float32)


def output_of(target: Path) -> Array:
    """The output layer of a GGUF file."""
    found = {tensor.name: tensor for tensor in gguf.GGUFReader(target).tensors}
    return floats_of(found.get("output.weight", found["token_embd.weight"]))
