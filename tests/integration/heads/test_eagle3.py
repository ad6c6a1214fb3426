"""Draft heads on real targets: the text is the target's, one pass a round, and what they propose is what papers say."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.config import LoadConfig
from engine.decoder import SpeculativeDecoder
from engine.errors import BackendClosed, ModelFileBroken, ModelNotLoaded, ModelNotSupported
from helpers.heads.eagle import write_eagle3
from helpers.heads.eagle_reference import EagleReference
from helpers.heads.replies import PROMPT, compare_proposals, follow_heads, open_with_heads
from helpers.models.gguf_writer import GgufDraft


@pytest.fixture(scope="module")
def head(folder: Path, target: Path) -> Path:
    return write_eagle3(folder / "head.gguf", target)


@pytest.fixture
def decoder(target: Path, head: Path) -> Iterator[SpeculativeDecoder]:
    with open_with_heads(target, head) as opened:
        yield opened


@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_a_vocabulary_that_is_banned(target: Path, folder: Path, temperature: float) -> None:
    """Where nothing of the draft's own vocabulary may come, nothing is proposed, and the reply goes on."""
    path = write_eagle3(folder / "few.gguf", target, kept=5)
    banned = EagleReference(path).tensors["d2t"].astype(int).tolist()
    options: dict[str, Any] = {"temperature": temperature, "seed": 4, "max_tokens": 20, "banned_tokens": banned}
    with open_with_heads(target, path) as decoder:
        plain = decoder.generate(PROMPT, lookahead=0, **options)
        result = decoder.generate(PROMPT, method="eagle3", **options)
    assert result.tokens == plain.tokens
    assert result.stats.proposed == 0


def test_loaded_heads_need_no_method(decoder: SpeculativeDecoder) -> None:
    """The method `auto` takes them, with a lookahead by what is measured, or a fixed one where a seed is to repeat."""
    plain = decoder.generate(PROMPT, temperature=0.0, max_tokens=60, lookahead=0)
    result = decoder.generate(PROMPT, temperature=0.0, max_tokens=60)
    assert (result.tokens, result.method, result.lookahead) == (plain.tokens, "eagle3", "auto")
    first, second = (decoder.generate(PROMPT, temperature=0.8, seed=3, max_tokens=30) for _ in range(2))
    assert first.tokens == second.tokens
    assert (first.lookahead, first.stats.by_method[0].name) == (4, "eagle3")


def test_a_long_prompt(decoder: SpeculativeDecoder, head: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read in several pieces, by the head too."""
    prompt = [1, *np.random.default_rng(3).integers(260, 320, 180).tolist()]
    plain = decoder.generate(prompt, temperature=0.0, max_tokens=20, lookahead=0)
    assert follow_heads(decoder, prompt, lookahead=3, max_tokens=20).tokens == plain.tokens
    compared, behind = compare_proposals(decoder, EagleReference(head).chain, monkeypatch, prompt, max_tokens=20)
    assert compared > 5
    assert behind > 0


@pytest.mark.parametrize(
    "options",
    [
        {"method": "eagle3", "lookahead": "auto"},
        {"method": "eagle3", "lookahead": "adaptive"},
        {"sources": ["ngram", "eagle3"]},
    ],
)
def test_other_ways_to_speculate(decoder: SpeculativeDecoder, options: dict[str, Any]) -> None:
    plain = decoder.generate(PROMPT, temperature=0.0, max_tokens=100, lookahead=0)
    result = decoder.generate(PROMPT, temperature=0.0, max_tokens=100, **options)
    assert result.tokens == plain.tokens


def test_nobody_pays_who_does_not_ask(decoder: SpeculativeDecoder) -> None:
    """Without heads in the plan the target shows nothing, and the head computes nothing."""
    assert decoder.heads is not None
    decoder.generate(PROMPT, temperature=0.0, max_tokens=20, lookahead=0)
    assert decoder.heads.length == 0


def test_what_belongs_together(decoder: SpeculativeDecoder, target: Path, head: Path) -> None:
    heads = decoder.heads
    assert heads is not None
    with pytest.raises(ModelNotLoaded, match="Choose some first"), open_with_heads(target, None) as bare:
        bare.generate(PROMPT, method="eagle3")
    decoder.attach_target(LoadConfig(target, threads=1, trusted=True))
    assert decoder.heads is None
    with pytest.raises(BackendClosed):
        heads.forward([1], 1)
    decoder.attach_heads(head)
    assert follow_heads(decoder, lookahead=3).stats.accepted > 0
    decoder.attach_heads(None)
    assert decoder.generate(PROMPT, temperature=0.0, max_tokens=5, lookahead=0).stats.emitted == 5
    with pytest.raises(ModelNotLoaded):
        SpeculativeDecoder().attach_heads(head)


def _spoiled(head: Path, path: Path, change: str) -> Path:
    draft = GgufDraft.of_file(head)
    if change == "tensor":
        del draft.tensors["blk.0.attn_norm_2.weight"]
    elif change == "layer":
        draft.entries["eagle3.target_layers"].value = [1, 2, 9]
    elif change == "layers":
        draft.entries["eagle3.target_layers"].value = [1, 2]
    elif change == "table":
        draft.tensors["d2t"].data = np.full(200, 320, "<i8").tobytes()
    elif change == "shape":
        draft.entries["eagle3.feed_forward_length"].value = 96
    elif change == "vocabulary":
        texts = draft.entries["tokenizer.ggml.tokens"].value
        draft.entries["tokenizer.ggml.tokens"].value = [*texts[:259], *reversed(texts[259:])]
    data = draft.to_bytes()
    path.write_bytes(data[: len(data) // 2] if change == "truncated" else data)
    return path


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("tensor", "lacks the tensor 'blk.0.attn_norm_2.weight'"),
        ("layer", "reads layer 9 of its target"),
        ("layers", "does not name the three layers"),
        ("table", "table of draft tokens"),
        ("shape", "the tensor 'blk.0.ffn_gate.weight' has the shape"),
        ("vocabulary", "another vocabulary"),
        ("truncated", "incomplete"),
    ],
)
def test_heads_that_are_refused(target: Path, folder: Path, change: str, said: str) -> None:
    good = write_eagle3(folder / "good.gguf", target, kept=200)
    path = _spoiled(good, folder / f"{change}.gguf", change)
    with open_with_heads(target, None) as decoder:
        with pytest.raises((ModelFileBroken, ModelNotSupported), match=said):
            decoder.attach_heads(path)
        assert decoder.heads is None
        decoder.attach_heads(good)


def test_heads_of_other_targets(target: Path, folder: Path, head: Path, bundled_target: Path) -> None:
    with open_with_heads(bundled_target, None) as decoder:
        with pytest.raises(ModelNotSupported, match="trained for a target of width 64, and this one has 384"):
            decoder.attach_heads(head)
        with pytest.raises(ModelNotSupported, match="it has no draft heads"):
            decoder.attach_heads(target)
