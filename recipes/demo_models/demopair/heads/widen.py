"""Widen a trained EAGLE-3 head: it stands inside the larger one, which proposes the same until it learns on."""

from __future__ import annotations

import torch

from engine.training.eagle import EagleHead
from engine.training.layers import ModelShape, Norm

_UNHEARD = 0.3
"""Initial weight of the output on the new channels, silent at first, as a share of its weight on the others."""


@torch.no_grad()
def widen(small: EagleHead, shape: ModelShape) -> EagleHead:
    """Widen a head to a larger shape with equal proposals; its new channels write nothing at first.

    The new rows of matrices that read are drawn, so that what they shall write to gets a direction to learn in.
    """
    read = small.fc.in_features
    large = EagleHead(shape, read, small.get_buffer("table"))
    old, new = small.shape.width, shape.width
    for ours, theirs in zip(large.modules(), small.modules(), strict=True):
        if isinstance(ours, Norm) and isinstance(theirs, Norm):
            # The channels that are silent make the root of the mean square smaller by so much.
            known = theirs.weight * (old / new) ** 0.5
            ours.weight.fill_(known.mean().item())
            ours.weight[:old] = known
    for name in ("embed", "fc", "o_proj", "ffn.down_proj"):
        part = large.get_parameter(f"{name}.weight").zero_()
        known = small.get_parameter(f"{name}.weight")
        part[: known.shape[0], : known.shape[1]] = known
    for name in ("q_proj", "k_proj", "v_proj"):
        part, known = large.get_parameter(f"{name}.weight"), small.get_parameter(f"{name}.weight")
        for begins, began in ((0, 0), (new, old)):  # A token's embedding, and beside it a state.
            part[: len(known), begins : begins + old] = known[:, began : began + old]
    for name in ("ffn.gate_proj", "ffn.up_proj"):
        known = small.get_parameter(f"{name}.weight")
        large.get_parameter(f"{name}.weight")[: len(known), :old] = known
    large.head.weight.normal_(std=_UNHEARD * small.head.weight.std().item())
    large.head.weight[:, :old] = small.head.weight
    return large
