"""Find the linear map that comes closest to some states from others: heads begin there, with little left to learn."""

from __future__ import annotations

import torch
from torch import Tensor

_RIDGE = 1e-3
"""Of the mean square of the given states, so that hardly used directions stay small."""


class LinearMap:
    """Add up least squares over rows that come in pieces."""

    def __init__(self, given: int, wanted: int) -> None:
        self._squares, self._mixed = torch.zeros(given, given), torch.zeros(given, wanted)

    def add(self, given: Tensor, wanted: Tensor) -> None:
        """Take rows (count, width of each)."""
        self._squares += given.T @ given
        self._mixed += given.T @ wanted

    def weight(self) -> Tensor:
        """Return the map as the weight of a linear layer, shape (wanted, given)."""
        ridge = _RIDGE * self._squares.diagonal().mean() * torch.eye(len(self._squares))
        found: Tensor = torch.linalg.solve(self._squares + ridge, self._mixed).T
        return found
