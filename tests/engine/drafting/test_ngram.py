"""Drafting from the text itself: the index, what is proposed, and the drafter's life."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.cancel import CancelToken
from engine.drafting.ngram import (
    NgramDrafter,
    NgramOptions,
    SuffixIndex,
)
from engine.errors import Cancelled
from helpers.decoding.ngram import (
    EAGER,
    NO_LIMIT,
    WHOLE,
    continued,
    naive_places,
    new_drafter,
    texts,
    two_core_cost,
)
from helpers.properties import quick


@quick
@given(texts)
def test_search_finds_what_a_naive_search_finds(text: list[int]) -> None:
    index = SuffixIndex(NO_LIMIT, NO_LIMIT)
    index.extend(text)
    match = index.search()
    naive = naive_places(text)
    if not naive:
        assert match is None
        return
    assert match is not None
    assert match.length == naive[0][0]
    assert match.places == [place for length, place in naive if length >= max(match.length - 1, 1)]


@quick
@given(texts, st.integers(1, 4), st.integers(1, 5))
def test_limits_of_a_search(text: list[int], max_match: int, most_places: int) -> None:
    """The latest places of the last token, compared so far back and no farther."""
    index = SuffixIndex(max_match, most_places)
    index.extend(text)
    latest = sorted(naive_places(text), key=lambda found: -found[1])[:most_places]
    capped = sorted(((min(length, max_match), place) for length, place in latest), reverse=True)
    match = index.search()
    assert (match is None) == (not capped)
    if match is not None:
        assert match.length == capped[0][0]
        assert match.places == [place for length, place in capped if length >= max(match.length - 1, 1)]


@quick
@given(st.lists(st.tuples(texts, st.integers(0, 60)), min_size=1, max_size=5))
def test_taking_back_leaves_the_index_of_what_is_kept(steps: list[tuple[list[int], int]]) -> None:
    index, text = SuffixIndex(), list[int]()
    for added, kept in steps:
        index.extend(added)
        index.keep(kept)
        text = [*text, *added][:kept]
        fresh = SuffixIndex()
        fresh.extend(text)
        assert vars(index) == vars(fresh)


@quick
@given(texts, texts)
def test_following_a_match_equals_searching_anew(prompt: list[int], reply: list[int]) -> None:
    drafter = new_drafter(prompt, WHOLE)
    text = list(prompt)
    for token in reply:
        drafter.observe([token])
        text.append(token)
        naive = naive_places(text)
        found = drafter._found
        assert (found is None) == (not naive)
        if found is not None:
            assert (found.length, found.places[0]) == naive[0]


@quick
@given(texts, texts, st.integers(0, 20), st.integers(1, 4))
def test_proposals_continue_the_longest_latest_match(
    prompt: list[int], reply: list[int], most: int, min_match: int
) -> None:
    drafter = new_drafter(prompt, replace(EAGER, min_match=min_match))
    drafter.observe(reply)
    text = [*prompt, *reply]
    draft = drafter.propose(most)
    naive = naive_places(text)
    if most and naive and naive[0][0] >= min_match:
        assert list(draft.tokens) == continued(text, naive[0][1], len(draft.tokens))
        assert draft.tokens
    else:
        assert draft.tokens == ()
    assert len(draft.tokens) <= most


@quick
@given(texts, texts, st.integers(1, 3), st.integers(1, 9))
def test_every_proposal_stood_behind_the_same_tokens(
    prompt: list[int], reply: list[int], min_match: int, copied: int
) -> None:
    """As the product is set up, resumed copies included."""
    drafter = new_drafter(prompt, NgramOptions(min_match=min_match, copied=copied, allowance=NO_LIMIT))
    text = list(prompt)
    for token in reply:
        tokens = list(drafter.propose(16).tokens)
        if tokens:
            places = [place for length, place in naive_places(text) if length >= min_match]
            assert tokens in [continued(text, place, len(tokens)) for place in places]
        drafter.observe([token])
        text.append(token)


@quick
@given(st.lists(texts, min_size=2, max_size=4), texts)
def test_prompts_in_turn_equal_fresh_ones(prompts: list[list[int]], reply: list[int]) -> None:
    """What is kept of the index, and what was learned, leaves no trace."""
    drafter = NgramDrafter(cost=two_core_cost)
    for number, prompt in enumerate(prompts):
        longer = [*drafter._index.tokens, *prompt] if number % 2 else prompt
        drafter.begin(longer, CancelToken())
        fresh = new_drafter(longer)
        for token in reply:
            assert drafter.propose(16) == fresh.propose(16)
            drafter.observe([token])
            fresh.observe([token])


def test_nothing_without_evidence() -> None:
    drafter = new_drafter(range(50))
    assert drafter.propose(16).tokens == ()
    drafter.observe([60, 61, 62])
    assert drafter.propose(16).tokens == ()
    assert new_drafter([]).propose(16).tokens == ()


def test_what_a_draft_says() -> None:
    drafter = new_drafter([1, 2, 3] * 9)
    draft = drafter.propose(5)
    assert draft.tokens
    assert draft.probs is None
    assert draft.logprobs == ()
    assert draft.source == drafter.name == "ngram"
    assert drafter.forwards == 0
    assert drafter.propose(5) == draft
    assert drafter.propose(0).tokens == ()


@pytest.mark.parametrize("period", [1, 2, 3, 5, 11])
def test_loops_go_on_at_any_length(period: int) -> None:
    unit = list(range(period))
    drafter = new_drafter(unit * 12)
    written = 0
    for _ in range(8):
        tokens = list(drafter.propose(32).tokens)
        assert tokens == [unit[(written + index) % period] for index in range(len(tokens))]
        bonus = unit[(written + len(tokens)) % period]
        drafter.observe([*tokens, bonus])
        written += len(tokens) + 1
    assert len(drafter.propose(32).tokens) == 32


def test_latest_of_equal_places() -> None:
    text = [1, 2, 3, 7, 7, 1, 2, 4, 8, 8, 1, 2]
    assert new_drafter(text, EAGER).propose(2).tokens == (4, 8)
    assert new_drafter([5, *text[:-2], 5, 1, 2], EAGER).propose(2).tokens == (3, 7)


def test_draft_ends_at_a_stop_token() -> None:
    prompt = [1, 2, 3, 4, 9, 5, 6, 1, 2]
    assert new_drafter(prompt, EAGER).propose(6).tokens == (3, 4, 9, 5, 6, 1)
    assert new_drafter(prompt, EAGER, frozenset([9])).propose(6).tokens == (3, 4, 9)


def test_draft_is_short_where_places_part() -> None:
    """Two places go on alike for two tokens and then differently: the draft ends there."""
    text = [1, 2, 3, 10, 11, 12, 13, 14, 15, 1, 2, 3, 10, 11, 22, 23, 24, 25, 1, 2, 3]
    drafter = new_drafter(text, NgramOptions(agreed=(6.0, 0.0), alone=(6.0, 0.0), split=(-6.0, 0.0)))
    assert drafter.propose(8).tokens == (10, 11)


class TripsAt(CancelToken):
    """Somebody presses cancel while the prompt is being indexed."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        self._looks = looks

    def check(self, what: str = "The request") -> None:
        self._looks -= 1
        if self._looks == 0:
            self.cancel()
        super().check(what)


