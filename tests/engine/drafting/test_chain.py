"""Several drafters one before the other: who proposes, who learns, and what stays in the draft's cache."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from engine.backends.base import Rewind
from engine.cancel import CancelToken
from engine.config import SamplingConfig, SpeculationConfig
from engine.drafting.base import Draft, Drafter, GoesOn
from engine.drafting.chain import ChainDrafter
from engine.drafting.draft_model import DraftModelDrafter
from engine.drafting.ngram import NgramDrafter, NgramOptions
from engine.errors import Cancelled
from helpers.decoding import joint
from helpers.decoding.fake_backend import FakeBackend
from helpers.decoding.joint import Setting
from helpers.decoding.ngram import two_core_cost
from helpers.seldom import often

GREEDY = SamplingConfig()
REPETITIVE = (1, 2, 3, 4) * 5


class Says(Drafter):
    """Proposes the tokens that it was given, as many as it may; remembers what it was told."""

    def __init__(self, name: str, *tokens: int, source: str = "", works_ahead: bool = False) -> None:
        self.name = name
        self.tokens = tokens
        self.told: list[tuple[str, Any]] = []
        self._source = source
        self._works_ahead = works_ahead

    @property
    def works_ahead(self) -> bool:
        return self._works_ahead

    def begin(self, prompt_tokens: Sequence[int], cancel: CancelToken) -> None:
        self.told.append(("begin", tuple(prompt_tokens)))
        self.forwards = 0

    def propose(self, n: int, goes_on: GoesOn | None = None) -> Draft:
        self.told.append(("propose", n))
        self.forwards += 1
        return Draft(self.tokens[:n], source=self._source)

    def propose_ahead(self, n: int, stop: Callable[[], bool]) -> Draft:
        self.told.append(("ahead", n))
        return Draft((9,) * n)

    def observe(self, committed_tokens: Sequence[int]) -> None:
        self.told.append(("observe", tuple(committed_tokens)))


def test_first_draft_that_is_not_empty() -> None:
    first, second, third = Says("a"), Says("b", 1, 2, 3), Says("c", 4)
    chain = ChainDrafter([(first, None), (second, None), (third, None)])
    chain.begin([7, 8], CancelToken())
    assert chain.name == "a+b+c"
    assert chain.propose(2).tokens == (1, 2)
    chain.observe([1, 5])
    assert first.told == second.told == [("begin", (7, 8)), ("propose", 2), ("observe", (1, 5))]
    assert third.told == [("begin", (7, 8)), ("observe", (1, 5))]
    assert chain.forwards == 2


def test_source_names_who_proposed() -> None:
    named = ChainDrafter([(Says("a"), None), (Says("b", 1), None)])
    assert named.propose(4) == Draft((1,), source="b")
    assert ChainDrafter([(Says("a", 1, source="its own"), None)]).propose(4).source == "its own"
    assert ChainDrafter([(Says("a"), None)]).propose(4) == Draft()


def test_each_part_has_its_own_limit() -> None:
    first, second = Says("a"), Says("b", *range(20))
    chain = ChainDrafter([(first, 16), (second, 4)])
    assert len(chain.propose(32).tokens) == 4
    assert len(chain.propose(3).tokens) == 3
    assert [told for told in first.told if told[0] == "propose"] == [("propose", 16), ("propose", 3)]
    assert len(ChainDrafter([(second, None)]).propose(12).tokens) == 12


def test_forwards_are_the_parts_own() -> None:
    chain = ChainDrafter([(Says("a"), None)])
    with pytest.raises(AttributeError, match="its own"):
        chain.forwards = 3


def test_the_part_that_proposed_works_ahead() -> None:
    index, model = Says("index"), Says("model", 1, 2, 3, works_ahead=True)
    chain = ChainDrafter([(index, 16), (model, 4)])
    assert chain.works_ahead
    assert not ChainDrafter([(index, 16)]).works_ahead

    def go_on() -> bool:
        return False

    assert chain.propose_ahead(8, go_on) == Draft()
    chain.propose(8)
    assert len(chain.propose_ahead(8, go_on).tokens) == 5
    assert len(chain.propose_ahead(1, go_on).tokens) == 1
    index.tokens = (4, 4)
    chain.propose(8)
    chain.propose_ahead(8, go_on)
    assert index.told[-1] == ("ahead", 8)
    model.tokens = index.tokens = ()
    chain.propose(8)
    assert chain.propose_ahead(8, go_on) == Draft()
    index.tokens = (4,)
    chain.propose(8)
    chain.begin([1], CancelToken())
    assert chain.propose_ahead(8, go_on) == Draft()


def _chain(backend: FakeBackend, sampling: SamplingConfig = GREEDY, seed: int = 7) -> ChainDrafter:
    model = DraftModelDrafter(backend, 6, sampling, seed)
    return ChainDrafter([(NgramDrafter(NgramOptions(least_gain=0.5), cost=two_core_cost), 16), (model, 4)])


@pytest.mark.parametrize("automatic", [False, True])
@pytest.mark.parametrize("rewind", [Rewind("any"), Rewind("snapshots", 1), Rewind("window", 8)])
def test_draft_keeps_up_while_the_index_proposes(rewind: Rewind, automatic: bool) -> None:
    """Its cache holds a prefix of the committed tokens after every round; with a fixed lookahead, at most two short.

    Behind rounds of the index it proposes what a draft proposes that reads all of it at once.
    """
    backend = FakeBackend(6, 2, rewind=rewind)
    chain = _chain(backend)
    committed = list(REPETITIVE)
    chain.begin(committed, CancelToken())
    sources = []
    for number in range(24):
        draft = chain.propose(16, (lambda *_: True) if automatic else None)
        sources.append(draft.source)
        if draft.source == "draft-model":
            fresh = DraftModelDrafter(FakeBackend(6, 2), 6, GREEDY, 7)
            fresh.begin(committed, CancelToken())
            assert draft.tokens == fresh.propose(len(draft.tokens)).tokens
        kept = list(draft.tokens[: (0, 3, len(draft.tokens))[number % 3]])
        follows = [*kept, (committed[-1] + 1 + number) % 6]
        chain.observe(follows)
        committed.extend(follows)
        held = list(backend.tokens)
        assert held == committed[: len(held)]
        assert automatic or len(held) >= len(committed) - 1 - 2
    assert {"ngram", "draft-model"} <= set(sources)


def test_proposals_drafted_ahead_do_not_outlive_the_index() -> None:
    """The draft worked ahead, then the index proposes: what does not hold any more leaves the cache."""
    backend = FakeBackend(6, 2)
    model = DraftModelDrafter(backend, 6, GREEDY, 7)
    index = Says("index")
    chain = ChainDrafter([(index, 16), (model, 4)])
    chain.begin([1, 2, 3], CancelToken())
    drafted = chain.propose(4).tokens
    ahead = chain.propose_ahead(5, lambda: False).tokens
    assert len(ahead) == 5
    index.tokens = (0, 0)
    chain.observe([*drafted, ahead[0]])
    committed = [1, 2, 3, *drafted, ahead[0]]
    chain.propose(8)
    other = (ahead[1] + 1) % 6
    chain.observe([other])
    assert list(backend.tokens) == committed
    index.tokens = ()
    fresh = DraftModelDrafter(FakeBackend(6, 2), 6, GREEDY, 7)
    fresh.begin([*committed, other], CancelToken())
    assert chain.propose(4).tokens == fresh.propose(4).tokens


def test_cancelled_chain_is_short_and_cheap() -> None:
    backend, cancel = FakeBackend(6, 2), CancelToken()
    chain = _chain(backend)
    chain.begin([1, 2, 3], cancel)
    cancel.cancel()
    backend.forwards.clear()
    assert chain.propose(8).tokens == ()
    chain.observe([])
    chain.observe([1, 2, 3, 4])
    assert backend.forwards == []
    with pytest.raises(Cancelled):
        chain.begin([5, 4, 3], cancel)


@pytest.mark.parametrize("temperature", often([0.7, 1.0], 1.0))
def test_sampled_text_is_the_targets(temperature: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """With proposals of both kinds: the index is judged by exact match, the draft by rejection."""
    monkeypatch.setattr(joint, "PROMPT", REPETITIVE)
    sources: list[str] = []

    class Watched(ChainDrafter):
        def propose(self, n: int, goes_on: GoesOn | None = None) -> Draft:
            draft = super().propose(n)
            sources.append(draft.source)
            return draft

    def make(backend: FakeBackend, vocab_size: int, sampling: SamplingConfig, seed: int, **_: Any) -> ChainDrafter:
        model = DraftModelDrafter(backend, vocab_size, sampling, seed)
        return Watched([(NgramDrafter(cost=two_core_cost), 16), (model, 4)])

    sampling = SamplingConfig(temperature=temperature)
    target = FakeBackend(6, 11)
    setting = Setting(target, FakeBackend(6, 23), sampling, SpeculationConfig(lookahead=8), make_drafter=make)
    samples = 2_000
    assert setting.p_value(samples) >= joint.ENOUGH
    assert min(sources.count("ngram"), sources.count("draft-model")) > samples / 2
