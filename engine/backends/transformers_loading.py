"""From a folder with config.json and safetensors to a model of transformers on a device, everything checked before.

No code of the folder is run and no pickled file is read: configuration, headers and tensors are all that is looked at.
The tensors are given to transformers one by one, so it looks at no file itself.
"""

from __future__ import annotations

import copy
import logging
import re
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors
import torch
import transformers
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING

from engine.cancel import CancelToken
from engine.config import LoadConfig
from engine.errors import Cancelled, LoadFailed, ModelFileBroken, ModelNotSupported, ModelTooLarge, NotAvailable
from engine.memory import available_memory
from engine.safetensors_file import SafetensorsModel, read_json, read_safetensors_model

DEFAULT_CONTEXT = 4096
_MAX_CONFIG = 16 * 2**20
_MOST_PARTS = 100_000
_WORKING_SPACE = 64 * 2**20
_WRITES = re.compile(r".*(ForCausalLM|LMHeadModel|ForConditionalGeneration|ModelWithLMHead|WithLMHeadModel)")
_LAYER = re.compile(r"(.*\.(?:layers|h|blocks|block)\.)(\d+)\.(.*)")
_CONTEXT_NAMES = ("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len", "max_sequence_length", "seq_length")
_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
_FILE_DTYPES = {"F32": torch.float32, "BF16": torch.bfloat16, "F16": torch.float16}
_WITHOUT_CACHE = ("conv", "linear_attention", "mlp", "moe")
_CODE = ("auto_map", "custom_pipelines", "transformers_weights", "fusion_config", "distributed_config")
"""Entries of a configuration that would have transformers run code, read other files or replace parts of the model."""


@dataclass(frozen=True)
class LoadedModel:
    """A model in memory, in evaluation mode. `context_length`: tokens of context that it is to hold."""

    model: Any
    config: Any
    folder: Path
    device: torch.device
    context_length: int


def load_model(
    folder: Path,
    wanted: LoadConfig,
    progress: Callable[[float], None] | None,
    cancel: CancelToken | None,
) -> LoadedModel:
    """Load a model. `progress` is told a fraction 0..1.

    Raises ModelFileBroken, ModelNotSupported, ModelTooLarge, LoadFailed, NotAvailable, Cancelled.
    """
    settings = read_json(folder / "config.json", _MAX_CONFIG)
    config = _read_config(folder, settings)
    model_class, config = _model_class(folder, config)
    files = read_safetensors_model(folder)
    quantised = getattr(config, "quantization_config", None) is not None
    if not quantised:
        _check_against_files(folder, model_class, config, files)
    context_length = _context_length(config, wanted.context_length)
    device, dtype = _place(folder, wanted, config, files, context_length, quantised=quantised)
    slices = _Slices(files, progress, cancel)
    with slices.opened() as tensors:
        model, found = _build(folder, model_class, config, tensors, dtype, slices)
    _check_found(folder, files, found)
    try:
        model = model.to(device)
    except (torch.OutOfMemoryError, RuntimeError) as error:
        raise LoadFailed(folder, f"it cannot be put on {device} ({first_line(error)}).") from error
    return LoadedModel(model, config, folder, device, context_length)


@contextmanager
def quiet() -> Iterator[None]:
    """Within, nothing of transformers' own messages, warnings and progress bars gets out."""
    logger = logging.getLogger("transformers")
    switches: Any = transformers.utils.logging
    level, bars = logger.level, switches.is_progress_bar_enabled()
    logger.setLevel(logging.CRITICAL + 1)
    switches.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
        if bars:
            switches.enable_progress_bar()


def first_line(error: BaseException) -> str:
    """What an error of another library says, in one short line."""
    text = " ".join(str(error).split())
    return text[:240].rstrip(".") if text else type(error).__name__


# The configuration ----------------------------------------------------------------------------------------------------


def _read_config(folder: Path, settings: dict[str, Any]) -> Any:
    kind = settings.get("model_type")
    if not isinstance(kind, str) or not kind:
        raise ModelFileBroken(folder, "its config.json does not name the kind of model (model_type).")
    if kind not in CONFIG_MAPPING:
        if "auto_map" in settings:
            reason = f"the kind {kind[:60]!r} comes with program code of its own, which is never run"
        else:
            reason = f"the kind {kind[:60]!r} is unknown to the installed transformers {transformers.__version__}"
        raise ModelNotSupported(folder, f"{reason}. Choose another model, or convert it to GGUF.")
    try:
        config = transformers.AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        parts = [config, *(getattr(config, name, None) for name in config.sub_configs)]
    except Exception as error:
        raise ModelFileBroken(folder, f"its config.json cannot be used ({first_line(error)}).") from error
    for part in filter(None, parts):
        for name in _CODE:
            vars(part).pop(name, None)
    # A file may name an attention that would have to be downloaded; without a name the library's own is chosen.
    config._attn_implementation = None  # noqa: SLF001
    config._experts_implementation = None  # noqa: SLF001
    return config


