"""Auto with two sources that take time: each round asks the one that pays, and what is learned of each is its own."""

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from engine.drafting.tree_prices import TreePrices
from engine.lookahead.acceptance import AcceptanceModel, ClaimModel
from engine.lookahead.costs import CostModel
from engine.lookahead.policy import Allowance, AutoLookahead

FLAT = {n: 10.0 + 0.2 * n for n in range(1, 34)}
DEAR = {n: 10.0 * n for n in range(1, 34)}
HEAD, MODEL = "eagle3", "draft-model"


@dataclass
class World:
    """Rounds with the true costs and chances: a source that did not follow catches up first, a pass for 20 tokens."""

    policy: AutoLookahead
    verify: Mapping[int, float]
    cost: Mapping[str, float]
    rng: random.Random = field(default_factory=lambda: random.Random(5))
    unread: Counter[str] = field(default_factory=Counter)

    def run(self, rounds: int, chance: Callable[[str], float]) -> tuple[float, Counter[str]]:
        """Tokens per millisecond, and which source proposed how often."""
        policy, tokens, spent, used = self.policy, 0.0, 0.0, Counter[str]()
        for _ in range(rounds):
            chosen, proposed = policy.choose(), 0
            most = chosen if policy.limit is None else policy.limit
            name = policy.source or ""
            while proposed < most:
                proposed += 1
                if not policy.goes_on(proposed, None):
                    break
            right = chance(name)
            accepted = next((index for index in range(proposed) if self.rng.random() >= right), proposed)
            draft_ms = 0.0
            if proposed:
                draft_ms = self.cost[name] * (proposed + self.unread[name] // 20)
                self.unread[name] = 0
                used[name] += 1
            for other in self.cost:
                if policy.resting or other != policy.follower:
                    self.unread[other] += accepted + 1
            if not policy.asleep:
                policy.observe(proposed, accepted, draft_ms, self.verify[proposed + 1])
            tokens, spent = tokens + accepted + 1, spent + draft_ms + self.verify[proposed + 1]
        return tokens / spent, used


def _world(verify: Mapping[int, float], cost: Mapping[str, float], *known: str) -> World:
    costs = CostModel(verify)
    for name in known:
        costs.observe_draft(1, cost[name], name)
    drafts = {name: AcceptanceModel(parent=AcceptanceModel(memory=400.0)) for name in cost}
    return World(AutoLookahead(costs, drafts, Allowance()), verify, cost)


def _best(verify: Mapping[int, float], cost: float, chance: float) -> float:
    return max(sum(chance**n for n in range(k + 1)) / (verify[k + 1] + k * cost) for k in range(20))


COST = {HEAD: 0.7, MODEL: 1.2}


@pytest.mark.parametrize(
    ("chances", "better"),
    [({HEAD: 0.8, MODEL: 0.6}, HEAD), ({HEAD: 0.45, MODEL: 0.85}, MODEL), ({HEAD: 0.7, MODEL: 0.7}, HEAD)],
)
@pytest.mark.parametrize("known", [(), (MODEL,), (HEAD, MODEL)])
def test_the_better_one_is_found(chances: Mapping[str, float], better: str, known: Sequence[str]) -> None:
    speeds, used = [], Counter[str]()
    for seed in range(3):
        world = _world(FLAT, COST, *known)
        world.rng.seed(seed)
        world.run(150, chances.__getitem__)
        speed, found = world.run(400, chances.__getitem__)
        speeds.append(speed)
        used += found
    best = max(_best(FLAT, COST[name], chances[name]) for name in COST)
    assert sum(speeds) / len(speeds) > 0.85 * best  # Where they are nearly alike, either will do.
    if chances[HEAD] != chances[MODEL]:
        assert used[better] > 0.85 * used.total()


def test_each_is_better_in_half_of_the_rounds() -> None:
    """In turns of 150 rounds: auto finds out within some dozens each time, and is far ahead of either alone."""
    for seed in range(3):
        world = _world(FLAT, COST, MODEL)
        world.rng.seed(seed)
        for turn in range(6):
            good = (HEAD, MODEL)[turn % 2]
            speed, used = world.run(150, {HEAD: 0.3, MODEL: 0.3, good: 0.85}.__getitem__)
            if turn > 1:
                assert used[good] > 0.7 * used.total(), (seed, turn)
                assert speed > 0.75 * _best(FLAT, COST[good], 0.85)
                assert speed > 1.5 * _best(FLAT, COST[HEAD], 0.3)


def test_where_neither_pays_both_are_tried_within_the_allowance() -> None:
    world = _world(DEAR, COST, MODEL)
    world.run(100, lambda _: 0.05)
    speed, used = world.run(3_000, lambda _: 0.05)
    assert speed > 0.98 / DEAR[1]
    assert min(used[HEAD], used[MODEL]) >= 3
    assert world.policy.resting
    # Once one of them is good, it is found.
    world = _world(FLAT, COST, MODEL)
    world.run(200, lambda _: 0.0)
    world.run(1_500, lambda name: 0.9 if name == HEAD else 0.0)
    assert world.policy.follower == HEAD
    assert not world.policy.resting


def test_what_is_learned_of_one_is_not_of_the_other() -> None:
    costs = CostModel(FLAT, 1.0)
    drafts = {HEAD: AcceptanceModel(0.9, 1_000.0), MODEL: AcceptanceModel(0.2, 1_000.0)}
    policy = AutoLookahead(costs, drafts, Allowance())
    before = drafts[MODEL].at(0)
    for _ in range(6):
        proposed = policy.choose()
        policy.observe(proposed, 0, 3.0 * proposed, FLAT[proposed + 1])
        if policy.source == HEAD:
            break
    assert (costs.draft(), drafts[MODEL].at(0)) == (1.0, before) or policy.source == MODEL
    assert costs.drafts[HEAD] == pytest.approx(3.0)
    assert drafts[HEAD].at(0) < 0.9


def test_trees_are_priced_in_rounds_that_try_nothing_out() -> None:
    """By the rate of the plan, for the source that drafts; and a tree's time is that of all its nodes."""
    begun: list[tuple[float, str]] = []

    class Prices(TreePrices):
        def begin(self, rate: float, verify: Any, draft_ms: float, path: Any, source: str, length: int) -> None:
            begun.append((rate, source))

    costs = CostModel({n: 10.0 + 0.1 * n for n in range(1, 10)}, 1.0)
    policy = AutoLookahead(costs, {HEAD: AcceptanceModel(0.8, 1_000.0)}, trees=Prices(lambda _: ClaimModel()))
    for _ in range(60):
        proposed = policy.choose()
        policy.observe(proposed, proposed, 1.0 * proposed, 30.0, nodes=12)
    assert {source for _, source in begun} == {HEAD}
    assert max(rate for rate, _ in begun) > 0.1
    assert min(rate for rate, _ in begun) == 0.0
    assert costs.measured[13] == pytest.approx(30.0, rel=0.2)
    assert costs.verify(5) < 15.0
