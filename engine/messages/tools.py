"""Check the functions that a model may call, as requests and files describe them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from engine.errors import InvalidRequest
from engine.translatable import Translatable

_DEEPEST = 100

Tool = Mapping[str, Any]
"""A function in the form of OpenAI's chat interface: `{"type": "function", "function": {"name": …, …}}`."""


def freeze_tools(tools: object) -> tuple[Tool, ...]:
    """Return copies of functions in the form that chat templates read; () for None.

    Each may also be the inner object alone, of `name` (required), `description` and `parameters` (a JSON schema).
    Raises InvalidRequest.
    """
    if tools is None:
        return ()
    if not isinstance(tools, Sequence) or isinstance(tools, str | bytes):
        raise InvalidRequest(Translatable("Tools must be a list of functions."))
    return tuple(map(_tool, tools))


def described(tools: Sequence[Tool]) -> list[Tool]:
    """Return functions with an empty description and without parameters where they say nothing of them.

    What can be only some texts is said to be text: some families write other values in another way.
    """
    nothing = {"description": "", "parameters": {}}
    return [{**tool, "function": nothing | _text_typed(tool["function"])} for tool in tools]


def _text_typed(value: Any) -> Any:
    if isinstance(value, list):
        return list(map(_text_typed, value))
    if not isinstance(value, Mapping):
        return value
    choices = value.get("enum")
    texts = isinstance(choices, list) and choices and all(isinstance(each, str) for each in choices)
    return ({"type": "string"} if texts else {}) | {name: _text_typed(each) for name, each in value.items()}


def with_single_types(tools: Sequence[Tool]) -> list[Tool]:
    """Return functions with one type for each parameter: the first that is not null.

    The others are added to the parameter's description.
    """
    return list(map(_single_typed, tools))


def _single_typed(value: Any) -> Any:
    if isinstance(value, Mapping):
        made = {name: _single_typed(each) for name, each in value.items()}
        types = made.get("type")
        if not isinstance(types, list) or not types or not all(isinstance(each, str) for each in types):
            return made
        first = next((each for each in types if each != "null"), types[0])
        description = f"{made.get('description') or ''} ({' or '.join(types)})".strip()
        return made | {"type": first, "description": description}
    return list(map(_single_typed, value)) if isinstance(value, list) else value


def without_parameters(tool: Tool) -> Tool:
    """Return a function without its parameters, in place of such as a template cannot describe."""
    return {**tool, "function": {**tool["function"], "parameters": {"type": "object", "properties": {}}}}


def _tool(given: object) -> Tool:
    whole = given if isinstance(given, Mapping) and "function" in given else {"type": "function", "function": given}
    function = whole["function"]
    if not isinstance(function, Mapping) or not isinstance(name := function.get("name"), str) or not name:
        raise InvalidRequest(Translatable('Each function needs a "name", a "description" and "parameters".'))
    if whole.get("type", "function") != "function":
        raise InvalidRequest('The tool {name} must be of the type "function".', name=name)
    if not isinstance(function.get("description", ""), str):
        raise InvalidRequest('The "description" of {name} must be text.', name=name)
    if not isinstance(function.get("parameters", {}), Mapping):
        raise InvalidRequest('The "parameters" of {name} must be a JSON schema (an object).', name=name)
    try:
        copied: dict[str, Any] = json.loads(json.dumps({"type": "function", **whole}, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        raise InvalidRequest("The function {name} is not plain JSON.", name=name) from None
    if _depth(copied) > _DEEPEST:
        raise InvalidRequest("The function {name} is nested too deeply.", name=name)
    return copied


def _depth(value: object) -> int:
    """Return the depth of nested lists and objects."""
    depth, level = 0, [value]
    while level := [inner for part in level for inner in _within(part)]:
        depth += 1
    return depth


def _within(value: object) -> Iterable[object]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
