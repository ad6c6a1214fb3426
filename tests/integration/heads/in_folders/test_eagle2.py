"""EAGLE-1 and EAGLE-2 heads in folders of safetensors, on targets that transformers runs: chains and trees."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.cli.main import main
from engine.decoder import SpeculativeDecoder
from engine.errors import EngineError
from engine.formats.vocabulary import make_vocabulary
from engine.library.heads import find_heads_of, judge_heads
from engine.library.scan import inspect_model, scan_folder
from helpers.heads.medusa import write_medusa
from helpers.heads.replies import follow_heads, open_in_folder
from helpers.heads.rope import LINEAR
from helpers.heads.torch_eagle import write_torch_eagle
from helpers.heads.torch_eagle2 import write_torch_eagle2
from helpers.models.tiny_models import VOCABULARY


@pytest.fixture
def decoder(target: Path, folder: Path) -> Iterator[SpeculativeDecoder]:
    with open_in_folder(target, write_torch_eagle2(folder / "replies", target)) as opened:
        yield opened


def _spoiled(path: Path, change: str) -> Path:
    """A folder with something wrong."""
    config = json.loads((path / "config.json").read_text("utf-8"))
    weights = path / "model.safetensors"
    if change == "vocabulary":
        config["vocab_size"] = VOCABULARY + 3
    elif change == "layers":
        config["num_hidden_layers"] = 2
    elif change == "entry":
        config["num_attention_heads"] = "two"
    elif change == "rope":
        config["rope_scaling"] = {"type": "dynamic", "factor": 2.0}
    elif change == "truncated":
        data = weights.read_bytes()
        weights.write_bytes(data[: len(data) // 2])
    elif change == "pickled":
        torch: Any = pytest.importorskip("torch")
        safetensors_torch: Any = pytest.importorskip("safetensors.torch")
        torch.save(safetensors_torch.load_file(weights), path / "pytorch_model.bin")
        weights.unlink()
    (path / "config.json").write_text(json.dumps(config), "utf-8")
    return path


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "fc": ({"drop": ("fc.weight",)}, r"lacks the tensor 'fc\.weight'"),
    "tensor": ({"drop": ("layers.0.mlp.up_proj.weight",)}, r"lacks the tensor 'layers\.0\.mlp\.up_proj\.weight'"),
    "layers": ({}, r"lacks the tensor 'layers\.1\."),
    "vocabulary": ({"own_embedding": False}, "another vocabulary"),
    "activation": ({"hidden_act": "relu"}, "the activation 'relu' cannot be used yet"),
    "entry": ({}, "no valid 'num_attention_heads'"),
    "rope": ({}, "RoPE scaling 'dynamic' cannot be used yet"),
    "rope-lacking": ({"rope_scaling": {"rope_type": "llama3", "factor": 8.0}}, "'low_freq_factor=None' is invalid"),
    "rope-factor": ({"rope_scaling": LINEAR | {"factor": -2}}, "'factor=-2' is invalid"),
    "truncated": ({}, "incomplete|ends"),
    "pickled": ({}, r"convert-head pytorch_model\.bin model\.safetensors"),
    "width": ({}, "trained for a target of width 16, and this one has 32"),
    "more": ({}, "has the tensor 'embed_layernorm.weight', which is in no EAGLE-2 head"),
}


def _refused(folder: Path, target: Path, change: str) -> Path:
    path = write_torch_eagle2(folder, target, **REFUSED[change][0])
    if change == "width":
        return _other_width(path)
    if change == "more":
        from safetensors.numpy import load_file, save_file  # noqa: PLC0415 - the extra may be missing

        more = {"embed_layernorm.weight": np.ones(32, np.float32)}
        save_file(load_file(path / "model.safetensors") | more, path / "model.safetensors")
        return path
    return _spoiled(path, change)


def _other_width(path: Path) -> Path:
    """The head of a target half as wide."""
    from safetensors.numpy import load_file, save_file  # noqa: PLC0415 - the extra may be missing

    halved: dict[str, Any] = {}
    for name, values in load_file(path / "model.safetensors").items():
        rows = values.shape[0] if name == "embed_tokens.weight" else values.shape[0] // 2
        halved[name] = np.ascontiguousarray(
            values[:rows, : values.shape[1] // 2] if values.ndim == 2 else values[:rows]
        )
    save_file(halved, path / "model.safetensors")
    config = json.loads((path / "config.json").read_text("utf-8"))
    config |= {"hidden_size": config["hidden_size"] // 2, "intermediate_size": config["intermediate_size"] // 2}
    (path / "config.json").write_text(json.dumps(config), "utf-8")
    return path


@pytest.mark.parametrize("change", REFUSED)
def test_heads_that_are_refused(decoder: SpeculativeDecoder, target: Path, tmp_path: Path, change: str) -> None:
    path = _refused(tmp_path / "head", target, change)
    with pytest.raises(EngineError, match=REFUSED[change][1]):
        decoder.attach_heads(path)


def test_one_line_and_without_it(target: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Named, a wrong head ends the command with one line; found beside its target, the reply is written without it."""
    whole = tmp_path / "target"
    whole.symlink_to(target, target_is_directory=True)
    asked = ["--max-tokens", "8", "--temperature", "0", "--lookahead", "3", "--tokens", "--json", "1,40,41"]
    for change in ("pickled", "truncated"):
        path = _refused(tmp_path / change, target, change)
        assert main(["generate", "--target", str(whole), "--heads", str(path), *asked]) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        assert find_heads_of(whole) == [path]
        assert main(["generate", "--target", str(whole), *asked]) == 0
        captured = capsys.readouterr()
        assert json.loads(captured.out)["method"] == "autoregressive"
        assert captured.err.count("\n") == 1
        assert "No draft head is used." in captured.err
        path.rename(tmp_path / f".{change}")
    right = write_torch_eagle2(tmp_path / "whole", target)
    assert main(["generate", "--target", str(whole), *asked]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["method"] == "eagle2"
    assert "Drafting with the head whole" in captured.err
    assert main(["generate", "--target", str(whole), "--draft", str(right), *asked]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_converted_head_drafts(
    decoder: SpeculativeDecoder, target: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _refused(tmp_path / "head", target, "pickled")
    assert main(["convert-head", str(path / "pytorch_model.bin"), str(path / "model.safetensors")]) == 0
    assert "tensors written" in capsys.readouterr().out
    decoder.attach_heads(path)
    assert follow_heads(decoder, lookahead=3, max_tokens=12).stats.accepted > 0


def test_folders_are_listed(target: Path, tmp_path: Path) -> None:
    """Under the targets that they are for, told from models by their tensors, beside heads of other kinds."""
    (tmp_path / "target").symlink_to(target, target_is_directory=True)
    write_torch_eagle2(tmp_path / "a", target)
    write_torch_eagle2(tmp_path / "b", target, own_embedding=False, bias=False)
    write_torch_eagle(tmp_path / "c", target)
    write_medusa(tmp_path / "d", target)
    for change in ("width", "vocabulary", "fc", "truncated", "pickled"):
        _refused(tmp_path / change, target, change)
    models = {model.path.name: model for model in scan_folder(tmp_path)}
    assert [name for name, model in models.items() if model.usable] == ["target"]
    prints = np.arange(1, VOCABULARY + 1, dtype=np.uint32)
    whole = replace(models["target"], vocabulary=make_vocabulary("", None, None, prints))
    fits = {fit.source.path.name: fit for fit in judge_heads(whole, models.values())}
    assert {name: fit.method for name, fit in fits.items() if fit.fits} == {
        "a": "eagle2",
        "b": "eagle2",
        "c": "eagle3",
        "d": "medusa",
    }
    assert "trained for a target of width 16" in fits["width"].reason
    assert "another vocabulary" in fits["vocabulary"].reason
    for change in ("fc", "truncated", "pickled"):
        assert models[change].role == "draft-head"
        assert "It is a draft head that cannot be used" in (models[change].problem or "")
    with pytest.raises(EngineError, match="draft head for a target"):
        inspect_model(tmp_path / "a")
    assert scan_folder(tmp_path) == tuple(models.values()), "from the cache"
