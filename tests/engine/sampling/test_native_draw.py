"""Whole drafts in one compiled call: token by token what the rules give as array operations, with the same numbers."""

import ctypes
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.backends.base import Logits
from engine.config import SamplingConfig
from engine.drafting.base import Draft
from engine.errors import DegenerateDistribution, TokenOutOfRange
from engine.generation.verifier import Verdict, Verifier
from engine.sampling.candidates import Candidates, Drawn
from engine.sampling.distribution import candidates, logprob, round_seed, uniform
from engine.sampling.history import History
from engine.sampling.native_draw import NativeSampler, records_of
from engine.sampling.native_rows import NativeRows
from engine.sampling.rows import NumpyRows, Proposal, Rows, Sampler
from helpers.decoding.compiled_rows import compiled_rows
from helpers.decoding.fake_backend import FakeBackend

SEED, POSITION = 5, 40
RULES = {
    "greedy": SamplingConfig(),
    "greedy, penalties": SamplingConfig(0.0, repeat_penalty=1.4, frequency_penalty=0.3),
    "T=1": SamplingConfig(1.0),
    "T=0.8": SamplingConfig(0.8),
    "T=0.05": SamplingConfig(0.05),
    "top-k": SamplingConfig(0.9, top_k=12),
    "top-p": SamplingConfig(0.8, top_p=0.95),
    "min-p": SamplingConfig(1.2, min_p=0.03),
    "top-n-sigma": SamplingConfig(1.5, top_n_sigma=0.8),
    "typical": SamplingConfig(0.8, typical=0.8),
    "typical, cut": SamplingConfig(1.1, top_k=30, typical=0.6, top_p=0.9, min_p=0.1, frequency_penalty=0.2),
    "cut": SamplingConfig(0.8, top_k=40, top_p=0.9, min_p=0.01),
    "penalties": SamplingConfig(0.8, repeat_penalty=1.3, presence_penalty=0.2, frequency_penalty=0.4),
    "cut, penalties": SamplingConfig(0.8, top_k=40, top_p=0.95, repeat_penalty=1.1, penalty_window=6),
    "penalties on everything": SamplingConfig(1.0, frequency_penalty=0.7, penalty_window=0),
    "penalties on little": SamplingConfig(0.8, top_k=20, presence_penalty=2.0, frequency_penalty=1.5, penalty_window=2),
    "greedy, bias": SamplingConfig(logit_bias=((0, 2.5),), banned_tokens=(0,)),
    "bias": SamplingConfig(0.9, top_p=0.9, logit_bias=((0, 2.5),)),
    "banned": SamplingConfig(0.8, min_p=0.02, logit_bias=((0, -1.0),), banned_tokens=(0,), repeat_penalty=1.2),
}
BANNED = {name for name, sampling in RULES.items() if sampling.banned_tokens}
SIZES = (1, 17, 129, 4096)


@pytest.fixture(scope="module")
def compiled() -> NativeRows:
    return compiled_rows(whole_drafts=True)


def _sampler(compiled: NativeRows, sampling: SamplingConfig, seed: int = SEED, least: float = 0.0) -> Sampler:
    found = compiled.sampler(sampling, seed, least)
    assert found is not None
    return found


def _logits(rng: np.random.Generator, count: int, size: int, kind: str) -> Logits:
    rows = rng.normal(scale=3.0, size=(count, size)).astype(np.float32)
    if kind == "ties":
        rows = np.round(rows)
    elif kind == "holes":
        rows[rng.random(rows.shape) < 0.7] = -np.inf
        rows[:, rng.integers(size)] = 1.0
    elif kind == "one-hot":
        rows[:] = -np.inf
        rows[np.arange(count), rng.integers(0, size, count)] = 3.0
    return rows


KINDS = ("any", "ties", "holes", "one-hot")
CASES = {
    name: [
        (size, kind)
        for size in SIZES
        for kind in KINDS
        if name not in BANNED or (size > 1 and kind != "one-hot")  # Something must be left.
    ]
    for name in RULES
}


class _Given(FakeBackend):
    """Gives these rows, whatever it is fed."""

    def __init__(self, rows: Logits) -> None:
        super().__init__(rows.shape[1])
        self._rows = rows

    def forward(self, tokens: Sequence[int], n_outputs: int) -> Logits:
        return self._rows[:n_outputs]


