"""Read and answer requests of OpenAI's interface /v1/responses. Nothing is stored from one to the next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from engine.errors import InvalidRequest
from engine.events import Event, Finished, GenerationResult, TokenEvent
from engine.server.interfaces.form import CUT, Form, Noted, as_event, cached_tokens, call_ids, timings
from engine.server.interfaces.requests import (
    COMMON,
    Asked,
    Defaults,
    make_asked,
    read_common,
    read_effort,
    read_format,
    read_messages,
    read_tools,
    read_top,
)

_KNOWN = COMMON | {
    *("input", "instructions", "max_output_tokens", "text", "tools", "tool_choice", "reasoning", "top_logprobs"),
    *("include", "store", "parallel_tool_calls", "truncation", "previous_response_id"),
}
_TEXTS = ("input_text", "output_text", "text", "summary_text", "reasoning_text", "refusal")


def read_responses(body: Mapping[str, Any], defaults: Defaults) -> Asked:
    """Return what a body of /v1/responses asks for. Raises InvalidRequest and its kinds."""
    if body.get("previous_response_id") or body.get("conversation") or body.get("background"):
        raise InvalidRequest("This server keeps no responses: send the whole conversation as input.")
    options = read_common(body, _KNOWN)
    given, instructions = body.get("input"), body.get("instructions")
    if isinstance(given, str):
        given = [{"role": "user", "content": given}]
    if not isinstance(given, list) or not given:
        raise InvalidRequest('"input" must be a text or a list of items.')
    messages = _as_messages(given)
    if instructions is not None and not isinstance(instructions, str):
        raise InvalidRequest('"instructions" must be a text.')
    if instructions:
        messages.insert(0, {"role": "system", "content": instructions})
    if body.get("max_output_tokens") is not None:
        options["max_tokens"] = body["max_output_tokens"]
    reasoning, wanted = body.get("reasoning"), body.get("text")
    if isinstance(reasoning, Mapping) and reasoning.get("effort") is not None:
        options["thinking"] = read_effort(reasoning["effort"])
    constraint = read_format(_format(wanted.get("format") if isinstance(wanted, Mapping) else None))
    options |= {} if constraint is None else {"constraint": constraint}
    tools = body.get("tools")
    options |= read_tools({**body, "tools": _functions(tools)})
    included = body.get("include")
    logprobs = isinstance(included, list) and "message.output_text.logprobs" in included
    if logprobs:
        options["top"] = read_top(body.get("top_logprobs"))
    return make_asked(read_messages(messages), options, body, defaults, logprobs=logprobs, known=_KNOWN)


def _as_messages(items: list[Any]) -> list[dict[str, Any]]:
    """Return items as messages of the chat interface: thoughts and calls join the assistant's message."""
    messages: list[dict[str, Any]] = []

    def assistant() -> dict[str, Any]:
        if not messages or messages[-1]["role"] != "assistant":
            messages.append({"role": "assistant", "content": None})
        return messages[-1]

    for item in items:
        if not isinstance(item, Mapping):
            raise InvalidRequest('Each item of "input" must be an object.')
        kind = item.get("type", "message")
        if kind == "message":
            role, content = item.get("role"), _content(item.get("content"))
            if role == "assistant" and _waits(messages):
                messages[-1]["content"] = content
            else:
                messages.append({"role": role, "content": content})
        elif kind == "function_call":
            function = {"name": item.get("name"), "arguments": item.get("arguments") or "{}"}
            call = {"id": item.get("call_id") or "", "type": "function", "function": function}
            assistant().setdefault("tool_calls", []).append(call)
        elif kind == "function_call_output":
            text = _content(item.get("output"))
            messages.append({"role": "tool", "tool_call_id": item.get("call_id") or "", "content": text})
        elif kind == "reasoning":
            told = item.get("content") or item.get("summary") or []
            messages.append({"role": "assistant", "content": None, "reasoning_content": _joined(told)})
        else:
            raise InvalidRequest(f"Items of the type {str(kind)[:40]} are not supported. Leave them out.")
    return [message for message in messages if _says_something(message)]


def _waits(messages: list[dict[str, Any]]) -> bool:
    """Return whether the last message is a thought behind which nothing is said yet."""
    last = messages[-1] if messages else {}
    return last.get("role") == "assistant" and last.get("content") is None and "tool_calls" not in last


def _says_something(message: Mapping[str, Any]) -> bool:
    return message["role"] != "assistant" or bool(message.get("content") or message.get("tool_calls"))


