"""Train an MTP layer of the sibling: behind the sibling's states first, then behind its own.

Source: DeepSeek-AI, "DeepSeek-V3" (2024, arXiv:2412.19437), section 2.2; chained on its own state as it is used, which
is the training-time test of EAGLE-3.
"""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from engine.training.layers import Norm
from engine.training.linear import LinearMap

from .eagle import HeadConfig, fit
from .own_text import OwnBatch
from .sibling import GatedBlock, SiblingModel

AHEAD = 3
"""Tokens ahead that it learns to predict from its own states."""
_FADE = 0.8
"""Weight factor of each further step ahead."""
_PLACES = 512
"""Training positions of a batch, each step ahead: the output costs more than the layer."""


class MtpLayer(nn.Module):
    """One decoder layer that reads a token and the state before it; the sibling's embedding and output serve it too."""

    def __init__(self, model: SiblingModel) -> None:
        super().__init__()
        shape = model.shape
        self.embed_norm, self.state_norm = Norm(shape.width, shape.norm_eps), Norm(shape.width, shape.norm_eps)
        self.pair_proj = nn.Linear(2 * shape.width, shape.width, bias=False)
        self.block = GatedBlock(shape)
        self.norm = Norm(shape.width, shape.norm_eps)
        self.block.load_state_dict(model.blocks[-1].state_dict())
        self.norm.load_state_dict(model.norm.state_dict())

    @torch.no_grad()
    def begin_with(self, model: SiblingModel, batches: list[OwnBatch]) -> None:
        """Initialise from the sibling's last layer, behind the best linear map from a token and the state before it."""
        width = model.shape.width
        found = LinearMap(2 * width, width)
        for batch in batches:
            states = functional.pad(batch.last.float()[:, :-1], (0, 0, 1, 0))
            found.add(
                self._pair(model, batch.ids, states).flatten(0, 1), batch.states[..., -width:].float().flatten(0, 1)
            )
        self.pair_proj.weight.copy_(found.weight())

    def _pair(self, model: SiblingModel, ids: Tensor, states: Tensor) -> Tensor:
        return torch.cat([self.embed_norm(model.embed(ids)), self.state_norm(states)], dim=-1)

    def forward(
        self, model: SiblingModel, ids: Tensor, states: Tensor, first: int, seen: list[tuple[Tensor, Tensor]]
    ) -> Tensor:
        """The states behind pairs of a token (rows, time) and the state before it (rows, time, width).

        `first`: so many places to the right they stand; `seen`: as in `GatedAttention`.
        """
        cos, sin = (model.get_buffer(name)[first : first + ids.shape[1]] for name in ("cos", "sin"))
        out: Tensor = self.norm(self.block(self.pair_proj(self._pair(model, ids, states)), cos, sin, seen))
        return out


def mtp_loss(layer: MtpLayer, model: SiblingModel, batch: OwnBatch) -> tuple[Tensor, list[float]]:
    """Cross entropy to the sibling's distribution, and the share of its best tokens that is guessed, by step."""
    last = batch.last.float()
    states = functional.pad(last[:, :-1], (0, 0, 1, 0))
    seen: list[tuple[Tensor, Tensor]] = []
    loss, shares, weight = torch.zeros(()), list[float](), 1.0
    for ahead in range(AHEAD):
        # The pair at a place holds the token `ahead` places on, and proposes the one behind that.
        ids = functional.pad(batch.ids[:, ahead:], (0, ahead))
        wanted = functional.pad(batch.learn[:, ahead:], (0, ahead))
        states = layer(model, ids, states, ahead, seen)
        rows, places = wanted.nonzero(as_tuple=True)
        some = torch.randperm(len(rows))[:_PLACES]
        rows, places = rows[some], places[some]
        with torch.no_grad():
            logits = model.head(last[rows, places + ahead])
            best, probs = logits.argmax(dim=-1), torch.softmax(logits, dim=-1)
        guessed = cast(Tensor, model.head(states[rows, places])).float()
        loss = loss + weight * functional.cross_entropy(guessed, probs)
        shares.append((guessed.detach().argmax(dim=-1) == best).float().mean().item())
        weight *= _FADE
    return loss, shares


def train_mtp(
    layer: MtpLayer, model: SiblingModel, batches: list[OwnBatch], config: HeadConfig
) -> list[dict[str, Any]]:
    """Train the layer on the frozen sibling; return the log of every 50 steps."""
    model.requires_grad_(requires_grad=False)
    matrices = [p for p in layer.parameters() if p.ndim == 2]
    norms = [p for p in layer.parameters() if p.ndim == 1]
    return fit(
        [
            torch.optim.Muon(matrices, lr=config.muon_lr, weight_decay=0.01, momentum=0.95),
            torch.optim.AdamW(norms, lr=config.adam_lr, betas=(0.9, 0.95), weight_decay=0.0, fused=True),
        ],
        lambda batch: mtp_loss(layer, model, batch),
        batches,
        config,
    )
