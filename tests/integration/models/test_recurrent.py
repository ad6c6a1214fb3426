"""Recurrent and hybrid models of llama.cpp go back to where they were, and speculate without a change of their text."""

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import llama_cpp
import numpy as np
import pytest
from numpy.typing import NDArray

from engine.backends.base import Backend
from engine.backends.llama_cpp.backend import LlamaCppBackend
from engine.cancel import CancelToken
from engine.config import LoadConfig
from engine.decoder import SpeculativeDecoder
from engine.errors import Cancelled, RewindNotSupported
from helpers.decoding.invariants import follow
from helpers.models.hybrid_model import ARCHITECTURES, Size, write_hybrid_model
from helpers.models.pairs import assert_same_greedy, open_files
from helpers.seldom import often

SIZE = Size(layers=6, inner=1536)
SEED = 1
"""Weights whose text does not run in circles."""
NOISE = 0.02
"""How much a draft's weights are disturbed: about half of what it proposes is the target's best token."""
MORE_NOISE = 0.3
"""The same where tokens are drawn, which agree more easily."""
DEPTHS = {"lfm2": 8, "nemotron_h": 4, "qwen35": 8}
"""Architectures of which llama.cpp keeps snapshots, and how many."""
OFTEN = ("mamba", "rwkv7", "qwen35", "lfm2")
"""Recurrent alone and with attention, with snapshots and without."""
PROMPT = [1, 40, 41, 42, 43, 44]
SAME = 1e-3
"""Rows of float32 models differ by less, however many tokens were fed at once."""

