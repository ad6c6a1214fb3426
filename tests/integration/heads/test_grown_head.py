"""A head that grew with its target proposes what the small one does."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.grown.head_growth import grown_head, padded_target
from engine import LoadConfig, SpeculativeDecoder, bundled_pair
from engine.errors import GrowthError
from engine.growth.arithmetic import GrownShape
from engine.growth.grown import grown_target
from engine.library.names import resolve_source

SIXTEEN_TIMES = GrownShape(6, 2048, 736)
"""The head is 16 times as wide, which keeps its bits; its target is not a power of four wider."""
WIDER = GrownShape(4, 512, 704)
"""The same with a head that is four times as wide."""


@pytest.mark.parametrize("shape", [WIDER, pytest.param(SIXTEEN_TIMES, marks=pytest.mark.soak)])
def test_it_proposes_what_the_small_one_does(tmp_path: Path, shape: GrownShape) -> None:
    pairs = [
        (bundled_pair()[0], resolve_source("demo-head")),
        (grown_target("q8_0", shape, folder=tmp_path), grown_head("q8_0", shape, folder=tmp_path)),
    ]
    replies = []
    for target, head in pairs:
        with SpeculativeDecoder() as decoder:
            decoder.attach_target(LoadConfig(target, threads=1, trusted=True))
            decoder.attach_heads(LoadConfig(head, trusted=True))
            replies.append(
                [
                    decoder.generate(prompt, max_tokens=60, method="eagle3", lookahead=4)
                    for prompt in ("Tell me a story about a shy dragon.", "What is a river?", "Count to ten.")
                ]
            )
    small, large = replies
    assert [reply.text for reply in small] == [reply.text for reply in large]
    proposed = sum(reply.stats.proposed for reply in small)
    kept = [sum(reply.stats.accepted for reply in each) for each in replies]
    assert kept[0] > 0.3 * proposed, "the small head is of use"
    assert abs(kept[0] - kept[1]) <= 0.05 * proposed, "the target's last bits differ, hardly more"


@pytest.mark.soak
def test_in_a_padded_vocabulary_it_proposes_the_same(tmp_path: Path) -> None:
    """Tokens that were added to the vocabulary never win, neither where the target draws nor where the head does."""
    tokens, known = 5_000, 4_096
    files = [(grown_target("q8_0", WIDER, folder=tmp_path), grown_head("q8_0", WIDER, folder=tmp_path))]
    target = padded_target("q8_0", tokens, WIDER, folder=tmp_path)
    heads = [grown_head("q8_0", WIDER, folder=tmp_path, vocabulary=tokens, spread=spread) for spread in (False, True)]
    files.extend((target, head) for head in heads)
    kept, texts = [], []
    for target, head in files:
        with SpeculativeDecoder() as decoder:
            decoder.attach_target(LoadConfig(target, threads=1, trusted=True))
            decoder.attach_heads(LoadConfig(head, trusted=True))
            reply = decoder.generate("Tell me a story.", max_tokens=40, method="eagle3", lookahead=4)
            kept.append((reply.stats.proposed, reply.stats.accepted))
            texts.append(reply.text)
            hot = decoder.generate("Tell me a story.", max_tokens=30, method="eagle3", temperature=2.0, seed=3)
            assert max(hot.tokens) < known
            assert decoder.target is not None
            text = list(decoder.target.tokens)[:16]
            decoder.target.truncate(0)
            rows = decoder.target.forward(text, len(text))
            assert rows.shape[1] == (known if target == files[0][0] else tokens)
            assert rows[:, known:].max(initial=-1e9) < rows[:, :known].min() - 50.0
    assert texts[0] == texts[1] == texts[2]
    assert kept[0][1] > 10
    for proposed, accepted in kept[1:]:
        assert abs(accepted - kept[0][1]) <= 3
        assert abs(proposed - kept[0][0]) <= 6
    sizes = [head.stat().st_size for _, head in files]
    assert sizes[1] < sizes[2], "a spread head has a row for each token"


def test_vocabularies_that_cannot_be_padded(tmp_path: Path) -> None:
    with pytest.raises(GrowthError, match="4096 tokens or more"):
        padded_target("q8_0", 100, SIXTEEN_TIMES, folder=tmp_path)
    with pytest.raises(GrowthError, match="wider than the small one"):
        padded_target("q8_0", 6_000, GrownShape(4, 384, 704), folder=tmp_path)
    with pytest.raises(GrowthError, match="Choose a GGUF kind"):
        padded_target("transformers", 6_000, SIXTEEN_TIMES, folder=tmp_path)
    with pytest.raises(GrowthError, match="only be spread over a padded vocabulary"):
        grown_head("q8_0", SIXTEEN_TIMES, folder=tmp_path, spread=True)
    assert not list(tmp_path.glob("*.gguf"))


def test_a_head_of_another_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GrowthError, match="not of the eagle3 architecture"):
        grown_head("q8_0", SIXTEEN_TIMES, folder=tmp_path, head=bundled_pair()[1])
    with pytest.raises(GrowthError, match="a head of another target"):
        grown_head("q8_0", GrownShape(6, 2048, 736), folder=tmp_path, target=bundled_pair()[1])
    assert not list(tmp_path.glob("*.gguf"))
