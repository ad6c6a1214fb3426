"""The few tokens that may be drawn stand for the whole distribution."""

from typing import Any

import numpy as np
import pytest

from engine.config import SamplingConfig
from engine.errors import DegenerateDistribution
from engine.sampling.candidates import Candidates, Drawn
from engine.sampling.distribution import candidates, distribution

CUTS: tuple[dict[str, Any], ...] = (
    {},
    {"top_k": 40},
    {"top_k": 700},
    {"top_p": 0.95},
    {"top_p": 0.9999},
    {"top_p": 1e-9},
    {"min_p": 0.05},
    {"typical": 0.9},
    {"top_k": 40, "top_p": 0.95},
    {"top_k": 40, "top_p": 0.8, "min_p": 0.1},
    {"top_p": 0.9, "min_p": 0.01},
    {"top_k": 5, "typical": 0.7},
    {"repeat_penalty": 1.3, "frequency_penalty": 0.4, "top_p": 0.9},
    {"logit_bias": ((3, 4.0),), "banned_tokens": (1, 2)},
)


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("size", [12, 20_000])
@pytest.mark.parametrize("sharpness", [0.5, 4.0])
def test_candidates_are_the_distribution(cut: dict[str, Any], size: int, sharpness: float) -> None:
    rng = np.random.default_rng(size)
    for temperature in (0.8, 1.0, 3.0):
        # Some lie far from zero, beyond what float32 bears without a shift. No two are alike.
        away = 200.0 if temperature == 1.0 else 0.0
        drawn = rng.normal(scale=sharpness, size=size) + 4.0 * rng.permutation(size) / size
        logits = (drawn + away).astype(np.float32)
        config = SamplingConfig(temperature, **cut)
        history = [3, 3, 5]
        known = distribution(logits, config, history)
        found = candidates(logits, config, history)
        assert len(found) == size
        np.testing.assert_allclose(found.dense(), known, rtol=1e-5, atol=2e-6)
        assert found.highest == pytest.approx(known.max(), rel=1e-6)
        some = np.array([0, 3, size - 1, int(known.argmax())])
        assert found.at(some) == pytest.approx(known[some], rel=1e-5, abs=2e-6)
        assert [found[int(token)] for token in some] == pytest.approx(known[some], rel=1e-5, abs=2e-6)
        assert all(found[token] > 0.0 for token in (found.draw(u) for u in (0.0, 0.5, np.nextafter(1.0, 0.0))))
        for u in rng.random(20):
            token = found.draw(u)
            below = known[:token].sum()
            assert below - 1e-6 <= u <= below + known[token] + 1e-6


def test_weights_without_mass_are_an_error() -> None:
    for weights in (np.zeros(3), np.array([1.0, np.nan])):
        with pytest.raises(DegenerateDistribution, match="sum to zero"):
            Candidates(3, weights)


def test_drawn_distributions_are_a_sequence_of_arrays() -> None:
    drawn = Drawn([Candidates(2, np.array([1.0, 3.0])), Candidates(2, np.array([1.0]))])
    assert [probs.tolist() for probs in drawn] == [[0.25, 0.75], [1.0, 0.0]]
    assert len(drawn[1:]) == 1
    assert drawn[1:][0].tolist() == [1.0, 0.0]


def test_ids_beyond_the_logits_have_no_probability() -> None:
    logits = np.zeros(4, dtype=np.float32)
    for cut in ({}, {"top_k": 2}):
        found = candidates(logits, SamplingConfig(1.0, **cut), (), size=6)  # type: ignore[arg-type]
        assert len(found) == 6
        assert found[5] == 0.0
        assert found.dense()[4:].tolist() == [0.0, 0.0]
        assert found.at(np.array([0, 5])).tolist() == [1.0 / (2 if cut else 4), 0.0]


def test_what_a_mask_leaves_out_is_no_candidate() -> None:
    logits, mask = np.array([3.0, 2.0, 1.0], np.float32), np.array([0b110], np.uint32)
    found = candidates(logits, SamplingConfig(temperature=1.0), (), mask=mask)
    assert found[0] == 0.0 < found[1]
    assert candidates(logits, SamplingConfig(), (), mask=mask).dense().tolist() == [0.0, 1.0, 0.0]
