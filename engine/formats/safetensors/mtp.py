"""Read the MTP layers that a target's own folder may bring: which tensors they have, by one layout.

DeepSeek-V3 and GLM-4.5 put them behind the target's layers, each with tensors of its own (`enorm`, `hnorm`, `eh_proj`,
`shared_head`); Qwen3-Next and Qwen3.5 call them `mtp`, with norms and a projection for all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from engine.errors import LoadFailed, ModelFileBroken, ModelNotSupported
from engine.formats.draft_head import DraftHead
from engine.formats.model_file import ModelFile
from engine.formats.safetensors.model import folder_name
from engine.formats.safetensors.reader import StoredTensor, is_there, read_json, read_safetensors_model
from engine.translatable import Translatable

_COUNTS = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_layers")
"""The configurations' names for the number of MTP layers."""
_LAYER = re.compile(r"(.*\blayers\.)(\d+)\.(.+)")
_BEHIND = ("model.layers.", "model.language_model.layers.")
_APART = "mtp.layers."
_OWN = {
    "enorm.weight": "token_norm",
    "hnorm.weight": "state_norm",
    "eh_proj.weight": "projection",
    "shared_head.norm.weight": "norm",
    "shared_head.head.weight": "output",
    "embed_tokens.weight": "embedding",
}
_SHARED = {
    "mtp.pre_fc_norm_embedding.weight": "token_norm",
    "mtp.pre_fc_norm_hidden.weight": "state_norm",
    "mtp.fc.weight": "projection",
    "mtp.norm.weight": "norm",
    "mtp.lm_head.weight": "output",
    "mtp.embed_tokens.weight": "embedding",
}
_NEEDED = ("token_norm", "state_norm", "projection", "norm")
_PLAIN = frozenset({"F32", "BF16", "F16", "F64"})
_EXPERT = re.compile(r"\.experts\.(\d+\.)?")


@dataclass(frozen=True, slots=True)
class MtpLayer:
    """Describe an MTP layer. Every value is the name of a tensor in the files.

    Attributes: parts (its norms `token_norm`, `state_norm` and `norm`, its `projection`, and where it has its own
    `output` and `embedding`); block (of the decoder layer, by the names in it); prefix (of the block's names).
    """

    parts: Mapping[str, str]
    block: Mapping[str, str]
    prefix: str


@dataclass(frozen=True, slots=True)
class MtpLayout:
    """Describe the MTP layers in a target's folder.

    Attributes: name; head; layers (the first for the token behind the next one, and so on); files.
    """

    name: str
    head: DraftHead
    layers: tuple[MtpLayer, ...]
    files: tuple[Path, ...]


def brings_mtp(folder: Path) -> bool:
    """Return True if a folder holds a model whose files have MTP tensors, valid or not."""
    try:
        config = read_json(folder / "config.json")
        if not is_there(folder / "model.safetensors") and not is_there(folder / "model.safetensors.index.json"):
            return False
        return bool(_layers_in(read_safetensors_model(folder).tensors, _text_part(config)))
    except (LoadFailed, OSError):
        return False


def tells_of_mtp(folder: Path) -> bool:
    """Return True if the configuration in a folder tells of MTP layers, which its files may lack."""
    try:
        return _mtp_layers(_text_part(read_json(folder / "config.json"))) > 0
    except (LoadFailed, OSError):
        return False


def with_inner_head(model: ModelFile) -> ModelFile:
    """Describe a target's folder, with its MTP layers where these can be used."""
    if model.role != "model" or not model.usable or model.file_format != "safetensors":
        return model
    try:
        return replace(model, head=read_mtp(model.path).head)
    except LoadFailed:
        return model


def read_mtp(folder: Path) -> MtpLayout:
    """Return the MTP layers in a target's folder, their tensors checked against the target's own layers.

    Raises ModelFileBroken, ModelNotSupported.
    """
    config = _text_part(read_json(folder / "config.json"))
    model = read_safetensors_model(folder)
    width, depth = _whole(config, "hidden_size"), _whole(config, "num_hidden_layers")
    layers = _layers_in(model.tensors, config)
    if not layers:
        if _mtp_layers(config):
            raise ModelFileBroken(folder, Translatable("its config.json names MTP layers, but its files lack them."))
        raise ModelNotSupported(folder, Translatable("it has no draft heads."))
    for layer in layers:
        _check_numbers(folder, model.tensors, layer)
        for part in _NEEDED:
            if part not in layer.parts:
                raise _lacking(folder, _count_name(layer, part))
        for part, shape in {
            "token_norm": (width,),
            "state_norm": (width,),
            "projection": (width, 2 * width),
            "norm": (width,),
        }.items():
            check_shape(folder, layer.parts[part], model.tensors[layer.parts[part]].shape, shape)
        if "quantization_config" not in config:
            _check_block(folder, model.tensors, layer, depth)
    return MtpLayout(folder_name(folder), DraftHead("mtp", (depth,), width), layers, model.files)


