"""Models of the architecture qwen35 with an MTP layer, and that layer in plain float32."""

import os
from collections.abc import Sequence
from pathlib import Path

import gguf
import numpy as np
from numpy.typing import NDArray

from helpers.heads.formulas import (
    attention,
    gated,
    heads_of,
    inside,
    normed,
    plain_speeds,
    read_gguf,
    rows_of_a_chain,
    turned,
)
from helpers.heads.layouts import close_written, write_gguf
from helpers.models.hybrid_model import ARCHITECTURES, Size, Tensors

Array = NDArray[np.float32]
SIZE = Size(layers=4)


def write_mtp_target(
    path: Path,
    *,
    size: Size = SIZE,
    interval: int = 2,
    mixing: float = 0.25,
    with_head: bool = True,
    by_layer: bool = False,
    seed: int = 0,
) -> Path:
    """A model in float32 whose next token depends mostly on the last one, which its MTP layer guesses from too.

    `interval`: one in so many layers has attention, the others a recurrent state. `mixing`: how much the layers add.
    `with_head` False: the header tells of an MTP layer whose tensors are missing, as in many quantised files.
    `by_layer`: a list in the header says of each layer, the MTP layer too, whether it is recurrent.
    """
    dense, hybrid = _blocks(size, 1, size.layers + 1), _blocks(size, interval, size.layers)
    head = f"blk.{size.layers}"
    tensors = hybrid | (
        {name: shape for name, shape in dense.items() if name.startswith(f"{head}.")} if with_head else {}
    )
    if with_head:
        tensors |= {
            f"{head}.nextn.eh_proj.weight": ((2 * size.width, size.width), "pair"),
            f"{head}.nextn.enorm.weight": ((size.width,), "norm"),
            f"{head}.nextn.hnorm.weight": ((size.width,), "norm"),
        }
    entries, _ = ARCHITECTURES["qwen35"](size)
    # All sixteen pairs of a head of 32 turn with the text's position; llama.cpp leaves those out that no section has.
    entries |= {"full_attention_interval": interval, "rope.dimension_sections": [6, 5, 5, 0]}
    entries |= {
        "block_count": size.layers + 1,
        "context_length": 256,
        "embedding_length": size.width,
        "attention.layer_norm_rms_epsilon": 1e-5,
        "nextn_predict_layers": 1,
    }
    if by_layer:
        recurrent = [bool((layer + 1) % interval) for layer in range(size.layers)]
        entries["attention.recurrent_layers"] = [*recurrent, False]
    tensors |= {
        "token_embd.weight": ((size.width, size.vocabulary), "embedding"),
        "output.weight": ((size.width, size.vocabulary), "output"),
    }
    rng = np.random.default_rng(seed)
    made = {name: _values(rng, name, shape, kind, mixing) for name, (shape, kind) in tensors.items()}
    return write_gguf(path, "qwen35", entries, made, size.vocabulary)


def write_mtp_alone(path: Path, target: Path, *, without: str = "") -> Path:
    """The MTP layer of a target in a file of its own, as llama.cpp's converter writes it, but for a tensor."""
    reader = gguf.GGUFReader(target)
    head = f"blk.{int(reader.fields['qwen35.block_count'].contents()) - 1}."
    writer = gguf.GGUFWriter(path, "qwen35")
    for name, field in reader.fields.items():
        if not name.startswith("GGUF.") and name != "general.architecture":
            kind, *inner = field.types
            writer.add_key_value(name, field.contents(), kind, inner[0] if inner else None)
    for tensor in reader.tensors:
        if (tensor.name.startswith(head) or not tensor.name.startswith("blk.")) and tensor.name != without:
            writer.add_tensor(tensor.name, np.asarray(tensor.data))
    close_written(writer)
    return path


def quantised(path: Path, kind: str) -> Path:
    """The same model beside it, quantised by llama.cpp."""
    import llama_cpp  # noqa: PLC0415 - the others need no library

    made = path.with_name(f"{path.stem}.{kind}.gguf")
    params = llama_cpp.llama_model_quantize_default_params()
    params.ftype, params.nthread = getattr(llama_cpp, f"LLAMA_FTYPE_MOSTLY_{kind}"), 1
    assert llama_cpp.llama_model_quantize(os.fsencode(path), os.fsencode(made), params) == 0
    return made


