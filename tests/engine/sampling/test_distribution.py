"""From logits to a token: every processor against a plain reference, and the documented edges."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from engine.config import SamplingConfig
from engine.errors import DegenerateDistribution, TokenOutOfRange
from engine.sampling.distribution import (
    best_token,
    bias,
    candidates,
    distribution,
    log_normaliser,
    logprob,
    penalise,
    sample,
    top_tokens,
    uniform,
)
from helpers.properties import quick

Logits = NDArray[np.float32]
# Distinct logits, so that a reference need not repeat how ties are broken.
distinct = st.permutations(range(12)).map(lambda order: np.array(order, dtype=np.float32) * np.float32(0.37) - 2.0)
any_logits = arrays(np.float32, 12, elements=st.floats(-30, 30, width=32))


def _softmax(logits: Sequence[float], temperature: float = 1.0) -> list[float]:
    peak = max(logits)
    weights = [math.exp((value - peak) / temperature) for value in logits]
    mass = math.fsum(weights)
    return [weight / mass for weight in weights]


def _keep(probs: list[float], kept: set[int]) -> list[float]:
    mass = math.fsum(probs[token] for token in kept)
    return [share / mass if token in kept else 0.0 for token, share in enumerate(probs)]


def _until(probs: list[float], order: list[int], mass: float) -> set[int]:
    kept: set[int] = set()
    for token in order:
        kept.add(token)
        if math.fsum(probs[t] for t in kept) >= mass - 1e-12:
            break
    return kept


def _reference(logits: Logits, config: SamplingConfig) -> list[float]:
    """Temperature, top-k, typical, top-p, min-p, written as plainly as can be."""
    probs = _softmax([float(value) for value in logits], config.temperature)
    best_first = sorted(range(len(probs)), key=lambda token: -probs[token])
    if 0 < config.top_k < len(probs):
        probs = _keep(probs, set(best_first[: config.top_k]))
    if config.typical < 1.0:
        entropy = -math.fsum(share * math.log(share) for share in probs if share)
        alive = [token for token in best_first if probs[token]]
        order = sorted(alive, key=lambda token: abs(-math.log(probs[token]) - entropy))
        probs = _keep(probs, _until(probs, order, config.typical))
    if config.top_p < 1.0:
        order = [token for token in sorted(range(len(probs)), key=lambda token: -probs[token]) if probs[token]]
        probs = _keep(probs, _until(probs, order, config.top_p))
    if config.min_p > 0.0:
        floor = config.min_p * max(probs)
        probs = _keep(probs, {token for token, share in enumerate(probs) if share and share >= floor})
    return probs


def _clear_cut(logits: Logits, config: SamplingConfig) -> bool:
    """True if no rule's limit falls on a boundary, where rounding decides."""
    nudged = [
        SamplingConfig(
            config.temperature,
            config.top_k,
            top_p=min(1.0, config.top_p * (1 + nudge)) if config.top_p < 1 else 1.0,
            min_p=config.min_p * (1 + nudge),
            typical=min(1.0, config.typical * (1 + nudge)) if config.typical < 1 else 1.0,
        )
        for nudge in (-1e-6, 1e-6)
    ]
    supports = [[share > 0 for share in _reference(logits, each)] for each in nudged]
    return supports[0] == supports[1]


@quick
@given(
    distinct, st.floats(0.1, 3.0), st.integers(0, 14), st.floats(0.05, 1.0), st.floats(0.0, 0.9), st.floats(0.05, 1.0)
)
def test_processors_against_the_reference(
    logits: Logits, temperature: float, top_k: int, top_p: float, min_p: float, typical: float
) -> None:
    config = SamplingConfig(temperature, top_k, top_p=top_p, min_p=min_p, typical=typical)
    if not _clear_cut(logits, config):
        return
    assert distribution(logits, config, ()) == pytest.approx(_reference(logits, config), abs=1e-6)


@quick
@given(any_logits, st.floats(0.05, 5.0), st.integers(0, 14), st.floats(0.05, 1.0), st.floats(0.0, 1.0))
def test_always_a_distribution(logits: Logits, temperature: float, top_k: int, top_p: float, min_p: float) -> None:
    config = SamplingConfig(temperature, top_k, top_p=top_p, min_p=min_p)
    before = logits.copy()
    probs = distribution(logits, config, ())
    assert probs.dtype == np.float64
    assert probs.shape == logits.shape
    assert probs.sum() == pytest.approx(1.0)
    assert (probs >= 0).all()
    assert logits[probs > 0].max() == logits.max()
    assert (logits == before).all()


