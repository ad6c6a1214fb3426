"""Medusa heads in folders, on targets in GGUF files: computed by llama.cpp's library, without PyTorch."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.config import LoadConfig
from engine.decoder import SpeculativeDecoder
from engine.loading.open import open_backend
from helpers.heads.compiled_medusa import NormedStates, PlainMedusa, output_of, states_of, write_medusa_for
from helpers.heads.eagle import write_plain_target
from helpers.heads.replies import PROMPT, compare_proposals, draws_alike, follow_heads, open_with_heads
from helpers.models.pairs import assert_same_greedy

ENOUGH = 0.001


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("compiled-medusa")


@pytest.fixture(scope="module")
def target(folder: Path) -> Path:
    return write_plain_target(folder / "target.gguf", mixing=0.08)


@pytest.fixture(scope="module")
def decoder(target: Path, folder: Path) -> Iterator[SpeculativeDecoder]:
    with open_with_heads(target, write_medusa_for(folder / "medusa", target)) as opened:
        yield opened


def test_states_behind_the_norm(target: Path) -> None:
    """They are what the output layer reads; nobody's are computed unasked, and in a long prompt none are."""
    backend = open_backend(LoadConfig(target, threads=1, trusted=True))
    try:
        states, rows = states_of(backend, [*range(40, 90)])
        assert np.abs(states @ output_of(target).T - rows).max() < 1e-4
        reader = NormedStates()
        backend.show_states(reader)
        backend.truncate(0)
        backend.forward([*range(40, 80)], 0)
        assert np.isnan(np.stack(reader.states)).all()
        backend.forward([*range(80, 90)], 1)
        assert np.abs(np.stack(reader.states)[40:] - states[40:]).max() < 1e-5
    finally:
        backend.close()


def test_the_text_is_the_targets(decoder: SpeculativeDecoder) -> None:
    assert decoder.target is not None
    plain = decoder.generate(PROMPT, temperature=0.0, max_tokens=40, lookahead=0)
    for lookahead in (1, 8):
        result = follow_heads(decoder, lookahead=lookahead, max_tokens=40)
        assert_same_greedy(decoder.target, PROMPT, plain, result)
        assert result.method == "medusa"
        assert result.stats.accepted > 3
        assert result.stats.rejected > 3
        assert len(result.stats.proposed_by_position) <= 3
        assert result.stats.target_forwards == result.stats.rounds


@pytest.mark.parametrize(("depth", "dtype"), [(1, "F32"), (2, "BF16"), (2, "F16")])
def test_proposals_agree_with_the_paper(
    target: Path, folder: Path, depth: int, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_medusa_for(folder / f"referenced-{depth}-{dtype}", target, depth=depth, dtype=dtype, residual=0.1)
    with open_with_heads(target, path) as opened:
        compared, behind = compare_proposals(opened, PlainMedusa(path).chain, monkeypatch)
        assert compared > 10
        assert behind > 0


@pytest.mark.soak  # Ten seconds each; the draws are those of the other heads.
@pytest.mark.parametrize("options", [{}, {"tree": "3x3", "lookahead": "default"}])
def test_the_distribution_is_the_targets(decoder: SpeculativeDecoder, options: dict[str, Any]) -> None:
    assert draws_alike(decoder, **options) > ENOUGH
