"""Define constraints on a reply: JSON, JSON of a schema, a text of a regular expression or of a Lark grammar."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from engine.errors import InvalidRequest
from engine.system.deep_stack import with_deep_stack
from engine.translatable import Translatable

ConstraintKind = Literal["json", "json-schema", "regex", "lark"]
KINDS: tuple[ConstraintKind, ...] = ("json", "json-schema", "regex", "lark")
Blanks = Literal["compact", "line", "free"]
BLANKS: tuple[Blanks, ...] = ("compact", "line", "free")
_AS_TOLD = {"lenient": False, "coerce_one_of": False}
"""No keyword is ignored or weakened, whatever the schema says of itself."""
_BLANKS: dict[Blanks, dict[str, Any]] = {
    "compact": {"whitespace_flexible": False, "item_separator": ",", "key_separator": ":"},
    "line": {"whitespace_flexible": False, "item_separator": ", ?", "key_separator": ": ?"},
    "free": {"whitespace_pattern": r"[ ]|\n[ \t]{0,40}"},
}
"""The blanks between the parts of JSON. Small models that may write blanks anywhere write hardly anything else.
With most of them a blank before a number is a token of its own: up to a fifth of a short object's tokens."""
_UNKNOWN_KEYS = re.compile(r"Unimplemented keys: (\[.*\])")
_NAMES = {
    "json": Translatable("The constraint"),
    "json-schema": Translatable("The JSON schema"),
    "regex": Translatable("The regular expression"),
    "lark": Translatable("The grammar"),
}
_MOST_CHARACTERS = 2**20
_STACK_A_CHARACTER = 1024
"""Bytes. A chain of definitions takes up to 200 a character of its text (measured)."""
_LONG_NUMBERS = re.compile(r"-[0-9]{19}(?![0-9.eE])")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Constraint:
    """Constrain a reply. `text`: of the schema (JSON), the regular expression or the grammar (Lark).

    Regular expressions match the whole reply; they and the grammars follow llguidance: Rust's syntax without
    look-around. Schemas of JSON Schema 4 to 2020-12; keywords that cannot be enforced are refused. A constraint masks
    the target's distribution at every token: the reply is drawn from the target's own replies that fit.
    `blanks` of JSON: "compact", none between its parts; "line", one line as `json.dumps` writes it, with or without a
    blank after commas and colons; "free", a blank or an indented new line between any two parts, where small models
    may go astray.
    Raises InvalidRequest if it cannot be used.

    >>> Constraint.json_schema({"type": "integer", "minimum": 3}).kind
    'json-schema'
    """

    kind: ConstraintKind
    text: str = ""
    blanks: Blanks = "compact"
    grammar: str = field(init=False, repr=False, compare=False)
    """It all as llguidance reads it."""

    def __post_init__(self) -> None:
        if self.kind not in KINDS or not isinstance(self.text, str):
            raise InvalidRequest("A constraint must be one of {kinds}, with its text.", kinds=", ".join(KINDS))
        if self.blanks not in BLANKS:
            raise InvalidRequest(f"Blanks must be one of {', '.join(BLANKS)}, not {self.blanks!r}.")
        if len(self.text) > _MOST_CHARACTERS:
            raise InvalidRequest(
                "{what} is too long: the limit is {most:,} characters.", what=_NAMES[self.kind], most=2**20
            )
        object.__setattr__(self, "grammar", self._checked())

    @classmethod
    def json(cls, *, blanks: Blanks = "compact") -> Constraint:
        """Return the constraint to any JSON object."""
        return cls("json", blanks=blanks)

    @classmethod
    def json_schema(cls, schema: Mapping[str, Any] | bool, *, blanks: Blanks = "compact") -> Constraint:
        """Return the constraint to JSON that is valid by a schema. Raises InvalidRequest."""
        try:
            text = json.dumps(schema, allow_nan=False, ensure_ascii=False)
        except (TypeError, ValueError, RecursionError):
            raise InvalidRequest(Translatable("The JSON schema is not plain JSON.")) from None
        return cls("json-schema", text, blanks)

    @classmethod
    def regex(cls, pattern: str) -> Constraint:
        """Return the constraint to texts that a regular expression matches as a whole. Raises InvalidRequest."""
        return cls("regex", pattern)

    @classmethod
    def lark(cls, grammar: str) -> Constraint:
        """Return the constraint to the texts of a Lark grammar, whose first rule is `start`. Raises InvalidRequest."""
        return cls("lark", grammar)

    def _checked(self) -> str:
        """Return the grammar. Raises InvalidRequest if it is invalid, or cannot be enforced."""
        if self.kind == "lark" and "%json" in self.text:
            _refuse_lowest(map(int, _LONG_NUMBERS.findall(self.text)))
        text = json.dumps(_read_schema(self.text)) if self.kind == "json-schema" else self.text
        try:
            grammar, wrong = on_constraint_stack(lambda: _compiled(self.kind, text, self.blanks), text)
        except ValueError as error:
            raise InvalidRequest(self._reason(str(error))) from None
        if wrong:
            raise InvalidRequest(self._reason(wrong))
        return grammar

    def _reason(self, said: str) -> Translatable:
        """Return the complaint of the library."""
        keys = _UNKNOWN_KEYS.search(said)
        if keys is not None:
            return _unsupported(json.loads(keys[1]))
        if said.startswith("oneOf"):
            return Translatable(
                "The JSON schema uses oneOf whose parts may overlap, which cannot be enforced. Use anyOf instead."
            )
        reason = " ".join(said.split()).rstrip(".")
        return Translatable("{what} cannot be used: {reason}.", what=_NAMES[self.kind], reason=reason)


