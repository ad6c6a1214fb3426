"""Check a Gemma 4 assistant: MTP layers in a file of their own, which read keys and values in the target's cache.

llama.cpp looks at the target's cache with the numbers of the assistant's header, and checks none of them.
Source of the names and shapes: its loader (src/models/gemma4-assistant.cpp) and its cache (llama_model::create_memory).
"""

from __future__ import annotations

from engine.errors import ModelFileBroken
from engine.formats.draft_head import DraftHead
from engine.formats.gguf.header import Numbers
from engine.formats.gguf.reader import GgufFile
from engine.formats.gguf.shapes import check_shape
from engine.formats.gguf.vocabulary import TOKENS_KEY
from engine.translatable import Translatable

ASSISTANT = "gemma4-assistant"
ITS_TARGET = "gemma4"
_MOST_WIDTH = 2**16


def check_assistant(header: GgufFile) -> DraftHead:
    """Return the head in a file of the architecture gemma4-assistant, all of it checked. Raises ModelFileBroken."""
    number = Numbers(header, ASSISTANT)
    layers, width, wide = number("block_count"), number("embedding_length"), number("embedding_length_out")
    for key, good in (
        ("nextn_predict_layers", number("nextn_predict_layers") == layers),
        ("embedding_length_out", 0 < wide <= _MOST_WIDTH and wide != width),
        ("attention.sliding_window", number("attention.sliding_window") > 0),
        ("rope.dimension_count_swa", _turns(number, "_swa")),
        ("rope.dimension_count", _turns(number, "")),
        *((f"attention.value_length{end}", _alike(number, end)) for end in ("", "_swa")),
    ):
        if not good:
            raise _wrong(header, key, number(key))
    found = _layers(header, ASSISTANT)
    if len(found) != layers or {window for window, *_ in found} != {True, False} or len(set(found)) != 2:
        raise ModelFileBroken(
            header.path, Translatable("its header does not say which keys of the target its layers read.")
        )
    _shapes(header, number, [key for _, _, key in found])
    shared = {window: (heads, key) for window, heads, key in found}
    return DraftHead("mtp", (), wide, shared=(shared[True], shared[False]))


def shared_keys(header: GgufFile) -> tuple[tuple[int, int], ...]:
    """Return key heads and their width of a target, in its last layer with a window and its last full one.

    Nothing where the target is none for an assistant: llama.cpp takes its last two layers for these.
    """
    if header.text("general.architecture") != ITS_TARGET:
        return ()
    last = _layers(header, ITS_TARGET)[-2:]
    if [window for window, *_ in last] != [True, False]:
        return ()
    return tuple((heads, key) for _, heads, key in last)


def _layers(header: GgufFile, architecture: str) -> list[tuple[bool, int, int]]:
    """Return each layer's window flag, its key heads, and their width; nothing if the header lacks them."""
    number = Numbers(header, architecture)
    count = number("block_count")
    windows = header.numbers(f"{architecture}.attention.sliding_window_pattern")
    shared = header.numbers(f"{architecture}.attention.head_count_kv")
    single = number("attention.head_count_kv") or number("attention.head_count")
    if windows is None or len(windows) < count or (shared is None and not single):
        return []
    if shared is not None and len(shared) < count:
        return []
    heads = [single] * count if shared is None else [int(each) for each in shared[:count]]
    keys = number("attention.key_length_swa"), number("attention.key_length")
    return [
        (bool(window), each, keys[0] if window else keys[1])
        for window, each in zip(windows[:count], heads, strict=True)
    ]


def _turns(number: Numbers, end: str) -> bool:
    """Return True if as many numbers of a head turn with its position as can."""
    turned = number(f"rope.dimension_count{end}")
    return turned % 2 == 0 and turned <= number(f"attention.key_length{end}")


def _alike(number: Numbers, end: str) -> bool:
    key = number(f"attention.key_length{end}")
    return 0 < key == number(f"attention.value_length{end}") and key % 2 == 0


def _shapes(header: GgufFile, number: Numbers, keys: list[int]) -> None:
    width, wide = number("embedding_length"), number("embedding_length_out")
    wanted: dict[str, tuple[int, ...]] = {
        "token_embd": (width, header.count(TOKENS_KEY) or 0),
        "output_norm": (width,),
        "nextn.pre_projection": (2 * wide, width),
        "nextn.post_projection": (width, wide),
        "rope_freqs": (number("attention.key_length") // 2,),
    }
    heads = _per_layer(header, "attention.head_count", len(keys))
    inner = _per_layer(header, "feed_forward_length", len(keys))
    for layer, key in enumerate(keys):
        block = {
            "attn_norm": (width,),
            "attn_q": (width, key * heads[layer]),
            "attn_q_norm": (key,),
            "attn_output": (key * heads[layer], width),
            "post_attention_norm": (width,),
            "layer_output_scale": (1,),
            "ffn_norm": (width,),
            "ffn_gate": (width, inner[layer]),
            "ffn_up": (width, inner[layer]),
            "ffn_down": (inner[layer], width),
            "post_ffw_norm": (width,),
        }
        wanted |= {f"blk.{layer}.{name}": shape for name, shape in block.items()}
    for name, shape in wanted.items():
        check_shape(header, header.tensors, f"{name}.weight", shape)


def _per_layer(header: GgufFile, key: str, layers: int) -> list[int]:
    """Return a number of each layer. Raises ModelFileBroken if one is missing, or 0."""
    name = f"{ASSISTANT}.{key}"
    several = header.numbers(name)
    found = [header.number(name) or 0] * layers if several is None else [int(each) for each in several[:layers]]
    if len(found) < layers or min(found) < 1:
        raise _wrong(header, key, min(found, default=0))
    return found


def _wrong(header: GgufFile, key: str, content: int) -> ModelFileBroken:
    return ModelFileBroken(
        header.path,
        "the header entry {name!r} has the invalid value {content}.",
        name=f"{ASSISTANT}.{key}",
        content=content,
    )
