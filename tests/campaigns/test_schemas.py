"""Replies are drawn under schemas of the JSON Schema Test Suite: what ended by itself is valid, and most did.

The suite comes with the source package of jsonschema, which pip fetches here; without it the test is skipped.
"""

import json
import tarfile
from collections import Counter
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from engine.backends.base import Backend
from engine.constraint import Constraint
from engine.decoder import SpeculativeDecoder
from engine.errors import InvalidRequest
from engine.library.names import bundled_pair
from helpers.campaigns import Campaign
from helpers.models.pairs import open_files
from helpers.processes import run_python

REPLIES, SCHEMAS = 2_000, 60
LONGEST = 1_200
"""Tokens."""
LEAST_ENDED = 0.98
ENDLESS = ("format",)
"""Left out: most formats have no greatest length, and end with what a model that knows none of them hardly writes."""
MORE_ENDS = 8.0
"""Added to the logits of quotes, brackets and ends: left alone, a small model of stories seldom ends a string, and
writes the digit 0 for ever, which a penalty prevents."""
DRAFT = "draft2020-12"
FORMATS = jsonschema.Draft202012Validator.FORMAT_CHECKER
DEEP: list[tuple[str, dict[str, Any]]] = [
    (
        "nested and recursive",
        {
            "$defs": {
                "node": {
                    "type": "object",
                    "properties": {
                        "kind": {"enum": ["leaf", "branch"]},
                        "name": {"type": "string", "pattern": "^[a-z]{1,8}$"},
                        "below": {"type": "array", "items": {"$ref": "#/$defs/node"}, "maxItems": 2},
                    },
                    "required": ["kind", "name"],
                    "additionalProperties": False,
                }
            },
            "$ref": "#/$defs/node",
        },
    ),
    (
        "an order",
        {
            "type": "object",
            "properties": {
                "day": {"type": "string", "format": "date"},
                "sum": {"type": "number", "minimum": 0, "maximum": 99.5},
                "parts": {
                    "type": "array",
                    "minItems": 1,
                    "maxItems": 4,
                    "items": {
                        "type": "object",
                        "properties": {
                            "code": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{3}$"},
                            "count": {"type": "integer"},
                        },
                        "required": ["code", "count"],
                        "additionalProperties": False,
                    },
                },
            },
            "required": ["day", "sum", "parts"],
            "additionalProperties": False,
        },
    ),
]


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("suite")
    wanted = f"jsonschema=={version('jsonschema')}"
    ask = ["-m", "pip", "download", "-q", "--no-deps", "--no-binary", "jsonschema", wanted]
    if run_python(*ask, "-d", str(folder), timeout=170).returncode:
        pytest.skip("pip cannot fetch the source package of jsonschema")
    with tarfile.open(next(folder.glob("jsonschema-*.tar.gz"))) as archive:
        archive.extractall(folder, filter="data")
    return next(folder.glob("jsonschema-*/json/tests")) / DRAFT


def _schemas(suite: Path) -> tuple[list[tuple[str, Any]], Counter[str]]:
    """Return those that can be kept to and that some value is valid by, and why others are refused."""
    found: list[tuple[str, Any]] = []
    refused = Counter[str]()
    for path in sorted(suite.glob("*.json")):
        if path.stem in ENDLESS:
            continue
        for case in json.loads(path.read_text("utf-8")):
            schema = case["schema"]
            if not isinstance(schema, dict) or not any(test["valid"] for test in case["tests"]):
                continue
            try:
                Constraint.json_schema(schema)
            except InvalidRequest as error:
                refused[str(error)] += 1
                continue
            found.append((f"{path.stem}: {case['description']}", schema))
    return found, refused


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_drawn_replies_are_valid(suite: Path, campaign: Campaign) -> None:
    kept, refused = _schemas(suite)
    chosen = [*DEEP, *(kept[index * len(kept) // (SCHEMAS - len(DEEP))] for index in range(SCHEMAS - len(DEEP)))]
    ended = Counter[str]()
    with open_files(*bundled_pair()) as decoder:
        assert decoder.target is not None
        bias = dict.fromkeys(_ends(decoder.target), MORE_ENDS)
        number = campaign.tries(REPLIES)
        for index in range(number):
            name, schema = chosen[index % SCHEMAS]
            reason = _draw(decoder, name, schema, campaign.seed + index, bias)
            ended[reason if reason == "stop" else f"{reason}: {name}"] += 1
    campaign.note(schemas=len(chosen), kept=len(kept), refused=sum(refused.values()), ended=dict(ended))
    assert ended["stop"] >= LEAST_ENDED * number


def _ends(target: Backend) -> set[int]:
    """Return the tokens that end something, and no more."""
    pieces = ((token, set(target.tokenizer.piece(token))) for token in range(target.vocab_size))
    closing, rest = set(b'"}]'), set(b", .!?\n")
    return {token for token, piece in pieces if piece & closing and piece <= closing | rest} | target.eos_token_ids


def _draw(decoder: SpeculativeDecoder, name: str, schema: dict[str, Any], seed: int, bias: dict[int, float]) -> str:
    ways: list[dict[str, Any]] = [
        {"lookahead": 4},
        {"lookahead": "auto"},
        {"lookahead": 0},
        {"lookahead": 6, "min_p": 0.02},
    ]
    result = decoder.generate(
        "Tell me of a small animal.",
        constraint=schema,
        temperature=1.0,
        logit_bias=bias,
        frequency_penalty=0.3,
        seed=seed,
        max_tokens=LONGEST,
        **ways[seed % 4],
    )
    if result.finish_reason == "stop":
        # Decimal: -12.1213 is a multiple of 0.0001, though not of the float that is nearest to it.
        value = json.loads(result.content, parse_float=Decimal)
        exact = json.loads(json.dumps(schema), parse_float=Decimal)
        problems = list(jsonschema.Draft202012Validator(exact, format_checker=FORMATS).iter_errors(value))
        assert not problems, (name, seed, result.content, problems[0].message)
    return result.finish_reason
