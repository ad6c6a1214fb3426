"""The recipe of the bundled demo pair, and the files that it made."""

import importlib.resources
import itertools
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from demopair import corpus, export
from demopair.texts.grammar import Conversation
from demopair.training import batches, grow, tokenizer, train
from demopair.training.model import DRAFT_SHAPE, TARGET_SHAPE, DemoLlama
from tokenizers import Tokenizer
from torch.nn import functional

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


@pytest.fixture(scope="module")
def heldout() -> list[dict[str, object]]:
    entries: list[dict[str, object]] = json.loads(corpus.HELDOUT.read_text(encoding="utf-8"))
    return entries


def test_the_corpus_repeats_with_its_seed() -> None:
    assert drawn(SEED, 300) == drawn(SEED, 300)
    assert drawn(SEED, 300) != drawn(SEED + 1, 300)


def test_every_category_is_in_the_corpus() -> None:
    found = Counter(made.category for made in drawn(SEED, 1500))
    for category in corpus.CATEGORIES:
        assert found[category] > 50, category


def test_replies_differ() -> None:
    replies = [made.messages[-1][1] for made in drawn(SEED, 1500)]
    assert len(set(replies)) > 0.75 * len(replies)


def test_heldout_prompts_cover_every_category(heldout: list[dict[str, object]]) -> None:
    found = Counter(str(entry["category"]) for entry in heldout)
    assert sum(found.values()) >= 60
    assert set(found) == set(corpus.CATEGORIES)
    assert min(found.values()) >= 7


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


def test_only_replies_are_learned(words: Tokenizer) -> None:
    made = Conversation("x", (("system", "Be kind."), ("user", "Hello there"), ("assistant", "Hi, you!")))
    ids, learn = batches.encode(words, made)
    learned = [token for token, wanted in zip(ids, learn, strict=True) if wanted]
    end = words.token_to_id(tokenizer.END)
    assert learned == [*words.encode("Hi, you!").ids, end]


def test_a_batch_pairs_each_position_with_the_token_after_it(words: Tokenizer) -> None:
    batch = next(batches.batches(words, SEED, 1024, 0.0))
    flat = batch.ids.reshape(-1)
    assert torch.equal(flat[batch.picked + 1], batch.labels)
    assert tokenizer.special_ids(words)[tokenizer.PAD] not in flat[batch.picked].tolist()


@pytest.mark.soak
def test_a_short_training_lowers_the_loss_and_repeats(words: Tokenizer, tmp_path: Path) -> None:
    shape = ModelShape(4096, 64, 1, 1, 1, 96, tied=True)
    config = train.TrainConfig(steps=40, seed=SEED, tokens=256, warmup=5)
    models = [train.train(shape, words, config, tmp_path / name) for name in ("one", "two")]
    logs = [(tmp_path / name / "train.jsonl").read_text(encoding="utf-8").splitlines() for name in ("one", "two")]
    losses = [[json.loads(line)["loss"] for line in log] for log in logs]
    assert losses[0] == losses[1]
    assert losses[0][-1] < losses[0][0] < 9
    stored = train.load(tmp_path / "two")
    assert torch.equal(stored.embed.weight, models[1].embed.weight)


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


def test_a_transformers_folder_computes_the_same(words: Tokenizer, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    # Its bar would leave a thread behind.
    transformers.utils.logging.disable_progress_bar()
    model = random_model(tied=True)
    export.write_transformers(model, words, tmp_path)
    other = transformers.AutoModelForCausalLM.from_pretrained(tmp_path)
    ids = torch.randint(6, 4096, (1, 30), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        assert torch.allclose(other(ids).logits, model.logits(model(ids)), atol=1e-4)
    encoder = transformers.AutoTokenizer.from_pretrained(tmp_path)
    text = encoder.apply_chat_template([{"role": "user", "content": "Hi"}], add_generation_prompt=True, tokenize=False)
    assert text == "<|begin|><|user|>Hi<|end|><|assistant|>"


def test_the_draft_has_at_most_a_tenth_of_the_parameters() -> None:
    target, draft = DemoLlama(TARGET_SHAPE).parameter_count(), DemoLlama(DRAFT_SHAPE).parameter_count()
    assert 8_000_000 <= target <= 20_000_000
    assert draft * 10 <= target


def test_the_shipped_files_are_small_and_have_a_card() -> None:
    target, draft = bundled_pair()
    assert target.stat().st_size + draft.stat().st_size < 25_000_000
    card = (target.parent / "MODEL_CARD.md").read_text(encoding="utf-8")
    for category in corpus.CATEGORIES:
        assert category in card


def test_there_are_ten_starter_prompts() -> None:
    text = importlib.resources.files("resources").joinpath("starter_prompts.json").read_text(encoding="utf-8")
    starters = json.loads(text)
    assert len(starters) == 10
    assert len({starter["prompt"] for starter in starters}) == 10
    assert all(starter["title"] and len(starter["title"]) < 30 for starter in starters)


def test_a_grown_model_begins_where_the_small_one_stood(words: Tokenizer) -> None:
    small = random_model(tied=True, scale=1.0)
    large = grow.grow(small, ModelShape(4096, 384, 4, 6, 3, 192, context=256), SEED)
    text = torch.tensor([words.encode("Tell me a story about a shy dragon, please, and make it short.").ids])
    with torch.no_grad():
        before, after = (functional.log_softmax(m.logits(m(text)), dim=-1) for m in (small, large))
    assert (before.argmax(-1) == after.argmax(-1)).float().mean() > 0.8
    assert float((before.exp() * (before - after)).sum(-1).mean()) < 0.05
    with pytest.raises(ValueError, match="ratio"):
        grow.grow(small, ModelShape(4096, 384, 4, 6, 6, 192), SEED)
