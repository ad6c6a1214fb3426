"""A small Llama: the one architecture of the demo target and the demo draft."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from engine.training.layers import FeedForward, ModelShape, Norm, rope_tables, rotate

TARGET_SHAPE = ModelShape(vocab_size=4096, width=384, layers=4, heads=6, kv_heads=3, ff_width=704, context=2048)
DRAFT_SHAPE = ModelShape(
    vocab_size=4096, width=128, layers=2, heads=2, kv_heads=1, ff_width=224, context=2048, tied=True
)


class Attention(nn.Module):
    """Causal grouped-query attention with rotary positions (half-split convention)."""

    def __init__(self, shape: ModelShape) -> None:
        super().__init__()
        self.shape = shape
        kv_width = shape.kv_heads * shape.head_size
        self.q_proj = nn.Linear(shape.width, shape.width, bias=False)
        self.k_proj = nn.Linear(shape.width, kv_width, bias=False)
        self.v_proj = nn.Linear(shape.width, kv_width, bias=False)
        self.o_proj = nn.Linear(shape.width, shape.width, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """x: (batch, time, width); cos, sin: (time, head_size)."""
        batch, time, width = x.shape
        size = self.shape.head_size
        q = self.q_proj(x).view(batch, time, -1, size).transpose(1, 2)
        k = self.k_proj(x).view(batch, time, -1, size).transpose(1, 2)
        v = self.v_proj(x).view(batch, time, -1, size).transpose(1, 2)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        groups = self.shape.heads // self.shape.kv_heads
        if groups > 1:
            k = k.repeat_interleave(groups, dim=1)
            v = v.repeat_interleave(groups, dim=1)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        out: Tensor = self.o_proj(mixed.transpose(1, 2).reshape(batch, time, width))
        return out


class Block(nn.Module):
    """One decoder layer."""

    def __init__(self, shape: ModelShape) -> None:
        super().__init__()
        self.attn_norm = Norm(shape.width, shape.norm_eps)
        self.attn = Attention(shape)
        self.ffn_norm = Norm(shape.width, shape.norm_eps)
        self.ffn = FeedForward(shape)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        x = x + self.attn(self.attn_norm(x), cos, sin)
        out: Tensor = x + self.ffn(self.ffn_norm(x))
        return out


class DemoLlama(nn.Module):
    """Token ids (batch, time) → hidden states; `logits` turns chosen hidden rows into logits."""

    def __init__(self, shape: ModelShape) -> None:
        super().__init__()
        self.shape = shape
        self.embed = nn.Embedding(shape.vocab_size, shape.width)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.norm = Norm(shape.width, shape.norm_eps)
        self.head = nn.Linear(shape.width, shape.vocab_size, bias=False)
        cos, sin = rope_tables(shape)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)
        self._initialise()
        if shape.tied:
            self.head.weight = self.embed.weight

    def _initialise(self) -> None:
        residual_scale = 1.0 / math.sqrt(2 * self.shape.layers)
        for name, parameter in self.named_parameters():
            if parameter.ndim < 2:
                continue
            std = 0.02 if "embed" in name or "head" in name else parameter.shape[1] ** -0.5 * 0.6
            if "o_proj" in name or "down_proj" in name:
                std *= residual_scale
            nn.init.normal_(parameter, std=std)

    def forward(self, ids: Tensor) -> Tensor:
        """Hidden states after the last norm, shape (batch, time, width)."""
        time = ids.shape[1]
        x = self.embed(ids)
        if torch.is_autocast_enabled("cpu"):
            x = x.to(torch.bfloat16)
        cos, sin = self.get_buffer("cos")[:time], self.get_buffer("sin")[:time]
        cos, sin = cos.to(x.dtype), sin.to(x.dtype)
        for block in self.blocks:
            x = block(x, cos, sin)
        out: Tensor = self.norm(x)
        return out

    def logits(self, hidden: Tensor) -> Tensor:
        """Logits of the given hidden rows, shape (..., vocab_size)."""
        out: Tensor = self.head(hidden)
        return out

    def parameter_count(self) -> int:
        """Number of weights; a tied output counts once."""
        return sum(p.numel() for p in self.parameters())
