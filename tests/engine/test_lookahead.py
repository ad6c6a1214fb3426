"""How K is chosen: fixed, adaptive, and by measured cost."""

import random
from collections.abc import Callable

import pytest

from engine.config import SpeculationConfig
from engine.lookahead import AdaptiveLookahead, AutoLookahead, FixedLookahead, make_policy


@pytest.mark.parametrize("lookahead", [0, 1, 32])
def test_fixed_stays(lookahead: int) -> None:
    policy = make_policy(SpeculationConfig(lookahead=lookahead))
    assert isinstance(policy, FixedLookahead)
    for accepted in range(lookahead + 1):
        policy.observe(lookahead, accepted, 1.0, 1.0)
        assert policy.choose() == lookahead


def test_adaptive_rises_and_falls_within_its_bounds() -> None:
    policy = make_policy(SpeculationConfig(lookahead="adaptive", adaptive_start=3, adaptive_max=5))
    assert isinstance(policy, AdaptiveLookahead)
    seen = [policy.choose()]
    for _ in range(4):
        policy.observe(seen[-1], seen[-1], 1.0, 1.0)
        seen.append(policy.choose())
    assert seen == [3, 4, 5, 5, 5]
    for _ in range(6):
        policy.observe(seen[-1], 0, 1.0, 1.0)
        seen.append(policy.choose())
    assert seen[5:] == [4, 3, 2, 1, 1, 1]


def test_adaptive_keeps_between_its_limits_and_without_a_draft() -> None:
    policy = AdaptiveLookahead(SpeculationConfig(lookahead="adaptive"))
    policy.observe(3, 2, 1.0, 1.0)
    policy.observe(0, 0, 1.0, 1.0)
    assert policy.choose() == 4


def _run(rate: float, draft_ms: float, verify_ms: Callable[[int], float], rounds: int = 600) -> tuple[list[int], float]:
    """The K of each round in a world of fixed costs, and the tokens per millisecond of the last half."""
    rng = random.Random(4)
    policy = make_policy(SpeculationConfig(lookahead="auto"))
    assert isinstance(policy, AutoLookahead)
    chosen: list[int] = []
    tokens = spent = 0.0
    for number in range(rounds):
        k = policy.choose()
        accepted = next((index for index in range(k) if rng.random() >= rate), k)
        times = k * draft_ms, verify_ms(k + 1)
        policy.observe(k, accepted, *times)
        chosen.append(k)
        if number >= rounds // 2:
            tokens, spent = tokens + accepted + 1, spent + sum(times)
    return chosen, tokens / spent


def _steady(rate: float, draft_ms: float, verify_ms: Callable[[int], float], k: int) -> float:
    expected = sum(rate**index for index in range(k + 1))
    return expected / (verify_ms(k + 1) + k * draft_ms)


def _flat(n: int) -> float:
    return 10.0 + 0.2 * n


def _linear(n: int) -> float:
    return 10.0 * n


@pytest.mark.parametrize(("rate", "draft_ms"), [(0.9, 0.5), (0.7, 0.5), (0.5, 1.0), (0.8, 3.0)])
def test_auto_comes_near_the_best_lookahead(rate: float, draft_ms: float) -> None:
    _, speed = _run(rate, draft_ms, _flat)
    best = max(_steady(rate, draft_ms, _flat, k) for k in range(17))
    assert speed > 0.85 * best


@pytest.mark.parametrize(("rate", "draft_ms"), [(0.05, 5.0), (0.6, 12.0), (0.0, 1.0)])
def test_auto_never_makes_it_much_slower(rate: float, draft_ms: float) -> None:
    chosen, speed = _run(rate, draft_ms, _linear)
    assert speed > 0.93 * _steady(rate, draft_ms, _linear, 0)
    assert chosen[-100:].count(0) > 90


def test_auto_tries_again_after_switching_off() -> None:
    chosen, _ = _run(0.0, 5.0, _linear)
    switched_off = chosen.index(0, 5)
    assert any(chosen[switched_off:])


def test_auto_stays_within_its_bounds() -> None:
    chosen, _ = _run(1.0, 0.001, _flat)
    assert 0 <= min(chosen) <= max(chosen) <= AutoLookahead.MOST


def test_auto_has_an_opinion_before_anything_was_measured() -> None:
    """All sizes cost the same as far as is known, so longer drafts look better."""
    auto = AutoLookahead()
    assert auto.speed(4) > auto.speed(1) > 0.0


def test_default_is_four() -> None:
    assert make_policy(SpeculationConfig()).choose() == 4
