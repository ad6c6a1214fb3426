"""Read the tools that a request offers, in the forms of all interfaces, and which of them must be called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.errors import InvalidRequest
from engine.server.interfaces.unsupported import NotDone

_TEXT_INPUT = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
"""The parameters of a tool that takes one text, as a function."""
_OWN_SPACE = "functions"
"""The namespace whose functions are called by their names alone."""
_WISHES = {"auto": "auto", "none": "none", "required": "required", "any": "required", "": "auto"}
_CHOICES = '"tool_choice" must be "auto", "none" or "required", or name one of the tools.'


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """Hold a tool as its client knows it: its name, the namespace around it ('' none), and its input: text or not."""

    name: str
    space: str = ""
    takes_text: bool = False


@dataclass(frozen=True, slots=True)
class Offered:
    """Hold the functions that the model is shown, and which tool of the client each one is, by its name there."""

    functions: list[dict[str, Any]] = field(default_factory=list)
    tools: dict[str, OfferedTool] = field(default_factory=dict)

    def add(self, tool: OfferedTool, data: Mapping[str, Any]) -> None:
        """Offer a tool; of two with one name, the first."""
        name = shown_name(tool.name, tool.space)
        if name not in self.tools:
            self.tools[name] = tool
            kept = {key: data[key] for key in ("description", "parameters", "strict") if data.get(key) is not None}
            self.functions.append({"type": "function", "function": {"name": name, **kept}})

    def options(self, choice: object, left: NotDone, *, one_call: bool) -> dict[str, Any]:
        """Return the options of a request, by which of the tools are to be called. Raises InvalidRequest.

        A call that cannot be, since no such function is offered, is not demanded.
        """
        wish, names = _wish(choice, left)
        shown = [name for name in self.tools if not names or name in names or self.tools[name].name in names]
        if not shown and (names or wish == "required"):
            there = ", ".join(list(self.tools)[:20]) or "none"
            left.note(f"tool_choice {', '.join(names)[:60] or wish}: the functions are {there}")
            wish, names = "auto", ()
        if wish == "none" or not self.functions:
            return {}
        if wish == "auto" and names:  # Only these may be called.
            return {"tools": [f for f in self.functions if f["function"]["name"] in shown], "one_call": one_call}
        calls = {"must_call": tuple(shown)} if wish == "required" else {}
        return {"tools": self.functions, "one_call": one_call, **calls}


def shown_name(name: str, space: str = "") -> str:
    """Return the name under which the model is shown a tool of a namespace."""
    return name if space in ("", _OWN_SPACE) else f"{space.rstrip('_')}__{name}"


def read_tools(data: object, left: NotDone, *, custom_takes_text: bool = True) -> Offered:
    """Return the tools of a body; those that a server would have to run are left out. Raises InvalidRequest.

    `custom_takes_text`: a tool of the type "custom" takes one text, as with OpenAI; else it is a function.
    """
    offered = Offered()
    if data is None:
        return offered
    if not isinstance(data, list):
        raise InvalidRequest('"tools" must be a list of objects.')
    _read_into(offered, data, left, "", custom_takes_text=custom_takes_text)
    return offered


def _read_into(offered: Offered, data: list[Any], left: NotDone, space: str, *, custom_takes_text: bool) -> None:
    for tool in data:
        if not isinstance(tool, Mapping):
            raise InvalidRequest('"tools" must be a list of objects.')
        kind = tool.get("type") or ("function" if {"function", "name"} & tool.keys() else None)
        inner = tool.get(kind) if isinstance(kind, str) else None
        function: Mapping[str, Any] = inner if isinstance(inner, Mapping) else tool
        if kind == "namespace" and isinstance(tool.get("tools"), list) and not space:
            _read_into(offered, tool["tools"], left, _name(tool), custom_takes_text=custom_takes_text)
        elif kind == "custom" and custom_takes_text and "input_schema" not in tool:
            function = {"description": _described(function), "parameters": _TEXT_INPUT, "name": function.get("name")}
            offered.add(OfferedTool(_name(function), space, takes_text=True), function)
        elif kind in ("function", "custom"):
            schema = function.get("parameters", function.get("input_schema"))
            offered.add(OfferedTool(_name(function), space), {**function, "parameters": schema})
        else:
            left.note(f"tool {str(kind)[:60]}: nothing is run here")


def _name(data: Mapping[str, Any]) -> str:
    name = data.get("name")
    if not isinstance(name, str) or not name:
        raise InvalidRequest('Each tool needs a "name".')
    return name


def _described(data: Mapping[str, Any]) -> str:
    """Describe a tool that takes a text, with the grammar of that text."""
    shape = data.get("format")
    shape = shape.get("grammar", shape) if isinstance(shape, Mapping) else {}
    definition = shape.get("definition") if isinstance(shape, Mapping) else None
    parts = [
        str(data.get("description") or ""),
        f"The input is a text of this grammar:\n{definition}" if definition else "",
    ]
    return "\n\n".join(filter(None, parts))


def _wish(choice: object, left: NotDone) -> tuple[str, tuple[str, ...]]:
    """Read the choice of tools: may, must or must not be called, and which, by name; () any. Raises InvalidRequest."""
    if choice is None:
        return "auto", ()
    kind = choice.get("type") if isinstance(choice, Mapping) else choice
    if isinstance(kind, str) and kind in _WISHES:
        return _WISHES[kind], ()
    if isinstance(choice, str):
        raise InvalidRequest(_CHOICES)
    inner = choice.get(str(kind)) if isinstance(choice, Mapping) else None
    wish: Mapping[str, Any] = inner if isinstance(inner, Mapping) else choice if isinstance(choice, Mapping) else {}
    if kind == "allowed_tools" and isinstance(wish.get("tools"), list):
        names = tuple(filter(None, map(_chosen, wish["tools"])))
        return _WISHES.get(str(wish.get("mode")), "auto"), names
    if kind in ("function", "tool", "custom") and (name := _chosen(choice)):
        return "required", (name,)
    left.note(f"tool_choice {str(kind)[:40]}: it names no function")
    return "auto", ()


def _chosen(data: object) -> str:
    """Return the name of a tool that a choice names, '' where it names none."""
    inner = [data.get(str(data.get("type"))), data] if isinstance(data, Mapping) else []
    names: Iterator[Any] = (each.get("name") for each in inner if isinstance(each, Mapping))
    return next((name for name in names if isinstance(name, str)), "")
