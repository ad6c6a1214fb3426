"""Host the built-in tools that are switched on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.cancel import CancelToken
from engine.tools.builtin.base import OUTRIDER, BuiltinTool, ToolRefused
from engine.tools.builtin.chats import SearchChats, SearchChatsTool
from engine.tools.builtin.clock import ClockTool
from engine.tools.builtin.folders import folder_tools
from engine.tools.tool import CALL_SECONDS, Tool, ToolOutput


@dataclass(frozen=True, slots=True)
class BuiltinChoice:
    """Select the built-in tools that are on; none are by default.

    `folders`: whose files may be read; `chats`: the function that searches the kept chats.
    """

    clock: bool = False
    calculator: bool = False
    pages: bool = False
    folders: tuple[Path, ...] = ()
    chats: SearchChats | None = None


class BuiltinHost:
    """Host some of our tools, as a ToolHost."""

    name = OUTRIDER

    def __init__(self, tools: Sequence[BuiltinTool]) -> None:
        self._tools = {each.tool.name: each for each in tools}

    def tools(self) -> tuple[Tool, ...]:
        """Return them."""
        return tuple(each.tool for each in self._tools.values())

    def call(
        self, tool_name: str, arguments: Mapping[str, Any], *, cancel: CancelToken, timeout: float = CALL_SECONDS
    ) -> ToolOutput:
        """Run one; a refusal is an output. Raises Cancelled."""
        try:
            return self._tools[tool_name].call(arguments, cancel, timeout)
        except ToolRefused as refused:
            return ToolOutput(str(refused), is_error=True)

    def close(self) -> None:
        """Do nothing: no tool of ours keeps anything running."""


def builtin_host(choice: BuiltinChoice) -> BuiltinHost:
    """Return the host of the tools that are on."""
    makers: list[tuple[bool, Callable[[], Sequence[BuiltinTool]]]] = [
        (bool(choice.folders), lambda: folder_tools(choice.folders)),
        (choice.pages, _page_tools),
        (choice.calculator, _calculating_tools),
    ]
    tools: list[BuiltinTool] = [ClockTool()] if choice.clock else []
    tools += [] if choice.chats is None else [SearchChatsTool(choice.chats)]
    return BuiltinHost([*tools, *(each for on, make in makers if on for each in make())])


def _page_tools() -> Sequence[BuiltinTool]:
    from engine.tools.builtin.web_page import FetchPageTool  # noqa: PLC0415 - what fetches nothing starts without it

    return [FetchPageTool()]


def _calculating_tools() -> Sequence[BuiltinTool]:
    from engine.tools.builtin.calculator import CalculateTool, PlotTool  # noqa: PLC0415 - as above

    return [CalculateTool(), PlotTool()]
