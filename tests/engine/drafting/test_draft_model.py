"""Drafters: what they propose, with which probabilities, and what stays in their caches."""

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from engine.backends.base import Rewind
from engine.backends.prefix import CHUNK
from engine.cancel import CancelToken
from engine.config import SamplingConfig
from engine.drafting.base import BEGINNING, SHORT_PROMPT, STEP, Draft, TreeShape
from engine.drafting.draft_model import DraftModelDrafter
from engine.drafting.none import NoDrafter
from engine.drafting.tree_prices import TreePrices
from engine.errors import Cancelled
from engine.lookahead.acceptance import ClaimModel
from engine.sampling.distribution import candidates, distribution, uniform
from helpers.decoding.fake_backend import FakeBackend
from helpers.decoding.fakes import ScriptedBackend, letters, recite

FULL = SamplingConfig(temperature=1.0)
GREEDY = SamplingConfig()
PROMPT = [1, 2, 3]


def _drafter(
    backend: FakeBackend, sampling: SamplingConfig = FULL, *, vocab_size: int = 6, **options: Any
) -> DraftModelDrafter:
    drafter = DraftModelDrafter(backend, vocab_size, sampling, 7, **options)
    drafter.begin(PROMPT, CancelToken())
    return drafter


def test_no_drafter_proposes_nothing() -> None:
    drafter = NoDrafter()
    drafter.begin(PROMPT, CancelToken())
    drafter.observe([4])
    assert drafter.propose(8).tokens == ()
    assert drafter.forwards == 0


def test_probabilities_are_those_that_were_drawn_from() -> None:
    backend = FakeBackend(6, 2)
    sampling = SamplingConfig(0.7, top_p=0.8)
    draft = _drafter(backend, sampling).propose(5)
    assert len(draft.tokens) == 5
    assert draft.probs is not None
    history = list(PROMPT)
    for token, probs, logprob in zip(draft.tokens, draft.probs, draft.logprobs, strict=True):
        row = backend.row(history).astype(np.float64)
        assert probs == pytest.approx(distribution(backend.row(history), sampling, ()))
        assert probs[token] > 0
        assert logprob == pytest.approx(row[token] - math.log(np.exp(row).sum()), abs=1e-5)
        history.append(token)


def test_greedy_draft_has_no_probabilities() -> None:
    draft = _drafter(ScriptedBackend(letters(6), recite([4, 5, 0], 3)), GREEDY).propose(3)
    assert draft.tokens == (4, 5, 0)
    assert draft.probs is None
    assert len(draft.logprobs) == 3


def test_one_forward_of_one_token_for_each_proposal() -> None:
    backend = FakeBackend(6, 2)
    drafter = _drafter(backend)
    assert backend.forwards == [2]
    drafter.propose(4)
    assert backend.forwards == [2, 1, 1, 1, 1]
    assert drafter.forwards == 4
    assert backend.length == len(PROMPT) + 3


def test_after_full_acceptance_two_tokens_are_fed_together() -> None:
    backend = FakeBackend(6, 2)
    drafter = _drafter(backend)
    tokens = drafter.propose(3).tokens
    drafter.observe([*tokens, 5])
    assert list(backend.tokens) == [*PROMPT, *tokens[:-1]]
    backend.forwards.clear()
    drafter.propose(2)
    assert backend.forwards == [2, 1]


@pytest.mark.parametrize("rewind", [Rewind("any"), Rewind("snapshots", 1), Rewind("window", 4)])
@pytest.mark.parametrize("kept", range(4))
def test_rejected_proposals_leave_the_cache(rewind: Rewind, kept: int) -> None:
    backend = FakeBackend(6, 2, rewind=rewind)
    drafter = _drafter(backend)
    tokens = drafter.propose(4).tokens
    other = (tokens[kept] + 1) % 6
    drafter.observe([*tokens[:kept], other])
    assert list(backend.tokens) == [*PROMPT, *tokens[:kept]]


def test_same_position_same_draw() -> None:
    """The draw is keyed by position: a shorter draft is the beginning of a longer one."""
    assert _drafter(FakeBackend(6, 2)).propose(2).tokens == _drafter(FakeBackend(6, 2)).propose(5).tokens[:2]


def test_end_token_ends_the_draft() -> None:
    backend = ScriptedBackend(letters(6), recite([4, 5, 0, 0], 3), eos_token_ids=[5])
    assert _drafter(backend, GREEDY).propose(4).tokens == (4, 5)
    other = ScriptedBackend(letters(6), recite([4, 5, 0, 0], 3))
    assert _drafter(other, GREEDY, stop_tokens=frozenset([4])).propose(4).tokens == (4,)


