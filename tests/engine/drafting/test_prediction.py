"""Drafting from a predicted reply: how far it carries, how it is found again, and what a wrong one costs."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from engine.cancel import CancelToken
from engine.checks import MOST_PREDICTED
from engine.config import MAX_LOOKAHEAD, GenerationRequest
from engine.drafting.prediction import PredictionDrafter
from engine.errors import InvalidRequest, TextNotEncodable, TokenOutOfRange
from engine.generation import sources
from helpers.decoding.ngram import two_core_cost
from helpers.models.pairs import open_files

_TEXT = [int(token) for token in np.random.default_rng(8).integers(10, 90, 400)]
"""Each token comes again about five times."""


def _written(reply: Sequence[int], prediction: Sequence[int], prompt: Sequence[int] = (1, 2)) -> tuple[int, float, int]:
    """Rounds, cost in times of one token, and proposals, if the target writes `reply` whatever is proposed."""
    drafter = PredictionDrafter(prediction, cost=two_core_cost)
    drafter.begin(prompt, CancelToken())
    done = rounds = proposed = 0
    spent = 0.0
    while done < len(reply):
        promised = drafter.promise(MAX_LOOKAHEAD)
        tokens = drafter.propose(MAX_LOOKAHEAD).tokens
        assert len(promised) == len(tokens)
        accepted = 0
        while accepted < len(tokens) and done + accepted < len(reply) and tokens[accepted] == reply[done + accepted]:
            accepted += 1
        drafter.observe(reply[done : done + accepted + 1])
        done, rounds, proposed = done + accepted + 1, rounds + 1, proposed + len(tokens)
        spent += two_core_cost(1 + len(tokens))
    return rounds, spent, proposed


def test_what_comes_true_is_proposed_from_the_first_token_on() -> None:
    rounds, spent, _ = _written(_TEXT, _TEXT)
    assert rounds <= len(_TEXT) / (MAX_LOOKAHEAD + 1) + 4
    assert spent < len(_TEXT) / 3


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param([*_TEXT[:200], 5, *_TEXT[201:]], id="replaced"),
        pytest.param([*_TEXT[:200], 5, 6, 7, *_TEXT[203:]], id="three replaced"),
        pytest.param([*_TEXT[:200], *range(5), *_TEXT[200:]], id="inserted"),
        pytest.param([*_TEXT[:150], *_TEXT[180:]], id="deleted"),
        pytest.param([*_TEXT[:50], *_TEXT[250:]], id="much deleted"),
        pytest.param([5, 6, 7, *_TEXT], id="begun otherwise"),
        pytest.param([*_TEXT[:100], 5, *_TEXT[100:200], 6, *_TEXT[201:300], *_TEXT[310:]], id="three changes"),
    ],
)
def test_a_change_is_passed_by(reply: Sequence[int]) -> None:
    rounds, spent, _ = _written(reply, _TEXT)
    assert rounds <= len(reply) / (MAX_LOOKAHEAD + 1) + 22
    assert spent < len(reply) / 2.2


def test_what_is_all_wrong_is_given_up() -> None:
    others = [token + 100 for token in _TEXT]
    shuffled = [int(token) for token in np.random.default_rng(9).permutation(_TEXT)]
    for reply, most in ((others, 20), (shuffled, 90)):
        rounds, spent, proposed = _written(reply, _TEXT)
        assert proposed < most
        assert spent <= len(reply) * 1.01 + 3.0
        assert rounds >= len(reply) * 0.9


def test_what_repeats_elsewhere_is_proposed_too() -> None:
    """Where the prediction ends or is lost, the index of the text knows something."""
    drafter = PredictionDrafter([3, 4], cost=two_core_cost)
    drafter.begin(_TEXT[:40], CancelToken())
    assert drafter.propose(8).source == "prediction"
    drafter.observe([3, 4, *_TEXT[10:30]])
    draft = drafter.propose(4)
    assert (draft.source, draft.tokens) == ("ngram", tuple(_TEXT[30 : 30 + len(draft.tokens)]))
    assert draft.tokens


def test_a_request_repeats() -> None:
    drafter = PredictionDrafter(_TEXT, cost=two_core_cost)
    drafter.begin([1], CancelToken())
    first = drafter.propose(32)
    drafter.observe([7, 8, 9])
    drafter.dozing = True
    drafter.observe(_TEXT[20:40])
    drafter.dozing = False
    assert drafter.propose(3).tokens == tuple(_TEXT[40:43])
    drafter.begin([1], CancelToken())
    assert drafter.propose(32) == first


def test_a_real_reply_is_the_same_in_far_fewer_rounds(
    bundled_target: Path, bundled_draft: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "_cost", lambda *_: two_core_cost)  # Whatever this machine does beside.
    question = "Tell me a story about a fox."
    with open_files(bundled_target, bundled_draft, threads=1, context_length=512) as decoder:
        plain = decoder.generate(question, max_tokens=96, lookahead=0)
        middle = len(plain.text) // 2
        edited = plain.text[: middle - 9] + " purple " + plain.text[middle:]
        for prediction in (edited, plain.tokens[3:], "Something else."):
            for lookahead in (32, "auto", "adaptive"):
                reply = decoder.generate(question, max_tokens=96, lookahead=lookahead, prediction=prediction)
                assert reply.tokens == plain.tokens
                if lookahead == 32 and prediction != "Something else.":
                    by_source = {each.name: each for each in reply.stats.by_method}
                    assert by_source["prediction"].accepted > 64
                    assert reply.stats.rounds < 32
        assert not decoder.generate(question, max_tokens=4, lookahead=0, prediction=edited).stats.proposed
        with pytest.raises(TokenOutOfRange):
            decoder.generate("x", prediction=[10**6])
        request = GenerationRequest("x", max_tokens=4, prediction="word " * 900)
        assert decoder.generate(request).stats.emitted == 4  # Longer than the context.


def test_wrong_predictions_are_refused() -> None:
    for wrong in (7, b"text", ["a"], [True], {"type": "content"}):
        with pytest.raises(InvalidRequest, match="must be a text, or a list of token ids"):
            GenerationRequest("x", prediction=wrong)  # type: ignore[arg-type]
    for long in ("é" * (MOST_PREDICTED // 2 + 1), [1] * (MOST_PREDICTED + 1)):
        with pytest.raises(InvalidRequest, match="The prediction is too long: it may have 262,144"):
            GenerationRequest("x", prediction=long)  # type: ignore[arg-type]
    with pytest.raises(TextNotEncodable):
        GenerationRequest("x", prediction="\ud800")
    assert GenerationRequest("x", prediction=None).prediction == ""  # type: ignore[arg-type]
