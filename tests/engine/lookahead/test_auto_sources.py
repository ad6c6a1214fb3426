"""Auto chooses between the index, the draft model and plain decoding in each round, and the text stays the target's."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from engine import bundled_pair, load
from engine.backends.base import Rewind
from engine.cancel import CancelToken
from engine.config import SamplingConfig, SpeculationConfig
from engine.decoder import SpeculativeDecoder
from engine.drafting.ngram import NgramDrafter
from engine.events import RoundEvent
from engine.generation.sources import choose_sources
from engine.loading.source import Source
from engine.lookahead.acceptance import AcceptanceModel, ClaimModel
from engine.lookahead.costs import CostModel
from engine.lookahead.knowledge import PairKnowledge
from engine.lookahead.policy import Allowance, AutoLookahead
from engine.methods import DRAFT_MODEL
from helpers.decoding import joint
from helpers.decoding.fake_backend import FakeBackend
from helpers.decoding.joint import chi_square_p, exact_joint
from helpers.decoding.ngram import two_core_cost

REPETITIVE = (1, 2, 3, 4) * 5
FLAT = {n: 10.0 + 0.5 * n for n in range(1, 34)}


class Fixed(CostModel):
    """Costs that no round changes: what a fake takes is not what is meant."""

    def observe_verify(self, n: int, ms: float) -> None: ...

    def observe_draft(self, tokens: int, ms: float, source: str = "") -> None: ...


@dataclass
class Promises:
    """An index that promises what it is told to."""

    chances: Sequence[float] = ()
    name: str = "ngram"
    dozing: bool = False
    trying: bool = False
    looks: int = 0

    @property
    def hopes(self) -> Sequence[float]:
        return self.chances[:4]

    def promise(self, n: int) -> Sequence[float]:
        self.looks += 1
        return self.chances[:n]


def _policy(index: Promises, accepted: float = 0.6, *, drafts: bool = True, costs: CostModel | None = None) -> Any:
    model = AcceptanceModel(prior=accepted, weight=1_000.0)
    return AutoLookahead(costs or Fixed(FLAT, 1.0), {DRAFT_MODEL.name: model} if drafts else {}, index=index)


def test_the_source_of_the_better_rate() -> None:
    index = Promises()
    policy = _policy(index)
    assert policy.choose() > 0
    assert policy.source == "draft-model"
    of_the_draft = policy.speedup
    index.chances = (0.95,) * 12
    assert policy.choose() == policy.limit == 12
    assert policy.source == "ngram"
    assert policy.speedup > of_the_draft
    index.chances = (0.4,)
    assert policy.choose() > 1
    assert policy.source == "draft-model"


def test_the_index_must_be_clearly_better_than_the_draft_model() -> None:
    """Where it has something to say the draft is better than its average."""
    chances = [0.5 + 0.01 * step for step in range(50)]
    first: dict[str, float] = {}
    for chance in chances:
        policy = _policy(Promises((chance,) * 32), accepted=0.5)
        policy.choose()
        first.setdefault(policy.source, chance)
    alone = _policy(Promises((first["ngram"] - 0.02,) * 32), accepted=0.5)
    alone.INDEX_LEAD = 1.0
    alone.choose()
    assert alone.source == "ngram"
    assert first["ngram"] >= 0.6


def test_the_index_alone() -> None:
    index = Promises((0.9, 0.9, 0.9, 0.01))
    policy = _policy(index, drafts=False)
    assert policy.choose() == 3
    index.chances = ()
    assert policy.choose() == policy.limit == 0
    assert policy.speedup == 1.0
    steep = _policy(Promises((0.5,)), drafts=False, costs=Fixed({n: 10.0 * n for n in range(1, 34)}, 1.0))
    assert steep.choose() == 0


def test_an_index_that_promises_too_much_is_not_believed_for_long() -> None:
    policy = _policy(Promises((0.9,) * 4), drafts=False, costs=Fixed({n: 8.0 + 2.0 * n for n in range(1, 34)}, 1.0))
    chosen = []
    for _ in range(40):
        proposed = policy.choose()
        policy.observe(proposed, 0, 0.0, policy.costs.verify(proposed + 1))
        chosen.append(proposed)
    assert chosen[0] == 4
    assert not any(chosen[25:])


@pytest.mark.parametrize("wrong", ["costs", "claims"])
def test_an_index_that_would_pay_is_found_again(wrong: str) -> None:
    """What one token of many costs was learned beside a compiler, or all that it proposed before was wrong."""
    costs = CostModel({1: 5.0, 2: 10.0, 3: 15.0, 4: 20.0, 5: 25.0, 9: 45.0, 33: 165.0} if wrong == "costs" else FLAT)
    claims = ClaimModel()
    for _ in range(48 if wrong == "claims" else 0):
        claims.observe(1, 0, (0.99,))
    index = NgramDrafter(cost=lambda n: costs.verify(n) / costs.verify(1))
    index.begin([1, 2, 3, 4] * 10, CancelToken())
    policy = AutoLookahead(costs, {}, index=index, claims=claims)
    proposed, text = [], 0
    for _ in range(200):
        count = policy.choose()
        draft = index.propose(count).tokens if count else ()
        right = [token for place, token in enumerate(draft) if token == (text + place) % 4 + 1]
        policy.observe(len(draft), len(right), 0.0, 5.0 + 0.2 * len(draft))
        index.observe([(text + place) % 4 + 1 for place in range(len(right) + 1)])
        text += len(right) + 1
        proposed.append(len(draft))
    assert sum(count > 0 for count in proposed[100:]) > 90
    assert text > 500


def test_what_the_index_proposed_tells_nothing_of_the_draft_model() -> None:
    policy = _policy(Promises((0.99,) * 4))
    before = policy.acceptance.at(0), policy.costs.draft()
    policy.choose()
    policy.observe(4, 0, 0.01, 12.0, ())
    assert (policy.acceptance.at(0), policy.costs.draft()) == before


def test_the_draft_model_keeps_up_while_it_would_pay() -> None:
    policy = _policy(Promises((0.99,) * 8))
    for _ in range(20):
        policy.choose()
        policy.observe(8, 8, 0.01, 14.0)
    assert policy.source == "ngram"
    assert not policy.resting


@pytest.mark.parametrize(
    ("spent", "plain_ms", "looks"),
    [(0.0, 0.1, 5), (0.0, 1.0, 25), (0.0, 10.0, 224), (9.0, 0.1, 3), (9.0, 1.0, 23), (9.0, 10.0, 224)],
)
def test_where_nothing_pays_looks_take_a_share_of_the_time(spent: float, plain_ms: float, looks: int) -> None:
    """A model without size feels even a look; what an earlier reply found holds."""
    verify = {n: plain_ms * (0.4 + 0.6 * n) for n in range(1, 34)}
    costs, index, allowance = Fixed(verify, plain_ms), Promises(), Allowance()
    allowance.spend(spent)
    policy = AutoLookahead(costs, {DRAFT_MODEL.name: AcceptanceModel(0.1, 1_000.0)}, allowance, index=index)
    for _ in range(224):
        proposed = policy.choose()
        if not policy.asleep:
            policy.observe(proposed, 0, plain_ms * proposed, verify[proposed + 1])
    assert index.looks == pytest.approx(looks, abs=2)
    index.chances = (0.99,) * 32
    waited = 0
    while not policy.choose():
        policy.observe(0, 0, 0.0, plain_ms)
        waited += 1
    assert waited <= 128
    assert not policy.asleep
    assert not index.dozing


def _looks_beside_a_draft_that_pays(plain_ms: float) -> tuple[int, int]:
    """How often 80 rounds look at an index without a promise, and how many rounds later a promise is taken."""
    verify = {n: plain_ms * (1.0 + 0.05 * n) for n in range(1, 34)}
    index = Promises()
    policy = _policy(index, costs=Fixed(verify, 0.01 * plain_ms))
    for _ in range(80):
        proposed = policy.choose()
        policy.observe(proposed, min(proposed, 1), 0.01 * plain_ms * proposed, verify[proposed + 1], (0.5,) * proposed)
    looks = index.looks
    index.chances = (0.99,) * 32
    for waited in range(80):
        proposed = policy.choose()
        if policy.source == "ngram":
            return looks, waited
        policy.observe(proposed, min(proposed, 1), 0.01 * plain_ms * proposed, verify[proposed + 1], (0.5,) * proposed)
    raise AssertionError("the index was never asked again")


def test_an_index_without_a_promise_is_looked_at_seldom_where_looks_are_felt() -> None:
    looks, waited = _looks_beside_a_draft_that_pays(0.2)
    assert looks <= 19
    assert waited <= 8
    looks, waited = _looks_beside_a_draft_that_pays(20.0)
    assert looks >= 76, "all rounds but those of plain decoding that find out what it costs"
    assert waited == 0


def test_a_draft_that_never_pays_is_looked_at_seldom_without_an_index_too() -> None:
    verify = {n: 0.2 * n for n in range(1, 34)}
    policy = AutoLookahead(Fixed(verify, 0.2), {DRAFT_MODEL.name: AcceptanceModel(0.1, 1_000.0)})
    proposals = 0
    for _ in range(400):
        proposed = policy.choose()
        proposals += proposed > 0
        if not policy.asleep:
            policy.observe(proposed, 0, 0.2 * proposed, verify[proposed + 1])
    assert proposals <= 4
    assert policy.speedup == 1.0


def test_an_index_that_dozed_reads_on() -> None:
    drafter = NgramDrafter(cost=two_core_cost)
    drafter.begin([1, 2, 3, 4, 5, 6, 7, 8], CancelToken())
    drafter.dozing = True
    for token in (1, 2, 3):
        drafter.observe([token])
    drafter.dozing = False
    drafter.observe([4])
    assert drafter.propose(4).tokens == (5, 6, 7)
    drafter.dozing = True
    drafter.observe([5, 6])
    drafter.dozing = False
    assert len(drafter.promise(2)) == 2
    assert drafter.propose(2).tokens == (7, 8)


def test_an_index_promises_what_it_proposes() -> None:
    index = NgramDrafter(cost=two_core_cost)
    index.begin(REPETITIVE, CancelToken())
    for most in (2, 12):
        chances = index.promise(most)
        assert len(chances) == len(index.propose(most).tokens) == most
        assert all(0.5 < chance < 1.0 for chance in chances)
    index.begin((1, 2, 3), CancelToken())
    assert not index.promise(16)


@pytest.mark.parametrize(
    ("options", "has_draft", "sources"),
    [
        ({"lookahead": "auto"}, True, ("ngram", "draft-model")),
        ({"lookahead": "auto"}, False, ("ngram",)),
        ({"lookahead": "auto", "method": "draft-model"}, True, ("draft-model",)),
        ({"lookahead": "auto", "method": "ngram"}, True, ("ngram",)),
        ({"lookahead": "auto", "method": "autoregressive"}, True, ()),
        ({"lookahead": 4}, True, ("draft-model",)),
        ({"lookahead": 4}, False, ()),
        ({"lookahead": 0}, True, ()),
    ],
)
def test_sources(options: dict[str, Any], has_draft: bool, sources: tuple[str, ...]) -> None:
    loaded = [Source(DRAFT_MODEL, FakeBackend(6, 23))] if has_draft else []
    chosen = choose_sources(SpeculationConfig(**options), loaded)[1]
    assert tuple(source.method.name for source in chosen) == sources


def _decoder(target: FakeBackend | None = None) -> SpeculativeDecoder:
    decoder = SpeculativeDecoder()
    decoder.attach_target(target or FakeBackend(6, 11))
    decoder.attach_draft(FakeBackend(6, 23))
    return decoder


@pytest.mark.parametrize(
    ("options", "lookahead"),
    [
        ({}, "auto"),
        ({"temperature": 1.0}, "auto"),
        ({"temperature": 1.0, "seed": 1}, 4),
        ({"temperature": 1.0, "seed": 1, "acceptance": "exact"}, "auto"),
        ({"method": "ngram"}, 16),
        ({"method": "draft-model"}, "auto"),
        ({"temperature": 1.0, "seed": 1, "sources": ("ngram", "draft-model")}, 16),
        ({"temperature": 1.0, "seed": 1, "lookahead": "auto"}, "auto"),
        ({"seed": 1}, "auto"),
        ({"force_n1": True}, 4),
        ({"force_n1": True, "lookahead": "auto"}, 4),
    ],
)
def test_the_default_is_auto_but_a_seed_repeats(options: dict[str, Any], lookahead: object) -> None:
    results = [_decoder().generate(REPETITIVE, max_tokens=12, **options) for _ in range(2)]
    assert results[0].lookahead == lookahead
    if "seed" in options and options.get("lookahead") != "auto":
        assert results[0].tokens == results[1].tokens


def test_one_token_at_a_time_is_plain() -> None:
    result = _decoder(FakeBackend(6, 11, rewind=Rewind("none"))).generate(REPETITIVE, max_tokens=12)
    assert (result.lookahead, result.stats.proposed, result.stats.draft_forwards) == ("auto", 0, 0)


def test_rounds_say_what_was_expected() -> None:
    fixed = [e for e in _decoder().stream(REPETITIVE, max_tokens=8, lookahead=2) if isinstance(e, RoundEvent)]
    assert {event.speedup for event in fixed} == {None}
    decoder = _decoder()
    decoder._knowledge = PairKnowledge(Fixed(FLAT, 1.0))
    rounds = [e for e in decoder.stream(REPETITIVE, max_tokens=40) if isinstance(e, RoundEvent)]
    assert all(event.speedup is not None and event.speedup >= 1.0 for event in rounds)
    assert max(event.speedup or 0.0 for event in rounds) > 1.2
    assert {"ngram", "draft-model"} <= {event.source for event in rounds}


def test_drawn_text_is_the_targets(monkeypatch: pytest.MonkeyPatch) -> None:
    """With both kinds of proposals, chosen by what the rounds before have taught."""
    monkeypatch.setattr(joint, "PROMPT", REPETITIVE)
    monkeypatch.setattr(AutoLookahead, "INDEX_LEAD", 0.0)
    target = FakeBackend(6, 11)
    decoder = _decoder(target)
    decoder._knowledge = PairKnowledge(Fixed(FLAT, 0.2))
    counts: Counter[tuple[int, ...]] = Counter()
    sources: Counter[str] = Counter()
    for seed in range(1_500):
        result = decoder.generate(REPETITIVE, temperature=1.0, lookahead="auto", max_tokens=6, seed=seed)
        counts[result.tokens[:3]] += 1
        sources.update({method.name: method.proposed for method in result.stats.by_method})
    assert chi_square_p(counts, exact_joint(target, SamplingConfig(temperature=1.0))) >= 0.001
    assert min(sources["ngram"], sources["draft-model"]) > 360


def test_real_pair_says_the_same_and_uses_both() -> None:
    """Asked for a copy, and for a story; costs are given, as the demo's own are too small to pay."""
    again = "the cat sat on the mat, the dog sat on the log, the cat sat on the mat, the dog sat on the"
    sources: Counter[str] = Counter()
    with load(*bundled_pair()) as decoder:
        for prompt, raw in ((again, True), ("Tell me a story about a shy dragon.", False)):
            plain = decoder.generate(prompt, lookahead=0, max_tokens=60, raw=raw)
            decoder._knowledge = PairKnowledge(Fixed(FLAT, 0.5))
            auto = decoder.generate(prompt, lookahead="auto", max_tokens=60, raw=raw)
            assert auto.tokens == plain.tokens
            sources.update({method.name: method.accepted for method in auto.stats.by_method})
    assert min(sources["ngram"], sources["draft-model"]) > 10