@quick
@given(any_logits, st.integers(1, 12))
def test_top_k_keeps_k(logits: Logits, k: int) -> None:
    probs = distribution(logits, SamplingConfig(2.0, top_k=k), ())
    assert 0 < np.count_nonzero(probs) <= k
    assert logits[probs > 0].min() >= np.sort(logits)[-k]


def test_top_k_of_one_is_greedy() -> None:
    logits = np.array([0.0, 3.0, 1.0], dtype=np.float32)
    assert distribution(logits, SamplingConfig(5.0, top_k=1), ()).tolist() == [0.0, 1.0, 0.0]


def test_top_p_keeps_the_token_that_crosses() -> None:
    logits = np.log(np.array([0.5, 0.3, 0.2], dtype=np.float32))
    assert distribution(logits, SamplingConfig(1.0, top_p=0.6), ()) == pytest.approx([0.625, 0.375, 0.0])
    assert distribution(logits, SamplingConfig(1.0, top_p=0.01), ()) == pytest.approx([1.0, 0.0, 0.0])


def test_top_p_of_a_large_vocabulary_is_the_same_rule() -> None:
    logits = np.random.default_rng(3).normal(scale=3.0, size=20_000).astype(np.float32)
    for top_p in (0.3, 0.9, 0.9999):
        config = SamplingConfig(1.0, top_p=top_p)
        weights = np.exp(logits.astype(np.float64) - float(logits.max()))
        probs = weights / weights.sum()
        order = np.argsort(-probs, kind="stable")
        kept = order[: int(np.searchsorted(np.cumsum(probs[order]), top_p)) + 1]
        support = np.flatnonzero(distribution(logits, config, ()))
        assert set(support) == set(kept)


def test_top_n_sigma_counts_deviations_from_the_best() -> None:
    """What is banned does not count, and the temperature does not change which tokens are left."""
    logits = np.array([0, 4, 1, -np.inf, 3, 2, 4], dtype=np.float32)
    sigma = math.sqrt(sum((value - 14 / 6) ** 2 for value in (0, 4, 1, 3, 2, 4)) / 6)
    for temperature in (0.3, 1.0, 50.0):
        for deviations, kept in ((0.9 / sigma, {1, 6}), (1.0001 / sigma, {1, 4, 6}), (2.5 / sigma, {1, 4, 5, 6})):
            probs = distribution(logits, SamplingConfig(temperature, top_n_sigma=deviations), ())
            assert set(np.flatnonzero(probs)) == kept
            weights = [math.exp((logits[token] - 4) / temperature) if token in kept else 0.0 for token in range(7)]
            assert probs == pytest.approx(np.array(weights) / sum(weights))
    banned = SamplingConfig(1.0, top_n_sigma=1.0, banned_tokens=(3,))
    swapped = np.array([0, 4, 1, 99, 3, 2, 4], dtype=np.float32)
    assert distribution(swapped, banned, ()) == pytest.approx(
        distribution(logits, SamplingConfig(1.0, top_n_sigma=1.0), ())
    )
    assert np.count_nonzero(distribution(logits, SamplingConfig(1.0, top_n_sigma=100.0), ())) == 6


def test_min_p_is_relative_to_the_best() -> None:
    logits = np.log(np.array([0.6, 0.3, 0.1], dtype=np.float32))
    probs = distribution(logits, SamplingConfig(1.0, min_p=0.4), ())
    assert probs == pytest.approx([2 / 3, 1 / 3, 0.0])


def test_minus_infinity_is_no_probability() -> None:
    logits = np.array([0.0, -np.inf, 0.0], dtype=np.float32)
    assert distribution(logits, SamplingConfig(1.0, typical=0.9), ()) == pytest.approx([0.5, 0.0, 0.5])


def test_greedy_takes_the_lowest_of_equals() -> None:
    logits = np.array([1.0, 4.0, 4.0, 4.0], dtype=np.float32)
    assert best_token(logits) == 1
    assert distribution(logits, SamplingConfig(0.0, top_p=0.5), ()).tolist() == [0.0, 1.0, 0.0, 0.0]


