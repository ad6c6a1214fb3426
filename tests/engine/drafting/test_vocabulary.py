"""A draft whose output layer is computed for some tokens only: the target's distribution stays as it is."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from engine import SpeculativeDecoder, bundled_pair, load
from engine.backends.base import Backend, Logits
from engine.backends.llama_cpp.library import has_kernels
from engine.config import SamplingConfig, SpeculationConfig
from engine.constraint import Constraint
from engine.drafting import vocabulary
from engine.drafting.draft_model import DraftModelDrafter
from engine.drafting.vocabulary import COMMON, LEAST, ROWS, SHARE, DraftVocabulary
from engine.sampling.candidates import Candidates
from helpers.decoding.fake_backend import FakeBackend
from helpers.decoding.joint import BROKEN, ENOUGH, Setting

VOCABULARY = 8


def _wanted(bits: NDArray[np.uint64], size: int, rows: int = ROWS) -> NDArray[np.bool_]:
    return np.repeat(np.unpackbits(bits.view(np.uint8), bitorder="little"), rows)[:size].astype(bool)


def test_common_tokens_and_those_of_the_text_are_wanted() -> None:
    chosen = DraftVocabulary(151_936, {151_645})
    assert _wanted(chosen.bits, 151_936).sum() == COMMON + ROWS
    chosen.note([5, 100_000, 100_001, 151_999], judged=False)
    wanted = _wanted(chosen.bits, 151_936)
    assert wanted[[0, COMMON - 1, 100_000, 100_001, 151_645]].all()
    assert wanted.sum() == COMMON + 2 * ROWS
    assert _wanted(DraftVocabulary(262_144).bits, 262_144).sum() == 262_144 // SHARE


def test_what_was_seen_last_stays() -> None:
    chosen = DraftVocabulary(COMMON + 4_000 * ROWS)
    first, later = COMMON + ROWS, range(COMMON + 100 * ROWS, COMMON + 1_124 * ROWS, ROWS)
    chosen.note([first], judged=False)
    chosen.note([*later[:-1], first, later[-1]], judged=False)
    wanted = _wanted(chosen.bits, COMMON + 4_000 * ROWS)
    assert wanted.sum() == COMMON + 1_024 * ROWS
    assert wanted[first]
    assert not wanted[later[0]]


def test_where_the_text_is_all_new_every_token_is_computed() -> None:
    chosen = DraftVocabulary(151_936)
    assert chosen.pays
    chosen.note(range(100_000, 100_000 + 40 * ROWS, ROWS))
    assert not chosen.pays
    chosen.note([17] * 200)
    assert chosen.pays


class Limited(FakeBackend):
    """A fake model that computes only what is wanted."""

    bits: NDArray[np.uint64] | None = None

    def want_rows(self, bits: NDArray[np.uint64] | None) -> bool:
        self.bits = bits
        return True

    def row(self, tokens: Sequence[int]) -> Logits:
        row: Logits = super().row(tokens)
        if self.bits is None:
            return row
        row = row.copy()
        row[~_wanted(self.bits, self.vocab_size, 1)] = -np.inf
        return row


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the first three tokens are common, and no other one is ever added."""
    for name, value in {"ROWS": 1, "COMMON": 3, "_MOST_ADDED": 0, "_MOST_MISSED": 2.0}.items():
        monkeypatch.setattr(vocabulary, name, value)
    monkeypatch.setattr("engine.drafting.draft_model.LEAST", 0)


@pytest.mark.parametrize(
    ("sampling", "tree"),
    [(SamplingConfig(1.0), None), (SamplingConfig(0.7, top_p=0.9), None), (SamplingConfig(1.0), (2, 1))],
    ids=["t1", "t0.7", "tree"],
)
@pytest.mark.usefixtures("small")
def test_the_joint_distribution_is_the_targets(sampling: SamplingConfig, tree: tuple[int, int] | None) -> None:
    target, draft = FakeBackend(VOCABULARY, 3), Limited(VOCABULARY, 8)
    likeliest = {int(target.row([1, 2, *path]).argmax()) for path in ([], [0], [1], [2])}
    assert likeliest - {0, 1, 2}, "the draft must lack what the target loves"
    setting = Setting(target, draft, sampling, SpeculationConfig(lookahead=3, tree=tree))
    assert setting.p_value(6_000 if tree is None else 2_000) >= ENOUGH
    assert draft.bits is None, "after the reply the model is whole again"


