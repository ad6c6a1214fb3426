"""Where no draft pays the drafter is left in peace: it reads no prompt, is told late, and catches up when asked."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from engine import bundled_pair, load
from engine.cancel import CancelToken
from engine.config import SamplingConfig
from engine.decoder import SpeculativeDecoder
from engine.drafting.base import Draft, Drafter, GoesOn
from engine.drafting.draft_model import DraftModelDrafter
from engine.generation.loop import GenerationLoop
from engine.lookahead.acceptance import AcceptanceModel
from engine.lookahead.costs import CostModel
from engine.lookahead.knowledge import PairKnowledge
from engine.lookahead.policy import AutoLookahead
from engine.methods import DRAFT_MODEL
from helpers.decoding.fake_backend import FakeBackend
from helpers.decoding.loop_plans import loop_plan
from helpers.decoding.translated import LETTERS, WORDS, drafter_for, ids, reciter

PROMPT = (1, 2, 3, 4)
DEAR = {n: 0.1 * n for n in range(1, 34)}
"""A model so small that twice the tokens take twice the time."""


class Fixed(CostModel):
    """Costs that no round changes: the demo's own are not what is meant."""

    def observe_verify(self, n: int, ms: float) -> None: ...

    def observe_draft(self, tokens: int, ms: float, source: str = "") -> None: ...

    def observe_rest(self, proposed: int, ms: float) -> None: ...


class Told(Drafter):
    """Proposes nothing and notes what it is told."""

    name = "told"

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self.times: list[int] = []
        self.ends = 0

    def begin(self, prompt_tokens: Sequence[int], cancel: CancelToken) -> None:
        assert self.resting
        self.tokens = list(prompt_tokens)

    def propose(self, n: int, goes_on: GoesOn | None = None) -> Draft:
        return Draft()

    def observe(self, committed_tokens: Sequence[int]) -> None:
        self.tokens.extend(committed_tokens)
        self.times.append(len(committed_tokens))
        self.ends += not committed_tokens


def _hopeless() -> AutoLookahead:
    return AutoLookahead(CostModel(DEAR, 0.1), {DRAFT_MODEL.name: AcceptanceModel(prior=0.1, weight=1_000.0)})


@pytest.mark.parametrize("length", [3, 150, 400])
def test_the_drafter_is_told_everything_but_late(length: int) -> None:
    drafter = Told()
    plan = loop_plan(FakeBackend(6, 11, context_length=1_000), drafter, SamplingConfig(), PROMPT, length=length)
    loop = GenerationLoop(replace(plan, proposing=replace(plan.proposing, policy=_hopeless())))
    for _ in loop.run():
        pass
    assert drafter.tokens == loop._committed
    assert len(drafter.tokens) == len(PROMPT) + length
    assert drafter.ends
    if length > 100:
        assert len(drafter.times) < length / 4
        assert max(drafter.times) > 30


def test_a_draft_model_that_rests_reads_when_it_is_asked() -> None:
    prompt, size = [1, 2, 5], 3
    drafts = []
    for resting in (False, True):
        backend = FakeBackend(6, 23, context_length=1_000)
        drafter = DraftModelDrafter(backend, 6, SamplingConfig(), 7)
        drafter.resting = resting
        drafter.begin(prompt, CancelToken())
        assert backend.length == (0 if resting else size - 1)
        drafts.append(drafter.propose(4))
        assert list(backend.tokens[:size]) == prompt
    assert drafts[0] == drafts[1]
    assert len(drafts[0].tokens) == 4


def test_a_translated_draft_that_rests_reads_when_it_is_asked() -> None:
    drafts = []
    for resting in (False, True):
        backend = reciter(LETTERS, "The cat sat.")
        drafter = drafter_for(backend)
        drafter.resting = resting
        drafter.begin(ids(WORDS, "The"), CancelToken())
        assert (backend.length == 0) == resting
        drafts.append(drafter.propose(3).tokens)
    assert drafts[0] == drafts[1] != ()


def test_a_real_draft_that_does_not_pay_reads_no_prompt() -> None:
    story = "Tell me a story about a shy dragon."
    with load(*bundled_pair()) as decoder:
        assert decoder.draft is not None
        plain = decoder.generate(story, lookahead=0, max_tokens=150)
        decoder.draft.truncate(0)
        _teach(decoder, CostModel(DEAR, 1.0))
        assert decoder._knowledge is not None
        decoder._knowledge.allowance.spend(10.0)
        auto = decoder.generate(story, max_tokens=8)
        assert auto.tokens == plain.tokens[:8]
        assert (decoder.draft.length, auto.stats.proposed) == (0, 0)
        auto = decoder.generate(story, max_tokens=150)
        assert auto.tokens == plain.tokens
        _teach(decoder, Fixed({n: 10.0 + 0.1 * n for n in range(1, 34)}, 0.1))
        auto = decoder.generate(story, max_tokens=150)
        assert auto.tokens == plain.tokens
        assert auto.stats.accepted > 50


def _teach(decoder: SpeculativeDecoder, costs: CostModel) -> None:
    decoder._knowledge = PairKnowledge(costs)
