"""A sibling of the demo target in an architecture whose MTP layers llama.cpp runs: dense Qwen3.5.

Its layers are a Llama's but for two things: queries and keys have a root-mean-square norm each, with one weight for all
heads, and a gate that the layer's input opens stands before the output of attention. A Llama is written into it almost
as it is (`SiblingModel.begin_with`) and then taught the target's distribution on the target's own text.
"""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from demopair.training.model import Attention, Block, DemoLlama
from engine.training.layers import FeedForward, ModelShape, Norm, rope_tables, rotate

from .eagle import HeadConfig, fit
from .own_text import OwnBatch
from .target import LAYERS_READ

_FLAT = 0.1
"""Largest share of its layer's largest score at which a head counts as attending to everything alike."""
_PLACES = 512
"""Positions of a batch on which distributions are compared; states are compared on all, which costs less."""


class GatedAttention(nn.Module):
    """Causal grouped-query attention with normed queries and keys, and a gate before its output."""

    def __init__(self, shape: ModelShape) -> None:
        super().__init__()
        self.shape = shape
        key = shape.kv_heads * shape.head_size
        self.q_proj = nn.Linear(shape.width, shape.width, bias=False)
        self.gate_proj = nn.Linear(shape.width, shape.width, bias=False)
        self.k_proj = nn.Linear(shape.width, key, bias=False)
        self.v_proj = nn.Linear(shape.width, key, bias=False)
        self.o_proj = nn.Linear(shape.width, shape.width, bias=False)
        self.q_norm, self.k_norm = Norm(shape.head_size, shape.norm_eps), Norm(shape.head_size, shape.norm_eps)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, seen: list[tuple[Tensor, Tensor]]) -> Tensor:
        """Return the attention's output for x (rows, time, width). cos, sin: (time, head_size).

        `seen`: keys and values of the steps before, as in `EagleHead.step`; its own are added.
        """
        rows, time, width = x.shape
        query = rotate(self.q_norm(self._split(self.q_proj(x))), cos, sin)
        keys = rotate(self.k_norm(self._split(self.k_proj(x))), cos, sin)
        groups = self.shape.heads // self.shape.kv_heads
        seen.append(
            (keys.repeat_interleave(groups, dim=1), self._split(self.v_proj(x)).repeat_interleave(groups, dim=1))
        )
        mixed = attend(query, seen).transpose(1, 2).reshape(rows, time, width)
        out: Tensor = self.o_proj(mixed * torch.sigmoid(self.gate_proj(x)))
        return out

    def _split(self, each: Tensor) -> Tensor:
        return each.view(*each.shape[:2], -1, self.shape.head_size).transpose(1, 2)


def attend(query: Tensor, seen: list[tuple[Tensor, Tensor]]) -> Tensor:
    """Values mixed for query (rows, heads, time, head_size).

    Of the first step each place sees those up to its own, of the later ones its own.
    """
    if len(seen) == 1:
        return functional.scaled_dot_product_attention(query, *seen[0], is_causal=True)
    count = query.shape[2]
    unseen = torch.ones(count, count, dtype=torch.bool).triu(1)
    scores = (query @ seen[0][0].transpose(2, 3)).masked_fill(unseen, -torch.inf)
    own = [(query * key).sum(dim=-1, keepdim=True) for key, _ in seen[1:]]
    weights = torch.softmax(torch.cat([scores, *own], dim=-1) * query.shape[3] ** -0.5, dim=-1)
    mixed = weights[..., :count] @ seen[0][1]
    for at, (_, value) in enumerate(seen[1:]):
        mixed = mixed + weights[..., count + at : count + at + 1] * value
    return mixed


class GatedBlock(nn.Module):
    """One decoder layer with gated attention."""

    def __init__(self, shape: ModelShape) -> None:
        super().__init__()
        self.attn_norm, self.attn = Norm(shape.width, shape.norm_eps), GatedAttention(shape)
        self.ffn_norm, self.ffn = Norm(shape.width, shape.norm_eps), FeedForward(shape)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, seen: list[tuple[Tensor, Tensor]] | None = None) -> Tensor:
        x = x + self.attn(self.attn_norm(x), cos, sin, [] if seen is None else seen)
        out: Tensor = x + self.ffn(self.ffn_norm(x))
        return out


