"""Find out by rendering whether a chat template can be told to think, and whether a prompt begins a thought."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from engine.errors import ChatTemplateFailed

Switch = Literal["none", "on-off", "effort"]
EFFORTS = ("low", "medium", "high")
_ON_OFF: Mapping[str, tuple[object, object]] = {
    **dict.fromkeys(("enable_thinking", "thinking", "enable_reasoning"), (True, False)),
    "thinking_mode": ("enabled", "disabled"),
    "thinking_budget": (-1, 0),
}
"""Variables by which families switch thinking, with their values for on and off. Which a template reads is tried."""
_EFFORT = ("reasoning_effort", "thinking_effort")
_OPENED = re.compile(
    r"(<[^<>/\s]*think(ing)?[^<>/\s]*>|\[THINK\]|<thought>|<\|channel>thought|<\|START_THINKING\|>"
    r"|<\|channel\|>analysis<\|message\|>|Here are my reasoning steps:)\s*$",
    re.IGNORECASE,
)
"""Markers of a thought with which templates end a prompt; what follows them is reasoning."""


@dataclass(frozen=True, slots=True)
class Thinking:
    """Say how a template's thinking is switched. `names`: the variables that do it, by the values that they take."""

    switch: Switch = "none"
    names: Mapping[str, Switch] = field(default_factory=dict)

    def arguments(self, wanted: str) -> dict[str, object] | None:
        """Return the variables for "on", "off" or one of EFFORTS; None where the template has no such switch."""
        given: dict[str, object] = {}
        for name, kind in self.names.items():
            if kind == "on-off":
                on, off = _ON_OFF[name]
                given[name] = off if wanted == "off" else on
            elif wanted in EFFORTS:
                given[name] = wanted
        by_effort, by_switch = "effort" in self.names.values(), "on-off" in self.names.values()
        possible = by_effort if wanted in EFFORTS else by_switch or (wanted == "on" and by_effort)
        return given if possible else None


def find_thinking(template: str, render: Callable[[Mapping[str, object]], str]) -> Thinking:
    """Return how the thinking of a template is switched, found by rendering it.

    `render`: gives the text of a short conversation with these variables, and may raise ChatTemplateFailed.
    """
    names: dict[str, Switch] = {}
    for name in (*_ON_OFF, *_EFFORT):
        kind: Switch = "on-off" if name in _ON_OFF else "effort"
        values: tuple[object, object] = _ON_OFF.get(name, (EFFORTS[0], EFFORTS[-1]))
        if re.search(rf"\b{name}\b", template) is None:
            continue
        try:
            first, second = (render({name: value}) for value in values)
        except ChatTemplateFailed:
            continue
        if first != second:
            names[name] = kind
    if "effort" in names.values():
        return Thinking("effort", names)
    return Thinking("on-off" if names else "none", names)


def opens_thought(prompt: str) -> bool:
    """Return whether a prompt ends within a thought that the template began: the reply goes on with it."""
    return _OPENED.search(prompt) is not None
