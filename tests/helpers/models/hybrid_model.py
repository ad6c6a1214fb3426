"""GGUF models with random weights of recurrent and hybrid architectures: for the rewinding of their states.

The entries and tensors of an architecture are those that llama.cpp asks for (src/models/<architecture>.cpp).
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import gguf
import numpy as np
from numpy.typing import NDArray

from helpers.models.random_model import write_vocabulary

Array = NDArray[np.float32]
Tensors = dict[str, tuple[tuple[int, ...], str]]
"""Name, shape in llama.cpp's order (the input's width first), and what kind of numbers."""
Entries = dict[str, int | float | list[int]]


@dataclass(frozen=True)
class Size:
    """Size of a model. `width` is the embedding's length, `state` the length of a state; multiples of 32.

    Where an architecture mixes kinds of layers, every second one has attention.
    """

    layers: int = 4
    width: int = 64
    inner: int = 128
    heads: int = 2
    vocabulary: int = 320
    state: int = 32
    head: int = 32
    context: int = 1024


SMALL = Size()


def write_hybrid_model(
    path: Path, architecture: str, size: Size = SMALL, *, seed: int = 0, noise: float = 0.0, kind: str = "F32"
) -> Path:
    """Write a model of one of ARCHITECTURES. The same seed gives the same weights.

    `noise` disturbs them: a fraction of each tensor's spread, drawn from another seed, so that the model agrees with
    the undisturbed one most of the time. `kind` is how matrices are stored: F32, F16, Q8_0, Q4_0.
    """
    entries, tensors = ARCHITECTURES[architecture](size)
    quantised = gguf.GGMLQuantizationType[kind]
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_name(f"random {architecture}")
    writer.add_file_type(0 if kind == "F32" else gguf.LlamaFileType[f"MOSTLY_{kind}"])
    common: Entries = {
        "block_count": size.layers,
        "context_length": size.context,
        "embedding_length": size.width,
        "attention.layer_norm_rms_epsilon": 1e-5,
    }
    for key, value in (common | entries).items():
        _add_entry(writer, f"{architecture}.{key}", value)
    write_vocabulary(writer, size.vocabulary)
    rng, disturbed = np.random.default_rng(seed), np.random.default_rng(seed + 1000)
    tensors |= {
        "token_embd.weight": ((size.width, size.vocabulary), "embedding"),
        "output.weight": ((size.width, size.vocabulary), "matrix"),
    }
    for name, (shape, meaning) in tensors.items():
        values = _DRAWN[meaning](rng, shape)
        if noise and meaning in ("matrix", "embedding"):
            values = values + noise * values.std() * disturbed.standard_normal(values.shape, dtype=np.float32)
        if meaning in ("matrix", "embedding") and kind != "F32":
            stored = gguf.quantize(values, quantised)
            writer.add_tensor(name, stored, raw_dtype=quantised)
        else:
            writer.add_tensor(name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _add_entry(writer: gguf.GGUFWriter, key: str, value: float | list[int]) -> None:
    if isinstance(value, list):
        writer.add_array(key, value)
    elif isinstance(value, float):
        writer.add_float32(key, value)
    else:
        writer.add_uint32(key, value)


def _normal(rng: np.random.Generator, shape: tuple[int, ...], scale: float = 1.0) -> Array:
    return scale * rng.standard_normal(shape[::-1], dtype=np.float32)


_DRAWN: dict[str, Callable[[np.random.Generator, tuple[int, ...]], Array]] = {
    "embedding": _normal,
    # Keeps the size of what is multiplied.
    "matrix": lambda rng, shape: _normal(rng, shape, shape[0] ** -0.5),
    "norm": lambda rng, shape: np.ones(shape[::-1], dtype=np.float32),
    "bias": lambda rng, shape: _normal(rng, shape, 0.1),
    "convolution": lambda rng, shape: _normal(rng, shape, shape[0] ** -0.5),
    # How fast a state is forgotten: slowly enough that a token is felt for tens of tokens.
    "decay": lambda rng, shape: -rng.uniform(0.05, 0.5, shape[::-1]).astype(np.float32),
    "mix": lambda rng, shape: rng.uniform(0, 1, shape[::-1]).astype(np.float32),
}


def _attention(size: Size, block: str) -> Tensors:
    width = size.heads * size.head
    return {
        f"{block}.attn_q.weight": ((size.width, width), "matrix"),
        f"{block}.attn_k.weight": ((size.width, width), "matrix"),
        f"{block}.attn_v.weight": ((size.width, width), "matrix"),
        f"{block}.attn_output.weight": ((width, size.width), "matrix"),
    }


def _head_norms(size: Size, block: str) -> Tensors:
    return {f"{block}.attn_{part}_norm.weight": ((size.head,), "norm") for part in "qk"}


def _gated(size: Size, block: str) -> Tensors:
    return {
        f"{block}.ffn_gate.weight": ((size.width, size.inner), "matrix"),
        f"{block}.ffn_up.weight": ((size.width, size.inner), "matrix"),
        f"{block}.ffn_down.weight": ((size.inner, size.width), "matrix"),
    }


def _norm(size: Size, name: str) -> Tensors:
    return {f"{name}.weight": ((size.width,), "norm")}


def _heads(size: Size, per_layer: list[int] | None = None) -> Entries:
    return {
        "attention.head_count": size.heads,
        "attention.head_count_kv": size.heads if per_layer is None else per_layer,
        "attention.key_length": size.head,
        "attention.value_length": size.head,
        "rope.dimension_count": size.head,
    }


def _alternating(size: Size) -> list[int]:
    return [size.heads if layer % 2 else 0 for layer in range(size.layers)]


def _state_space(size: Size, *, groups: int = 1, rank: int | None = None) -> Entries:
    entries: Entries = {
        "ssm.conv_kernel": 4,
        "ssm.inner_size": 2 * size.width,
        "ssm.state_size": size.state,
        "ssm.time_step_rank": rank or 2 * size.width // size.head,
    }
    return entries | ({"ssm.group_count": groups} if groups else {})


def _mamba2_layer(size: Size, block: str) -> Tensors:
    inner, heads = 2 * size.width, 2 * size.width // size.head
    mixed = inner + 2 * size.state
    return {
        f"{block}.ssm_in.weight": ((size.width, inner + mixed + heads), "matrix"),
        f"{block}.ssm_conv1d.weight": ((4, mixed), "convolution"),
        f"{block}.ssm_conv1d.bias": ((mixed,), "bias"),
        f"{block}.ssm_dt.bias": ((heads,), "bias"),
        f"{block}.ssm_a": ((1, heads), "decay"),
        f"{block}.ssm_d": ((1, heads), "norm"),
        f"{block}.ssm_norm.weight": ((inner, 1), "norm"),
        f"{block}.ssm_out.weight": ((inner, size.width), "matrix"),
    }


def _mamba_layer(size: Size, block: str, rank: int) -> Tensors:
    inner = 2 * size.width
    return {
        f"{block}.ssm_in.weight": ((size.width, 2 * inner), "matrix"),
        f"{block}.ssm_conv1d.weight": ((4, inner), "convolution"),
        f"{block}.ssm_conv1d.bias": ((inner,), "bias"),
        f"{block}.ssm_x.weight": ((inner, rank + 2 * size.state), "matrix"),
        f"{block}.ssm_dt.weight": ((rank, inner), "matrix"),
        f"{block}.ssm_dt.bias": ((inner,), "bias"),
        f"{block}.ssm_a": ((size.state, inner), "decay"),
        f"{block}.ssm_d": ((inner,), "norm"),
        f"{block}.ssm_out.weight": ((inner, size.width), "matrix"),
    }


def _mamba(size: Size) -> tuple[Entries, Tensors]:
    tensors = _norm(size, "output_norm")
    for block in _blocks(size):
        tensors |= _norm(size, f"{block}.attn_norm") | _mamba_layer(size, block, size.width // 2)
    entries: Entries = {"attention.head_count": 0, "feed_forward_length": 0}
    return entries | _state_space(size, groups=0, rank=size.width // 2), tensors


def _mamba2(size: Size) -> tuple[Entries, Tensors]:
    tensors = _norm(size, "output_norm")
    for block in _blocks(size):
        tensors |= _norm(size, f"{block}.attn_norm") | _mamba2_layer(size, block)
    return {"attention.head_count": 0, "feed_forward_length": 0} | _state_space(size), tensors


def _jamba(size: Size) -> tuple[Entries, Tensors]:
    tensors, rank = _norm(size, "output_norm"), size.width // 2
    for block, heads in zip(_blocks(size), _alternating(size), strict=True):
        tensors |= _norm(size, f"{block}.attn_norm") | _norm(size, f"{block}.ffn_norm") | _gated(size, block)
        tensors |= _attention(size, block) if heads else _mamba_layer(size, block, rank)
        if not heads:
            lengths = {"dt": rank, "b": size.state, "c": size.state}
            tensors |= {f"{block}.ssm_{part}_norm.weight": ((lengths[part],), "norm") for part in lengths}
    entries = {"feed_forward_length": size.inner} | _heads(size, _alternating(size))
    return entries | _state_space(size, groups=0, rank=rank), tensors


def _granite(size: Size) -> tuple[Entries, Tensors]:
    tensors = _norm(size, "output_norm")
    for block, heads in zip(_blocks(size), _alternating(size), strict=True):
        tensors |= _norm(size, f"{block}.attn_norm") | _norm(size, f"{block}.ffn_norm") | _gated(size, block)
        tensors |= _attention(size, block) if heads else _mamba2_layer(size, block)
    return {"feed_forward_length": size.inner} | _heads(size, _alternating(size)) | _state_space(size), tensors


def _falcon(size: Size) -> tuple[Entries, Tensors]:
    """Every layer has attention and a state."""
    tensors = _norm(size, "output_norm")
    for block in _blocks(size):
        tensors |= _norm(size, f"{block}.attn_norm") | _gated(size, block)
        tensors[f"{block}.ffn_norm"] = ((size.width,), "norm")
        tensors |= _attention(size, block) | _mamba2_layer(size, block)
    return {"feed_forward_length": size.inner} | _heads(size) | _state_space(size), tensors


def _nemotron(size: Size) -> tuple[Entries, Tensors]:
    """Each layer is one of three: a state, a feed-forward part, attention."""
    tensors = _norm(size, "output_norm")
    heads = [size.heads if layer % 3 == 2 else 0 for layer in range(size.layers)]
    inner = [size.inner if layer % 3 == 1 else 0 for layer in range(size.layers)]
    for layer, block in enumerate(_blocks(size)):
        tensors |= _norm(size, f"{block}.attn_norm")
        if inner[layer]:
            gated = _gated(size, block)
            tensors |= {name: gated[name] for name in gated if "gate" not in name}
        else:
            tensors |= _attention(size, block) if heads[layer] else _mamba2_layer(size, block)
    entries: Entries = {"feed_forward_length": inner, "attention.layer_norm_epsilon": 1e-5}
    return entries | _heads(size, heads) | _state_space(size), tensors


def _lfm2(size: Size) -> tuple[Entries, Tensors]:
    """Short convolutions in place of states."""
    tensors = _norm(size, "token_embd_norm")
    for block, heads in zip(_blocks(size), _alternating(size), strict=True):
        tensors |= _norm(size, f"{block}.attn_norm") | _norm(size, f"{block}.ffn_norm") | _gated(size, block)
        if heads:
            tensors |= _attention(size, block) | _head_norms(size, block)
        else:
            tensors |= {
                f"{block}.shortconv.conv.weight": ((3, size.width), "convolution"),
                f"{block}.shortconv.in_proj.weight": ((size.width, 3 * size.width), "matrix"),
                f"{block}.shortconv.out_proj.weight": ((size.width, size.width), "matrix"),
            }
    entries: Entries = {"feed_forward_length": size.inner, "shortconv.l_cache": 3}
    return entries | _heads(size, _alternating(size)), tensors


def _qwen35(size: Size) -> tuple[Entries, Tensors]:
    """Gated delta nets: a square state a head, written by the delta rule."""
    tensors, heads = _norm(size, "output_norm"), 2 * size.width // size.state
    value = heads * size.state
    for layer, block in enumerate(_blocks(size)):
        tensors |= _norm(size, f"{block}.attn_norm") | _norm(size, f"{block}.post_attention_norm")
        tensors |= _gated(size, block)
        if layer % 2:
            tensors |= _attention(size, block) | _head_norms(size, block)
            tensors[f"{block}.attn_q.weight"] = ((size.width, 2 * size.heads * size.head), "matrix")
        else:
            tensors |= {
                f"{block}.attn_qkv.weight": ((size.width, 3 * value), "matrix"),
                f"{block}.attn_gate.weight": ((size.width, value), "matrix"),
                f"{block}.ssm_conv1d.weight": ((4, 3 * value), "convolution"),
                f"{block}.ssm_dt.bias": ((heads,), "bias"),
                f"{block}.ssm_a": ((heads,), "decay"),
                f"{block}.ssm_beta.weight": ((size.width, heads), "matrix"),
                f"{block}.ssm_alpha.weight": ((size.width, heads), "matrix"),
                f"{block}.ssm_norm.weight": ((size.state,), "norm"),
                f"{block}.ssm_out.weight": ((value, size.width), "matrix"),
            }
    entries: Entries = {
        "feed_forward_length": size.inner,
        "full_attention_interval": 2,
        "rope.dimension_sections": [size.head // 4, size.head // 8, size.head // 8, 0],
    }
    return entries | _heads(size) | _state_space(size, groups=heads, rank=heads), tensors


def _rwkv7(size: Size) -> tuple[Entries, Tensors]:
    width, rank = size.width, 32
    vector, narrow, wide = ((width,), "bias"), ((width, rank), "matrix"), ((rank, width), "matrix")
    square: tuple[tuple[int, ...], str] = ((width, width), "matrix")
    tensors: Tensors = {}
    for name in ("token_embd_norm", "output_norm"):
        tensors |= _norm(size, name) | {f"{name}.bias": vector}
    for block in _blocks(size):
        for name in ("attn_norm", "attn_norm_2", "time_mix_ln"):
            tensors |= _norm(size, f"{block}.{name}") | {f"{block}.{name}.bias": vector}
        for name in ("w", "a", "v"):
            tensors[f"{block}.time_mix_{name}0.weight"] = vector
        for name in ("w", "a", "v", "g"):
            tensors |= {f"{block}.time_mix_{name}1.weight": narrow, f"{block}.time_mix_{name}2.weight": wide}
        for name in ("k_k", "k_a", "r_k"):
            tensors[f"{block}.time_mix_{name}.weight"] = ((width,), "mix")
        for name in ("key", "value", "receptance", "output"):
            tensors[f"{block}.time_mix_{name}.weight"] = square
        tensors |= {
            f"{block}.time_mix_lerp_fused.weight": ((width, 1, 1, 6), "mix"),
            f"{block}.channel_mix_lerp_k.weight": ((width, 1, 1), "mix"),
            f"{block}.channel_mix_key.weight": ((width, size.inner), "matrix"),
            f"{block}.channel_mix_value.weight": ((size.inner, width), "matrix"),
        }
    ranks: Entries = {f"attention.{name}_lora_rank": rank for name in ("decay", "iclr", "value_residual_mix", "gate")}
    entries: Entries = {
        "attention.head_count": 0,
        "attention.layer_norm_epsilon": 1e-5,
        "feed_forward_length": size.inner,
        # llama.cpp calculates wrongly with others.
        "wkv.head_size": 64,
    }
    return entries | ranks, tensors


def _blocks(size: Size) -> list[str]:
    return [f"blk.{layer}" for layer in range(size.layers)]


ARCHITECTURES: dict[str, Callable[[Size], tuple[Entries, Tensors]]] = {
    "falcon-h1": _falcon,
    "granitehybrid": _granite,
    "jamba": _jamba,
    "lfm2": _lfm2,
    "mamba": _mamba,
    "mamba2": _mamba2,
    "nemotron_h": _nemotron,
    "qwen35": _qwen35,
    "rwkv7": _rwkv7,
}
