"""Optimise matrices with Muon in float32: PyTorch's own computes in bfloat16, which takes twice as long without AMX.

Source: Jordan et al., "Muon: An optimizer for hidden layers" (2024, kellerjordan.github.io/posts/muon).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

_MOMENTUM, _DECAY = 0.95, 0.01
_SERIES, _TURNS = (3.4445, -4.7750, 2.0315), 5
"""Coefficients of the polynomial that brings all singular values close to 1, and how often it is applied."""


class Muon(torch.optim.Optimizer):
    """Move each matrix by the orthogonal one that is closest to its mean gradient."""

    def __init__(self, matrices: Iterable[Tensor], lr: float) -> None:
        super().__init__(matrices, {"lr": lr})

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """Move the matrices; a closure is not called."""
        for group in self.param_groups:
            for matrix in group["params"]:
                if "mean" not in self.state[matrix]:
                    self.state[matrix]["mean"] = torch.zeros_like(matrix)
                mean = self.state[matrix]["mean"].lerp_(matrix.grad, 1.0 - _MOMENTUM)
                rows, columns = matrix.shape
                matrix.mul_(1.0 - group["lr"] * _DECAY)
                matrix.sub_(
                    _orthogonal(matrix.grad.lerp(mean, _MOMENTUM)), alpha=group["lr"] * max(1.0, rows / columns) ** 0.5
                )


def _orthogonal(matrix: Tensor) -> Tensor:
    if matrix.shape[0] > matrix.shape[1]:
        return _orthogonal(matrix.T).T
    a, b, c = _SERIES
    x: Tensor = matrix / matrix.norm().clamp(min=1e-7)
    for _ in range(_TURNS):
        square = x @ x.T
        x = torch.addmm(x, torch.addmm(square, square, square, beta=b, alpha=c), x, beta=a)
    return x
