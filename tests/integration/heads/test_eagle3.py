"""Draft heads on real targets: the text is the target's, one pass a round, and what they propose is what papers say."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.cancel import CancelToken
from engine.config import LoadConfig
from engine.constraint import Constraint
from engine.decoder import SpeculativeDecoder
from engine.errors import BackendClosed, ModelFileBroken, ModelNotLoaded, ModelNotSupported
from engine.events import TokenEvent
from helpers.heads.eagle import write_eagle3
from helpers.heads.eagle_reference import EagleReference
from helpers.heads.replies import PROMPT, check_text, compare_proposals, draws_alike, follow_heads, open_with_heads
from helpers.models.gguf_writer import GgufDraft
from helpers.models.hybrid_model import Size, write_hybrid_model
from helpers.models.pairs import assert_same_greedy

ENOUGH = 0.001


@pytest.fixture(scope="module")
def head(folder: Path, target: Path) -> Path:
    return write_eagle3(folder / "head.gguf", target)


@pytest.fixture
def decoder(target: Path, head: Path) -> Iterator[SpeculativeDecoder]:
    with open_with_heads(target, head) as opened:
        yield opened


HEADS: dict[str, dict[str, Any]] = {
    "plain": {},
    "own-vocabulary": {"kept": 200},
    "norms": {"norm_before_residual": True, "norm_before_fc": True},
    "shared-tensors": {"token_embd__weight": None, "output__weight": None},
}


@pytest.mark.parametrize("kind", HEADS)
def test_the_text_is_the_targets(kind: str, target: Path, folder: Path) -> None:
    with open_with_heads(target, write_eagle3(folder / f"{kind}.gguf", target, **HEADS[kind])) as decoder:
        check_text(decoder, *({"lookahead": lookahead} for lookahead in (1, 3, 8)), tokens=60, least=5)


@pytest.mark.parametrize("kind", HEADS)
def test_proposals_agree_with_the_paper(kind: str, target: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_eagle3(folder / f"{kind}.gguf", target, **HEADS[kind])
    reference = EagleReference(path)
    if kind == "shared-tensors":
        whole = EagleReference(write_eagle3(folder / "whole.gguf", target))
        reference.tensors |= {name: whole.tensors[name] for name in ("token_embd.weight", "output.weight")}
    with open_with_heads(target, path) as decoder:
        compared, behind = compare_proposals(decoder, reference.chain, monkeypatch)
        assert compared > 10
        assert behind > 0


def test_the_distribution_is_the_targets(decoder: SpeculativeDecoder) -> None:
    assert draws_alike(decoder) > ENOUGH


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


def test_heads_keep_to_a_constraint(decoder: SpeculativeDecoder) -> None:
    constraint = Constraint.regex("( w[0-9]{1,3}){12,40}")
    plain = decoder.generate(PROMPT, temperature=0.0, max_tokens=60, lookahead=0, constraint=constraint)
    for lookahead in (1, 4):
        result = follow_heads(decoder, lookahead=lookahead, constraint=constraint)
        assert result.tokens == plain.tokens
        assert result.stats.proposed > 3
    assert len(plain.tokens) > 8


def test_conversations_go_on(decoder: SpeculativeDecoder) -> None:
    """The prompt's beginning stays in both caches; a plain reply in between is read anew, with its states."""
    first = follow_heads(decoder, lookahead=3, max_tokens=30)
    longer = [*PROMPT, *first.tokens, 50, 51]
    plain = decoder.generate(longer, temperature=0.0, max_tokens=30, lookahead=0)
    for _ in range(2):
        again = follow_heads(decoder, longer, lookahead=3, max_tokens=30)
        assert again.tokens == plain.tokens
        assert again.stats.accepted > 0
    assert follow_heads(decoder, longer, lookahead=3, max_tokens=30).prompt_evaluated == 1
    fresh = follow_heads(decoder, [1, 60, 61], lookahead=3, max_tokens=30)
    assert fresh.tokens == decoder.generate([1, 60, 61], temperature=0.0, max_tokens=30, lookahead=0).tokens


def test_a_long_prompt(decoder: SpeculativeDecoder, head: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read in several pieces, by the head too."""
    prompt = [1, *np.random.default_rng(3).integers(260, 320, 180).tolist()]
    plain = decoder.generate(prompt, temperature=0.0, max_tokens=20, lookahead=0)
    assert follow_heads(decoder, prompt, lookahead=3, max_tokens=20).tokens == plain.tokens
    compared, behind = compare_proposals(decoder, EagleReference(head).chain, monkeypatch, prompt, max_tokens=20)
    assert compared > 5
    assert behind > 0


@pytest.mark.parametrize("prompt", [[1], [1, 40]])
def test_a_short_prompt(decoder: SpeculativeDecoder, prompt: list[int]) -> None:
    plain = decoder.generate(prompt, temperature=0.0, max_tokens=20, lookahead=0)
    assert follow_heads(decoder, prompt, lookahead=3, max_tokens=20).tokens == plain.tokens


def test_ends(decoder: SpeculativeDecoder) -> None:
    """The end of the context, a stop token, a cancel: nothing else is in the caches, and the next reply works."""
    plain = decoder.generate(PROMPT, temperature=0.0, lookahead=0)
    assert plain.finish_reason == "context"
    assert follow_heads(decoder, lookahead=5, max_tokens=None).tokens == plain.tokens
    stopped = follow_heads(decoder, lookahead=5, stop_tokens=[plain.tokens[20]])
    assert stopped.tokens == plain.tokens[: plain.tokens.index(plain.tokens[20]) + 1]
    cancel = CancelToken()

    def count(event: TokenEvent) -> None:
        if event.position == 10:
            cancel.cancel()

    ended = decoder.generate(PROMPT, temperature=0.0, method="eagle3", on_token=count, cancel=cancel)
    assert ended.finish_reason == "cancelled"
    assert follow_heads(decoder, lookahead=5).tokens == plain.tokens[:60]


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


def test_a_hybrid_target(folder: Path) -> None:
    """Recurrent layers go back by snapshots and replays; the replayed tokens' states are read again."""
    path = write_hybrid_model(folder / "qwen35.gguf", "qwen35", Size(layers=6), seed=1)
    head = write_eagle3(folder / "qwen35-head.gguf", path)
    with open_with_heads(path, head) as decoder:
        plain = decoder.generate(PROMPT, temperature=0.0, max_tokens=40, lookahead=0)
        for lookahead in (2, 6):
            result = follow_heads(decoder, lookahead=lookahead, max_tokens=40)
            assert decoder.target is not None
            assert_same_greedy(decoder.target, PROMPT, plain, result)


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


# Heads that are not for the target ------------------------------------------------------------------------------------


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