def _model_class(folder: Path, config: Any) -> tuple[Any, Any]:
    """The class that writes text with such a configuration, and the configuration that it takes."""
    names = [name for name in config.architectures or () if isinstance(name, str)]
    if config.is_encoder_decoder:
        raise ModelNotSupported(folder, "it is a translator between two texts (encoder and decoder).")
    if type(config) not in MODEL_FOR_CAUSAL_LM_MAPPING:
        raise ModelNotSupported(folder, f"{config.model_type} models do not write text token by token.")
    found: Any = MODEL_FOR_CAUSAL_LM_MAPPING[type(config)]
    if isinstance(found, tuple | list):
        found = next((kind for kind in found if kind.__name__ in names), found[0])
    if names and found.__name__ not in names and not any(map(_WRITES.fullmatch, names)):
        raise ModelNotSupported(folder, f"its files hold a {names[0]}, which does not write text.")
    text = config.sub_configs.get("text_config")
    if text is not None and found.config_class is text:
        outer, config = config, config.get_text_config()
        if getattr(outer, "quantization_config", None) is not None:
            config.quantization_config = outer.quantization_config
    return found, config


def _context_length(config: Any, wanted: int | None) -> int:
    """Tokens of context: what is wanted, 4,096 otherwise, and never more than the model was made for.

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


def _check_against_files(folder: Path, model_class: Any, config: Any, files: SafetensorsModel) -> None:
    """Whether config.json describes what is in the files, before any memory is taken. Raises ModelFileBroken."""
    text = config.get_text_config(decoder=True)
    for name, value in vars(text).items():
        if not isinstance(value, int) or isinstance(value, bool):
            continue
        limit = len(files.tensors) if "layers" in name or name == "n_layer" else _MOST_PARTS
        if ("layer" in name or "expert" in name) and value > limit:
            raise ModelFileBroken(folder, f"its config.json claims {value} for {name!r}, which its files do not have.")
    try:
        with torch.device("meta"):
            outline = model_class(copy.deepcopy(config))
    except Exception as error:
        raise ModelFileBroken(folder, f"its config.json cannot be used ({first_line(error)}).") from error
    claimed = {name: tuple(tensor.shape) for name, tensor in outline.state_dict().items()}
    for name, shape in claimed.items():
        stored = files.tensors.get(name)
        if stored is not None and stored.shape != shape:
            raise ModelFileBroken(
                folder,
                f"the tensor {name!r} has the shape {list(stored.shape)} and config.json asks for {list(shape)}.",
            )
    elements = sum(parameter.numel() for parameter in outline.parameters())
    if elements > 1.02 * files.parameters + 1024:
        raise ModelFileBroken(
            folder,
            f"its config.json describes {elements:,} weights and its files hold {files.parameters:,}: "
            "a part of it is missing.",
        )


def _check_found(folder: Path, files: SafetensorsModel, found: dict[str, Any]) -> None:
    """Whether every tensor had its place and every place its tensor. Raises ModelFileBroken."""
    missing = sorted(map(str, found["missing_keys"]))
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise ModelFileBroken(folder, f"its files lack the tensor {missing[0]!r}{more}. Download the model again.")
    layers: dict[tuple[str, int], set[str]] = {}
    for name in files.tensors:
        match = _LAYER.fullmatch(name)
        if match is not None:
            layers.setdefault((match[1], int(match[2])), set()).add(match[3])
    for name in sorted(map(str, found["unexpected_keys"])):
        match = _LAYER.fullmatch(name)
        # Layers for other purposes, such as predicting several tokens, have tensors of their own.
        if match is not None and layers.get((match[1], int(match[2]))) == layers.get((match[1], 0), set()):
            raise ModelFileBroken(folder, f"its files have the layer of {name!r}, which config.json does not have.")


# Place and format -----------------------------------------------------------------------------------------------------


def _place(
    folder: Path,
    wanted: LoadConfig,
    config: Any,
    files: SafetensorsModel,
    context_length: int,
    *,
    quantised: bool,
) -> tuple[torch.device, torch.dtype | str]:
    """Where the model goes and in which number format. Raises ModelTooLarge, NotAvailable.

    On a GPU the format is that of the files. On a CPU it is float32 also for files in 16 bits, which float32 holds
    exactly, as long as it fits: rows computed alone and in a batch then agree to the last bits, which 16 bits round
    to differences that change the text. Where float32 does not fit, the format of the files is kept.
    """
    stored = _FILE_DTYPES.get(files.dtype, torch.float32)
    asked = _DTYPES.get(wanted.dtype or "auto")
    needed = free = 0
    choice: tuple[torch.device, torch.dtype | str] = (torch.device("cpu"), stored)
    for device in _devices(wanted):
        free = _free(device)
        for dtype in (asked,) if asked else (torch.float32, stored) if device.type == "cpu" else (stored,):
            weights = files.weight_bytes if quantised else files.parameters * dtype.itemsize
            needed = weights + context_length * _cache_per_token(config, dtype) + _WORKING_SPACE
            choice = device, "auto" if quantised else dtype
            if needed <= free:
                return choice
    if not wanted.trusted:
        raise ModelTooLarge(folder, needed, free)
    return choice


def _devices(wanted: LoadConfig) -> list[torch.device]:
    """The devices to be tried, in order."""
    name = wanted.device or "auto"
    if name == "auto":
        name = "cpu" if wanted.gpu_layers == 0 else name
    graphics = [f"cuda:{index}" for index in range(torch.cuda.device_count() if torch.cuda.is_available() else 0)]
    if torch.backends.mps.is_available():
        graphics.append("mps")
    if name == "auto":
        return [torch.device(found) for found in (*graphics[:1], "cpu")]
    known = [*graphics, "cpu"]
    if name == "cuda" and graphics and graphics[0] != "mps":
        name = f"cuda:{torch.cuda.current_device()}"
    if name not in known:
        raise NotAvailable(f"The device {name}", f"here there is {', '.join(known)}. Choose one of these, or auto.")
    return [torch.device(name)]


def _free(device: torch.device) -> int:
    """Bytes that can still be used on a device."""
    return int(torch.cuda.mem_get_info(device)[0]) if device.type == "cuda" else available_memory()


def _cache_per_token(config: Any, dtype: torch.dtype) -> int:
    """Bytes of cache for each token of context. An estimate."""
    text = config.get_text_config(decoder=True)

    def number(*names: str) -> int:
        values = (getattr(text, name, None) for name in names)
        return next((value for value in values if isinstance(value, int) and value > 0), 0)

    heads = number("num_attention_heads", "n_head")
    width = number("head_dim") or number("hidden_size", "n_embd") // max(heads, 1)
    kinds = getattr(text, "layer_types", None)
    layers = number("num_hidden_layers", "n_layer")
    if isinstance(kinds, list | tuple):
        layers = sum(kind not in _WITHOUT_CACHE for kind in kinds)
    return 2 * layers * (number("num_key_value_heads") or heads) * width * dtype.itemsize


# The weights ----------------------------------------------------------------------------------------------------------


class _Slice:
    """A tensor in a file, read when transformers asks for it; tells how far the loading is."""

    def __init__(self, source: Any, size: int, slices: _Slices) -> None:
        self._source = source
        self._size = size
        self._slices = slices

    def __getitem__(self, index: Any) -> Any:
        tensor = self._source[index]
        self._slices.count(self._size)
        return tensor

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)


class _Slices:
    """All tensors of a model's files. Ends the loading when it is cancelled."""

    def __init__(
        self, files: SafetensorsModel, progress: Callable[[float], None] | None, cancel: CancelToken | None
    ) -> None:
        self._files = files
        self._progress = progress
        self._cancel = cancel
        self._done = 0
        self._lock = threading.Lock()

    @contextmanager
    def opened(self) -> Iterator[dict[str, _Slice]]:
        """The tensors by name, as long as the files are open."""
        with ExitStack() as stack:
            found: dict[str, _Slice] = {}
            for path in self._files.files:
                file = stack.enter_context(safetensors.safe_open(path, framework="pt", device="cpu"))
                for name in file.keys():  # noqa: SIM118 - it is no dictionary
                    stored = self._files.tensors.get(name)
                    if stored is not None:
                        found[name] = _Slice(file.get_slice(name), stored.size, self)
            yield found

    def count(self, size: int) -> None:
        """Some more bytes were read, on any thread."""
        self.check()
        with self._lock:
            self._done += size
            if self._progress is not None:
                self._progress(min(1.0, self._done / max(self._files.weight_bytes, 1)))

    def check(self) -> None:
        """Raise Cancelled where that is asked for."""
        if self._cancel is not None:
            self._cancel.check("Loading the model")


def _build(
    folder: Path,
    model_class: Any,
    config: Any,
    tensors: dict[str, _Slice],
    dtype: torch.dtype | str,
    slices: _Slices,
) -> tuple[Any, dict[str, Any]]:
    """The model with its weights, and what transformers found about their names."""
    slices.check()
    try:
        model, found = model_class.from_pretrained(
            None,
            config=config,
            state_dict=tensors,
            dtype=dtype,
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
            output_loading_info=True,
        )
    except Cancelled:
        raise
    except (ImportError, NotImplementedError) as error:
        raise ModelNotSupported(folder, f"it needs what is not installed ({first_line(error)}).") from error
    except (torch.OutOfMemoryError, MemoryError) as error:
        raise LoadFailed(folder, "memory ran out while it was read. Close other programs.") from error
    except Exception as error:
        slices.check()
        raise ModelFileBroken(folder, f"transformers cannot load it ({first_line(error)}).") from error
    slices.check()
    return model.eval(), found
