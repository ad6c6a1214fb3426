"""Make the constraint under which a reply is calls of given tools, in the form of the model's family."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from engine.backends.base import Tokenizer
from engine.chat.call_form import BARE, CALL_ID, CallForm, Tags, common_start, whole_tags
from engine.constraint import Constraint
from engine.errors import InvalidRequest
from engine.messages.tools import Tool

_IN_A_LINE = {
    "whitespace_flexible": False,
    "item_separator": ", ?",
    "key_separator": ": ?",
    "coerce_one_of": True,
    "lenient": True,
}
"""The forms of arguments. Parts of a schema that cannot be enforced are not: it describes a call, without a promise."""
_ANYTHING: dict[str, Any] = {"type": "object"}
_MOST_CALLS = 16
_ID = "/[a-zA-Z0-9]{9}/"


def calls_constraint(
    tools: Sequence[Tool], form: CallForm, tokenizer: Tokenizer, *, one: bool, other: Constraint | None = None
) -> Constraint:
    """Return the constraint to calls of these tools; `one`: a single one. `other`: the alternative to calls.

    Raises InvalidRequest.
    """
    functions = [tool["function"] for tool in tools]
    with suppress(InvalidRequest):
        return _Grammar(form, tokenizer, frozenset()).constraint(functions, one=one, other=other)
    return _Grammar(form, tokenizer, frozenset(_unusable(functions))).constraint(functions, one=one, other=other)


def bare_constraint(tools: Sequence[Tool]) -> Constraint:
    """Return the constraint to one call of these tools as plain JSON, with any blanks. Raises InvalidRequest."""
    calls = [
        {
            "type": "object",
            "properties": {"name": {"const": tool["function"]["name"]}, "arguments": _parameters(tool["function"])},
            "required": ["name", "arguments"],
            "additionalProperties": False,
        }
        for tool in tools
    ]
    return Constraint("json-schema", json.dumps({"anyOf": calls}), blanks="free")


def _unusable(functions: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the names of functions whose parameters cannot be enforced at all."""
    for function in functions:
        try:
            Constraint.lark(f"start: {_as_json(_parameters(function))}")
        except InvalidRequest:
            yield str(function["name"])


class _Grammar:
    """Write the grammar. `loose`: names of functions with any arguments."""

    def __init__(self, form: CallForm, tokenizer: Tokenizer, loose: frozenset[str]) -> None:
        self._form, self._loose = form, loose
        controls = {text: token.id for text, token in tokenizer.added_tokens.items() if token.control and text}
        self._controls = controls
        marks = sorted(controls, key=len, reverse=True)
        self._split = re.compile("|".join(map(re.escape, [CALL_ID, *marks])))
        self._lines: list[str] = []

    def constraint(self, functions: Sequence[Mapping[str, Any]], *, one: bool, other: Constraint | None) -> Constraint:
        if self._form.tags is not None and self._form.tags.quotes[0] and any(map(_nests, functions)):
            self._form = BARE  # How the family writes lists and objects is not known.
        if self._form.empty is None and not all(map(_takes_any, functions)):
            self._form = BARE  # A call without arguments is not read in this form.
        form = self._form
        names = [self._call(place, function) for place, function in enumerate(functions)]
        several = "" if one or form.between is None else f" ({self._text(form.between)} call){{0,{_MOST_CALLS - 1}}}"
        blanks = "/\\n{0,2}/" if form.blanks else ""
        calls = f"{blanks} {self._text(form.head)} call{several} {self._text(form.tail)}"
        self._lines.append(f"call: {' | '.join(names)}")
        self._lines.append(f"calls: {calls}")
        start = "calls" if other is None else f"calls | {self._other(other)}"
        return Constraint.lark("\n".join([f"start: {start}", *self._lines]))

    def _other(self, other: Constraint) -> str:
        self._lines.append(
            f"answer: {_as_json(_ANYTHING if other.kind == 'json' else json.loads(other.text), strict=True)}"
        )
        return "answer"

    def _call(self, place: int, function: Mapping[str, Any]) -> str:
        """Add the rules of one function; return the name of its rule."""
        form, rule = self._form, f"call{place}"
        name = str(function["name"])
        schema = _ANYTHING if name in self._loose else _parameters(function)
        if form.tags is None:
            quoted = self._text(json.dumps(name, ensure_ascii=False)[1:-1])
            first, second = (quoted, f"a{place}") if form.name_first else (f"a{place}", quoted)
            self._lines += [f"{rule}: {first} {self._text(form.middle)} {second}", f"a{place}: {_as_json(schema)}"]
        else:
            self._lines.append(f"{rule}: {self._text(name)} {self._tagged(place, schema, form.tags)}")
        return rule

    def _tagged(self, place: int, schema: Mapping[str, Any], tags: Tags) -> str:
        """Add the rules of arguments that are written one by one, in the order of the schema; return the first rule."""
        whole = schema.get("properties") or {}
        required, names = set(schema.get("required") or ()), list(whole)
        stop = _stop(tags)
        definitions = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
        # Of a rule for each place: n: behind other arguments, f: as the first.
        for index, key in enumerate(names):
            value = self._value(f"v{place}_{index}", whole[key], tags, stop, definitions)
            argument, behind = f"{self._text(key + tags.equals)} {value}", f"n{place}_{index + 1}"
            ended = index + 1 == len(names) and self._form.empty is None
            skip_first = "" if key in required or ended else f" | f{place}_{index + 1}"
            skip_next = "" if key in required else f" | n{place}_{index + 1}"
            self._lines.append(f"f{place}_{index}: {self._text(tags.opens)} {argument} {behind}{skip_first}")
            self._lines.append(
                f"n{place}_{index}: {self._text(tags.joins[len(stop) :])} {argument} {behind}{skip_next}"
            )
        last = len(names)
        self._lines.append(f"n{place}_{last}: {self._text(tags.closes[len(stop) :])}")
        if self._form.empty is not None:
            self._lines.append(f"f{place}_{last}: {self._text(self._form.empty)}")
        return f"f{place}_0"

    def _value(self, rule: str, schema: object, tags: Tags, stop: str, definitions: Mapping[str, Any]) -> str:
        """Add the rule of a value with its terminator behind it; return its name."""
        schema = schema if isinstance(schema, Mapping) else {}
        fixed = schema.get("enum", [schema["const"]] if "const" in schema else None)
        before, behind = map(self._text, tags.quotes)
        ending = self._text(stop)
        if isinstance(fixed, list) and fixed and all(isinstance(each, str) for each in fixed) and not tags.json:
            said = " | ".join(self._text(each) or '""' for each in fixed)
            self._lines.append(f"{rule}: {before} ({said}) {behind} {ending}")
        elif not _is_text(schema) or tags.json:
            described = {"type": "string", **schema} if tags.json and _is_text(schema) else schema
            first, then = map(self._text, ("", "") if tags.json and _is_text(schema) else tags.plain)
            self._lines.append(f"{rule}: {first} {_as_json({**described, **definitions})} {then} {ending}")
        elif self._split.match(tags.quotes[1] + stop):  # A control token ends it, which is no text.
            self._lines.append(f"{rule}: {before} /(?s:.*)/ {behind} {ending}")
        else:
            self._lines.append(f"{rule}: {before} {rule}_text")
            self._lines.append(f"{rule}_text[suffix={_quoted(tags.quotes[1] + stop)}]: /(?s:.*)/")
        return rule

    def _text(self, text: str) -> str:
        """Return a text as the grammar writes it: control tokens by their ids."""
        pieces, place = [], 0
        for found in self._split.finditer(text):
            pieces += [_quoted(text[place : found.start()])]
            pieces += [_ID if found[0] == CALL_ID else f"<[{self._controls[found[0]]}]>"]
            place = found.end()
        return " ".join(filter(None, [*pieces, _quoted(text[place:])]))


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False) if text else ""


