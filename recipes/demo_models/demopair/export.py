"""Export: GGUF (norms F32, matrices Q8_0 or F32) for llama.cpp and a folder for transformers."""

from __future__ import annotations

import json
from pathlib import Path

import gguf
import numpy as np
from numpy.typing import NDArray
from safetensors.torch import save_file
from tokenizers import Tokenizer

from demopair.training.model import DemoLlama
from demopair.training.tokenizer import BEGIN, CHAT_TEMPLATE, END, PAD, SPECIAL, special_ids
from engine.training.layers import ModelShape, interleave

LAYER_NAMES = {
    "attn_norm": ("attn_norm", "input_layernorm"),
    "attn.q_proj": ("attn_q", "self_attn.q_proj"),
    "attn.k_proj": ("attn_k", "self_attn.k_proj"),
    "attn.v_proj": ("attn_v", "self_attn.v_proj"),
    "attn.o_proj": ("attn_output", "self_attn.o_proj"),
    "ffn_norm": ("ffn_norm", "post_attention_layernorm"),
    "ffn.gate_proj": ("ffn_gate", "mlp.gate_proj"),
    "ffn.up_proj": ("ffn_up", "mlp.up_proj"),
    "ffn.down_proj": ("ffn_down", "mlp.down_proj"),
}


def size_label(parameters: int) -> str:
    """Short size, such as 8.2M or 795K."""
    return f"{parameters / 1e6:.1f}M" if parameters >= 1e6 else f"{parameters / 1e3:.0f}K"


def gguf_tensors(model: DemoLlama) -> dict[str, NDArray[np.float32]]:
    """All weights under their GGUF names, float32."""
    state, shape = model.state_dict(), model.shape
    tensors = {"token_embd.weight": state["embed.weight"], "output_norm.weight": state["norm.weight"]}
    if not shape.tied:
        tensors["output.weight"] = state["head.weight"]
    for layer in range(shape.layers):
        for ours, (theirs, _) in LAYER_NAMES.items():
            weight = state[f"blocks.{layer}.{ours}.weight"]
            if ours == "attn.q_proj":
                weight = interleave(weight, shape.heads)
            elif ours == "attn.k_proj":
                weight = interleave(weight, shape.kv_heads)
            tensors[f"blk.{layer}.{theirs}.weight"] = weight
    return {name: weight.detach().float().contiguous().numpy() for name, weight in tensors.items()}


def add_metadata(writer: gguf.GGUFWriter, shape: ModelShape, name: str, description: str, *, quantised: bool) -> None:
    """Write a file's metadata, and the sizes of its model."""
    writer.add_type(gguf.GGUFType.MODEL)
    writer.add_name(name)
    writer.add_author("Outrider project")
    writer.add_version("1")
    writer.add_description(description)
    writer.add_license("MIT")
    writer.add_languages(["en"])
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0 if quantised else gguf.LlamaFileType.ALL_F32)
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
    writer.add_vocab_size(shape.vocab_size)
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.width)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.ff_width)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_layer_norm_rms_eps(shape.norm_eps)
    writer.add_rope_freq_base(shape.rope_theta)
    writer.add_rope_dimension_count(shape.head_size)


def add_tokenizer(writer: gguf.GGUFWriter, tokenizer: Tokenizer) -> None:
    """Write the vocabulary and the chat template."""
    vocabulary = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    tokens = [token for token, _ in vocabulary]
    types = [gguf.TokenType.CONTROL if token in SPECIAL else gguf.TokenType.NORMAL for token in tokens]
    ids = special_ids(tokenizer)
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_merges([m if isinstance(m, str) else " ".join(m) for m in merges])
    writer.add_bos_token_id(ids[BEGIN])
    writer.add_eos_token_id(ids[END])
    writer.add_eot_token_id(ids[END])
    writer.add_pad_token_id(ids[PAD])
    # The chat template writes the first token itself.
    writer.add_add_bos_token(False)
    writer.add_add_eos_token(False)
    writer.add_chat_template(CHAT_TEMPLATE)


def write_gguf(
    model: DemoLlama, tokenizer: Tokenizer, path: Path, name: str, description: str, *, quantised: bool = True
) -> None:
    """Write the model to `path`, by way of a temporary file beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    writer = gguf.GGUFWriter(str(part), "llama")
    add_metadata(writer, model.shape, name, description, quantised=quantised)
    writer.add_size_label(size_label(model.parameter_count()))
    add_tokenizer(writer, tokenizer)
    for tensor_name, values in gguf_tensors(model).items():
        if quantised and values.ndim == 2:
            kind = gguf.GGMLQuantizationType.Q8_0
            writer.add_tensor(tensor_name, gguf.quants.quantize(values, kind), raw_dtype=kind)
        else:
            writer.add_tensor(tensor_name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    part.replace(path)


def _llama_config(model: DemoLlama, tokenizer: Tokenizer) -> dict[str, object]:
    shape = model.shape
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": shape.vocab_size,
        "hidden_size": shape.width,
        "intermediate_size": shape.ff_width,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.kv_heads,
        "head_dim": shape.head_size,
        "max_position_embeddings": shape.context,
        "rms_norm_eps": shape.norm_eps,
        "rope_theta": shape.rope_theta,
        "hidden_act": "silu",
        "tie_word_embeddings": shape.tied,
        "attention_bias": False,
        "mlp_bias": False,
        "torch_dtype": "float32",
        "bos_token_id": tokenizer.token_to_id(BEGIN),
        "eos_token_id": tokenizer.token_to_id(END),
        "pad_token_id": tokenizer.token_to_id(PAD),
    }


def write_transformers(model: DemoLlama, tokenizer: Tokenizer, folder: Path) -> None:
    """Write a folder that transformers loads as LlamaForCausalLM with its tokenizer."""
    folder.mkdir(parents=True, exist_ok=True)
    state, shape = model.state_dict(), model.shape
    tensors = {"model.embed_tokens.weight": state["embed.weight"], "model.norm.weight": state["norm.weight"]}
    if not shape.tied:
        tensors["lm_head.weight"] = state["head.weight"]
    for layer in range(shape.layers):
        for ours, (_, theirs) in LAYER_NAMES.items():
            tensors[f"model.layers.{layer}.{theirs}.weight"] = state[f"blocks.{layer}.{ours}.weight"]
    tensors = {name: weight.detach().float().contiguous().clone() for name, weight in tensors.items()}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    config = _llama_config(model, tokenizer)
    generation = {key: config[key] for key in ("bos_token_id", "eos_token_id", "pad_token_id")}
    tokenizer_config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": BEGIN,
        "eos_token": END,
        "pad_token": PAD,
        "add_bos_token": False,
        "model_max_length": shape.context,
        "chat_template": CHAT_TEMPLATE,
        "clean_up_tokenization_spaces": False,
    }
    for file, content in (
        ("config.json", config),
        ("generation_config.json", generation),
        ("tokenizer_config.json", tokenizer_config),
    ):
        (folder / file).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    tokenizer.save(str(folder / "tokenizer.json"))
