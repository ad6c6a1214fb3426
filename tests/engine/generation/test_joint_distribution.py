"""The joint distribution of the first three tokens is the target's own, and the test notices when it is not.

The fakes' logits depend on the whole cache, and target and draft are far apart, so nearly every way to get the
acceptance rule or the caches wrong moves some cell of the joint.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from time import sleep
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.backends.base import Logits, Rewind
from engine.config import Acceptance, SamplingConfig, SpeculationConfig
from engine.drafting.base import Draft, GoesOn
from engine.drafting.draft_model import DraftModelDrafter
from engine.sampling.distribution import distribution
from helpers.decoding.fake_backend import FakeBackend
from helpers.decoding.joint import (
    BROKEN,
    ENOUGH,
    PROMPT,
    KeepsRejected,
    OneRowLate,
    Prefix,
    Setting,
    chi_square_p,
    draw_many,
    exact_joint,
    remembered_distributions,
    total_variation,
    two_sample_p,
    without_threads,
)
from helpers.seldom import often

SAMPLES, MANY = 2_000, 12_000
MOST = 10_000
"""For the break that shows least."""
FEWER = 1_000
"""Enough draws for a question that is not the test's own, and for the breaks that show clearly."""
THREADED, LONGER = 40, 12
"""Replies that are drawn with a real thread, and their tokens."""
VOCABULARY = 6
TARGET_SEED, DRAFT_SEED = 11, 23

FULL = SamplingConfig(temperature=1.0)
CUT = SamplingConfig(temperature=0.7, top_p=0.9)
SAMPLINGS = [pytest.param(FULL, id="t1"), pytest.param(CUT, id="t0.7-top-p0.9")]


def _target(**options: Any) -> FakeBackend:
    return FakeBackend(VOCABULARY, TARGET_SEED, **options)


def _draft(vocab_size: int = VOCABULARY, **options: Any) -> FakeBackend:
    return FakeBackend(vocab_size, DRAFT_SEED, **options)


def _setting(sampling: SamplingConfig, **speculation: Any) -> Setting:
    return Setting(_target(), _draft(), sampling, SpeculationConfig(**speculation))


@cache
def _counts(
    sampling: SamplingConfig, lookahead: int, acceptance: Acceptance, first_seed: int = 0, samples: int = SAMPLES
) -> Counter[Prefix]:
    speculation = SpeculationConfig(lookahead=lookahead, acceptance=acceptance)
    return draw_many(Setting(_target(), _draft(), sampling, speculation), samples, first_seed)


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_draft_is_far_from_target(sampling: SamplingConfig) -> None:
    histories = [PROMPT, *((*PROMPT, token) for token in range(VOCABULARY))]
    apart = [
        total_variation(
            distribution(_target().row(history), sampling, history),
            distribution(_draft().row(history), sampling, history),
        )
        for history in histories
    ]
    assert np.mean(apart) > 0.4


def test_fakes_depend_on_the_whole_history() -> None:
    target = _target()
    rows = [target.row(history).tobytes() for history in ([1, 2, 3], [2, 1, 3], [2, 3], [3], [1, 2, 2, 3])]
    assert len(set(rows)) == len(rows)


def test_exact_joint_is_a_distribution() -> None:
    joint = exact_joint(_target(), FULL)
    assert len(joint) == VOCABULARY**3
    assert sum(joint.values()) == pytest.approx(1.0)


def test_chi_square_is_uniform_under_the_truth() -> None:
    joint = exact_joint(_target(), FULL)
    prefixes, shares = list(joint), np.array(list(joint.values()))
    rng = np.random.default_rng(5)
    ps = [
        chi_square_p(dict(zip(prefixes, map(int, row), strict=True)), joint)
        for row in rng.multinomial(SAMPLES, shares, size=300)
    ]
    assert np.mean(ps) == pytest.approx(0.5, abs=0.06)
    assert np.mean(np.array(ps) < 0.1) == pytest.approx(0.1, abs=0.05)