_COSTS = (1.0, 1.1, 1.25, 1.4, 1.7, 1.9, 2.1, 2.3, 2.7)


def _cost(n: int) -> float:
    return 30.0 * (_COSTS[n - 1] if n <= len(_COSTS) else _COSTS[-1] + 0.3 * (n - len(_COSTS)))


def _reply(policy: Any, rate: float, rng: random.Random, disturb: Callable[[], float], length: int = 64) -> float:
    """The milliseconds of a reply by the true costs; the policy sees disturbed ones."""
    written, spent = 0, 0.0
    while written < length:
        proposed, chosen = 0, policy.choose()
        while chosen and proposed < min(policy.limit, length - written - 1):
            proposed += 1
            if not policy.goes_on(proposed, None):
                break
        accepted = next((index for index in range(proposed) if rng.random() >= rate), proposed)
        policy.observe(proposed, accepted, 1.2 * proposed * disturb(), _cost(proposed + 1) * disturb())
        written += accepted + 1
        spent += 1.2 * proposed + _cost(proposed + 1)
    return spent


def _replies(known: PairKnowledge, rate: float, rng: random.Random, count: int) -> float:
    """The mean time of replies of new conversations."""

    def disturb() -> float:
        return rng.lognormvariate(0.0, 0.07) * (2.0 if rng.random() < 0.02 else 1.0)

    spent = 0.0
    for number in range(count):
        known.begin([number])
        drafts = {"draft-model": known.acceptance("draft-model", greedy=True)}
        policy = AutoLookahead(known.costs, drafts, known.allowance)
        spent += _reply(policy, rate, rng, disturb)
    return spent / count


