"""The cost model: steps, interpolation, outliers, changes of all sizes and of one, and what is kept of it."""

import json
import math
import random
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import pytest

from engine.drafting.base import cautious_cost
from engine.lookahead.costs import CostModel

Q8_0 = {1: 10.0, 2: 19.0, 3: 21.0, 4: 25.0, 5: 29.0, 9: 46.0, 17: 85.0, 33: 158.0}
"""Measured on two threads, in tenths of one token's time."""
PICKS: list[Callable[[int], int]] = [
    lambda _: 4,
    lambda i: (1, 2, 3, 4, 5, 9)[i % 6],
    lambda i: 3 if i % 8 == 7 else 4,
]
"""Which size is observed: always the same, all in turn, mostly the same."""


class Machine:
    """Times with noise of 5 %, and of four times as long for a share of them: from a fixed seed."""

    def __init__(self, costs: Mapping[int, float], outliers: float = 0.0, seed: int = 1) -> None:
        self.costs = dict(costs)
        self._outliers = outliers
        self._random = random.Random(seed)

    def time(self, n: int) -> float:
        disturbed = 4.0 if self._random.random() < self._outliers else 1.0
        return self.costs[n] * disturbed * math.exp(self._random.gauss(0.0, 0.05))


def off(model: CostModel, n: int, truth: float) -> float:
    """How far an estimate is off, as a fraction of the truth."""
    return abs(model.verify(n) / truth - 1.0)


def test_measured_sizes_count_as_they_are() -> None:
    model = CostModel({**Q8_0, 6: 20.0}, 1.5)
    assert [model.verify(n) for n in (1, 5, 6, 9, 33)] == [10.0, 29.0, 20.0, 46.0, 158.0]
    assert model.draft() == 1.5
    assert model.knows(6)
    assert not model.knows(7)


def test_between_two_sizes_the_cost_per_token_lies_between_theirs() -> None:
    model = CostModel({1: 10.0, 4: 28.0, 8: 40.0})
    assert [model.verify(n) for n in (2, 3, 6)] == pytest.approx([16.0, 22.0, 34.0])
    assert 28.0 / 4 < model.verify(3) / 3 < model.verify(2) / 2 < 10.0
    assert 40.0 / 8 < model.verify(6) / 6 < 28.0 / 4


def test_an_unmeasured_size_is_never_cheaper_than_a_smaller_one() -> None:
    model = CostModel({3: 21.0, 8: 15.0})
    assert [model.verify(n) for n in range(4, 8)] == [21.0] * 4
    assert model.verify(8) == 15.0


def test_unmeasured_sizes_cost_no_more_than_the_dearer_neighbour() -> None:
    model = CostModel({1: 10.0, 33: 40.0})
    assert max(model.verify(n) for n in range(1, 34)) == 40.0


@pytest.mark.parametrize("known", [{1: 10.0}, {1: 10.0, 2: 19.0}, {1: 10.0, 2: 19.0, 4: 25.0, 5: 29.0}])
def test_beyond_the_largest_size_it_grows_about_as_processors_do(known: dict[int, float]) -> None:
    model = CostModel(known)
    for n in (9, 17, 33):
        assert off(model, n, Q8_0[n]) < 0.3


def test_beyond_the_largest_size_a_flat_curve_stays_flatter() -> None:
    model = CostModel({1: 10.0, 2: 10.1, 4: 10.2, 8: 10.4})
    assert model.verify(16) < 1.7 * model.verify(8)
    assert all(low <= high for low, high in pairwise(model.verify(n) for n in range(8, 34)))


def test_below_the_smallest_size_it_has_the_usual_proportions() -> None:
    model = CostModel({5: 58.0})
    assert model.verify(1) == pytest.approx(58.0 / cautious_cost(5))


def test_with_nothing_known_it_is_cautious() -> None:
    model = CostModel()
    assert [model.verify(n) for n in range(1, 34)] == [cautious_cost(n) for n in range(1, 34)]
    assert 0.0 < model.draft() < model.verify(1)
    assert not any(model.knows(n) for n in range(1, 34))
    assert not model.knows_draft


