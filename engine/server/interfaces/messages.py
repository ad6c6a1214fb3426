"""Read and answer requests of Anthropic's interface /v1/messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from engine.errors import InvalidRequest
from engine.events import Event, Finished, GenerationResult, PromptProgress, TokenEvent
from engine.server.interfaces.form import CUT, Form, Noted, as_event, cached_tokens, call_ids, sayable, timings
from engine.server.interfaces.requests import (
    COMMON,
    Asked,
    Defaults,
    make_asked,
    read_common,
    read_messages,
    read_tools,
)

_KNOWN = COMMON | {"messages", "system", "max_tokens", "stop_sequences", "tools", "tool_choice", "thinking"}
_ERRORS = {
    "rate_limit_error": "rate_limit_error",
    "server_error": "api_error",
    "invalid_request_error": "invalid_request_error",
}


def read_conversation(body: Mapping[str, Any], defaults: Defaults) -> Asked:
    """Return what a body of /v1/messages asks for. Raises InvalidRequest and its kinds."""
    if body.get("max_tokens") is None:
        raise InvalidRequest('"max_tokens" is missing: how many tokens the reply may have.')
    options = read_common(body, _KNOWN)
    options["stop"] = body.get("stop_sequences") or ()
    thinking = body.get("thinking")
    if isinstance(thinking, Mapping) and thinking.get("type") in ("enabled", "disabled", "adaptive"):
        options["thinking"] = "off" if thinking["type"] == "disabled" else "on"
    choice, tools = body.get("tool_choice"), body.get("tools")
    kind = choice.get("type") if isinstance(choice, Mapping) else None
    if kind in ("any", "tool"):
        raise InvalidRequest('"tool_choice" must be of the type auto or none: a call cannot be enforced.')
    if tools is not None:
        options |= read_tools({"tools": _functions(tools), "tool_choice": kind})
    messages = read_messages(_as_messages(body.get("system"), body.get("messages")))
    return make_asked(messages, options, body, defaults, logprobs=False, known=_KNOWN)


def _functions(tools: object) -> list[dict[str, Any]]:
    if not isinstance(tools, list) or not all(isinstance(tool, Mapping) for tool in tools):
        raise InvalidRequest('"tools" must be a list of objects.')
    found = []
    for tool in tools:
        if tool.get("type", "custom") != "custom":
            raise InvalidRequest(f"Tools of the type {str(tool['type'])[:40]} are not supported: nothing is run here.")
        told = {"name": tool.get("name"), "parameters": tool.get("input_schema") or {}}
        found.append(told | ({"description": tool["description"]} if tool.get("description") is not None else {}))
    return found


def _as_messages(system: object, told: object) -> list[dict[str, Any]]:
    """Return the conversation as messages of the chat interface. Raises InvalidRequest."""
    if not isinstance(told, list) or not told or not all(isinstance(message, Mapping) for message in told):
        raise InvalidRequest('"messages" must be a list of messages, at least one.')
    messages: list[dict[str, Any]] = []
    if system:
        messages.append({"role": "system", "content": _text(system, '"system"')})
    for message in told:
        role, content = message.get("role"), message.get("content")
        if role not in ("user", "assistant"):
            raise InvalidRequest("A message's role must be user or assistant.")
        if isinstance(content, str):
            messages.append({"role": role, "content": content})
        elif isinstance(content, list) and all(isinstance(block, Mapping) for block in content):
            messages += _of_blocks(role, content)
        else:
            raise InvalidRequest("A message's content must be a text or a list of blocks.")
    return messages


def _of_blocks(role: str, blocks: list[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Return the messages of a message's blocks: results of tools are messages of their own, in front."""
    said: list[dict[str, Any]] = []
    calls: list[dict[str, Any]] = []
    thoughts: list[str] = []
    for block in blocks:
        match block.get("type"):
            case "text":
                said.append({"type": "text", "text": block.get("text")})
            case "thinking" if role == "assistant":
                thoughts.append(str(block.get("thinking") or ""))
            case "redacted_thinking":
                pass
            case "tool_use" if role == "assistant":
                function = {"name": block.get("name"), "arguments": block.get("input") or {}}
                calls.append({"id": str(block.get("id") or ""), "type": "function", "function": function})
            case "tool_result" if role == "user":
                text = _text(block.get("content") or "", "A tool_result's content")
                yield {"role": "tool", "tool_call_id": str(block.get("tool_use_id") or ""), "content": text}
            case "image":
                raise InvalidRequest("This model cannot see pictures. Leave them out.")
            case other:
                raise InvalidRequest(f"Blocks of the type {str(other)[:40]} are not supported. Leave them out.")
    if said or calls or (role == "assistant" and thoughts):
        message: dict[str, Any] = {"role": role, "content": said or None}
        message |= {"tool_calls": calls} if calls else {}
        yield message | ({"reasoning_content": "\n".join(thoughts)} if thoughts else {})


