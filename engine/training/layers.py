"""Define what layers of Llama are made of, for training: shapes, norms, feed-forward and rotary positions."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional


@dataclass(frozen=True)
class ModelShape:
    """Hold the sizes of one model; widths are multiples of 32 because Q8_0 stores blocks of 32."""

    vocab_size: int
    width: int
    layers: int
    heads: int
    kv_heads: int
    ff_width: int
    context: int = 2048
    tied: bool = False
    rope_theta: float = 10000.0
    norm_eps: float = 1e-5

    @property
    def head_size(self) -> int:
        return self.width // self.heads

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


class FeedForward(nn.Module):
    """Compute SwiGLU."""

    def __init__(self, shape: ModelShape) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(shape.width, shape.ff_width, bias=False)
        self.up_proj = nn.Linear(shape.width, shape.ff_width, bias=False)
        self.down_proj = nn.Linear(shape.ff_width, shape.width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))
        return out


class Norm(nn.Module):
    """Divide by the root of the mean square."""

    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return functional.rms_norm(x, (x.shape[-1],), self.weight.to(x.dtype), self.eps)


def rope_tables(shape: ModelShape) -> tuple[Tensor, Tensor]:
    """Return cosines and sines of shape (context, head_size), the two halves equal."""
    half = shape.head_size // 2
    freqs = shape.rope_theta ** (-torch.arange(half, dtype=torch.float32) / half)
    angles = torch.outer(torch.arange(shape.context, dtype=torch.float32), freqs)
    angles = torch.cat([angles, angles], dim=-1)
    return angles.cos(), angles.sin()


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Return the rotary embedding of x (batch, heads, time, head_size)."""
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat([-second, first], dim=-1) * sin


def interleave(weight: Tensor, heads: int) -> Tensor:
    """Return the rows of a query or key matrix in llama.cpp's order: pairs side by side, not half by half."""
    rows, columns = weight.shape
    return weight.view(heads, 2, rows // heads // 2, columns).transpose(1, 2).reshape(rows, columns)
