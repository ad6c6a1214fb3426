"""Detect a chat template's switch for thinking, and prompts that begin a thought, by rendering."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal
from weakref import WeakKeyDictionary

from engine.backends.base import Tokenizer
from engine.chat.inputs import PLAIN_INPUT, TemplateInput, template_message
from engine.chat.plain_text import encode_behind
from engine.chat.render import Renderer
from engine.chat.template import choose_template
from engine.config import ThinkingMode
from engine.errors import ChatTemplateFailed, InvalidRequest
from engine.translatable import Translatable

ThinkingSwitch = Literal["none", "on-off", "effort"]
EFFORTS = ("low", "medium", "high")
_ON_OFF: Mapping[str, tuple[object, object]] = {
    **dict.fromkeys(("enable_thinking", "thinking", "enable_reasoning"), (True, False)),
    "thinking_mode": ("enabled", "disabled"),
    "thinking_budget": (-1, 0),
}
"""Variables by which families switch thinking, with their values for on and off. Which a template reads is tried."""
_EFFORT = ("reasoning_effort", "thinking_effort")
_OPENED = re.compile(
    r"(<(?!\W?end)[^<>/\s]*think(ing)?[^<>/\s]*>|<\|open\|>think<\|sep\|>|\[THINK\]|<thought>"
    r"|<\|channel>thought|<\|START_THINKING\|>|<\|channel\|>analysis<\|message\|>|Here are my reasoning steps:)\s*$",
    re.IGNORECASE,
)
"""Markers of a thought with which templates end a prompt; what follows them is reasoning."""
_NO_SWITCH = Translatable("The chat template of this model has no switch that turns thinking on or off.")
_NO_EFFORT = Translatable("The chat template of this model knows no thinking effort. Omit thinking.")
_NO_EFFORT_BUT_SWITCH = Translatable("The chat template of this model knows no thinking effort. Use on or off.")
_THOUGHT, _ANSWER = "Thought 7341", "Answer 7341"
_ENDS = (
    *("</think>", "[/THINK]", "</seed:think>", "<|END_THINKING|><|START_RESPONSE|>", "<channel|>", "</thought>"),
    *("</thinking>", "\u25c1/think\u25b7"),
)
"""Common ends of a thought, if a template does not show its own."""
_HELLO = ({"role": "user", "content": "Hello!"},)


@dataclass(frozen=True, slots=True)
class Thinking:
    """Describe the switches of a template's thinking. `names`: the variables, by the values that they take."""

    switch: ThinkingSwitch = "none"
    names: Mapping[str, ThinkingSwitch] = field(default_factory=dict)

    @property
    def modes(self) -> tuple[ThinkingMode, ...]:
        """List the choices beside "default"."""
        by_effort, by_switch = "effort" in self.names.values(), "on-off" in self.names.values()
        if not by_effort:
            return ("on", "off") if by_switch else ()
        return ("off", "low", "medium", "high") if by_switch else ("low", "medium", "high")

    def arguments(self, wanted: str) -> dict[str, object] | None:
        """Return the variables for "on", "off" or one of EFFORTS; None if the template has no such switch."""
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
    """Find the thinking switch of a template by rendering it.

    `render`: gives the text of a short conversation with these variables, and may raise ChatTemplateFailed.
    """
    names: dict[str, ThinkingSwitch] = {}
    for name in (*_ON_OFF, *_EFFORT):
        kind: ThinkingSwitch = "on-off" if name in _ON_OFF else "effort"
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
    """Return True if a prompt ends within a thought that the template began: the reply goes on with it."""
    return _OPENED.search(prompt) is not None


_known: WeakKeyDictionary[Tokenizer, tuple[str | None, Thinking]] = WeakKeyDictionary()


def thinking_of(tokenizer: Tokenizer, renderer: Renderer, given: TemplateInput = PLAIN_INPUT) -> Thinking:
    """Find the thinking switch of a model, once for its template. Raises Cancelled."""
    template = choose_template(tokenizer.chat_templates, given)
    kept = _known.get(tokenizer)
    if kept is None or kept[0] != template:
        found = Thinking() if template is None else template_thinking(template, tokenizer, renderer)
        if renderer.timed_out:
            return found
        kept = _known[tokenizer] = template, found
    return kept[1]


def template_thinking(template: str, tokenizer: Tokenizer, renderer: Renderer) -> Thinking:
    """Find the thinking switch of this template, for the model of a tokenizer. Raises Cancelled."""

    def render(arguments: Mapping[str, object]) -> str:
        given = TemplateInput(arguments=arguments)
        return renderer.render_variables(template, given.variables(_HELLO, tokenizer.bos_token, tokenizer.eos_token))

    return find_thinking(template, render)


def thinking_input(wanted: ThinkingMode, tokenizer: Tokenizer, renderer: Renderer) -> TemplateInput:
    """Return the template variables for the wanted thinking; the renderer notes missing ones.

    Raises InvalidRequest for an effort that the template does not have, Cancelled.
    """
    if wanted == "default":
        return PLAIN_INPUT
    thinking = thinking_of(tokenizer, renderer)
    arguments = thinking.arguments(wanted)
    if arguments is None and wanted in EFFORTS:
        raise InvalidRequest(_NO_EFFORT_BUT_SWITCH if thinking.switch == "on-off" else _NO_EFFORT)
    if arguments is None:
        renderer.note(_NO_SWITCH)
    return TemplateInput(arguments=arguments or {})


def thought_end(tokenizer: Tokenizer, renderer: Renderer, given: TemplateInput, known: Sequence[str] = ()) -> list[int]:
    """Return the tokens that end a thought and begin the answer, as the chat template writes them between the two.

    `given`: what the template read; `known`: markers that end a thought, for a template that leaves thoughts out.
    Raises TextNotEncodable, Cancelled.
    """
    template = choose_template(tokenizer.chat_templates, given)
    end = None if template is None else _written_end(template, tokenizer, renderer, given)
    if end is None:
        marker = next((each for each in (*known, *_ENDS) if each in (template or "")), next(iter(known), _ENDS[0]))
        end = f"\n{marker}\n\n" if marker == _ENDS[0] else marker
    return encode_behind(end, tokenizer, parse_special=True)


def _written_end(template: str, tokenizer: Tokenizer, renderer: Renderer, given: TemplateInput) -> str | None:
    reply = template_message({"role": "assistant", "reasoning_content": _THOUGHT, "content": _ANSWER})
    variables_of = replace(given, arguments={**given.arguments, "add_generation_prompt": False})
    variables = variables_of.variables((*_HELLO, reply), tokenizer.bos_token, tokenizer.eos_token)
    try:
        text = renderer.render_variables(template, variables)
    except ChatTemplateFailed:
        return None
    begin, end = text.find(_THOUGHT), text.rfind(_ANSWER)
    between = text[begin + len(_THOUGHT) : end]
    return between if begin >= 0 and between.strip() else None
