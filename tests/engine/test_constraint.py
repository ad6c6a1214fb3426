"""Constraints: what they may be, and what they are refused for."""

import json
from functools import partial
from typing import Any

import pytest

from engine.config import GenerationRequest
from engine.constraint import Constraint
from engine.decoder import SpeculativeDecoder
from engine.errors import InvalidRequest
from engine.masks.reply_masks import ReplyMasks
from helpers.decoding.fakes import PieceTokenizer

REGEX = Constraint.regex("a")


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
        (lambda: GenerationRequest("Hi", constraint=REGEX, tools=({"name": "f"},)), "exclude each other"),
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


_SHAPE = {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer"}}, "b": {}}}
_PIECES = [b"", *(bytes((byte,)) for byte in range(32, 127)), b"\n"]
_LETTERS = PieceTokenizer(_PIECES, None, {0: "<end>"})


def _takes(constraint: Constraint, text: str) -> bool:
    masks = ReplyMasks(constraint, _LETTERS, len(_PIECES), frozenset({0}))
    tokens = [_PIECES.index(letter.encode()) for letter in text]
    return masks.fitting(0, [*tokens, 0]) == len(tokens) + 1


@pytest.mark.parametrize("made", [Constraint.json, lambda **more: Constraint.json_schema(_SHAPE, **more)])
def test_blanks_are_as_in_json_that_is_written_in_a_line(made: Any) -> None:
    value = {"a": [1, 2], "b": {"c": "x  y", "d": []}}
    indented = json.dumps(value, indent=2)
    compact, line = json.dumps(value, separators=(",", ":")), json.dumps(value)
    assert (_takes(made(), compact), _takes(made(), line)) == (True, False), "blanks in texts alone"
    made = partial(made, blanks="line")
    assert _takes(made(), line)
    assert _takes(made(), compact)
    odd = (
        indented,
        '{"a" : [1]}',
        '{"a":  [1]}',
        '{"a":[1 ,2]}',
        '{ "a":[1]}',
        '{"a":[1]} ',
        ' {"a":[1]}',
        '{"a":\n[1]}',
    )
    assert not [text for text in odd if _takes(made(), text)]
    assert _takes(made(blanks="free"), indented)
    with pytest.raises(InvalidRequest, match="Blanks must be"):
        made(blanks="many")


def test_a_reply_that_began_indented_goes_on_so() -> None:
    for begun, behind in (('{"a": [', b"1"), ('{"a":[1', b"]")):
        masks = ReplyMasks(Constraint.json_schema(_SHAPE), _LETTERS, len(_PIECES), frozenset({0}), begun=begun)
        assert masks.fitting(0, [_PIECES.index(behind)]) == 1
    begun = '{\n  "a": ['
    masks = ReplyMasks(Constraint.json_schema(_SHAPE), _LETTERS, len(_PIECES), frozenset({0}), begun=begun)
    assert masks.fitting(0, [_PIECES.index(b"1"), _PIECES.index(b"]"), _PIECES.index(b"\n")]) == 3