def test_the_first_observation_sets_the_scale() -> None:
    model = CostModel()
    model.observe_verify(4, 250.0)
    assert model.verify(4) == pytest.approx(250.0)
    assert model.verify(1) == pytest.approx(250.0 / cautious_cost(4))
    assert model.knows(4)


def test_steps_are_learned_from_rounds_alone() -> None:
    machine, model = Machine(Q8_0, outliers=0.05), CostModel()
    sizes = random.Random(2)
    for _ in range(300):
        size = sizes.choice(list(Q8_0))
        model.observe_verify(size, machine.time(size))
    assert all(off(model, n, cost) < 0.15 for n, cost in Q8_0.items())


def test_a_disturbed_first_observation_is_forgotten_soon() -> None:
    model = CostModel({1: 10.0, 4: 25.0, 9: 46.0})
    before = model.verify(5)
    model.observe_verify(5, 4 * 29.0)
    assert model.verify(5) <= 2.0 * before
    for _ in range(3):
        model.observe_verify(5, 29.0)
    assert off(model, 5, 29.0) < 0.1


def test_one_outlier_moves_nothing_much() -> None:
    for factor in (4.0, 100.0):
        model = CostModel(Q8_0, 1.0)
        model.observe_verify(4, factor * Q8_0[4])
        model.observe_draft(4, factor * 4.0)
        assert all(off(model, n, cost) < 0.04 for n, cost in Q8_0.items())
        assert model.draft() < 1.04


@pytest.mark.parametrize("pick", PICKS)
@pytest.mark.parametrize("seed", range(4))
def test_outliers_do_not_carry_it_away(pick: Callable[[int], int], seed: int) -> None:
    machine, model = Machine(Q8_0, outliers=0.05, seed=seed), CostModel(Q8_0)
    errors = []
    for i in range(1000):
        model.observe_verify(pick(i), machine.time(pick(i)))
        errors.append(max(off(model, n, Q8_0[n]) for n in (1, 2, 3, 4, 5, 9)))
    assert sorted(errors)[950] < 0.2
    assert sum(errors) / len(errors) < 0.1


@pytest.mark.parametrize("pick", PICKS)
@pytest.mark.parametrize("factor", [1.6, 1 / 1.6])
@pytest.mark.parametrize("already", [30, 33, 36])
def test_a_change_of_everything_reaches_all_sizes_within_ten_rounds(
    pick: Callable[[int], int], factor: float, already: int
) -> None:
    machine, model = Machine(Q8_0), CostModel(Q8_0)
    for i in range(already):
        model.observe_verify(pick(i), machine.time(pick(i)))
    machine.costs = {n: factor * cost for n, cost in Q8_0.items()}
    for i in range(already, already + 10):
        model.observe_verify(pick(i), machine.time(pick(i)))
    assert all(off(model, n, cost) < 0.13 for n, cost in machine.costs.items())


@pytest.mark.parametrize("factor", [2.0, 0.5])
def test_a_change_of_the_size_in_use_is_told_from_a_change_of_everything(factor: float) -> None:
    """At first all sizes seem to have changed; the first look at another one puts that right, for the unseen too."""
    machine, model = Machine({**Q8_0, 5: factor * Q8_0[5]}), CostModel(Q8_0)
    for _ in range(12):
        model.observe_verify(5, machine.time(5))
    assert off(model, 5, machine.costs[5]) < 0.1
    model.observe_verify(4, machine.time(4))
    assert all(off(model, n, machine.costs[n]) < 0.15 for n in (1, 2, 3, 4, 5, 9))


@pytest.mark.parametrize("factor", [2.0, 0.5])
def test_the_second_time_of_a_size_contradicts_a_change_of_everything_too(factor: float) -> None:
    """A plain round is seen once in a first reply; when it is looked at again, the size in use has changed alone."""
    costs = CostModel()
    for n, milliseconds in [(2, 20.0), (1, 10.0), *[(5, 30.0)] * 10, *[(5, 30.0 * factor)] * 10]:
        costs.observe_verify(n, milliseconds)
    costs.observe_verify(1, 10.0)
    assert costs.verify(2) == pytest.approx(20.0, rel=0.1)
    assert costs.verify(5) == pytest.approx(30.0 * factor, rel=0.1)


