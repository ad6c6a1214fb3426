"""Greedy equality over all that can be combined: both backends, mixed, every source, overlap, recurrent models."""

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.config import CacheType, LoadConfig, Prompt
from engine.decoder import SpeculativeDecoder
from engine.events import GenerationResult
from engine.server.guard import Limits
from helpers.decoding.invariants import check_counters
from helpers.decoding.serving import NAME, posted, served
from helpers.heads.eagle import write_eagle3
from helpers.models.pairs import CLOSE, assert_same_greedy, held_out_prompts, open_files, open_shared
from helpers.models.published import GEMMA, QWEN, QWEN_DRAFT, SMOL, published
from helpers.paths import ROOT
from helpers.seldom import often

STARTS = (
    *("Once upon a time", "One day", "The little dog", "Lily and Tom went", "She was very happy because"),
    *("There was a big", "Mom said", "In the park", "The sun was", "A small bird", "He wanted to", "They played"),
    *("Tim had a red", "The cat", "It was raining", "At the beach", "The boy ran", "Her mom", "A long time ago"),
    *("Once", "The tree", "Sam and Ben", "I like", "The next day", "Dad came", "There was a boy", "Sara"),
    *("The ball", "We are", "Do you want"),
)
ST, ST_DRAFT, ST_MAMBA = (
    "gguf/stories260K-F32.gguf",
    "gguf/stories-draft43K-F32.gguf",
    "gguf/stories-mamba131K-F32.gguf",
)
HF_ST, HF_ST_DRAFT, HF_ST_MAMBA = "hf/stories260K", "hf/stories-draft43K", "hf/stories-mamba131K"
BABY, HF_BABY, HF_BABY_DRAFT = "gguf/babyllama361-F32.gguf", "hf/babyllama361", "hf/babyllama105as361"
BYTES, RWKV, HF_RWKV = "gguf/babyllama-byte256-F32.gguf", "gguf/rwkv5.2-730K-as-rwkv6-F32.gguf", "hf/rwkv4-660K"
BOTH = ("ngram", "draft-model")
WAYS: dict[str, tuple[str, str | None, dict[str, Any]]] = {
    "gguf": (ST, ST_DRAFT, {}),
    "gguf-overlap": (ST, ST_DRAFT, {"overlap": "on"}),
    "gguf-exact": (ST, ST_DRAFT, {"acceptance": "exact"}),
    "gguf-n1": (ST, ST_DRAFT, {"force_n1": True}),
    "gguf-confidence": (ST, ST_DRAFT, {"min_draft_confidence": 0.5, "overlap": "on"}),
    "gguf-penalties": (ST, ST_DRAFT, {"repeat_penalty": 1.2, "frequency_penalty": 0.2, "overlap": "on"}),
    "quantised-target": ("gguf/stories260K-Q8_0.gguf", ST_DRAFT, {"overlap": "on"}),
    "quantised-draft": (ST, "gguf/stories260K-Q8_0.gguf", {}),
    "quantised-both": ("gguf/stories260K-Q4_0.gguf", ST_DRAFT, {}),
    "larger-draft": (ST, "gguf/stories260K-4layers-F32.gguf", {}),
    "babyllama": (BABY, "gguf/babyllama105as361-F32.gguf", {}),
    "safetensors": (HF_ST, HF_ST_DRAFT, {}),
    "safetensors-overlap": (HF_ST, HF_ST_DRAFT, {"overlap": "on"}),
    "safetensors-babyllama": (HF_BABY, HF_BABY_DRAFT, {}),
    "gguf-with-safetensors": (ST, HF_ST_DRAFT, {}),
    "gguf-with-safetensors-overlap": (ST, HF_ST_DRAFT, {"overlap": "on"}),
    "safetensors-with-gguf": (HF_ST, ST_DRAFT, {}),
    "ngram": (ST, None, {"method": "ngram"}),
    "ngram-safetensors": (HF_BABY, None, {"method": "ngram"}),
    "ngram-recurrent": (ST_MAMBA, None, {"method": "ngram"}),
    "ngram-before-draft": (ST, ST_DRAFT, {"sources": BOTH}),
    "ngram-before-draft-overlap": (BABY, "gguf/babyllama105as361-F32.gguf", {"sources": BOTH, "overlap": "on"}),
    "ngram-before-draft-safetensors": (HF_ST, HF_ST_DRAFT, {"sources": BOTH}),
    "other-tokenizer": (ST, BABY, {}),
    "other-tokenizer-back": (BABY, ST, {}),
    "other-tokenizer-mixed": (HF_ST, BABY, {}),
    "other-tokenizer-ngram": (ST, BABY, {"sources": BOTH}),
    "recurrent-target": (ST_MAMBA, ST_DRAFT, {}),
    "recurrent-target-n1": (ST_MAMBA, ST_DRAFT, {"force_n1": True}),
    "recurrent-target-ngram": (ST_MAMBA, ST_DRAFT, {"sources": BOTH}),
    "recurrent-target-safetensors": (HF_ST_MAMBA, HF_ST_DRAFT, {}),
    "recurrent-target-safetensors-n1": (HF_ST_MAMBA, HF_ST_DRAFT, {"force_n1": True}),
    "recurrent-draft": (ST, ST_MAMBA, {"overlap": "on"}),
    "recurrent-draft-safetensors": (HF_ST, HF_ST_MAMBA, {}),
    "recurrent-draft-mixed": (ST, HF_ST_MAMBA, {}),
    "rwkv-target": (RWKV, BYTES, {"overlap": "on"}),
    "rwkv-draft": (BYTES, RWKV, {}),
    "rwkv7-target": ("gguf/rwkv7-834K-F32.gguf", BYTES, {}),
    "rwkv-draft-safetensors": (BYTES, HF_RWKV, {}),
    "rwkv-target-safetensors": (HF_RWKV, BYTES, {}),
}
TOKENS, FEWER = 60, 36
OFTEN = (
    *("gguf", "babyllama", "quantised-both", "recurrent-target", "rwkv-draft", "rwkv7-target"),
    *("gguf-overlap", "gguf-exact", "gguf-n1", "gguf-confidence", "gguf-penalties", "safetensors-overlap", "ngram"),
    *("safetensors-with-gguf", "ngram-before-draft-overlap", "other-tokenizer", "other-tokenizer-ngram"),
    *("recurrent-target-n1", "recurrent-draft", "rwkv-target", "rwkv-target-safetensors"),
)
"""One of each kind, and each option of the loop; the others differ by a model."""


