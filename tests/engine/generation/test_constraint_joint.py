"""The joint distribution under a constraint is the constrained target's own, and the test notices when it is not.

What a constraint allows is found here without masks: by listing every text of its language.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import pytest

from engine.backends.base import Logits, Rewind
from engine.config import SamplingConfig, SpeculationConfig
from engine.constraint import Constraint
from engine.drafting.draft_model import DraftModelDrafter
from engine.masks.reply_masks import ReplyMasks
from engine.sampling.distribution import candidates, distribution
from engine.sampling.rows import Proposal
from helpers.decoding.compiled_rows import compiled_rows
from helpers.decoding.fake_backend import FakeBackend
from helpers.decoding.joint import BROKEN, ENOUGH, LENGTH, PROMPT, Prefix, Setting, chi_square_p, draw_many
from helpers.seldom import often

SAMPLES, FEWER = 600, 300
PATTERN = "(a[bce]|b|d[^a]|f)[a-e]{2}[ace]{1,2}"
"""Texts of 4 to 6 letters, of which many a beginning leaves few to come, and some one."""
LETTERS = "abcdef"
FULL = SamplingConfig(temperature=1.0)
RULES = [
    pytest.param(FULL, id="t1"),
    pytest.param(SamplingConfig(0.7, top_p=0.9), id="t0.7-top-p0.9"),
    pytest.param(SamplingConfig(1.2, top_k=3, min_p=0.05, repeat_penalty=1.4, logit_bias=((1, 1.0),)), id="all"),
]


@cache
def _beginnings(pattern: str) -> frozenset[str]:
    """All beginnings of the texts that match."""
    texts = ("".join(text) for length in range(3, 7) for text in product(LETTERS, repeat=length))
    return frozenset(text[:end] for text in texts if re.fullmatch(pattern, text) for end in range(len(text) + 1))


def _exact(target: FakeBackend, sampling: SamplingConfig, pattern: str = PATTERN) -> dict[Prefix, float]:
    """The probability of every beginning: at each position of those tokens alone that can stand there."""
    joint: dict[Prefix, float] = {(): 1.0}
    for _ in range(LENGTH):
        longer: dict[Prefix, float] = {}
        for prefix, probability in joint.items():
            said = "".join(LETTERS[token] for token in prefix)
            banned = tuple(token for token in range(len(LETTERS)) if said + LETTERS[token] not in _beginnings(pattern))
            history = [*PROMPT, *prefix]
            shares = distribution(target.row(history), replace(sampling, banned_tokens=banned), history)
            longer |= {(*prefix, token): probability * float(s) for token, s in enumerate(shares) if s > 0.0}
        joint = longer
    return joint


def _setting(sampling: SamplingConfig, **speculation: Any) -> Setting:
    target, draft = FakeBackend(len(LETTERS), 11), FakeBackend(len(LETTERS), 23)
    return Setting(target, draft, sampling, SpeculationConfig(**speculation), constraint=Constraint.regex(PATTERN))


def _p_value(setting: Setting, samples: int = SAMPLES) -> float:
    pattern = setting.constraint.text if setting.constraint else PATTERN
    return chi_square_p(draw_many(setting, samples), _exact(setting.target, setting.sampling, pattern))


def test_the_constraint_leaves_much_out() -> None:
    assert len(_exact(FakeBackend(len(LETTERS), 11), FULL)) < 0.5 * len(LETTERS) ** LENGTH


@pytest.mark.parametrize("sampling", often(RULES, "all"))
@pytest.mark.parametrize(
    "speculation",
    [
        pytest.param({"lookahead": 0}, id="plain"),
        pytest.param({"lookahead": 4}, id="rejection"),
        pytest.param({"lookahead": 3, "acceptance": "exact"}, id="exact"),
    ],
)
def test_it_is_the_constrained_targets_own(sampling: SamplingConfig, speculation: dict[str, Any]) -> None:
    assert _p_value(_setting(sampling, **speculation)) >= ENOUGH


@pytest.mark.parametrize(
    "speculation",
    [
        pytest.param({"lookahead": 2, "overlap": "on"}, id="overlap"),
        pytest.param({"force_n1": True}, id="n1"),
        pytest.param({"lookahead": "auto"}, id="auto"),
        pytest.param({"lookahead": 4, "min_draft_confidence": 0.45}, id="confidence"),
    ],
)
def test_other_ways_to_speculate(speculation: dict[str, Any]) -> None:
    assert _p_value(_setting(FULL, **speculation), FEWER) >= ENOUGH


@pytest.mark.parametrize("rewind", [Rewind("snapshots", 1), Rewind("window", 2), Rewind("none")], ids=str)
def test_other_caches(rewind: Rewind) -> None:
    target, draft = (FakeBackend(len(LETTERS), seed, rewind=rewind) for seed in (11, 23))
    assert _p_value(replace(_setting(FULL, lookahead=4), target=target, draft=draft), FEWER) >= ENOUGH


@pytest.mark.parametrize("vocab_size", [5, 40])
def test_padded_vocabularies(vocab_size: int) -> None:
    setting = replace(_setting(FULL, lookahead=3), draft=FakeBackend(vocab_size, 23))
    assert _p_value(setting, FEWER) >= ENOUGH


@pytest.mark.parametrize("sampling", often(RULES, "all"))
@pytest.mark.parametrize("rule", ["rejection", "exact"])
def test_compiled_functions(sampling: SamplingConfig, rule: Any) -> None:
    setting = replace(_setting(sampling, lookahead=4, acceptance=rule), rows=compiled_rows(whole_drafts=True))
    assert _p_value(setting) >= ENOUGH


class TellsUnmasked(DraftModelDrafter):
    """A draft that keeps to the constraint, but whose probabilities are those of the whole distribution."""

    def _draw(self, rows: Logits) -> Proposal | None:
        drawn = super()._draw(rows)
        probs = candidates(rows[0], FULL, ())
        return None if drawn is None else drawn._replace(probs=probs)


class NoMask(ReplyMasks):
    """Masks that allow everything at one place of a draft."""

    def masks(self, base: int, behind: Any) -> Any:
        found = super().masks(base, behind)
        if found is not None and len(found) > 1:
            found[1] = 0xFFFFFFFF
        return found


class OneLate(ReplyMasks):
    """Each position gets the mask of the one before."""

    def masks(self, base: int, behind: Any) -> Any:
        found = super().masks(base, behind)
        return None if found is None else found[[0, *range(len(found) - 1)]]


def test_draft_whose_probabilities_leave_the_mask_out_fails() -> None:
    sharp = FakeBackend(len(LETTERS), 23, sharpness=4.0)
    setting = replace(_setting(FULL, lookahead=2), draft=sharp, constraint=Constraint.regex("[ab]{5,6}"))
    assert _p_value(setting) >= ENOUGH
    assert _p_value(replace(setting, make_drafter=TellsUnmasked)) < BROKEN


@pytest.mark.parametrize("broken", [NoMask, OneLate])
def test_wrong_masks_of_the_target_fail(broken: Callable[..., ReplyMasks], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("helpers.decoding.joint.ReplyMasks", broken)
    assert _p_value(_setting(FULL, lookahead=4), FEWER) < BROKEN
