"""Read and answer requests of Anthropic's interface /v1/messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from engine.errors import InvalidRequest
from engine.events import Event, Finished, GenerationResult, PromptProgress, TokenEvent
from engine.server.interfaces.conversation import picture_of, read_messages
from engine.server.interfaces.form import CUT, Form, ReplyContext, as_event, cached_tokens, call_ids, facts, sayable
from engine.server.interfaces.requests import (
    COMMON,
    Defaults,
    ParsedRequest,
    make_parsed,
    read_common,
    read_effort,
    read_format,
)
from engine.server.interfaces.tools import read_tools
from engine.server.interfaces.unsupported import NotDone, tidied

_KNOWN = COMMON | {
    *("messages", "system", "max_tokens", "stop_sequences", "tools", "tool_choice", "thinking", "output_config"),
    *("output_format", "cache_control"),
}
_ROLES = ("user", "assistant", "system", "developer", "tool")
_ERRORS = {
    "rate_limit_error": "rate_limit_error",
    "server_error": "api_error",
    "invalid_request_error": "invalid_request_error",
}


def read_conversation(body: Mapping[str, Any], defaults: Defaults) -> ParsedRequest:
    """Read a body of /v1/messages. Raises InvalidRequest and its kinds."""
    left = NotDone()
    fields = tidied(body, left)
    options = read_common(fields, _KNOWN, left)
    options["stop"] = fields.get("stop_sequences") or ()
    options |= _thinking(fields, left)
    choice = fields.get("tool_choice")
    offered = read_tools(fields.get("tools"), left, custom_takes_text=False)
    one = isinstance(choice, Mapping) and choice.get("disable_parallel_tool_use") is True
    options |= offered.options(choice, left, one_call=one)
    output = fields.get("output_config")
    form = fields.get("output_format") or (output.get("format") if isinstance(output, Mapping) else None)
    constraint = read_format(form, left)
    options |= {} if constraint is None else {"constraint": constraint}
    messages = read_messages(_as_messages(fields.get("system"), fields.get("messages"), left), left)
    parsed = make_parsed(messages, options, fields, defaults, left, logprobs=False, known=_KNOWN)
    return replace(parsed, tools=offered.tools)


def _thinking(body: Mapping[str, Any], left: NotDone) -> dict[str, Any]:
    """Read the effort of thinking."""
    thinking, output = body.get("thinking"), body.get("output_config")
    effort = output.get("effort") if isinstance(output, Mapping) else None
    if isinstance(thinking, Mapping) and thinking.get("type") == "disabled":
        return {"thinking": "off"}
    if effort is not None:
        return read_effort(effort, left)
    return (
        {"thinking": "on"} if isinstance(thinking, Mapping) and thinking.get("type") in ("enabled", "adaptive") else {}
    )


def _as_messages(system: object, data: object, left: NotDone) -> list[dict[str, Any]]:
    """Return the conversation as messages of the chat interface. Raises InvalidRequest."""
    if not isinstance(data, list) or not data or not all(isinstance(message, Mapping) for message in data):
        raise InvalidRequest('"messages" must be a list of messages, at least one.')
    messages: list[dict[str, Any]] = []
    if system:
        messages.append({"role": "system", "content": _text(system, '"system"', left)})
    for message in data:
        role, content = message.get("role"), message.get("content")
        if role not in _ROLES:
            raise InvalidRequest("A message's role must be user, assistant or system.")
        if isinstance(content, str | None):
            messages.append({"role": role, "content": content or ""})
        elif isinstance(content, list) and all(isinstance(block, Mapping) for block in content):
            messages += _of_blocks(role, content, left)
        else:
            raise InvalidRequest("A message's content must be a text or a list of blocks.")
    return messages


def _of_blocks(role: str, blocks: list[Mapping[str, Any]], left: NotDone) -> Iterator[dict[str, Any]]:
    """Return the messages of a message's blocks: results of tools are messages of their own, in front."""
    said: list[dict[str, Any] | None] = []
    calls: list[dict[str, Any]] = []
    thoughts: list[str] = []
    for block in blocks:
        match block.get("type"):
            case "thinking" if role == "assistant":
                thoughts.append(str(block.get("thinking") or ""))
            case "redacted_thinking":
                pass
            case "tool_use" if role == "assistant":
                function = {"name": block.get("name"), "arguments": block.get("input") or {}}
                calls.append({"id": str(block.get("id") or ""), "type": "function", "function": function})
            case "tool_result" if role == "user":
                given = block.get("content") or ""
                parts = given if isinstance(given, list) else []
                pictures = [picture for each in parts if (picture := picture_of(each))]
                words = [each for each in parts if picture_of(each) is None] if pictures else given
                words_text = _text(words, "A tool_result's content", left)
                content = [{"type": "text", "text": words_text}, *pictures] if pictures else words_text
                yield {"role": "tool", "tool_call_id": str(block.get("tool_use_id") or ""), "content": content}
            case "image":
                said += [picture_of(block)]
            case _:
                text = _block_text(block, left)
                said += [] if text is None else [{"type": "text", "text": text}]
    if said or calls or (role == "assistant" and thoughts):
        message: dict[str, Any] = {"role": role, "content": said or None}
        message |= {"tool_calls": calls} if calls else {}
        yield message | ({"reasoning_content": "\n".join(thoughts)} if thoughts else {})
    elif not any(block.get("type") == "tool_result" for block in blocks):
        yield {"role": role, "content": ""}


