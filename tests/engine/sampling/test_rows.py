"""What is asked of a row of logits: the rules as array operations, the compiled ones, and that both are the same."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.config import SamplingConfig
from engine.errors import DegenerateDistribution
from engine.sampling.cuts import Choice
from engine.sampling.distribution import candidates, logprob
from engine.sampling.native_rows import NativeRows
from engine.sampling.rows import NumpyRows, Rows
from helpers.decoding.compiled_rows import compiled_rows

Logits = NDArray[np.float32]

CUTS = (
    SamplingConfig(0.8),
    SamplingConfig(1.0),
    SamplingConfig(0.05),
    SamplingConfig(100.0),
    SamplingConfig(0.8, top_k=1),
    SamplingConfig(0.8, top_k=40),
    SamplingConfig(1.5, top_k=700),
    SamplingConfig(1.0, top_k=10**9),
    SamplingConfig(0.8, top_p=0.95),
    SamplingConfig(0.8, top_p=0.9999),
    SamplingConfig(1.0, top_p=1e-9),
    SamplingConfig(0.8, min_p=0.05),
    SamplingConfig(0.8, min_p=1.0),
    SamplingConfig(0.8, top_k=40, top_p=0.95),
    SamplingConfig(0.8, top_k=40, top_p=0.8, min_p=0.1),
    SamplingConfig(0.8, top_p=0.9, min_p=0.01),
    SamplingConfig(0.8, top_n_sigma=1.0),
    SamplingConfig(2.5, top_n_sigma=0.3),
    SamplingConfig(0.8, top_n_sigma=100.0),
    SamplingConfig(0.8, top_n_sigma=0.7, top_k=40),
    SamplingConfig(0.9, top_n_sigma=1.2, typical=0.8, top_p=0.9),
    SamplingConfig(1.5, top_n_sigma=0.9, top_p=0.8, min_p=0.05),
    SamplingConfig(0.8, typical=0.9),
    SamplingConfig(1.0, typical=0.2),
    SamplingConfig(0.8, top_k=40, typical=0.5),
    SamplingConfig(0.9, typical=0.7, top_p=0.9),
    SamplingConfig(0.9, typical=0.6, min_p=0.2),
    SamplingConfig(1.2, top_k=300, typical=0.95, top_p=0.9, min_p=0.02),
)


@pytest.fixture(scope="module")
def compiled() -> NativeRows:
    return compiled_rows()


@pytest.fixture(params=["numpy", "compiled"])
def rows(request: pytest.FixtureRequest) -> Rows:
    """Each implementation."""
    chosen: Rows = NumpyRows() if request.param == "numpy" else request.getfixturevalue("compiled")
    return chosen


def _logits(size: int, sharpness: float) -> Logits:
    """No two are alike."""
    rng = np.random.default_rng(size)
    drawn = rng.normal(scale=sharpness, size=size) + 4.0 * rng.permutation(size) / size
    return drawn.astype(np.float32)


def _plainly(row: Logits, cuts: SamplingConfig) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Ids, ascending, and probabilities, in double precision and by sorting everything."""
    order = np.argsort(-row, kind="stable")
    if cuts.top_n_sigma:
        exact = row.astype(np.float64)
        mean = exact.sum() / len(exact)
        sigma = math.sqrt(((exact - mean) ** 2).sum() / len(exact))
        order = order[exact[order] >= exact.max() - cuts.top_n_sigma * sigma]
    order = order[: cuts.top_k] if cuts.top_k else order
    weights = np.exp((row[order].astype(np.float64) - float(row[order[0]])) / cuts.temperature)
    if cuts.typical != 1.0:
        probs = weights / weights.sum()
        entropy = -(probs * np.log(probs)).sum()
        nearest = np.argsort(np.abs(-np.log(probs) - entropy), kind="stable")
        count = int(probs[nearest].cumsum().searchsorted(cuts.typical)) + 1
        left = np.sort(nearest[:count])
        order, weights = order[left], weights[left]
    if cuts.top_p != 1.0:
        count = int(weights.cumsum().searchsorted(cuts.top_p * weights.sum())) + 1
        order, weights = order[:count], weights[:count]
    kept = weights >= cuts.min_p * weights[0]
    order, weights = order[kept], weights[kept]
    ascending = np.argsort(order)
    return order[ascending], weights[ascending] / weights.sum()


