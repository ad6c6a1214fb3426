"""Growing a model into a larger one, and blending two of the same descent."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor

from engine.training.layers import ModelShape

from .model import Block, DemoLlama

# Strength of the new weights that read; the new weights that write begin at zero, so nothing is lost at the start.
READ_STD = 0.02


def _place(new: Tensor, old: Tensor, rows: int, columns: int) -> None:
    """Put the old matrix at the top left; the old rows hardly read the new columns."""
    new[:rows, :columns] = old
    new[:rows, columns:] = torch.randn(rows, new.shape[1] - columns) * READ_STD * 0.3


def _grow_block(new: Block, old: Block, scale: float) -> None:
    width = old.attn_norm.weight.shape[0]
    for name in ("q_proj", "k_proj", "v_proj"):
        target, source = getattr(new.attn, name).weight, getattr(old.attn, name).weight
        _place(target, source, source.shape[0], width)
    for name in ("gate_proj", "up_proj"):
        target, source = getattr(new.ffn, name).weight, getattr(old.ffn, name).weight
        _place(target, source, source.shape[0], width)
    for target, source in (
        (new.attn.o_proj.weight, old.attn.o_proj.weight),
        (new.ffn.down_proj.weight, old.ffn.down_proj.weight),
    ):
        target.zero_()
        target[: source.shape[0], : source.shape[1]] = source
    for target, source in ((new.attn_norm.weight, old.attn_norm.weight), (new.ffn_norm.weight, old.ffn_norm.weight)):
        target.fill_(scale)
        target[:width] = source * scale


@torch.no_grad()
def grow(small: DemoLlama, shape: ModelShape, seed: int) -> DemoLlama:
    """Grow a model to a larger shape with nearly the same initial output.

    Needs the same vocabulary, head size and ratio of query to key heads. The small model's layers are spread among the
    new ones, which add nothing at first.
    """
    old = small.shape
    if old.heads * shape.kv_heads != old.kv_heads * shape.heads or old.head_size != shape.head_size:
        raise ValueError("A model can only grow with the same head size and the same ratio of query to key heads.")
    torch.manual_seed(seed)
    model = DemoLlama(shape)
    # A norm divides by the root mean square of all dimensions; the new ones hold almost nothing yet.
    scale = (old.width / shape.width) ** 0.5
    model.embed.weight.copy_(torch.randn_like(model.embed.weight) * small.embed.weight.std() * 0.2)
    model.embed.weight[:, : old.width] = small.embed.weight
    model.head.weight.copy_(torch.randn_like(model.head.weight) * READ_STD * 0.3)
    model.head.weight[:, : old.width] = small.head.weight
    model.norm.weight.fill_(scale)
    model.norm.weight[: old.width] = small.norm.weight * scale
    places = [round(i * (shape.layers - 1) / old.layers) for i in range(old.layers)]
    for at, module in enumerate(model.blocks):
        block = cast(Block, module)
        if at in places:
            _grow_block(block, cast(Block, small.blocks[places.index(at)]), scale)
        else:
            block.attn.o_proj.weight.zero_()
            block.ffn.down_proj.weight.zero_()
            block.attn_norm.weight.fill_(scale)
            block.ffn_norm.weight.fill_(scale)
    return model


@torch.no_grad()
def blend(first: DemoLlama, second: DemoLlama, share: float) -> DemoLlama:
    """The mean of two models of one shape, `share` of the second; they must come from the same training."""
    if first.shape != second.shape:
        raise ValueError("Only models of the same shape can be blended.")
    model = DemoLlama(first.shape)
    model.load_state_dict(first.state_dict())
    for mine, other in zip(model.parameters(), second.parameters(), strict=True):
        mine.lerp_(other, share)
    return model.eval()