def _text(value: object, what: str, left: NotDone) -> str:
    """Return the text of blocks. Raises InvalidRequest if they are none."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list) or not all(isinstance(block, Mapping) for block in value):
        raise InvalidRequest(f"{what} must be a text or a list of texts.")
    return "\n".join(text for block in value if (text := _block_text(block, left)) is not None)


def _block_text(block: Mapping[str, Any], left: NotDone) -> str | None:
    """Return the text of a block, None if it is left out. Raises InvalidRequest for pictures and the like."""
    kind, source = block.get("type"), block.get("source")
    if kind == "text":
        if not isinstance(block.get("text"), str):
            raise InvalidRequest('A block of the type text needs a "text".')
        return str(block["text"])
    if kind == "image":
        raise InvalidRequest("Pictures are read in messages and results of tools only. Leave this one out.")
    if kind == "document" and isinstance(source, Mapping):
        if source.get("type") == "text" and isinstance(source.get("data"), str):
            return "\n".join(filter(None, [str(block.get("title") or ""), source["data"]]))
        if source.get("type") == "content":
            return _text(source.get("content") or "", "A document's content", left)
        raise InvalidRequest("Only documents of plain text are read. Send the text of the others.")
    if kind == "search_result" and block.get("content"):
        return "\n".join([str(block.get("title") or ""), _text(block["content"], "A search_result's content", left)])
    left.note(f"block {str(kind)[:60]}")
    return None


class MessageForm(Form):
    """Form a message: thinking, text and calls are blocks of it."""

    def __init__(self, model: str, context: ReplyContext) -> None:
        super().__init__(model, context)
        self._begun = False
        self._kind = ""
        self._blocks = 0

    def whole(self) -> dict[str, Any]:
        result = self.results[0]
        content: list[dict[str, Any]] = []
        if result.reasoning:
            content.append({"type": "thinking", "thinking": result.reasoning, "signature": ""})
        if said := self.continued(0, result.content):
            content.append({"type": "text", "text": said})
        content += [{**head, "input": call.arguments} for head, call in _calls(result)]
        return {**self._head(), "content": content, **self._ending(result), "usage": _usage(result), **facts(result)}

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
        data = {"usage": _usage(result), **facts(result)}
        yield _event("message_delta", delta=self._ending(result), **data)

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
        stopped_by = self.context.stopped_by
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
