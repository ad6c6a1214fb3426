"""Calibrating real models: plausible costs, caches as before, and the same text afterwards."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from engine.backends.base import Backend, Logits
from engine.cancel import CancelToken
from engine.config import LoadConfig
from engine.decoder import SpeculativeDecoder
from engine.errors import Cancelled
from engine.loading.open import open_backend
from engine.lookahead.calibration import calibrate
from engine.lookahead.knowledge import costs_for, costs_key, remembered
from helpers.models.pairs import assert_same_greedy, held_out_prompts, open_shared
from helpers.seldom import often

BUDGET_S = 0.15
TEXT = [5, 17, 99, 4, 30, 8, 61, 200, 7, 12, 45]
PAIRS = [
    ("stories260K-F32", "stories-draft43K-F32"),
    ("stories260K-Q4_0", "stories-draft43K-F32"),
    ("stories-mamba131K-F32", "stories-draft43K-F32"),
    ("stories260K-F32", "stories-mamba131K-F32"),
    ("rwkv7-834K-F32", "babyllama-byte256-F32"),
]
"""Attention and recurrent models, as targets and as drafts."""


@pytest.fixture(params=often(PAIRS, PAIRS[0], PAIRS[2]), ids=" with ".join)
def decoder(request: pytest.FixtureRequest, shared_gguf: Callable[[str], Path]) -> Iterator[SpeculativeDecoder]:
    for name in request.param:
        shared_gguf(name)
    with open_shared(*request.param) as opened:
        yield opened


def _models(decoder: SpeculativeDecoder) -> tuple[Backend, Backend]:
    assert decoder.target is not None
    assert decoder.draft is not None
    return decoder.target, decoder.draft


def _next_row(backend: Backend, token: int) -> Logits:
    row: Logits = backend.forward([token], 1)[0].copy()
    return row


def test_the_bundled_pair_has_plausible_costs(bundled_target: Path, bundled_draft: Path) -> None:
    configs = LoadConfig(bundled_target, trusted=True), LoadConfig(bundled_draft, trusted=True)
    target, draft = (open_backend(config) for config in configs)
    costs = calibrate(target, draft, budget_s=2.0)
    assert costs.knows(1)
    assert costs.knows(2)
    assert costs.knows(4)
    assert costs.knows_draft
    assert costs.draft() < 5.0 * costs.verify(1)
    if costs.knows(33):
        assert costs.verify(33) > costs.verify(1)
    assert target.length == draft.length == 0
    key = costs_key({"target": (target, configs[0]), "draft": (draft, configs[1])})
    assert key is not None
    assert costs_for(target, draft, key, budget_s=BUDGET_S).measured == pytest.approx(
        costs_for(target, draft, key).measured
    )
    assert remembered(key) is not None
    target.close()
    draft.close()


def test_caches_in_use_are_left_as_they_were(decoder: SpeculativeDecoder) -> None:
    """The row behind the same text is the same, whether or not something was measured in between."""
    for backend in _models(decoder):
        backend.forward(TEXT, 0)
    expected = [_next_row(backend, 3) for backend in _models(decoder)]
    for backend in _models(decoder):
        backend.truncate(0)
        backend.forward(TEXT, 0)
    costs = calibrate(*_models(decoder), budget_s=BUDGET_S)
    assert costs.knows(1)
    assert costs.knows_draft
    for backend, row in zip(_models(decoder), expected, strict=True):
        assert list(backend.tokens) == TEXT
        np.testing.assert_allclose(_next_row(backend, 3), row, atol=2e-2)


def test_the_text_is_the_same_after_calibrating(decoder: SpeculativeDecoder) -> None:
    prompts = held_out_prompts(2)
    before = [decoder.generate(prompt, max_tokens=24, raw=isinstance(prompt, str)) for prompt in prompts]
    target, draft = _models(decoder)
    for prompt, reply in zip(prompts, before, strict=True):
        calibrate(target, draft, budget_s=BUDGET_S)
        again = decoder.generate(prompt, max_tokens=24, raw=isinstance(prompt, str))
        assert_same_greedy(target, list(target.tokens)[: again.prompt_tokens], reply, again)


def test_cancelling_a_real_measurement_leaves_usable_models(decoder: SpeculativeDecoder) -> None:
    target, draft = _models(decoder)
    target.forward(TEXT, 0)
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(Cancelled):
        calibrate(target, draft, budget_s=BUDGET_S, cancel=cancel)
    assert list(target.tokens) == TEXT
    assert calibrate(target, draft, budget_s=BUDGET_S).knows(1)


@pytest.mark.parametrize("name", ["stories260K", "stories-mamba131K"])
def test_a_safetensors_model_is_measured_too(shared_models: Path, name: str) -> None:
    pytest.importorskip("torch")
    backend = open_backend(LoadConfig(shared_models / "hf" / name, threads=1, device="cpu"))
    backend.forward(TEXT, 0)
    expected = _next_row(backend, 3)
    backend.truncate(0)
    backend.forward(TEXT, 0)
    assert calibrate(backend, None, budget_s=BUDGET_S).knows(1)
    assert list(backend.tokens) == TEXT
    np.testing.assert_allclose(_next_row(backend, 3), expected, atol=2e-2)
    backend.close()
