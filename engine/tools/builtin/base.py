"""Define built-in tools, and read the arguments that a model gives them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from engine.cancel import CancelToken
from engine.errors import EngineError
from engine.tools.tool import Tool, ToolOutput

OUTRIDER = "Outrider"
"""The name of the host of all of them, which no other host may have."""


class ToolRefused(EngineError):
    """Report the reason why a tool refuses a call; the model reads it."""


class BuiltinTool(Protocol):
    """Be one tool. Its methods are called on worker threads."""

    @property
    def tool(self) -> Tool:
        """Describe the tool."""

    def call(self, arguments: Mapping[str, Any], cancel: CancelToken, timeout: float) -> ToolOutput:
        """Run it. Raises ToolRefused, Cancelled."""


def own_tool(name: str, title: str, description: str, /, **arguments: Mapping[str, Any]) -> Tool:
    """Return a tool of ours. `arguments`: their schemas by name; one that says "optional" may be left out."""
    required = [each for each, schema in arguments.items() if not schema.get("optional")]
    properties = {each: {k: v for k, v in schema.items() if k != "optional"} for each, schema in arguments.items()}
    schema = {"type": "object", "properties": properties, "required": required}
    return Tool(name, title, description, schema, OUTRIDER, writes=False)


def text_argument(arguments: Mapping[str, Any], name: str, *, usual: str | None = None, most: int = 20_000) -> str:
    """Return an argument that is text. `usual`: the default. Raises ToolRefused."""
    value = arguments.get(name, usual)
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise ToolRefused(f'"{name}" must be text.')
    if len(value) > most:
        raise ToolRefused(f'"{name}" is longer than {most:,} characters.')
    return value


def number_argument(arguments: Mapping[str, Any], name: str, usual: int, least: int, most: int) -> int:
    """Return an argument that is a whole number, within these bounds. Raises ToolRefused."""
    value = arguments.get(name, usual)
    try:
        return min(max(int(value), least), most)
    except (TypeError, ValueError, OverflowError):
        raise ToolRefused(f'"{name}" must be a whole number.') from None