def _verdict(rows: Rows, logits: Logits, draft: Draft, sampling: SamplingConfig, **options: Any) -> Verdict:
    acceptance, top = options.get("acceptance", "rejection"), options.get("top", 0)
    verifier = Verifier(_Given(logits), sampling, acceptance, SEED, top, rows=rows)
    history = [token % logits.shape[1] for token in (1, 0, 2, 1, 7, 7, 3)]
    return verifier.verify(0, draft, history, POSITION, options.get("guess"))


def _drawn(compiled: NativeRows, logits: Logits, sampling: SamplingConfig) -> list[Proposal]:
    sampler = _sampler(compiled, sampling)
    size = logits.shape[1]
    found = [sampler.propose(row[None], size, size, POSITION + i, [0]) for i, row in enumerate(logits)]
    return [each for each in found if each is not None]


def _draft(proposals: Sequence[Proposal]) -> Draft:
    probs = [each.probs for each in proposals if each.probs is not None]
    return Draft(tuple(each.token for each in proposals), Drawn(probs) if probs else None)


def _plain(draft: Draft) -> Draft:
    """The same draft with distributions as arrays of its own."""
    if not isinstance(draft.probs, Drawn):
        return draft
    copies = [
        Candidates(len(each), each.dense()[slice(None) if each.tokens is None else each.tokens], each.tokens)
        for each in draft.probs.candidates
    ]
    return draft._replace(probs=Drawn(copies))


def _same(found: Verdict, known: Verdict) -> None:
    assert found._replace(logprobs=(), top=()) == known._replace(logprobs=(), top=())
    assert found.logprobs == pytest.approx(known.logprobs, abs=1e-4)
    for mine, theirs in zip(found.top, known.top, strict=True):
        assert [token for token, _ in mine] == [token for token, _ in theirs]
        assert [share for _, share in mine] == pytest.approx([share for _, share in theirs], abs=1e-4)


def test_random_numbers_are_the_same(compiled: NativeRows) -> None:
    function = compiled.library.outrider_uniform
    function.restype, function.argtypes = ctypes.c_double, [ctypes.c_uint64, ctypes.c_int64, ctypes.c_int64]
    rng = np.random.default_rng(0)
    keys = [(int(rng.integers(2**64, dtype=np.uint64)), int(rng.integers(2**40))) for _ in range(50)]
    for seed, position in [(0, 0), (2**64 - 1, 0), (1, 2**62), *keys]:
        for number, purpose in enumerate(("draft", "accept", "correction", "target"), start=1):
            assert function(seed, position, number) == uniform(seed, position, purpose)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", RULES)
def test_a_proposal_is_what_the_rules_draw(compiled: NativeRows, name: str) -> None:
    for size, kind in CASES[name]:
        _check_proposals(compiled, name, size, kind)


def _check_proposals(compiled: NativeRows, name: str, size: int, kind: str) -> None:
    sampling = RULES[name]
    rng = np.random.default_rng(size)
    sampler = _sampler(compiled, sampling)
    for position, row in enumerate(_logits(rng, 12, size, kind)):
        history = rng.integers(0, size, 9).tolist()
        known = candidates(row, sampling, history, size + 3)
        token = known.draw(0.0 if sampling.greedy else uniform(SEED, position, "draft"))
        found = sampler.propose(row[None], size, size + 3, position, history)
        assert found is not None
        assert found.token == token
        assert found.logprob == pytest.approx(logprob(row, token), abs=1e-4)
        if sampling.greedy:
            assert found.probs is None
            continue
        assert found.probs is not None
        assert len(found.probs) == size + 3
        assert found.probs.highest == pytest.approx(known.highest, rel=1e-4)
        np.testing.assert_allclose(found.probs.dense(), known.dense(), rtol=1e-4, atol=1e-9)


