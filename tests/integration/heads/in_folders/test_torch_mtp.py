"""MTP layers inside a target's folder, in the layouts of DeepSeek, GLM and Qwen."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from engine.cli.main import main
from engine.config import LoadConfig
from engine.decoder import SpeculativeDecoder
from engine.errors import EngineError
from engine.library.heads import judge_heads
from engine.library.scan import scan_folder
from helpers.heads.mtp_formulas import FolderMtpReference
from helpers.heads.replies import PROMPT, compare_proposals, follow_heads, open_in_folder
from helpers.heads.torch_eagle import write_torch_target
from helpers.heads.torch_mtp import SETTINGS, names_of, read_tensors, write_mtp_folder, write_tensors
from helpers.models.pairs import assert_same_greedy
from helpers.seldom import often

TREES = ("deepseek_v3", "glm4_moe")
ASKED = ["--max-tokens", "8", "--temperature", "0", "--lookahead", "3", "--tokens", "--json", "1,40,41"]


@pytest.fixture(scope="module")
def written(folder: Path) -> Callable[[str], Path]:
    """The folders of each family, written once."""

    def write(kind: str) -> Path:
        path = folder / kind
        return path if path.exists() else write_mtp_folder(path, kind, own_output=kind in TREES)

    return write


@pytest.mark.parametrize("kind", often(["glm4_moe", "qwen3_5_text"], "qwen3_5_text"))
def test_several_layers(folder: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each proposes one token: a draft has as many as there are layers. The tensors are in several files."""
    path = write_mtp_folder(folder / f"several-{kind}", kind, count=3, parts=3, states=0.3, seed=2)
    prompt = [1, *np.random.default_rng(3).integers(3, 90, 75).tolist()]
    with open_in_folder(path, path) as decoder:
        assert decoder.target is not None
        plain = decoder.generate(PROMPT, temperature=0.0, max_tokens=40, lookahead=0)
        for lookahead in (2, 8):
            result = follow_heads(decoder, lookahead=lookahead, max_tokens=40)
            assert_same_greedy(decoder.target, PROMPT, plain, result)
            assert len(result.stats.proposed_by_position) == min(lookahead, 3)
            assert result.stats.accepted > 5
        compared, behind = compare_proposals(decoder, FolderMtpReference(path, 3).chain, monkeypatch, prompt)
        assert compared > 10
        assert behind > 0


def _spoiled(path: Path, kind: str, change: str) -> Path:
    tensors, names = read_tensors(path), names_of(kind, 0)
    block = names["block"]
    if change == "norm":
        del tensors[f"{names['state_norm']}.weight"]
    elif change == "attention":
        del tensors[f"{block}self_attn.o_proj.weight"]
    elif change == "expert":
        del tensors[f"{block}mlp.experts.3.up_proj.weight"]
    elif change == "projection":
        tensors[f"{names['projection']}.weight"] = tensors[f"{names['projection']}.weight"][:, :48]
    elif change == "shape":
        tensors[f"{block}self_attn.o_proj.weight"] = tensors[f"{block}self_attn.o_proj.weight"][:, :24]
    elif change == "quantised":
        tensors[f"{block}self_attn.o_proj.weight"] = tensors[f"{block}self_attn.o_proj.weight"].astype(np.int8)
    elif change == "all":
        tensors = {name: each for name, each in tensors.items() if not name.startswith((block, "mtp."))}
    write_tensors(path, tensors)
    return path