def _opened(shared_models: Path, name: str | None) -> LoadConfig | None:
    if name is None:
        return None
    path = shared_models / name
    if not path.exists():
        pytest.skip(f"no {path.name} among the test models")
    if name.startswith("hf/") and importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")
    return LoadConfig(path, threads=1, trusted=True)


@pytest.fixture
def way(request: pytest.FixtureRequest, shared_models: Path) -> Iterator[tuple[str, SpeculativeDecoder]]:
    target, draft, _ = WAYS[request.param]
    configs = _opened(shared_models, target), _opened(shared_models, draft)
    assert configs[0] is not None
    with SpeculativeDecoder() as decoder:
        decoder.attach_target(configs[0])
        decoder.attach_draft(configs[1])
        yield request.param, decoder


def _compare(
    name: str, decoder: SpeculativeDecoder, starts: tuple[str, ...], step: int, most: int = TOKENS
) -> list[GenerationResult]:
    """Each start with one in `step` of the lookaheads from 1 to 32, other ones for each start."""
    assert decoder.target is not None
    options = WAYS[name][2]
    sampling = {key: value for key, value in options.items() if "penalty" in key}
    replies: list[GenerationResult] = []
    for number, start in enumerate(starts):
        tokens = decoder.target.tokenizer.encode(start, add_special=True, parse_special=False)
        plain = decoder.generate(tokens, method="autoregressive", max_tokens=most, **sampling)
        for lookahead in range(1 + number % step, 33, step):
            reply = decoder.generate(tokens, lookahead=lookahead, max_tokens=most, **options)
            check_counters(reply)
            assert_same_greedy(decoder.target, tokens, plain, reply)
            replies.append(reply)
    return replies


