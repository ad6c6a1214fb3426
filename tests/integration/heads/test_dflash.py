"""DFlash and DSpark: heads that propose a block at once."""

from pathlib import Path

import pytest

from engine.errors import ModelFileBroken, ModelNotSupported
from helpers.heads.dflash import write_dflash
from helpers.heads.replies import open_with_heads
from helpers.models.gguf_writer import GgufDraft


def _spoiled(head: Path, path: Path, change: str) -> Path:
    draft = GgufDraft.of_file(head)
    if change == "tensor":
        del draft.tensors["blk.1.attn_k_norm.weight"]
    elif change == "layer":
        draft.entries["dflash.target_layers"].value = [1, 2, 9]
    elif change == "mask":
        draft.entries["tokenizer.ggml.mask_token_id"].value = 320
    elif change == "block":
        draft.entries["dflash.block_size"].value = 1
    elif change == "selector":
        draft.tensors["selector_hidden.weight"] = draft.tensors["blk.0.attn_q.weight"]
    elif change == "candidates":
        draft.entries["dflash.selector_top_k"].value = 8
    elif change == "convolution":
        del draft.tensors["blk.1.ffn_conv_base"]
    return draft.write(path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("tensor", r"lacks the tensor 'blk\.1\.attn_k_norm\.weight'"),
        ("layer", "reads layer 9 of its target"),
        ("mask", "names no mask token"),
        ("block", "has the invalid value 1"),
        ("selector", "'dflash.conv_kernel_size' has the invalid value 0"),
        ("candidates", "'dflash.selector_top_k' has the invalid value 8"),
        ("convolution", r"lacks the tensor 'blk\.1\.ffn_conv_base'"),
    ],
)
def test_heads_that_are_refused(target: Path, folder: Path, change: str, said: str) -> None:
    selector = 6 if change in ("candidates", "convolution") else 0
    path = _spoiled(write_dflash(folder / "good.gguf", target, selector=selector), folder / f"{change}.gguf", change)
    with open_with_heads(target, None) as decoder:
        with pytest.raises((ModelFileBroken, ModelNotSupported), match=said):
            decoder.attach_heads(path)
        assert decoder.heads is None
