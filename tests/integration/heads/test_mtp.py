"""MTP layers inside a target's own file."""

from pathlib import Path

import gguf
import pytest

from engine.cli.main import main
from engine.errors import ModelFileBroken, ModelNotSupported
from engine.library.heads import find_heads_of, judge_heads
from engine.library.scan import scan_folder
from helpers.heads.mtp import quantised, write_mtp_alone, write_mtp_target
from helpers.heads.replies import PROMPT, follow_heads, open_with_heads
from helpers.models.gguf_writer import GgufDraft
from helpers.models.hybrid_model import Size
from helpers.models.pairs import assert_same_greedy


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_mtp_target(tmp_path_factory.mktemp("mtp") / "target.gguf")


def _cut(target: Path, part: str, path: Path) -> Path:
    """A target without the tensors in whose names is `part`, as some tools write it."""
    draft = GgufDraft.of_file(target)
    draft.tensors = {name: each for name, each in draft.tensors.items() if part not in name}
    return draft.write(path)


@pytest.mark.parametrize("kind", ["Q4_K_M", "Q8_0"])
def test_quantised(tmp_path: Path, kind: str) -> None:
    """The layer is quantised with the rest, as by llama.cpp's own program, and guesses nearly as well."""
    size = Size(layers=2, width=256, inner=256, heads=8)
    path = quantised(write_mtp_target(tmp_path / "whole.gguf", size=size), kind)
    stored = {tensor.name: tensor.tensor_type.name for tensor in gguf.GGUFReader(path).tensors}
    assert stored["blk.2.nextn.eh_proj.weight"] == kind.removesuffix("_M")
    with open_with_heads(path, path) as decoder:
        assert decoder.target is not None
        plain = decoder.generate(PROMPT, temperature=0.0, max_tokens=40, lookahead=0)
        result = follow_heads(decoder, lookahead=3, max_tokens=40)
        assert assert_same_greedy(decoder.target, PROMPT, plain, result) == 40
        assert result.stats.accepted > result.stats.proposed / 2


def test_files_without_the_layer(target: Path, tmp_path: Path) -> None:
    lacking = write_mtp_target(tmp_path / "lacking.gguf", with_head=False)
    with open_with_heads(target, None) as decoder:
        with pytest.raises(ModelFileBroken, match=r"lacks the tensor 'blk\.4\.attn_norm\.weight'"):
            decoder.attach_heads(lacking)
        with pytest.raises(ModelNotSupported, match="it stands behind 6 layers, and this target has 4"):
            decoder.attach_heads(write_mtp_target(tmp_path / "deeper.gguf", size=Size(layers=6)))
        decoder.attach_heads(target)
    never = GgufDraft.of_file(target)
    never.entries["general.architecture"].value = "glm4"
    never.entries |= {f"glm4{name[6:]}": entry for name, entry in never.entries.items() if name.startswith("qwen35.")}
    with open_with_heads(target, None) as decoder, pytest.raises(ModelNotSupported, match="never runs them"):
        decoder.attach_heads(never.write(tmp_path / "glm4.gguf"))


def test_a_target_without_the_layer_it_tells_of(
    target: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is loaded as if its header told of none, and writes without a head, or with one that lies beside it."""
    lacking = _cut(target, "blk.4.", tmp_path / "lacking.gguf")
    (model,) = scan_folder(tmp_path)
    assert (model.usable, model.head, model.depth) == (True, None, 4)
    asked = ["--max-tokens", "8", "--temperature", "0", "--lookahead", "3", "--tokens", "--json", "1,40,41"]
    assert main(["generate", "--target", str(lacking), *asked]) == 0
    captured = capsys.readouterr()
    assert '"method": "autoregressive"' in captured.out
    assert captured.err == ""
    assert main(["generate", "--target", str(lacking), "--method", "mtp", *asked]) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert "all others of the layer for later tokens (MTP) that its header tells of" in captured.err
    with open_with_heads(lacking, None) as decoder, open_with_heads(target, None) as whole:
        text = decoder.generate(PROMPT, temperature=0.0, max_tokens=20, lookahead=0).tokens
        assert text == whole.generate(PROMPT, temperature=0.0, max_tokens=20, lookahead=0).tokens
    with open_with_heads(lacking, write_mtp_alone(tmp_path / "alone.gguf", target)) as decoder:
        result = follow_heads(decoder, PROMPT, lookahead=3, max_tokens=20)
        assert result.tokens == text
        assert result.stats.accepted > 2


@pytest.mark.parametrize("kind", ["by-layer", "in-part"])
def test_a_target_that_cannot_be_loaded_without(
    kind: str, target: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where lists count the layer too, or half of it is there, llama.cpp refuses the file: the listing says so."""
    path = tmp_path / "t.gguf"
    if kind == "by-layer":
        write_mtp_target(path, with_head=False, by_layer=True)
    else:
        _cut(target, ".nextn.", path)
    why = "lacks the tensor 'blk.4.nextn.eh_proj.weight' of the MTP layers"
    (model,) = scan_folder(tmp_path)
    assert not model.usable
    assert why in str(model.problem)
    assert main(["generate", "--target", str(path), "--max-tokens", "4", "--tokens", "1,40"]) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert why in captured.err


def test_on_the_command_line(target: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The target's own layers need no --heads; what has none says so in a line."""
    said = ["--max-tokens", "8", "--temperature", "0", "--tokens", "--json", "1,40,41"]
    assert main(["generate", "--target", str(target), "--method", "mtp", *said]) == 0
    assert '"method": "mtp"' in capsys.readouterr().out
    assert main(["generate", "--target", "demo", "--method", "mtp", *said]) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert "it has no draft heads" in captured.err


def test_in_a_file_of_its_own(target: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It proposes what it does inside, and is found beside a target whose file lost its layer."""
    alone = write_mtp_alone(tmp_path / "a.gguf", target)
    found = []
    for heads in (target, alone):
        with open_with_heads(target, heads) as decoder:
            found.append(follow_heads(decoder, lookahead=3))
    assert found[0].tokens == found[1].tokens
    assert found[0].stats.accepted == found[1].stats.accepted > 5
    lacking = write_mtp_target(tmp_path / "t.gguf", with_head=False)
    assert find_heads_of(lacking) == [alone]
    models = scan_folder(tmp_path)
    assert {model.path.stem: model.role for model in models} == {"a": "draft-head", "t": "model"}
    (fit,) = judge_heads(next(model for model in models if model.path == lacking), models)
    assert (fit.source.path, fit.method, fit.fits) == (alone, "mtp", True)
    asked = ["--max-tokens", "4", "--tokens", "1,40"]
    assert main(["generate", "--target", str(alone), *asked]) == 2
    assert "a draft head for a target, not a model of its own" in capsys.readouterr().err
    write_mtp_alone(alone, target, without="output_norm.weight")
    assert main(["generate", "--target", str(target), "--heads", str(alone), *asked]) == 2
    captured = capsys.readouterr().err
    assert "lacks the tensor 'output_norm.weight'" in captured
    assert captured.count("\n") == 1