@pytest.mark.parametrize("looks", [1, 2, 4])
def test_a_long_prompt_can_be_cancelled(looks: int) -> None:
    prompt = [token % 1000 for token in range(20_000)]
    drafter = NgramDrafter(cost=two_core_cost)
    with pytest.raises(Cancelled):
        drafter.begin(prompt, TripsAt(looks))
    assert len(drafter._index.tokens) < len(prompt)
    assert drafter.propose(4).tokens == ()
    drafter.begin(prompt, CancelToken())
    assert drafter.propose(4) == new_drafter(prompt).propose(4)
    assert drafter.propose(4).tokens


def test_next_turn_indexes_only_what_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    drafter = new_drafter([1, 2, 3, 4, 5])
    drafter.observe([6, 7])
    added: list[int] = []
    extend = SuffixIndex.extend

    def counted(index: SuffixIndex, tokens: Sequence[int]) -> None:
        added.extend(tokens)
        extend(index, tokens)

    monkeypatch.setattr(SuffixIndex, "extend", counted)
    drafter.begin([1, 2, 3, 4, 5, 6, 8, 9], CancelToken())
    assert added == [8, 9]


def test_observing_nothing_changes_nothing() -> None:
    drafter = new_drafter([1, 2, 3] * 5)
    before = drafter.propose(8)
    drafter._drafted = 0
    drafter.observe(())
    assert drafter.propose(8) == before
