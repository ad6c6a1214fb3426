"""Check the model of a folder's config.json against the tensors in its files, before any memory is taken.

No code of the folder is run: entries that would have transformers do that, or read other files, are dropped.
"""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING,
    MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING,
)

from engine.errors import ModelFileBroken, ModelNotSupported
from engine.formats.safetensors.model import SEEING
from engine.formats.safetensors.reader import SafetensorsModel, read_json
from engine.translatable import Translatable

DEFAULT_CONTEXT = 4096
_MAX_CONFIG = 16 * 2**20
_MOST_PARTS = 100_000
_WRITES = re.compile(r".*(ForCausalLM|LMHeadModel|ForConditionalGeneration|ModelWithLMHead|WithLMHeadModel)")
_LAYER = re.compile(r"(.*\.(?:layers|h|blocks|block)\.)(\d+)\.(.*)")
_CONTEXT_NAMES = ("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len", "max_sequence_length", "seq_length")
_CODE = ("auto_map", "custom_pipelines", "transformers_weights", "fusion_config", "distributed_config")
"""Entries of a configuration that would have transformers run code, read other files or replace parts of the model."""
OWN_KERNELS: dict[str, Any] = {
    "attn_implementation": None,
    "experts_implementation": None,
    "trust_remote_code": False,
}
"""Arguments for any configuration: one may name kernels that would have to be downloaded."""


def first_line(error: BaseException) -> str:
    """Return the message of an error of another library in one short line."""
    text = " ".join(str(error).split())
    if isinstance(error, KeyError):
        text = f"{text} is unknown"
    return text[:240].rstrip(".") if text else type(error).__name__


def read_config(folder: Path) -> Any:
    """Return the configuration, as transformers reads it. Raises ModelFileBroken, ModelNotSupported."""
    settings = read_json(folder / "config.json", _MAX_CONFIG)
    kind = settings.get("model_type")
    if not isinstance(kind, str) or not kind:
        raise ModelFileBroken(folder, Translatable("its config.json does not name the model type (model_type)."))
    if kind not in CONFIG_MAPPING:
        if "auto_map" in settings:
            reason = Translatable(
                "the model type {kind!r} needs code from the model folder, which Outrider never runs", kind=kind[:60]
            )
        else:
            reason = Translatable(
                "the installed transformers {version} does not support the model type {kind!r}",
                kind=kind[:60],
                version=transformers.__version__,
            )
        raise ModelNotSupported(folder, "{reason}. Choose another model, or convert it to GGUF.", reason=reason)
    try:
        config = transformers.AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        parts = [config, *(getattr(config, name, None) for name in config.sub_configs)]
    except Exception as error:
        raise ModelFileBroken(
            folder, "its config.json cannot be used ({first_line}).", first_line=first_line(error)
        ) from error
    for part in filter(None, parts):
        for name in _CODE:
            vars(part).pop(name, None)
    return config


def model_class_of(folder: Path, config: Any) -> tuple[Any, Any]:
    """Return the class that writes text with such a configuration, and the configuration that it takes."""
    listed = config.architectures if isinstance(config.architectures, list | tuple) else ()
    names = [name for name in listed if isinstance(name, str)]
    if config.is_encoder_decoder:
        raise ModelNotSupported(
            folder, Translatable("it is an encoder-decoder model, which turns one text into another.")
        )
    seeing = type(config) not in MODEL_FOR_CAUSAL_LM_MAPPING and type(config) in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING
    if seeing and config.model_type in SEEING:
        return MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING[type(config)], config
    if seeing:
        raise ModelNotSupported(
            folder,
            "{model_type} models read pictures in a way that is not supported here. Choose its GGUF file, with its "
            "projector (mmproj) beside it.",
            model_type=config.model_type,
        )
    if type(config) not in MODEL_FOR_CAUSAL_LM_MAPPING:
        raise ModelNotSupported(
            folder, "{model_type} models do not generate text token by token.", model_type=config.model_type
        )
    found: Any = MODEL_FOR_CAUSAL_LM_MAPPING[type(config)]
    if isinstance(found, tuple | list):
        found = next((kind for kind in found if kind.__name__ in names), found[0])
    if names and found.__name__ not in names and not any(map(_WRITES.fullmatch, names)):
        raise ModelNotSupported(folder, "its files contain a {kind}, which does not generate text.", kind=names[0])
    text = config.sub_configs.get("text_config")
    if text is not None and found.config_class is text:
        outer, config = config, config.get_text_config()
        if getattr(outer, "quantization_config", None) is not None:
            config.quantization_config = outer.quantization_config
    return found, config