def _text(told: object, what: str) -> str:
    if isinstance(told, str):
        return told
    if not isinstance(told, list) or not all(isinstance(b, Mapping) and isinstance(b.get("text"), str) for b in told):
        raise InvalidRequest(f"{what} must be a text or a list of texts.")
    return "\n".join(block["text"] for block in told)


class MessageForm(Form):
    """Form a message: thinking, text and calls are blocks of it."""

    def __init__(self, model: str, noted: Noted) -> None:
        super().__init__(model, noted)
        self._begun = False
        self._kind = ""
        self._blocks = 0

    def whole(self) -> dict[str, Any]:
        result = self.results[0]
        content: list[dict[str, Any]] = []
        if result.reasoning:
            content.append({"type": "thinking", "thinking": result.reasoning, "signature": ""})
        if result.content:
            content.append({"type": "text", "text": result.content})
        content += [{**head, "input": call.arguments} for head, call in _calls(result)]
        return {**self._head(), "content": content, **self._ending(result), "usage": _usage(result)} | {
            "timings": timings(result)
        }

    def pieces(self, index: int, event: Event) -> Iterator[bytes]:
        if isinstance(event, PromptProgress) and not self._begun:
            yield from self._begin(event.total)
        elif isinstance(event, TokenEvent):
            for channel, text in event.added:
                yield from self._grow("thinking" if channel == "reasoning" else "text", text)
        elif isinstance(event, Finished):
            yield from self._finish(event.result)

    def _begin(self, read: int) -> Iterator[bytes]:
        self._begun = True
        counted = {"input_tokens": read, "output_tokens": 0}
        yield _event("message_start", message={**self._head(), "content": [], **_NOT_ENDED, "usage": counted})
        yield _event("ping")

    def _grow(self, kind: str, text: str) -> Iterator[bytes]:
        if self._kind != kind:
            yield from self._close()
            self._kind = kind
            block = {"type": kind, kind: ""} | ({"signature": ""} if kind == "thinking" else {})
            yield _event("content_block_start", index=self._blocks, content_block=block)
        yield _event("content_block_delta", index=self._blocks, delta={"type": f"{kind}_delta", kind: text})

    def _close(self) -> Iterator[bytes]:
        if self._kind:
            yield _event("content_block_stop", index=self._blocks)
            self._kind, self._blocks = "", self._blocks + 1

    def _finish(self, result: GenerationResult) -> Iterator[bytes]:
        yield from self._close()
        for head, call in _calls(result):
            yield _event("content_block_start", index=self._blocks, content_block={**head, "input": {}})
            delta = {"type": "input_json_delta", "partial_json": call.arguments_json}
            yield _event("content_block_delta", index=self._blocks, delta=delta)
            yield _event("content_block_stop", index=self._blocks)
            self._blocks += 1
        told = {"usage": _usage(result), "timings": timings(result)}
        yield _event("message_delta", delta=self._ending(result), **told)

    def end(self) -> Iterator[bytes]:
        yield _event("message_stop")

    def failed(self, message: str) -> Iterator[bytes]:
        yield as_event(self.refusal(message, "server_error"), "error")

    def _head(self) -> dict[str, Any]:
        return {"id": f"msg_{self.id}", "type": "message", "role": "assistant", "model": self.model}

    def _ending(self, result: GenerationResult) -> dict[str, Any]:
        if result.finish_reason in CUT:
            return {"stop_reason": "max_tokens", "stop_sequence": None}
        if result.tool_calls:
            return {"stop_reason": "tool_use", "stop_sequence": None}
        stopped_by = self.noted.stopped_by
        return {"stop_reason": "stop_sequence" if stopped_by else "end_turn", "stop_sequence": stopped_by}

    @staticmethod
    def refusal(message: str, kind: str = "invalid_request_error", code: str | None = None) -> dict[str, Any]:
        kind = {"model_not_found": "not_found_error"}.get(code or "") or _ERRORS.get(kind, "api_error")
        return {"type": "error", "error": {"type": kind, "message": sayable(message)}}


_NOT_ENDED = {"stop_reason": None, "stop_sequence": None}


def _event(kind: str, **said: Any) -> bytes:
    return as_event({"type": kind, **said}, kind)


def _calls(result: GenerationResult) -> Iterator[tuple[dict[str, Any], Any]]:
    for name, call in zip(call_ids(result, "toolu_"), result.tool_calls, strict=True):
        yield {"type": "tool_use", "id": name, "name": call.name}, call


def _usage(result: GenerationResult) -> dict[str, Any]:
    return {
        "input_tokens": result.prompt_evaluated,
        "cache_read_input_tokens": cached_tokens(result),
        "cache_creation_input_tokens": 0,
        "output_tokens": len(result.tokens),
    }