def on_constraint_stack(work: Callable[[], _T], text: str) -> _T:
    """Run llguidance on a grammar or a schema with a deep stack: it recurses for each rule or definition."""
    return with_deep_stack(work, len(text) * _STACK_A_CHARACTER)


def _compiled(kind: ConstraintKind, text: str, blanks: Blanks) -> tuple[str, str]:
    """Return the grammar in llguidance's form, and its error, or ''. Raises ValueError."""
    matcher: Any = importlib.import_module("llguidance").LLMatcher
    grammar: Any = text
    if kind in ("json", "json-schema"):
        schema = text if kind == "json-schema" else {"type": "object"}
        grammar = matcher.grammar_from_json_schema(schema, overrides=_AS_TOLD | _BLANKS[blanks])
    elif kind == "regex":
        grammar = matcher.grammar_from_regex(text)
    wrong, said = matcher.validate_grammar_with_warnings(grammar)
    return str(grammar), str(said[0]) if wrong else ""


def lark_of_gbnf(grammar: str) -> str:
    """Return a grammar of llama.cpp's notation as a Lark grammar. Raises InvalidRequest if it is invalid."""
    library: Any = importlib.import_module("llguidance.gbnf_to_lark")
    if len(grammar) > _MOST_CHARACTERS:
        raise InvalidRequest("{what} is too long: the limit is {most:,} characters.", what=_NAMES["lark"], most=2**20)
    try:
        return str(on_constraint_stack(lambda: library.gbnf_to_lark(grammar), grammar))
    except (library.GbnfToLarkError, ValueError, KeyError, IndexError, RecursionError) as error:
        reason = " ".join(str(error).split())[:200].rstrip(".") or "it is not complete"
        raise InvalidRequest("{what} cannot be used: {reason}.", what=_NAMES["lark"], reason=reason) from None


def as_constraint(value: object) -> Constraint | None:
    """Return a constraint as a request holds it: a mapping is a JSON schema, "json" any object.

    Raises InvalidRequest.
    """
    if value is None or isinstance(value, Constraint):
        return value
    if value == "json":
        return Constraint.json()
    if isinstance(value, Mapping):
        return Constraint.json_schema(value)
    raise InvalidRequest(f'A constraint must be a Constraint, a JSON schema or "json", not {type(value).__name__}.')


def _unsupported(names: list[str]) -> Translatable:
    return Translatable(
        "The JSON schema uses keywords that cannot be enforced: {names}. Leave them out.",
        names=", ".join(sorted(names)),
    )


def _read_schema(text: str) -> Any:
    """Return a schema. Raises InvalidRequest if it is invalid, or its references depend on nested names."""
    try:
        schema = json.loads(text)
    except json.JSONDecodeError as error:
        place = {"line": str(error.lineno), "column": str(error.colno)}
        raise InvalidRequest(
            Translatable("The JSON schema is not JSON: look at line {line}, character {column}.", **place)
        ) from None
    except (ValueError, RecursionError):
        raise InvalidRequest(Translatable("The JSON schema is not JSON that can be read.")) from None
    if not isinstance(schema, dict | bool):
        raise InvalidRequest(Translatable("The JSON schema must be an object."))
    fixed = [part.get(name) for part in _objects(schema) for name in ("const", "enum")]
    _refuse_lowest(number for number in _leaves(fixed) if isinstance(number, int))
    if isinstance(schema, dict) and "$ref" in text:
        below = [value for name, value in schema.items() if name not in ("$id", "id")]
        if any(isinstance(part.get(name), str) for part in _objects(below) for name in ("$id", "id")):
            raise InvalidRequest(_unsupported(["$id"]))
    return schema


def _refuse_lowest(numbers: Iterable[int]) -> None:
    """Raise InvalidRequest for a value at which llguidance calls itself without end, which ends the process."""
    found = next((number for number in numbers if -(2**63) <= number <= -(2**63) + 512), None)
    if found is not None:
        raise InvalidRequest("A constraint cannot have the value {number}. Choose one nearer to 0.", number=str(found))


def _objects(value: Any) -> list[dict[str, Any]]:
    """Return all objects within a JSON value."""
    return [part for part in _parts(value) if isinstance(part, dict)]


def _leaves(value: Any) -> list[Any]:
    """Yield the leaves of a JSON value."""
    return [part for part in _parts(value) if not isinstance(part, dict | list)]


def _parts(value: Any) -> list[Any]:
    """Return a JSON value and all that is within."""
    found, left = [], [value]
    while left:
        part = left.pop()
        found.append(part)
        left += part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    return found
