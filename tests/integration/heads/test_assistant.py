"""Gemma 4's assistants: MTP layers in a file of their own that read the target's cache."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.cli.main import main
from engine.decoder import SpeculativeDecoder
from engine.errors import LoadFailed
from engine.library.heads import find_heads_of, judge_heads
from engine.library.scan import scan_folder
from helpers.heads.eagle import write_plain_target
from helpers.heads.gemma4 import PLAIN, Gemma, write_assistant, write_gemma4
from helpers.heads.gemma4_reference import AssistantReference
from helpers.heads.replies import PROMPT, follow_heads, open_with_heads
from helpers.models.pairs import assert_same_greedy


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gemma4")
    write_assistant(folder / "plain-assistant.gguf", write_gemma4(folder / "plain.gguf"))
    return folder


@pytest.fixture
def decoder(folder: Path) -> Iterator[SpeculativeDecoder]:
    with open_with_heads(folder / "plain.gguf", folder / "plain-assistant.gguf") as opened:
        yield opened


def test_heads_that_join_a_target_with_a_text(folder: Path, decoder: SpeculativeDecoder) -> None:
    """They empty its cache."""
    longer = [*PROMPT, 41, 42]
    decoder.attach_heads(None)
    expected = decoder.generate(longer, temperature=0.0, max_tokens=12, lookahead=0)
    decoder.attach_heads(folder / "plain-assistant.gguf")
    assert follow_heads(decoder, longer, lookahead=3, max_tokens=12).tokens == expected.tokens


@pytest.mark.parametrize("options", [{}, {"cache_type": "q8_0"}], ids=["f16", "q8_0"])
def test_quantised(tmp_path: Path, options: dict[str, str]) -> None:
    """Both files in Q8_0: the cache is in float16 or quantised, and the head reads it as the target does."""
    target = write_gemma4(tmp_path / "t.gguf", kind="Q8_0")
    heads = write_assistant(tmp_path / "a.gguf", target, width=32, kind="Q8_0")
    with open_with_heads(target, heads, **options) as decoder:
        assert decoder.target is not None
        plain = decoder.generate(PROMPT, temperature=0.0, max_tokens=40, lookahead=0)
        rows = []
        head = decoder.heads
        assert head is not None
        original = head.forward

        def watched(tokens: list[int], n_outputs: int) -> np.ndarray:
            found = original(tokens, n_outputs)
            rows.append((list(head.tokens), head.length - head.seen - 1, found[0].copy()))
            return found

        head.forward = watched  # type: ignore[method-assign, assignment]
        result = follow_heads(decoder, lookahead=3, max_tokens=40)
        assert_same_greedy(decoder.target, PROMPT, plain, result)
    reference = AssistantReference(target, heads, PLAIN)
    for tokens, own, row in rows[:12]:
        if own == 0:
            states, *_ = reference.states(tokens[:-1])
            expected = reference.chain(tokens, states, [0])[0]
            assert np.abs(row - expected).max() < 0.25
            assert np.corrcoef(row, expected)[0, 1] > 0.999


def test_which_targets_they_fit(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Shuffled names: a is for m, and neither for the others nor for a Llama of the same width."""
    shutil.copy(folder / "plain.gguf", tmp_path / "m.gguf")
    shutil.copy(folder / "plain-assistant.gguf", tmp_path / "a.gguf")
    write_gemma4(tmp_path / "keys.gguf", Gemma(shared_in_window=4))
    write_gemma4(tmp_path / "wide.gguf", Gemma(width=96))
    write_gemma4(tmp_path / "words.gguf", Gemma(vocabulary=330))
    write_plain_target(tmp_path / "llama.gguf")
    models = scan_folder(tmp_path)
    assert next(model.role for model in models if model.path.stem == "a") == "draft-head"
    fits = {
        model.path.stem: [(fit.fits, fit.reason) for fit in judge_heads(model, models)]
        for model in models
        if model.usable
    }
    assert scan_folder(tmp_path) == models, "from the cache"
    assert fits["m"] == [(True, "Same vocabulary and width.")]
    reasons = {
        "keys": "keys of another shape",
        "wide": "trained for a target of width 64",
        "words": "it has another vocabulary",
        "llama": "it reads the cache of a Gemma 4, and this target is none",
    }
    asked = ["--max-tokens", "4", "--temperature", "0", "--tokens", "1,40"]
    for name, reason in reasons.items():
        ((fit, why),) = fits[name]
        assert not fit
        assert reason in why
        if name not in ("keys", "llama"):
            continue
        target, heads = str(tmp_path / f"{name}.gguf"), str(tmp_path / "a.gguf")
        assert main(["generate", "--target", target, "--heads", heads, *asked]) == 2
        captured = capsys.readouterr().err
        assert captured.count("\n") == 1
        assert reason in captured
    assert find_heads_of(tmp_path / "m.gguf") == [tmp_path / "a.gguf"]
    assert main(["generate", "--target", str(tmp_path / "m.gguf"), "--json", *asked]) == 0
    said = capsys.readouterr()
    assert '"method": "mtp"' in said.out
    assert "Drafting with the head" in said.err


def test_damaged_files(folder: Path, tmp_path: Path) -> None:
    """Each is refused before llama.cpp sees it: it would read the target's cache by these numbers."""
    target, path = folder / "plain.gguf", tmp_path / "a.gguf"
    with open_with_heads(target, None) as decoder:
        for name in ("nextn.pre_projection.weight", "blk.3.attn_q.weight", "rope_freqs.weight"):
            lacking: dict[str, Any] = {name.replace(".", "__"): None}
            write_assistant(path, target, **lacking)
            with pytest.raises(LoadFailed, match=f"lacks the tensor '{name}'"):
                decoder.attach_heads(path)
        for key, value in (
            ("attention.value_length", 32),
            ("attention.value_length_swa", 64),
            ("embedding_length_out", 56),
            ("nextn_predict_layers", 2),
            ("attention.sliding_window", 0),
            ("rope.dimension_count_swa", 40),
        ):
            with pytest.raises(LoadFailed, match=f"'gemma4-assistant.{key}' has the invalid value {value}"):
                decoder.attach_heads(write_assistant(path, target, entries={key: value}))
        with pytest.raises(LoadFailed, match=r"tensor 'blk\.0\.attn_q\.weight' has the shape"):
            decoder.attach_heads(write_assistant(path, target, entries={"attention.head_count": 8}))
        whole = (folder / "plain-assistant.gguf").read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
        with pytest.raises(LoadFailed):
            decoder.attach_heads(path)
        decoder.attach_heads(folder / "plain-assistant.gguf")
        assert follow_heads(decoder, lookahead=3, max_tokens=12).stats.proposed > 0
