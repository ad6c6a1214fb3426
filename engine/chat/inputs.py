"""Convert tools, documents and pictures into the form that templates of transformers expect."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from engine.messages.message import Message

_REASONING = ("reasoning_content", "thinking", "reasoning")
"""Names under which templates look for the reasoning of an earlier reply; the first is the usual one."""

ALWAYS_GIVEN = frozenset({"messages", "tools", "documents", "bos_token", "eos_token", "add_generation_prompt"})
"""The variables that every template is given."""

TemplateMessage = Mapping[str, object]
"""A message as a template reads it: role, content, and further entries."""


@dataclass(frozen=True, slots=True)
class TemplateInput:
    """Hold the inputs of a template beside the messages.

    `tools`: descriptions of functions (JSON schemas), None for none; `documents`: texts to answer from; `arguments`:
    further variables by name, such as those that switch thinking. `see`: returns the tokens of an image by its address;
    None: the model sees none, and they are left out.
    """

    tools: Sequence[Mapping[str, object]] | None = None
    documents: Sequence[Mapping[str, object]] | None = None
    arguments: Mapping[str, object] = field(default_factory=dict)
    see: Callable[[str], Sequence[int]] | None = None

    def variables(
        self, messages: Sequence[Message | TemplateMessage], bos_token: str, eos_token: str
    ) -> dict[str, object]:
        """Return all variables of a template, which opens the next reply unless `arguments` say otherwise."""
        given: dict[str, object] = {
            "messages": [template_message(message) for message in messages],
            "tools": None if self.tools is None else list(self.tools),
            "documents": None if self.documents is None else list(self.documents),
            "bos_token": bos_token,
            "eos_token": eos_token,
            "add_generation_prompt": True,
        }
        return given | dict(self.arguments)


PLAIN_INPUT = TemplateInput()
"""No tools, no documents, nothing else."""


def template_message(message: Message | TemplateMessage, *, marked: bool = False) -> dict[str, object]:
    """Return a message as templates expect it: nothing that is None, and reasoning under each of its usual names.

    `marked`: marks stand for its images.
    """
    plain = message.as_template_dict(marked=marked) if isinstance(message, Message) else message
    made = {name: value for name, value in plain.items() if value is not None}
    reasoning = next((made[name] for name in _REASONING if name in made), None)
    if reasoning is not None:
        made = {"thinking": reasoning, **made, "reasoning_content": reasoning}
    return made


def letters_in(value: object) -> int:
    """Return the number of characters of all texts in a value."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Mapping):
        return sum(letters_in(name) + letters_in(each) for name, each in value.items())
    return sum(map(letters_in, value)) if isinstance(value, list | tuple) else 0
