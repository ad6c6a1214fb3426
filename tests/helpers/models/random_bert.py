"""A tiny embedding model that only encodes (BERT), with random weights."""

from pathlib import Path

import gguf
import numpy as np

_WIDTH, _INNER, _HEADS, _LAYERS, _CONTEXT = 32, 64, 2, 2, 64
_WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *["▁once", "▁upon", "▁a", "▁time", "▁fox", "s"]]


def write_random_bert(path: Path, seed: int = 0) -> Path:
    """Write the model; its vectors are means over the tokens."""
    writer = gguf.GGUFWriter(path, "bert")
    rng = np.random.default_rng(seed)
    writer.add_context_length(_CONTEXT)
    writer.add_embedding_length(_WIDTH)
    writer.add_feed_forward_length(_INNER)
    writer.add_block_count(_LAYERS)
    writer.add_head_count(_HEADS)
    writer.add_layer_norm_eps(1e-12)
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    writer.add_tokenizer_model("bert")
    writer.add_token_list(_WORDS)
    writer.add_token_types([int(gguf.TokenType.CONTROL)] * 5 + [int(gguf.TokenType.NORMAL)] * (len(_WORDS) - 5))
    writer.add_token_type_count(2)
    for add, token in (
        (writer.add_pad_token_id, 0),
        (writer.add_unk_token_id, 1),
        (writer.add_bos_token_id, 2),
        (writer.add_eos_token_id, 3),
        (writer.add_sep_token_id, 3),
    ):
        add(token)

    def put(name: str, *shape: int) -> None:
        writer.add_tensor(name, (rng.standard_normal(shape) / 4).astype(np.float32))

    put("token_embd.weight", len(_WORDS), _WIDTH)
    put("token_types.weight", 2, _WIDTH)
    put("position_embd.weight", _CONTEXT, _WIDTH)
    names = ["token_embd_norm"]
    for layer in range(_LAYERS):
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            put(f"blk.{layer}.{part}.weight", _WIDTH, _WIDTH)
            put(f"blk.{layer}.{part}.bias", _WIDTH)
        put(f"blk.{layer}.ffn_up.weight", _INNER, _WIDTH)
        put(f"blk.{layer}.ffn_up.bias", _INNER)
        put(f"blk.{layer}.ffn_down.weight", _WIDTH, _INNER)
        put(f"blk.{layer}.ffn_down.bias", _WIDTH)
        names += [f"blk.{layer}.attn_output_norm", f"blk.{layer}.layer_output_norm"]
    for name in names:
        put(f"{name}.weight", _WIDTH)
        put(f"{name}.bias", _WIDTH)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
