"""A context that nobody chose grows with the chat: what was read is taken over, and the text is the same."""

from collections.abc import Sequence
from typing import Any

import pytest

from engine import CancelToken, ContextFull, LoadConfig, bundled_pair, load
from engine.loading.open import open_backend

TEXT = "Once upon a time there was a little dragon who lived in a cave beside the sea. "


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Open models with 128 tokens where nobody asks for more, as one of 128,000 is opened with 8,192."""
    monkeypatch.setattr("engine.formats.model_file.ModelFile.context_held", lambda _self, wanted=None: wanted or 128)


def test_what_was_read_is_taken_over(small: None) -> None:
    target, draft = bundled_pair()
    with load(target, draft) as decoder, load(target, draft, context_length=1024) as large:
        model: Any = decoder.target
        assert (model.context_length, model.context_grows) == (128, True)
        decoder.generate(TEXT * 4, max_tokens=16, raw=True, temperature=0)
        held, length = tuple(model.tokens), model.context_length
        prompt = [*held, *model.tokenizer.encode(TEXT * 6, add_special=False, parse_special=False)]
        read: list[int] = []
        forward = model.forward

        def counted(tokens: Sequence[int], n_outputs: int) -> Any:
            read.extend(tokens)
            return forward(tokens, n_outputs)

        model.forward = counted
        found = decoder.generate(prompt, max_tokens=16, temperature=0, lookahead=0)
        assert model.context_length > length
        assert decoder.draft is not None
        assert decoder.draft.context_length == model.context_length
        assert len(read) <= len(prompt) - len(held) + 16, "nothing is read again"
        assert found.tokens == large.generate(prompt, max_tokens=16, temperature=0, lookahead=0).tokens
        assert decoder.generate(prompt, max_tokens=16, temperature=0, lookahead=4).tokens == found.tokens


def test_a_context_that_was_chosen_or_is_the_largest_stays(small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    path = bundled_pair()[1]
    with load(path, context_length=128) as decoder, pytest.raises(ContextFull):
        decoder.generate(TEXT * 12, raw=True)
    backend = open_backend(LoadConfig(path))
    try:
        backend.watch(CancelToken())
        logits = backend.forward([1, 2, 3], 1).copy()
        assert backend.grow_context(256)
        assert (backend.context_length, list(backend.tokens)) == (256, [1, 2, 3])
        backend.truncate(2)
        assert (backend.forward([3], 1) == logits).all()
        with monkeypatch.context() as poor:
            poor.setattr("engine.backends.llama_cpp.backend.available_memory", lambda: 0)
            assert not backend.grow_context(512)
        assert backend.grow_context(10**9)
        assert not backend.grow_context(10**9), "it has all that it was trained for"
    finally:
        backend.close()
