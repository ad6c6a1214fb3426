"""Read the sampling settings that a model's makers recommend.

GGUF: the entries general.sampling.* (llama.cpp, `common_init_sampler_from_model`); the numbers of the sampler's rules
that Outrider does not have, such as Mirostat's, are passed over. Safetensors: generation_config.json (transformers,
`GenerationConfig`), which counts where `do_sample` is not false.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from engine.config import SamplingConfig
from engine.errors import InvalidSampling

Recommended = tuple[tuple[str, float], ...]
"""Fields of a SamplingConfig with their values; (): nothing is recommended."""

_GGUF = {
    "temp": "temperature",
    "top_k": "top_k",
    "top_p": "top_p",
    "min_p": "min_p",
    "penalty_repeat": "repeat_penalty",
    "penalty_last_n": "penalty_window",
}
_CONFIG = {
    "temperature": "temperature",
    "top_k": "top_k",
    "top_p": "top_p",
    "min_p": "min_p",
    "typical_p": "typical",
    "repetition_penalty": "repeat_penalty",
    "presence_penalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty",
}
_THOUGHTS = re.compile(
    r"</?\w*:?think|enable_thinking|reasoning_content|reasoning_effort|\[/?THINK\]|<\|channel\|?>|START_THINKING|of_thought",
    re.IGNORECASE,
)
"""Signs of thinking in chat templates, as families mark it."""
_UNLESS_SAID = 1.0
"""The temperature where only other rules are recommended: transformers' own."""


def recommended_in_header(value: Callable[[str], object]) -> Recommended:
    """Read the recommendation of a GGUF header; `value` gives the content at a key, or None."""
    return _sensible({field: value(f"general.sampling.{name}") for name, field in _GGUF.items()})


def recommended_in_config(config: Mapping[str, object]) -> Recommended:
    """Read the recommendation of generation_config.json."""
    if config.get("do_sample") is False:
        return ()
    found = {field: config.get(name) for name, field in _CONFIG.items()}
    # There it counts for all tokens.
    window = 0 if found["repeat_penalty"] is not None else None
    drawn = _UNLESS_SAID if config.get("do_sample") is True else None
    temperature = drawn if found["temperature"] is None else found["temperature"]
    return _sensible({**found, "temperature": temperature, "penalty_window": window})


def thinks(template: object) -> bool:
    """Return True if a chat template speaks of thoughts: then the model may think before it answers."""
    return isinstance(template, str) and _THOUGHTS.search(template) is not None


def sampling_of(recommended: Recommended) -> SamplingConfig | None:
    """Return the sampling that is recommended, with all else off; None if nothing is."""
    return SamplingConfig(**dict(recommended)) if recommended else None  # type: ignore[arg-type]


def _sensible(found: Mapping[str, object]) -> Recommended:
    """Return the values that can be asked for, in one form; a temperature with them."""
    values = {name: number for name, value in found.items() if (number := _number(name, value)) is not None}
    if values.keys() <= {"penalty_window"}:
        return ()
    if values.keys() - {"repeat_penalty", "penalty_window"}:
        values.setdefault("temperature", _UNLESS_SAID)
    return tuple(sorted(values.items()))


def _number(name: str, value: object) -> float | None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    # -1 is how others write off, or all.
    number: float = max(int(value), 0) if name in ("top_k", "penalty_window") else float(f"{value:.6g}")
    try:
        SamplingConfig(**{name: number})  # type: ignore[arg-type]
    except InvalidSampling:
        return None
    return number
