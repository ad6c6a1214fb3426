"""Hold the rules on what a request says that is not done: what means the usual, what is renamed, what is refused.

What cannot be done and would change the answer is refused, with a sentence on what to do. What cannot be done and
changes nothing is left out and told: in a header of the answer, and once in the log.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from engine.errors import InvalidRequest

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
"""Other servers' names of what is done here."""
SAME_AS: Mapping[str, Mapping[float, float]] = {
    **{name: {-1: 0} for name in ("top_k", "top_n_sigma", "min_p", "penalty_window")},
    **{name: {0: 1} for name in ("repeat_penalty", "typical")},
    "top_p": {},
}
"""Numbers that are said in another way here: off, all tokens, and the likeliest one alone."""
WHOLE = (
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "top_k",
    "seed",
    "n",
    "penalty_window",
    "min_tokens",
)
"""Fields whose numbers some programs write as 40.0."""
BOUNDS: Mapping[str, tuple[float, float]] = {"top_p": (1e-9, 1), "min_p": (0, 1)}
"""Numbers beyond which others mean the same: all tokens, or the likeliest one alone."""
ANY_SEED = -1
SILENT = frozenset(
    {
        *("user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key", "cache_prompt"),
        *("prompt_cache_retention", "id_slot", "return_progress", "timings_per_token", "client_metadata", "verbose"),
        *("stream_options", "include", "truncation", "betas", "skip_special_tokens", "n_keep"),
        *("return_tokens", "sse_ping_interval", "n_cache_reuse", "keep_alive", "extra_headers", "inference_geo"),
    }
)
"""Names that change no answer: what they ask for is done anyway, or is about accounts, caches and transport."""
_Wrong = Callable[[Any], object]
REFUSED: Mapping[str, tuple[_Wrong, str]] = {
    "modalities": (
        lambda wanted: isinstance(wanted, list) and set(map(str, wanted)) - {"text"},
        'This server writes text alone: "modalities" must be ["text"].',
    ),
    "background": (bool, 'No reply is written in the background: leave "background" out, and wait for the answer.'),
    "conversation": (bool, 'No conversations are kept: leave "conversation" out, or send "previous_response_id".'),
    "lora": (bool, 'Requests cannot choose adapters: leave "lora" out, and serve a model that has them merged.'),
}
"""What would change the answer and cannot be done, by the name of the field: when, and what to do."""


class NotDone:
    """Collect what of one request is left out, in a few words each."""

    def __init__(self) -> None:
        self._told: dict[str, None] = {}

    def note(self, what: object) -> None:
        """Note something that is left out."""
        self._told.setdefault(str(what)[:120])

    @property
    def told(self) -> tuple[str, ...]:
        """Return what was noted, each once."""
        return tuple(self._told)


def tidied(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a body in this server's names and values. Raises InvalidRequest for what is refused."""
    told = {name: value for name, value in body.items() if name not in RENAMED}
    for other, name in RENAMED.items():
        if body.get(other) is not None and told.get(name) is None:
            told[name] = body[other]
    for name, (wrong, sentence) in REFUSED.items():
        if told.get(name) is not None and wrong(told[name]):
            raise InvalidRequest(sentence)
    return _with_usual_values(told)


def _with_usual_values(told: dict[str, Any]) -> dict[str, Any]:
    """Return a body without what means the usual, and with numbers as they are said here."""
    for name in WHOLE:
        if isinstance(number := told.get(name), float) and number.is_integer():
            told[name] = int(number)
    for name, values in AS_USUAL.items():
        if name in told and any(type(told[name]) is type(value) and told[name] == value for value in values):
            del told[name]
    for name in SAME_AS:
        value = told.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            meant = SAME_AS[name].get(value, value)
            least, most = BOUNDS.get(name, (meant, meant))
            told[name] = min(max(meant, least), most)
    for name in ("stop", "stop_sequences"):
        if isinstance(told.get(name), list):
            told[name] = [text for text in told[name] if text != ""]
    if type(seed := told.get("seed")) is int and seed < ANY_SEED:
        told["seed"] = seed % 2**64
    return told
