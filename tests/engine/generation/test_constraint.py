"""Replies of real models under a constraint fit it, with a draft and without.

Tokens beside which none may come are proposed for nothing.
"""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from engine.constraint import Constraint
from engine.decoder import SpeculativeDecoder
from engine.errors import InvalidRequest
from engine.events import GenerationResult, RoundEvent
from engine.library.names import bundled_pair
from helpers.decoding.fakes import PieceTokenizer, ScriptedBackend
from helpers.models.pairs import open_files, open_shared

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "pattern": "^[A-Z][a-z]{1,8}$"},
        "animals": {"type": "array", "items": {"enum": ["fox", "owl", "badger"]}, "maxItems": 3},
        "friend": {"anyOf": [{"$ref": "#"}, {"type": "null"}]},
    },
    "required": ["name", "animals", "friend"],
    "additionalProperties": False,
}
WAYS: list[dict[str, Any]] = [
    {"lookahead": 0},
    {"lookahead": 4},
    {"lookahead": 3, "overlap": "on"},
    {"lookahead": 6, "method": "ngram"},
    {"lookahead": "auto"},
    {"force_n1": True},
]


def reply(decoder: SpeculativeDecoder, **options: Any) -> GenerationResult:
    return decoder.generate("Once upon a time", raw=True, constraint=SCHEMA, max_tokens=400, **options)


@pytest.mark.parametrize(
    ("target", "draft"),
    [
        ("stories260K-F32", "stories-draft43K-F32"),
        pytest.param("stories260K-F32", "stories-mamba131K-F32", marks=pytest.mark.soak),
        ("stories-mamba131K-F32", "stories-draft43K-F32"),
        ("stories260K-F32", "babyllama361-F32"),
    ],
)
def test_replies_fit_however_they_are_proposed(shared_models: Path, target: str, draft: str) -> None:
    with open_shared(target, draft) as decoder:
        plain = reply(decoder, lookahead=0)
        for way in WAYS:
            assert reply(decoder, **way).tokens == plain.tokens, way
            drawn = reply(decoder, temperature=1.0, seed=3, **way)
            if drawn.finish_reason == "stop":
                jsonschema.validate(json.loads(drawn.content), SCHEMA)
            assert drawn.stats.emitted == len(drawn.tokens)
    assert plain.text.startswith("{")


def test_tokens_beside_which_none_may_come_need_no_draft(shared_models: Path) -> None:
    constraint = Constraint.regex("The answer is (yes|no), and that is all\\.")
    with open_shared("stories260K-F32", None) as decoder:
        for lookahead in ("auto", 0):
            events = list(decoder.stream("Once", raw=True, constraint=constraint, lookahead=lookahead))
            rounds = [event for event in events if isinstance(event, RoundEvent)]
            forced = [event for event in rounds if event.source == "constraint"]
            assert len(forced) >= 2 if lookahead == "auto" else not forced
            assert all(event.accepted == event.proposed for event in forced)
            assert sum(event.proposed for event in forced) > (15 if forced else -1)
    with open_shared("stories260K-F32", "stories-draft43K-F32") as decoder:
        result = decoder.generate("Once", raw=True, constraint=constraint, lookahead=8, temperature=1.0, seed=1)
        assert result.stats.acceptance_rate > 0.8
        assert result.stats.draft_forwards < result.stats.emitted / 2


def test_the_bundled_pair_answers_in_a_chat() -> None:
    with open_files(*bundled_pair()) as decoder:
        result = decoder.generate("How old is the dragon?", constraint=Constraint.regex("[1-9][0-9]? years"))
    assert result.finish_reason == "stop"
    assert result.content.endswith(" years")


def test_the_answer_is_held_to_it_behind_the_thought() -> None:
    pieces = [b"", b"a", b"", b"", b"so", b"yes", b"no", b"y"]
    end, prompt, opening, closing, so, _, _, _ = range(8)
    markers = {end: "<end>", opening: "<think>", closing: "</think>"}

    def wants(history: Any) -> int:
        return [so, so, closing, so, so, so, so][min(len(history) - 2, 6)]

    decoder = SpeculativeDecoder()
    backend = ScriptedBackend(pieces, wants, eos_token_ids=[end], markers=markers)
    backend.tokenizer = PieceTokenizer(pieces, None, markers)
    decoder.attach_target(backend)
    result = decoder.generate([prompt, opening], constraint=Constraint.regex("yes|no"), max_tokens=9, lookahead=0)
    assert result.reasoning == "soso"
    assert result.content in ("yes", "no")
    assert result.finish_reason == "stop"


def test_a_reply_that_was_begun_goes_on_within_it() -> None:
    with open_files(*bundled_pair()) as decoder:
        messages = [{"role": "user", "content": "Hello!"}, {"role": "assistant", "content": "The sea is "}]
        result = decoder.generate(messages, constraint=Constraint.regex("The sea is (red|green)"))
        assert result.text in ("red", "green")
        with pytest.raises(InvalidRequest, match="does not fit"):
            decoder.generate(messages, constraint="json")
