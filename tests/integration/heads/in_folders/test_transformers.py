"""EAGLE-3 heads in folders of safetensors, on targets that transformers runs."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.errors import EngineError, ModelFileBroken
from engine.formats.vocabulary import make_vocabulary
from engine.library.heads import judge_heads
from engine.library.scan import scan_folder
from helpers.heads.medusa import write_medusa
from helpers.heads.replies import open_in_folder
from helpers.heads.torch_eagle import write_torch_eagle
from helpers.models.tiny_models import VOCABULARY


def test_medusa_that_tells_of_more_heads(target: Path, folder: Path) -> None:
    path = write_medusa(folder / "medusa", target)
    fixed = json.loads((path / "config.json").read_text("utf-8")) | {"medusa_num_heads": 4}
    (path / "config.json").write_text(json.dumps(fixed), "utf-8")
    with pytest.raises(ModelFileBroken, match=r"lacks the tensor '3\.0\.linear\.weight'"), open_in_folder(target, path):
        pass


def _spoiled(path: Path, change: str) -> Path:
    from safetensors.numpy import load_file, save_file  # noqa: PLC0415 - the extra may be missing

    config = json.loads((path / "config.json").read_text("utf-8"))
    tensors = load_file(path / "model.safetensors")
    if change == "tensor":
        del tensors["midlayer.hidden_norm.weight"]
    elif change == "width":
        tensors["fc.weight"] = np.ascontiguousarray(tensors["fc.weight"][:, :48])
    elif change == "layers":
        config["eagle_aux_hidden_state_layer_ids"] = [1, 2, 9]
    elif change == "table":
        tensors["d2t"] = tensors["d2t"] + 90
    elif change == "fractions":
        tensors["d2t"] = tensors["d2t"].astype(np.float32)
    elif change == "unsigned":
        tensors["d2t"] = tensors["d2t"].astype(np.uint16)
    elif change == "rope":
        config["rope_scaling"] = {"rope_type": "longrope", "factor": 2.0}
    (path / "config.json").write_text(json.dumps(config), "utf-8")
    save_file(tensors, path / "model.safetensors")
    if change == "truncated":
        data = (path / "model.safetensors").read_bytes()
        (path / "model.safetensors").write_bytes(data[: len(data) // 2])
    return path


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("tensor", r"lacks the tensor 'hidden_norm\.weight'"),
        ("width", "trained for a target of width 16, and this one has 32"),
        ("layers", "reads layer 9 of its target"),
        ("fractions", r"its table of draft tokens \(d2t\) is damaged"),
        ("unsigned", r"its table of draft tokens \(d2t\) is damaged"),
        ("table", "another vocabulary"),
        ("rope", "RoPE scaling 'longrope' cannot be used yet"),
        ("truncated", "incomplete|ends"),
    ],
)
def test_heads_that_are_refused(target: Path, tmp_path: Path, change: str, said: str) -> None:
    path = _spoiled(write_torch_eagle(tmp_path / "head", target, kept=60), change)
    with pytest.raises(EngineError, match=said), open_in_folder(target, path):
        pass


def test_folders_are_listed(target: Path, folder: Path, tmp_path: Path) -> None:
    """With the targets that they are for, by what their configurations say: they bring no tokenizer."""
    write_torch_eagle(folder / "listed-eagle", target)
    write_medusa(folder / "listed-medusa", target)
    _spoiled(write_torch_eagle(folder / "listed-layers", target), "layers")
    _spoiled(write_torch_eagle(folder / "listed-broken", target), "tensor")
    models = {model.path.name: model for place in (target.parent, folder) for model in scan_folder(place)}
    prints = np.arange(1, VOCABULARY + 1, dtype=np.uint32)
    whole = replace(models["target"], vocabulary=make_vocabulary("", None, None, prints))
    fits = {fit.source.path.name: fit for fit in judge_heads(whole, models.values())}
    assert {name: fit.method for name, fit in fits.items() if fit.fits and name.startswith("listed")} == {
        "listed-eagle": "eagle3",
        "listed-medusa": "medusa",
    }
    other = replace(whole, tokens=VOCABULARY - 1, vocabulary=make_vocabulary("", None, None, prints[:-1]))
    assert not any(fit.fits for fit in judge_heads(other, models.values()))
    assert "reads layer 9" in fits["listed-layers"].reason
    assert "it lacks the tensor 'hidden_norm.weight'" in (models["listed-broken"].problem or "")
