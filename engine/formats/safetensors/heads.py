"""Read a folder of draft heads: its configuration, and its tensors by the names of one layout.

EAGLE-3: SpecForge and the paper's authors call the layer `midlayer`, vLLM's speculators `layers.0`; the configuration
of theirs lies in `transformer_layer_config`. EAGLE-1 and EAGLE-2, as their authors publish both: `fc` and `layers.0`,
and the configuration of a model of Llama. Medusa: `medusa_lm_head`, with a number for each head and layer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from engine.errors import LoadFailed, ModelFileBroken, ModelNotSupported
from engine.formats.draft_head import DraftHead
from engine.formats.model_file import ModelFile
from engine.formats.safetensors.model import folder_name, is_feature_head
from engine.formats.safetensors.reader import PICKLED, is_there, read_json, read_safetensors, read_safetensors_model
from engine.formats.safetensors.rope import Rope, read_rope
from engine.translatable import Translatable

MEDUSA_FILE = "medusa_lm_head.safetensors"
_MEDUSA = "medusa_num_heads"
_LAYERS = ("midlayer.", "layers.0.", "model.layers.0.")
_UNUSED = ("t2d", "verifier_lm_head.weight", "verifier_norm.weight")


@dataclass(frozen=True, slots=True)
class EagleLayout:
    """Describe an EAGLE head in a folder.

    Attributes: name; head; width (of its own states); heads, shared and key (attention heads, those of keys, numbers in
    one); epsilon (of the norms); rope; norm_before_residual, norm_before_fc (of EAGLE-3); drafted (tokens of its
    vocabulary); names (of the tensors that it uses, as in the files, with the short ones); files; depth (layers).
    """

    name: str
    head: DraftHead
    width: int
    heads: int
    shared: int
    key: int
    epsilon: float
    rope: Rope
    norm_before_residual: bool
    norm_before_fc: bool
    drafted: int
    names: Mapping[str, str]
    files: tuple[Path, ...]
    depth: int = 1


@dataclass(frozen=True, slots=True)
class MedusaLayout:
    """Describe Medusa heads in a folder.

    Attributes: name; head; count (of heads); depth (residual layers of each); drafted (tokens of the vocabulary); names
    (of the tensors, as in the files, with the short ones); files.
    """

    name: str
    head: DraftHead
    count: int
    depth: int
    drafted: int
    names: Mapping[str, str]
    files: tuple[Path, ...]


def head_in_folder(folder: Path, target_layers: int | None = None) -> DraftHead:
    """Return the head in a folder, for a target of so many layers (None: whichever).

    Raises ModelFileBroken, ModelNotSupported.
    """
    _refuse_pickled(folder)
    config = read_json(folder / "config.json")
    if _MEDUSA in config:
        head = read_medusa(folder).head
    elif "draft_vocab_size" not in _settings(config) and is_feature_head(folder):
        head = read_features(folder).head
    else:
        return read_eagle(folder, target_layers).head
    return head if target_layers is None else replace(head, layers=(target_layers,))


def is_head_folder(folder: Path) -> bool:
    """Return True if a folder is that of a head by its configuration or its tensors, whatever else is wrong with it."""
    config = _config_of(folder)
    return bool(config) and (_MEDUSA in config or "draft_vocab_size" in config or is_feature_head(folder))


def is_medusa_folder(folder: Path) -> bool:
    """Return True if the configuration in a folder is that of Medusa heads, whatever else is wrong with it."""
    return _MEDUSA in _config_of(folder)


def _config_of(folder: Path) -> dict[str, Any]:
    """Return the configuration in a folder, empty if none can be read."""
    try:
        return read_json(folder / "config.json")
    except (LoadFailed, OSError):
        return {}


def _refuse_pickled(folder: Path) -> None:
    """Raise ModelNotSupported if the weights of a folder are pickled, with the command that converts them."""
    names = sorted(entry.name for entry in folder.iterdir())
    if any(name.lower().endswith(".safetensors") for name in names):
        return
    pickled = next((name for name in names if name.lower().endswith(PICKLED)), None)
    if pickled is not None:
        raise pickled_head(folder / pickled)


def pickled_head(path: Path) -> ModelNotSupported:
    """Return the refusal of a pickled file."""
    name = "medusa_lm_head" if "medusa" in path.name.lower() else "model"
    return ModelNotSupported(
        path,
        "it is pickled, and reading such files can run code. Convert it: outrider-engine convert-head {file} "
        "{name}.safetensors",
        file=path.name,
        name=name,
    )


def with_head(model: ModelFile) -> ModelFile:
    """Describe a folder with a draft head, or the reason that it cannot be used."""
    if model.role != "draft-head":
        return model
    try:
        return replace(model, head=head_in_folder(model.path))
    except LoadFailed as error:
        reason = Translatable("It is a draft head that cannot be used: {reason}", reason=error.reason)
        return replace(model, problem=reason)


def read_medusa(folder: Path) -> MedusaLayout:
    """Return the Medusa heads of a folder, their tensors checked. Raises ModelFileBroken, ModelNotSupported."""
    number = _Numbers(folder, read_json(folder / "config.json"))
    count, depth = number(_MEDUSA), number("medusa_num_layers", 1)
    single = folder / MEDUSA_FILE
    files: tuple[Path, ...] = (single,)
    if is_there(single):
        tensors = read_safetensors(single).tensors
    else:
        model = read_safetensors_model(folder)
        tensors, files = model.tensors, model.files
    names = {name: name.removeprefix("medusa_head.") for name in tensors}
    shapes = {short: tensors[name].shape for name, short in names.items()}
    drafted, width = (*shapes.get(f"0.{depth}.weight", ()), 0, 0)[:2]
    wanted: dict[str, tuple[int, ...]] = {}
    for head in range(count):
        for layer in range(depth):
            wanted |= {f"{head}.{layer}.linear.weight": (width, width), f"{head}.{layer}.linear.bias": (width,)}
        wanted[f"{head}.{depth}.weight"] = (drafted, width)
    _check(folder, shapes, wanted)
    names = {name: short for name, short in names.items() if short in wanted}
    return MedusaLayout(
        folder_name(folder), DraftHead("medusa", (), width, drafted), count, depth, drafted, names, files
    )


def _check(folder: Path, shapes: Mapping[str, tuple[int, ...]], wanted: Mapping[str, tuple[int, ...]]) -> None:
    """Raise ModelFileBroken if a tensor is missing or has another shape."""
    for short, shape in wanted.items():
        if short not in shapes:
            raise ModelFileBroken(folder, "it lacks the tensor {name!r}.", name=short)
        if shapes[short] != shape:
            raise ModelFileBroken(
                folder,
                "the tensor {name!r} has the shape {shape}, but its header says {told}.",
                name=short,
                shape=list(shapes[short]),
                told=list(shape),
            )


def read_eagle(folder: Path, target_layers: int | None = None) -> EagleLayout:
    """Return the head of a folder, its tensors checked against its configuration.

    `target_layers`: layers of the target, where the configuration does not say which of them it reads.
    Raises ModelFileBroken, ModelNotSupported.
    """
    settings = _settings(read_json(folder / "config.json"))
    files = read_safetensors_model(folder)
    names = {name: short for name in files.tensors if (short := _short(name)) not in _UNUSED}
    shapes = {short: files.tensors[name].shape for name, short in names.items()}
    if "fc.weight" not in shapes or "draft_vocab_size" not in settings:
        raise ModelNotSupported(folder, Translatable("it has no draft heads."))
    number = _Numbers(folder, settings)
    sizes = _sizes(number)
    width = sizes.width
    drafted = shapes["lm_head.weight"][0] if len(shapes.get("lm_head.weight", ())) == 2 else 0
    read = shapes["fc.weight"][1] // 3 if len(shapes["fc.weight"]) == 2 else 0
    norm_fc = settings.get("norm_before_fc") is True
    wanted: dict[str, tuple[int, ...]] = {
        "fc.weight": (width, 3 * read),
        "norm.weight": (width,),
        "lm_head.weight": (drafted, width),
        "input_layernorm.weight": (width,),
        "hidden_norm.weight": (width,),
        **sizes.layer(2 * width),
    }
    wanted |= {"input_norm.weight": (3 * read,)} if norm_fc else {}
    wanted |= {"d2t": (drafted,)} if "d2t" in shapes else {}
    _check(folder, shapes, wanted)
    return EagleLayout(
        name=folder_name(folder),
        head=DraftHead("eagle3", _layers_read(folder, settings, target_layers), read, number("vocab_size", drafted)),
        width=width,
        heads=sizes.heads,
        shared=sizes.shared,
        key=sizes.key,
        epsilon=_float(settings, "rms_norm_eps", 1e-6),
        rope=read_rope(folder, settings),
        norm_before_residual=settings.get("norm_before_residual") is True,
        norm_before_fc=norm_fc,
        drafted=drafted,
        names={name: short for name, short in names.items() if short in wanted or short == "embed_tokens.weight"},
        files=files.files,
    )


def read_features(folder: Path) -> EagleLayout:
    """Return the EAGLE-1 or EAGLE-2 head of a folder, its tensors checked against its configuration.

    Raises ModelFileBroken, ModelNotSupported.
    """
    settings = _settings(read_json(folder / "config.json"))
    files = read_safetensors_model(folder)
    names = {name: name.removeprefix("model.") for name in files.tensors if not name.endswith(".inv_freq")}
    shapes = {short: files.tensors[name].shape for name, short in names.items()}
    number = _Numbers(folder, settings)
    sizes, depth, vocabulary = _sizes(number), number("num_hidden_layers", 1), number("vocab_size")
    activation = settings.get("hidden_act", "silu")
    if activation != "silu":
        raise ModelNotSupported(
            folder, "heads with the activation {name!r} cannot be used yet.", name=str(activation)[:40]
        )
    other = sorted(shapes.keys() - _check_features(folder, shapes, sizes, depth, vocabulary))
    if other:
        raise ModelNotSupported(folder, "it has the tensor {name!r}, which is in no EAGLE-2 head.", name=other[0][:80])
    return EagleLayout(
        name=folder_name(folder),
        head=DraftHead("eagle2", (), sizes.width, vocabulary),
        width=sizes.width,
        heads=sizes.heads,
        shared=sizes.shared,
        key=sizes.key,
        epsilon=_float(settings, "rms_norm_eps", 1e-6),
        rope=read_rope(folder, settings),
        norm_before_residual=False,
        norm_before_fc=False,
        drafted=vocabulary,
        names=names,
        files=files.files,
        depth=depth,
    )


def _check_features(
    folder: Path, shapes: Mapping[str, tuple[int, ...]], sizes: _Sizes, depth: int, vocabulary: int
) -> set[str]:
    """Return the names of such a head's required and optional tensors. Raises ModelFileBroken if they do not fit."""
    width = sizes.width
    wanted: dict[str, tuple[int, ...]] = {"fc.weight": (width, 2 * width)}
    may_be = {"fc.bias": (width,), "embed_tokens.weight": (vocabulary, width), "lm_head.weight": (vocabulary, width)}
    _check(folder, shapes, wanted)
    for layer in range(depth):
        found = {f"layers.{layer}.{name}": shape for name, shape in sizes.layer(width).items()}
        found |= {f"layers.{layer}.input_layernorm.weight": (width,)} if layer else {}
        _check(folder, shapes, found)
        wanted |= found
        for name, count in (("q", sizes.heads), ("k", sizes.shared), ("v", sizes.shared)):
            may_be[f"layers.{layer}.self_attn.{name}_proj.bias"] = (sizes.key * count,)
    wanted |= {name: shape for name, shape in may_be.items() if name in shapes}
    _check(folder, shapes, wanted)
    return {*wanted}


