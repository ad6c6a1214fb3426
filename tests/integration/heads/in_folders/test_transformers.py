"""EAGLE-3 heads in folders of safetensors, on targets that transformers runs."""

import json
from pathlib import Path

import numpy as np
import pytest

from engine.errors import EngineError, ModelFileBroken
from helpers.heads.medusa import write_medusa
from helpers.heads.replies import open_in_folder
from helpers.heads.torch_eagle import write_torch_eagle


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