Rows = NDArray[np.float32]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module", params=often(sorted(ARCHITECTURES), *OFTEN))
def architecture(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def target(architecture: str, folder: Path) -> Path:
    return write_hybrid_model(folder / f"{architecture}.gguf", architecture, SIZE, seed=SEED)


@pytest.fixture(scope="module")
def draft(architecture: str, folder: Path) -> Path:
    """Half-right: the target's weights, disturbed."""
    return write_hybrid_model(folder / f"{architecture}-disturbed.gguf", architecture, SIZE, seed=SEED, noise=NOISE)


@pytest.fixture
def backend(target: Path) -> Iterator[LlamaCppBackend]:
    opened = _open(target)
    yield opened
    opened.close()


def _open(path: Path, context_length: int | None = None) -> LlamaCppBackend:
    return LlamaCppBackend.open(LoadConfig(path, context_length, 1))


def _one_by_one(backend: Backend, tokens: list[int]) -> Rows:
    backend.truncate(0)
    rows = np.stack([backend.forward([token], 1)[0].copy() for token in tokens])
    backend.truncate(0)
    return rows


def _text(count: int, seed: int = 1) -> list[int]:
    return [int(token) for token in np.random.default_rng(seed).integers(3, 300, size=count)]


def test_what_is_declared(architecture: str, backend: LlamaCppBackend) -> None:
    assert backend.rewind.kind == "snapshots"
    assert backend.rewind.depth == DEPTHS.get(architecture, 1)
    assert backend.device == "cpu"


def test_rows_tell_the_history(backend: LlamaCppBackend) -> None:
    """What the other tests rely on: a wrong token in the past shows in the rows, long after, and batches do not."""
    text = _text(40)
    rows = _one_by_one(backend, text)
    assert np.abs(backend.forward(text, 33) - rows[-33:]).max() < SAME
    backend.truncate(0)
    wrong = backend.forward([text[0] + 1, *text[1:]], 33)
    assert np.abs(wrong - rows[-33:]).max(axis=1)[:20].min() > 5 * SAME


@pytest.mark.parametrize("seed", range(2))
def test_back_to_anywhere_behind_the_mark(backend: LlamaCppBackend, seed: int) -> None:
    """Rounds of all sizes with right and wrong tokens in them, cut anywhere, also twice and at the mark itself."""
    dice, text = random.Random(seed), _text(260)
    rows = _one_by_one(backend, text)
    backend.forward(text[:3], 0)
    while backend.length < 210:
        place = backend.length
        backend.mark()
        right, wrong = dice.randint(0, 24), dice.randint(0, 8)
        fed = [*text[place : place + max(right, 1)], *(dice.randrange(3, 300) for _ in range(wrong))]
        if dice.random() < 0.3:
            for token in fed:
                backend.forward([token], 1)
        else:
            seen = backend.forward(fed, len(fed))
            assert np.abs(seen[: max(right, 1)] - rows[place : place + max(right, 1)]).max() < SAME
        kept = place + dice.randint(0, right) if right else place
        if dice.random() < 0.3:
            backend.truncate(dice.randint(kept, backend.length))
        backend.truncate(kept)
        assert list(backend.tokens) == text[:kept]


def test_snapshots_are_used_where_there_are_any(
    architecture: str, backend: LlamaCppBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    restored: list[int] = []
    restore = llama_cpp.llama_state_seq_set_data_ext

    def counted(*arguments: Any) -> int:
        restored.append(1)
        return int(restore(*arguments))

    monkeypatch.setattr(llama_cpp, "llama_state_seq_set_data_ext", counted)
    text = _text(200)
    rows = _one_by_one(backend, text)
    backend.forward(text[:2], 0)
    for _ in range(20):
        place = backend.length
        backend.mark()
        backend.forward([*text[place : place + 3], 7, 7], 5)
        backend.truncate(place + 3)
    assert np.abs(backend.forward(text[62:66], 4) - rows[62:66]).max() < SAME
    assert len(restored) == (0 if architecture in DEPTHS else 20)


def test_more_than_one_batch_behind_the_mark(backend: LlamaCppBackend) -> None:
    text = _text(420)
    rows = _one_by_one(backend, text)
    backend.forward(text[:140], 0)
    backend.mark()
    backend.forward([*text[140:390], 8, 8], 3)
    backend.truncate(391)
    backend.truncate(390)
    assert np.abs(backend.forward(text[390:400], 10) - rows[390:400]).max() < SAME


def test_no_way_back_before_the_saved_state(backend: LlamaCppBackend) -> None:
    text = _text(40)
    rows = _one_by_one(backend, text)
    backend.forward(text[:20], 0)
    with pytest.raises(RewindNotSupported):
        backend.truncate(10)
    # Nothing was changed by asking.
    assert np.abs(backend.forward(text[20:24], 4) - rows[20:24]).max() < SAME


def test_cancelled_in_the_middle(backend: LlamaCppBackend) -> None:
    text, cancel = _text(60), CancelToken()
    rows = _one_by_one(backend, text)
    backend.forward(text[:20], 0)
    backend.watch(cancel)
    for _ in range(3):
        place = backend.length
        backend.mark()
        backend.forward([*text[place : place + 2], 9], 3)
        backend.truncate(place + 2)
        backend.mark()
        cancel.cancel()
        with pytest.raises(Cancelled):
            backend.forward([*text[place + 2 : place + 4], 9], 3)
        cancel.clear()
        assert list(backend.tokens) == text[: place + 2]
    place = backend.length
    assert np.abs(backend.forward(text[place : place + 6], 6) - rows[place : place + 6]).max() < SAME


def test_state_that_cannot_be_restored(backend: LlamaCppBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then everything is fed again: slow, but right."""
    text = _text(60)
    rows = _one_by_one(backend, text)
    backend.forward(text[:20], 0)
    backend.mark()
    backend.forward([text[20]], 1)
    backend.forward([7], 1)
    monkeypatch.setattr(llama_cpp, "llama_state_seq_set_data_ext", lambda *_: 0)
    backend.truncate(21)
    assert np.abs(backend.forward(text[21:25], 4) - rows[21:25]).max() < SAME


@pytest.mark.parametrize("context_length", [8, 9, 10, 12, 33])
def test_tiny_contexts(target: Path, context_length: int) -> None:
    """llama.cpp asserts that a batch takes more tokens than there are snapshots."""
    backend = _open(target, context_length)
    try:
        text = _text(8)
        rows = _one_by_one(backend, text)
        backend.forward(text[:2], 0)
        backend.mark()
        backend.forward([*text[2:5], 9, 9], 5)
        backend.truncate(5)
        assert np.abs(backend.forward(text[5:8], 3) - rows[5:8]).max() < SAME
    finally:
        backend.close()


@pytest.fixture(scope="module")
def pair(target: Path, draft: Path) -> Iterator[SpeculativeDecoder]:
    with open_files(target, draft, threads=1) as decoder:
        yield decoder


def test_greedy_text_is_the_targets_own(architecture: str, pair: SpeculativeDecoder) -> None:
    assert pair.target is not None
    plain = pair.generate(PROMPT, lookahead=0, max_tokens=40)
    accepted = proposed = 0
    for lookahead in range(1, 33) if architecture in DEPTHS else (1, 3, 7, 32):
        seen = follow(pair, PROMPT, pair.stream(PROMPT, lookahead=lookahead, max_tokens=40))
        assert seen.result is not None
        assert_same_greedy(pair.target, PROMPT, plain, seen.result)
        accepted += seen.result.stats.accepted
        proposed += seen.result.stats.proposed
    assert 0.15 < accepted / proposed < 0.9


@pytest.fixture(scope="module")
def unlike_pair(architecture: str, folder: Path, target: Path) -> Iterator[SpeculativeDecoder]:
    path = folder / f"{architecture}-unlike.gguf"
    write_hybrid_model(path, architecture, SIZE, seed=SEED, noise=MORE_NOISE)
    with open_files(target, path, threads=1) as decoder:
        yield decoder


@pytest.mark.parametrize("lookahead", [2, 12, "adaptive", "auto"])
def test_drawn_text(unlike_pair: SpeculativeDecoder, lookahead: Any) -> None:
    drawn: dict[str, Any] = {"temperature": 0.8, "seed": 3, "max_tokens": 60, "lookahead": lookahead}
    seen = follow(unlike_pair, PROMPT, unlike_pair.stream(PROMPT, **drawn))
    assert seen.result is not None
    assert seen.result.stats.accepted > 0
    assert seen.result.stats.rejected > 0 or lookahead == "auto"


def test_state_behind_a_reply(unlike_pair: SpeculativeDecoder) -> None:
    """Target and draft alike: the next row is that of a fresh reading."""
    for lookahead in (3, 12):
        result = unlike_pair.generate(PROMPT, lookahead=lookahead, max_tokens=50, temperature=0.7, seed=5)
        assert result.stats.rejected > 0
        for backend in (unlike_pair.target, unlike_pair.draft):
            assert backend is not None
            held = [*PROMPT, *result.tokens][: backend.length]
            assert list(backend.tokens) == held
            following = [*result.tokens[-1:], 50, 51]
            rows = backend.forward(following, 3).copy()
            assert np.abs(rows - _one_by_one(backend, [*held, *following])[-3:]).max() < SAME
            backend.truncate(0)


def test_second_turn_that_parts_from_the_first(pair: SpeculativeDecoder) -> None:
    first = pair.generate(PROMPT, lookahead=4, max_tokens=30)
    parting = [*PROMPT, *first.tokens[:2], 60, 61]
    again = pair.generate(parting, lookahead=4, max_tokens=30)
    assert again.prompt_evaluated >= 2
    for backend in (pair.target, pair.draft):
        assert backend is not None
        backend.truncate(0)
    assert pair.generate(parting, lookahead=4, max_tokens=30).tokens == again.tokens


def test_state_larger_than_the_weights(folder: Path) -> None:
    """Copying it would cost more than a forward: one token is verified at a time, and the text is the target's."""
    size = replace(SIZE, state=512)
    names = {0.0: folder / "large-state.gguf", NOISE: folder / "large-state-disturbed.gguf"}
    for noise, path in names.items():
        write_hybrid_model(path, "mamba2", size, seed=SEED, noise=noise, kind="Q8_0")
    with open_files(*names.values(), threads=1) as decoder:
        assert decoder.target is not None
        assert decoder.target.rewind.kind == "none"
        plain = decoder.generate(PROMPT, lookahead=0, max_tokens=40)
        seen = follow(decoder, PROMPT, decoder.stream(PROMPT, lookahead=4, max_tokens=40))
        assert seen.result is not None
        assert_same_greedy(decoder.target, PROMPT, plain, seen.result)
        assert seen.result.stats.n1_fallbacks > 0
        assert 0 < seen.result.stats.accepted < seen.result.stats.proposed
        with pytest.raises(RewindNotSupported):
            decoder.target.truncate(5)