def _settings(config: dict[str, Any]) -> dict[str, Any]:
    inner = config.get("transformer_layer_config")
    return {**config, **inner} if isinstance(inner, dict) else config


def _short(name: str) -> str:
    for prefix in _LAYERS:
        if name.startswith(prefix):
            return name[len(prefix) :]
    return name.removeprefix("model.")


def _layers_read(folder: Path, settings: Mapping[str, Any], target_layers: int | None) -> tuple[int, ...]:
    """Return the target's states that it reads: those it names, or early, middle and late ones (EAGLE-3)."""
    named = settings.get("eagle_aux_hidden_state_layer_ids")
    inner = settings.get("eagle_config")
    if named is None and isinstance(inner, dict):
        named = inner.get("eagle_aux_hidden_state_layer_ids")
    if named is None and target_layers is not None:
        named = [2, target_layers // 2, target_layers - 3]
    if named is None:
        return ()
    if not isinstance(named, list) or len(named) != 3 or not all(type(each) is int and each >= 0 for each in named):
        raise ModelFileBroken(
            folder, Translatable("its header does not name the three layers of the target that it reads.")
        )
    return tuple(named)


def _float(settings: Mapping[str, Any], key: str, otherwise: float) -> float:
    value = settings.get(key)
    return float(value) if isinstance(value, int | float) and value > 0 else otherwise


@dataclass(frozen=True, slots=True)
class _Numbers:
    """Read whole numbers above 0. Raises ModelFileBroken."""

    folder: Path
    settings: Mapping[str, Any]

    def __call__(self, key: str, otherwise: int | None = None) -> int:
        value = self.settings.get(key, otherwise)
        value = otherwise if value is None else value
        if type(value) is not int or not 0 < value < 2**24:
            raise ModelFileBroken(self.folder, "its config.json has no valid {key!r}.", key=key)
        return value


@dataclass(frozen=True, slots=True)
class _Sizes:
    """Hold the width of states, numbers of attention heads and of those of keys, numbers in a key, and in a layer."""

    width: int
    heads: int
    shared: int
    key: int
    inner: int

    def layer(self, given: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of every layer's tensors; `given`: numbers that its attention reads."""
        queries, keys = self.heads * self.key, self.shared * self.key
        return {
            "post_attention_layernorm.weight": (self.width,),
            "self_attn.q_proj.weight": (queries, given),
            "self_attn.k_proj.weight": (keys, given),
            "self_attn.v_proj.weight": (keys, given),
            "self_attn.o_proj.weight": (self.width, queries),
            "mlp.gate_proj.weight": (self.inner, self.width),
            "mlp.up_proj.weight": (self.inner, self.width),
            "mlp.down_proj.weight": (self.width, self.inner),
        }


def _sizes(number: _Numbers) -> _Sizes:
    """Return the sizes that a configuration tells. Raises ModelFileBroken."""
    width, heads = number("hidden_size"), number("num_attention_heads")
    shared, key = number("num_key_value_heads", heads), number("head_dim", width // heads)
    if key % 2 or heads % shared:
        raise ModelFileBroken(
            number.folder,
            "its {ours} attention heads cannot share {theirs} key-value heads.",
            ours=heads,
            theirs=shared,
        )
    return _Sizes(width, heads, shared, key, number("intermediate_size"))
