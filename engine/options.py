"""Define the options that calls take by name, as type checkers know them: the fields of the configurations."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypedDict

from engine.checks import TreeWish
from engine.config import (
    Acceptance,
    CacheType,
    LoadConfig,
    Lookahead,
    Overlap,
    SamplingConfig,
    SamplingOptions,
    SpeculationConfig,
    ThinkingMode,
)
from engine.constraint import Constraint
from engine.errors import InvalidRequest
from engine.methods import DraftMethod

_ELSEWHERE = {
    "max_new_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "max_length": "max_tokens",
    "n_predict": "max_tokens",
    "min_new_tokens": "min_tokens",
    "temp": "temperature",
    "repetition_penalty": "repeat_penalty",
    "typical_p": "typical",
    "stop_strings": "stop",
    "eos_token_id": "stop_tokens",
    "stop_token_ids": "stop_tokens",
    "bad_words_ids": "banned_tokens",
    "logprobs": "top",
    "top_logprobs": "top",
    "num_assistant_tokens": "lookahead",
    "num_draft_tokens": "lookahead",
    "response_format": "constraint",
    "grammar": "constraint",
    "tool_choice": "must_call",
    "chat_template_kwargs": "template_options",
    "reasoning_effort": "thinking",
    "n_ctx": "context_length",
    "max_model_len": "context_length",
    "n_threads": "threads",
    "n_gpu_layers": "gpu_layers",
    "device_map": "device",
    "torch_dtype": "dtype",
}
"""Names that other libraries give to options."""


class GenerationOptions(SamplingOptions, total=False):
    """Name the options of `generate`, `stream` and `astream`: fields of the configurations, and two of these whole."""

    raw: bool
    max_tokens: int | None
    stop: str | Sequence[str] | None
    stop_tokens: int | Sequence[int] | None
    top: int
    thinking: ThinkingMode
    tools: Sequence[Mapping[str, Any]] | None
    must_call: str | Sequence[str]
    one_call: bool
    constraint: Constraint | Mapping[str, Any] | Literal["json"] | None
    template_options: Mapping[str, Any]
    min_tokens: int
    ignore_eos: bool
    max_time: float | None
    drop_turns: bool
    prediction: str | Sequence[int] | None
    prefix: str | Sequence[str | int] | None
    forced: str | Sequence[str | int] | None
    sampling: SamplingConfig | None
    speculation: SpeculationConfig | None
    method: str | DraftMethod
    lookahead: Lookahead
    sources: str | Sequence[str | DraftMethod]
    overlap: Overlap
    acceptance: Acceptance
    force_n1: bool
    draft_sampling: SamplingConfig | None
    draft_temperature: float | None
    min_draft_confidence: float
    tree: str | TreeWish | None
    adaptive_start: int
    adaptive_max: int
    adaptive_raise: float
    adaptive_lower: float


class LoadOptions(TypedDict, total=False):
    """Name the fields of a LoadConfig but its path, which `load` takes by name."""

    context_length: int | None
    threads: int | None
    gpu_layers: int | None
    trusted: bool
    device: str | None
    dtype: str | None
    cache_type: CacheType | None
    despite_memory: bool
    in_memory: bool
    rpc: str | Sequence[str]
    chat_template: str | None
    projector: str | Path | None


def load_config(model: str | Path, options: LoadOptions, *, here: bool = False) -> LoadConfig:
    """Return the configuration of a model with these options; `here`: without what is the target's alone.

    Raises InvalidRequest and its kinds.
    """
    if not isinstance(model, str | PathLike):
        raise InvalidRequest(f"A model must be a path, a name, a LoadConfig or a Backend, not {type(model).__name__}.")
    check_names(options, LoadOptions.__annotations__)
    config = LoadConfig(Path(model), **options)
    return replace(config, rpc=(), chat_template=None, projector=None) if here else config


def check_names(options: Iterable[str], known: Iterable[str]) -> None:
    """Raise InvalidRequest for an option that is not known, with the one that may be meant."""
    names = tuple(known)
    for option in options:
        if option not in names:
            suggestions = [_ELSEWHERE.get(option, ""), *difflib.get_close_matches(option, names, 1)]
            meant = [f" Did you mean {name!r}?" for name in suggestions if name in names]
            raise InvalidRequest(f"Unknown option {option!r}.{''.join(meant[:1])}")
