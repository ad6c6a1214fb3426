"""Define the messages of a conversation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.errors import InvalidRequest
from engine.messages.parts import (
    FilePart,
    ImagePart,
    OtherField,
    OtherPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCall,
    ToolResult,
    hidden_letters,
)
from engine.messages.read import parts_of_message, refuse_content
from engine.translatable import Translatable

ROLES = ("system", "developer", "user", "assistant", "tool")
"""The roles. The developer's messages are read as the system's: few templates know the word."""
_ANYWHERE = (TextPart, ImagePart, FilePart, OtherPart, OtherField)
_ALLOWED: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(ROLES, _ANYWHERE),
    "assistant": (*_ANYWHERE, ReasoningPart, ToolCall),
    "tool": (*_ANYWHERE[1:], ToolResult),
}


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Message:
    """Hold one turn of a conversation: `Message(role, content)`, with a text or a list of parts as content.

    Attributes: role, one of system, developer, user, assistant and tool; content, the text (with quoted files; a
    tool's result); parts, everything in its order. A message is immutable and hashable.
    """

    role: str
    content: str = field(compare=False)
    parts: tuple[Part, ...]

    def __init__(self, role: str, content: str | Sequence[Part]) -> None:
        """Make a message of a text or of parts. Raises InvalidRequest."""
        if role not in ROLES:
            raise InvalidRequest(
                "A message's role must be system, developer, user, assistant or tool, not {role!r}.", role=role
            )
        if isinstance(content, str):
            parts: tuple[Part, ...] = (ToolResult("", "", content) if role == "tool" else TextPart(content),)
        else:
            parts = _listed(content)
        _check_parts(role, parts)
        object.__setattr__(self, "role", role)
        object.__setattr__(self, "parts", parts)
        object.__setattr__(self, "content", content if isinstance(content, str) else _joined(parts))

    def __repr__(self) -> str:
        plain = len(self.parts) == 1 and isinstance(self.parts[0], TextPart)
        return f"Message(role={self.role!r}, content={self.content if plain else list(self.parts)!r})"

    # Looking ----------------------------------------------------------------------------------------------------------

    @property
    def instructs(self) -> bool:
        """Return True if it is an instruction for the whole conversation, the system's or the developer's."""
        return self.role in ("system", "developer")

    @property
    def reasoning(self) -> str:
        """Return the reasoning, "" if there is none."""
        return "\n".join(part.text for part in self.parts if isinstance(part, ReasoningPart))

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """Return the calls that the model wished for."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    @property
    def tool_result(self) -> ToolResult | None:
        """Return a tool's result; None of any other message."""
        return next((part for part in self.parts if isinstance(part, ToolResult)), None)

    @property
    def letters(self) -> int:
        """Return the length of everything that a chat template may see of it."""
        return len(self.content) + sum(map(hidden_letters, self.parts))

    # JSON -------------------------------------------------------------------------------------------------------------

    @classmethod
    def from_mapping(cls, data: object) -> Message:
        """Return a message from an object in the form of OpenAI's chat interface.

        `content` is text or a list of parts; beside it `reasoning_content` (or `reasoning`), `tool_calls`, each with
        a `function` of `name` and `arguments` (an object or its JSON text), for a tool `tool_call_id` and `name`.
        Unknown members and parts are kept. Raises InvalidRequest.
        """
        if isinstance(data, Message):
            return data
        return cls(*parts_of_message(data))

    def to_dict(self) -> dict[str, Any]:
        """Return the message in the form of OpenAI's chat interface, the inverse of `from_mapping`.

        Only the position of calls between texts is lost; a list of `part.to_dict()` as `content` keeps it.
        """
        return self._template_dict(self._json_content(), arguments_as_text=True)

    @property
    def pictures(self) -> tuple[ImagePart, ...]:
        """Return its images."""
        return tuple(part for part in self.parts if isinstance(part, ImagePart))

    def as_template_dict(self, *, marked: bool = False) -> dict[str, Any]:
        """Convert a message for chat templates: text, and the arguments of tool calls as objects.

        The content is None if a model called tools and wrote no text. `marked`: images become markers in it.
        """
        marked = marked and bool(self.pictures)
        said = marked or any(isinstance(part, TextPart | FilePart | ToolResult) for part in self.parts)
        content = _joined(self.parts, marked=True) if marked else self.content
        data = self._template_dict(content if said or not self.tool_calls else None, arguments_as_text=False)
        return data | {"role": "system" if self.role == "developer" else self.role}

    def _json_content(self) -> Any:
        said = [part for part in self.parts if isinstance(part, _ANYWHERE) and not isinstance(part, OtherField)]
        result = self.tool_result
        if not said:
            return result.text if result is not None else None if self.parts else ""
        if len(said) == 1 and isinstance(said[0], TextPart):
            return said[0].text
        texts = [] if result is None else [TextPart(result.text)]
        return [part.to_dict() for part in (*texts, *said)]

    def _template_dict(self, content: Any, *, arguments_as_text: bool) -> dict[str, Any]:
        data: dict[str, Any] = {"role": self.role, "content": content}
        if any(isinstance(part, ReasoningPart) for part in self.parts):
            data["reasoning_content"] = self.reasoning
        if calls := self.tool_calls:
            data["tool_calls"] = [call.to_dict(as_text=arguments_as_text) for call in calls]
        if (result := self.tool_result) is not None:
            data |= {"tool_call_id": result.call_id} if result.call_id else {}
            data |= {"name": result.name} if result.name else {}
        return data | {part.name: part.value for part in self.parts if isinstance(part, OtherField)}


def _listed(content: object) -> tuple[Any, ...]:
    if isinstance(content, bytes) or not isinstance(content, Sequence):
        refuse_content(content)
    return tuple(content)


def _check_parts(role: str, parts: tuple[Part, ...]) -> None:
    allowed = _ALLOWED[role]
    for part in parts:
        if not isinstance(part, allowed):
            raise InvalidRequest(
                "A message of the role {role} cannot hold a part of the kind {name}.",
                role=role,
                name=type(part).__name__,
            )
    if role == "tool" and sum(isinstance(part, ToolResult) for part in parts) != 1:
        raise InvalidRequest(Translatable("A message of a tool must hold one result."))


def _joined(parts: Sequence[Part], *, marked: bool = False) -> str:
    """Join the parts of a message into one text: a line break between texts, an empty line around files.

    `marked`: with the markers of images, and nothing around them, as llama.cpp's server places its own.
    """
    joined, file_before, image_before = "", False, False
    for part in parts:
        is_file = isinstance(part, FilePart)
        if marked and isinstance(part, ImagePart):
            joined, image_before = joined + part.mark, True
        if not isinstance(part, TextPart | FilePart | ToolResult):
            continue
        text = part.quoted if isinstance(part, FilePart) else part.text
        if joined and text and not image_before:
            joined += "\n\n" if is_file or file_before else "\n"
        joined += text
        file_before, image_before = is_file, False
    return joined
