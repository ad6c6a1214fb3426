"""Medusa heads in the published layout, fitted to a tiny target by least squares, and their reference."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from helpers.heads.compiled_medusa import PlainMedusa
from helpers.heads.formulas import normed
from helpers.models.tiny_models import VOCABULARY, rows_without_cache, silence, torch, transformers

safetensors_numpy: Any = pytest.importorskip("safetensors.numpy")
Array = NDArray[np.float32]
HEADS, DEPTH = 3, 1


def write_medusa(folder: Path, target: Path, *, seed: int = 0, prefix: str = "") -> Path:
    """Heads that tell the likeliest tokens behind the next one, as far as a linear layer can, and a small residual."""
    with silence():
        model = transformers.AutoModelForCausalLM.from_pretrained(target).eval()
    rng = np.random.default_rng(seed)
    states, following = [], []
    after = rows_without_cache(model, list(range(VOCABULARY))).argmax(axis=1)
    for _ in range(6):
        tokens = rng.integers(3, VOCABULARY, 200).tolist()
        with torch.inference_mode(), silence():
            found = model.model(input_ids=torch.tensor([tokens])).last_hidden_state[0].numpy()
        states.append(found)
        following.append(rows_without_cache(model, tokens).argmax(axis=1))
    x, token = np.concatenate(states), np.concatenate(following)
    width = x.shape[1]
    tensors: dict[str, Any] = {}
    inverse = np.linalg.inv(x.T @ x + 0.1 * np.eye(width)) @ x.T
    for head in range(HEADS):
        token = after[token]
        weight = 12.0 * inverse @ np.eye(VOCABULARY)[token]
        tensors[f"{prefix}{head}.0.linear.weight"] = 0.02 * rng.standard_normal((width, width))
        tensors[f"{prefix}{head}.0.linear.bias"] = 0.02 * rng.standard_normal(width)
        tensors[f"{prefix}{head}.{DEPTH}.weight"] = weight.T
    folder.mkdir(parents=True, exist_ok=True)
    config = {"medusa_num_heads": HEADS, "medusa_num_layers": DEPTH, "base_model_name_or_path": "target"}
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    stored = {name: np.ascontiguousarray(each, np.float32) for name, each in tensors.items()}
    safetensors_numpy.save_file(stored, folder / "medusa_lm_head.safetensors")
    return folder


class MedusaReference(PlainMedusa):
    """The heads in plain float32, behind the norm of the target, whose states they are given without."""

    def __init__(self, path: Path, target: Path) -> None:
        super().__init__(path)
        self.norm = safetensors_numpy.load_file(target / "model.safetensors")["model.norm.weight"]

    def chain(self, tokens: Sequence[int], states: Array, proposed: Sequence[int]) -> Array:
        """Rows behind the last token, as many as `proposed`, from the last of the target's states."""
        return super().chain(tokens, normed(states[-1:], self.norm, 1e-6), proposed)