def context_length_of(config: Any, wanted: int | None) -> int:
    """Return tokens of context: `wanted`, 4,096 otherwise, and never more than the model was made for.

    Rotations that change with the length of the text (dynamic, longrope) are used up to where they would change:
    what is in the cache was rotated otherwise.
    """
    text = config.get_text_config(decoder=True)
    # Looked up in what the configuration itself says: recurrent models have other numbers under such names.
    limits = [vars(text).get(name) for name in _CONTEXT_NAMES]
    rope = getattr(text, "rope_parameters", None)
    ropes = [rope, *rope.values()] if isinstance(rope, dict) else []
    limits.extend(
        part.get("original_max_position_embeddings")
        for part in ropes
        if isinstance(part, dict) and part.get("rope_type") in {"dynamic", "longrope"}
    )
    known = [limit for limit in limits if isinstance(limit, int) and limit > 0]
    return min([wanted or DEFAULT_CONTEXT, *known])


# Files against configuration ------------------------------------------------------------------------------------------


def check_against_files(folder: Path, config: Any, files: SafetensorsModel) -> None:
    """Check config.json against the tensors in the files, before any memory is taken. Raises ModelFileBroken."""
    text = config.get_text_config(decoder=True)
    for name, value in vars(text).items():
        if not isinstance(value, int) or isinstance(value, bool):
            continue
        limit = len(files.tensors) if "layers" in name or name == "n_layer" else _MOST_PARTS
        if ("layer" in name or "expert" in name) and value > limit:
            raise ModelFileBroken(
                folder,
                "its config.json gives {value} for {name!r}, but its files do not match.",
                value=value,
                name=name,
            )
    seeing = config.model_type in SEEING
    library: Any = transformers.AutoModelForImageTextToText if seeing else transformers.AutoModelForCausalLM
    try:
        with torch.device("meta"):
            outline = library.from_config(copy.deepcopy(config), **OWN_KERNELS)
    except Exception as error:
        raise ModelFileBroken(
            folder, "its config.json cannot be used ({first_line}).", first_line=first_line(error)
        ) from error
    claimed = {name: tuple(tensor.shape) for name, tensor in outline.state_dict().items()}
    for name, shape in claimed.items():
        stored = files.tensors.get(name)
        if stored is not None and stored.shape != shape:
            raise ModelFileBroken(
                folder,
                "the tensor {name!r} has the shape {shape}, but config.json requires {asked}.",
                name=name,
                shape=list(stored.shape),
                asked=list(shape),
            )
    elements = sum(parameter.numel() for parameter in outline.parameters())
    lacking = sorted(name for name, _ in outline.named_parameters() if name not in files.tensors)
    # Where most names are others, transformers renames the tensors of the files.
    if elements > files.parameters and 2 * len(lacking) < len(claimed):
        raise _lacking(folder, lacking)
    if elements > 1.02 * files.parameters + 1024:
        raise ModelFileBroken(
            folder,
            "its config.json describes {elements:,} weights, but its files contain {parameters:,}: part of "
            "the model is missing.",
            elements=elements,
            parameters=files.parameters,
        )


def check_found(folder: Path, files: SafetensorsModel, found: dict[str, Any]) -> None:
    """Check that every tensor had its place and every place its tensor. Raises ModelFileBroken."""
    missing = sorted(map(str, found["missing_keys"]))
    if missing:
        raise _lacking(folder, missing)
    layers: dict[tuple[str, int], set[str]] = {}
    for name in files.tensors:
        match = _LAYER.fullmatch(name)
        if match is not None:
            layers.setdefault((match[1], int(match[2])), set()).add(match[3])
    for name in sorted(map(str, found["unexpected_keys"])):
        match = _LAYER.fullmatch(name)
        # Layers for other purposes, such as predicting several tokens, have tensors of their own.
        if match is not None and layers.get((match[1], int(match[2]))) == layers.get((match[1], 0), set()):
            raise ModelFileBroken(
                folder, "its files contain the layer of {name!r}, which config.json does not describe.", name=name
            )


def _lacking(folder: Path, names: list[str]) -> ModelFileBroken:
    more = Translatable(" and {count} more", count=len(names) - 1) if len(names) > 1 else ""
    return ModelFileBroken(
        folder, "its files lack the tensor {name!r}{more}. Download the model again.", name=names[0], more=more
    )
