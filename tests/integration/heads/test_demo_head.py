"""The head that ships for the demo target, and the code that trained it."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from engine.config import LoadConfig
from engine.decoder import SpeculativeDecoder
from engine.library.names import resolve_source
from helpers.heads.eagle_reference import EagleReference
from helpers.models.pairs import HELD_OUT, assert_same_greedy

PROMPTS = [each["prompt"] for each in json.loads(HELD_OUT.read_text("utf-8")) if "prompt" in each][::20]


def test_it_pays_in_tokens_and_changes_no_text(bundled_target: Path) -> None:
    """A round gives two tokens and a half at least in the mean, and a tree more than a chain."""
    with SpeculativeDecoder() as decoder:
        decoder.attach_target(LoadConfig(bundled_target, threads=1, trusted=True))
        decoder.attach_heads(resolve_source("demo-head"))
        assert decoder.target is not None
        shapes: list[dict[str, object]] = [{"lookahead": 4}, {"tree": "3x4"}]
        lengths: list[float] = []
        for shape in shapes:
            rounds = emitted = 0
            for prompt in PROMPTS:
                options: dict[str, object] = {"temperature": 0.0, "max_tokens": 60}
                plain = decoder.generate(prompt, lookahead=0, **options)  # type: ignore[arg-type]
                result = decoder.generate(prompt, **options, **shape)  # type: ignore[arg-type]
                assert result.method == "eagle3"
                if "tree" not in shape:
                    assert_same_greedy(decoder.target, decoder.encode(prompt), plain, result)
                rounds += result.stats.rounds
                emitted += result.stats.emitted
            lengths.append(emitted / rounds)
        assert lengths[0] > 2.3
        assert lengths[1] > lengths[0]


def test_what_is_trained_is_what_is_run(bundled_target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the training and from the written file, one head gives the same logits behind the same states."""
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(sys, "path", [*sys.path, str(HELD_OUT.parent)])
    from demopair.heads import eagle, files, target  # noqa: PLC0415 - the recipe is no package of the program

    torch.manual_seed(0)
    head = eagle.EagleHead(eagle.HEAD_SHAPE, 3 * 384, torch.arange(0, 4096, 2))
    path, words = tmp_path / "head.gguf", target.read_tokenizer(bundled_target)
    files.write_eagle_gguf(head, words, path, 384)
    reference = EagleReference(path)
    with torch.no_grad():
        # As the file has them: rounded.
        for name, parameter in head.named_parameters():
            if name in ("fc.weight", "embed.weight", "head.weight"):
                theirs = {"fc.weight": "fc", "embed.weight": "token_embd", "head.weight": "output"}[name]
                parameter.copy_(torch.from_numpy(reference.tensors[f"{theirs}.weight"].copy()))
        ids, states = torch.randint(0, 4096, (1, 9)), torch.randn(1, 9, 3 * 384)
        given = head.fc(states)
        first = head.step(given, ids, 0, [])
        rows = head.head(head.norm(first))[0].numpy()
    wanted, _ = reference.pairs(ids[0].tolist(), given[0].numpy())
    assert np.abs(rows - wanted[:, ::2]).max() < 0.05 * np.abs(rows).max()
    assert np.isneginf(wanted[:, 1::2]).all()


def test_the_target_is_read_back(bundled_target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(sys, "path", [*sys.path, str(HELD_OUT.parent)])
    from demopair.heads import target  # noqa: PLC0415 - the recipe is no package of the program

    model, words = target.read_model(bundled_target), target.read_tokenizer(bundled_target)
    with SpeculativeDecoder() as decoder:
        decoder.attach_target(LoadConfig(bundled_target, threads=1, trusted=True))
        assert decoder.target is not None
        ids: list[int] = []
        for text in ("Tell me a story.", "def f(x):\n    return x", "naïve  1,234"):
            ids = list(decoder.encode(text))
            assert words.encode(text).ids == ids[-len(words.encode(text).ids) :]
        decoder.target.truncate(0)
        rows = decoder.target.forward(ids, len(ids)).copy()
    with torch.no_grad():
        _, last = target.states_of(model, torch.tensor([ids]))
        ours = model.logits(last)[0].numpy()
    assert np.abs(ours - rows).max() < 0.05 * np.abs(ours).max()
