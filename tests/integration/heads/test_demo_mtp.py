"""The demo target's sibling with an MTP layer, and the code that trained it."""

import json
from pathlib import Path

import numpy as np
import pytest

from engine.config import LoadConfig
from engine.decoder import SpeculativeDecoder
from engine.library.names import resolve_source
from helpers.heads.mtp import MtpReference
from helpers.models.pairs import HELD_OUT, assert_same_greedy

PROMPTS = [each["prompt"] for each in json.loads(HELD_OUT.read_text("utf-8")) if "prompt" in each][::20]


def test_the_sibling_finds_its_own_layer_and_writes_what_it_would_alone() -> None:
    """A round gives two tokens at least in the mean, with nothing named but the target."""
    with SpeculativeDecoder() as decoder:
        decoder.attach_target(LoadConfig(resolve_source("demo-mtp"), threads=1, trusted=True))
        decoder.attach_heads(resolve_source("demo-mtp"))
        assert decoder.target is not None
        rounds = emitted = 0
        for prompt in PROMPTS:
            plain = decoder.generate(prompt, lookahead=0, temperature=0.0, max_tokens=60)
            result = decoder.generate(prompt, lookahead=4, temperature=0.0, max_tokens=60)
            assert result.method == "mtp"
            assert_same_greedy(decoder.target, decoder.encode(prompt), plain, result)
            assert result.stats.target_forwards == result.stats.rounds
            rounds += result.stats.rounds
            emitted += result.stats.emitted
    assert emitted / rounds > 2.0


def test_what_is_trained_is_what_is_run(bundled_target: Path, tmp_path: Path) -> None:
    """In the training and from the written file, the sibling gives the same logits, and so does its layer."""
    torch = pytest.importorskip("torch")
    from demopair.heads import mtp, sibling, sibling_file, target  # noqa: PLC0415 - the recipe is no package of the program

    torch.manual_seed(0)
    demo, words = target.read_model(bundled_target), target.read_tokenizer(bundled_target)
    model, path = sibling.SiblingModel(demo.shape), tmp_path / "sibling.gguf"
    with SpeculativeDecoder() as decoder, torch.no_grad():
        text = words.encode("Tell me a story about a shy dragon. " * 3).ids
        model.begin_with(demo, torch.tensor([text]))
        layer = mtp.MtpLayer(model)
        sibling_file.write_sibling(model, layer, words, path)
        decoder.attach_target(LoadConfig(path, threads=1, trusted=True))
        assert decoder.target is not None
        decoder.target.truncate(0)
        rows = decoder.target.forward(text, len(text)).copy()
        states = model(torch.tensor([text]))[1]
        ours = model.head(states)[0].numpy()
        assert np.abs(ours - rows).max() < 0.05 * np.abs(ours).max()
        theirs = demo.logits(demo(torch.tensor([text])))[0].numpy()
        assert (ours.argmax(axis=1) == theirs.argmax(axis=1)).mean() > 0.7, "it begins as the demo target"
        ids = torch.tensor([text])
        behind = layer(model, ids, torch.nn.functional.pad(states[:, :-1], (0, 0, 1, 0)), 0, [])
        proposed = model.head(behind)[0, -1].numpy()
    wanted = MtpReference(path).chain(text, states[0, :-1].numpy(), [0])[0]
    assert np.abs(proposed - wanted).max() < 0.05 * np.abs(proposed).max()


def test_the_steps_of_the_training_are_those_of_the_use() -> None:
    """What the layer gives behind its own state is the same in one step more and with the text one token longer."""
    torch = pytest.importorskip("torch")
    from demopair.heads import mtp, sibling  # noqa: PLC0415 - the recipe is no package of the program

    from engine.training.layers import ModelShape  # noqa: PLC0415

    torch.manual_seed(0)
    model = sibling.SiblingModel(ModelShape(96, width=64, layers=4, heads=2, kv_heads=1, ff_width=64, context=64))
    layer, ids = mtp.MtpLayer(model), torch.randint(0, 96, (1, 12))
    with torch.no_grad():
        given = torch.nn.functional.pad(model(ids)[1][:, :-1], (0, 0, 1, 0))
        seen: list[tuple[object, object]] = []
        first = layer(model, ids[:, :10], given[:, :10], 0, seen)
        second = layer(model, ids[:, 1:11], first, 1, seen)
        whole = layer(model, ids[:, :11], torch.cat([given[:, :10], first[:, 9:]], dim=1), 0, [])
    assert (second[:, 9] - whole[:, 10]).abs().max() < 1e-4
    assert (first[:, 9] - second[:, 9]).abs().max() > 0.1
