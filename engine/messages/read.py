"""Read parts of messages from JSON, in the form of OpenAI's chat interface or in our own."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn
from urllib.parse import unquote_to_bytes

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
)
from engine.translatable import Translatable

_KNOWN_FIELDS = frozenset({"role", "content", "reasoning_content", "reasoning", "tool_calls", "tool_call_id", "name"})
_SHAPE = Translatable('A message must be an object with "role" and "content".')
_CALL_SHAPE = Translatable('A tool call must be an object with a "function" that has a "name" and "arguments".')


def parts_of_message(data: object) -> tuple[str, tuple[Part, ...]]:
    """Return role and parts of a message: a thought first, then the text, then calls. Raises InvalidRequest."""
    if not isinstance(data, Mapping) or "role" not in data:
        raise InvalidRequest(_SHAPE)
    role, content = data["role"], data.get("content")
    thoughts, calls = tuple(_reasoning(data)), tuple(_calls(data))
    if content is None and (role != "assistant" or not (thoughts or calls)):
        if "content" not in data:
            raise InvalidRequest(_SHAPE)
        refuse_content(content)
    said = _content_parts(content)
    others = tuple(OtherField(name, value) for name, value in data.items() if _is_other(name, value))
    if role == "tool":
        said = _result_of_tool(data, said)
    elif data.get("name") is not None:
        others = (OtherField("name", data["name"]), *others)
    return role, (*thoughts, *said, *calls, *others)


def parts_from_json(data: object) -> tuple[Part, ...]:
    """Return the parts from their `to_dict`, or from a list of contents as OpenAI has it. Raises InvalidRequest."""
    if isinstance(data, str | bytes) or not isinstance(data, Sequence):
        refuse_content(data)
    return tuple(map(_part, data))


def refuse_content(content: object) -> NoReturn:
    """Raise InvalidRequest for contents that are neither text nor a list of parts."""
    raise InvalidRequest(
        "A message's content must be text or a list of parts, not {name}.",
        name="null" if content is None else type(content).__name__,
    )


def _part(data: object) -> Part:
    if not isinstance(data, Mapping) or not isinstance(data.get("type"), str):
        raise InvalidRequest(Translatable('A part of a message must be an object with a "type".'))
    reader = _READERS.get(data["type"])
    try:
        part = OtherPart(data) if reader is None else reader(data)
    except (KeyError, TypeError, AttributeError):
        part = None
    if part is None:
        raise InvalidRequest("A part of type {kind!r} is incomplete or malformed.", kind=data["type"])
    return part


def _image(data: Mapping[str, Any]) -> ImagePart:
    image = data["image_url"]
    return ImagePart(image) if isinstance(image, str) else ImagePart(image["url"], image.get("detail") or "")


def _file(data: Mapping[str, Any]) -> Part:
    file = data["file"]
    name, text = file.get("filename") or "file", file.get("text")
    if text is None:
        text = _text_of_data(file.get("file_data"))
    return OtherPart(data) if text is None else FilePart(name, text)


def _text_of_data(url: object) -> str | None:
    """Return the text that an address of the kind data:text/… holds, and None of any other."""
    head, comma, data = url.partition(",") if isinstance(url, str) else ("", "", "")
    if not comma or not head.startswith("data:text/"):
        return None
    try:
        found = base64.b64decode(data, validate=True) if head.endswith(";base64") else unquote_to_bytes(data)
        return found.decode("utf-8").rstrip("\n")
    except (binascii.Error, ValueError):
        return None


def _call(data: object) -> ToolCall:
    function = data.get("function", data) if isinstance(data, Mapping) else None
    if not isinstance(data, Mapping) or not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        raise InvalidRequest(_CALL_SHAPE)
    return ToolCall(data.get("id") or "", function["name"], function.get("arguments") or {})


_READERS: Mapping[str, Callable[[Mapping[str, Any]], Part]] = {
    "text": lambda data: TextPart(data["text"]),
    "reasoning": lambda data: ReasoningPart(data["text"]),
    "image_url": _image,
    "file": _file,
    "function": _call,
    "tool_result": lambda data: ToolResult(data.get("tool_call_id") or "", data.get("name") or "", data["text"]),
    "field": lambda data: OtherField(data["name"], data["value"]),
}


def _content_parts(content: object) -> tuple[Part, ...]:
    if content is None:
        return ()
    return (TextPart(content),) if isinstance(content, str) else parts_from_json(content)


def _result_of_tool(data: Mapping[str, Any], said: Sequence[Part]) -> tuple[Part, ...]:
    """Return the parts of a tool's message, its texts as one result."""
    if any(isinstance(part, ToolResult) for part in said):
        return tuple(said)
    text = "\n".join(part.text for part in said if isinstance(part, TextPart))
    result = ToolResult(data.get("tool_call_id") or "", data.get("name") or "", text)
    return (result, *(part for part in said if not isinstance(part, TextPart)))


def _reasoning(data: Mapping[str, Any]) -> Iterator[ReasoningPart]:
    for name in ("reasoning_content", "reasoning"):
        if data.get(name) is None:
            continue
        if not isinstance(data[name], str):
            raise InvalidRequest("A message's {name} must be text.", name=name)
        yield ReasoningPart(data[name])
        return


def _calls(data: Mapping[str, Any]) -> Iterator[ToolCall]:
    calls = data.get("tool_calls")
    if calls is None:
        return
    if isinstance(calls, str) or not isinstance(calls, Sequence):
        raise InvalidRequest(Translatable("A message's tool_calls must be a list."))
    yield from map(_call, calls)


def _is_other(name: object, value: object) -> bool:
    return isinstance(name, str) and name not in _KNOWN_FIELDS and value is not None