@pytest.mark.parametrize(
    ("kind", "change", "said"),
    [
        ("glm4_moe", "norm", "it lacks the tensor 'model.layers.2.hnorm.weight'"),
        ("qwen3_next", "norm", "it lacks the tensor 'mtp.pre_fc_norm_hidden.weight'"),
        ("deepseek_v3", "attention", "it lacks the tensor 'model.layers.2.self_attn.o_proj.weight'"),
        ("qwen3_next", "expert", "it lacks the tensor 'mtp.layers.0.mlp.experts."),
        ("qwen3_5_text", "projection", "the tensor 'mtp.fc.weight' has the shape [32, 48]"),
        ("glm4_moe", "shape", "the tensor 'model.layers.2.self_attn.o_proj.weight' has the shape [32, 24]"),
        ("glm4_moe", "quantised", "quantised (I8), which cannot be used yet"),
        ("qwen3_5_text", "all", "names MTP layers, but its files lack them"),
    ],
)
def test_layers_that_are_refused(tmp_path: Path, kind: str, change: str, said: str) -> None:
    """Asked for by name they are refused; where heads are looked for, a line says why, but for a folder without any."""
    path = _spoiled(write_mtp_folder(tmp_path / kind, kind), kind, change)
    with SpeculativeDecoder() as decoder:
        decoder.attach_target(LoadConfig(path, threads=1, device="cpu"))
        with pytest.raises(EngineError, match=re.escape(said)):
            decoder.attach_heads(path)
        reasons = decoder.find_heads()
        assert decoder.heads is None
    assert len(reasons) == (change != "all")
    assert all(said in reason for reason in reasons)


def test_refused_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In a line by name; without a word about drafts the reply is written without."""
    path = _spoiled(write_mtp_folder(tmp_path / "glm4", "glm4_moe"), "glm4_moe", "norm")
    target = ["--target", str(path), "--device", "cpu", "--threads", "1"]
    assert main(["generate", *target, "--method", "mtp", *ASKED]) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert "it lacks the tensor 'model.layers.2.hnorm.weight'" in captured.err
    assert main(["generate", *target, *ASKED]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["method"] == "autoregressive"
    assert captured.err.count("\n") == 1
    assert "No draft head is used." in captured.err


def test_found_by_itself(written: Callable[[str], Path], capsys: pytest.CaptureFixture[str]) -> None:
    target = ["--target", str(written("qwen3_5_text")), "--device", "cpu", "--threads", "1"]
    assert main(["generate", *target, *ASKED]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["method"] == "mtp"
    assert captured.err.count("\n") == 1
    assert "Drafting with the head qwen3_5_text (mtp)" in captured.err
    assert main(["generate", *target, "--method", "mtp", *ASKED]) == 0
    assert json.loads(capsys.readouterr().out)["method"] == "mtp"


def test_of_another_target(written: Callable[[str], Path], target: Path, folder: Path) -> None:
    with pytest.raises(EngineError, match="it stands behind 2 layers, and this target has 4"):
        open_in_folder(target, written("glm4_moe"))
    deeper = write_mtp_folder(folder / "deeper", "glm4_moe", num_hidden_layers=2, hidden_size=64)
    with pytest.raises(EngineError, match="trained for a target of width 64, and this one has 32"):
        open_in_folder(written("glm4_moe"), deeper)


def test_folders_are_listed(written: Callable[[str], Path], tmp_path: Path) -> None:
    """Under their own target only, and where they are whole."""
    for kind in SETTINGS:
        (tmp_path / f"good-{kind}").symlink_to(written(kind))
    _spoiled(write_mtp_folder(tmp_path / "broken", "glm4_moe"), "glm4_moe", "norm")
    _spoiled(write_mtp_folder(tmp_path / "lacking", "qwen3_next"), "qwen3_next", "all")
    write_torch_target(tmp_path / "llama")
    models = {model.path.name: model for model in scan_folder(tmp_path)}
    assert all(model.usable for model in models.values())
    found = {
        name: [(fit.source.path.name, fit.method) for fit in judge_heads(model, models.values()) if fit.fits]
        for name, model in models.items()
    }
    assert {name for name in found if found[name]} == {name for name in models if name.startswith(("good", *SETTINGS))}
    assert all(fits == [(name, "mtp")] for name, fits in found.items() if fits)
    again = {model.path.name: model.head for model in scan_folder(tmp_path)}
    assert again == {name: model.head for name, model in models.items()}
