"""The table of the draft methods, and a caller's own."""

import importlib
from collections.abc import Sequence

import pytest

import engine
from engine import (
    DRAFT_METHODS,
    METHODS,
    Draft,
    Drafter,
    DrafterContext,
    DraftMethod,
    InvalidRequest,
    NotAvailable,
    SpeculationConfig,
    SpeculativeDecoder,
)
from engine.cancel import CancelToken
from engine.config import Lookahead
from engine.methods import DRAFT_MODEL, NGRAM, SOURCES, find_method
from helpers.decoding.fake_backend import FakeBackend

PROMPT = (1, 2, 3, 1, 2, 3, 1, 2)


class Oracle(Drafter):
    """Propose a greedy target's next tokens."""

    name = "oracle"

    def __init__(self, context: DrafterContext) -> None:
        assert isinstance(context.target, FakeBackend)
        self.target = context.target
        self.text: list[int] = []

    def begin(self, prompt_tokens: Sequence[int], cancel: CancelToken) -> None:
        self.text = list(prompt_tokens)

    def propose(self, n: int, goes_on: engine.GoesOn | None = None) -> Draft:
        text = list(self.text)
        for _ in range(n):
            text.append(int(self.target.row(text).argmax()))
        return Draft(tuple(text[len(self.text) :]))

    def observe(self, committed_tokens: Sequence[int]) -> None:
        self.text.extend(committed_tokens)


ORACLE = DraftMethod("oracle", "Oracle", "what will come is proposed", Oracle, lookahead=3)


def _decoder() -> SpeculativeDecoder:
    decoder = SpeculativeDecoder()
    decoder.attach_target(FakeBackend(8, 1))
    return decoder


def test_the_names_that_were_known_still_are() -> None:
    assert METHODS[:4] == ("auto", "autoregressive", "draft-model", "ngram")
    assert {"medusa", "eagle2", "eagle3", "mtp"} < set(METHODS)
    assert SOURCES[:2] == ("ngram", "draft-model")
    assert len(set(METHODS)) == len(METHODS)


@pytest.mark.parametrize("method", DRAFT_METHODS, ids=lambda method: method.name)
def test_each_entry_is_whole(method: DraftMethod) -> None:
    assert find_method(method.name) is method
    assert method.label
    assert method.hint
    assert 1 <= method.lookahead <= engine.MAX_LOOKAHEAD
    SpeculationConfig(method=method.name)
    if method.available:
        assert isinstance(method.maker, str)
        module, _, name = method.maker.partition(":")
        assert callable(getattr(importlib.import_module(module), name))


def test_what_is_not_built_yet_says_so() -> None:
    later = DraftMethod("later", "Later", "what no version can do yet is proposed")
    with pytest.raises(NotAvailable, match="The method later is not available"):
        _decoder().generate(PROMPT, method=later)


def test_a_method_of_ones_own() -> None:
    with _decoder() as decoder:
        plain = decoder.generate(PROMPT, method="autoregressive", max_tokens=16)
        result = decoder.generate(PROMPT, method=ORACLE, max_tokens=16)
    assert result.tokens == plain.tokens
    assert (result.method, result.lookahead) == ("oracle", 3), "its own lookahead, where none is asked for"
    assert result.stats.accepted == result.stats.proposed == 12
    assert [each.name for each in result.stats.by_method] == ["oracle"]


@pytest.mark.parametrize("lookahead", [0, 1, 7, "adaptive", "auto"])
def test_it_takes_every_lookahead(lookahead: Lookahead) -> None:
    with _decoder() as decoder:
        plain = decoder.generate(PROMPT, method="autoregressive", max_tokens=24)
        result = decoder.generate(PROMPT, method=ORACLE, lookahead=lookahead, max_tokens=24)
    assert result.tokens == plain.tokens
    assert bool(result.stats.proposed) == (lookahead != 0)
    assert result.stats.accepted == result.stats.proposed


def test_it_leaves_what_is_known_of_the_pair_alone() -> None:
    with _decoder() as decoder:
        decoder.attach_draft(FakeBackend(8, 2))
        decoder.generate(PROMPT, method="draft-model", lookahead="auto", max_tokens=8)
        known = decoder._knowledge
        assert known is not None
        before = known.costs.draft()
        decoder.generate(PROMPT, method=ORACLE, lookahead="auto", max_tokens=40)
        assert known.costs.draft() == before


def test_what_makes_no_drafter_is_refused() -> None:
    with _decoder() as decoder:
        with pytest.raises(InvalidRequest, match="mine must make a Drafter, not int"):
            decoder.generate(PROMPT, method=DraftMethod("mine", "Mine", "nothing", lambda context: 3))
        with pytest.raises(NotAvailable, match="The method mine"):
            decoder.generate(PROMPT, method=DraftMethod("mine", "Mine", "nothing"))
        with pytest.raises(InvalidRequest, match="cannot be combined with the sources ngram"):
            decoder.generate(PROMPT, method=ORACLE, sources="ngram")


def test_indexes_cost_nothing_and_models_do() -> None:
    assert (NGRAM.is_index, NGRAM.needs) == (True, "nothing")
    assert (DRAFT_MODEL.is_index, DRAFT_MODEL.needs) == (False, "draft")
