"""What the transformers backend remembers, against reading everything anew without a cache: every kind of memory."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.backends.base import Backend
from engine.cancel import CancelToken
from engine.decoder import SpeculativeDecoder
from engine.errors import BackendFailure, Cancelled, ContextFull, RewindNotSupported, TokenOutOfRange
from engine.loading.source import Source
from engine.methods import DRAFT_MODEL
from helpers.decoding.invariants import follow
from helpers.models.tiny_models import (
    POSITIONS,
    VOCABULARY,
    WINDOW,
    open_folder,
    rows_without_cache,
    silence,
    some_tokens,
    tiny_model,
    torch,
    write_tiny,
)

REWINDS = {
    **dict.fromkeys(("llama", "mistral", "gemma2", "gemma3_text", "gpt2", "falcon", "mixtral", "openai-gpt"), "any"),
    **dict.fromkeys(("mamba", "jamba", "falcon_h1", "bamba", "rwkv"), "snapshots"),
}
CLOSE = 1e-3
"""Of a row's standard deviation: what another order of the same sums may change."""

Opened = tuple[Backend, Any]


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Opened]:
    """A backend of each kind and transformers' own model with the same weights, made once."""
    known: dict[str, Opened] = {}

    def of_kind(kind: str) -> Opened:
        if kind not in known:
            folder = write_tiny(tmp_path_factory.mktemp(kind) / kind, kind)
            known[kind] = open_folder(folder), tiny_model(kind)
        backend, model = known[kind]
        backend.watch(None)
        backend.truncate(0)
        return backend, model

    return of_kind


def _check(rows: np.ndarray[Any, Any], model: Any, tokens: list[int]) -> None:
    expected = rows_without_cache(model, tokens)[len(tokens) - len(rows) :]
    assert np.abs(rows - expected).max() < CLOSE * expected.std()


@pytest.mark.parametrize("kind", REWINDS)
def test_rows_after_going_back_are_those_of_a_fresh_reading(opened: Callable[[str], Opened], kind: str) -> None:
    backend, model = opened(kind)
    assert backend.rewind.kind == REWINDS[kind]
    assert backend.vocab_size == VOCABULARY
    rng = random.Random(1)
    held = some_tokens(rng, WINDOW + 3)
    backend.forward(held, 0)
    for _ in range(8):
        backend.mark()
        fed = some_tokens(rng, rng.randrange(1, 6))
        _check(backend.forward(fed, len(fed)), model, [*held, *fed])
        held += fed
        del held[len(held) - rng.randrange(len(fed) + 1) :]
        backend.truncate(len(held))
        assert list(backend.tokens) == held
    backend.truncate(0)
    _check(backend.forward(held, 3), model, held)


@pytest.mark.parametrize("kind", ["llama", "mistral", "gemma2", "gemma3_text"])
def test_attention_goes_back_to_any_length(opened: Callable[[str], Opened], kind: str) -> None:
    """Further back than any window, and than the first buffer holds."""
    backend, model = opened(kind)
    tokens = some_tokens(random.Random(2), 60)
    backend.forward(tokens, 0)
    for length in (50, 3 * WINDOW, WINDOW, 2):
        backend.truncate(length)
        _check(backend.forward([5, 6, 7, 8], 4), model, [*tokens[:length], 5, 6, 7, 8])
        backend.truncate(length)


@pytest.mark.parametrize("kind", ["mamba", "falcon_h1", "rwkv"])
def test_a_recurrent_state_goes_back_to_its_mark(opened: Callable[[str], Opened], kind: str) -> None:
    backend, model = opened(kind)
    tokens = some_tokens(random.Random(3), 12)
    backend.forward(tokens, 0)
    with pytest.raises(RewindNotSupported):
        backend.truncate(5)
    assert backend.length == 12
    backend.mark()
    backend.forward([5, 6, 7], 3)
    backend.truncate(13)
    backend.truncate(12)
    _check(backend.forward([8, 9], 2), model, [*tokens, 8, 9])
    with pytest.raises(RewindNotSupported):
        backend.truncate(11)


@pytest.mark.parametrize("kind", ["falcon_h1", "rwkv"])
def test_many_rounds_without_a_new_state(opened: Callable[[str], Opened], kind: str) -> None:
    """What was accepted is replayed with the next tokens, round after round, and laid down before it gets long."""
    backend, model = opened(kind)
    held = some_tokens(random.Random(4), 4)
    backend.forward(held, 0)
    for _ in range(18):
        backend.mark()
        _check(backend.forward([7, 8, 9], 3), model, [*held, 7, 8, 9])
        held.append(7)
        backend.truncate(len(held))
    assert len(held) == 22


@pytest.mark.parametrize("kind", ["llama", "gemma3_text", "gpt2", "mamba", "falcon_h1", "rwkv"])
def test_plain_decoding_is_that_of_transformers(opened: Callable[[str], Opened], kind: str) -> None:
    backend, model = opened(kind)
    prompt = some_tokens(random.Random(5), 9)
    with silence():
        written = model.generate(
            torch.tensor([prompt]),
            attention_mask=torch.ones(1, 9, dtype=torch.long),
            max_new_tokens=20,
            do_sample=False,
        )
    with SpeculativeDecoder() as decoder:
        decoder.attach_target(backend)
        result = decoder.generate(prompt, max_tokens=20)
        decoder.target = None
    assert list(result.tokens) == written[0, 9:].tolist()


