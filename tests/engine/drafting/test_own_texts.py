"""Drafting from a person's own texts: what was written before comes quicker, exactly; foreign texts cost little."""

from pathlib import Path

import pytest

from engine import bundled_pair, load
from engine.cancel import CancelToken
from engine.corpus.corpus import Corpus
from engine.decoder import SpeculativeDecoder
from engine.drafting.own_texts import OwnTextsDrafter
from engine.errors import ModelNotLoaded
from helpers.decoding.ngram import two_core_cost

_TEXT = [17 + 7 * n % 61 + n // 40 for n in range(300)]


def _corpus(*texts: list[int]) -> Corpus:
    corpus, left = Corpus(), iter(texts)
    corpus.update(((str(n), "", str) for n in range(len(texts))), lambda _text: next(left))
    return corpus


def _rounds(drafter: OwnTextsDrafter, prompt: list[int], reply: list[int]) -> tuple[int, float]:
    drafter.begin(prompt, CancelToken())
    done = rounds = 0
    spent = 0.0
    while done < len(reply):
        tokens = drafter.propose(16).tokens
        right = 0
        while right < len(tokens) and done + right < len(reply) and tokens[right] == reply[done + right]:
            right += 1
        drafter.observe(reply[done : done + right + 1])
        done, rounds, spent = done + right + 1, rounds + 1, spent + two_core_cost(1 + len(tokens))
    return rounds, spent


def test_a_text_written_before_is_drafted() -> None:
    drafter = OwnTextsDrafter(_corpus([1, 2, 3] * 30, _TEXT), 1000, cost=two_core_cost)
    rounds, spent = _rounds(drafter, [5, *_TEXT[:6]], _TEXT[6:200])
    assert rounds < 60
    assert spent < 110


def test_a_foreign_corpus_costs_next_to_nothing() -> None:
    misleading = [_TEXT[n : n + 4] + [900 + n % 50] * 8 for n in range(0, 290, 2)]
    drafter = OwnTextsDrafter(_corpus(*misleading), 1000, cost=two_core_cost)
    _, spent = _rounds(drafter, [5, *_TEXT[:6]], _TEXT[6:200])
    assert spent < 194 + 6


def test_a_token_that_the_target_lacks_is_never_proposed() -> None:
    drafter = OwnTextsDrafter(_corpus([7, 8, 9, 10, 11, 5000, 12]), 1000, cost=lambda n: 1.0)
    drafter.begin([7, 8, 9, 10], CancelToken())
    assert drafter.propose(8).tokens == (11,)


@pytest.fixture(scope="module")
def decoder():  # type: ignore[no-untyped-def]
    with load(bundled_pair()[0]) as decoder:
        yield decoder


def test_a_real_target_writes_the_same_text_in_fewer_rounds(decoder: SpeculativeDecoder, tmp_path: Path) -> None:
    plain = decoder.generate("Tell me a story about a fox.", max_tokens=96, temperature=0.0, lookahead=0)
    (tmp_path / "kept.txt").write_text(plain.text, encoding="utf-8")
    decoder.attach_corpus(["Something else altogether.", tmp_path])
    try:
        assert decoder.corpus is not None
        assert decoder.corpus.documents == 2
        found = decoder.generate(
            "Tell me a story about a fox.", max_tokens=96, temperature=0.0, lookahead=16, method="ngram"
        )
        auto = decoder.generate("Tell me a story about a fox.", max_tokens=96, temperature=0.0, lookahead="auto")
    finally:
        decoder.attach_corpus(None)
    assert found.tokens == plain.tokens == auto.tokens
    own = next(each for each in found.stats.by_method if each.name == "own-texts")
    assert own.accepted > 30
    assert found.stats.rounds < 60


def test_a_corpus_needs_a_target() -> None:
    with pytest.raises(ModelNotLoaded):
        SpeculativeDecoder().attach_corpus(["text"])
