"""Define the kinds of servers: their extensions of OpenAI's interface, and their figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.sampling_rules import RULES

_LLAMA_CPP = {
    "top_k": "top_k",
    "min_p": "min_p",
    "typical": "typical_p",
    "top_n_sigma": "top_n_sigma",
    "repeat_penalty": "repeat_penalty",
    "penalty_window": "repeat_last_n",
}
_VLLM = {"top_k": "top_k", "min_p": "min_p", "repeat_penalty": "repetition_penalty"}
STANDARD = ("temperature", "top_p", "presence_penalty", "frequency_penalty")
"""The rules that OpenAI's interface has."""
FURTHER = (*(rule.name for rule in RULES if rule.name not in STANDARD), "banned_tokens")
"""Those that it has not."""
_OWN = {name: name for name in FURTHER}


@dataclass(frozen=True, slots=True)
class ServerKind:
    """Describe a kind of server.

    `name`: for people; `sampling`: how it calls our rules that OpenAI's interface does not have; `extras`: what every
    request asks for, so that it tells more; `usage`: the same in the options of a stream; `going_on`: how it is asked
    to go on with a message, None if it cannot be; `echoes`: whether it may repeat that message first; `template`:
    whether arguments of the chat template can be given; `reasoning`: whether it reads what was thought before;
    `acceptance`: whether it can tell how many tokens were accepted; `counts_drafts`: whether it leaves the counts of
    drafts out where there were none; `plain`: whether plain decoding can be asked for; `metrics`: whether its counters
    are at /metrics under vLLM's names.
    """

    name: str
    sampling: Mapping[str, str] = field(default_factory=dict)
    extras: Mapping[str, Any] = field(default_factory=dict)
    usage: Mapping[str, Any] = field(default_factory=dict)
    going_on: Mapping[str, Any] | None = None
    echoes: bool = False
    template: bool = False
    reasoning: bool = False
    acceptance: bool = False
    counts_drafts: bool = False
    plain: bool = False
    metrics: bool = False


_FINAL = {"continue_final_message": True, "add_generation_prompt": False}
UNKNOWN = ServerKind("OpenAI-compatible")
KINDS: Mapping[str, ServerKind] = {
    "outrider": ServerKind("Outrider", _OWN, going_on={}, template=True, reasoning=True, acceptance=True, plain=True),
    "llamacpp": ServerKind(
        "llama.cpp",
        _LLAMA_CPP,
        {"timings_per_token": True, "return_progress": True},
        going_on={**_FINAL, "echo": False},  # Servers from before May 2026 know neither, and repeat the message.
        echoes=True,
        template=True,
        reasoning=True,
        acceptance=True,
        counts_drafts=True,
    ),
    "vllm": ServerKind(
        "vLLM",
        _VLLM,
        usage={"continuous_usage_stats": True},
        going_on=_FINAL,
        template=True,
        reasoning=True,
        acceptance=True,
        metrics=True,
    ),
    "sglang": ServerKind(
        "SGLang",
        _VLLM,
        {"return_meta_info": True},
        {"continuous_usage_stats": True},
        going_on=_FINAL,
        template=True,
        reasoning=True,
        acceptance=True,
    ),
}
"""Kinds of server, by the owner of a model in /v1/models."""


def kind_of(owner: object) -> ServerKind:
    """Return the kind of a server by the `owned_by` of its models."""
    return KINDS.get(owner, UNKNOWN) if isinstance(owner, str) else UNKNOWN
