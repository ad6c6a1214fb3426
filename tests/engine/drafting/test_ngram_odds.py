"""How much an n-gram drafter dares: costs and odds, what it learns, and copies that break and go on."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.cancel import CancelToken
from engine.drafting.base import cautious_cost
from engine.drafting.ngram import (
    NgramDrafter,
    NgramOptions,
    Odds,
)
from engine.lookahead.costs import measured_cost
from helpers.decoding.ngram import NO_LIMIT, new_drafter, texts, two_core_cost
from helpers.properties import quick


def test_cost_of_a_verification() -> None:
    """Of llama.cpp's own products in Q8_0, on two cores, in times of one token."""
    measured = {1: 1.0, 2: 1.85, 3: 2.1, 4: 2.45, 5: 2.9, 9: 4.6, 17: 8.5, 33: 15.8}
    assert all(cautious_cost(n) == pytest.approx(cost, rel=0.2) for n, cost in measured.items())
    costs = [cautious_cost(n) for n in range(1, 60)]
    assert costs == sorted(costs)


def test_cost_as_it_was_measured() -> None:
    counts, times = [100, 0, 0, 10, 0, 0, 0, 5, 3], [1000.0, 0.0, 0.0, 400.0, 0.0, 0.0, 0.0, 160.0, 1e6]
    cost = measured_cost(counts, times)
    assert [cost(n) for n in (1, 4, 8)] == [1.0, pytest.approx(4.0), pytest.approx(3.2)]
    assert 1.0 < cost(2) < 4.0
    assert cost(8) <= cost(9) < cost(33)
    assert measured_cost([], []) is cautious_cost
    assert measured_cost([2, 50], [3.0, 60.0]) is cautious_cost


def test_odds_grow_with_the_match_and_follow_what_comes_true() -> None:
    odds = Odds(NgramOptions(alone=(-1.0, 0.5), max_match=6))
    assert odds.chance("alone", 2) == pytest.approx(0.5)
    chances = [odds.chance("alone", length) for length in range(1, 9)]
    assert chances == sorted(chances)
    assert chances[5] == chances[7]
    other = odds.chance("agreed", 3)
    odds.learn("alone", 2, True)
    assert odds.chance("alone", 2) == pytest.approx(1 / (1 + np.exp(-0.3)))
    for _ in range(3):
        odds.learn("alone", 2, False)
    assert odds.chance("alone", 2) < 0.5
    assert odds.chance("agreed", 3) == other


def test_an_outcome_moves_the_odds_by_the_surprise() -> None:
    odds = Odds(NgramOptions(alone=(3.0, 0.0)))
    before = odds.chance("alone", 1)
    odds.learn("alone", 1, True)
    expected = odds.chance("alone", 1) - before
    odds.learn("alone", 1, False)
    assert before - odds.chance("alone", 1) > 10 * expected


def test_the_kind_of_evidence_decides() -> None:
    """The same two tokens: known from one place, from two that agree, from two that do not."""
    alone, agreed = [9, 1, 2, 3, 7, 1, 2], [9, 1, 2, 3, 8, 1, 2, 3, 7, 1, 2]
    split = [9, 1, 2, 3, 8, 1, 2, 4, 7, 1, 2]
    found = [new_drafter(text) for text in (alone, agreed, split)]
    assert [drafter._evidence for drafter in found] == ["alone", "agreed", "split"]
    assert [bool(drafter.propose(8).tokens) for drafter in found] == [False, True, False]


def test_learns_without_proposing() -> None:
    """Two tokens that match are not enough at first; after it came true a few times they are."""
    prompt = [token for start in range(10, 90, 10) for token in (start, start + 1, start + 2, start + 3, start + 4)]
    drafter = new_drafter(prompt)
    assert drafter.propose(8).tokens == ()
    proposed = []
    for start in range(10, 80, 10):
        drafter.observe([start, start + 1])
        proposed.append(len(drafter.propose(8).tokens))
        drafter._drafted = 0
        drafter.observe([start + 2])
    assert proposed[0] == 0
    assert proposed[-1] >= 3


def test_what_was_learned_ends_with_the_prompt() -> None:
    drafter = new_drafter([1, 2, 3, 4] * 3)
    first = drafter.propose(16)
    for token in (9, 1, 9, 2, 9, 3):
        drafter.propose(16)
        drafter.observe([token])
    drafter.begin([1, 2, 3, 4] * 3, CancelToken())
    assert drafter.propose(16) == first


def _cost_of(drafter: NgramDrafter, reply: Sequence[int], cost: Callable[[int], float] = two_core_cost) -> float:
    """What a reply costs, in times of one token, if the target writes `reply` whatever is proposed."""
    done, total = 0, 0.0
    while done < len(reply):
        tokens = drafter.propose(min(16, len(reply) - done - 1)).tokens
        accepted = 0
        while accepted < len(tokens) and tokens[accepted] == reply[done + accepted]:
            accepted += 1
        drafter.observe(reply[done : done + accepted + 1])
        done += accepted + 1
        total += cost(1 + len(tokens))
    return total


@quick
@given(texts, st.lists(st.integers(0, 3), min_size=1, max_size=150))
def test_never_much_slower_than_plain_decoding(prompt: list[int], reply: list[int]) -> None:
    """By arithmetic, however misleading the text is."""
    options = NgramOptions(alone=(9.0, 0.0), agreed=(9.0, 0.0), split=(9.0, 0.0), learning_rate=0.0)
    spent = _cost_of(new_drafter(prompt, options), reply)
    assert spent <= len(reply) + options.allowance + options.allowance_share * len(reply) + 1e-9