@pytest.mark.parametrize("cuts", CUTS)
def test_what_is_left_is_what_the_rules_leave(rows: Rows, cuts: SamplingConfig) -> None:
    for size in (1, 15, 16, 129, 4096, 20_003):
        for sharpness in (0.3, 4.0):
            _check_what_is_left(rows, cuts, size, sharpness)


def _check_what_is_left(rows: Rows, cuts: SamplingConfig, size: int, sharpness: float) -> None:
    row = _logits(size, sharpness)
    before = row.copy()
    tokens, probs = _plainly(row, cuts)
    found = rows.choose(row, cuts)
    assert (row == before).all()
    if found.tokens is None:
        assert len(found.weights) == size
    elif cuts.top_p < 0.999:
        assert found.tokens.tolist() == tokens.tolist()
    # Where little is left out, the rounding of float32 decides about the last tokens: no more than one is worth.
    left, known = np.zeros(size), np.zeros(size)
    left[slice(None) if found.tokens is None else found.tokens] = found.weights / found.mass
    known[tokens] = probs
    np.testing.assert_allclose(left, known, rtol=1e-4, atol=1e-5 if cuts.top_p > 0.999 else 1e-12)
    if found.normaliser is not None:
        assert found.normaliser == pytest.approx(math.log(np.exp(row.astype(np.float64)).sum()), abs=1e-5)


@pytest.mark.parametrize("cuts", CUTS)
def test_the_same_number_draws_the_same_token(compiled: NativeRows, cuts: SamplingConfig) -> None:
    row = _logits(4096, 2.0)
    slow = NumpyRows()
    first, second = (_draws(each, each.choose(row, cuts)) for each in (slow, compiled))
    assert first == second


def _draws(rows: Rows, choice: Choice) -> list[int]:
    numbers = np.random.default_rng(1).random(300)
    places = [rows.quantile(choice.weights, float(u)) for u in numbers]
    return places if choice.tokens is None else [int(choice.tokens[place]) for place in places]


@pytest.mark.parametrize("k", [1, 2, 3, 17, 19, 20])
def test_of_equals_top_k_takes_the_lowest(rows: Rows, k: int) -> None:
    row = np.array([0.0, -0.0, -np.inf, 1.0, *[0.0] * 15, -np.inf], dtype=np.float32)
    left = rows.choose(row, SamplingConfig(1.0, top_k=k)).tokens
    places = range(len(row)) if left is None else left.tolist()
    best_first = [3, 0, 1, *range(4, 19), 2, 19]
    assert sorted(places) == sorted(best_first[:k])


@pytest.mark.parametrize(("top_p", "count"), [(0.05, 1), (0.25, 3), (0.26, 4), (0.5, 6), (0.99, 12)])
def test_of_equals_top_p_takes_the_lowest(rows: Rows, top_p: float, count: int) -> None:
    found = rows.choose(np.zeros(12, dtype=np.float32), SamplingConfig(1.0, top_p=top_p))
    places = range(12) if found.tokens is None else found.tokens.tolist()
    assert list(places) == list(range(count))


def test_top_k_where_a_sample_of_the_logits_misleads(rows: Rows) -> None:
    row = np.zeros(40_000, dtype=np.float32)
    row[::16] = 1.0 + np.random.default_rng(0).permutation(2500) / 2500
    row[:200] = 3.0 - np.arange(200) / 1000
    found = rows.choose(row, SamplingConfig(1.0, top_k=300))
    assert found.tokens is not None
    assert set(found.tokens) == set(np.argsort(-row, kind="stable")[:300])


def test_tokens_out_of_reach_are_never_drawn(rows: Rows) -> None:
    row = np.full(600, -np.inf, dtype=np.float32)
    row[[3, 300, 599]] = 200.0, 201.0, 199.0
    for cuts in (
        SamplingConfig(1.0),
        SamplingConfig(1.0, top_k=5),
        SamplingConfig(1.0, top_p=0.99999),
        SamplingConfig(1.0, min_p=1e-6),
    ):
        found = rows.choose(row, cuts)
        places = {rows.quantile(found.weights, u) for u in (0.0, 0.3, 0.95, np.nextafter(1.0, 0.0))}
        assert (places if found.tokens is None else {int(found.tokens[place]) for place in places}) == {3, 300, 599}


