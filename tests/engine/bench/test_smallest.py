"""The benchmark of the smallest models: whom it compares with, and what counts as met."""

from dataclasses import asdict

import numpy as np
import pytest

from benchmarks.policy.smallest import OVER_BEST, compare_best, compare_plain, misses, show_smallest


def _table(turns: int = 6, **speeds: float) -> dict[str, np.ndarray]:
    """Ways of these speeds, in turns of 100 tokens; the names of fixed lookaheads begin with k."""
    return {way.removeprefix("k"): np.array([[100.0, 100.0 / speed]] * turns) for way, speed in speeds.items()}


def test_auto_is_compared_with_plain_decoding() -> None:
    found = compare_plain(_table(k0=50.0, k4=80.0, auto=60.0))
    assert found.other == "0"
    assert found.ratio == pytest.approx(1.2)
    assert found.low == pytest.approx(found.high)


def test_the_best_of_one_half_is_compared_on_the_other() -> None:
    """A lookahead that had luck in one half only does not count where it had it."""
    table = _table(k0=50.0, k4=50.0, k8=40.0, auto=50.0)
    table["4"][::2, 1] /= 2.0
    found = compare_best(table)
    assert found.other in ("0/4", "4/0")
    assert found.ratio == pytest.approx(1.0, abs=0.01)
    steady = compare_best(_table(k0=50.0, k4=100.0, auto=90.0))
    assert steady.other == "4"
    assert steady.ratio == pytest.approx(0.9)


def test_turns_that_differ_make_a_spread() -> None:
    table = _table(turns=20, k0=50.0, auto=50.0)
    table["auto"][:, 1] *= np.random.default_rng(1).uniform(0.8, 1.2, 20)
    found = compare_plain(table)
    assert found.low < found.ratio < found.high
    assert found == compare_plain(table), "the samples are the same each time"


@pytest.mark.parametrize(("speed", "met"), [(1.0, True), (0.97, False), (0.5, False)])
def test_a_must_is_missed_where_the_spread_lies_below_it(speed: float, met: bool) -> None:
    table = _table(k0=100.0, k4=90.0, auto=100.0 * speed)
    case = {"plain": asdict(compare_plain(table)), "best": asdict(compare_best(table)), "plain_speed": 100.0}
    assert (misses({"demo": case}) == []) == met
    text = show_smallest({"demo": case})
    assert text.startswith("## Auto with the smallest models")
    assert ("NOT met (demo)" in text) != met
    assert f"{OVER_BEST:g} times the best" in text