@pytest.mark.usefixtures("small")
def test_claiming_the_whole_distribution_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Probabilities that the draft did not draw from bend the text."""
    target, draft = FakeBackend(VOCABULARY, 3), Limited(VOCABULARY, 8)
    whole = FakeBackend(VOCABULARY, 8)

    def told(self: Any, rows: Logits) -> Any:
        proposal = drawn(self, rows)
        row = whole.row([*self._committed, *self._ahead]).astype(np.float64)
        return proposal if proposal is None else proposal._replace(probs=Candidates(VOCABULARY, np.exp(row)))

    drawn = DraftModelDrafter._draw
    monkeypatch.setattr(DraftModelDrafter, "_draw", told)
    setting = Setting(target, draft, SamplingConfig(1.0), SpeculationConfig(lookahead=3))
    assert setting.broken_p_value(6_000) < BROKEN


@pytest.fixture(scope="module")
def pair() -> Iterator[SpeculativeDecoder]:
    with load(*bundled_pair()) as decoder:
        yield decoder


def _row(draft: Backend, tokens: Sequence[int]) -> Logits:
    draft.truncate(0)
    row: Logits = draft.forward(tokens, 1)[0].copy()
    return row


@pytest.mark.skipif(not has_kernels(), reason="llama.cpp was compiled without Outrider's kernels")
def test_wanted_logits_have_the_same_bits(pair: SpeculativeDecoder) -> None:
    draft, tokens = pair.draft, pair.encode("The dragon counted the clouds.")
    assert draft is not None
    if not draft.own_kernels:
        pytest.skip("the kernels do not work on this processor")
    whole = _row(draft, tokens)
    chosen = DraftVocabulary(draft.vocab_size)
    chosen._wanted[:] = 0
    chosen._wanted[::3] = 1
    chosen.bits[:] = np.packbits(chosen._wanted, bitorder="little").view(np.uint64)
    wanted = _wanted(chosen.bits, draft.vocab_size)
    assert draft.want_rows(chosen.bits)
    try:
        _row(draft, tokens)  # Here it finds its output layer.
        some = _row(draft, tokens)
        assert np.array_equal(some[wanted], whole[wanted])
        assert np.isneginf(some[~wanted]).all()
        chosen.bits[:] = 2**64 - 1
        assert np.array_equal(_row(draft, tokens), whole)
    finally:
        draft.want_rows(None)
    assert np.array_equal(_row(draft, tokens), whole)


@pytest.mark.parametrize("options", [{}, {"tree": (2, 3)}, {"overlap": "on"}])
def test_a_real_pair_writes_the_same_text(
    pair: SpeculativeDecoder, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    monkeypatch.setattr(vocabulary, "COMMON", 512)
    monkeypatch.setattr("engine.drafting.draft_model.LEAST", 0)
    vocabulary._of_models.clear()
    plain = pair.generate("Tell me a story about a shy dragon.", lookahead=0, max_tokens=80)
    result = pair.generate(
        "Tell me a story about a shy dragon.", method="draft-model", lookahead=3, max_tokens=80, **options
    )
    assert result.tokens == plain.tokens
    assert result.stats.accepted > 10
    assert pair.draft is not None
    assert np.isfinite(_row(pair.draft, pair.encode("The dragon"))).all(), "the model is whole again"


def test_streams_are_not_held_up_by_what_another_reply_wants(pair: SpeculativeDecoder) -> None:
    """Both compute with the same weights: what one wants is left out for the other too, whose text it does not change.

    Not even where the text must be of tokens that are all left out.
    """
    draft, digits = pair.draft, Constraint.regex("[0-9]{40}")
    assert draft is not None
    plain = pair.generate("Count", lookahead=0, max_tokens=30, constraint=digits)
    chosen = DraftVocabulary(draft.vocab_size)
    chosen._wanted[:] = 0
    chosen._wanted[::3] = 1
    chosen.bits[:] = np.packbits(chosen._wanted, bitorder="little").view(np.uint64)
    (stream,) = pair.open_streams(1)
    try:
        for bits in (chosen.bits, np.zeros_like(chosen.bits)):
            draft.want_rows(bits)
            result = stream.generate("Count", method="draft-model", lookahead=3, max_tokens=30, constraint=digits)
            assert result.tokens == plain.tokens
    finally:
        draft.want_rows(None)
        pair.close_streams()


def test_the_least_vocabulary_is_larger_than_what_is_common() -> None:
    assert 2 * COMMON <= LEAST
