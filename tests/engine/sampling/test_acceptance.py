"""The acceptance rules: the documented edges, and what holds for any two distributions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from engine.errors import DegenerateDistribution, TokenOutOfRange
from engine.sampling.acceptance import accept, residual_distribution
from helpers.properties import quick

Distribution = NDArray[np.float64]


def _probs(*values: float) -> Distribution:
    return np.array(values, dtype=np.float64)


def _normalised(weights: Distribution) -> Distribution:
    result: Distribution = weights / weights.sum()
    return result


def distributions(size: int = 6) -> st.SearchStrategy[Distribution]:
    """Distributions over `size` tokens, often with zeros."""
    weight = st.one_of(st.just(0.0), st.floats(1e-6, 1.0))
    return arrays(np.float64, size, elements=weight).filter(lambda w: bool(w.sum() > 0)).map(_normalised)


def test_no_draft_probability_rejects() -> None:
    assert not accept(0, _probs(0.0, 1.0), _probs(1.0, 0.0), 0.0)


def test_no_target_probability_rejects_even_the_smallest_number() -> None:
    assert not accept(0, _probs(1.0, 0.0), _probs(0.0, 1.0), 0.0)


def test_comparison_is_strict() -> None:
    draft, target = _probs(0.5, 0.5), _probs(0.25, 0.75)
    assert accept(0, draft, target, np.nextafter(0.5, 0.0))
    assert not accept(0, draft, target, 0.5)


def test_likelier_by_the_target_is_always_kept() -> None:
    assert accept(0, _probs(0.2, 0.8), _probs(0.3, 0.7), np.nextafter(1.0, 0.0))
    assert accept(0, _probs(0.2, 0.8), _probs(0.2, 0.8), np.nextafter(1.0, 0.0))


def test_huge_ratio_is_no_trouble() -> None:
    assert accept(0, _probs(5e-324, 1.0), _probs(1.0, 0.0), 0.999)


def test_residual_of_an_example() -> None:
    residual = residual_distribution(_probs(0.5, 0.3, 0.2), _probs(0.2, 0.5, 0.3))
    assert residual == pytest.approx(_probs(1.0, 0.0, 0.0))


def test_residual_without_mass_is_the_target() -> None:
    target = _probs(0.5, 0.5)
    residual = residual_distribution(target, target.copy())
    assert residual.tolist() == target.tolist()
    assert residual is not target
    assert not np.shares_memory(residual, target)


def test_arguments_are_left_alone() -> None:
    target, draft = _probs(0.7, 0.3), _probs(0.1, 0.9)
    residual_distribution(target, draft)
    assert target.tolist() == [0.7, 0.3]
    assert draft.tolist() == [0.1, 0.9]


@quick
@given(distributions(), distributions())
def test_residual_is_a_distribution_within_the_target(target: Distribution, draft: Distribution) -> None:
    residual = residual_distribution(target, draft)
    assert residual.shape == target.shape
    assert residual.sum() == pytest.approx(1.0)
    assert (residual >= 0.0).all()
    assert not residual[target == 0.0].any()


@quick
@given(distributions(), distributions())
def test_rule_gives_the_target_exactly(target: Distribution, draft: Distribution) -> None:
    """Draw from the draft, keep or correct: summed over all cases the target's distribution comes out."""
    kept = np.minimum(target, draft)
    rejected = 1.0 - kept.sum()
    out = kept + max(rejected, 0.0) * residual_distribution(target, draft)
    assert out == pytest.approx(target, abs=1e-9)


@quick
@given(distributions(), distributions(), st.integers(0, 5), st.floats(0.0, 1.0, exclude_max=True))
def test_accept_is_the_rule(target: Distribution, draft: Distribution, token: int, u: float) -> None:
    ratio = target[token] / draft[token] if draft[token] > 0.0 else 0.0
    assert accept(token, draft, target, u) == (draft[token] > 0.0 and u < min(1.0, ratio))


@quick
@given(distributions(), st.integers(0, 5))
def test_one_hot_draft_is_the_exact_match_rule(target: Distribution, token: int) -> None:
    """With a one-hot draft a token is kept with the target's probability, else one of the others is drawn."""
    one_hot = np.eye(6)[token]
    share = target[token]
    if share > 0.0:
        assert accept(token, one_hot, target, np.nextafter(share, 0.0))
    if share < 1.0:
        assert not accept(token, one_hot, target, share)
        others = target * (np.arange(6) != token)
        if others.sum() > 0.0:
            assert residual_distribution(target, one_hot) == pytest.approx(others / others.sum())


@pytest.mark.parametrize("token", [-1, 3])
def test_a_token_that_does_not_exist(token: int) -> None:
    with pytest.raises(TokenOutOfRange):
        accept(token, np.full(3, 1 / 3), np.full(3, 1 / 3), 0.5)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_residual_of_no_numbers(bad: float) -> None:
    with pytest.raises(DegenerateDistribution, match="not a finite number"):
        residual_distribution(np.array([bad, 0.5]), np.array([0.5, 0.5]))