def _content(given: object) -> object:
    if not isinstance(given, list):
        return given
    parts: list[Any] = []
    for part in given:
        kind = part.get("type") if isinstance(part, Mapping) else None
        if kind in _TEXTS:
            parts.append({"type": "text", "text": part.get("text", part.get("refusal"))})
        elif kind == "input_image":
            raise InvalidRequest("This model cannot see pictures. Leave them out.")
        else:
            raise InvalidRequest(f"Contents of the type {str(kind)[:40]} are not supported. Leave them out.")
    return parts


def _joined(told: object) -> str:
    parts = told if isinstance(told, list) else []
    return "\n".join(str(part.get("text") or "") for part in parts if isinstance(part, Mapping))


def _format(wanted: object) -> object:
    """Return a format of replies in the chat interface's form."""
    if isinstance(wanted, Mapping) and wanted.get("type") == "json_schema":
        return {"type": "json_schema", "json_schema": {"schema": wanted.get("schema")}}
    return wanted


def _functions(tools: object) -> object:
    """Return functions in the chat interface's form. Raises InvalidRequest for tools that a server would run."""
    if not isinstance(tools, list):
        return tools
    for tool in tools:
        if isinstance(tool, Mapping) and tool.get("type", "function") != "function":
            raise InvalidRequest(f"Tools of the type {str(tool['type'])[:40]} are not supported: nothing is run here.")
    kept = ("name", "description", "parameters")
    return [
        {name: tool[name] for name in kept if tool.get(name) is not None} if _flat(tool) else tool for tool in tools
    ]


def _flat(tool: object) -> bool:
    return isinstance(tool, Mapping) and "function" not in tool