def test_another_seed_from_one_round_to_the_next(compiled: NativeRows) -> None:
    sampling = RULES["T=0.8"]
    row = _logits(np.random.default_rng(3), 1, 50, "any")
    sampler, known = _sampler(compiled, sampling), candidates(row[0], sampling, [])
    for number in range(20):
        sampler.reseed(round_seed(SEED, number))
        found = sampler.propose(row, 50, 50, 0)
        assert found is not None
        assert found.token == known.draw(uniform(round_seed(SEED, number), 0, "draft"))


@pytest.mark.parametrize("name", RULES)
def test_a_verdict_is_what_the_rules_say(compiled: NativeRows, name: str) -> None:
    for size, kind in CASES[name]:
        _check_verdicts(compiled, name, size, kind)


def _check_verdicts(compiled: NativeRows, name: str, size: int, kind: str) -> None:
    sampling = RULES[name]
    rng = np.random.default_rng(size + 1)
    origins = set()
    for _ in range(10):
        logits = _logits(rng, 5, size, kind)
        away = logits[:4] + rng.normal(scale=rng.choice([0.0, 0.05, 1.0]), size=(4, size)).astype(np.float32)
        draft = _draft(_drawn(compiled, away, replace(sampling, temperature=sampling.temperature * 0.9)))
        found = _verdict(compiled, logits, draft, sampling)
        _same(found, _verdict(NumpyRows(), logits, _plain(draft), sampling))
        origins.add(found.origin)
    assert size < 100 or kind != "any" or "correction" in origins


@pytest.mark.parametrize("name", ["T=0.8", "cut", "penalties"])
def test_a_large_vocabulary_and_a_draft_with_a_smaller_one(compiled: NativeRows, name: str) -> None:
    rng = np.random.default_rng(9)
    logits = _logits(rng, 4, 150_001, "any")
    sampler = _sampler(compiled, RULES[name])
    few = [sampler.propose(row[None], 149_990, 150_001, POSITION + i, [4]) for i, row in enumerate(logits[:3])]
    draft = _draft([each for each in few if each is not None])
    _same(_verdict(compiled, logits, draft, RULES[name]), _verdict(NumpyRows(), logits, _plain(draft), RULES[name]))


def test_drafts_and_targets_cut_in_different_ways(compiled: NativeRows) -> None:
    """All of the vocabulary against a few tokens, in both directions, and few against few."""
    rng = np.random.default_rng(3)
    ways = [SamplingConfig(1.0), SamplingConfig(1.0, top_k=5), SamplingConfig(1.0, top_p=0.7), SamplingConfig(2.0)]
    corrections = 0
    for mine in ways:
        for theirs in ways:
            for _ in range(25):
                logits = _logits(rng, 3, 60, "any")
                draft = _draft(_drawn(compiled, _logits(rng, 2, 60, "any"), theirs))
                found = _verdict(compiled, logits, draft, mine)
                _same(found, _verdict(NumpyRows(), logits, _plain(draft), mine))
                corrections += found.origin == "correction"
    assert corrections > 100


def test_a_residual_without_mass_is_the_target(compiled: NativeRows) -> None:
    """A token that neither of two equal distributions can give is rejected, and nothing is left of the target."""
    logits = np.zeros((2, 40), dtype=np.float32)
    logits[:, 7] = -np.inf
    for sampling in (SamplingConfig(1.0), SamplingConfig(1.0, top_k=10)):
        draft = _draft(_drawn(compiled, logits[:1], sampling))._replace(tokens=(7,))
        found = _verdict(compiled, logits, draft, sampling)
        assert found.origin == "correction"
        assert found.tokens != (7,)
        _same(found, _verdict(NumpyRows(), logits, _plain(draft), sampling))


@pytest.mark.parametrize("acceptance", ["rejection", "exact"])
@pytest.mark.parametrize("probs", [True, False])
def test_guesses_and_the_exact_rule(compiled: NativeRows, acceptance: str, *, probs: bool) -> None:
    rng = np.random.default_rng(4)
    sampling = RULES["cut, penalties"]
    kept = 0
    for _ in range(40):
        logits = _logits(rng, 3, 50, "any") * np.float32(3.0)
        draft = _draft(_drawn(compiled, logits, sampling))
        draft = draft if probs else draft._replace(probs=None)
        guess = Draft(draft.tokens[2:], None if draft.probs is None else draft.probs[2:])
        draft = Draft(draft.tokens[:2], None if draft.probs is None else draft.probs[:2])
        found = _verdict(compiled, logits, draft, sampling, acceptance=acceptance, guess=lambda guess=guess: guess)
        plain = _plain(guess)
        _same(
            found,
            _verdict(
                NumpyRows(), logits, _plain(draft), sampling, acceptance=acceptance, guess=lambda plain=plain: plain
            ),
        )
        kept += found.accepted == 3
    assert 0 < kept < 40


