"""Render conversations that a template refuses in a form that it accepts, and report the changes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations, groupby
from typing import Any

from engine.chat.inputs import TemplateInput
from engine.chat.render import Refused, Renderer
from engine.messages.tools import with_single_types
from engine.translatable import Translatable

_MOST_ATTEMPTS = 64
_PART = re.compile(r"""\.type\b|["']type["']""")
_BETWEEN = "\n\n"
"""The separator of joined texts."""


@dataclass(frozen=True, slots=True)
class TemplateChat:
    """Hold the input of one rendering: messages in the form of templates, and the variables beside them."""

    messages: Sequence[Mapping[str, Any]]
    given: TemplateInput
    bos_token: str = ""
    eos_token: str = ""


_Repair = Callable[[TemplateChat], TemplateChat]


def render_usable(renderer: Renderer, template: str, chat: TemplateChat) -> str:
    """Return the text of a conversation, repaired if the template refuses it as it is; the renderer notes the changes.

    The fewest changes that the template takes are made. Raises ChatTemplateFailed if it takes none of them, with
    the reason why it refused the conversation as it is; Cancelled.
    """
    try:
        return _render(renderer, template, chat)
    except Refused as error:
        first = error
    for notes, repaired in _variants(chat):
        try:
            text = _render(renderer, template, repaired)
        except Refused:
            continue
        renderer.note(*notes)
        return text
    raise first


def _render(renderer: Renderer, template: str, chat: TemplateChat) -> str:
    """Return the text of a conversation. Templates that read contents as lists of parts alone are given such."""

    def render(messages: Sequence[Mapping[str, Any]]) -> str:
        variables = chat.given.variables(messages, chat.bos_token, chat.eos_token)
        return renderer.render_variables(template, variables)

    text = render(chat.messages)
    question = next((each["content"] for each in reversed(chat.messages) if each["role"] == "user"), None)
    if not isinstance(question, str) or question.strip() in text or _PART.search(template) is None:
        return text
    parts = [
        {**each, "content": [{"type": "text", "text": each["content"]}]}
        if isinstance(each.get("content"), str)
        else each
        for each in chat.messages
    ]
    with suppress(Refused):
        in_parts = render(parts)
        return in_parts if question.strip() in in_parts else text
    return text


def _variants(chat: TemplateChat) -> Iterator[tuple[tuple[str, ...], TemplateChat]]:
    """Yield changed conversations, those with the fewest changes first."""
    fitting = [(note, repair) for note, repair in _REPAIRS if repair(chat) != chat]
    tried, seen = 0, [chat]
    for count in range(1, len(_REPAIRS) + 1):
        for chosen in combinations(fitting if count == 1 else _REPAIRS, count):
            made, notes = chat, []
            for note, repair in chosen:
                before, made = made, repair(made)
                notes += [note] if note and made != before else []
            if made in seen:
                continue
            seen.append(made)
            yield tuple(notes), made
            tried += 1
            if tried == _MOST_ATTEMPTS:
                return


# Repairs, each of which returns an equal conversation where there is nothing for it to do ---------------------------


def _expected_variables(chat: TemplateChat) -> TemplateChat:
    """Give an empty list of tools if there are none, and the tools as text under a name that one family reads."""
    tools = list(chat.given.tools or [])
    arguments = {"functions": json.dumps(tools, ensure_ascii=False), "datetime": "", **chat.given.arguments}
    return replace(chat, given=replace(chat.given, tools=tools, arguments=arguments))


def _empty_contents(chat: TemplateChat) -> TemplateChat:
    """Give an empty text to messages without one: some templates use it without a check."""
    return replace(chat, messages=[{**message, "content": message.get("content") or ""} for message in chat.messages])


def _arguments_as_text(chat: TemplateChat) -> TemplateChat:
    return replace(chat, messages=[_with_text_arguments(message) for message in chat.messages])


def _with_text_arguments(message: Mapping[str, Any]) -> Mapping[str, Any]:
    if not message.get("tool_calls"):
        return message
    calls = []
    for call in message["tool_calls"]:
        function = dict(call["function"])
        if not isinstance(function["arguments"], str):
            function["arguments"] = json.dumps(function["arguments"], ensure_ascii=False)
        calls.append({**call, "function": function})
    return {**message, "tool_calls": calls}


def _one_system(chat: TemplateChat) -> TemplateChat:
    """Join all system messages at the beginning."""
    system = [message for message in chat.messages if message["role"] == "system"]
    rest = [message for message in chat.messages if message["role"] != "system"]
    if not system:
        return chat
    return replace(chat, messages=[_joined(system), *rest])


def _system_as_question(chat: TemplateChat) -> TemplateChat:
    """Turn all system messages into a question if there is none."""
    system = [message for message in chat.messages if message["role"] == "system"]
    if not system or any(message["role"] == "user" for message in chat.messages):
        return chat
    rest = [message for message in chat.messages if message["role"] != "system"]
    return replace(chat, messages=[{**_joined(system), "role": "user"}, *rest])


def _system_to_user(chat: TemplateChat) -> TemplateChat:
    """Put all system messages at the beginning of the first user turn."""
    system = [message for message in chat.messages if message["role"] == "system"]
    rest = [message for message in chat.messages if message["role"] != "system"]
    place = next((index for index, message in enumerate(rest) if message["role"] == "user"), None)
    if not system or place is None:
        return chat
    rest[place] = {**_joined([*system, rest[place]]), "role": "user"}
    return replace(chat, messages=rest)


def _alternating(chat: TemplateChat) -> TemplateChat:
    """Join turns of the same role that follow each other."""
    made: list[Mapping[str, Any]] = []
    for (role, plain), turns in groupby(chat.messages, lambda each: (each["role"], not each.get("tool_calls"))):
        together = list(turns)
        made += [_joined(together)] if plain and role in ("user", "assistant") and len(together) > 1 else together
    return replace(chat, messages=made)


def _without_empty_replies(chat: TemplateChat) -> TemplateChat:
    kept = [each for each in chat.messages if each["role"] != "assistant" or each.get("content") or len(each) > 2]
    return replace(chat, messages=kept)


def _calls_as_text(chat: TemplateChat) -> TemplateChat:
    """Write tool calls into the replies that made them, and the results of tools as user turns."""
    return replace(chat, messages=[_in_words(message) for message in chat.messages])


def _in_words(message: Mapping[str, Any]) -> Mapping[str, Any]:
    if message["role"] == "tool":
        named = f" of {message['name']}" if message.get("name") else ""
        return {"role": "user", "content": f"Result{named}:\n{message.get('content') or ''}"}
    if not message.get("tool_calls"):
        return message
    calls = [json.dumps(call["function"], ensure_ascii=False) for call in message["tool_calls"]]
    text = "\n".join(filter(None, [message.get("content"), *calls]))
    return {**{name: value for name, value in message.items() if name != "tool_calls"}, "content": text}


def _single_types(chat: TemplateChat) -> TemplateChat:
    """Give each parameter of a tool one type: some templates print it, and know no list."""
    tools = list(chat.given.tools or [])
    single = with_single_types(tools)
    return chat if single == tools else replace(chat, given=replace(chat.given, tools=single))


def _tools_as_text(chat: TemplateChat) -> TemplateChat:
    """Describe the tools in the system prompt."""
    if not chat.given.tools:
        return chat
    lines = [json.dumps(tool, ensure_ascii=False) for tool in chat.given.tools]
    words = {"role": "system", "content": "\n".join(["These functions can be called:", *lines])}
    return _one_system(replace(chat, messages=[words, *chat.messages], given=replace(chat.given, tools=None)))


def _joined(messages: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return one message of several, which has the texts of all."""
    texts = [message["content"] for message in messages if message.get("content")]
    together = _BETWEEN.join(texts) if all(isinstance(text, str) for text in texts) else _parts(texts)
    return {**messages[0], "content": together}


def _parts(contents: Sequence[Any]) -> list[Any]:
    """Return contents of which some are lists of parts as one list."""
    made: list[Any] = []
    for content in contents:
        made += [{"type": "text", "text": content}] if isinstance(content, str) else content
    return made


_REPAIRS: tuple[tuple[str, _Repair], ...] = (
    ("", _empty_contents),
    (
        Translatable(
            "The chat template takes one type for each parameter of a tool; the others are in its description."
        ),
        _single_types,
    ),
    (
        Translatable("The chat template cannot describe these tools; they were described in the system prompt."),
        _tools_as_text,
    ),
    (Translatable("The chat template needs tools; it was given an empty list of them."), _expected_variables),
    (
        Translatable("The chat template takes arguments of tools as text only; they were given as JSON."),
        _arguments_as_text,
    ),
    (
        Translatable("The chat template takes one system prompt, at the beginning; all of them were joined there."),
        _one_system,
    ),
    (
        Translatable("The chat template takes no system prompt; it was put at the beginning of the first question."),
        _system_to_user,
    ),
    (
        Translatable("The chat template wants a question, and there is none; the system prompt was given as one."),
        _system_as_question,
    ),
    (Translatable("The chat template takes no empty replies; they were left out."), _without_empty_replies),
    (Translatable("The chat template cannot write the tool calls; they were written as plain text."), _calls_as_text),
    (
        Translatable(
            "The chat template wants questions and replies in turns; those that follow each other were joined."
        ),
        _alternating,
    ),
)
"""The repairs and the loss that each causes, "" for none, in the order in which several are applied.
each other, the earlier are tried first."""