def _blocks(size: Size, interval: int, layers: int) -> Tensors:
    """The layers of qwen35, of which one in `interval` has attention."""
    _, pattern = ARCHITECTURES["qwen35"](Size(**{**size.__dict__, "layers": 2}))
    found: Tensors = {"output_norm.weight": pattern["output_norm.weight"]}
    for layer in range(layers):
        model = "blk.1." if (layer + 1) % interval == 0 else "blk.0."
        found |= {f"blk.{layer}.{name[6:]}": shape for name, shape in pattern.items() if name.startswith(model)}
    return found


def _values(rng: np.random.Generator, name: str, shape: tuple[int, ...], kind: str, mixing: float) -> Array:
    wide = shape[::-1]
    if kind == "norm":
        return np.ones(wide, np.float32)
    if kind == "decay":
        return -rng.uniform(0.05, 0.5, wide).astype(np.float32)
    values = rng.standard_normal(wide).astype(np.float32)
    if kind == "pair":  # The token's half passes, the state's a little.
        values *= 0.05 * shape[0] ** -0.5
        values[:, : wide[0]] += np.eye(wide[0], dtype=np.float32)
        return values
    if kind == "embedding":
        return values
    last = any(part in name for part in ("attn_output", "ffn_down", "ssm_out"))
    scale = 2.5 if kind == "output" else 0.1 if kind == "bias" else mixing if last else 1.0
    return values * np.float32(scale if kind == "bias" else scale * shape[0] ** -0.5)


class MtpReference:
    """The MTP layer of a qwen35: pairs of a token and the target's state before it in, logits out. No cache.

    Source of the formulas: DeepSeek-AI 2024, arXiv:2412.19437, section 2.2; the layer is one of Qwen3.5's, with gated
    attention.
    """

    def __init__(self, path: Path) -> None:
        tensors, entries = read_gguf(path)
        layer = int(entries["qwen35.block_count"]) - 1
        self.embedding, self.output = tensors["token_embd.weight"], tensors["output.weight"]
        self.norm = tensors["output_norm.weight"]
        self.layer = inside(tensors, f"blk.{layer}.")
        self.heads = int(entries["qwen35.attention.head_count"])
        self.shared = int(entries["qwen35.attention.head_count_kv"])
        self.width = int(entries["qwen35.attention.key_length"])
        self.base = float(entries.get("qwen35.rope.freq_base", 10000.0))

    def chain(self, tokens: Sequence[int], states: Array, proposed: Sequence[int]) -> Array:
        """Rows behind the last token and behind each of `proposed` but the last. `states`: of all tokens but the last.

        Shape (proposed, vocabulary).
        """
        given = np.concatenate([np.zeros((1, states.shape[1]), np.float32), states])
        return rows_of_a_chain(self._hidden, self.output, tokens, given, proposed)

    def _hidden(self, tokens: Sequence[int], states: Array) -> Array:
        layer = self.layer
        embedded = normed(self.embedding[list(tokens)], layer["nextn.enorm.weight"])
        pair = np.concatenate([embedded, normed(states, layer["nextn.hnorm.weight"])], axis=1)
        x = pair @ layer["nextn.eh_proj.weight"].T
        x = x + self._attention(normed(x, layer["attn_norm.weight"]))
        inner = normed(x, layer["post_attention_norm.weight"])
        x = x + gated(inner, *(layer[f"ffn_{part}.weight"] for part in ("gate", "up", "down")))
        return normed(x, self.norm)

    def _attention(self, x: Array) -> Array:
        layer, count = self.layer, len(x)
        both = (x @ layer["attn_q.weight"].T).reshape(count, self.heads, 2, self.width)
        query, gate = both[:, :, 0], both[:, :, 1].reshape(count, -1)
        key = heads_of(x, layer["attn_k.weight"], self.shared)
        value = heads_of(x, layer["attn_v.weight"], self.shared)
        speeds = plain_speeds(self.width, self.base)
        query = turned(normed(query, layer["attn_q_norm.weight"]), speeds)
        key = turned(normed(key, layer["attn_k_norm.weight"]), speeds)
        mixed = attention(query, key, value, self.width**-0.5)
        return np.asarray((mixed / (1 + np.exp(-gate))) @ layer["attn_output.weight"].T, np.float32)
