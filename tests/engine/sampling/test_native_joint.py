"""The joint distribution of the first three tokens, where compiled functions draw and judge whole drafts."""

from array import array
from typing import Any

import pytest

from engine.config import SamplingConfig, SpeculationConfig
from engine.sampling.history import History
from engine.sampling.native_draw import NativeSampler, records_of
from engine.sampling.rows import Judged
from helpers.decoding.compiled_rows import compiled_rows
from helpers.decoding.fake_backend import FakeBackend
from helpers.decoding.joint import BROKEN, ENOUGH, Setting

SAMPLES, MANY = 1_500, 6_000
"""The breaks show with 100 to 1,200."""
RULES = [
    pytest.param(SamplingConfig(1.0), id="t1"),
    pytest.param(SamplingConfig(0.7, top_p=0.9), id="t0.7-top-p0.9"),
    pytest.param(SamplingConfig(1.3, top_k=4, min_p=0.08), id="top-k-min-p"),
    pytest.param(SamplingConfig(1.4, top_n_sigma=1.1), id="top-n-sigma"),
    pytest.param(SamplingConfig(1.1, typical=0.7, min_p=0.1), id="typical-min-p"),
    pytest.param(SamplingConfig(1.0, repeat_penalty=1.5, presence_penalty=0.4, frequency_penalty=0.7), id="penalty"),
    pytest.param(SamplingConfig(1.0, frequency_penalty=1.5, penalty_window=2), id="penalty-window"),
    pytest.param(SamplingConfig(1.0, repeat_penalty=1.4, logit_bias=((1, 1.0),), banned_tokens=(4,)), id="bias-banned"),
]
PENALTIES = SamplingConfig(1.0, presence_penalty=1.5, frequency_penalty=1.5)


def _setting(sampling: SamplingConfig, **speculation: Any) -> Setting:
    rows = compiled_rows(whole_drafts=True)
    return Setting(FakeBackend(6, 11), FakeBackend(6, 23), sampling, SpeculationConfig(**speculation), rows=rows)


@pytest.mark.parametrize("samples", [SAMPLES, pytest.param(MANY, marks=pytest.mark.soak)])
@pytest.mark.parametrize("sampling", RULES)
def test_it_is_the_targets_own(sampling: SamplingConfig, samples: int) -> None:
    assert _setting(sampling, lookahead=4).p_value(samples) >= ENOUGH


@pytest.mark.parametrize(
    "sampling",
    [
        each if each.id in ("t1", "penalty") else pytest.param(*each.values, id=each.id, marks=pytest.mark.soak)
        for each in RULES
    ],
)
def test_it_is_with_exact_match_too(sampling: SamplingConfig) -> None:
    """What is cut is the same code; one rule without a history and one with it are quick enough."""
    assert _setting(sampling, lookahead=3, acceptance="exact").p_value(SAMPLES) >= ENOUGH


@pytest.mark.parametrize(
    "speculation",
    [
        pytest.param({"lookahead": 2, "overlap": "on"}, id="overlap"),
        pytest.param({"force_n1": True}, id="n1"),
        pytest.param({"lookahead": 4, "min_draft_confidence": 0.45}, id="confidence"),
    ],
)
def test_other_ways_to_speculate(speculation: dict[str, Any]) -> None:
    assert _setting(SamplingConfig(1.0), **speculation).p_value(SAMPLES) >= ENOUGH


@pytest.mark.parametrize("sampling", RULES[:2])
def test_the_distribution_of_another_position_fails(sampling: SamplingConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    def moved(probs: Any, count: int) -> bytes | None:
        records = records_of(probs, count)
        size = len(records or b"") // max(count, 1)
        return None if records is None else records[size:] + records[:size]

    monkeypatch.setattr("engine.generation.verifier.records_of", moved)
    assert _setting(sampling, lookahead=4).broken_p_value(SAMPLES) < BROKEN


@pytest.mark.parametrize("sampling", RULES[:2])
def test_the_same_numbers_for_all_rounds_fail(sampling: SamplingConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    judge = NativeSampler.judge

    def late(self: NativeSampler, rows: Any, part: range, *rest: Any, **_: Any) -> Any:
        proposed, records, _, history = rest
        return judge(self, rows, part, proposed, records, 0, history)

    monkeypatch.setattr(NativeSampler, "judge", late)
    assert _setting(sampling, lookahead=1).broken_p_value(SAMPLES) < BROKEN


def test_penalties_that_forget_the_round_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a draft's tokens do to the penalties of those behind them is part of the rule."""
    judge = NativeSampler.judge

    def forgetful(self: NativeSampler, rows: Any, part: range, *rest: Any, **_: Any) -> Judged:
        proposed, _, position, history = rest
        tokens: list[int] = []
        kept, logprobs = 0, list[float]()
        for i in part:  # Each by itself, as if it were the first one of its round.
            found = judge(self, rows[i:], range(1), proposed[i:], None, position + i, history)
            tokens, kept, logprobs = tokens + found.tokens, kept + found.kept, logprobs + found.logprobs
            if not found.kept:
                break
        return Judged(tokens, kept, logprobs, [])

    assert _setting(PENALTIES, lookahead=3, acceptance="exact").p_value(SAMPLES) >= ENOUGH
    monkeypatch.setattr(NativeSampler, "judge", forgetful)
    assert _setting(PENALTIES, lookahead=3, acceptance="exact").broken_p_value(SAMPLES) < BROKEN


def test_penalties_that_know_only_the_round_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NativeSampler, "_count", lambda *_: 0)
    assert _setting(PENALTIES, lookahead=1).broken_p_value(SAMPLES) < BROKEN


def test_other_tokens_that_leave_the_window_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    sampling = SamplingConfig(1.0, frequency_penalty=1.5, penalty_window=2)
    others = array("q", [5, 5])
    place, _ = others.buffer_info()
    monkeypatch.setattr(History, "oldest", property(lambda self: (place, min(self.window, len(self)))))
    assert _setting(sampling, lookahead=4).broken_p_value(SAMPLES) < BROKEN