class SiblingModel(nn.Module):
    """Token ids (rows, time) → states behind the last norm; `head` turns them into logits."""

    def __init__(self, shape: ModelShape) -> None:
        super().__init__()
        self.shape = shape
        self.embed = nn.Embedding(shape.vocab_size, shape.width)
        self.blocks = nn.ModuleList(GatedBlock(shape) for _ in range(shape.layers))
        self.norm = Norm(shape.width, shape.norm_eps)
        self.head = nn.Linear(shape.width, shape.vocab_size, bias=False)
        cos, sin = rope_tables(shape)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def forward(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """Return the inputs of LAYERS_READ side by side, and the last norm's output, like `target.states_of`."""
        time, read = ids.shape[1], []
        x = self.embed(ids)
        for at, block in enumerate(self.blocks):
            if at in LAYERS_READ:
                read.append(x)
            x = block(x, self.get_buffer("cos")[:time], self.get_buffer("sin")[:time])
        return torch.cat(read, dim=-1), self.norm(x)

    @torch.no_grad()
    def begin_with(self, target: DemoLlama, sample: Tensor) -> None:
        """Take the target's weights; the sizes of its queries and keys are those on `sample` (rows, time) in the mean."""
        time = sample.shape[1]
        cos, sin = target.get_buffer("cos")[:time], target.get_buffer("sin")[:time]
        self.embed.load_state_dict(target.embed.state_dict())
        self.norm.load_state_dict(target.norm.state_dict())
        self.head.load_state_dict(target.head.state_dict())
        x = target.embed(sample)
        for ours, theirs in zip(self.blocks, target.blocks, strict=True):
            block, old = cast(GatedBlock, ours), cast(Block, theirs)
            for name in ("attn_norm", "ffn_norm", "ffn"):
                getattr(block, name).load_state_dict(getattr(old, name).state_dict())
            _take_attention(block.attn, old.attn, old.attn_norm(x))
            x = old(x, cos, sin)


def _take_attention(attn: GatedAttention, old: Attention, x: Tensor) -> None:
    """Write a Llama's attention in the gated form; x: its input on a sample, (rows, time, width)."""
    attn.v_proj.load_state_dict(old.v_proj.state_dict())
    attn.gate_proj.weight.zero_()  # Half open.
    attn.o_proj.weight.copy_(2 * old.o_proj.weight)
    size, groups = attn.shape.head_size, attn.shape.heads // attn.shape.kv_heads
    query, key = (
        old.q_proj.weight.clone().view(-1, size, x.shape[2]),
        old.k_proj.weight.clone().view(-1, size, x.shape[2]),
    )
    lengths = [
        torch.einsum("rtw,hdw->rthd", x, each).pow(2).mean(dim=-1).sqrt().mean(dim=(0, 1)) for each in (query, key)
    ]
    per_head = lengths[0] * lengths[1].repeat_interleave(groups)
    sharp = per_head > _FLAT * per_head.max()
    for head in range(attn.shape.heads):
        # The norms make every head's scores as large as the sharpest's. Where they hardly differed, queries and keys
        # get different pairs of the rotation, so that they do not differ at all.
        if not sharp[head]:
            half = size // 2
            query[head].view(2, half, -1)[:, half // 2 :] = 0
            key[head // groups].view(2, half, -1)[:, : half // 2] = 0
    attn.q_proj.weight.copy_(query.view_as(old.q_proj.weight))
    attn.k_proj.weight.copy_(key.view_as(old.k_proj.weight))
    attn.q_norm.weight.fill_(lengths[0][sharp].mean())
    attn.k_norm.weight.fill_(lengths[1].repeat_interleave(groups)[sharp].mean())


def distil_loss(model: SiblingModel, target: DemoLlama, batch: OwnBatch) -> tuple[Tensor, list[float]]:
    """Return the distance of states and distribution to the target's; beside it divergence and share of best tokens."""
    read, last = model(batch.ids)
    loss, count = torch.zeros(()), len(LAYERS_READ)
    pairs = [*zip(read.chunk(count, dim=-1), batch.states.chunk(count, dim=-1), strict=True), (last, batch.last)]
    for ours, wanted in pairs:
        wide = wanted.float()
        loss = loss + (ours.float() - wide).pow(2).mean() / wide.pow(2).mean()
    rows, places = batch.learn.nonzero(as_tuple=True)
    some = torch.randperm(len(rows))[:_PLACES]
    rows, places = rows[some], places[some]
    with torch.no_grad():
        wanted = functional.log_softmax(target.logits(batch.last[rows, places].float()), dim=-1)
    got = functional.log_softmax(model.head(last[rows, places]), dim=-1)
    apart = functional.kl_div(got, wanted, reduction="batchmean", log_target=True)
    same = (got.detach().argmax(dim=-1) == wanted.argmax(dim=-1)).float().mean().item()
    return loss + apart, [apart.item(), same]


def train_sibling(
    model: SiblingModel, target: DemoLlama, batches: list[OwnBatch], config: HeadConfig
) -> list[dict[str, Any]]:
    """Teach it the target's states and distribution; return the log of every 50 steps."""
    model.embed.requires_grad_(requires_grad=False)
    model.head.requires_grad_(requires_grad=False)
    learned = [p for p in model.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in learned if p.ndim == 2], "lr": config.adam_lr / 4},
        {"params": [p for p in learned if p.ndim == 1], "lr": config.adam_lr},
    ]
    # It begins close to where it shall be: small steps, which Muon's are not.
    optimizer = torch.optim.AdamW(groups, betas=(0.9, 0.95), weight_decay=0.0, fused=True)
    return fit([optimizer], lambda batch: distil_loss(model, target, batch), batches, config)
