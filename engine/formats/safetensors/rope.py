"""Read the rotary position settings (RoPE) of the heads in a folder: the base, and the scaling to longer texts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.errors import ModelFileBroken, ModelNotSupported

_ORIGINAL = "original_max_position_embeddings"
_NEEDED: dict[str, tuple[str, ...]] = {
    "default": (),
    "linear": ("factor",),
    "llama3": ("factor", "low_freq_factor", "high_freq_factor", _ORIGINAL),
    "yarn": ("factor", _ORIGINAL),
}
_OPTIONAL = ("attention_factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim")


@dataclass(frozen=True, slots=True)
class Rope:
    """Describe RoPE. Attributes: kind (transformers' name); theta; numbers (further ones of this kind, by name)."""

    kind: str
    theta: float
    numbers: Mapping[str, float]


def read_rope(folder: Path, settings: Mapping[str, Any]) -> Rope:
    """Read RoPE from a configuration, each number checked. Raises ModelFileBroken, ModelNotSupported."""
    inner = settings.get("rope_parameters") or settings.get("rope_scaling")
    values: Mapping[str, Any] = inner if isinstance(inner, dict) else {}
    kind = str(values.get("rope_type") or values.get("type") or "default")
    if kind not in _NEEDED:
        raise ModelNotSupported(folder, "heads with RoPE scaling {kind!r} cannot be used yet.", kind=kind[:40])
    theta = values.get("rope_theta", settings.get("rope_theta"))
    found: dict[str, float] = {}
    for name in (*_NEEDED[kind], *(_OPTIONAL if kind == "yarn" else ())):
        value = values.get(name)
        if name == _ORIGINAL and value is None:
            value = settings.get("max_position_embeddings")
        if value is None and name in _OPTIONAL:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e9:
            raise _broken(folder, {name: value})
        found[name] = value
    if kind == "llama3" and found["low_freq_factor"] >= found["high_freq_factor"]:
        raise _broken(folder, {"high_freq_factor": found["high_freq_factor"]})
    if kind == "yarn" and isinstance(values.get("truncate"), bool):
        found["truncate"] = values["truncate"]
    good = isinstance(theta, int | float) and math.isfinite(theta) and theta > 1
    return Rope(kind, float(theta) if good and theta is not None else 10000.0, found)


def _broken(folder: Path, entry: Mapping[str, Any]) -> ModelFileBroken:
    content = ", ".join(f"{name}={str(value)[:40]}" for name, value in entry.items())
    return ModelFileBroken(folder, "its RoPE scaling factor {content!r} is invalid.", content=content)
