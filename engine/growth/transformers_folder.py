"""Write a grown model as a folder that transformers loads: float32 weights, the tokenizer, the chat template.

Float32, because a Q8_0 value (a float16 scale times a whole number) does not fit into fewer bits, and because norm
weights rounded to bfloat16 would no longer be the small model's times one factor.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from numpy.typing import NDArray

from engine.errors import GrowthError
from engine.growth.arithmetic import GrownShape, Growth, Kind, Part, SmallModel

_NAMES = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def safetensors_copy(model: Path, folder: Path) -> Path:
    """Write a small llama model of a GGUF file, such as those of the demo pair, as a folder that transformers loads.

    It has float32 weights: what the file's own are, or stand for. Returns the folder, which must not be there yet.
    Raises GrowthError if the model is of another architecture or its tokenizer of another sort, OSError.
    """
    small = SmallModel(model)
    write_folder(Growth(small, GrownShape(small.layers, small.width, small.feed_forward), Kind.F32), folder)
    return folder


def write_folder(growth: Growth, folder: Path) -> None:
    """Write config.json, generation_config.json, model.safetensors, tokenizer.json and tokenizer_config.json.

    The growth's kind must be F32. Raises GrowthError for a tokenizer of another sort than the demo pair's, OSError.
    """
    tokenizer, settings = _tokenizer(growth.small), _tokenizer_settings(growth.small)
    folder.mkdir()
    config = _config(growth)
    generation = {key: config[key] for key in ("bos_token_id", "eos_token_id", "pad_token_id")}
    for name, content in (
        ("config", config),
        ("generation_config", generation),
        ("tokenizer", tokenizer),
        ("tokenizer_config", settings),
    ):
        (folder / f"{name}.json").write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    write_tensors(folder / "model.safetensors", growth.parts, _name, lambda part: _content(growth, part))


def write_tensors(
    path: Path, parts: Sequence[Part], name: Callable[[Part], str], content: Callable[[Part], NDArray[Any]]
) -> None:
    """Write the format of safetensors: length of the header, the header as JSON, the tensors one after the other.

    The parts are of the kinds F32 and F16.
    """
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for part in parts:
        start, end = end, end + part.size
        shape = [part.rows, part.columns] if part.rows else [part.columns]
        header[name(part)] = {"dtype": part.kind.name, "shape": shape, "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for part in parts:
            file.write(np.ascontiguousarray(content(part)).data)


def _name(part: Part) -> str:
    pieces = part.name.removesuffix(".weight").split(".")
    layer = f"model.layers.{pieces[1]}." if pieces[0] == "blk" else ""
    return f"{layer}{_NAMES[pieces[-1]]}.weight"


def _content(growth: Growth, part: Part) -> NDArray[np.float32]:
    """Return values in transformers' order: it rotates halves of a head where llama.cpp rotates neighbours."""
    values: NDArray[np.float32] = growth.content(part).view(np.float32)
    if not part.name.endswith(("attn_q.weight", "attn_k.weight")):
        return values
    pairs = values.reshape(-1, growth.small.head_size // 2, 2, part.columns)
    return pairs.transpose(0, 2, 1, 3).reshape(part.rows, part.columns)


def _config(growth: Growth) -> dict[str, Any]:
    small, shape = growth.small, growth.shape
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": len(small.tensors["token_embd.weight"].data),
        "hidden_size": shape.width,
        "intermediate_size": shape.feed_forward,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": growth.heads,
        "num_key_value_heads": growth.kv_heads,
        "head_dim": small.head_size,
        "max_position_embeddings": int(small.value("llama.context_length")),
        "rms_norm_eps": growth.epsilon,
        "rope_theta": float(small.value("llama.rope.freq_base", 10_000.0)),
        "hidden_act": "silu",
        "tie_word_embeddings": "output.weight" not in small.tensors,
        "attention_bias": False,
        "mlp_bias": False,
        "torch_dtype": "float32",
        "bos_token_id": int(small.value("tokenizer.ggml.bos_token_id")),
        "eos_token_id": int(small.value("tokenizer.ggml.eos_token_id")),
        "pad_token_id": int(small.value("tokenizer.ggml.padding_token_id")),
    }


def _tokenizer(small: SmallModel) -> dict[str, Any]:
    """Return the content of tokenizer.json: byte-level BPE with GPT-2's splitting into words."""
    sort = small.value("tokenizer.ggml.model"), small.value("tokenizer.ggml.pre")
    if sort != ("gpt2", "gpt-2"):
        raise GrowthError(f"{small.path.name} has a tokenizer of another sort than the demo pair. Choose a GGUF kind.")
    tokens, types = small.value("tokenizer.ggml.tokens"), small.value("tokenizer.ggml.token_type")
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    how = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": index, "content": token, **how}
            for index, (token, kind) in enumerate(zip(tokens, types, strict=True))
            if kind == gguf.TokenType.CONTROL
        ],
        "normalizer": None,
        "pre_tokenizer": byte_level,
        "post_processor": None,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {token: index for index, token in enumerate(tokens)},
            "merges": [merge.split(" ") for merge in small.value("tokenizer.ggml.merges")],
        },
    }


def _tokenizer_settings(small: SmallModel) -> dict[str, Any]:
    tokens = small.value("tokenizer.ggml.tokens")
    special = {
        f"{ours}_token": tokens[small.value(f"tokenizer.ggml.{theirs}_token_id")]
        for ours, theirs in (("bos", "bos"), ("eos", "eos"), ("pad", "padding"))
    }
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        **special,
        "add_bos_token": False,
        "model_max_length": int(small.value("llama.context_length")),
        "chat_template": small.value("tokenizer.chat_template"),
        "clean_up_tokenization_spaces": False,
    }
