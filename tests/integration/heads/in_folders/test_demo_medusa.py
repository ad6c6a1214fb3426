"""The Medusa heads that ship for the demo target, on both backends."""

import json
from pathlib import Path

import pytest

from engine.cli.main import main
from engine.config import LoadConfig
from engine.decoder import SpeculativeDecoder
from engine.formats.safetensors.heads import read_medusa
from engine.formats.safetensors.reader import read_safetensors
from engine.library.heads import find_heads_of
from engine.library.names import resolve_source
from helpers.models.pairs import HELD_OUT, assert_same_greedy
from helpers.paths import ROOT

PROMPTS = [each["prompt"] for each in json.loads(HELD_OUT.read_text("utf-8")) if "prompt" in each][::10]
_MOST = 8_000_000


@pytest.fixture
def on_llama(bundled_target: Path) -> Path:
    return bundled_target


@pytest.fixture
def on_transformers(bundled_target: Path, tmp_path: Path) -> Path:
    """The demo target in a folder."""
    pytest.importorskip("transformers")
    from demopair import export  # noqa: PLC0415 - the recipe is no package of the program
    from demopair.heads import target  # noqa: PLC0415

    folder = tmp_path / "demo-target"
    export.write_transformers(target.read_model(bundled_target), target.read_tokenizer(bundled_target), folder)
    return folder


@pytest.mark.parametrize(
    ("target", "every"), [("on_llama", 2), pytest.param("on_transformers", 3, marks=pytest.mark.soak)]
)
def test_they_pay_in_tokens_and_change_no_text(target: str, every: int, request: pytest.FixtureRequest) -> None:
    """A round gives nearly two tokens in the mean, and a tree more than a chain."""
    with SpeculativeDecoder() as decoder:
        decoder.attach_target(LoadConfig(request.getfixturevalue(target), threads=1, trusted=True))
        decoder.attach_heads(resolve_source("demo-medusa"))
        assert decoder.target is not None
        lengths: list[float] = []
        for shape in ({"lookahead": 4}, {"tree": "3x4"}):
            rounds = emitted = 0
            for prompt in PROMPTS[::every]:
                plain = decoder.generate(prompt, lookahead=0, temperature=0.0, max_tokens=60)
                result = decoder.generate(prompt, temperature=0.0, max_tokens=60, **shape)
                assert result.method == "medusa"
                assert_same_greedy(decoder.target, decoder.encode(prompt), plain, result, close=0.05)
                assert result.stats.target_forwards == result.stats.rounds
                rounds += result.stats.rounds
                emitted += result.stats.emitted
            lengths.append(emitted / rounds)
    assert lengths[0] > 1.7
    assert lengths[1] > lengths[0]


def test_they_are_listed_under_the_demo_target_and_taken_only_by_name(
    bundled_target: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The demo pair drafts with its small model: no head is found beside it."""
    assert main(["models", str(ROOT / "resources"), "--json"]) == 0
    told = {Path(each["path"]).name: each["heads"] for each in json.loads(capsys.readouterr().out)["models"]}
    fits = {Path(each["path"]).name: each["method"] for each in told[bundled_target.name] if each["fits"]}
    assert fits["demo-medusa"] == "medusa"
    assert find_heads_of(bundled_target) == []
    with SpeculativeDecoder() as decoder:
        decoder.attach_target(LoadConfig(bundled_target, threads=1, trusted=True))
        decoder.find_heads()
        assert decoder.heads is None


def test_they_are_small() -> None:
    """Four heads with the whole vocabulary: most of it in eight bits."""
    layout = read_medusa(resolve_source("demo-medusa"))
    assert (layout.count, layout.depth, layout.drafted, layout.head.width) == (4, 1, 4096, 384)
    (file,) = layout.files
    assert file.stat().st_size < _MOST
    kinds = {(len(each.shape), each.dtype) for each in read_safetensors(file).tensors.values()}
    assert kinds == {(2, "F8_E4M3"), (2, "F16"), (1, "F16")}