@pytest.mark.parametrize("size", [1, 16, 17, 4096, 128_256])
@pytest.mark.parametrize("away", [0.0, 500.0, -500.0])
def test_best_and_its_log_probability(rows: Rows, size: int, away: float) -> None:
    row = _logits(size, 3.0) + np.float32(away)
    exact = row.astype(np.float64)
    known = exact - exact.max() - math.log(np.exp(exact - exact.max()).sum())
    token, share = rows.best(row)
    assert token == int(row.argmax())
    assert share == pytest.approx(known[token], abs=1e-4)
    assert rows.logprob(row, size // 2) == pytest.approx(known[size // 2], abs=1e-4)
    row[[0, size // 3, size - 1]] = row.max() + 1.0
    assert rows.best(row)[0] == 0


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("place", [0, 5, 16, 40])
def test_what_is_no_number_is_an_error(rows: Rows, bad: float, place: int) -> None:
    row = _logits(41, 1.0)
    row[place] = bad
    _no_distribution(rows, row)


def test_no_possible_token_is_an_error(rows: Rows) -> None:
    _no_distribution(rows, np.full(20, -np.inf, dtype=np.float32))


def _no_distribution(rows: Rows, row: Logits) -> None:
    asked: list[Callable[[], object]] = [lambda: rows.best(row), lambda: rows.logprob(row, 0)]
    asked += [partial(rows.choose, row, cuts) for cuts in CUTS]
    for ask in asked:
        with pytest.raises(DegenerateDistribution, match="not a finite number"):
            ask()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("count", [1, 127, 128, 513, 4096, 50_257])
def test_quantile_is_the_first_index_above(rows: Rows, kind: Any, count: int) -> None:
    rng = np.random.default_rng(count)
    # Multiples of a power of two: their sums are exact, whatever the order.
    weights = (rng.integers(0, 64, count) * (rng.random(count) > 0.5)).astype(kind)
    weights[count // 2] = 1
    sums = weights.astype(np.float64).cumsum()
    for u in (0.0, *rng.random(100), np.nextafter(1.0, 0.0)):
        assert rows.quantile(weights, u) == int(sums.searchsorted(u * sums[-1], "right"))
    alone = np.zeros(count, dtype=kind)
    alone[count // 3] = 0.25
    assert {rows.quantile(alone, u) for u in (0.0, 0.5, 1.0)} == {count // 3}
    for wrong in (np.zeros(count, dtype=kind), np.full(count, np.nan, dtype=kind), np.full(count, np.inf, dtype=kind)):
        with pytest.raises(DegenerateDistribution, match="sum to zero"):
            rows.quantile(wrong, 0.5)


def test_rows_in_any_form(rows: Rows) -> None:
    """Read-only, spread out, or of other numbers: what fakes and other backends give."""
    row = _logits(100, 2.0)
    known = rows.choose(row, SamplingConfig(0.8, top_k=7))
    locked = row.copy()
    locked.flags.writeable = False
    forms: list[Any] = [locked, np.repeat(row, 2)[::2], row.astype(np.float64)]
    for form in forms:
        found = rows.choose(form, SamplingConfig(0.8, top_k=7))
        assert found.tokens is not None
        assert known.tokens is not None
        assert found.tokens.tolist() == known.tokens.tolist()
        np.testing.assert_allclose(found.weights, known.weights, rtol=1e-6)
        assert rows.best(form) == pytest.approx(rows.best(row))
        squares = form.astype(np.float64) ** 2
        assert rows.quantile(squares, 0.4) == rows.quantile(row.astype(np.float64) ** 2, 0.4)


def test_candidates_know_log_probabilities_of_unchanged_logits_only(rows: Rows) -> None:
    row = _logits(50, 2.0)
    history = [int(row.argmax())]
    changes: list[dict[str, Any]] = [{}, {"repeat_penalty": 1.5}, {"banned_tokens": (1,)}, {"logit_bias": ((2, 9.0),)}]
    for change in changes:
        config = SamplingConfig(0.7, top_k=5, **change)
        found = candidates(row, config, history, rows=rows)
        assert found.normaliser is None or not change
        assert logprob(row, 3, found, rows) == pytest.approx(NumpyRows().logprob(row, 3), abs=1e-5)
