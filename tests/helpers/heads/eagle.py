"""EAGLE-3 heads for GGUF targets, made without training: they know how the last token goes on, and a little noise."""

from pathlib import Path

import gguf
import numpy as np
from numpy.typing import NDArray

from helpers.models.random_model import write_vocabulary

Array = NDArray[np.float32]


def write_eagle3(
    path: Path,
    target: Path,
    *,
    layers: tuple[int, int, int] = (1, 2, 3),
    kept: int | None = None,
    states: float = 0.05,
    seed: int = 0,
    norm_before_residual: bool = False,
    norm_before_fc: bool = False,
    **changed: Array | None,
) -> Path:
    """A head in llama.cpp's layout (architecture eagle3), in float32.

    Its attention looks at the token itself: keys and queries are the same projection of its embedding. Its output is
    the target's, behind a norm. So it proposes what the embedding alone makes likely. `kept`: so many tokens of the
    target's vocabulary are in the draft's own (d2t), None for all. `states`: how much the target's hidden states count.
    `changed`: tensors in place of those of the same name ("." as "__"), None to leave one out.
    """
    reader = gguf.GGUFReader(target)
    found = {tensor.name: tensor for tensor in reader.tensors}
    embedding = floats_of(found["token_embd.weight"])
    output = floats_of(found.get("output.weight", found["token_embd.weight"]))
    norm = floats_of(found["output_norm.weight"])
    vocabulary, width = embedding.shape
    rng = np.random.default_rng(seed)
    inner = 2 * width

    def random(rows: int, columns: int, scale: float = 1.0) -> Array:
        return np.asarray(scale * rng.standard_normal((rows, columns)) / np.sqrt(columns), np.float32)

    look = 6.0 * random(width, width)
    nothing = np.zeros((width, width), np.float32)
    tensors: dict[str, Array | None] = {
        "fc.weight": random(width, 3 * width, states),
        "output_norm.weight": norm,
        "output.weight": output,
        "token_embd.weight": embedding,
        "blk.0.attn_norm.weight": np.ones(width, np.float32),
        "blk.0.attn_norm_2.weight": np.ones(width, np.float32),
        "blk.0.attn_q.weight": np.concatenate([look, nothing], axis=1),
        "blk.0.attn_k.weight": np.concatenate([look, nothing], axis=1),
        "blk.0.attn_v.weight": np.concatenate([np.eye(width, dtype=np.float32), random(width, width, states)], axis=1),
        "blk.0.attn_output.weight": np.eye(width, dtype=np.float32),
        "blk.0.ffn_norm.weight": np.ones(width, np.float32),
        "blk.0.ffn_gate.weight": random(inner, width),
        "blk.0.ffn_up.weight": random(inner, width),
        "blk.0.ffn_down.weight": random(width, inner, 0.1),
    }
    if norm_before_fc:
        tensors["enc.output_norm.weight"] = (1 + 0.1 * rng.standard_normal(3 * width)).astype(np.float32)
    tensors |= {name.replace("__", "."): value for name, value in changed.items()}
    writer = _head_writer(path, reader, width, inner, layers)
    writer.add_bool("eagle3.norm_before_residual", norm_before_residual)
    writer.add_bool("eagle3.norm_before_fc", norm_before_fc)
    copy_vocabulary(reader, writer)
    if kept is not None and tensors["output.weight"] is not None:
        table = np.sort(rng.choice(vocabulary, kept, replace=False)).astype(np.int64)
        tensors["output.weight"] = output[table]
        writer.add_tensor("d2t", table)
    for name, values in tensors.items():
        if values is not None:
            writer.add_tensor(name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _head_writer(
    path: Path, reader: gguf.GGUFReader, width: int, inner: int, layers: tuple[int, int, int]
) -> gguf.GGUFWriter:
    writer = gguf.GGUFWriter(path, "eagle3")
    writer.add_name("made EAGLE-3 head")
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_block_count(1)
    writer.add_context_length(number_of(reader, "context_length"))
    writer.add_embedding_length(width)
    writer.add_feed_forward_length(inner)
    writer.add_head_count(1)
    writer.add_head_count_kv(1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(width)
    writer.add_array("eagle3.target_layers", list(layers))
    writer.add_uint32("eagle3.target_hidden_size", width)
    return writer


def copy_vocabulary(reader: gguf.GGUFReader, writer: gguf.GGUFWriter) -> None:
    """The tokenizer of another file."""
    for name, field in reader.fields.items():
        if name.startswith("tokenizer.") and "chat_template" not in name:
            kind, *inner = field.types
            writer.add_key_value(name, field.contents(), kind, inner[0] if inner else None)


def floats_of(tensor: gguf.ReaderTensor) -> Array:
    """Return the values of a tensor."""
    if tensor.tensor_type == gguf.GGMLQuantizationType.I64:
        return np.asarray(tensor.data).reshape(-1)
    values: Array = gguf.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
    return values


def number_of(reader: gguf.GGUFReader, key: str) -> int:
    """Return a whole number of a file's architecture."""
    architecture = reader.fields["general.architecture"].contents()
    return int(reader.fields[f"{architecture}.{key}"].contents())


def write_plain_target(
    path: Path, *, layers: int = 4, width: int = 64, vocabulary: int = 320, mixing: float = 0.15, seed: int = 0
) -> Path:
    """A llama in float32 whose next token depends mostly on the last one: what a made head can guess."""
    writer = gguf.GGUFWriter(path, "llama")
    rng = np.random.default_rng(seed)
    writer.add_name("plain target")
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_block_count(layers)
    writer.add_context_length(256)
    writer.add_embedding_length(width)
    writer.add_feed_forward_length(2 * width)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(width // 4)
    write_vocabulary(writer, vocabulary)

    def add(name: str, rows: int, columns: int, scale: float) -> None:
        writer.add_tensor(name, (scale * rng.standard_normal((rows, columns))).astype(np.float32))

    add("token_embd.weight", vocabulary, width, 1.0)
    add("output.weight", vocabulary, width, 2.5 * width**-0.5)
    writer.add_tensor("output_norm.weight", np.ones(width, np.float32))
    for layer in range(layers):
        for name in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{layer}.{name}.weight", np.ones(width, np.float32))
        for name, rows, columns in (
            ("attn_q", width, width),
            ("attn_k", width // 2, width),
            ("attn_v", width // 2, width),
            ("attn_output", width, width),
            ("ffn_gate", 2 * width, width),
            ("ffn_up", 2 * width, width),
            ("ffn_down", width, 2 * width),
        ):
            last = name in ("attn_output", "ffn_down")
            add(f"blk.{layer}.{name}.weight", rows, columns, (mixing if last else 1.0) * columns**-0.5)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