@pytest.mark.parametrize("bad", [math.nan, math.inf, "all"])
@pytest.mark.parametrize("name", ["greedy", "T=0.8", "cut", "penalties"])
def test_rows_that_are_no_numbers_are_an_error(compiled: NativeRows, bad: Any, name: str) -> None:
    logits = np.zeros((3, 20), dtype=np.float32)
    logits[:, 3] = 50.0
    if bad == "all":
        logits[2] = -np.inf
    else:
        logits[2, 11] = bad
    with pytest.raises(DegenerateDistribution, match=f"position {POSITION + 2}"):
        _verdict(compiled, logits, Draft((3, 3)), replace(RULES[name], presence_penalty=0.0, repeat_penalty=1.0))
    with pytest.raises(DegenerateDistribution):
        _sampler(compiled, RULES[name]).propose(logits[2:], 20, 20, 0, [1])


@pytest.mark.parametrize("name", ["greedy", "T=0.8", "cut", "typical", "greedy, penalties"])
def test_not_sure_enough(compiled: NativeRows, name: str) -> None:
    row = np.zeros((1, 10), dtype=np.float32)
    row[0, 4] = 2.0
    known = 1.0 if RULES[name].penalised else candidates(row[0], replace(RULES[name], temperature=0.8), ()).highest
    if name == "greedy":
        known = math.exp(logprob(row[0], 4))
    for least, sure in ((known - 0.01, True), (min(known + 0.01, 1.0), known == 1.0)):
        found = _sampler(compiled, RULES[name], least=least).propose(row, 10, 10, 0, [1])
        assert (found is not None) == sure


def test_rows_in_any_form(compiled: NativeRows) -> None:
    """Read-only, spread out, or of other numbers: what fakes and other backends give, and changed in place."""
    sampler = _sampler(compiled, RULES["T=0.8"])
    row = _logits(np.random.default_rng(1), 1, 100, "any")
    locked = row.copy()
    locked.flags.writeable = False
    forms: list[NDArray[Any]] = [locked, np.repeat(row, 2, axis=1)[:, ::2], row.astype(np.float64)]
    known = sampler.propose(row, 100, 100, 3)
    assert known is not None
    for form in forms:
        found = sampler.propose(form, 100, 100, 3)
        assert found is not None
        assert found.token == known.token
        if form.flags.writeable:
            form[:] = -5.0
            form[0, 8] = 90.0
            changed = sampler.propose(form, 100, 100, 3)
            assert changed is not None
            assert changed.token == 8


def test_distributions_stay_while_others_are_drawn(compiled: NativeRows) -> None:
    rng = np.random.default_rng(2)
    for name in ("T=0.8", "cut"):
        logits = _logits(rng, 200, 4096, "any")
        found = _drawn(compiled, logits, RULES[name])
        for row, each in zip(logits, found, strict=True):
            assert each.probs is not None
            np.testing.assert_allclose(each.probs.dense(), candidates(row, RULES[name], ()).dense(), rtol=1e-4)


@pytest.mark.parametrize("top", [1, 5])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_best_tokens_of_each_row(compiled: NativeRows, size: int, kind: str, top: int) -> None:
    rng = np.random.default_rng(size)
    for name in ("greedy", "cut", "penalties"):
        sampling = RULES[name]
        for _ in range(8):
            logits = _logits(rng, 5, size, kind)
            draft = _draft(_drawn(compiled, logits[:4], sampling))
            guess = _draft(_drawn(compiled, logits[4:], sampling))
            options: dict[str, Any] = {"guess": lambda guess=guess: _plain(guess)} if size == 17 else {}
            found = _verdict(compiled, logits, draft, sampling, top=top, **options)
            _same(found, _verdict(NumpyRows(), logits, _plain(draft), sampling, top=top, **options))
            assert [len(each) for each in found.top] == [min(top, size)] * len(found.tokens)
            for row, token, share, best in zip(logits, found.tokens, found.logprobs, found.top, strict=False):
                assert [each for each, _ in best] == sorted(range(size), key=lambda i: (-row[i], i))[:top]
                assert dict(best).get(token, share) == share


