"""One target pass over a draft: what is kept, what it is called, and what it cost."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from engine.backends.base import Logits
from engine.config import SamplingConfig
from engine.drafting.base import Draft
from engine.errors import DegenerateDistribution
from engine.generation.verifier import Verdict, Verifier
from engine.sampling.distribution import distribution, sample, uniform
from helpers.decoding.fake_backend import FakeBackend
from helpers.decoding.fakes import ScriptedBackend, letters, recite

GREEDY = SamplingConfig()
FULL = SamplingConfig(temperature=1.0)
PENDING = 1


def _verify(
    target: FakeBackend,
    draft: Draft,
    sampling: SamplingConfig = GREEDY,
    *,
    acceptance: str = "rejection",
    one: bool = False,
    seed: int = 3,
    top: int = 0,
) -> Verdict:
    verifier = Verifier(target, sampling, acceptance, seed, top)  # type: ignore[arg-type]
    if one:
        return verifier.verify(PENDING, Draft(), [PENDING], 0, lambda: draft)
    return verifier.verify(PENDING, draft, [PENDING], 0)


def _scripted() -> ScriptedBackend:
    return ScriptedBackend(letters(), recite([2, 3, 4, 5]))


@pytest.mark.parametrize(
    ("proposed", "tokens", "accepted", "origin"),
    [
        ((), (2,), 0, "plain"),
        ((7,), (2,), 0, "correction"),
        ((2,), (2, 3), 1, "bonus"),
        ((2, 3, 4), (2, 3, 4, 5), 3, "bonus"),
        ((2, 3, 0, 5), (2, 3, 4), 2, "correction"),
    ],
)
def test_greedy(proposed: tuple[int, ...], tokens: tuple[int, ...], accepted: int, origin: str) -> None:
    target = _scripted()
    verdict = _verify(target, Draft(proposed))
    assert (verdict.tokens, verdict.accepted, verdict.origin) == (tokens, accepted, origin)
    assert target.forwards == [1 + len(proposed)]
    assert len(verdict.logprobs) == len(tokens)


@pytest.mark.parametrize("own", [True, False])
def test_a_sibling_without_its_own_row_is_not_taken(own: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    target = ScriptedBackend(letters(), recite([2, 3, 4, 5]), trees=True)
    monkeypatch.setattr(target, "has_own_row", lambda node: own or node != 2)
    verdict = _verify(target, Draft((7, 2), parents=(-1, -1)))
    assert verdict.tokens == ((2, 3) if own else (2,))


def test_one_token_at_a_time_feeds_no_proposal() -> None:
    target = _scripted()
    kept = _verify(target, Draft((2,)), one=True)
    assert (kept.tokens, kept.accepted) == ((2,), 1)
    assert list(target.tokens) == [PENDING]
    target.truncate(0)
    corrected = _verify(target, Draft((5,)), one=True)
    assert (corrected.tokens, corrected.accepted, corrected.origin) == ((2,), 0, "correction")


@pytest.mark.parametrize("seed", range(30))
def test_rejection_by_the_book(seed: int) -> None:
    """The same decision as the rule written out, with the same numbers."""
    target = FakeBackend(6, 1)
    q = distribution(FakeBackend(6, 2).row([PENDING]), FULL, ())
    p = distribution(target.row([PENDING]), FULL, ())
    token = sample(q, uniform(seed, 0, "draft"))
    verdict = _verify(target, Draft((token,), (q,), (math.log(q[token]),)), FULL, seed=seed)
    if uniform(seed, 0, "accept") < min(1.0, p[token] / q[token]):
        assert verdict.tokens[0] == token
        assert verdict.accepted == 1
        bonus = distribution(target.row([PENDING, token]), FULL, ())
        assert verdict.tokens[1:] == (sample(bonus, uniform(seed, 1, "target")),)
        assert verdict.draft_logprobs == (math.log(q[token]),)
    else:
        residual = np.maximum(p - q, 0.0)
        assert verdict.tokens == (sample(residual / residual.sum(), uniform(seed, 0, "correction")),)
        assert verdict.origin == "correction"
        assert verdict.draft_logprobs == ()


@pytest.mark.parametrize("seed", range(30))
def test_exact_match_draws_as_plain_decoding_would(seed: int) -> None:
    target = FakeBackend(6, 1)
    plain = _verify(target, Draft(), FULL, seed=seed).tokens
    for probs in (None, (np.full(6, 1 / 6),)):
        target.truncate(0)
        verdict = _verify(target, Draft((4,), probs), FULL, acceptance="exact", seed=seed)
        assert verdict.tokens[:1] == plain
        assert verdict.accepted == int(plain == (4,))


def test_penalties_see_the_accepted_tokens_of_the_round() -> None:
    """The draft repeats a token that the penalty forbids from the second time on."""
    target = ScriptedBackend(letters(4), lambda _: 2)
    sampling = SamplingConfig(0.0, presence_penalty=100.0)
    verdict = _verify(target, Draft((2, 2, 2)), sampling)
    assert verdict.tokens[0] == 2
    assert verdict.accepted == 1
    assert verdict.tokens[1] != 2


def test_logprobs_are_of_the_models_own_logits() -> None:
    target = FakeBackend(6, 1)
    verdict = _verify(target, Draft(), SamplingConfig(0.2, top_k=2), top=3)
    row = target.row([PENDING]).astype(np.float64)
    own = row - np.log(np.exp(row).sum())
    token = verdict.tokens[0]
    assert verdict.logprobs[0] == pytest.approx(own[token], abs=1e-5)
    assert [best for best, _ in verdict.top[0]] == list(np.argsort(-row)[:3])
    assert [share for _, share in verdict.top[0]] == pytest.approx(sorted(own, reverse=True)[:3], abs=1e-5)


def test_rows_that_are_no_numbers_are_an_error() -> None:
    def script(history: Sequence[int]) -> int | None:
        return None if len(history) == 2 else 2

    with pytest.raises(DegenerateDistribution):
        _verify(ScriptedBackend(letters(), script), Draft((2,)))


def test_row_belongs_to_its_own_position() -> None:
    """Each proposal is judged by the row of the token before it, whatever the others are."""

    class Counting(FakeBackend):
        def row(self, history: Sequence[int]) -> Logits:
            row = np.zeros(8, dtype=np.float32)
            row[len(history)] = 9.0
            return row

    verdict = _verify(Counting(8), Draft((1, 2, 3, 4)))
    assert verdict.tokens == (1, 2, 3, 4, 5)
