"""Mixtures of experts: rows do not depend on the batch, and a draft changes nothing of the text."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("llama_cpp")

from engine.backends.llama_cpp import weights
from engine.backends.llama_cpp.backend import LlamaCppBackend
from engine.backends.llama_cpp.library import computes_alike, packs_weights
from engine.config import CacheType, LoadConfig
from helpers.models.pairs import assert_same_greedy, open_files
from helpers.weights.expert_model import TINY_GPT_OSS, TINY_QWEN3, ExpertShape, write_expert_model

Model = tuple[ExpertShape, str, str, CacheType | None]
"""The shape, the format of the experts, the one of the other matrices, and the type of the cache."""
MODELS: dict[str, Model] = {
    "gpt-oss": (TINY_GPT_OSS, "MXFP4", "Q5_1", None),
    "qwen3moe": (TINY_QWEN3, "Q4_K", "Q8_0", None),
    "weights from tables": (replace(TINY_QWEN3, heads=8), "IQ3_S", "IQ2_S", "q8_0"),
    "weights of a bit or two": (replace(TINY_QWEN3, heads=8), "IQ1_M", "IQ1_S", "q4_0"),
}
SEED, NOISE = 1, 0.02
PROMPT = [1, 40, 41, 42, 43, 44]


@pytest.fixture(scope="module", params=sorted(MODELS))
def model(request: pytest.FixtureRequest) -> Model:
    return MODELS[request.param]


@pytest.fixture(scope="module")
def target(model: Model, tmp_path_factory: pytest.TempPathFactory) -> Path:
    shape, kind, dense, _ = model
    return write_expert_model(tmp_path_factory.mktemp("experts") / "target.gguf", shape, kind, dense=dense, seed=SEED)


@pytest.fixture(scope="module")
def draft(model: Model, target: Path) -> Path:
    """Half-right: the target's weights but for its norms, which are disturbed."""
    shape, kind, dense, _ = model
    return write_expert_model(target.with_name("draft.gguf"), shape, kind, dense=dense, seed=SEED, noise=NOISE)


def test_a_token_has_the_same_row_alone_and_among_others(model: Model, target: Path) -> None:
    if not computes_alike():
        pytest.skip("llama.cpp's own products, which differ in bits: another build, or another processor")
    tokens = [int(token) for token in np.random.default_rng(3).integers(3, 300, size=33)]
    backend = LlamaCppBackend.open(LoadConfig(target, None, 2, cache_type=model[3]))
    try:
        alone = np.stack([backend.forward([token], 1)[0].copy() for token in tokens])
        for size in (2, 5, 16, len(tokens)):
            backend.truncate(0)
            rows = [
                backend.forward(tokens[at : at + size], len(tokens[at : at + size])).copy()
                for at in range(0, len(tokens), size)
            ]
            assert np.array_equal(np.concatenate(rows).view(np.int32), alone.view(np.int32)), size
    finally:
        backend.close()


def test_packed_weights_give_the_same_bits(model: Model, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not packs_weights():
        pytest.skip("another llama.cpp, or a processor for which weights stay as they are")

    def rows() -> list[np.ndarray]:
        backend = LlamaCppBackend.open(LoadConfig(target, None, 2, cache_type=model[3]))
        try:
            return [backend.forward(list(range(5, 5 + size)), size).copy() for size in (1, 5, 20, 33)]
        finally:
            backend.close()

    packed = rows()
    monkeypatch.setattr(weights, "packs_weights", lambda: False)
    for one, other in zip(packed, rows(), strict=True):
        assert np.array_equal(one.view(np.int32), other.view(np.int32))


def test_greedy_text_is_the_targets_own(model: Model, target: Path, draft: Path) -> None:
    with open_files(target, draft, cache_type=model[3]) as decoder:
        assert decoder.target is not None
        plain = decoder.generate(PROMPT, lookahead=0, max_tokens=60)
        accepted = 0
        for lookahead in (1, 4, 8):
            other = decoder.generate(PROMPT, lookahead=lookahead, max_tokens=60)
            alike = assert_same_greedy(decoder.target, PROMPT, plain, other)
            assert alike == len(plain.tokens) or not computes_alike()
            accepted += other.stats.accepted
        assert accepted > 0
