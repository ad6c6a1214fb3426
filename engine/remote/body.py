"""Make the body of a request: the engine's request in the form of OpenAI's interface."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from engine.config import GenerationRequest, SamplingConfig
from engine.constraint import Constraint
from engine.errors import NotAvailable
from engine.messages.message import Message
from engine.messages.parts import FilePart, OtherField, ReasoningPart, TextPart
from engine.remote.kinds import FURTHER, STANDARD, ServerKind
from engine.translatable import Translatable

_DEFAULT = SamplingConfig()
_SAID = (TextPart, FilePart)


@dataclass(frozen=True, slots=True)
class Body:
    """Hold a request. `chat`: of a conversation, otherwise of a text; `notes`: settings unknown to the server."""

    chat: bool
    content: dict[str, Any]
    notes: tuple[str, ...]


def make_body(request: GenerationRequest, model: str, kind: ServerKind) -> Body:
    """Return the body of a request. Raises NotAvailable for required settings that the server does not know."""
    content: dict[str, Any] = {"model": model, "stream": True}
    content["stream_options"] = {"include_usage": True, **kind.usage}
    chat = not request.raw and not _are_tokens(request.prompt)
    unasked = [*_sample(content, request.sampling, kind)]
    if chat:
        content["messages"] = _begin(_messages(request.prompt, kind), _begun(request))
        content |= _going_on(content["messages"], kind)
        unasked += _think(content, request.thinking, kind)
    else:
        content["prompt"] = _read(request.prompt, _begun(request))
    if request.max_tokens is not None:
        content["max_tokens"] = request.max_tokens
    if request.stop:
        content["stop"] = list(request.stop)
    if request.stop_tokens:
        if kind.name not in ("vLLM", "SGLang"):
            raise _cannot(Translatable("Ending a reply at a token"), Translatable("give a text as --stop instead"))
        content["stop_token_ids"] = list(request.stop_tokens)
    if request.tools:
        content["tools"] = [dict(tool) for tool in request.tools]
        content |= _choice(request)
    if request.constraint is not None:
        content["response_format"] = _format(request.constraint)
    if request.prediction:
        if kind.plain and chat and isinstance(request.prediction, str):
            content["prediction"] = {"type": "content", "content": request.prediction}
        else:
            unasked.append("prediction")
    if kind.plain and isinstance(request.speculation.lookahead, int):
        content["lookahead"] = request.speculation.lookahead
    content |= kind.extras
    note = Translatable("Not sent to the server, which has no such setting: {names}.", names=", ".join(unasked))
    return Body(chat, content, (note,) if unasked else ())


def _begun(request: GenerationRequest) -> str:
    """Return the beginning of the reply. Raises NotAvailable."""
    if request.forced:
        raise _cannot(Translatable("Writing given tokens first"), Translatable("give a prefix instead"))
    if any(isinstance(piece, int) for piece in request.prefix):
        raise _cannot(Translatable("A prefix of token ids"), Translatable("give it as a text instead"))
    return "".join(map(str, request.prefix))


def _read(prompt: Any, begun: str) -> str | list[int]:
    """Return the text where there are no messages. Raises NotAvailable."""
    if isinstance(prompt, str):
        return prompt + begun
    if begun:
        raise _cannot(Translatable("A prefix behind token ids"), Translatable("give the prompt as a text instead"))
    return list(prompt)


def _begin(messages: list[dict[str, Any]], begun: str) -> list[dict[str, Any]]:
    """Return messages that end with the beginning of the reply."""
    last = messages[-1]
    if begun and last["role"] == "assistant" and isinstance(last["content"], list):
        last["content"] = [*last["content"], {"type": "text", "text": begun}]
    elif begun and last["role"] == "assistant":
        last["content"] = (last["content"] or "") + begun
    elif begun:
        messages.append({"role": "assistant", "content": begun})
    return messages


def _choice(request: GenerationRequest) -> dict[str, Any]:
    """Return the tool that must be called, and True if only once."""
    choice: dict[str, Any] = {"parallel_tool_calls": False} if request.one_call else {}
    if len(request.must_call) == 1:
        choice["tool_choice"] = {"type": "function", "function": {"name": request.must_call[0]}}
    elif request.must_call:
        choice["tool_choice"] = "required"
    return choice


def _are_tokens(prompt: object) -> bool:
    return isinstance(prompt, Sequence) and not isinstance(prompt, str) and all(isinstance(t, int) for t in prompt)


def _sample(content: dict[str, Any], sampling: SamplingConfig, kind: ServerKind) -> list[str]:
    """Put the sampling into a body; return the names of settings that the server does not know."""
    for name in STANDARD:
        content[name] = getattr(sampling, name)
    if sampling.seed is not None:
        content["seed"] = sampling.seed
    if sampling.logit_bias:
        content["logit_bias"] = {str(token): amount for token, amount in sampling.logit_bias}
    unasked = []
    for name in FURTHER:
        value = getattr(sampling, name)
        if value == getattr(_DEFAULT, name):
            continue
        if name in kind.sampling:
            content[kind.sampling[name]] = value
        else:
            unasked.append(name)
    return unasked


def _think(content: dict[str, Any], thinking: str, kind: ServerKind) -> list[str]:
    if thinking == "default":
        return []
    if thinking in ("low", "medium", "high"):
        content["reasoning_effort"] = thinking
    elif kind.template:
        content["chat_template_kwargs"] = {"enable_thinking": thinking == "on"}
    else:
        return ["thinking"]
    return []


def _messages(prompt: Any, kind: ServerKind) -> list[dict[str, Any]]:
    messages = [Message("user", prompt)] if isinstance(prompt, str) else prompt
    return [_as_json(message, kind) for message in messages]


def _as_json(message: Message, kind: ServerKind) -> dict[str, Any]:
    """Return a message as the server reads it: files in its text, thoughts only where it knows them."""
    dropped = (OtherField,) if kind.reasoning else (OtherField, ReasoningPart)
    parts = tuple(part for part in message.parts if not isinstance(part, dropped))
    data = Message(message.role, parts).to_dict()
    if isinstance(data["content"], list) and all(isinstance(part, (*_SAID, ReasoningPart)) for part in parts):
        data["content"] = message.content
    return data


def _going_on(messages: Sequence[dict[str, Any]], kind: ServerKind) -> dict[str, Any]:
    if not messages or messages[-1]["role"] != "assistant":
        return {}
    if kind.going_on is None:
        raise _cannot(Translatable("Going on with a reply"), Translatable("ask for the reply again instead"))
    return dict(kind.going_on)


def _format(constraint: Constraint) -> dict[str, Any]:
    if constraint.kind == "json":
        return {"type": "json_object"}
    if constraint.kind == "json-schema":
        return {"type": "json_schema", "json_schema": {"name": "reply", "schema": json.loads(constraint.text)}}
    raise _cannot(
        Translatable("A regular expression or grammar as a constraint"),
        Translatable("a server can be asked for JSON or for JSON of a schema"),
    )


def _cannot(what: str, advice: str) -> NotAvailable:
    return NotAvailable(Translatable("{what}, with a server as the target,", what=what), advice)
