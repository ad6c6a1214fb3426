"""Run transformers' models faster on a CPU: the same sums for a handful of rows at a time.

Weights: PyTorch hands a product with few rows to a kernel that lays the weights out anew in every call, so that five
rows cost two to four times one. oneDNN multiplies weights that were laid out once; five rows then cost little more than
one, and one costs less too. Measured in one thread with 11,008 × 2,048 weights in float32: 1 row 4.1 ms → 2.4 ms, 5
rows 9.6 ms → 2.9 ms, 128 rows 64 ms → 27 ms; below half a million weights there is nothing to gain.

Attention: where several heads share keys, transformers copies the keys for each of them as soon as a mask is needed.
Taking the heads that share as more rows needs no copy. Measured with 32 heads on 4, 400 tokens, 5 rows: 0.54 ms → 0.24.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any, cast

import torch
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, sdpa_mask
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

_LEAST_WEIGHTS = 2**19
_ROWS = 5
"""The number of rows that oneDNN chooses the layout for. Laid out for one row, several are slower, one is no faster."""
_MOST_ROWS = 64
_MOST_FREED = 2**28
_CLOSE = {torch.float32: 1e-4, torch.bfloat16: 5e-2}
_ATTENTION = "outrider"

_OPERATORS = ("_linear_pointwise", "_reorder_linear_weight")
"""The operators that PyTorch's own compiler calls."""
_IMPLEMENTATION = "_attn_implementation"
"""The configuration's entry for the attention in use."""

_multiply, _lay_out = (getattr(torch.ops.mkldnn, name).default for name in _OPERATORS)


class PackedLinear(torch.nn.Module):
    """Compute a linear layer whose weights are in oneDNN's layout."""

    def __init__(self, packed: torch.Tensor, bias: torch.Tensor | None) -> None:
        super().__init__()
        self._packed = packed
        self._bias = bias

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Return the rows times the weights, plus the bias."""
        result: torch.Tensor = _multiply(rows, self._packed, self._bias, "none", [], "")
        return result


class _WatchedLinear(torch.nn.Linear):
    """Note any other use of its weights than by the linear layer itself: those cannot be laid out anew."""

    looked_at = False

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Return the rows times the weights, plus the bias."""
        weight = cast(torch.Tensor, self._parameters["weight"])
        return torch.nn.functional.linear(rows, weight, self._parameters["bias"])

    def __getattr__(self, name: str) -> Any:
        if name == "weight":
            self.__dict__["looked_at"] = True
        return super().__getattr__(name)


def share_keys(model: Any) -> None:
    """Switch a model on a CPU to the attention without copies of shared keys, if it uses PyTorch's.

    Models that look at its name to choose an attention of their own are left alone, by the library.
    """
    if getattr(model.config, _IMPLEMENTATION) == "sdpa":
        model.set_attn_implementation(_ATTENTION)


def watch_weights(model: Any) -> None:
    """Watch for larger linear layers whose weights nothing else uses, from now on."""
    library: Any = torch.backends.mkldnn
    if not library.is_available() or model.dtype not in _CLOSE:
        return
    for module in model.modules():
        if type(module) is torch.nn.Linear and module.weight.numel() >= _LEAST_WEIGHTS:
            watched: Any = module
            watched.__class__ = _WatchedLinear


def pack_weights(model: Any) -> None:
    """Lay out the weights of watched layers that nothing else looked at, one by one: the old ones are freed."""
    packed: dict[torch.nn.Module, torch.nn.Module] = {}
    freed = 0
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if not isinstance(child, _WatchedLinear):
                continue
            if child not in packed:
                packed[child] = _packed(child)
                freed += 4 * child.in_features * child.out_features
            setattr(parent, name, packed[child])
            if freed > _MOST_FREED:
                _give_back_memory()
                freed = 0
    _give_back_memory()


def _give_back_memory() -> None:
    """Return freed memory to the system: the C library would keep it, and both layouts would take memory."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(ctypes.c_size_t(0))


def _packed(watched: _WatchedLinear) -> torch.nn.Module:
    """Return the layer with its weights laid out, or as it was before it was watched."""
    layer: Any = watched
    looked_at = watched.looked_at
    layer.__class__ = torch.nn.Linear
    weight, bias = layer.weight.detach(), layer.bias
    if looked_at or weight.dtype not in _CLOSE:
        return watched
    try:
        found = PackedLinear(_lay_out(weight, _ROWS), None if bias is None else bias.detach())
        rows = torch.linspace(-1.0, 1.0, 2 * weight.shape[1]).sin().to(weight.dtype).reshape(2, -1)
        expected = torch.nn.functional.linear(rows, weight, bias)
        error = (found(rows) - expected).abs().max()
    except (RuntimeError, NotImplementedError):
        return watched
    if error > _CLOSE[weight.dtype] * expected.abs().max():
        return watched
    # The layer may be known to others under another name; its weights are freed now.
    layer.weight = None
    return found


def _attention_of_shared_keys(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    **options: Any,
) -> tuple[torch.Tensor, None]:
    """Compute PyTorch's attention: query (batch, heads, rows, width), fewer key heads, mask (batch, 1, rows, keys)."""
    batch, heads, rows, _ = query.shape
    shared = key.shape[1]
    if (
        heads == shared
        or not 1 < rows <= _MOST_ROWS
        or attention_mask is None
        or attention_mask.shape[1] != 1
        or options.get("position_bias") is not None
        or options.get("softcap") is not None
    ):
        plain: tuple[torch.Tensor, None] = sdpa_attention_forward(
            module, query, key, value, attention_mask, scaling=scaling, **options
        )
        return plain
    group = heads // shared
    mask = attention_mask.expand(batch, group, rows, -1).reshape(batch, 1, group * rows, -1)
    result = torch.nn.functional.scaled_dot_product_attention(
        query.reshape(batch, shared, group * rows, -1), key, value, attn_mask=mask, scale=scaling
    )
    return result.reshape(batch, heads, rows, -1).transpose(1, 2).contiguous(), None


ALL_ATTENTION_FUNCTIONS.register(_ATTENTION, _attention_of_shared_keys)
ALL_MASK_ATTENTION_FUNCTIONS.register(_ATTENTION, sdpa_mask)
