"""Make the request of a call's arguments, and settle the lookahead that it leaves open."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any, TypeVar, cast

from engine.config import GenerationRequest, Prompt, SamplingConfig, SpeculationConfig, freeze_prompt, require
from engine.errors import InvalidRequest
from engine.methods import find_method
from engine.options import GenerationOptions, check_names
from engine.translatable import Translatable

Config = TypeVar("Config", SamplingConfig, SpeculationConfig)


def make_request(
    prompt: Prompt | GenerationRequest,
    options: dict[str, Any],
    sampling: SamplingConfig,
    speculation: SpeculationConfig,
) -> GenerationRequest:
    """Return the request that a call's arguments make, over the given defaults. Raises InvalidRequest and its kinds."""
    check_names(options, GenerationOptions.__annotations__)
    rest = dict(options)
    if isinstance(prompt, GenerationRequest):
        sampling, speculation = prompt.sampling, prompt.speculation
    sampling = _given(rest, "sampling", sampling)
    speculation = _given(rest, "speculation", speculation)
    sampling = replace(sampling, **_take(rest, SamplingConfig))
    speculation = replace(speculation, **_take(rest, SpeculationConfig))
    for name in ("stop", "stop_tokens"):
        if name in rest:
            value = rest[name]
            single = isinstance(value, str | int) or not isinstance(value, Iterable)
            rest[name] = () if value is None else (value,) if single else tuple(value)
    if isinstance(prompt, GenerationRequest):
        return replace(prompt, sampling=sampling, speculation=speculation, **rest)
    return GenerationRequest(freeze_prompt(prompt), sampling=sampling, speculation=speculation, **rest)


def _given(options: dict[str, Any], name: str, default: Config) -> Config:
    """Pop a whole configuration from the options; return the default if there is none. Raises InvalidRequest."""
    value = options.pop(name, None)
    if value is None:
        return default
    require(name, value, type(default))
    return cast("Config", value)


def _take(options: dict[str, Any], kind: type) -> dict[str, Any]:
    """Remove from `options` those that are fields of a configuration class."""
    names = {field.name for field in fields(kind)} - {"sampling", "speculation", "prompt"}
    return {name: options.pop(name) for name in list(options) if name in names}


def settle_lookahead(request: GenerationRequest, *, has_draft: bool) -> GenerationRequest:
    """Resolve a 'default' lookahead: 'auto', but a fixed one for an index by name, for `force_n1`, and for a seed.

    It is also fixed for a tree, and for a method whose costs the automatic lookahead does not know.

    With rejection sampling a seed repeats the draws only for the same proposals; tokens verified by exact match are
    drawn alike for any proposals.
    """
    speculation, sampling = request.speculation, request.sampling
    wanted = speculation.lookahead
    if speculation.tree == "auto" and wanted != 0:
        if wanted not in ("auto", "default"):
            raise InvalidRequest(
                Translatable(
                    "Trees are chosen by cost only where the lookahead is too. Omit the lookahead, or name a size."
                )
            )
        wanted = "default" if speculation.force_n1 else "auto"
        return replace(request, speculation=replace(speculation, lookahead=wanted))
    if isinstance(speculation.tree, tuple) and wanted != 0:  # Its size is given, and nothing to be found out.
        depth = speculation.tree[1]
        wanted = min(wanted, depth) if isinstance(wanted, int) else depth
        return replace(request, speculation=replace(speculation, lookahead=wanted))
    named = [found for name in speculation.sources or (speculation.method,) if (found := find_method(name)) is not None]
    fixed = any(method.is_index or not method.automatic for method in named)
    seeded = sampling.seed is not None and not sampling.greedy
    judged = has_draft and speculation.acceptance == "rejection"
    if wanted == "default" and not fixed and not (seeded and judged) and not speculation.force_n1:
        wanted = "auto"
    elif wanted == "auto" and speculation.force_n1:
        wanted = "default"
    return replace(request, speculation=replace(speculation, lookahead=wanted))