def test_greedy_after_penalties() -> None:
    logits = np.array([4.0, 3.9], dtype=np.float32)
    config = SamplingConfig(0.0, presence_penalty=1.0)
    assert distribution(logits, config, [0]).tolist() == [0.0, 1.0]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_logit_that_is_no_number_is_an_error(bad: float, temperature: float) -> None:
    logits = np.array([0.0, bad, 1.0], dtype=np.float32)
    with pytest.raises(DegenerateDistribution, match="no usable distribution"):
        distribution(logits, SamplingConfig(temperature), ())
    with pytest.raises(DegenerateDistribution):
        best_token(logits)
    with pytest.raises(DegenerateDistribution):
        log_normaliser(np.stack([np.zeros(3, dtype=np.float32), logits]))
    with pytest.raises(DegenerateDistribution, match="no usable distribution"):
        candidates(logits, SamplingConfig(temperature), ())
    with pytest.raises(DegenerateDistribution):
        logprob(logits, 0)


def test_no_possible_token_is_an_error() -> None:
    with pytest.raises(DegenerateDistribution):
        distribution(np.full(4, -np.inf, dtype=np.float32), SamplingConfig(1.0), ())


@quick
@given(
    any_logits,
    st.lists(st.integers(0, 11), max_size=30),
    st.floats(0.5, 2.0),
    st.floats(-2.0, 2.0),
    st.floats(-2.0, 2.0),
    st.integers(0, 12),
)
def test_penalties_against_the_reference(
    logits: Logits, history: list[int], repeat: float, presence: float, frequency: float, window: int
) -> None:
    config = SamplingConfig(
        1.0, repeat_penalty=repeat, presence_penalty=presence, frequency_penalty=frequency, penalty_window=window
    )
    counts = Counter(history[-window:] if window else history)
    expected = []
    for token, logit in enumerate(map(float, logits)):
        value = logit
        if counts[token]:
            value = value / repeat if value > 0 else value * repeat
            value -= presence + frequency * counts[token]
        expected.append(value)
    before = logits.copy()
    assert penalise(logits, config, history) == pytest.approx(expected, rel=1e-4, abs=1e-4)
    assert (logits == before).all()


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_penalties_and_biases_without_measure_leave_a_distribution(temperature: float) -> None:
    logits = np.array([9.0, -3.0, 2.0], dtype=np.float32)
    for rules in (
        {"repeat_penalty": 5e-324},
        {"logit_bias": {1: 1e300}},
        {"logit_bias": dict.fromkeys(range(3), -1e300)},
    ):
        probs = distribution(logits, SamplingConfig(temperature, **rules), [0, 1])
        assert probs.sum() == pytest.approx(1.0)


def test_penalties_come_before_the_temperature() -> None:
    logits = np.array([1.0, 1.0], dtype=np.float32)
    config = SamplingConfig(0.5, presence_penalty=1.0)
    assert distribution(logits, config, [0]) == pytest.approx(_softmax([0.0, 1.0], 0.5))


def test_numbers_are_keyed_by_seed_position_and_purpose() -> None:
    keys: list[Any] = [
        (seed, position, purpose)
        for seed in (0, 1, 2**64 - 1)
        for position in (0, 1, 999)
        for purpose in ("draft", "accept", "correction", "target")
    ]
    numbers = [uniform(*key) for key in keys]
    assert numbers == [uniform(*key) for key in reversed(keys)][::-1]
    assert len(set(numbers)) == len(keys)
    assert all(0.0 <= number < 1.0 for number in numbers)


def test_numbers_are_uniform_and_independent() -> None:
    first, second = (
        np.array([uniform(7, position, purpose) for position in range(20_000)]) for purpose in ("draft", "accept")
    )
    for numbers in (first, second):
        seen, _ = np.histogram(numbers, bins=20, range=(0.0, 1.0))
        assert ((seen - 1000.0) ** 2 / 1000.0).sum() < 50
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.03
    assert abs(np.corrcoef(first[:-1], first[1:])[0, 1]) < 0.03


@quick
@given(arrays(np.float64, 7, elements=st.sampled_from([0.0, 0.25, 1.0])).filter(lambda p: bool(p.sum() > 0)))
def test_nothing_of_probability_zero_is_drawn(weights: NDArray[np.float64]) -> None:
    probs = weights / weights.sum()
    for u in (0.0, 0.25, 0.5, np.nextafter(1.0, 0.0)):
        assert probs[sample(probs, u)] > 0.0