def _as_json(schema: Mapping[str, Any], *, strict: bool = False) -> str:
    ways = {**_IN_A_LINE, **({"lenient": False, "coerce_one_of": False} if strict else {})}
    return f"%json {json.dumps({**schema, 'x-guidance': ways})}"


def _stop(tags: Tags) -> str:
    """Return the text that stands behind each value, whatever follows."""
    shared = common_start(tags.joins, tags.closes)
    return shared[: whole_tags(tags.joins, len(shared))]


def _parameters(function: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a function's arguments: an object of the named members, unless it allows more."""
    schema = {**(function.get("parameters") or {})}
    schema.pop("$schema", None)
    closed = _closed({"properties": {}, **schema, "type": "object"})
    return {"additionalProperties": False, **closed} if not _opens(schema) else closed


def _closed(schema: Any) -> Any:
    """Return a schema whose objects with named members allow no others, unless it permits them."""
    if isinstance(schema, list):
        return [_closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {
        key: value if key in ("enum", "const", "default", "examples") else _closed(value)
        for key, value in schema.items()
    }
    named = isinstance(schema.get("properties"), dict) and schema["properties"] and isinstance(schema.get("type"), str)
    return {**made, "additionalProperties": False} if named and not _opens(schema) else made


def _opens(schema: Mapping[str, Any]) -> bool:
    """Return True if a schema describes further members."""
    return bool(schema.keys() & {"additionalProperties", "patternProperties", "allOf", "anyOf", "oneOf", "$ref"})


def _is_text(schema: Mapping[str, Any]) -> bool:
    kinds = schema.get("type")
    return kinds == "string" or (
        kinds is None and not schema.keys() & {"$ref", "anyOf", "oneOf", "allOf", "enum", "const"}
    )


def _takes_any(function: Mapping[str, Any]) -> bool:
    """Return True if a function has arguments at all."""
    return bool((function.get("parameters") or {}).get("properties"))


def _nests(function: Mapping[str, Any]) -> bool:
    """Return True if an argument of a function may be other than a text, a number or a truth value."""
    plain = {"string", "number", "integer", "boolean"}
    values = (function.get("parameters") or {}).get("properties") or {}
    return any(not isinstance(each, Mapping) or each.get("type") not in plain for each in values.values())
