"""Read and answer requests of OpenAI's interface /v1/responses."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from engine.errors import InvalidRequest
from engine.events import Event, Finished, GenerationResult, TokenEvent
from engine.messages.parts import ToolCall
from engine.server.interfaces.conversation import picture_of, read_messages, text_of
from engine.server.interfaces.form import CUT, Form, ReplyContext, as_event, cached_tokens, call_ids, facts
from engine.server.interfaces.requests import (
    COMMON,
    Defaults,
    ParsedRequest,
    make_parsed,
    read_common,
    read_effort,
    read_format,
    read_top,
)
from engine.server.interfaces.tools import OfferedTool, read_tools, shown_name
from engine.server.interfaces.unsupported import NotDone, tidied

_KNOWN = COMMON | {
    *("input", "instructions", "max_output_tokens", "text", "tools", "tool_choice", "reasoning", "top_logprobs"),
    *("parallel_tool_calls", "previous_response_id"),
}
_SAID_NOTHING = {"role": "user", "content": ""}


def read_responses(body: Mapping[str, Any], defaults: Defaults) -> ParsedRequest:
    """Read a body of /v1/responses, whose input includes the earlier items. Raises InvalidRequest."""
    left = NotDone()
    fields = tidied(body, left)
    options = read_common(fields, _KNOWN, left)
    instructions = fields.get("instructions")
    messages = _as_messages(input_items(fields), left)
    if instructions is not None and not isinstance(instructions, str):
        left.note("instructions: they are no text")
    elif instructions:
        messages.insert(0, {"role": "system", "content": instructions})
    if all(message["role"] in ("system", "developer") for message in messages):
        messages.append(_SAID_NOTHING)
    if fields.get("prompt"):
        raise InvalidRequest('No prompts are stored here: leave "prompt" out, and send "instructions" and "input".')
    if fields.get("max_output_tokens") is not None:
        options["max_tokens"] = fields["max_output_tokens"]
    reasoning, wanted = fields.get("reasoning"), fields.get("text")
    if isinstance(reasoning, Mapping) and reasoning.get("effort") is not None:
        options |= read_effort(reasoning["effort"], left)
    constraint = read_format(wanted.get("format") if isinstance(wanted, Mapping) else None, left)
    options |= {} if constraint is None else {"constraint": constraint}
    offered = read_tools(fields.get("tools"), left)
    options |= offered.options(fields.get("tool_choice"), left, one_call=fields.get("parallel_tool_calls") is False)
    included = fields.get("include")
    logprobs = isinstance(included, list) and "message.output_text.logprobs" in included
    if logprobs:
        options["top"] = read_top(fields.get("top_logprobs"), left)
    parsed = make_parsed(
        read_messages(messages, left), options, fields, defaults, left, logprobs=logprobs, known=_KNOWN
    )
    return replace(parsed, tools=offered.tools)


def input_items(body: Mapping[str, Any]) -> list[Any]:
    """Return the items of a body's input. Raises InvalidRequest."""
    given = body.get("input")
    if isinstance(given, str):
        return [{"type": "message", "role": "user", "content": given}]
    if not isinstance(given, list):
        raise InvalidRequest('"input" must be a text or a list of items.')
    return given


def _as_messages(items: list[Any], left: NotDone) -> list[dict[str, Any]]:
    """Return items as messages of the chat interface: thoughts and calls join the assistant's message.

    Items of what this server does not do are passed over. Raises InvalidRequest.
    """
    messages: list[dict[str, Any]] = []
    for item in items:
        if not isinstance(item, Mapping):
            raise InvalidRequest('Each item of "input" must be an object.')
        kind = item.get("type") or "message"
        if kind == "message":
            role, content = item.get("role"), _content(item.get("content"))
            if role == "assistant" and _waits(messages):
                messages[-1]["content"] = content
            else:
                messages.append({"role": role, "content": content})
        elif kind in ("function_call", "custom_tool_call", "local_shell_call"):
            if not messages or messages[-1]["role"] != "assistant":
                messages.append({"role": "assistant", "content": None})
            messages[-1].setdefault("tool_calls", []).append(_call(item))
        elif isinstance(kind, str) and kind.endswith("_call_output") and "output" in item:
            call_id = item.get("call_id") or item.get("id") or ""
            messages.append({"role": "tool", "tool_call_id": str(call_id), "content": _output(item["output"])})
        elif kind == "reasoning":
            parts = item.get("content") or item.get("summary") or []
            messages.append({"role": "assistant", "content": None, "reasoning_content": _joined(parts)})
        else:
            left.note(f"item {str(kind)[:60]}")
    return [message for message in messages if _says_something(message)]


