"""The recipe of the bundled demo pair, and the files that it made."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from demopair import corpus, export
from demopair.texts.grammar import Conversation
from demopair.training import tokenizer
from demopair.training.model import DemoLlama
from tokenizers import Tokenizer

from engine import bundled_pair
from engine.backends.llama_cpp.backend import LlamaCppBackend
from engine.config import LoadConfig
from engine.training.layers import ModelShape

SEED = 5
TEXTS = [
    "Hello world, I'm  here\n\n\tdef f(x):\n    return x**2",
    "😀 émoji ñ 日本語 שלום مرحبا",
    "   lots   of  space  \n \n x",
    "Can't WON'T 12345 3.14 a_b-c // 'tis",
    "\r\n<x> <|en d|>",
]


def drawn(seed: int, count: int) -> list[Conversation]:
    return list(itertools.islice(corpus.conversations(seed), count))


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Small sums are fastest, and repeat, on one thread."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def words() -> Tokenizer:
    return tokenizer.train_tokenizer(SEED, sample=1500)


def test_heldout_prompts_are_not_in_the_corpus() -> None:
    banned = corpus.heldout_prompts()
    for made in drawn(2026, 2500):
        assert not corpus.holds_banned(made, banned), made


def test_a_heldout_prompt_would_be_found() -> None:
    banned = frozenset({("tell me a joke about a dog",), ("hello", "and shorter")})
    alone = Conversation("x", (("user", "Tell me a joke, about a DOG!"), ("assistant", "…")))
    pair = Conversation("x", (("user", "One."), ("user", "hello"), ("assistant", "…"), ("user", "And shorter?")))
    free = Conversation("x", (("user", "hello"), ("assistant", "…"), ("user", "Go on"), ("user", "And shorter?")))
    assert corpus.holds_banned(alone, banned)
    assert corpus.holds_banned(pair, banned)
    assert not corpus.holds_banned(free, banned)


def random_model(tied: bool, scale: float = 3.0) -> DemoLlama:
    torch.manual_seed(SEED)
    model = DemoLlama(ModelShape(4096, 128, 2, 2, 1, 96, context=256, tied=tied))
    with torch.no_grad():
        for parameter in model.parameters():
            # Large weights spread the logits, so that a wrong export shows in them.
            parameter.mul_(scale if parameter.ndim == 2 else 1.0).add_(
                0.1 * torch.randn_like(parameter) * (parameter.ndim == 1)
            )
    return model.eval()


@pytest.mark.parametrize("tied", [True, False])
def test_an_exported_model_computes_the_same_in_llama_cpp(words: Tokenizer, tmp_path: Path, tied: bool) -> None:
    model = random_model(tied)
    path = tmp_path / "random.gguf"
    export.write_gguf(model, words, path, "Random", "A test", quantised=False)
    ids = torch.randint(6, 4096, (1, 30), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        wanted = model.logits(model(ids))[0].numpy()
    backend = LlamaCppBackend.open(LoadConfig(path, context_length=256))
    try:
        found = np.array(backend.forward(ids[0].tolist(), 30))
        for text in TEXTS:
            assert backend.tokenizer.encode(text, add_special=False, parse_special=False) == words.encode(text).ids
    finally:
        backend.close()
    assert wanted.std() > 0.5
    # llama.cpp keeps its cache in half precision.
    np.testing.assert_allclose(found, wanted, atol=0.02 * float(np.abs(wanted).max()))
    assert (found.argmax(axis=1) == wanted.argmax(axis=1)).mean() >= 0.96


def test_the_shipped_files_are_small_and_have_a_card() -> None:
    target, draft = bundled_pair()
    assert target.stat().st_size + draft.stat().st_size < 25_000_000
    card = (target.parent / "MODEL_CARD.md").read_text(encoding="utf-8")
    for category in corpus.CATEGORIES:
        assert category in card