def _known(rng: random.Random) -> PairKnowledge:
    return PairKnowledge(CostModel({n: _cost(n) * rng.lognormvariate(0.0, 0.03) for n in range(1, 14)}, 1.2))


def test_a_hopeless_draft_costs_little_from_the_first_reply_on() -> None:
    first = later = 0.0
    for seed in range(20):
        rng = random.Random(seed)
        known = _known(rng)
        first += _replies(known, 0.03, rng, 1) / (64 * _cost(1))
        later += _replies(known, 0.03, rng, 8) / (64 * _cost(1))
    assert first / 20 < 1.06
    assert later / 20 < 1.02


@pytest.mark.parametrize(("rate", "best"), [(0.7, 3), (0.6, 2), (0.45, 1)])
def test_short_replies_come_near_the_best_fixed_lookahead(rate: float, best: int) -> None:
    class Best(AutoLookahead):
        def choose(self) -> int:
            self.lookahead = self.limit = best
            return best

        def goes_on(self, proposed: int, confidence: float | None) -> bool:
            return proposed < best

    ratio = 0.0
    for seed in range(20):
        rng = random.Random(seed)
        fixed = sum(_reply(Best(), rate, rng, lambda: 1.0) for _ in range(20)) / 20
        known = _known(rng)
        _replies(known, rate, rng, 2)
        ratio += fixed / _replies(known, rate, rng, 20)
    assert ratio / 20 > 0.97
