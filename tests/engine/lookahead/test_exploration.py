"""How often something else than the best size is tried: seldom where the costs were measured before."""

import pytest

from engine.lookahead.exploration import Exploration

BEST = 4
ROUNDS = 400
LOSS = 0.7
"""What each try is said to lose, in times of a plain token."""


def _tries(exploration: Exploration, *, dearer_at: int) -> list[int]:
    """The sizes tried in ROUNDS rounds of BEST, in the middle of which all sizes become half as dear again."""
    tried: list[int] = []
    wanted = BEST
    for number in range(ROUNDS):
        measured = 1.5 if dearer_at <= number < dearer_at + 2 else 1.0
        exploration.notice(wanted + 1, measured, 1.0, tried=wanted != BEST)
        exploration.pass_time(1.0)
        other = None if wanted != BEST else exploration.other_size(BEST, lambda k: LOSS, lambda n: True)
        wanted = BEST if other is None else other
        if other is not None:
            tried.append(other)
            exploration.start_try(other, BEST)
            exploration.pay_try(LOSS)
    return tried


def test_a_surprise_is_looked_into_at_once_where_nothing_was_measured_before() -> None:
    tried = _tries(Exploration(), dearer_at=100)
    assert {0, 1} <= set(tried)


@pytest.mark.parametrize("dearer_at", [0, 100, ROUNDS])
def test_measured_costs_are_tried_within_a_small_share_of_the_time(dearer_at: int) -> None:
    """0.4 % of 400 rounds are two tries of this loss, and a larger size comes every 96 rounds whatever it costs."""
    tried = _tries(Exploration(calibrated=True), dearer_at=dearer_at)
    overdue = sum(1 for k in tried if k > BEST)
    assert overdue <= ROUNDS // 96
    assert (len(tried) - overdue) * LOSS <= 0.004 * ROUNDS + LOSS
    assert tried, "a size that has become cheap would never be found"