@pytest.mark.parametrize("sampling", [FULL, GREEDY])
def test_confidence_is_judged_before_the_draw(sampling: SamplingConfig) -> None:
    """However unlikely a drawn token is, it is kept; only a flat distribution ends the draft."""
    flat = FakeBackend(6, 2, sharpness=0.0)
    assert _drafter(flat, sampling, min_confidence=0.2).propose(4).tokens == ()
    assert len(_drafter(flat, sampling, min_confidence=0.1).propose(4).tokens) == 4
    sharp = ScriptedBackend(letters(6), recite([4, 4, 4], 3))
    assert len(_drafter(sharp, sampling, min_confidence=0.9).propose(3).tokens) == 3


def test_unlikely_draws_are_kept() -> None:
    seen = []
    for seed in range(200):
        drafter = DraftModelDrafter(FakeBackend(6, 2), 6, FULL, seed, min_confidence=0.3)
        drafter.begin(PROMPT, CancelToken())
        draft = drafter.propose(1)
        assert draft.probs
        seen.append(float(draft.probs[0][draft.tokens[0]]))
    assert min(seen) < 0.1


def test_larger_draft_vocabulary_is_cut() -> None:
    draft = _drafter(FakeBackend(9, 2, sharpness=0.0), vocab_size=6).propose(20)
    assert max(draft.tokens) < 6
    assert draft.probs is not None
    assert {len(probs) for probs in draft.probs} == {6}
    assert all(probs.sum() == pytest.approx(1.0) for probs in draft.probs)


def test_smaller_draft_vocabulary_is_padded() -> None:
    draft = _drafter(FakeBackend(5, 2), vocab_size=8).propose(4)
    assert draft.probs is not None
    assert {len(probs) for probs in draft.probs} == {8}
    assert not any(probs[5:].any() for probs in draft.probs)


def test_token_that_the_draft_lacks_ends_its_part() -> None:
    backend = FakeBackend(5, 2)
    drafter = _drafter(backend, vocab_size=8)
    drafter.observe([4, 7])
    assert drafter.propose(4).tokens == ()
    for _ in range(5):
        drafter.observe([1])
    assert drafter.propose(4).tokens == ()
    assert 7 not in backend.tokens
    drafter.begin([1, 7, 2], CancelToken())
    assert drafter.propose(4).tokens == ()
    assert list(backend.tokens) == [1]
    drafter.begin([1, 2], CancelToken())
    assert len(drafter.propose(4).tokens) == 4


@pytest.mark.parametrize(("room", "expected"), [(0, 0), (1, 1), (2, 2), (9, 4)])
def test_end_of_the_drafts_context(room: int, expected: int) -> None:
    backend = FakeBackend(6, 2, context_length=len(PROMPT) - 1 + room)
    assert len(_drafter(backend).propose(4).tokens) == expected


def test_prompt_longer_than_the_drafts_context() -> None:
    drafter = _drafter(FakeBackend(6, 2, context_length=2))
    assert drafter.propose(4).tokens == ()
    drafter.observe([1, 1, 1, 1])
    assert drafter.propose(4).tokens == ()


def test_window_is_never_asked_for_more() -> None:
    backend = FakeBackend(6, 2, rewind=Rewind("window", 2))
    drafter = _drafter(backend)
    tokens = drafter.propose(8).tokens
    assert len(tokens) == 3
    drafter.observe([(tokens[0] + 1) % 6])
    assert list(backend.tokens) == PROMPT


def test_keeps_up_without_proposals() -> None:
    backend = FakeBackend(6, 2)
    drafter = _drafter(backend)
    committed = list(PROMPT)
    for token in (1, 2, 3, 4, 5, 0, 1):
        committed.append(token)
        drafter.observe([token])
        assert list(backend.tokens) == committed[: backend.length]
        assert backend.length >= len(committed) - 2


def test_with_the_automatic_lookahead_it_reads_with_its_next_proposal() -> None:
    backend = FakeBackend(6, 2)
    drafter = _drafter(backend)
    committed = list(PROMPT)
    drafter.propose(1, lambda *_: False)
    read = len(backend.forwards)
    for token in (1, 2, 3, 4, 5, 0, 1):
        committed.append(token)
        drafter.observe([token])
        assert list(backend.tokens) == committed[: backend.length]
    assert len(backend.forwards) == read, "nobody has asked for a proposal"
    assert drafter.propose(1, lambda *_: False).tokens
    assert len(backend.forwards) == read + 1
    assert list(backend.tokens)[: len(committed)] == committed


def test_cancelled_draft_is_short_and_cheap() -> None:
    backend, cancel = FakeBackend(6, 2), CancelToken()
    drafter = DraftModelDrafter(backend, 6, FULL, 7)
    drafter.begin(PROMPT, cancel)
    cancel.cancel()
    backend.forwards.clear()
    assert drafter.propose(8).tokens == ()
    drafter.observe([])
    assert backend.forwards == []
    with pytest.raises(Cancelled):
        drafter.begin([5, 4, 3], cancel)


