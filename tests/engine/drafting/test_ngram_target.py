"""Text that n-grams drafted has the target's distribution; and a test of that which can fail."""

from typing import Any

import numpy as np
import pytest

from engine.config import SamplingConfig, SpeculationConfig
from engine.drafting.base import Draft, GoesOn
from engine.drafting.ngram import (
    NgramDrafter,
    NgramOptions,
)
from engine.drafting.prediction import PredictionDrafter
from helpers.decoding import joint
from helpers.decoding.fake_backend import FakeBackend
from helpers.decoding.joint import BROKEN, ENOUGH, KeepsRejected, OneRowLate, Setting

SAMPLES, MANY = 1_000, 4_000
"""The breaks show with 400."""
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
        return draft._replace(probs=(np.full(6, 1 / 6),) * len(draft.tokens)) if draft.tokens else draft


@pytest.fixture
def repetitive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joint, "PROMPT", REPETITIVE)
    monkeypatch.setattr(Counted, "proposed", 0)


def _setting(sampling: SamplingConfig, kind: type[NgramDrafter], target: type[FakeBackend]) -> Setting:
    def make(*_: Any, **__: Any) -> NgramDrafter:
        return kind(NgramOptions(least_gain=0.5))

    return Setting(target(6, 11), FakeBackend(6, 11), sampling, SpeculationConfig(lookahead=8), make_drafter=make)


@pytest.mark.usefixtures("repetitive")
@pytest.mark.parametrize("samples", [SAMPLES, pytest.param(MANY, marks=pytest.mark.soak)])
@pytest.mark.parametrize("sampling", [FULL, COOLER], ids=["t1", "t0.7"])
def test_sampled_text_is_the_targets(sampling: SamplingConfig, samples: int) -> None:
    assert _setting(sampling, Counted, FakeBackend).p_value(samples) >= ENOUGH
    assert Counted.proposed > 4 * samples


@pytest.mark.parametrize("sampling", [FULL, COOLER], ids=["t1", "t0.7"])
def test_sampled_text_with_a_prediction_is_the_targets(sampling: SamplingConfig) -> None:
    proposed = 0

    class Predicted(PredictionDrafter):
        def propose(self, n: int, goes_on: GoesOn | None = None) -> Draft:
            nonlocal proposed
            draft = super().propose(n)
            proposed += len(draft.tokens) * (draft.source == "prediction")
            return draft

    def make(*_: Any, **__: Any) -> NgramDrafter:
        return Predicted((3, 1, 4, 1, 5, 0, 2, 5) * 2)

    setting = Setting(
        FakeBackend(6, 11), FakeBackend(6, 11), sampling, SpeculationConfig(lookahead=8), make_drafter=make
    )
    assert setting.p_value(SAMPLES) >= ENOUGH
    assert proposed > 2 * SAMPLES


@pytest.mark.usefixtures("repetitive")
@pytest.mark.parametrize("sampling", [FULL, COOLER], ids=["t1", "t0.7"])
@pytest.mark.parametrize(
    ("kind", "target"),
    [(ClaimsADraw, FakeBackend), (Counted, KeepsRejected), (Counted, OneRowLate)],
    ids=lambda broken: str(broken.__name__),
)
def test_broken_on_purpose_fails(sampling: SamplingConfig, kind: type[NgramDrafter], target: type[FakeBackend]) -> None:
    assert _setting(sampling, kind, target).broken_p_value(SAMPLES) < BROKEN