def _check_done(name: str, replies: list[GenerationResult]) -> None:
    """What the way is about did happen."""
    overlap, one = WAYS[name][2].get("overlap") == "on", WAYS[name][2].get("force_n1", False)
    assert sum(reply.stats.proposed for reply in replies) > 0
    can_overlap = overlap and name != "recurrent-draft"
    assert (sum(reply.stats.overlapped_rounds for reply in replies) > 0) is can_overlap
    if one:
        assert sum(reply.stats.n1_fallbacks for reply in replies) > 0
    if "ngram-before-draft" in name:
        methods = {method.name for reply in replies for method in reply.stats.by_method if method.accepted}
        assert {"ngram", "draft-model"} <= methods


@pytest.mark.parametrize("way", often(WAYS, *OFTEN), indirect=True)
def test_one_start(way: tuple[str, SpeculativeDecoder]) -> None:
    name, decoder = way
    starts = STARTS[:1] if "ngram" not in name else ("The dog ran to the dog and the dog ran to the",)
    _check_done(name, _compare(name, decoder, starts, 11, FEWER))


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("way", WAYS, indirect=True)
def test_thirty_starts(way: tuple[str, SpeculativeDecoder]) -> None:
    name, decoder = way
    replies = _compare(name, decoder, STARTS, 8)
    assert len(replies) == 30 * 4


def _compare_chat(decoder: SpeculativeDecoder, prompts: list[Prompt], lookaheads: tuple[int, ...], most: int) -> None:
    assert decoder.target is not None
    for prompt in prompts:
        plain = decoder.generate(prompt, lookahead=0, max_tokens=most)
        tokens = list(decoder.target.tokens)[: plain.prompt_tokens]
        assert len(tokens) == plain.prompt_tokens
        for lookahead in lookaheads:
            other = decoder.generate(prompt, lookahead=lookahead, max_tokens=most)
            check_counters(other)
            assert_same_greedy(decoder.target, tokens, plain, other)


def test_bundled_pair(bundled_target: Path, bundled_draft: Path) -> None:
    with open_files(bundled_target, bundled_draft, threads=1) as decoder:
        _compare_chat(decoder, held_out_prompts(4), (1, 4, 32), most=80)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_bundled_pair_with_fifty_prompts(bundled_target: Path, bundled_draft: Path) -> None:
    prompts = held_out_prompts(50)
    assert len({str(prompt) for prompt in prompts}) == 50
    with open_files(bundled_target, bundled_draft, threads=1) as decoder:
        _compare_chat(decoder, prompts, (1, 2, 4, 8, 16, 32), most=200)


def test_the_excuse_needs_a_gap(shared_gguf: Callable[[str], Path]) -> None:
    """Two replies that differ where the target is sure are not excused."""
    shared_gguf("stories260K-F32")
    with open_shared("stories260K-F32", None) as decoder:
        assert decoder.target is not None
        tokens = decoder.target.tokenizer.encode(STARTS[0], add_special=True, parse_special=False)
        plain = decoder.generate(tokens, max_tokens=12)
        drawn = decoder.generate(tokens, max_tokens=12, temperature=3.0, seed=1)
        assert plain.tokens != drawn.tokens
        with pytest.raises(AssertionError, match="gap"):
            assert_same_greedy(decoder.target, tokens, plain, drawn)
        assert CLOSE == 1e-3


