"""DFlash and DSpark: heads that propose a block at once."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.errors import ModelFileBroken, ModelNotSupported
from helpers.heads.dflash import DFlashReference, write_dflash
from helpers.heads.replies import PROMPT, check_text, compare_proposals, draws_alike, follow_heads, open_with_heads
from helpers.models.gguf_writer import GgufDraft
from helpers.models.hybrid_model import Size, write_hybrid_model
from helpers.models.pairs import assert_same_greedy

ENOUGH = 0.001
KINDS: dict[str, dict[str, Any]] = {
    "dflash": {},
    "own-vocabulary": {"kept": 200},
    "shared-tensors": {"token_embd__weight": None, "output__weight": None},
    "dflash2": {"selector": 6},
    "dflash2-own-vocabulary": {"selector": 6, "kept": 290},
    "dspark": {"markov": True},
    "dspark-behind-the-anchor": {"markov": True, "anchored": False, "kept": 200},
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_text_is_the_targets(kind: str, target: Path, folder: Path) -> None:
    with open_with_heads(target, write_dflash(folder / f"{kind}.gguf", target, **KINDS[kind])) as decoder:
        found = check_text(decoder, *({"lookahead": lookahead} for lookahead in (1, 4, 12)), tokens=60)
        assert all(len(result.stats.proposed_by_position) <= 6 for result in found)
        assert found[0].method == ("dspark" if kind.startswith("dspark") else "dflash")
        assert follow_heads(decoder, lookahead="auto").tokens == found[0].tokens


@pytest.mark.parametrize("kind", KINDS)
def test_proposals_agree_with_the_paper(kind: str, target: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_dflash(folder / f"{kind}.gguf", target, **KINDS[kind])
    reference = DFlashReference(path)
    if kind == "shared-tensors":
        whole = DFlashReference(write_dflash(folder / "whole.gguf", target))
        reference.tensors |= {name: whole.tensors[name] for name in ("token_embd.weight", "output.weight")}

    def chain(tokens: Sequence[int], states: NDArray[np.float32], proposed: Sequence[int]) -> NDArray[np.float32]:
        rows = reference.chain(tokens, states, [*proposed, 0, 0, 0][:4])  # A block of four, whatever becomes of it.
        return rows[: len(proposed)]

    with open_with_heads(target, path) as decoder:
        compared, behind = compare_proposals(decoder, chain, monkeypatch, lookahead=4)
        assert compared > 10
        assert behind > 0


@pytest.mark.parametrize(
    "kind", ["dflash", *(pytest.param(kind, marks=pytest.mark.soak) for kind in ("dflash2", "dspark"))]
)
def test_the_distribution_is_the_targets(kind: str, target: Path, folder: Path) -> None:
    with open_with_heads(target, write_dflash(folder / f"{kind}.gguf", target, **KINDS[kind])) as decoder:
        assert draws_alike(decoder) > ENOUGH


def test_long_and_short_texts(target: Path, folder: Path) -> None:
    """A prompt in several pieces, one of a single token, the end of the context, and a conversation that goes on."""
    with open_with_heads(target, write_dflash(folder / "texts.gguf", target)) as decoder:
        for prompt in ([1, *np.random.default_rng(3).integers(260, 320, 180).tolist()], [1]):
            plain = decoder.generate(prompt, temperature=0.0, lookahead=0)
            assert plain.finish_reason == "context"
            assert follow_heads(decoder, prompt, max_tokens=None).tokens == plain.tokens
        first = follow_heads(decoder, max_tokens=20)
        longer = [*PROMPT, *first.tokens, 50]
        again = follow_heads(decoder, longer, max_tokens=20)
        assert again.tokens == decoder.generate(longer, temperature=0.0, max_tokens=20, lookahead=0).tokens
        assert follow_heads(decoder, longer, max_tokens=20).tokens == again.tokens


def test_a_hybrid_target(folder: Path) -> None:
    path = write_hybrid_model(folder / "qwen35.gguf", "qwen35", Size(layers=6), seed=1)
    with open_with_heads(path, write_dflash(folder / "qwen35-head.gguf", path)) as decoder:
        plain = decoder.generate(PROMPT, temperature=0.0, max_tokens=40, lookahead=0)
        assert decoder.target is not None
        assert_same_greedy(decoder.target, PROMPT, plain, follow_heads(decoder, max_tokens=40))


def _spoiled(head: Path, path: Path, change: str) -> Path:
    draft = GgufDraft.of_file(head)
    if change == "tensor":
        del draft.tensors["blk.1.attn_k_norm.weight"]
    elif change == "layer":
        draft.entries["dflash.target_layers"].value = [1, 2, 9]
    elif change == "mask":
        draft.entries["tokenizer.ggml.mask_token_id"].value = 320
    elif change == "block":
        draft.entries["dflash.block_size"].value = 1
    elif change == "selector":
        draft.tensors["selector_hidden.weight"] = draft.tensors["blk.0.attn_q.weight"]
    elif change == "candidates":
        draft.entries["dflash.selector_top_k"].value = 8
    elif change == "convolution":
        del draft.tensors["blk.1.ffn_conv_base"]
    return draft.write(path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("tensor", r"lacks the tensor 'blk\.1\.attn_k_norm\.weight'"),
        ("layer", "reads layer 9 of its target"),
        ("mask", "names no mask token"),
        ("block", "has the invalid value 1"),
        ("selector", "'dflash.conv_kernel_size' has the invalid value 0"),
        ("candidates", "'dflash.selector_top_k' has the invalid value 8"),
        ("convolution", r"lacks the tensor 'blk\.1\.ffn_conv_base'"),
    ],
)
def test_heads_that_are_refused(target: Path, folder: Path, change: str, said: str) -> None:
    selector = 6 if change in ("candidates", "convolution") else 0
    path = _spoiled(write_dflash(folder / "good.gguf", target, selector=selector), folder / f"{change}.gguf", change)
    with open_with_heads(target, None) as decoder:
        with pytest.raises((ModelFileBroken, ModelNotSupported), match=said):
            decoder.attach_heads(path)
        assert decoder.heads is None