@pytest.mark.parametrize(("factor", "looks"), [(2.0, 6), (0.5, 3)])
def test_a_change_of_a_size_that_is_seldom_in_use_stays_its_own(factor: float, looks: int) -> None:
    machine, model = Machine({**Q8_0, 5: factor * Q8_0[5]}), CostModel(Q8_0)
    for i in range(8 * looks + 1):
        size = 5 if i % 8 == 7 else 4
        model.observe_verify(size, machine.time(size))
    assert off(model, 5, machine.costs[5]) < 0.25
    assert all(off(model, n, Q8_0[n]) < 0.1 for n in (1, 2, 3, 4, 9))


def test_the_cost_that_grows_with_the_context_is_followed_by_all_sizes() -> None:
    machine, model = Machine(Q8_0, outliers=0.05), CostModel(Q8_0)
    sizes = random.Random(3)
    for i in range(2000):
        grown = 1.0 + i / 2000.0
        machine.costs = {n: grown * cost for n, cost in Q8_0.items()}
        size = sizes.choice((1, 3, 4, 4, 4))
        model.observe_verify(size, machine.time(size))
        assert off(model, 4, machine.costs[4]) < 0.35
    assert all(off(model, n, cost) < 0.2 for n, cost in machine.costs.items())


def test_the_draft_follows_too() -> None:
    model = CostModel(Q8_0, 1.0)
    for _ in range(10):
        model.observe_draft(4, 4 * 1.6)
    assert model.draft() == pytest.approx(1.6, rel=0.05)
    fresh = CostModel()
    fresh.observe_draft(3, 6.0)
    assert fresh.draft() == 2.0


def test_what_is_no_observation_is_passed_over() -> None:
    model = CostModel(Q8_0, 1.0)
    for n, ms in ((0, 1.0), (34, 1.0), (4, 0.0), (4, -1.0), (4, math.inf), (4, math.nan)):
        model.observe_verify(n, ms)
        model.observe_draft(n if n == 0 else 1, ms if n else 1.0)
    assert model.measured == Q8_0
    assert model.draft() == pytest.approx(1.0, rel=0.05)


def test_json_and_back() -> None:
    model = CostModel(Q8_0, 0.7)
    for _ in range(5):
        model.observe_verify(4, 40.0)
    again = CostModel.from_json(json.loads(json.dumps(model.to_json())))
    assert [again.verify(n) for n in range(1, 34)] == pytest.approx([model.verify(n) for n in range(1, 34)])
    assert again.draft() == 0.7
    assert CostModel.from_json(CostModel().to_json()).measured == {}


GOOD: dict[str, Any] = {"format": 1, "verify_ms": {"1": 2.0}, "draft_ms": None}


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        "x",
        {},
        {**GOOD, "format": 2},
        {**GOOD, "verify_ms": [1.0]},
        {**GOOD, "verify_ms": {"x": 1.0}},
        {**GOOD, "verify_ms": {"0": 1.0}},
        {**GOOD, "verify_ms": {"34": 1.0}},
        {**GOOD, "verify_ms": {"1": 0.0}},
        {**GOOD, "verify_ms": {"1": -1}},
        {**GOOD, "verify_ms": {"1": math.nan}},
        {**GOOD, "verify_ms": {"1": 10**400}},
        {**GOOD, "verify_ms": {"1": True}},
        {**GOOD, "verify_ms": {"1": 1e308}},
        {**GOOD, "verify_ms": {"1": 5e-324}},
        {**GOOD, "verify_ms": {"1": "2"}},
        {**GOOD, "draft_ms": "x"},
        {**GOOD, "draft_ms": math.inf},
    ],
)
def test_nonsense_is_refused(data: object) -> None:
    with pytest.raises(ValueError, match=r"no cost|not the costs|invalid literal"):
        CostModel.from_json(data)
    assert CostModel.from_json(GOOD).verify(1) == 2.0


def test_what_is_no_time_of_reading_is_passed_over() -> None:
    costs = CostModel()
    for tokens, ms in ((0, 1.0), (5, math.nan), (5, 0.0)):
        costs.observe_read(tokens, ms)
    assert not costs.reads
