"""Train Medusa heads: each reads the target's last state and proposes one of the tokens behind the next.

Source: Cai et al., "Medusa" (2024, arXiv:2401.10774), section 2.1.1.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from demopair.training.model import DemoLlama
from engine.training.linear import LinearMap

from .eagle import HeadConfig, fit
from .own_text import OwnBatch

HEADS = 4
_FADE = 0.8
_PLACES = 512
"""Training positions of a batch, each head: the outputs dominate the cost."""


class MedusaHeads(nn.Module):
    """One residual block and one output a head."""

    def __init__(self, target: DemoLlama) -> None:
        super().__init__()
        width = target.shape.width
        self.weights = nn.ParameterList(torch.zeros(width, width) for _ in range(HEADS))
        self.biases = nn.ParameterList(torch.zeros(width) for _ in range(HEADS))
        self.outputs = nn.ParameterList(target.head.weight.detach().clone() for _ in range(HEADS))

    @torch.no_grad()
    def begin_with(self, target: DemoLlama, batches: list[OwnBatch]) -> None:
        """Begin as the target's output behind the map that comes closest to its state so many tokens on."""
        width = target.shape.width
        for head, output in enumerate(self.outputs):
            found = LinearMap(width, width)
            for batch in batches:
                rows, places = batch.learn[:, head + 1 :].nonzero(as_tuple=True)
                found.add(batch.last[rows, places].float(), batch.last[rows, places + head + 1].float())
            output.copy_(target.head.weight @ found.weight())

    def forward(self, states: Tensor, head: int) -> Tensor:
        """The logits of one head behind states (rows, width)."""
        inner = functional.linear(states, self.weights[head], self.biases[head])
        return functional.linear(states + functional.silu(inner), self.outputs[head])


def loss_of(heads: MedusaHeads, target: DemoLlama, batch: OwnBatch) -> tuple[Tensor, list[float]]:
    """Cross entropy to the target's distribution, and the share of best tokens that is guessed, by head."""
    loss, shares, weight = torch.zeros(()), list[float](), 1.0
    for head in range(HEADS):
        ahead = head + 1
        rows, places = batch.learn[:, ahead:].nonzero(as_tuple=True)
        some = torch.randperm(len(rows))[:_PLACES]
        rows, places = rows[some], places[some]
        with torch.no_grad():
            logits = target.logits(batch.last[rows, places + ahead].float())
            best, probs = logits.argmax(dim=-1), torch.softmax(logits.float(), dim=-1)
        guessed = heads(batch.last[rows, places].float(), head).float()
        loss = loss + weight * functional.cross_entropy(guessed, probs)
        shares.append((guessed.detach().argmax(dim=-1) == best).float().mean().item())
        weight *= _FADE
    return loss, shares


def train_medusa(
    heads: MedusaHeads, target: DemoLlama, batches: list[OwnBatch], config: HeadConfig
) -> list[dict[str, Any]]:
    """Train; return the log of every 50 steps."""
    rest = [*heads.biases, *heads.outputs]
    return fit(
        [
            torch.optim.Muon([*heads.weights], lr=config.muon_lr, weight_decay=0.01, momentum=0.95),
            torch.optim.AdamW(rest, lr=config.adam_lr / 2, betas=(0.9, 0.95), weight_decay=0.0, fused=True),
        ],
        lambda batch: loss_of(heads, target, batch),
        batches,
        config,
    )
