"""Hold the rules for unsupported fields of a request: default values, renamed fields, refused ones.

What cannot be done and would change the answer is refused, with a sentence on what to do. What cannot be done and
changes nothing is dropped and reported: in a header of the answer, and once in the log.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from engine.errors import InvalidRequest
from engine.sampling_rules import RULES, Rule

_NO_LIMIT = (-1, -2)
AS_USUAL: Mapping[str, tuple[Any, ...]] = {
    **dict.fromkeys(("max_tokens", "max_completion_tokens", "max_output_tokens", "max_time"), _NO_LIMIT),
    **dict.fromkeys(("stop", "stop_sequences"), ("", [], [""])),
    "reasoning_effort": ("", "auto", "default"),
    "tool_choice": ("",),
    "response_format": ({}, ""),
    "model": (None,),
}
"""Values by which other programs mean that nothing is wished for, by the name of the field."""
RENAMED: Mapping[str, str] = {
    "n_predict": "max_tokens",
    "num_predict": "max_tokens",
    "repetition_penalty": "repeat_penalty",
    "typical_p": "typical",
    "repeat_last_n": "penalty_window",
    "stop_token_ids": "stop_tokens",
    "n_cmpl": "n",
    "n_probs": "logprobs",
}
"""Other servers' names of fields, with ours."""
WHOLE = (
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "top_k",
    "logprobs",
    "top_logprobs",
    "seed",
    "n",
    "penalty_window",
    "min_tokens",
)
"""Fields whose numbers some programs write as 40.0."""
_ONE_TOKEN = 1e-9
"""A share of probability that the likeliest token has alone."""
ANY_SEED = -1
SILENT = frozenset(
    {
        *("user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key", "cache_prompt"),
        *("prompt_cache_retention", "id_slot", "return_progress", "timings_per_token", "client_metadata", "verbose"),
        *("stream_options", "include", "truncation", "betas", "skip_special_tokens", "n_keep"),
        *("return_tokens", "sse_ping_interval", "n_cache_reuse", "keep_alive", "extra_headers", "inference_geo"),
    }
)
"""Names that change no answer: their effect is the default, or concerns accounts, caches and transport."""
_Wrong = Callable[[Any], object]
REFUSED: Mapping[str, tuple[_Wrong, str]] = {
    "modalities": (
        lambda wanted: isinstance(wanted, list) and set(map(str, wanted)) - {"text"},
        'This server writes text alone: "modalities" must be ["text"].',
    ),
    "conversation": (bool, 'No conversations are kept: leave "conversation" out, or send "previous_response_id".'),
    "lora": (bool, 'Requests cannot choose adapters: leave "lora" out, and serve a model that has them merged.'),
}
"""Fields that would change the answer and cannot be honoured, by name: the condition, and the advice."""


class NotDone:
    """Collect the ignored parts of one request, in a few words each."""

    def __init__(self) -> None:
        self._ignored: dict[str, None] = {}

    def note(self, what: object) -> None:
        """Note an ignored part."""
        self._ignored.setdefault(str(what)[:120])

    @property
    def ignored(self) -> tuple[str, ...]:
        """Return the notes, each once."""
        return tuple(self._ignored)


def tidied(body: Mapping[str, Any], left: NotDone | None = None) -> dict[str, Any]:
    """Return a body in this server's names and values. Raises InvalidRequest for refused fields."""
    fields = {name: value for name, value in body.items() if name not in RENAMED}
    for other, name in RENAMED.items():
        if body.get(other) is not None and fields.get(name) is None:
            fields[name] = body[other]
    for name, (wrong, sentence) in REFUSED.items():
        if fields.get(name) is not None and wrong(fields[name]):
            raise InvalidRequest(sentence)
    return _with_usual_values(fields, left or NotDone())


def _with_usual_values(fields: dict[str, Any], left: NotDone) -> dict[str, Any]:
    """Return a body without default values, and with whole numbers for floats."""
    for name in WHOLE:
        if isinstance(number := fields.get(name), float):
            fields[name] = int(number)
    for name, values in AS_USUAL.items():
        if name in fields and any(type(fields[name]) is type(value) and fields[name] == value for value in values):
            del fields[name]
    _bound(fields, left)
    for name in ("stop", "stop_sequences"):
        if isinstance(fields.get(name), list):
            fields[name] = [text for text in fields[name] if text != ""]
        elif fields.get(name) is not None and not isinstance(fields[name], str):
            left.note(f"{name}: it is no text")
            del fields[name]
    if type(seed := fields.get("seed")) is int and seed < ANY_SEED:
        fields["seed"] = seed % 2**64
    return fields


def _bound(fields: dict[str, Any], left: NotDone) -> None:
    """Clamp the numbers of the sampling rules to their ranges."""
    for rule in RULES:
        value = fields.get(rule.name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            fields[rule.name] = _bounded(rule, value)
            if value != fields[rule.name]:
                left.note(f"{rule.name} {str(value)[:20]}: taken as {fields[rule.name]:g}")


def _bounded(rule: Rule, value: float) -> float:
    """Return the number within a rule's range that means the same, or comes nearest: less than nothing is off."""
    if rule.above and value <= 0:
        return _ONE_TOKEN if rule.name == "top_p" else rule.off
    return min(max(value, rule.least), rule.most)