def test_impossible_cell_fails() -> None:
    assert chi_square_p({(0,): 99, (1,): 1}, {(0,): 1.0}) == 0.0


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_plain_decoding(sampling: SamplingConfig) -> None:
    counts = _counts(sampling, 0, "rejection", SAMPLES)
    assert chi_square_p(counts, exact_joint(_target(), sampling)) >= ENOUGH


@pytest.mark.soak
@pytest.mark.parametrize(
    ("lookahead", "acceptance"), [(0, "rejection"), (1, "rejection"), (4, "rejection"), (4, "exact")]
)
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_many_replies(sampling: SamplingConfig, lookahead: int, acceptance: Acceptance) -> None:
    counts = _counts(sampling, lookahead, acceptance, samples=MANY)
    assert chi_square_p(counts, exact_joint(_target(), sampling)) >= ENOUGH


@pytest.mark.parametrize("lookahead", [1, pytest.param(2, marks=pytest.mark.soak), 4])
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_rejection(sampling: SamplingConfig, lookahead: int) -> None:
    counts = _counts(sampling, lookahead, "rejection")
    assert chi_square_p(counts, exact_joint(_target(), sampling)) >= ENOUGH


def test_a_draft_that_reads_late_and_not_all(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, tokens in {"SHORT_PROMPT": 1, "LONG_PROMPT": 1, "BEGINNING": 0, "STEP": 1}.items():
        monkeypatch.setattr(f"engine.drafting.draft_model.{name}", tokens)
    assert _setting(FULL, lookahead=3).p_value(FEWER) >= ENOUGH


@pytest.mark.parametrize("lookahead", [pytest.param(1, marks=pytest.mark.soak), 4])
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_exact_match(sampling: SamplingConfig, lookahead: int) -> None:
    counts = _counts(sampling, lookahead, "exact")
    assert chi_square_p(counts, exact_joint(_target(), sampling)) >= ENOUGH


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_speculative_against_plain(sampling: SamplingConfig) -> None:
    plain = _counts(sampling, 0, "rejection", SAMPLES)
    assert two_sample_p(_counts(sampling, 4, "rejection"), plain) >= ENOUGH


@pytest.mark.parametrize("temperature", [0.0, 0.3, 2.0])
def test_draft_with_another_temperature(temperature: float) -> None:
    setting = replace(_setting(FULL, lookahead=2), draft_sampling=SamplingConfig(temperature=temperature))
    assert setting.p_value(FEWER) >= ENOUGH


@pytest.mark.parametrize(
    "speculation",
    [
        pytest.param({"min_draft_confidence": 0.45}, id="confidence"),
        pytest.param({"force_n1": True}, id="n1"),
        pytest.param({"lookahead": "adaptive"}, id="adaptive"),
        pytest.param({"lookahead": "auto"}, id="auto"),
    ],
)
def test_other_ways_to_speculate(speculation: dict[str, Any]) -> None:
    assert _setting(FULL, **speculation).p_value(FEWER) >= ENOUGH


@pytest.mark.parametrize(
    "sampling",
    [
        pytest.param(
            SamplingConfig(1.0, repeat_penalty=1.5, presence_penalty=0.4, frequency_penalty=0.7), id="penalty"
        ),
        pytest.param(SamplingConfig(1.3, top_k=4, min_p=0.08), id="top-k-min-p"),
        pytest.param(SamplingConfig(0.9, typical=0.8), id="typical"),
    ],
)
def test_other_processors(sampling: SamplingConfig) -> None:
    assert _setting(sampling, lookahead=3).p_value(FEWER) >= ENOUGH


@pytest.mark.parametrize("vocab_size", [VOCABULARY - 1, VOCABULARY + 2])
def test_padded_vocabularies(vocab_size: int) -> None:
    setting = Setting(_target(), _draft(vocab_size), FULL, SpeculationConfig(lookahead=3))
    assert setting.p_value(FEWER) >= ENOUGH


@pytest.mark.parametrize(
    "rewind", [Rewind("snapshots", 1), Rewind("window", 2), Rewind("none")], ids=lambda rewind: str(rewind.kind)
)
def test_other_caches_of_the_target(rewind: Rewind) -> None:
    setting = Setting(_target(rewind=rewind), _draft(), FULL, SpeculationConfig(lookahead=4))
    assert setting.p_value(FEWER) >= ENOUGH


@pytest.mark.parametrize(
    "rewind", [Rewind("snapshots", 1), Rewind("window", 2), Rewind("none")], ids=lambda rewind: str(rewind.kind)
)
def test_other_caches_of_the_draft(rewind: Rewind) -> None:
    setting = Setting(_target(), _draft(rewind=rewind), FULL, SpeculationConfig(lookahead=4))
    assert setting.p_value(FEWER) >= ENOUGH


@pytest.mark.parametrize("temperature", [0.7, pytest.param(1.0, marks=pytest.mark.soak)])
@pytest.mark.parametrize(
    "speculation",
    [
        pytest.param({"lookahead": 3}, id="draft"),
        pytest.param({"lookahead": 1, "overlap": "on"}, id="overlap"),
        pytest.param({"lookahead": 3, "acceptance": "exact"}, id="exact"),
        pytest.param({"force_n1": True}, id="n1"),
    ],
)
def test_all_processors_together(speculation: dict[str, Any], temperature: float) -> None:
    sampling = SamplingConfig(
        temperature,
        top_k=5,
        top_p=0.95,
        min_p=0.02,
        repeat_penalty=1.3,
        presence_penalty=0.3,
        frequency_penalty=0.2,
        logit_bias=((0, 0.5), (3, -0.5)),
        banned_tokens=(5,),
    )
    assert _setting(sampling, **speculation).p_value(FEWER) >= ENOUGH


@pytest.fixture(params=["rejection", "exact"])
def overlapped(request: pytest.FixtureRequest) -> dict[str, Any]:
    return {"overlap": "on", "lookahead": 2, "acceptance": request.param}


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_overlap(sampling: SamplingConfig, overlapped: dict[str, Any]) -> None:
    assert _setting(sampling, **overlapped).p_value(FEWER) >= ENOUGH


class Slow(FakeBackend):
    """A draft that is still at work when the target has judged."""

    def forward(self, tokens: Sequence[int], n_outputs: int) -> Logits:
        sleep(0.0002)
        return super().forward(tokens, n_outputs)


@pytest.mark.parametrize("sampling", often(SAMPLINGS, "t0.7-top-p0.9"))
def test_overlap_draws_the_same_on_its_thread(sampling: SamplingConfig, overlapped: dict[str, Any]) -> None:
    setting = replace(_setting(sampling, **overlapped), draft=Slow(VOCABULARY, DRAFT_SEED))
    with remembered_distributions():
        threaded = [setting.draw(seed, LONGER) for seed in range(THREADED)]
        with without_threads():
            assert [setting.draw(seed, LONGER) for seed in range(THREADED)] == threaded


class OneRowForAll(FakeBackend):
    """The first row of a verification for all of its positions."""

    def forward(self, tokens: Sequence[int], n_outputs: int) -> Logits:
        rows = super().forward(tokens, n_outputs)
        return np.repeat(rows[:1], n_outputs, axis=0)


class DropsUnlikely(DraftModelDrafter):
    """A confidence stop that looks at the drawn token and then drops it."""

    threshold = 0.4

    def propose(self, n: int, goes_on: GoesOn | None = None) -> Draft:
        draft = super().propose(n)
        likely = [probs[token] >= self.threshold for token, probs in zip(draft.tokens, draft.probs or (), strict=True)]
        kept = likely.index(False) if False in likely else len(likely)
        return Draft(draft.tokens[:kept], (draft.probs or ())[:kept], draft.logprobs[:kept])


class GuessesWithOldProbabilities(DraftModelDrafter):
    """The guess for the bonus position carries the distribution of the position before."""

    def propose(self, n: int, goes_on: GoesOn | None = None) -> Draft:
        self.last = super().propose(n)
        return self.last

    def propose_ahead(self, n: int, stop: Callable[[], bool]) -> Draft:
        guess = super().propose_ahead(n, stop)
        return guess._replace(probs=(self.last.probs or ())[-1:] if guess.tokens else guess.probs)


@pytest.fixture(params=SAMPLINGS)
def sound(request: pytest.FixtureRequest) -> Setting:
    """The setting of test_rejection, which passes: what fails below fails by the break alone.

    The rules are those in Python, which are broken here (see test_native_joint for the compiled ones).
    """
    return _setting(request.param, lookahead=4)


def test_accepting_always_fails(sound: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.generation.verifier.accept", lambda *_: True)
    assert sound.broken_p_value(FEWER) < BROKEN


def test_correction_from_the_target_fails(sound: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    def target_itself(target_probs: NDArray[np.float64], _: NDArray[np.float64]) -> NDArray[np.float64]:
        return target_probs

    monkeypatch.setattr("engine.generation.verifier.residual_distribution", target_itself)
    assert sound.broken_p_value(FEWER) < BROKEN


def test_rejected_token_in_the_target_fails(sound: Setting) -> None:
    assert replace(sound, target=KeepsRejected(VOCABULARY, TARGET_SEED)).broken_p_value(FEWER) < BROKEN


def test_dropping_an_unlikely_token_fails(sound: Setting) -> None:
    assert replace(sound, make_drafter=DropsUnlikely).broken_p_value(FEWER) < BROKEN


@pytest.mark.parametrize("sampling", often(SAMPLINGS, "t1"))
def test_guess_with_old_probabilities_fails(sampling: SamplingConfig) -> None:
    setting = replace(_setting(sampling, overlap="on", lookahead=1), make_drafter=GuessesWithOldProbabilities)
    assert setting.broken_p_value(MOST) < BROKEN


def test_row_read_one_late_fails(sound: Setting) -> None:
    assert replace(sound, target=OneRowLate(VOCABULARY, TARGET_SEED)).broken_p_value(FEWER) < BROKEN


def test_one_row_for_all_positions_fails(sound: Setting) -> None:
    assert replace(sound, target=OneRowForAll(VOCABULARY, TARGET_SEED)).broken_p_value(FEWER) < BROKEN


def test_cut_only_in_plain_decoding_fails() -> None:
    """Top-p forgotten in speculative decoding: tokens come that plain decoding never writes."""
    counts = draw_many(_setting(replace(CUT, top_p=1.0), lookahead=4), FEWER)
    assert chi_square_p(counts, exact_joint(_target(), CUT)) < BROKEN


def test_dropped_token_biases_as_the_design_says() -> None:
    """Draft .9/.1, target .5/.5, threshold .2: the first token comes out .55 instead of .5."""

    class Two(FakeBackend):
        def __init__(self, share: float) -> None:
            super().__init__(3)
            self._row = np.log(np.array([share, 1.0 - share, 1e-30], dtype=np.float32))

        def row(self, history: Sequence[int]) -> Logits:
            return self._row

    class Drops(DropsUnlikely):
        threshold = 0.2

    setting = Setting(Two(0.5), Two(0.9), FULL, SpeculationConfig(lookahead=1))
    kept = draw_many(setting, SAMPLES)
    dropped = draw_many(replace(setting, make_drafter=Drops), SAMPLES)
    first = [sum(n for tokens, n in counts.items() if tokens[0] == 0) / SAMPLES for counts in (kept, dropped)]
    assert first[0] == pytest.approx(0.5, abs=0.02)
    assert first[1] == pytest.approx(0.55, abs=0.02)
