"""Read the messages of a conversation, in whatever state a client kept them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from engine.config import freeze_messages
from engine.errors import InvalidRequest
from engine.messages.message import Message
from engine.server.interfaces.bodies import is_deep
from engine.server.interfaces.unsupported import NotDone

TEXTS = {
    **dict.fromkeys(("text", "input_text", "output_text", "summary_text", "reasoning_text"), "text"),
    "refusal": "refusal",
}
"""Kinds of parts that are text, and the member that has it."""
_NO_SOUNDS = "This model cannot hear. Leave sounds out, or send what was said as text."
_MEDIA = {
    **dict.fromkeys(("image", "image_url", "input_image"), "Pictures are read in messages only. Leave this one out."),
    **dict.fromkeys(("input_audio", "audio", "audio_url"), _NO_SOUNDS),
    **dict.fromkeys(("input_video", "video_url"), "Videos are not read. Leave them out, or send pictures."),
}
_CUT_OFF = "the form of a call whose arguments are cut off: it is shown to the model as text"


def read_messages(data: object, left: NotDone | None = None) -> tuple[Message, ...]:
    """Return the messages of a conversation. Raises InvalidRequest."""
    if not isinstance(data, Sequence) or isinstance(data, str) or not data:
        raise InvalidRequest('"messages" must be a list of messages, at least one.')
    return tuple(freeze_messages([_tidied(message, left or NotDone()) for message in data]))


def picture_of(part: object) -> dict[str, Any] | None:
    """Return a part of a message that is a picture, in any interface's form, as the chat interface has it.

    None for a part of another kind. Raises InvalidRequest if it says no address.
    """
    kind = part.get("type") if isinstance(part, Mapping) else None
    if not isinstance(part, Mapping) or kind not in ("image", "image_url", "input_image"):
        return None
    source = part.get("source") or part.get("image_url") or part.get("image") or part.get("url")
    url = source.get("url") if isinstance(source, Mapping) else source
    if isinstance(source, Mapping) and source.get("type") == "base64":
        url = f"data:{source.get('media_type') or 'image/png'};base64,{source.get('data') or ''}"
    if not isinstance(url, str):
        raise InvalidRequest("A picture needs an address that holds it: data:image/png;base64,…")
    return {"type": "image_url", "image_url": {"url": url}}


def text_of(part: object) -> str | None:
    """Return the text of a part of a message; None for a part of another kind. Raises InvalidRequest for media."""
    kind = part.get("type") if isinstance(part, Mapping) else None
    if not isinstance(part, Mapping) or not isinstance(kind, str):
        return None
    if kind in _MEDIA:
        raise InvalidRequest(_MEDIA[kind])
    text = part.get(TEXTS[kind]) if kind in TEXTS else None
    return text if isinstance(text, str) else None


def _tidied(message: object, left: NotDone) -> object:
    """Return a message in the form of the chat interface of today. Raises InvalidRequest."""
    if not isinstance(message, Mapping):
        return message
    made = {name: value for name, value in message.items() if name not in ("function_call", "reasoning_details")}
    made |= {"role": "tool"} if message.get("role") == "function" else {}
    if isinstance(function := message.get("function_call"), Mapping) and not made.get("tool_calls"):
        made["tool_calls"] = [{"type": "function", "function": function}]
    if isinstance(made.get("content"), list):
        made["content"] = [_part(part) for part in made["content"]]
    calls = made.pop("tool_calls", None)
    if isinstance(calls, list) and calls:
        written, kept = _parted_calls(calls)
        if written:
            left.note(_CUT_OFF)
            made["content"] = "\n".join([*_texts(made.get("content")), *written])
        made |= {"tool_calls": kept} if kept else {}
    elif calls:
        made["tool_calls"] = calls  # Whatever it is, it is refused in words.
    if made.get("content") is None and "tool_calls" not in made and ("content" in made or calls is not None):
        made["content"] = ""
    if not isinstance(made.get("reasoning"), str):
        made.pop("reasoning", None)
    return made


def _part(part: object) -> object:
    """Return a part of a content as the chat interface has it. Raises InvalidRequest for kinds that nobody reads."""
    if isinstance(part, str):
        return {"type": "text", "text": part}
    kind = part.get("type") if isinstance(part, Mapping) else None
    if not isinstance(part, Mapping) or not isinstance(kind, str) or kind in ("text", "file"):
        return part
    if (picture := picture_of(part)) is not None:
        return picture
    text = text_of(part)
    if text is None:
        raise InvalidRequest(f"Parts of the type {kind[:40]} are not supported. Leave them out.")
    return {"type": "text", "text": text}


def _texts(content: object) -> Iterator[str]:
    if isinstance(content, str) and content:
        yield content
    elif isinstance(content, list):
        yield from filter(None, map(text_of, content))


def _parted_calls(calls: list[Any]) -> tuple[list[str], list[Any]]:
    """Return the calls whose arguments are no object, as texts, and the others in the form of functions."""
    written, kept = [], []
    for call in map(_as_function, calls):
        function = call.get("function") if isinstance(call, Mapping) else None
        arguments = function.get("arguments") if isinstance(function, Mapping) else None
        if isinstance(function, Mapping) and isinstance(arguments, str) and not _readable(arguments or "{}"):
            written.append(f'{{"name": {json.dumps(str(function.get("name")))}, "arguments": {arguments}')
        elif isinstance(function, Mapping) and not isinstance(arguments, str | Mapping | None):
            written.append(json.dumps({"name": function.get("name"), "arguments": arguments}, ensure_ascii=False))
        else:
            kept.append(call)
    return written, kept


def _as_function(call: Any) -> Any:
    """Return a call of a tool that takes one text as that of a function."""
    custom = call.get("custom") if isinstance(call, Mapping) else None
    if not isinstance(custom, Mapping):
        return call
    function = {"name": custom.get("name"), "arguments": {"input": str(custom.get("input") or "")}}
    return {"id": call.get("id"), "type": "function", "function": function}


def _readable(text: str) -> bool:
    """Return True if the text of arguments is that of an object, or nothing that should be shown to a model."""
    try:
        found = json.loads(text)
    except ValueError:
        return False
    except RecursionError:
        return True
    return isinstance(found, dict) or is_deep(found)
