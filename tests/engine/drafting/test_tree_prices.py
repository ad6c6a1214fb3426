"""Trees by cost: a token stands beside the first path where what it wins is worth what its verification takes."""

from collections.abc import Sequence

import pytest

from engine.drafting.tree_prices import TreePrices
from engine.lookahead.acceptance import AcceptanceModel, ClaimModel


class _Known:
    """Chances that do not change; notes what it is told."""

    def __init__(self, chance: float) -> None:
        self.chance = chance
        self.told: list[tuple[int, tuple[float, ...]]] = []

    def at(self, position: int) -> float:
        return self.chance

    def given(self, position: int, confidence: float) -> float:
        return self.chance

    def observe(self, proposed: int, accepted: int, sure: Sequence[float] = ()) -> None:
        self.told.append((accepted, tuple(sure)))


def _flat(n: int) -> float:
    return 10.0 + 0.01 * n


def _dear(n: int) -> float:
    return 10.0 * n


def _step(n: int) -> float:
    return 10.0 if n <= 5 else 20.0


def _prices(verify: object, first: float, beside: float, length: int = 3, rate: float = 0.2) -> TreePrices:
    prices = TreePrices(lambda _: _Known(beside))
    prices.begin(rate, verify, 0.5, _Known(first), "eagle3", length)  # type: ignore[arg-type]
    return prices


UNSURE = (0.4, 0.3, 0.2, 0.1)


def test_where_verification_is_flat_all_that_may_be_right_stands_there() -> None:
    assert _prices(_flat, 0.4, 0.5).siblings(0, 0, UNSURE) == 3
    assert _prices(_flat, 0.4, 0.5).siblings(0, 0, UNSURE[:2]) == 1


def test_where_verification_is_dear_there_are_chains() -> None:
    prices = _prices(_dear, 0.4, 0.5)
    assert not prices.promising
    assert prices.siblings(0, 0, UNSURE) == 0


def test_a_sure_first_token_leaves_nothing_to_the_others() -> None:
    steep = _prices(lambda n: 10.0 + 0.4 * n, 0.97, 0.5)
    assert steep.siblings(0, 0, (0.97, 0.02)) == 0
    assert _prices(lambda n: 10.0 + 0.4 * n, 0.4, 0.5).siblings(0, 0, (0.5, 0.49)) == 1


def test_room_below_a_step_is_left_to_what_is_worth_more() -> None:
    """Below the step is room for four tokens: with a path that mostly holds they are the path's."""
    assert _prices(_step, 0.7, 0.5).siblings(0, 0, UNSURE) == 0
    assert _prices(_step, 0.3, 0.5).siblings(0, 0, UNSURE) >= 2
    assert _prices(_step, 0.3, 0.5).siblings(1, 3, UNSURE) == 0


def test_without_a_rate_there_are_no_trees() -> None:
    assert not _prices(_flat, 0.4, 0.5, rate=0.0).promising
    assert _prices(_flat, 0.4, 0.5).promising


def test_no_more_than_a_draft_may_have() -> None:
    assert _prices(_flat, 0.4, 0.5).siblings(31, 31, UNSURE) == 0
    assert not _prices(_flat, 0.4, 0.5, length=32).promising


def test_siblings_are_learned_apart_from_the_first_path() -> None:
    """Each by its share of what those before it left, up to the one that was accepted; each source has its own."""
    known = {"eagle3": _Known(0.5), "draft-model": _Known(0.5)}
    prices, path = TreePrices(known.__getitem__), _Known(0.5)
    prices.begin(0.2, _flat, 0.5, path, "eagle3", 3)
    prices.learn((0.5, 0.25, 0.125), 2)
    prices.learn((0.5, 0.25), None)
    prices.learn((1.0, 0.0), 1)
    told = known["eagle3"].told
    assert told == [(0, (0.5,)), (1, (pytest.approx(0.5),)), (0, (0.5,)), (1, (1.0,))]
    assert not path.told
    assert not known["draft-model"].told


def test_what_never_holds_is_no_longer_believed() -> None:
    beside = ClaimModel()
    prices = TreePrices(lambda _: beside)
    chosen = []
    for _ in range(30):
        prices.begin(0.2, lambda n: 10.0 + 0.3 * n, 0.5, AcceptanceModel(0.5, 1_000.0), "eagle3", 3)
        chosen.append(prices.siblings(0, 0, (0.5, 0.4)))
        prices.learn((0.5, 0.4), None)
    assert chosen[0] == 1
    assert not any(chosen[20:])
