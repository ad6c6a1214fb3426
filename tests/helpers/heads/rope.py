"""How fast pairs of numbers turn with the place (RoPE), in plain numpy: what a head's configuration stretches."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

LINEAR: dict[str, Any] = {"rope_type": "linear", "factor": 4.0}
LLAMA3: dict[str, Any] = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
YARN: dict[str, Any] = {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32}


def turning_speeds(config: Mapping[str, Any], pairs: int) -> tuple[NDArray[np.float64], float]:
    """Radians a place of each pair, and what cosines and sines are multiplied by.

    Sources: *linear*, Chen et al. 2023, arXiv:2306.15595; *llama3*, The Llama 3 Herd of Models, 2024, and Meta's
    published code; *yarn*, Peng et al. 2023, arXiv:2309.00071, section 3.
    """
    told = config.get("rope_parameters") or config.get("rope_scaling") or {}
    base = float(told.get("rope_theta", config.get("rope_theta", 10000.0)))
    plain = base ** (-np.arange(pairs) / pairs)
    kind = told.get("rope_type", told.get("type", "default"))
    if kind == "default":
        return plain, 1.0
    factor = float(told["factor"])
    if kind == "linear":
        return plain / factor, 1.0
    turns = float(told["original_max_position_embeddings"]) * plain / (2 * np.pi)
    if kind == "llama3":
        low, high = told["low_freq_factor"], told["high_freq_factor"]
        kept = np.clip((turns - low) / (high - low), 0.0, 1.0)
        return plain * (kept + (1 - kept) / factor), 1.0
    assert kind == "yarn"

    def pair_that_turns(times: float) -> float:
        length = told["original_max_position_embeddings"]
        return float(2 * pairs * np.log(length / (times * 2 * np.pi)) / (2 * np.log(base)))

    first, last = max(np.floor(pair_that_turns(32)), 0), min(np.ceil(pair_that_turns(1)), 2 * pairs - 1)
    stretched = np.clip((np.arange(pairs) - first) / max(last - first, 0.001), 0.0, 1.0)
    return plain * (1 - stretched + stretched / factor), 0.1 * np.log(factor) + 1.0
