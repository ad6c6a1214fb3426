"""Trees that are chosen by cost bend nothing: drawn text is the target's, with both sources, and greedy text too."""

from collections import Counter
from typing import Any

import pytest

from engine.config import SamplingConfig
from engine.decoder import SpeculativeDecoder
from engine.drafting.tree_prices import TreePrices
from engine.errors import InvalidRequest
from engine.events import RoundEvent
from engine.lookahead.costs import CostModel
from engine.lookahead.knowledge import PairKnowledge
from helpers.decoding.fake_backend import FakeBackend
from helpers.decoding.invariants import follow
from helpers.decoding.joint import chi_square_p, exact_joint

FLAT = {n: 10.0 + 0.02 * n for n in range(1, 34)}
PROMPT = (1, 2)


class _Given(CostModel):
    """Costs that no round changes: verification is flat."""

    def observe_verify(self, n: int, ms: float) -> None: ...

    def observe_rest(self, proposed: int, ms: float) -> None: ...

    def observe_draft(self, tokens: int, ms: float, source: str = "") -> None: ...


def _decoder(*, trees: bool = True) -> SpeculativeDecoder:
    decoder = SpeculativeDecoder()
    decoder.attach_target(FakeBackend(6, 11, trees=trees))
    decoder.attach_draft(FakeBackend(6, 23))
    decoder._knowledge = PairKnowledge(_Given(FLAT, 0.2))
    return decoder


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"sources": ("draft-model",)}, id="draft", marks=pytest.mark.soak),
        pytest.param({"repeat_penalty": 1.3, "top_p": 0.95}, id="rules-and-index"),
        pytest.param({"draft_temperature": 0.0}, id="by-rank", marks=pytest.mark.soak),
    ],
)
def test_the_distribution_is_the_targets(options: dict[str, Any]) -> None:
    decoder, counts = _decoder(), Counter[tuple[int, ...]]()
    rules = {name: options[name] for name in ("repeat_penalty", "top_p") if name in options}
    proposed = beside = 0
    for seed in range(1_000):
        reply = decoder.generate(
            PROMPT, temperature=0.8, lookahead="auto", tree="auto", max_tokens=6, seed=seed, **options
        )
        counts[reply.tokens[:3]] += 1
        proposed += reply.stats.proposed
        beside += max(reply.stats.proposed_by_position, default=0) > reply.stats.rounds
    assert isinstance(decoder.target, FakeBackend)
    assert chi_square_p(counts, exact_joint(decoder.target, SamplingConfig(temperature=0.8, **rules))) >= 0.001
    assert proposed > 3_000
    assert beside > 300, "trees were proposed"


def test_greedy_text_is_the_targets_and_caches_hold_it() -> None:
    decoder = _decoder()
    plain = decoder.generate(PROMPT, temperature=0.0, max_tokens=60, lookahead=0)
    events = decoder.stream(
        PROMPT, temperature=0.0, max_tokens=60, lookahead="auto", tree="auto", sources=["draft-model"]
    )
    seen = follow(decoder, PROMPT, events)
    assert seen.result is not None
    assert seen.result.tokens == plain.tokens
    assert any(event.proposed > len(event.rejected) >= 0 for event in seen.rounds)
    assert seen.result.stats.target_forwards == seen.result.stats.rounds


def test_where_a_target_verifies_chains_only_there_are_chains(monkeypatch: pytest.MonkeyPatch) -> None:
    decoder = _decoder(trees=False)
    result = decoder.generate(PROMPT, temperature=0.0, max_tokens=20, tree="auto")
    assert any("chains only" in note for note in result.notes)
    assert max(result.stats.proposed_by_position) <= result.stats.rounds
    monkeypatch.setattr(TreePrices, "siblings", lambda *_: 3)
    assert max(decoder.generate(PROMPT, max_tokens=20, tree="auto").stats.proposed_by_position) <= result.stats.rounds


def test_after_trees_come_chains() -> None:
    """A chain behind a round with a tree begins where the text is."""
    decoder = _decoder()
    rounds = [
        event
        for event in decoder.stream(PROMPT, temperature=0.0, max_tokens=60, tree="auto", sources=["draft-model"])
        if isinstance(event, RoundEvent)
    ]
    assert sum(event.accepted for event in rounds) > 0


@pytest.mark.parametrize("lookahead", [3, "adaptive"])
def test_a_fixed_lookahead_has_no_trees_by_cost(lookahead: Any) -> None:
    with pytest.raises(InvalidRequest, match="by cost"):
        _decoder().generate(PROMPT, tree="auto", lookahead=lookahead, max_tokens=5)


def test_a_seed_settles_on_auto_where_trees_are_chosen() -> None:
    result = _decoder().generate(PROMPT, tree="auto", temperature=0.8, seed=3, max_tokens=5)
    assert result.lookahead == "auto"
    assert _decoder().generate(PROMPT, tree="auto", lookahead=0, max_tokens=5).stats.proposed == 0
