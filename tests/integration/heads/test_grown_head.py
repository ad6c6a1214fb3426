"""A head that grew with its target proposes what the small one does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from engine import SpeculativeDecoder, bundled_pair
from engine.errors import GrowthError
from engine.formats.safetensors.heads import MEDUSA_FILE
from engine.growth.arithmetic import GrownShape
from engine.growth.grown import grown_head, grown_medusa, grown_mtp, grown_target
from engine.library.names import resolve_source

FOUR_TIMES = GrownShape(6, 1536, 736)
"""Each step of a norm as wide as the target keeps its bits."""
SIXTEEN_TIMES = GrownShape(6, 2048, 736)
"""The head is 16 times as wide, which keeps its bits; its target is not a power of four wider."""


def test_it_proposes_what_the_small_one_does(tmp_path: Path) -> None:
    pairs = [
        (bundled_pair()[0], resolve_source("demo-head")),
        (grown_target("q8_0", SIXTEEN_TIMES, folder=tmp_path), grown_head("q8_0", SIXTEEN_TIMES, folder=tmp_path)),
    ]
    replies = []
    for target, head in pairs:
        with SpeculativeDecoder() as decoder:
            decoder.attach_target(target)
            decoder.attach_heads(head)
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


def test_a_layer_for_later_tokens_grows_with_its_target(tmp_path: Path) -> None:
    """The same text and guesses; the norms of queries and keys get another epsilon, which moves last bits."""
    found = []
    for target in (resolve_source("demo-mtp"), grown_mtp("q8_0", FOUR_TIMES, folder=tmp_path)):
        with SpeculativeDecoder() as decoder:
            decoder.attach_target(target)
            decoder.attach_heads(target)
            reply = decoder.generate("What is a river?", max_tokens=30, method="mtp", lookahead=4)
            found.append((reply.text, reply.stats.accepted, reply.stats.proposed))
    small, large = found
    assert small[0] == large[0]
    assert small[1] > 0.2 * small[2], "the layer is of use"
    assert abs(small[1] - large[1]) <= 0.05 * small[2]


def test_medusa_heads_grow_with_their_target(tmp_path: Path) -> None:
    """From a state with zeros in the added channels, the logits are the small heads'."""
    stored = pytest.importorskip("safetensors.numpy")
    rng, heads = np.random.default_rng(0), tmp_path / "medusa"
    heads.mkdir()
    (heads / "config.json").write_text('{"medusa_num_heads": 2, "medusa_num_layers": 1}', "utf-8")
    shapes = {"0.linear.weight": (64, 64), "0.linear.bias": (64,), "1.weight": (320, 64)}
    tensors = {f"{head}.{name}": rng.standard_normal(shape) for head in range(2) for name, shape in shapes.items()}
    stored.save_file({name: each.astype(np.float16) for name, each in tensors.items()}, heads / MEDUSA_FILE)
    grown = grown_medusa(heads, GrownShape(6, 128, 736), folder=tmp_path)
    small, large = (stored.load_file(folder / MEDUSA_FILE) for folder in (heads, grown))
    state = rng.standard_normal(128)
    state[64:] = 0
    rows = []
    for tensors, x in ((small, state[:64]), (large, state)):
        inner = tensors["1.0.linear.weight"].astype(np.float64) @ x + tensors["1.0.linear.bias"]
        rows.append(tensors["1.1.weight"].astype(np.float64) @ (x + inner / (1 + np.exp(-inner))))
    assert large["1.1.weight"].shape == (320, 128)
    assert np.any(large["1.0.linear.weight"][64:])
    np.testing.assert_allclose(rows[1], rows[0], rtol=1e-9, atol=1e-9)
    with pytest.raises(GrowthError, match="width must be 64 or more"):
        grown_medusa(heads, GrownShape(6, 32, 736), folder=tmp_path)


def test_what_cannot_grow_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GrowthError, match="not of the qwen35 architecture"):
        grown_mtp("q8_0", FOUR_TIMES, folder=tmp_path, target=bundled_pair()[0])
    with pytest.raises(GrowthError, match="layers must be 5 or more"):
        grown_mtp("q8_0", GrownShape(4, 1536, 736), folder=tmp_path)
    assert not list(tmp_path.glob("*.gguf"))


def test_a_head_of_another_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GrowthError, match="not of the eagle3 architecture"):
        grown_head("q8_0", SIXTEEN_TIMES, folder=tmp_path, head=bundled_pair()[1])
    with pytest.raises(GrowthError, match="a head of another target"):
        grown_head("q8_0", GrownShape(6, 2048, 736), folder=tmp_path, target=bundled_pair()[1])
    assert not list(tmp_path.glob("*.gguf"))
