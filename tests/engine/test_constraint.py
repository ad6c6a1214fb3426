"""Constraints: what they may be, and what they are refused for."""

import json
from typing import Any

import pytest

from engine.config import GenerationRequest
from engine.constraint import Constraint
from engine.decoder import SpeculativeDecoder
from engine.errors import InvalidRequest


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"not": {"type": "string"}}, "keywords that cannot be enforced: not."),
        ({"type": "array", "uniqueItems": True, "contains": {}}, "cannot be enforced: contains, uniqueItems."),
        ({"properties": {"a": {"if": {}, "then": {}}}}, "cannot be enforced: if, then."),
        ({"x-guidance": {"lenient": True}, "not": {}}, "cannot be enforced: not."),
        ({"oneOf": [{"type": "string"}, {"minLength": 2}]}, "Use anyOf instead."),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"$id": "other"}}}, "cannot be enforced: $id."),
        ({"type": "strin"}, "cannot be used: Invalid type: strin."),
        ({"type": "string", "pattern": "(?=a)b"}, "look-ahead"),
        ({"type": "string", "format": "shoe-size"}, "Unknown format: shoe-size."),
        ({"enum": [object()]}, "not plain JSON"),
    ],
)
def test_a_schema_that_cannot_be_kept_is_refused_in_words(schema: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidRequest) as error:
        Constraint.json_schema(schema)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Constraint("json-schema", "{"), "The JSON schema is not JSON"),
        (lambda: Constraint("json-schema", "[]"), "must be an object"),
        (lambda: Constraint("json-schema", "[" * 100_000), "The JSON schema is not JSON"),
        (lambda: Constraint("lark", "a" * 2_000_000), "The grammar is too long"),
        (lambda: Constraint.regex("[a-"), "The regular expression cannot be used"),
        (lambda: Constraint.lark("start: other"), 'unknown name: "other"'),
        (lambda: Constraint("poem"), "must be one of json, json-schema, regex, lark"),  # type: ignore[arg-type]
        (lambda: GenerationRequest("Hi", constraint=3), "not int"),  # type: ignore[arg-type]
        (lambda: GenerationRequest("Hi", constraint={}, tools=({"name": "f"},)), "exclude each other"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_constraint_is_refused_in_words(make: Any, said: str) -> None:
    with pytest.raises(InvalidRequest) as error:
        make()
    assert said in str(error.value)


def test_short_forms() -> None:
    schema = {"type": "integer"}
    made = GenerationRequest("Hi", constraint=schema).constraint  # type: ignore[arg-type]
    assert made == Constraint.json_schema(schema) == Constraint("json-schema", json.dumps(schema))
    assert GenerationRequest("Hi", constraint="json").constraint == Constraint.json()  # type: ignore[arg-type]
    assert hash(made) != hash(Constraint.json())


def test_an_unknown_kind_of_option_reaches_no_model() -> None:
    with pytest.raises(InvalidRequest, match="keywords that cannot be enforced: not"):
        SpeculativeDecoder().generate("Hi", constraint={"not": {}})