def _call(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return an item that is a call in the form of the chat interface."""
    name, arguments = item.get("name"), item.get("arguments")
    if item.get("type") == "local_shell_call":
        name, arguments = "local_shell", item.get("action")
    elif item.get("type") == "custom_tool_call":
        arguments = {"input": str(item.get("input") or "")}
    if isinstance(name, str) and isinstance(item.get("namespace"), str):
        name = shown_name(name, item["namespace"])
    function = {"name": name, "arguments": arguments or {}}
    return {"id": str(item.get("call_id") or item.get("id") or ""), "type": "function", "function": function}


def _waits(messages: list[dict[str, Any]]) -> bool:
    """Return True if the last message is a thought without an answer yet."""
    last = messages[-1] if messages else {}
    return last.get("role") == "assistant" and last.get("content") is None and "tool_calls" not in last


def _says_something(message: Mapping[str, Any]) -> bool:
    return message["role"] != "assistant" or bool(message.get("content") or message.get("tool_calls"))


def _output(given: object) -> object:
    """Read a tool's result as a content: a text, a list of parts, or an object around either."""
    if isinstance(given, Mapping):
        given = given["content"] if "content" in given else json.dumps(given, ensure_ascii=False)
    return "" if given is None else _content(given)


def _content(given: object) -> object:
    """Return a content with its texts as the chat interface has them. Raises InvalidRequest for media."""
    if not isinstance(given, list):
        return given
    return [picture_of(part) or _as_text(part) for part in given]


def _as_text(part: object) -> object:
    text = text_of(part)
    return part if text is None else {"type": "text", "text": text}


def _joined(content: object) -> str:
    parts = content if isinstance(content, list) else [content]
    return "\n".join(filter(None, (part if isinstance(part, str) else text_of(part) for part in parts)))


class ResponsesForm(Form):
    """Form a response: the thought, the message and the calls are items of its own.

    `tools`: of the client, by the names that the model is shown; `keep`: is given the body and the response at its end.
    """

    def __init__(
        self,
        model: str,
        context: ReplyContext,
        body: Mapping[str, Any],
        tools: Mapping[str, OfferedTool] | None = None,
        keep: Callable[[Mapping[str, Any], Mapping[str, Any]], None] = lambda _, __: None,
    ) -> None:
        super().__init__(model, context)
        self._body, self._tools, self._keep = body, tools or {}, keep
        self._number = -1
        self._open: dict[str, Any] | None = None
        """The item that grows."""
        self._text = ""
        self._output: list[dict[str, Any]] = []
        self._probabilities: list[dict[str, Any]] = []
        self._begun = False

    def note(self, index: int, event: Event) -> None:
        super().note(index, event)
        if self.context.wanted and isinstance(event, TokenEvent) and event.channel == "content":
            data = self.context.pieces.get(event.token, b"")
            if data:
                top = [self._named(token, logprob) for token, logprob in event.top]
                self._probabilities.append({**self._named(event.token, event.logprob), "top_logprobs": top})

    def _named(self, token: int, logprob: float) -> dict[str, Any]:
        data = self.context.pieces.get(token, b"")
        return {"token": data.decode("utf-8", "replace"), "logprob": max(logprob, -9999.0), "bytes": list(data)}

    def whole(self) -> dict[str, Any]:
        result = self.results[0]
        if result.reasoning:
            self._output.append(self._item("reasoning", result.reasoning))
        content = self.continued(0, result.content)
        if content or not result.tool_calls:
            self._output.append(self._item("message", content))
        self._output += self._calls(result)
        return self._ended(result)

    def _ended(self, result: GenerationResult) -> dict[str, Any]:
        response = self._response(result)
        self._keep(self._body, response)
        return response

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
            field, kind = ("input", "custom_tool_call_input") if "input" in call else ("arguments", _ARGUMENTS)
            yield self._event("response.output_item.added", item={**call, field: "", "status": "in_progress"})
            yield self._event(f"response.{kind}.delta", delta=call[field], **place)
            done = {field: call[field]} | ({"name": call["name"]} if kind == _ARGUMENTS else {})
            yield self._event(f"response.{kind}.done", **done, **place)
            yield self._event("response.output_item.done", item=call)
            self._output.append(call)

    def end(self) -> Iterator[bytes]:
        response = self._ended(self.results[0])
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
        part = _part(kind, text) | (
            {"logprobs": self._probabilities} if kind == "message" and self._probabilities else {}
        )
        if kind == "reasoning":
            return {"type": kind, "id": f"rs_{self.id}_{len(self._output)}", "summary": [], "content": [part]}
        status = "completed" if done else "in_progress"
        name = f"msg_{self.id}_{len(self._output)}"
        return {"type": kind, "id": name, "status": status, "role": "assistant", "content": [part]}

    def _calls(self, result: GenerationResult) -> list[dict[str, Any]]:
        return [
            self._one_call(index, name, call)
            for index, (name, call) in enumerate(zip(call_ids(result), result.tool_calls, strict=True))
        ]

    def _one_call(self, index: int, call_id: str, call: ToolCall) -> dict[str, Any]:
        """Return a call as its client knows the tool."""
        tool = self._tools.get(call.name) or OfferedTool(call.name)
        data: dict[str, Any] = {"call_id": call_id, "name": tool.name, "status": "completed"}
        data |= {"namespace": tool.space} if tool.space else {}
        if tool.takes_text:
            text = str(call.arguments.get("input") or "")
            return {"type": "custom_tool_call", "id": f"ctc_{self.id}_{index}", **data, "input": text}
        return {"type": "function_call", "id": f"fc_{self.id}_{index}", **data, "arguments": call.arguments_json}

    def _response(self, result: GenerationResult | None) -> dict[str, Any]:
        """Return the response so far; `result` None: it is being written."""
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
            "parallel_tool_calls": body.get("parallel_tool_calls") is not False,
            "previous_response_id": body.get("previous_response_id"),
            "store": body.get("store") is not False,
            "tool_choice": body.get("tool_choice") or "auto",
            "tools": body.get("tools") or [],
            "usage": None,
        }
        for name in ("instructions", "max_output_tokens", "temperature", "top_p", "metadata", "reasoning", "text"):
            response[name] = body.get(name)
        if result is not None:
            response["usage"] = _usage(result, self.reasoning_tokens)
            response |= facts(result)
        return response


_ARGUMENTS = "function_call_arguments"


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