class ResponsesForm(Form):
    """Form a response: the thought, the message and the calls are items of its own."""

    def __init__(self, model: str, noted: Noted, body: Mapping[str, Any]) -> None:
        super().__init__(model, noted)
        self._body = body
        self._number = -1
        self._open: dict[str, Any] | None = None
        """The item that grows."""
        self._text = ""
        self._output: list[dict[str, Any]] = []
        self._told: list[dict[str, Any]] = []
        self._begun = False

    def note(self, index: int, event: Event) -> None:
        super().note(index, event)
        if self.noted.wanted and isinstance(event, TokenEvent) and event.channel == "content":
            data = self.noted.pieces.get(event.token, b"")
            if data:
                top = [self._named(token, logprob) for token, logprob in event.top]
                self._told.append({**self._named(event.token, event.logprob), "top_logprobs": top})

    def _named(self, token: int, logprob: float) -> dict[str, Any]:
        data = self.noted.pieces.get(token, b"")
        return {"token": data.decode("utf-8", "replace"), "logprob": max(logprob, -9999.0), "bytes": list(data)}

    def whole(self) -> dict[str, Any]:
        result = self.results[0]
        if result.reasoning:
            self._output.append(self._item("reasoning", result.reasoning))
        if result.content or not result.tool_calls:
            self._output.append(self._item("message", result.content))
        self._output += self._calls(result)
        return self._response(result)

    # A stream ---------------------------------------------------------------------------------------------------------

    def pieces(self, index: int, event: Event) -> Iterator[bytes]:
        if not self._begun:
            self._begun = True
            yield self._event("response.created", response=self._response(None))
            yield self._event("response.in_progress", response=self._response(None))
        if isinstance(event, TokenEvent):
            for channel, text in event.added:
                yield from self._grow("reasoning" if channel == "reasoning" else "message", text)
        elif isinstance(event, Finished):
            yield from self._finish(event.result)

    def _grow(self, kind: str, text: str) -> Iterator[bytes]:
        if self._open is None or self._open["type"] != kind:
            yield from self._close()
            self._open, self._text = self._item(kind, "", done=False), ""
            yield self._event("response.output_item.added", item={**self._open, "content": []})
            yield self._event("response.content_part.added", part=_part(kind, ""), **self._place())
        self._text += text
        more: dict[str, Any] = {} if kind == "reasoning" else {"logprobs": []}
        yield self._event(f"{_name(kind)}.delta", delta=text, **self._place(), **more)

    def _close(self) -> Iterator[bytes]:
        if self._open is None:
            return
        kind = self._open["type"]
        item = {**self._item(kind, self._text), "id": self._open["id"]}
        more = {} if kind == "reasoning" else {"logprobs": item["content"][0]["logprobs"]}
        yield self._event(f"{_name(kind)}.done", text=self._text, **self._place(), **more)
        yield self._event("response.content_part.done", part=item["content"][0], **self._place())
        yield self._event("response.output_item.done", item=item)
        self._output.append(item)
        self._open = None

    def _finish(self, result: GenerationResult) -> Iterator[bytes]:
        if self._open is None and not self._output and not result.tool_calls:
            yield from self._grow("message", "")
        yield from self._close()
        for call in self._calls(result):
            place = {"item_id": call["id"], "output_index": len(self._output)}
            begun = {**call, "arguments": "", "status": "in_progress"}
            yield self._event("response.output_item.added", item=begun)
            yield self._event("response.function_call_arguments.delta", delta=call["arguments"], **place)
            done = {"arguments": call["arguments"], "name": call["name"]}
            yield self._event("response.function_call_arguments.done", **done, **place)
            yield self._event("response.output_item.done", item=call)
            self._output.append(call)

    def end(self) -> Iterator[bytes]:
        response = self._response(self.results[0])
        yield self._event(f"response.{response['status']}", response=response)

    def failed(self, message: str) -> Iterator[bytes]:
        error = {"code": "server_error", "message": message}
        yield self._event("response.failed", response={**self._response(None), "status": "failed", "error": error})

    def _event(self, kind: str, **said: Any) -> bytes:
        self._number += 1
        if kind.startswith("response.output_item"):
            said = {"output_index": len(self._output), **said}
        return as_event({"type": kind, "sequence_number": self._number, **said}, kind)

    def _place(self) -> dict[str, Any]:
        item = self._open or {}
        return {"item_id": item.get("id", ""), "output_index": len(self._output), "content_index": 0}

    # Items ------------------------------------------------------------------------------------------------------------

    def _item(self, kind: str, text: str, *, done: bool = True) -> dict[str, Any]:
        part = _part(kind, text) | ({"logprobs": self._told} if kind == "message" and self._told else {})
        if kind == "reasoning":
            return {"type": kind, "id": f"rs_{self.id}_{len(self._output)}", "summary": [], "content": [part]}
        status = "completed" if done else "in_progress"
        name = f"msg_{self.id}_{len(self._output)}"
        return {"type": kind, "id": name, "status": status, "role": "assistant", "content": [part]}

    def _calls(self, result: GenerationResult) -> list[dict[str, Any]]:
        return [
            {
                "type": "function_call",
                "id": f"fc_{self.id}_{index}",
                "call_id": name,
                "name": call.name,
                "arguments": call.arguments_json,
                "status": "completed",
            }
            for index, (name, call) in enumerate(zip(call_ids(result), result.tool_calls, strict=True))
        ]

    def _response(self, result: GenerationResult | None) -> dict[str, Any]:
        """Return the response as it is now; `result` None: it is being written."""
        body = self._body
        cut = result is not None and result.finish_reason in CUT
        response: dict[str, Any] = {
            "id": f"resp_{self.id}",
            "object": "response",
            "created_at": self.created,
            "status": "in_progress" if result is None else "incomplete" if cut else "completed",
            "error": None,
            "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
            "model": self.model,
            "output": list(self._output) if result is not None else [],
            "parallel_tool_calls": True,
            "previous_response_id": None,
            "store": False,
            "tool_choice": body.get("tool_choice") or "auto",
            "tools": body.get("tools") or [],
            "usage": None,
        }
        for name in ("instructions", "max_output_tokens", "temperature", "top_p", "metadata", "reasoning", "text"):
            response[name] = body.get(name)
        if result is not None:
            response["usage"] = _usage(result, self.reasoning_tokens)
            response["timings"] = timings(result)
        return response


def _part(kind: str, text: str) -> dict[str, Any]:
    if kind == "reasoning":
        return {"type": "reasoning_text", "text": text}
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _name(kind: str) -> str:
    return "response.reasoning_text" if kind == "reasoning" else "response.output_text"


def _usage(result: GenerationResult, reasoning: int) -> dict[str, Any]:
    read, written = result.prompt_tokens, len(result.tokens)
    return {
        "input_tokens": read,
        "input_tokens_details": {"cached_tokens": cached_tokens(result), "cache_write_tokens": 0},
        "output_tokens": written,
        "output_tokens_details": {"reasoning_tokens": reasoning},
        "total_tokens": read + written,
    }
