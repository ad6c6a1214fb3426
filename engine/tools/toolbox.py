"""Define the tools that a model is offered: those of several hosts, under names of which no two look alike."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from engine.cancel import CancelToken
from engine.errors import Cancelled, EngineError
from engine.messages.tools import freeze_tools
from engine.tools.tool import CALL_SECONDS, Tool, ToolHost, ToolOutput, one_line, plain_text

MOST_TOOLS = 128
"""Tools that a model is offered at once; more fill its context and are not found anyway."""
_LONGEST_NAME = 64
_OTHER = re.compile(r"[^A-Za-z0-9_-]+")


class Toolbox:
    """Hold the tools of hosts, and which of them are off.

    Hosts are asked once, when the box is made, which may block: make it on a worker thread. Of two tools whose names
    look alike that of the earlier host keeps its own, the other gets its host's name in front.

    Attributes: tools (all of them, by the name that the model sees), off (the keys of those that are switched off),
    problems (why a host has no tools, or not all, in a sentence, by its name).
    """

    def __init__(self, hosts: Sequence[ToolHost] = (), off: Iterable[str] = ()) -> None:
        self.off = set(off)
        self.tools: dict[str, Tool] = {}
        self.problems: dict[str, str] = {}
        self._hosts: dict[str, ToolHost] = {}
        taken: set[str] = set()
        for host in hosts:
            try:
                for tool in host.tools():
                    name = _free_name(tool, taken)
                    _check(tool)
                    taken.add(_looks(name))
                    self.tools[name], self._hosts[name] = tool, host
            except EngineError as error:
                self.problems[host.name] = str(error)

    @property
    def offered(self) -> dict[str, Tool]:
        """Return the tools that are on, by the name that the model sees, MOST_TOOLS at most."""
        on = [(name, tool) for name, tool in self.tools.items() if tool.key not in self.off]
        return dict(on[:MOST_TOOLS])

    @property
    def left_out(self) -> int:
        """Return the number of tools that are on and not offered, because there are too many."""
        return sum(tool.key not in self.off for tool in self.tools.values()) - len(self.offered)

    def switch(self, key: str, *, on: bool) -> None:
        """Switch the tool of a key on or off."""
        (self.off.discard if on else self.off.add)(key)

    def functions(self) -> list[dict[str, Any]]:
        """Return the tools that are on as the option `tools` of a request takes them."""
        return [_function(name, tool) for name, tool in self.offered.items()]

    def call(
        self, name: str, arguments: Mapping[str, Any], *, cancel: CancelToken, timeout: float = CALL_SECONDS
    ) -> ToolOutput:
        """Run a tool that is on, by the name that the model sees. Raises Cancelled and nothing else.

        Whatever goes wrong is an output that says so in a sentence.
        """
        tool = self.offered.get(name)
        if tool is None:
            return ToolOutput(no_such_tool(name, self), is_error=True)
        try:
            output = self._hosts[name].call(tool.name, arguments, cancel=cancel, timeout=timeout)
        except Cancelled:
            raise
        except Exception as error:  # noqa: BLE001 - a host may fail in its own ways, and the model gets the error
            said = one_line(str(error)) or type(error).__name__
            return ToolOutput(f"The tool {name} failed: {said}", is_error=True)
        return ToolOutput(plain_text(output.text), output.is_error, output.pictures)


def no_such_tool(name: str, toolbox: Toolbox) -> str:
    """Return the message for a model that called a missing tool, or one that is off."""
    there = ", ".join(toolbox.offered) or "none"
    return f"There is no tool {one_line(name, 64)}. There are: {there}."


@lru_cache(maxsize=4096)
def _check(tool: Tool) -> None:
    """Check a tool once: one that a request refuses would make every reply fail. Raises InvalidRequest."""
    freeze_tools([_function("tool", tool)])


def _function(name: str, tool: Tool) -> dict[str, Any]:
    said = {"name": name, "description": tool.description, "parameters": dict(tool.schema)}
    return {"type": "function", "function": said}


def _free_name(tool: Tool, taken: set[str]) -> str:
    name = _OTHER.sub("_", tool.name)[:_LONGEST_NAME] or "tool"
    if _looks(name) not in taken:
        return name
    longer = f"{_OTHER.sub('_', tool.server)[:20]}__{name}"[:_LONGEST_NAME]
    number = 2
    name = longer
    while _looks(name) in taken:
        end = f"_{number}"
        name, number = longer[: _LONGEST_NAME - len(end)] + end, number + 1
    return name


def _looks(name: str) -> str:
    """Return the same text for names that a person or a model may take for each other."""
    return re.sub(r"[_-]", "", name).casefold().translate(_LOOKALIKES)


_LOOKALIKES = str.maketrans("01i", "oll")