def test_a_draft_longer_than_the_window(compiled: NativeRows) -> None:
    """What a draft pushes out of the window is no longer penalised, its own first tokens too."""
    rng = np.random.default_rng(8)
    for window in (1, 3, 7, 8, 40):
        sampling = SamplingConfig(0.7, repeat_penalty=1.6, frequency_penalty=0.9, penalty_window=window)
        accepted = 0
        for _ in range(15):
            logits = _logits(rng, 33, 7, "any")
            found = _verdict(compiled, logits, Draft(tuple(rng.integers(0, 7, 32).tolist())), sampling)
            draft = Draft((*found.tokens, *rng.integers(0, 7, 32 - len(found.tokens)).tolist()))
            while accepted < 33 and len(found.tokens) < 33:  # The same draft, but for what the target draws instead.
                found = _verdict(compiled, logits, draft, sampling)
                draft = Draft((*found.tokens, *draft.tokens[len(found.tokens) :])[:32])
            _same(found, _verdict(NumpyRows(), logits, draft, sampling))
            accepted = max(accepted, found.accepted)
        assert accepted == 32


@pytest.mark.parametrize("window", [0, 5, 64])
def test_proposals_behind_a_history_that_grows(compiled: NativeRows, window: int) -> None:
    """Tokens behind the history count as if they were in it, as many as there may be; and another text is noticed."""
    rng = np.random.default_rng(window)
    sampling = SamplingConfig(0.8, repeat_penalty=1.4, frequency_penalty=0.4, penalty_window=window)
    sampler, history, committed = _sampler(compiled, sampling), History(window), [3, 1, 4, 1, 5]
    for position in range(30):
        committed = [*committed, int(rng.integers(9))] if position % 9 else rng.integers(0, 9, len(committed)).tolist()
        history.after(committed)
        for count in (0, 2, 40, 200):
            row, behind = _logits(rng, 1, 9, "any"), rng.integers(0, 9, count).tolist()
            known = candidates(row[0], sampling, [*committed, *behind])
            found = sampler.propose(row, 9, 9, position, history, behind)
            assert found is not None
            assert found.token == known.draw(uniform(SEED, position, "draft"))
            assert found.probs is not None
            np.testing.assert_allclose(found.probs.dense(), known.dense(), rtol=1e-4)


def test_a_named_token_that_is_not_there(compiled: NativeRows) -> None:
    for sampling in (SamplingConfig(0.8, logit_bias=((30, 1.0),)), SamplingConfig(banned_tokens=(2, 30))):
        for rows in (compiled, NumpyRows()):
            with pytest.raises(TokenOutOfRange):
                _verdict(rows, np.zeros((2, 30), np.float32), Draft((3,)), sampling)
        with pytest.raises(TokenOutOfRange):
            _sampler(compiled, sampling).propose(np.zeros((1, 30), np.float32), 30, 31, 0)


def test_other_functions_of_the_same_names_are_not_called(compiled: NativeRows) -> None:
    """A library that was compiled with another idea of what both sides share."""

    class Other:
        def __getattr__(self, name: str) -> Any:
            if name == "outrider_work_size":
                return ctypes.CFUNCTYPE(ctypes.c_int64)(lambda: 8)
            return getattr(compiled.library, name)

    with pytest.raises(AttributeError):
        NativeSampler(Other(), SamplingConfig(), 0)  # type: ignore[arg-type]


def test_what_it_does_not_do_is_left_to_the_arrays() -> None:
    arrays: Rows = NumpyRows()
    assert arrays.sampler(SamplingConfig(), 0) is None
    assert records_of((np.full(3, 1 / 3), np.full(3, 1 / 3)), 2) is None
    assert records_of(Drawn([Candidates(3, np.ones(3, np.float32))]), 1) is None
