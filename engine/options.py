"""Define the options that calls take by name, as type checkers know them: the fields of the configurations."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypedDict

from engine.checks import TreeSize
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


class GenerationOptions(SamplingOptions, total=False):
    """Name the options of `generate`, `stream` and `astream`: fields of the configurations, and two of these whole."""

    raw: bool
    max_tokens: int | None
    stop: str | Sequence[str] | None
    stop_tokens: int | Sequence[int] | None
    top: int
    thinking: ThinkingMode
    tools: Sequence[Mapping[str, Any]] | None
    constraint: Constraint | Mapping[str, Any] | Literal["json"] | None
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
    tree: str | TreeSize | None
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


def load_config(model: str | Path, options: LoadOptions) -> LoadConfig:
    """Return the configuration of a model with these options. Raises InvalidRequest and its kinds."""
    if not isinstance(model, str | PathLike):
        raise InvalidRequest(f"A model must be a path, a name, a LoadConfig or a Backend, not {type(model).__name__}.")
    check_names(options, LoadOptions.__annotations__)
    return LoadConfig(Path(model), **options)


def check_names(options: Iterable[str], known: Iterable[str]) -> None:
    """Raise InvalidRequest for an option that is not known, with the one that may be meant."""
    names = tuple(known)
    for option in options:
        if option not in names:
            near = difflib.get_close_matches(option, names, 1)
            meant = f" Did you mean {near[0]!r}?" if near else ""
            raise InvalidRequest(f"Unknown option {option!r}.{meant}")