def test_misleading_text_uses_the_allowance_up() -> None:
    """The bound above means something: without it the same drafter is far slower."""
    rng = np.random.default_rng(3)
    reply = [int(token) for token in rng.integers(0, 4, 300)]
    gullible = NgramOptions(alone=(9.0, 0.0), agreed=(9.0, 0.0), split=(9.0, 0.0), learning_rate=0.0)
    assert (
        _cost_of(new_drafter(reply[:40], replace(gullible, allowance=NO_LIMIT, most_allowance=NO_LIMIT)), reply) > 330
    )
    assert 300 < _cost_of(new_drafter(reply[:40], gullible), reply) < 314
    assert _cost_of(new_drafter(reply[:40]), reply) < 310


def test_other_costs_other_lengths() -> None:
    """Where a long verification costs what a short one does, more is proposed."""
    text = [*range(20), 0, 1, 2]
    short = new_drafter(text, NgramOptions(allowance=NO_LIMIT, alone=(1.0, 0.0)))
    flat = NgramDrafter(NgramOptions(alone=(1.0, 0.0)), cost=measured_cost([9] * 33, [9.0] * 33))
    flat.begin(text, CancelToken())
    assert len(short.propose(16).tokens) < len(flat.propose(16).tokens) >= 8
    assert len(flat.propose(99).tokens) <= 32


def test_copy_with_a_change_is_fast() -> None:
    rng = np.random.default_rng(5)
    source = [int(token) for token in rng.integers(10, 400, 120)]
    changed = [*source[:50], 5, 6, *source[52:]]
    spent = _cost_of(new_drafter([1, *source, 2, 3]), changed)
    assert len(changed) / spent > 2.0


COMMON = 7
PASSAGE = [*range(100, 112), COMMON, *range(112, 130)]
"""A text to be copied, with a token in it that stands elsewhere too."""
ELSEWHERE = [50, COMMON, 51, 52, COMMON, 53, 54, COMMON, 55]


def _broken_copy(*change: int, options: NgramOptions | None = None) -> NgramDrafter:
    """A copy of the passage that went well up to its tenth token, where something else came."""
    drafter = new_drafter([*PASSAGE, 1, *ELSEWHERE, 2], options or NgramOptions(allowance=NO_LIMIT))
    drafter.observe(PASSAGE[:10])
    drafter.observe(change)
    return drafter


@pytest.mark.parametrize(
    ("change", "goes_on_at"),
    [
        pytest.param((60, 61, COMMON), 13, id="two replaced"),
        pytest.param((60, 61, 62, 110), 11, id="some inserted"),
        pytest.param((COMMON,), 13, id="two left out"),
    ],
)
def test_goes_on_behind_a_change(change: tuple[int, ...], goes_on_at: int) -> None:
    drafter = _broken_copy(*change)
    assert drafter._evidence == "resumed" or change[-1] != COMMON
    following = PASSAGE[goes_on_at]
    drafter.observe([following])
    expected = tuple(PASSAGE[goes_on_at + 1 :])
    tokens = drafter.propose(8).tokens
    assert len(tokens) >= 3
    assert tokens == expected[: len(tokens)]


def test_other_places_would_mislead() -> None:
    """The token behind the change stands elsewhere more often: without the memory of the break, no proposal."""
    without = _broken_copy(60, 61, COMMON, options=NgramOptions(allowance=NO_LIMIT, copied=NO_LIMIT))
    assert without._evidence == "split"
    assert without.propose(8).tokens == ()
    sure = _broken_copy(60, 61, COMMON, options=NgramOptions(allowance=NO_LIMIT, resumed=(3.0, 0.0)))
    assert sure.propose(4).tokens == tuple(PASSAGE[13:16])


def test_a_longer_match_elsewhere_is_believed_more() -> None:
    drafter = new_drafter([*PASSAGE, 1, 60, 61, COMMON, 62, 63, 64, 2], NgramOptions(allowance=NO_LIMIT))
    drafter.observe([*PASSAGE[:10], 60, 61, COMMON])
    assert drafter._resumed is not None
    assert drafter._evidence == "alone"
    assert drafter._match is drafter._found


def test_a_short_match_that_breaks_is_not_remembered() -> None:
    drafter = new_drafter([*PASSAGE, 1, *ELSEWHERE, 2], NgramOptions(allowance=NO_LIMIT))
    drafter.observe([*PASSAGE[:5], 60, COMMON])
    assert drafter._resumed is None


def test_a_break_is_forgotten_after_a_while() -> None:
    options = NgramOptions(allowance=NO_LIMIT, window=6)
    assert _broken_copy(60, 61, 62, COMMON, options=options)._resumed is not None
    assert _broken_copy(60, 61, 62, 63, 64, 65, COMMON, options=options)._resumed is None
    far = _broken_copy(60, PASSAGE[-3], options=options)
    assert far._resumed is None
    far.observe([60, COMMON])
    assert far._resumed is not None


def test_a_resumed_copy_can_break_again() -> None:
    drafter = _broken_copy(60, 61, COMMON, *PASSAGE[13:22], 62, *PASSAGE[23:25])
    tokens = drafter.propose(4).tokens
    assert tokens
    assert tokens == tuple(PASSAGE[25 : 25 + len(tokens)])
