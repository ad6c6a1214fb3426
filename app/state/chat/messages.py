"""Hold the messages of a question or a reply, where its text alone is incomplete.

A question or a reply is one text: as it was typed, with its files quoted, or as the model wrote it, markers included.
Besides, it may have messages: images, reasoning, tool calls and tool results, instructions in the middle of a chat.
The text is shown, searched and continued; the messages, if there are any, are read by the model later. So nothing is
lost for readers that understand only one of the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from app.state.chat.attachments import split_question
from app.state.chat.thoughts import CLOSING, OPENING
from engine import FilePart, ImagePart, Message, Part, ReasoningPart, TextPart, ToolCall, ToolResult

Messages = tuple[Message, ...]
"""Messages beside a text; (): the text says everything."""

_GAP = "\n\n"


def question_messages(text: str, messages: Messages = ()) -> Messages:
    """Return a question as a model reads it."""
    return messages or (Message("user", _typed(text)),)


def reply_messages(text: str, messages: Messages = ()) -> Messages:
    """Return an ended reply as a model reads it."""
    return tuple(map(_without_pictures, messages)) or (Message("assistant", text),)


def edited(messages: Messages, text: str) -> Messages:
    """Replace the text of a question; the parts beside it stay."""
    kept: list[Message] = []
    for message in messages:
        if message.role != "user":
            kept.append(message)
        elif rest := [part for part in message.parts if not isinstance(part, TextPart | FilePart)]:
            kept.append(Message("user", rest))
    if not kept:
        return ()
    if kept[-1].role == "user":
        return (*kept[:-1], Message("user", (*_typed(text), *kept[-1].parts)))
    return (*kept, Message("user", _typed(text)))


def text_of_messages(messages: Iterable[Message]) -> str:
    """Return the text of a question or a reply that came as messages: thoughts between their markers."""
    texts = []
    for message in messages:
        if message.role not in ("user", "assistant"):
            continue
        if message.reasoning:
            texts.append(f"{OPENING}\n{message.reasoning}\n{CLOSING}")
        texts.append(message.content)
    return _GAP.join(text for text in texts if text)


def readable(messages: Messages, text: str) -> str:
    """Return the text of a reply, its thought between markers also where those of its model are no text."""
    for message in messages:
        thought = message.reasoning.strip()
        if message.role == "assistant" and thought and text.replace(thought, "", 1).strip() == message.content.strip():
            return text_of_messages((message,))
    return text


def further_parts(messages: Messages, text: str) -> Iterator[Part]:
    """Return the parts that the text does not say."""
    for message in messages:
        for part in message.parts:
            if not _is_said(part, text):
                yield part


def further_words(messages: Messages, text: str) -> str:
    """Return the words of the parts that the text does not say, for a search."""
    return "\n".join(filter(None, map(_words, further_parts(messages, text))))


def messages_to_json(messages: Messages) -> list[dict[str, Any]]:
    """Return messages as JSON says them: in the form of OpenAI's chat interface, where that says everything."""
    return [_as_json(message) for message in messages]


def messages_from_json(data: object) -> Messages:
    """Restore the messages from `messages_to_json`. Raises InvalidRequest (of the engine)."""
    return tuple(map(Message.from_mapping, data if isinstance(data, list) else [data]))


def _without_pictures(message: Message) -> Message:
    """Return a tool's result without pictures, which are for the reader alone."""
    if message.role != "tool" or not any(isinstance(part, ImagePart) for part in message.parts):
        return message
    return Message("tool", [part for part in message.parts if not isinstance(part, ImagePart)])


@lru_cache(maxsize=64)
def _typed(text: str) -> tuple[Part, ...]:
    """Return a question as parts that read exactly as its text."""
    typed, files = split_question(text)
    parts: list[Part] = [FilePart(each.name, each.text) for each in files]
    parts += [TextPart(typed)] if typed or not files else []
    return tuple(parts) if Message("user", parts).content == text else (TextPart(text),)


def _as_json(message: Message) -> dict[str, Any]:
    data = message.to_dict()
    if Message.from_mapping(data) == message:
        return data
    return {"role": message.role, "content": [part.to_dict() for part in message.parts]}


def _is_said(part: Part, text: str) -> bool:
    match part:
        case TextPart(words) | ReasoningPart(words):
            return words.strip() in text
        case FilePart():
            return part.quoted in text
        case ToolCall(name=name):
            return name in text and all(value in text for value in _leaves(part.arguments))
        case _:
            return False


def _leaves(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        for each in value.values():
            yield from _leaves(each)
    elif isinstance(value, list):
        for each in value:
            yield from _leaves(each)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)


def _words(part: Part) -> str:
    match part:
        case TextPart(words) | ReasoningPart(words) | ToolResult(text=words):
            return words
        case FilePart(name, words):
            return f"{name}\n{words}"
        case ToolCall(name=name):
            return " ".join((name, *_leaves(part.arguments)))
        case _:
            return ""