def test_no_random_number_serves_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was drawn for a position and dropped may have had a say in how long the next drafts are."""
    keys: list[tuple[int, int]] = []

    def noted(seed: int, position: int, purpose: str) -> float:
        keys.append((seed, position))
        return uniform(seed, position, "draft")

    monkeypatch.setattr("engine.drafting.draft_model.uniform", noted)
    drafter = DraftModelDrafter(FakeBackend(8, 1), 8, SamplingConfig(temperature=1.0), 5)

    def positions() -> list[tuple[int, int]]:
        keys.clear()
        drafter.begin([1, 2], CancelToken())
        for _ in range(3):  # Rejected at once, so the positions behind are drafted again.
            first = drafter.propose(4).tokens[0]
            drafter.observe([(first + 1) % 8])
        return list(keys)

    found = positions()
    assert len(found) == len(set(found)) == 12
    assert len({position for _, position in found}) < 12
    assert positions() == found, "a seed repeats the reply"


def _begun(size: int, context_length: int = 4096) -> tuple[DraftModelDrafter, FakeBackend]:
    backend = FakeBackend(6, 2, context_length=context_length)
    drafter = DraftModelDrafter(backend, 6, FULL, 7)
    drafter.begin([1 + place * place % 5 for place in range(size)], CancelToken())
    return drafter, backend


def test_the_first_token_does_not_wait_for_the_draft() -> None:
    drafter, backend = _begun(SHORT_PROMPT + 1)
    assert drafter.propose(4) == Draft()
    assert backend.length == 0
    drafter.observe([3])
    assert backend.length == 0
    assert len(drafter.propose(4).tokens) == 4


def test_a_fixed_lookahead_proposes_alike_whatever_the_cache_holds() -> None:
    prompt, drafts = [1 + place * place % 5 for place in range(SHORT_PROMPT + 90)], []
    backend = FakeBackend(6, 2)
    for _ in range(2):
        drafter = DraftModelDrafter(backend, 6, FULL, 7)
        drafter.begin(prompt, CancelToken())
        drafts.append([drafter.propose(4).tokens])
        drafter.observe([3])
        drafts[-1].append(drafter.propose(4).tokens)
        drafter.observe([3, 2])
    assert drafts[0] == drafts[1]


def test_the_automatic_lookahead_reads_in_pieces() -> None:
    drafter, backend = _begun(SHORT_PROMPT + CHUNK)
    lengths, draft = [0], Draft()
    while not draft.tokens:
        draft = drafter.propose(4, lambda proposed, _: proposed < 4)
        lengths.append(backend.length)
        drafter.observe([2])
    assert lengths[1] == 0, "the first round waits for nothing"
    assert len(lengths) == 8
    assert max(now - before for before, now in pairwise(lengths)) <= 2 * CHUNK


def test_of_a_long_prompt_the_ends_are_read() -> None:
    words = [1 + place * place % 5 for place in range(5_000)]
    backend, shared = FakeBackend(6, 2), 0
    for size in (4_000, 4_000 + STEP // 8):  # The second one finds the cache as it was left.
        drafter = DraftModelDrafter(backend, 6, FULL, 7)
        drafter.begin(words[:size], CancelToken())
        shared = backend.length
        drafter.propose(2)
        drafter.observe([3])
        assert len(drafter.propose(2).tokens) == 2
        held = list(backend.tokens)[:-2]
        assert STEP + BEGINNING <= len(held) <= 2 * STEP + BEGINNING
        assert held[:BEGINNING] == words[:BEGINNING]
        assert held[BEGINNING:] == words[size - len(held) + BEGINNING : size]
    assert shared > STEP


def test_a_greedy_tree_by_cost_weighs_only_the_likeliest(monkeypatch: pytest.MonkeyPatch) -> None:
    row = np.array([1.0, 3.0, 3.0, -90.0, 2.5, -np.inf], np.float32)
    drafter = _drafter(FakeBackend(6, 2), GREEDY, tree=TreeShape(4, 4, 64, TreePrices(lambda _: ClaimModel())))
    weighed = candidates(row, FULL, ())
    monkeypatch.delattr("engine.drafting.draft_model.candidates")
    found = drafter._next_tokens(row, ())
    assert found is not None
    assert [token for token, _ in found.best] == [1, 2, 4, 0]
    for token, share in found.best:
        assert share == pytest.approx(weighed[token])
        assert found.shares(token) == pytest.approx(math.log(share))


def test_a_draft_with_a_small_context_reads_the_ends_of_a_long_prompt() -> None:
    drafter, _ = _begun(3_000, context_length=1_200)
    drafter.propose(2)
    drafter.observe([3])
    assert len(drafter.propose(2).tokens) == 2
