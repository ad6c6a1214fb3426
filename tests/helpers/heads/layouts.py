"""Write made models: header entries and tensors as a GGUF file, a configuration and tensors as a folder."""

import importlib
import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from numpy.typing import NDArray

from helpers.models.random_model import write_vocabulary

Array = NDArray[np.float32]


def scaled(rng: np.random.Generator, rows: int, columns: int, scale: float = 1.0) -> Array:
    """Draw a matrix whose products are `scale` times as large as its input."""
    return np.asarray(scale * rng.standard_normal((rows, columns)) / np.sqrt(columns), np.float32)


def instead(tensors: Mapping[str, Array], changed: Mapping[str, Array | None]) -> dict[str, Array]:
    """Return the tensors with those of `changed` in their place ("." as "__"), without those that are None there."""
    merged = {**tensors, **{name.replace("__", "."): value for name, value in changed.items()}}
    return {name: value for name, value in merged.items() if value is not None}


def write_gguf(
    path: Path,
    architecture: str,
    entries: Mapping[str, Any],
    tensors: Mapping[str, NDArray[Any]],
    vocabulary: gguf.GGUFReader | int,
    kind: str = "F32",
) -> Path:
    """Write a model of that architecture, whose name its own entries have before them.

    `vocabulary`: the file whose tokenizer it has, or the tokens of a made one. `kind`: of its matrices.
    """
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_name(f"made {architecture}")
    writer.add_file_type(gguf.LlamaFileType.ALL_F32 if kind == "F32" else gguf.LlamaFileType[f"MOSTLY_{kind}"])
    for key, value in entries.items():
        _add(writer, key if key.startswith("tokenizer.") else f"{architecture}.{key}", value)
    if isinstance(vocabulary, int):
        write_vocabulary(writer, vocabulary)
    else:
        _copy_vocabulary(vocabulary, writer)
    stored = gguf.GGMLQuantizationType[kind]
    for name, values in tensors.items():
        if kind == "F32" or values.ndim < 2 or values.shape[1] % 32:
            writer.add_tensor(name, values)
        else:
            writer.add_tensor(name, gguf.quantize(values, stored), raw_dtype=stored)
    close_written(writer)
    return path


def close_written(writer: gguf.GGUFWriter) -> None:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add(writer: gguf.GGUFWriter, key: str, value: Any) -> None:
    match value:
        case bool():
            writer.add_bool(key, value)
        case int():
            writer.add_uint32(key, value)
        case float():
            writer.add_float32(key, value)
        case _:
            writer.add_array(key, list(value))


def _copy_vocabulary(reader: gguf.GGUFReader, writer: gguf.GGUFWriter) -> None:
    for name, field in reader.fields.items():
        if name.startswith("tokenizer.") and "chat_template" not in name:
            kind, *inner = field.types
            writer.add_key_value(name, field.contents(), kind, inner[0] if inner else None)


def floats_of(tensor: gguf.ReaderTensor) -> Array:
    if tensor.tensor_type == gguf.GGMLQuantizationType.I64:
        return np.asarray(tensor.data).reshape(-1)
    values: Array = gguf.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
    return values


def number_of(reader: gguf.GGUFReader, key: str) -> int:
    architecture = reader.fields["general.architecture"].contents()
    return int(reader.fields[f"{architecture}.{key}"].contents())


def some_tokens(rng: np.random.Generator, vocabulary: int, kept: int) -> NDArray[np.int64]:
    """Draw the tokens that are in a draft's own vocabulary, in their order."""
    return np.sort(rng.choice(vocabulary, kept, replace=False)).astype(np.int64)


def write_folder(
    folder: Path, config: Mapping[str, Any], tensors: Mapping[str, Any], drop: Collection[str] = ()
) -> Path:
    """Write config.json and model.safetensors. `drop`: tensors that are left out."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    stored = {name: np.ascontiguousarray(each) for name, each in tensors.items() if name not in drop}
    importlib.import_module("safetensors.numpy").save_file(stored, folder / "model.safetensors")
    return folder
