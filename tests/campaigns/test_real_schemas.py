"""Published small models write JSON of schemas of chance that are bounded: it ends, is valid, has few blanks."""

import json
import random
from collections import Counter
from typing import Any

import jsonschema
import pytest

from engine import load
from helpers.campaigns import Campaign
from helpers.models.published import GEMMA, SMOL, published

MODELS = (SMOL, GEMMA)
REPLIES, MOST_TOKENS = 1_200, 120
LEAST_ENDED, MOST_BLANK = 0.99, 0.1
PROMPTS = ("Describe a person as JSON.", "Reply with JSON.", "What is there in the kitchen?", "Plan a day.")
NAMES = ("name", "age", "kind", "city", "parts", "next", "ok", "size")


def _word(draw: random.Random) -> dict[str, Any]:
    return {"type": "string", "pattern": f"^[a-z]{{1,{draw.randint(1, 4)}}}$"}


def _value(draw: random.Random) -> dict[str, Any]:
    """A value of a few tokens."""
    return draw.choice(
        (
            _word(draw),
            {"type": "integer", "minimum": 0, "maximum": draw.choice((9, 99, 1000))},
            {"type": "boolean"},
            {"enum": ["red", "green", 7, None]},
            {"type": ["integer", "null"], "minimum": -9, "maximum": 9},
        )
    )


def _object(parts: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": parts, "required": [*parts], "additionalProperties": False}


def flat(draw: random.Random) -> dict[str, Any]:
    """An object of up to four values."""
    return _object({name: _value(draw) for name in draw.sample(NAMES, draw.randint(1, 4))})


def nested(draw: random.Random) -> dict[str, Any]:
    """Objects and lists in each other."""
    items = {"type": "array", "items": _value(draw), "maxItems": 2}
    first, second = draw.sample(NAMES, 2)
    return _object({first: _object({"a": _value(draw), "b": items}), second: _word(draw)})


def recursive(draw: random.Random) -> dict[str, Any]:
    """A list of links, each of which may have another one, down to a depth."""
    below: dict[str, Any] = {"type": "null"}
    definitions = {}
    for depth in range(draw.randint(1, 3)):
        value = {"type": "integer", "minimum": 0, "maximum": 9}
        definitions[f"at{depth}"] = _object({"v": value, "next": below})
        below = {"anyOf": [{"type": "null"}, {"$ref": f"#/$defs/at{depth}"}]}
    return {"$defs": definitions, **below}


def optional(draw: random.Random) -> dict[str, Any]:
    """Parts that may be left out, texts by their length, lists of objects, choices between objects."""
    short: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": draw.randint(3, 8)}
    day = {"type": "string", "format": "date"}
    first, second, third = draw.sample(NAMES, 3)
    parts = {"kind": {"const": draw.choice(("a", "long one", 3))}, first: draw.choice((short, day, _value(draw)))}
    pairs = {"type": "array", "items": _object({"x": _value(draw)}), "minItems": 1, "maxItems": 2}
    either = {"anyOf": [_object({"a": short}), _object({"b": _value(draw)}), {"type": "boolean"}]}
    made = _object({**parts, second: pairs, third: either})
    return {**made, "required": draw.sample([*parts, second], draw.randint(0, 2))}


def tree(draw: random.Random) -> dict[str, Any]:
    """A tree whose branches are fewer and fewer, each level a definition that refers to the next one."""
    definitions: dict[str, Any] = {"level0": _object({"leaf": {"enum": draw.sample(NAMES, 2)}})}
    for depth in range(1, draw.randint(2, 3)):
        below = {"type": "array", "items": {"$ref": f"#/$defs/level{depth - 1}"}, "maxItems": 2}
        definitions[f"level{depth}"] = _object({"v": _word(draw), "below": below})
    return {"$defs": definitions, "$ref": f"#/$defs/level{len(definitions) - 1}"}


KINDS = {kind.__name__: kind for kind in (flat, nested, recursive, optional, tree)}


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("name", MODELS)
def test_bounded_schemas(name: str, campaign: Campaign) -> None:
    (path,) = published(name)
    draw, ended, most = random.Random(campaign.seed), Counter[str](), 0.0
    number = campaign.tries(REPLIES // len(MODELS))
    with load(path) as decoder:
        assert decoder.target is not None
        piece = decoder.target.tokenizer.piece
        for index in range(number):
            kind, temperature = [*KINDS][index % len(KINDS)], (0.0, 0.8, 1.0)[index // len(KINDS) % 3]
            schema = KINDS[kind](draw)
            result = decoder.generate(
                draw.choice(PROMPTS),
                constraint=schema,
                temperature=temperature,
                seed=campaign.seed + index,
                max_tokens=MOST_TOKENS,
                lookahead=draw.choice((0, 4)),
                method="ngram",
            )
            place = (kind, temperature, campaign.seed, index, result.content)
            ended[result.finish_reason] += 1
            if result.finish_reason == "stop":
                jsonschema.Draft202012Validator(schema).validate(json.loads(result.content))
            blank = sum(not text.strip() for text in map(piece, result.tokens) if text) / len(result.tokens)
            assert blank <= MOST_BLANK, place
            most = max(most, blank)
    campaign.note(ended=dict(ended), most_blank=round(most, 3))
    assert ended["stop"] >= LEAST_ENDED * number
