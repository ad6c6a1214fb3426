"""Run the loop of tool calls: a reply, its calls, their results, the next reply, until one has no calls.

`run_tools` does all of it. Who has the decoder on another thread than the tools (a window) drives the same steps by
itself: `planned_calls` of a reply, a question about each, `run_call`, `result_message`, and the next reply.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Literal, NamedTuple, Unpack

from engine.cancel import CancelToken
from engine.errors import Cancelled
from engine.events import Event, Finished, GenerationResult
from engine.generation.responder import Responder
from engine.messages.message import Message
from engine.messages.parts import ToolCall, ToolResult
from engine.options import GenerationOptions
from engine.tools.permissions import Ask, Permission
from engine.tools.tool import CALL_SECONDS, Tool, ToolOutput
from engine.tools.toolbox import Toolbox, no_such_tool
from engine.translatable import Translatable

CALL_LIMIT = 8
"""The default limit of calls for one question."""
CALL_REFUSED = "The user does not allow this call. Answer without it."
"""Texts for the model are English, whatever language the window has."""


_ALREADY = "This call was made with the same arguments already, and"
_NOT_HINTED = (_ALREADY, CALL_REFUSED, "The user cancelled ", "Not run: ", "There is no tool ", "The tool ")
"""How the texts begin that say why a call has no result."""
_HINT = "This is the result of the tool {tool}. Answer the user with it, or call another tool if you need more."


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """Hold a call of a reply. `tool` None: it is not run, and nobody is asked; `problem` is the reason."""

    call: ToolCall
    tool: Tool | None
    problem: str = ""


class ToolCallAsked(NamedTuple):
    """Report that a person is asked about a call next."""

    call: ToolCall
    tool: Tool


class ToolCallStarted(NamedTuple):
    """Report that a call is allowed, and runs next."""

    call: ToolCall
    tool: Tool


class ToolCallEnded(NamedTuple):
    """Report a call's output, and the message with it. `tool` None: there is no such tool."""

    call: ToolCall
    tool: Tool | None
    output: ToolOutput
    message: Message
    seconds: float


class ToolsEnded(NamedTuple):
    """Report the end, as the last event. `messages`: the conversation, with all replies and results.

    `reason`: answered (the last reply calls nothing), limit (there were too many calls), or what ended a reply early.
    """

    messages: tuple[Message, ...]
    calls: int
    reason: Literal["answered", "limit", "cancelled", "error"]


ToolEvent = ToolCallAsked | ToolCallStarted | ToolCallEnded | ToolsEnded


def planned_calls(
    reply: GenerationResult | Message, toolbox: Toolbox, before: Sequence[Message] = ()
) -> tuple[PlannedCall, ...]:
    """Return the calls of a reply, each with its tool.

    `before`: the conversation before the reply. A call that repeats the last one there is not made again at once: small
    models do that rather than read its result, and answer after a hint.
    """
    return tuple(_planned(call, toolbox, before) for call in reply.tool_calls)


def _planned(call: ToolCall, toolbox: Toolbox, before: Sequence[Message]) -> PlannedCall:
    tool = toolbox.offered.get(call.name)
    if tool is None:
        return PlannedCall(call, None, no_such_tool(call.name, toolbox))
    result = before[-1].tool_result if before else None
    last = next((each.tool_calls[-1] for each in reversed(before) if each.tool_calls), None)
    repeated = last is not None and (last.name, last.arguments) == (call.name, call.arguments)
    if result is None or not repeated or result.text.startswith(_ALREADY):
        return PlannedCall(call, tool.asked_about(call.arguments))
    return PlannedCall(call, None, f"{_ALREADY} it gave: {result.text}\nAnswer the user now, without a call.")


def run_call(
    planned: PlannedCall, toolbox: Toolbox, *, cancel: CancelToken, timeout: float = CALL_SECONDS
) -> ToolOutput:
    """Run a call that was allowed, on a worker thread. Raises Cancelled and nothing else; then `cancel` is cleared."""
    if planned.tool is None:
        return ToolOutput(planned.problem, is_error=True)
    try:
        return toolbox.call(planned.call.name, planned.call.arguments, cancel=cancel, timeout=timeout)
    except Cancelled:
        cancel.clear()
        raise