def test_draw_is_the_quantile() -> None:
    probs = np.array([0.25, 0.0, 0.5, 0.25])
    assert [sample(probs, u) for u in (0.0, 0.2499, 0.25, 0.7499, 0.75, 0.9999)] == [0, 0, 2, 2, 3, 3]


def test_sum_just_below_one_still_draws_the_last() -> None:
    probs = np.array([0.5, 0.5 - 1e-12, 0.0])
    assert sample(probs, np.nextafter(1.0, 0.0)) == 1


@quick
@given(arrays(np.float32, (3, 12), elements=st.floats(-50, 50, width=32)))
def test_log_normaliser(logits: Logits) -> None:
    before = logits.copy()
    expected = np.log(np.exp(logits.astype(np.float64)).sum(axis=1))
    assert log_normaliser(logits) == pytest.approx(expected, abs=1e-4)
    assert (logits == before).all()


def test_top_tokens_are_best_first() -> None:
    logits = np.log(np.array([0.1, 0.5, 0.15, 0.25], dtype=np.float32))
    tokens = top_tokens(logits, 0.0, 3)
    assert [token for token, _ in tokens] == [1, 3, 2]
    assert [math.exp(logprob) for _, logprob in tokens] == pytest.approx([0.5, 0.25, 0.15])
    assert len(top_tokens(logits, 0.0, 5)) == 4


@quick
@given(any_logits, st.dictionaries(st.integers(0, 11), st.floats(-20, 20), max_size=4), st.floats(0.2, 3))
def test_bias_moves_the_odds_by_its_exponential(logits: Logits, amounts: dict[int, float], heat: float) -> None:
    config = SamplingConfig(temperature=heat, logit_bias=tuple(amounts.items()))
    moved = [float(value) + amounts.get(token, 0.0) for token, value in enumerate(logits)]
    assert distribution(logits, config, ()) == pytest.approx(_softmax(moved, heat), abs=1e-6)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_banned_tokens_are_out_of_reach(temperature: float) -> None:
    logits = np.array([5, 4, 3, 2], dtype=np.float32)
    probs = distribution(logits, SamplingConfig(temperature=temperature, banned_tokens=(0, 1)), ())
    assert probs[:2].sum() == 0.0
    assert probs.argmax() == 2
    assert probs.sum() == pytest.approx(1.0)
    assert logits.tolist() == [5, 4, 3, 2]


def test_a_bias_after_the_penalties_and_before_the_cut() -> None:
    config = SamplingConfig(temperature=1.0, presence_penalty=3.0, logit_bias=((3, 10.0),), top_k=1)
    assert distribution(np.array([5, 4, 3, 2], dtype=np.float32), config, [0]).tolist() == [0, 0, 0, 1]


def test_banning_everything_is_a_named_error() -> None:
    for temperature in (0.0, 1.0):
        with pytest.raises(DegenerateDistribution):
            distribution(np.zeros(3, np.float32), SamplingConfig(temperature, banned_tokens=(0, 1, 2)), ())


@pytest.mark.parametrize("config", [SamplingConfig(logit_bias=((4, 1.0),)), SamplingConfig(banned_tokens=(9,))])
def test_tokens_that_do_not_exist(config: SamplingConfig) -> None:
    with pytest.raises(TokenOutOfRange, match="not in the vocabulary"):
        bias(np.zeros(4, np.float32), config)


def test_a_mapping_is_a_bias_too() -> None:
    config = SamplingConfig(logit_bias={7: 1, 2: -0.5}, banned_tokens={3, 1})  # type: ignore[arg-type]
    assert config.logit_bias == ((2, -0.5), (7, 1.0))
    assert config.banned_tokens == (1, 3)
    assert config.reshaped
    assert hash(config) == hash(SamplingConfig(logit_bias=((7, 1.0), (2, -0.5)), banned_tokens=(3, 1)))


@pytest.mark.parametrize("probs", [[0.0, 0.0], [math.nan, 1.0], [math.inf, 1.0]])
def test_nothing_to_draw_from(probs: list[float]) -> None:
    with pytest.raises(DegenerateDistribution, match="sum to zero"):
        sample(np.array(probs), 0.5)


def test_rounding_at_the_upper_end_gives_the_last_possible_token() -> None:
    """Where u·sum rounds up to the sum itself no place in the cumulative sum is above it."""
    assert sample(np.array([0.3, 0.7, 0.0]), 1.0) == 1
