"""A host whose tools are functions, and a decoder that says the replies that it is told to."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from engine.cancel import CancelToken
from engine.events import Event, Finished, FinishReason, GenerationResult
from engine.messages.message import Message
from engine.messages.parts import ToolCall
from engine.stats import GenerationStats
from engine.tools.tool import Tool, ToolOutput

NOTHING: dict[str, Any] = {"type": "object", "properties": {}}


def tool(name: str, server: str = "here", *, writes: bool = False, schema: Mapping[str, Any] = NOTHING) -> Tool:
    return Tool(name, name.title(), f"Does {name}.", schema, server, writes)


class FunctionHost:
    """Stand in for a host of tools; `calls`: what was asked of it."""

    def __init__(self, functions: Mapping[str, Callable[..., object]], name: str = "here") -> None:
        self.name, self._functions = name, functions
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def tools(self) -> tuple[Tool, ...]:
        return tuple(tool(name, self.name) for name in self._functions)

    def call(
        self, tool_name: str, arguments: Mapping[str, Any], *, cancel: CancelToken, timeout: float = 1.0
    ) -> ToolOutput:
        self.calls.append((tool_name, dict(arguments)))
        said = self._functions[tool_name](**arguments)
        return said if isinstance(said, ToolOutput) else ToolOutput(str(said))

    def close(self) -> None:
        """Nothing to end."""


def reply(text: str = "", *calls: ToolCall, reason: FinishReason = "stop") -> GenerationResult:
    made = GenerationResult(text or "call", (1,), 1, 1, reason, "plain", 0, GenerationStats(), content=text)
    return GenerationResult(**{name: getattr(made, name) for name in made.__slots__} | {"tool_calls": calls})


class Replies:
    """Stand in for a decoder; `read`: the messages of each reply, `options`: what was asked of it."""

    def __init__(self, *replies: GenerationResult) -> None:
        self._replies = list(replies)
        self.cancel_token = CancelToken()
        self.read: list[list[Message]] = []
        self.options: list[dict[str, Any]] = []

    def stream(self, prompt: Sequence[Message], *, cancel: CancelToken, **options: Any) -> Iterator[Event]:
        self.read.append(list(prompt))
        self.options.append(options)
        yield Finished(self._replies.pop(0))