def _layers_in(tensors: Mapping[str, StoredTensor], config: Mapping[str, Any]) -> tuple[MtpLayer, ...]:
    """Return the MTP layers among the tensors of a model, in order."""
    depth = _whole(config, "num_hidden_layers")
    blocks: dict[tuple[str, int], dict[str, str]] = {}
    for name in tensors:
        match = _LAYER.fullmatch(name)
        if match is not None and (match[1] == _APART or (match[1] in _BEHIND and int(match[2]) >= depth > 0)):
            blocks.setdefault((match[1], int(match[2])), {})[match[3]] = name
    shared = {_SHARED[name]: name for name in tensors if name in _SHARED}
    if shared and not blocks:
        blocks[_APART, 0] = {}
    found = []
    for (prefix, number), block in sorted(blocks.items()):
        own = {_OWN[short]: name for short, name in block.items() if short in _OWN}
        parts = shared if prefix == _APART else own
        if not parts:  # A layer too many, but not one of these.
            continue
        rest = {short: name for short, name in block.items() if short not in _OWN}
        found.append(MtpLayer(parts, rest, f"{prefix}{number}."))
    return tuple(found)


def _check_numbers(folder: Path, tensors: Mapping[str, StoredTensor], layer: MtpLayer) -> None:
    """Raise ModelNotSupported if a layer is quantised."""
    for name in (*layer.parts.values(), *layer.block.values()):
        if tensors[name].dtype not in _PLAIN:
            raise ModelNotSupported(
                folder, "its MTP layers are quantised ({dtype}), which cannot be used yet.", dtype=tensors[name].dtype
            )


def _check_block(folder: Path, tensors: Mapping[str, StoredTensor], layer: MtpLayer, depth: int) -> None:
    """Check a block against the most similar one of the target's own layers: it is of the same kind.

    Experts may be stored otherwise there, and a layer without them may be all that the target has: what the backend
    needs in the end is looked at when it builds the block.
    """
    own = _most_alike(layer.block, _own_layers(tensors, depth))
    sparse = [any(_EXPERT.search(name) for name in names) for names in (own, layer.block)]
    for short, name in own.items():
        feed_forward = short.startswith("mlp.")
        if (feed_forward and sparse[0] != sparse[1]) or _EXPERT.search(short):
            continue
        if short not in layer.block:
            raise _lacking(folder, layer.prefix + short)
        check_shape(folder, layer.block[short], tensors[layer.block[short]].shape, tensors[name].shape)


def _own_layers(tensors: Iterable[str], depth: int) -> list[dict[str, str]]:
    """Return the tensors of the target's own layers, by the names in each."""
    found: dict[int, dict[str, str]] = {}
    for name in tensors:
        match = _LAYER.fullmatch(name)
        if match is not None and match[1] in _BEHIND and int(match[2]) < depth:
            found.setdefault(int(match[2]), {})[match[3]] = name
    return list(found.values())


def _most_alike(block: Mapping[str, str], layers: Iterable[dict[str, str]]) -> dict[str, str]:
    return max(
        layers, key=lambda names: len(names.keys() & block.keys()) - len(names.keys() - block.keys()), default={}
    )


def _count_name(layer: MtpLayer, part: str) -> str:
    """Return the name of a missing part in the file."""
    if layer.prefix.startswith(_APART):
        return next(name for name, short in _SHARED.items() if short == part)
    return layer.prefix + next(name for name, short in _OWN.items() if short == part)


def _lacking(folder: Path, name: str) -> ModelFileBroken:
    return ModelFileBroken(folder, "it lacks the tensor {name!r}.", name=name)


def check_shape(folder: Path, name: str, shape: tuple[int, ...], required: tuple[int, ...]) -> None:
    """Raise ModelFileBroken if a tensor's shape differs from the required one."""
    if shape != required:
        raise ModelFileBroken(
            folder,
            "the tensor {name!r} has the shape {shape}, but config.json requires {asked}.",
            name=name,
            shape=list(shape),
            asked=list(required),
        )


def _text_part(config: dict[str, Any]) -> dict[str, Any]:
    """Return the entries of the part that writes text, in a model that also sees or hears."""
    part = config.get("text_config")
    if not isinstance(part, dict) or not part:
        return config
    outer = {"quantization_config": config["quantization_config"]} if "quantization_config" in config else {}
    return outer | part


def _mtp_layers(config: Mapping[str, Any]) -> int:
    return next((number for key in _COUNTS if (number := _whole(config, key))), 0)


def _whole(config: Mapping[str, Any], key: str) -> int:
    value = config.get(key)
    return value if type(value) is int and 0 <= value < 2**24 else 0