def result_message(call: ToolCall, output: ToolOutput) -> Message:
    """Return the message with a call's result for the model."""
    text = output.text
    if output.pictures:
        text += ("\n" if text else "") + f"[The user sees {len(output.pictures)} pictures.]"
    if not text:
        text = "The tool failed and does not say why." if output.is_error else "Done."
    return Message("tool", [ToolResult(call.id, call.name, text)])


def with_hint(messages: Sequence[Message]) -> Sequence[Message]:
    """Say after a result that the conversation ends with what it is, for the one reply that follows.

    Small models take a bare result for something that the user says, and ask for the result: of 24 replies of
    Qwen2.5-Coder 1.5B to questions for one call 20 used its result, with the hint 22.
    """
    result = messages[-1].tool_result if messages else None
    if result is None or result.text.startswith(_NOT_HINTED):
        return messages
    text = f"{result.text}\n\n{_HINT.format(tool=result.name or 'that was called')}"
    hinted = ToolResult(result.call_id, result.name, text)
    return [*messages[:-1], Message("tool", [hinted if part is result else part for part in messages[-1].parts])]


def cancelled_message(call: ToolCall) -> Message:
    """Return the message for a call that the user cancelled, or went away from: every call has its result."""
    return result_message(call, ToolOutput("The user cancelled this call.", is_error=True))


def limit_message(call: ToolCall, limit: int) -> Message:
    """Return the message for a call that is not run because there were too many."""
    said = f"Not run: no more than {limit} calls are made for one question."
    return result_message(call, ToolOutput(said, is_error=True))


def run_tools(
    decoder: Responder,
    messages: Sequence[Message | Mapping[str, Any]],
    toolbox: Toolbox,
    ask: Ask,
    *,
    limit: int = CALL_LIMIT,
    cancel: CancelToken | None = None,
    timeout: float = CALL_SECONDS,
    **options: Unpack[GenerationOptions],
) -> Generator[Event | ToolEvent, None, None]:
    """Answer messages, with tools: the events of each reply, those of its calls, and ToolsEnded at the end.

    A tool's error is passed to the model as text, and so is a refused call. `must_call` is for the first reply alone.
    Raises what `stream` raises, and Cancelled where a question or a call was cancelled.
    """
    token = cancel or decoder.cancel_token
    said = [Message.from_mapping(each) for each in messages]
    made = 0
    while True:
        result: GenerationResult | None = None
        for event in decoder.stream(with_hint(said), cancel=token, **_with_tools(options, toolbox, first=made == 0)):
            yield event
            result = event.result if isinstance(event, Finished) else result
        if result is None:
            return
        calls = planned_calls(result, toolbox, said)
        if result.finish_reason in ("cancelled", "error") or not calls:
            early = result.finish_reason if result.finish_reason in ("cancelled", "error") else "answered"
            said += [result.message] if result.tokens or result.text else []
            yield ToolsEnded(tuple(said), made, early)
            return
        left = limit - made
        said.append(result.message)
        for planned in calls[:left]:
            made += 1
            message = yield from _called(planned, toolbox, ask, token, timeout)
            said.append(message)
        if len(calls) > left:
            said += [limit_message(planned.call, limit) for planned in calls[left:]]
            yield ToolsEnded(tuple(said), made, "limit")
            return


def _with_tools(options: GenerationOptions, toolbox: Toolbox, *, first: bool) -> GenerationOptions:
    with_tools: GenerationOptions = {**options, "tools": toolbox.functions()}
    if not first:
        with_tools.pop("must_call", None)
    return with_tools


def _called(
    planned: PlannedCall, toolbox: Toolbox, ask: Ask, cancel: CancelToken, timeout: float
) -> Generator[ToolEvent, None, Message]:
    call, tool, began = planned.call, planned.tool, perf_counter()
    if tool is None:
        output = ToolOutput(planned.problem, is_error=True)
    else:
        yield ToolCallAsked(call, tool)
        permission = ask(tool, call.arguments)
        if cancel.cancelled:
            cancel.clear()
            raise Cancelled(Translatable("The call"))
        began = perf_counter()
        if permission is Permission.never:
            output = ToolOutput(CALL_REFUSED, is_error=True)
        else:
            yield ToolCallStarted(call, tool)
            output = run_call(planned, toolbox, cancel=cancel, timeout=timeout)
    message = result_message(call, output)
    yield ToolCallEnded(call, tool, output, message, perf_counter() - began)
    return message
