"""Read and write the values of generation fields as a person types them."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

from app.state.settings.generation import GENERATION, LONGEST_STOP, LONGEST_SYSTEM, MOST_STOPS, GenerationChoice
from engine import EngineError


def parse(name: str, text: str) -> Any:
    r"""Parse the text of a field. Raises InvalidRequest and its kinds, in the engine's words.

    A number may be written with a comma. Stop strings: one a line; \n, \t and \\ are a line's end, a tab, a backslash.
    """
    value: Any = text
    if name == "stop":
        value = tuple(_unescape(line) for line in text.split("\n") if line)
    elif GENERATION[name].kind in ("number", "whole"):
        value = _number(text.strip(), whole=GENERATION[name].kind == "whole")
        if value is None and not GENERATION[name].optional:
            value = ""
    replace(GenerationChoice(), **{name: value})
    return value


def check(name: str, text: str) -> str | None:
    """Check the text of a field by the engine's own rules. None: it is valid."""
    try:
        value = parse(name, text)
    except EngineError as error:
        return error.message
    if GenerationChoice().with_value(name, value) is None:
        most = {"stop": f"{MOST_STOPS} of {LONGEST_STOP:,} characters", "system": f"{LONGEST_SYSTEM:,} characters"}
        return f"{name} must be text, at most {most.get(name, 'short')}."
    return None


def show(name: str, choice: GenerationChoice) -> str:
    """Return the value of a field in the form for typing: `parse` reads it again."""
    value = getattr(choice, name)
    if value is None:
        return ""
    if name == "stop":
        return "\n".join(_escape(each) for each in value)
    if isinstance(value, float):
        return json.dumps(value).removesuffix(".0")
    return str(value)


def _number(text: str, *, whole: bool) -> float | int | str | None:
    """Return the number; text that is none stays text, which the engine refuses; None if nothing was typed."""
    if not text:
        return None
    try:
        if whole:
            return int(text)
        number = float(text.replace(",", ".", 1))
    except ValueError:
        return text
    return number if math.isfinite(number) else text


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")


_SIGNS = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\"}


def _unescape(line: str) -> str:
    found, rest = "", line
    while rest:
        sign, rest = rest[0], rest[1:]
        if sign == "\\" and rest[:1] in _SIGNS and rest:
            sign, rest = _SIGNS[rest[0]], rest[1:]
        found += sign
    return found
