"""The n-gram drafter: what it finds, what it proposes, what it may cost, and that it never changes the text."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.backends.base import Logits
from engine.backends.fake import FakeBackend
from engine.cancel import CancelToken
from engine.config import SamplingConfig, SpeculationConfig
from engine.costs import cautious_cost
from engine.drafting.base import Draft, GoesOn
from engine.drafting.ngram import (
    NgramDrafter,
    NgramOptions,
    Odds,
    SuffixIndex,
    measured_cost,
    verify_cost,
)
from engine.errors import Cancelled
from helpers import joint
from helpers.joint import Setting, chi_square_p, draw_many, exact_joint
from helpers.properties import quick

NO_LIMIT = 10**9
WHOLE = NgramOptions(max_match=NO_LIMIT, most_places=NO_LIMIT, copied=NO_LIMIT)
"""Compares as far back as there is text, looks at every place, and resumes nothing."""
EAGER = replace(WHOLE, alone=(9.0, 0.0), agreed=(9.0, 0.0), split=(9.0, 0.0), learning_rate=0.0, allowance=NO_LIMIT)
"""Believes everything and pays anything: proposes as much as it may."""

texts = st.lists(st.integers(0, 3), min_size=1, max_size=40)


def _drafter(
    prompt: Sequence[int], options: NgramOptions | None = None, stop_tokens: frozenset[int] = frozenset()
) -> NgramDrafter:
    drafter = NgramDrafter(options, stop_tokens=stop_tokens)
    drafter.begin(prompt, CancelToken())
    return drafter


def _naive_places(text: Sequence[int]) -> list[tuple[int, int]]:
    """(length of the match, place) of every place where the end of the text stood before, the best first."""
    found = []
    for place in range(1, len(text)):
        length = 0
        while length < place and text[place - length - 1] == text[len(text) - length - 1]:
            length += 1
        if length:
            found.append((length, place))
    return sorted(found, reverse=True)


def _continued(text: Sequence[int], place: int, count: int) -> list[int]:
    """What follows `place`, past the end of the text into itself."""
    longer = list(text)
    for index in range(count):
        longer.append(longer[place + index])
    return longer[len(text) :]


# The index ----------------------------------------------------------------------------------------------------------


@quick
@given(texts)
def test_search_finds_what_a_naive_search_finds(text: list[int]) -> None:
    index = SuffixIndex(NO_LIMIT, NO_LIMIT)
    index.extend(text)
    match = index.search()
    naive = _naive_places(text)
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
    latest = sorted(_naive_places(text), key=lambda found: -found[1])[:most_places]
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
    drafter = _drafter(prompt, WHOLE)
    text = list(prompt)
    for token in reply:
        drafter.observe([token])
        text.append(token)
        naive = _naive_places(text)
        found = drafter._found
        assert (found is None) == (not naive)
        if found is not None:
            assert (found.length, found.places[0]) == naive[0]


# What is proposed ---------------------------------------------------------------------------------------------------


@quick
@given(texts, texts, st.integers(0, 20), st.integers(1, 4))
def test_proposals_continue_the_longest_latest_match(
    prompt: list[int], reply: list[int], most: int, min_match: int
) -> None:
    drafter = _drafter(prompt, replace(EAGER, min_match=min_match))
    drafter.observe(reply)
    text = [*prompt, *reply]
    draft = drafter.propose(most)
    naive = _naive_places(text)
    if most and naive and naive[0][0] >= min_match:
        assert list(draft.tokens) == _continued(text, naive[0][1], len(draft.tokens))
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
    drafter = _drafter(prompt, NgramOptions(min_match=min_match, copied=copied, allowance=NO_LIMIT))
    text = list(prompt)
    for token in reply:
        tokens = list(drafter.propose(16).tokens)
        if tokens:
            places = [place for length, place in _naive_places(text) if length >= min_match]
            assert tokens in [_continued(text, place, len(tokens)) for place in places]
        drafter.observe([token])
        text.append(token)


@quick
@given(st.lists(texts, min_size=2, max_size=4), texts)
def test_prompts_in_turn_equal_fresh_ones(prompts: list[list[int]], reply: list[int]) -> None:
    """What is kept of the index, and what was learned, leaves no trace."""
    drafter = NgramDrafter()
    for number, prompt in enumerate(prompts):
        longer = [*drafter._index.tokens, *prompt] if number % 2 else prompt
        drafter.begin(longer, CancelToken())
        fresh = _drafter(longer)
        for token in reply:
            assert drafter.propose(16) == fresh.propose(16)
            drafter.observe([token])
            fresh.observe([token])


def test_nothing_without_evidence() -> None:
    drafter = _drafter(range(50))
    assert drafter.propose(16).tokens == ()
    drafter.observe([60, 61, 62])
    assert drafter.propose(16).tokens == ()
    assert _drafter([]).propose(16).tokens == ()


def test_what_a_draft_says() -> None:
    drafter = _drafter([1, 2, 3] * 9)
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
    drafter = _drafter(unit * 12)
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
    assert _drafter(text, EAGER).propose(2).tokens == (4, 8)
    assert _drafter([5, *text[:-2], 5, 1, 2], EAGER).propose(2).tokens == (3, 7)


def test_draft_ends_at_a_stop_token() -> None:
    prompt = [1, 2, 3, 4, 9, 5, 6, 1, 2]
    assert _drafter(prompt, EAGER).propose(6).tokens == (3, 4, 9, 5, 6, 1)
    assert _drafter(prompt, EAGER, frozenset([9])).propose(6).tokens == (3, 4, 9)


def test_draft_is_short_where_places_part() -> None:
    """Two places go on alike for two tokens and then differently: the draft ends there."""
    text = [1, 2, 3, 10, 11, 12, 13, 14, 15, 1, 2, 3, 10, 11, 22, 23, 24, 25, 1, 2, 3]
    drafter = _drafter(text, NgramOptions(agreed=(6.0, 0.0), alone=(6.0, 0.0), split=(-6.0, 0.0)))
    assert drafter.propose(8).tokens == (10, 11)


# How likely, and how much -------------------------------------------------------------------------------------------


def test_cost_of_a_verification() -> None:
    assert [verify_cost(n) for n in (1, 2, 4, 5, 8, 9, 16, 17)] == [1.0, 1.7, 2.1, 3.1, 3.2, 4.2, 5.1, 5.2]
    assert verify_cost(3) == pytest.approx(1.9)
    costs = [verify_cost(n) for n in range(1, 60)]
    assert costs == sorted(costs)
    assert verify_cost(40) - verify_cost(39) == pytest.approx(verify_cost(30) - verify_cost(29))


def test_cost_as_it_was_measured() -> None:
    counts, times = [100, 0, 0, 10, 0, 0, 0, 5, 3], [1000.0, 0.0, 0.0, 400.0, 0.0, 0.0, 0.0, 160.0, 1e6]
    cost = measured_cost(counts, times)
    assert [cost(n) for n in (1, 4, 8)] == [1.0, pytest.approx(4.0), pytest.approx(3.2)]
    assert verify_cost(2) < cost(2) < 4.0
    assert cost(9) == pytest.approx(verify_cost(9) * 3.2 / verify_cost(8))
    assert cost(33) == pytest.approx(9.0 * 3.2 / verify_cost(8))
    assert measured_cost([], []) is verify_cost
    assert measured_cost([], [], cautious_cost) is cautious_cost
    assert all(cautious_cost(n) > verify_cost(n) for n in (2, 3, 4, 9, 17, 33))
    assert measured_cost([3, 50], [3.0, 60.0]) is verify_cost


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
    found = [_drafter(text) for text in (alone, agreed, split)]
    assert [drafter._evidence for drafter in found] == ["alone", "agreed", "split"]
    assert [bool(drafter.propose(8).tokens) for drafter in found] == [False, True, False]


def test_learns_without_proposing() -> None:
    """Two tokens that match are not enough at first; after it came true a few times they are."""
    prompt = [token for start in range(10, 90, 10) for token in (start, start + 1, start + 2, start + 3, start + 4)]
    drafter = _drafter(prompt)
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
    drafter = _drafter([1, 2, 3, 4] * 3)
    first = drafter.propose(16)
    for token in (9, 1, 9, 2, 9, 3):
        drafter.propose(16)
        drafter.observe([token])
    drafter.begin([1, 2, 3, 4] * 3, CancelToken())
    assert drafter.propose(16) == first


def _cost_of(drafter: NgramDrafter, reply: Sequence[int], cost: Callable[[int], float] = verify_cost) -> float:
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
    spent = _cost_of(_drafter(prompt, options), reply)
    assert spent <= len(reply) + options.allowance + options.allowance_share * len(reply) + 1e-9


def test_misleading_text_uses_the_allowance_up() -> None:
    """The bound above means something: without it the same drafter is far slower."""
    rng = np.random.default_rng(3)
    reply = [int(token) for token in rng.integers(0, 4, 300)]
    gullible = NgramOptions(alone=(9.0, 0.0), agreed=(9.0, 0.0), split=(9.0, 0.0), learning_rate=0.0)
    assert _cost_of(_drafter(reply[:40], replace(gullible, allowance=NO_LIMIT, most_allowance=NO_LIMIT)), reply) > 330
    assert 300 < _cost_of(_drafter(reply[:40], gullible), reply) < 314
    assert _cost_of(_drafter(reply[:40]), reply) < 310


def test_other_costs_other_lengths() -> None:
    """Where a long verification costs what a short one does, more is proposed."""
    text = [*range(20), 0, 1, 2]
    short = _drafter(text, NgramOptions(allowance=NO_LIMIT, alone=(1.0, 0.0)))
    flat = NgramDrafter(NgramOptions(alone=(1.0, 0.0)), cost=measured_cost([9] * 33, [9.0] * 33))
    flat.begin(text, CancelToken())
    assert len(short.propose(16).tokens) < len(flat.propose(16).tokens) >= 8
    assert len(flat.propose(99).tokens) <= 32


def test_copy_with_a_change_is_fast() -> None:
    rng = np.random.default_rng(5)
    source = [int(token) for token in rng.integers(10, 400, 120)]
    changed = [*source[:50], 5, 6, *source[52:]]
    spent = _cost_of(_drafter([1, *source, 2, 3]), changed)
    assert len(changed) / spent > 2.0


# Back into a broken copy --------------------------------------------------------------------------------------------

COMMON = 7
PASSAGE = [*range(100, 112), COMMON, *range(112, 130)]
"""A text to be copied, with a token in it that stands elsewhere too."""
ELSEWHERE = [50, COMMON, 51, 52, COMMON, 53, 54, COMMON, 55]


def _broken_copy(*change: int, options: NgramOptions | None = None) -> NgramDrafter:
    """A copy of the passage that went well up to its tenth token, where something else came."""
    drafter = _drafter([*PASSAGE, 1, *ELSEWHERE, 2], options or NgramOptions(allowance=NO_LIMIT))
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
    drafter = _drafter([*PASSAGE, 1, 60, 61, COMMON, 62, 63, 64, 2], NgramOptions(allowance=NO_LIMIT))
    drafter.observe([*PASSAGE[:10], 60, 61, COMMON])
    assert drafter._resumed is not None
    assert drafter._evidence == "alone"
    assert drafter._match is drafter._found


def test_a_short_match_that_breaks_is_not_remembered() -> None:
    drafter = _drafter([*PASSAGE, 1, *ELSEWHERE, 2], NgramOptions(allowance=NO_LIMIT))
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


# Its life -----------------------------------------------------------------------------------------------------------


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
    drafter = NgramDrafter()
    with pytest.raises(Cancelled):
        drafter.begin(prompt, TripsAt(looks))
    assert len(drafter._index.tokens) < len(prompt)
    assert drafter.propose(4).tokens == ()
    drafter.begin(prompt, CancelToken())
    assert drafter.propose(4) == _drafter(prompt).propose(4)
    assert drafter.propose(4).tokens


def test_next_turn_indexes_only_what_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    drafter = _drafter([1, 2, 3, 4, 5])
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
    drafter = _drafter([1, 2, 3] * 5)
    before = drafter.propose(8)
    drafter._drafted = 0
    drafter.observe(())
    assert drafter.propose(8) == before


# Equality -----------------------------------------------------------------------------------------------------------

SAMPLES, FEWER = 4_000, 1_500
ENOUGH, BROKEN = 0.001, 1e-6
REPETITIVE = (1, 2, 3, 4) * 5
FULL = SamplingConfig(temperature=1.0)
COOLER = SamplingConfig(temperature=0.7)


class Counted(NgramDrafter):
    """Counts the proposals that it makes, over all replies."""

    proposed = 0

    def propose(self, n: int, goes_on: GoesOn | None = None) -> Draft:
        draft = super().propose(n)
        Counted.proposed += len(draft.tokens)
        return draft


class ClaimsADraw(NgramDrafter):
    """Says that its tokens were drawn evenly from all, which they were not."""

    def propose(self, n: int, goes_on: GoesOn | None = None) -> Draft:
        draft = super().propose(n)
        return replace(draft, probs=(np.full(6, 1 / 6),) * len(draft.tokens)) if draft.tokens else draft


class KeepsRejected(FakeBackend):
    """A cache that is rewound one token short, so that the rejected token stays in it."""

    def truncate(self, length: int) -> None:
        super().truncate(length if length < len(REPETITIVE) else min(length + 1, self.length))


class OneRowLate(FakeBackend):
    """The rows of a verification moved by one."""

    def forward(self, tokens: Sequence[int], n_outputs: int) -> Logits:
        rows = super().forward(tokens, n_outputs)
        return np.concatenate([rows[1:], rows[-1:]]) if n_outputs > 1 else rows


@pytest.fixture
def repetitive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joint, "PROMPT", REPETITIVE)
    monkeypatch.setattr(Counted, "proposed", 0)


def _p_value(
    sampling: SamplingConfig,
    samples: int = SAMPLES,
    kind: type[NgramDrafter] = Counted,
    target: type[FakeBackend] = FakeBackend,
) -> float:
    def make(*_: Any, **__: Any) -> NgramDrafter:
        return kind(NgramOptions(least_gain=0.5))

    setting = Setting(target(6, 11), FakeBackend(6, 11), sampling, SpeculationConfig(lookahead=8), make_drafter=make)
    return chi_square_p(draw_many(setting, samples), exact_joint(FakeBackend(6, 11), sampling))


@pytest.mark.usefixtures("repetitive")
@pytest.mark.parametrize("sampling", [FULL, COOLER], ids=["t1", "t0.7"])
def test_sampled_text_is_the_targets(sampling: SamplingConfig) -> None:
    assert _p_value(sampling) >= ENOUGH
    assert Counted.proposed > 4 * SAMPLES


@pytest.mark.usefixtures("repetitive")
@pytest.mark.parametrize("sampling", [FULL, COOLER], ids=["t1", "t0.7"])
@pytest.mark.parametrize(
    ("kind", "target"),
    [(ClaimsADraw, FakeBackend), (Counted, KeepsRejected), (Counted, OneRowLate)],
    ids=lambda broken: str(broken.__name__),
)
def test_broken_on_purpose_fails(sampling: SamplingConfig, kind: type[NgramDrafter], target: type[FakeBackend]) -> None:
    assert _p_value(sampling, FEWER, kind, target) < BROKEN