@pytest.mark.soak
@pytest.mark.parametrize("name", [QWEN, GEMMA])
def test_siblings_of_a_published_tree_have_their_own_rows(name: str) -> None:
    """The target gives the same row behind a sibling of a tree as there alone, to the bit.

    A last bit is enough for half a logit: what comes of it is rounded to bytes in every layer.
    """
    with SpeculativeDecoder() as decoder:
        decoder.attach_target(LoadConfig(published(name)[0], 1024))
        target = decoder.target
        assert target is not None
        if target.row_difference != 0.0:
            pytest.skip("the rows of this build depend on the batch")
        text = target.tokenizer.encode(" ".join(STARTS), add_special=False, parse_special=False)
        for length in range(33, 75, 3):  # Past the first block, in which the maximum is found.
            target.truncate(0)
            target.forward(text[:length], 0)
            chain = text[length : length + 3]
            alone = target.forward([*chain[:2], 9], 3)[-1].copy()
            target.truncate(length)
            tree = target.forward_tree([*chain, 9], [-1, 0, 1, 1]).copy()
            target.keep_path([])
            assert np.array_equal(tree[-1], alone), length


@pytest.mark.soak
def test_trees_of_a_published_pair() -> None:
    prompts = ("Explain how a bicycle stays upright.", "Write a letter to a friend about moving to Norway.")
    with open_files(*published(QWEN, QWEN_DRAFT)) as decoder:
        for prompt in prompts:
            plain = decoder.generate(prompt, temperature=0.0, max_tokens=96, lookahead=0)
            for tree in ("3x3", "4x2", "auto"):
                drafted = decoder.generate(prompt, temperature=0.0, max_tokens=96, tree=tree, method="draft-model")
                assert drafted.tokens == plain.tokens, (prompt, tree)


_LONG = {"pair": (QWEN, QWEN_DRAFT, 10_000), "heads": (SMOL, SMOL, 7_900)}
"""Target, draft, and tokens of the prompt. Heads are made for a model whose layers can be seen."""
_LONG_WAYS: tuple[dict[str, Any], ...] = (
    {"method": "ngram", "lookahead": 4},
    {"method": "draft-model", "lookahead": 4},
    {"method": "draft-model", "tree": "3x3"},
    {"method": "draft-model", "tree": "4x2", "lookahead": 2},
    {"sources": BOTH, "lookahead": 3, "overlap": "on"},
    {"sources": BOTH, "lookahead": "auto"},
)


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("cache_type", ["f16", "q8_0"])
@pytest.mark.parametrize("name", _LONG)
def test_a_long_document(name: str, cache_type: CacheType, tmp_path: Path) -> None:
    """Every source, and the server, behind a prompt that fills a book's chapter: the same text to the last token."""
    target, draft, length = _LONG[name]
    pages = "\n\n".join(path.read_text("utf-8") for path in sorted((ROOT / "docs").glob("*.md")))
    paths = published(target, draft)
    with open_files(*paths, context_length=length + 256, cache_type=cache_type) as decoder:
        assert decoder.target is not None
        tokenizer = decoder.target.tokenizer
        tokens = tokenizer.encode(pages, add_special=False, parse_special=False)[: length - 60]
        text = decoder.decode(tokens)
        prompt = [{"role": "user", "content": f"{text}\n\nWrite the last ten lines of this text again, then go on."}]
        asked: dict[str, Any] = {"temperature": 0.0, "max_tokens": 96}
        plain = decoder.generate(prompt, lookahead=0, **asked)
        assert plain.prompt_tokens > length - 100
        assert plain.dropped_turns == 0
        for way in _LONG_WAYS:
            reply = decoder.generate(prompt, **asked, **way)
            assert reply.stats.proposed > 0, way
            assert reply.tokens == plain.tokens, way
        if name == "heads":
            head = write_eagle3(tmp_path / "head.gguf", paths[0])
            decoder.attach_heads(head)
            for way in ({"lookahead": 3}, {"tree": "3x3"}):
                reply = decoder.generate(prompt, method="eagle3", **asked, **way)
                assert reply.stats.proposed > 0, way
                assert reply.tokens == plain.tokens, way
        with served(decoder, Limits()) as url:
            status, answer = posted(url, "/v1/chat/completions", {"model": NAME, "messages": prompt, **asked})
        assert status == 200
        assert answer["choices"][0]["message"]["content"] == plain.content