@pytest.mark.parametrize("kind", ["mistral", "mamba", "falcon_h1", "rwkv"])
@pytest.mark.parametrize(
    "seed", [pytest.param(0, id="accepted", marks=pytest.mark.soak), pytest.param(1, id="rejected")]
)
def test_speculative_decoding_is_plain_decoding(
    opened: Callable[[str], Opened], tmp_path: Path, kind: str, seed: int
) -> None:
    """The caches are checked after every round. A draft of the same weights is always right, one of others hardly."""
    target, _ = opened(kind)
    prompt = some_tokens(random.Random(6), 9)
    with SpeculativeDecoder() as decoder:
        decoder.attach_target(target)
        # Put there unjudged: without a tokenizer no text tells that the two have one vocabulary.
        decoder.sources = (Source(DRAFT_MODEL, open_folder(write_tiny(tmp_path / kind, kind, seed))),)
        plain = decoder.generate(prompt, lookahead=0, max_tokens=24)
        for lookahead in (1, 5):
            seen = follow(decoder, prompt, decoder.stream(prompt, lookahead=lookahead, max_tokens=24, overlap="off"))
            assert seen.result is not None
            assert seen.result.tokens == plain.tokens
            assert (seen.result.stats.acceptance_rate > 0.95) == (seed == 0)
        decoder.target = None


def test_limits(opened: Callable[[str], Opened]) -> None:
    backend, _ = opened("gpt2")
    assert backend.context_length == POSITIONS
    assert backend.eos_token_ids == {2}
    assert (backend.device, backend.threads) == ("cpu", 1)
    assert backend.parameters > 0
    assert backend.weight_bytes == 4 * backend.parameters
    backend.forward([5] * (POSITIONS - 1), 0)
    with pytest.raises(ContextFull):
        backend.forward([5, 5], 1)
    with pytest.raises(TokenOutOfRange):
        backend.forward([VOCABULARY], 1)
    with pytest.raises(BackendFailure, match="2 rows of logits were requested for 1 tokens"):
        backend.forward([5], 2)
    assert backend.length == POSITIONS - 1
    assert backend.forward([5], 1).shape == (1, VOCABULARY)


@pytest.mark.parametrize(
    ("kind", "wanted", "length"), [("llama", 64, 64), ("llama", 512, POSITIONS), ("mamba", 512, 512)]
)
def test_context_length(tmp_path: Path, kind: str, wanted: int, length: int) -> None:
    """What is asked for, but never more than the model was made for; recurrent models have no limit of their own."""
    backend = open_folder(write_tiny(tmp_path / kind, kind), context_length=wanted)
    assert backend.context_length == length


class _AfterSomeLayers(CancelToken):
    """A token that asks for a stop when it has been looked at a few times."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        self._looks = looks

    def check(self, what: str = "The request") -> None:
        self._looks -= 1
        if self._looks < 0:
            self.cancel()
        super().check(what)


@pytest.mark.parametrize(("kind", "kept"), [("llama", True), ("mistral", True), ("mamba", False), ("falcon_h1", False)])
def test_a_long_forward_can_be_given_up(opened: Callable[[str], Opened], kind: str, kept: bool) -> None:
    backend, model = opened(kind)
    held = some_tokens(random.Random(7), 8)
    backend.forward(held, 0)
    backend.watch(_AfterSomeLayers(1))
    with pytest.raises(Cancelled):
        backend.forward([5] * 40, 0)
    backend.watch(None)
    assert list(backend.tokens) == (held if kept else [])
    _check(backend.forward([6, 7], 2), model, [*(held if kept else []), 6, 7])


@pytest.mark.parametrize("kind", ["llama", "mistral", "rwkv", "falcon_h1"])
def test_after_an_error_the_cache_is_as_before_or_empty(opened: Callable[[str], Opened], kind: str) -> None:
    backend, model = opened(kind)
    held = some_tokens(random.Random(8), 8)
    backend.forward(held, 0)
    inside: Any = backend
    layers = max((m for m in inside._model.modules() if isinstance(m, torch.nn.ModuleList)), key=len)

    def fail(_layer: object, _inputs: object) -> None:
        raise RuntimeError("something broke\nin a layer")

    hook = layers[1].register_forward_pre_hook(fail)
    with pytest.raises(BackendFailure, match="at position 8: something broke in a layer") as caught:
        backend.forward([5, 6], 1)
    hook.remove()
    assert caught.value.position == 8
    assert list(backend.tokens) == (held if backend.rewind.kind == "any" else [])
    left = list(backend.tokens)
    _check(backend.forward([6, 7], 2), model, [*left, 6, 7])
    backend.truncate(0)
    backend.forward(held, 0)
    backend.mark()
    hook = layers[1].register_forward_pre_hook(fail)
    with pytest.raises(BackendFailure):
        backend.forward([5, 6], 2)
    hook.remove()
    assert list(backend.tokens) == held
    _check(backend.forward([6, 7], 2), model, [*held, 6, 7])


def test_closed(tmp_path: Path) -> None:
    backend = open_folder(write_tiny(tmp_path / "llama", "llama"))
    backend.close()
    backend.close()
    for action in (lambda: backend.forward([5], 1), lambda: backend.truncate(0), backend.mark):
        with pytest.raises(BackendFailure, match="closed"):
            action()


def test_number_of_threads_is_put_back(opened: Callable[[str], Opened]) -> None:
    backend, _ = opened("llama")
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        backend.forward([5], 1)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
