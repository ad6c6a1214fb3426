"""Real models as folders of safetensors: transformers' own text, llama.cpp's pieces, and pairs of both backends."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.backends.base import Backend
from engine.cli.main import main
from engine.config import LoadConfig
from engine.decoder import SpeculativeDecoder
from engine.library.compat import judge_backends, vocabulary_of_backend
from engine.loaded import load
from engine.loading.open import open_backend
from helpers.decoding.invariants import check_counters, follow
from helpers.models.pairs import assert_same_greedy
from helpers.models.tiny_models import silence, torch, transformers
from helpers.paths import SHARED_MODELS

PROMPTS = ("Once upon a time", "The little dog", "Lily and Tom went")
LOOKAHEADS = (1, 2, 4, 8, 16, 32)
MODELS = {
    "stories260K": "any",
    "stories-draft43K": "any",
    "babyllama361": "any",
    "babyllama105as361": "any",
    "stories-mamba131K": "snapshots",
    "rwkv4-660K": "snapshots",
}
IN_BOTH_FORMS = {
    "stories260K": "stories260K-F32",
    "stories-draft43K": "stories-draft43K-F32",
    "stories-mamba131K": "stories-mamba131K-F32",
    "babyllama361": "babyllama361-F32",
    "babyllama105as361": "babyllama105as361-F32",
}
PAIRS = [
    ("stories260K", "stories-draft43K"),
    ("babyllama361", "babyllama105as361"),
    ("stories260K", "stories-mamba131K"),
    ("rwkv4-660K", "rwkv4-660K"),
    ("stories260K-F32.gguf", "stories-draft43K"),
    ("stories260K", "stories-draft43K-F32.gguf"),
    ("stories-mamba131K", "stories-draft43K-F32.gguf"),
    ("babyllama-byte256-F32.gguf", "rwkv4-660K"),
]
MORE_PAIRS = [
    ("stories-mamba131K", "stories-draft43K"),
    ("stories260K-Q8_0.gguf", "stories-mamba131K"),
    ("stories-mamba131K-F32.gguf", "stories-draft43K"),
    ("babyllama361-F32.gguf", "babyllama105as361"),
    ("babyllama361", "babyllama105as361-F32.gguf"),
    ("rwkv4-660K", "babyllama-byte256-F32.gguf"),
]
"""Target and draft: folders, or GGUF files. The rwkv4 model is hardly trained; its drafts are hardly ever right."""


def _path(name: str) -> Path:
    path = SHARED_MODELS / ("gguf" if name.endswith(".gguf") else "hf") / name
    if not path.exists():
        pytest.skip(f"no {name} among the test models")
    return path


def _open(name: str) -> Backend:
    return open_backend(LoadConfig(_path(name), threads=1, device="cpu", trusted=True))


def _encode(backend: Backend, text: str) -> list[int]:
    return backend.tokenizer.encode(text, add_special=True, parse_special=False)


@pytest.fixture(scope="module", params=MODELS)
def model(request: pytest.FixtureRequest) -> Iterator[Backend]:
    backend = _open(request.param)
    yield backend
    backend.close()


@pytest.fixture(
    scope="module",
    params=[*PAIRS, *(pytest.param(more, marks=pytest.mark.soak) for more in MORE_PAIRS)],
    ids=lambda pair: f"{pair[0]}-with-{pair[1]}",
)
def pair(request: pytest.FixtureRequest) -> Iterator[SpeculativeDecoder]:
    with SpeculativeDecoder() as decoder:
        decoder.attach_target(_open(request.param[0]))
        decoder.attach_draft(_open(request.param[1]))
        yield decoder


def test_what_a_folder_is(model: Backend) -> None:
    assert model.rewind.kind == MODELS[model.name]
    settings = json.loads((_path(model.name) / "config.json").read_text())
    assert model.vocab_size == settings["vocab_size"]
    assert model.eos_token_ids == {settings["eos_token_id"]}
    trained = settings.get("context_length", settings.get("max_position_embeddings", 4096))
    assert model.context_length == trained
    weights = sum(tensor.numel() for tensor in _library(model.name).parameters())
    assert (model.parameters, model.weight_bytes) == (weights, 4 * weights)
    assert model.device == "cpu"


def _library(name: str) -> Any:
    with silence():
        return transformers.AutoModelForCausalLM.from_pretrained(_path(name), dtype=torch.float32)


def test_plain_text_is_that_of_transformers(model: Backend) -> None:
    library = _library(model.name)
    with SpeculativeDecoder() as decoder:
        decoder.target = model
        for prompt in PROMPTS[:2]:
            tokens = _encode(model, prompt)
            with silence():
                written = library.generate(torch.tensor([tokens]), max_new_tokens=60, do_sample=False)
            result = decoder.generate(tokens, max_tokens=60)
            assert list(result.tokens) == written[0, len(tokens) :].tolist()
        decoder.target = None


def test_every_pair(pair: SpeculativeDecoder) -> None:
    """Token for token what the target writes alone, at every lookahead; the caches are checked after every round."""
    assert pair.target is not None
    tokens = _encode(pair.target, PROMPTS[0])
    plain = pair.generate(tokens, lookahead=0, max_tokens=40)
    for lookahead in (1, 5, 32):
        seen = follow(pair, tokens, pair.stream(tokens, lookahead=lookahead, max_tokens=40, overlap="off"))
        assert seen.result is not None
        assert seen.result.stats.proposed > 0
        assert assert_same_greedy(pair.target, tokens, plain, seen.result) > 0.5 * len(plain.tokens)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("prompt", PROMPTS)
def test_every_pair_at_length(pair: SpeculativeDecoder, prompt: str) -> None:
    assert pair.target is not None
    tokens = _encode(pair.target, prompt)
    plain = pair.generate(tokens, lookahead=0, max_tokens=240)
    for lookahead in (*LOOKAHEADS, "adaptive", "auto"):
        other = pair.generate(tokens, lookahead=lookahead, max_tokens=240)
        check_counters(other)
        assert_same_greedy(pair.target, tokens, plain, other)


@pytest.mark.parametrize("name", [name for name in IN_BOTH_FORMS if name != "babyllama105as361"])
def test_the_same_model_as_a_gguf_file(name: str) -> None:
    """The same ids for a text, the same bytes for every id, the same vocabulary, and rows alike."""
    folder, file = _open(name), _open(f"{IN_BOTH_FORMS[name]}.gguf")
    ours, theirs = folder.tokenizer, file.tokenizer
    for text in (*PROMPTS, "Hi \n<s>é", "", "  two", "日本 🙂", "<s></s>"):
        for options in ({"add_special": True, "parse_special": False}, {"add_special": False, "parse_special": True}):
            assert ours.encode(text, **options) == theirs.encode(text, **options)
    assert all(ours.piece(token) == theirs.piece(token) for token in range(folder.vocab_size))
    assert (ours.bos_token, ours.eos_token) == (theirs.bos_token, theirs.eos_token)
    assert vocabulary_of_backend(folder) == vocabulary_of_backend(file)
    for target, draft in ((folder, file), (file, folder)):
        assert judge_backends(target, draft).fits
    tokens = _encode(folder, "Once upon a time, there was")
    rows = folder.forward(tokens, 3), file.forward(tokens, 3)
    assert np.abs(rows[0] - rows[1]).max() < 1e-3 * rows[1].std()


@pytest.mark.parametrize("name", ["stories260K", "babyllama361"])
def test_the_same_text_as_from_a_gguf_file(name: str) -> None:
    texts = []
    for path in (_path(name), _path(f"{IN_BOTH_FORMS[name]}.gguf")):
        with load(LoadConfig(path, threads=1, trusted=True)) as decoder:
            texts.append([decoder.generate(prompt, raw=True, max_tokens=60).text for prompt in PROMPTS])
    assert texts[0] == texts[1]


def test_second_turn_reads_only_what_is_new() -> None:
    """An attention cache goes back to what two prompts share; a recurrent one goes on from where it is."""
    for name in ("stories260K", "stories-mamba131K"):
        with load(_path(name), threads=1) as decoder:
            assert decoder.target is not None
            prompt = _encode(decoder.target, "Once upon a time")
            first = decoder.generate(prompt, max_tokens=20)
            following = [*prompt, *first.tokens, 400, 401]
            second = decoder.generate(following, max_tokens=4)
            assert second.prompt_evaluated == 3
            fresh = decoder.generate([1, 410, 411], max_tokens=4)
            assert fresh.prompt_evaluated == (2 if name == "stories260K" else 3)


def test_drawn_text_repeats(pair: SpeculativeDecoder) -> None:
    assert pair.target is not None
    tokens = _encode(pair.target, PROMPTS[0])
    drawn = [pair.generate(tokens, temperature=0.9, seed=5, lookahead=4, max_tokens=12, overlap="off") for _ in "ab"]
    assert drawn[0].tokens == drawn[1].tokens


def test_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["generate", "--json", "--raw", "--max-tokens", "20", "--temperature", "0", "--device", "cpu"]
    models = ["--target", str(_path("stories260K")), "--draft", str(_path("stories-draft43K-F32.gguf"))]
    assert main([*command, *models, "Once upon a time"]) == 0
    reply = json.loads(capsys.readouterr().out)
    assert reply["text"].startswith(", there was a little girl")
    assert reply["stats"]["proposed"] > 0
    assert main([*command, "--target", str(_path("rwkv4-660K")), "--tokens", "65,66,67"]) == 0
    assert len(json.loads(capsys.readouterr().out)["tokens"]) > 0
    assert main([*command, "--target", str(SHARED_MODELS / "hf"), "x"]) == 2
    assert "no config.json" in capsys.readouterr().err


def test_long_prompt_in_pieces(shared_gguf: Callable[[str], Path]) -> None:
    """A prompt of several pieces gives the row that it gives at once."""
    shared_gguf("stories260K-F32")
    for name in ("stories260K", "stories-mamba131K", "rwkv4-660K"):
        backend = _open(name)
        tokens = [3 + (7 * index) % 250 for index in range(300)]
        backend.forward(tokens[:128], 0)
        backend.forward(tokens[128:256], 0)
        row = backend.forward(tokens[256:], 1)[0]
        with torch.inference_mode(), silence():
            expected = _library(name)(input_ids=torch.tensor([tokens])).logits[0, -1].numpy()
        assert np.abs(row - expected).max() < 1e-3 * expected.std()
