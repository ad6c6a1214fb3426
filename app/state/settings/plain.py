"""Check plain JSON values whose meaning is checked elsewhere."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

_DEEPEST = 8


def plain_mapping(value: object) -> dict[str, Any] | None:
    """Return a copy of a mapping as JSON would give it back. None for any other value."""
    if not isinstance(value, Mapping):
        return None
    copy = _copy(value, _DEEPEST)
    return copy if isinstance(copy, dict) else None


def _copy(value: object, depth: int) -> Any:
    """Return the value, or NotImplemented where JSON cannot say it."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else NotImplemented
    if isinstance(value, str):
        return value
    if depth == 0:
        return NotImplemented
    if isinstance(value, Mapping):
        pairs = {key: _copy(each, depth - 1) for key, each in value.items()}
        good = all(isinstance(key, str) and each is not NotImplemented for key, each in pairs.items())
        return pairs if good else NotImplemented
    if isinstance(value, list | tuple):
        items = [_copy(each, depth - 1) for each in value]
        return NotImplemented if any(each is NotImplemented for each in items) else items
    return NotImplemented
