"""Load a model of transformers from a folder with config.json and safetensors to a device, after checks of everything.

No code of the folder is run and no pickled file is read: configuration, headers and tensors are all that is looked at.
The tensors are given to transformers one by one, so it looks at no file itself.
"""

from __future__ import annotations

import logging
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

from engine.backends.transformers.config import (
    OWN_KERNELS,
    check_against_files,
    check_found,
    context_length_of,
    first_line,
    model_class_of,
    read_config,
)
from engine.cancel import CancelToken
from engine.config import LoadConfig
from engine.errors import (
    Cancelled,
    EngineError,
    LoadFailed,
    ModelFileBroken,
    ModelNotSupported,
    ModelTooLarge,
    NotAvailable,
)
from engine.formats.safetensors.reader import SafetensorsModel, read_json, read_safetensors_model
from engine.system.machine import available_memory
from engine.translatable import Translatable

_WORKING_SPACE = 64 * 2**20
_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
_FILE_DTYPES = {"F32": torch.float32, "BF16": torch.bfloat16, "F16": torch.float16}
_WITHOUT_CACHE = ("conv", "linear_attention", "mlp", "moe")


@dataclass(frozen=True)
class LoadedModel:
    """Hold a model in memory, in evaluation mode. `context_length`: its tokens of context."""

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
    """Load a model. `progress` receives a fraction 0..1.

    Raises ModelFileBroken, ModelNotSupported, ModelTooLarge, LoadFailed, NotAvailable, Cancelled.
    """
    try:
        model_class, config = model_class_of(folder, read_config(folder))
        files = read_safetensors_model(folder)
        quantised = getattr(config, "quantization_config", None) is not None
        if not quantised:
            check_against_files(folder, config, files)
        context_length = context_length_of(config, wanted.context_length)
        device, dtype = _place(folder, wanted, config, files, context_length, quantised=quantised)
    except EngineError:
        raise
    except Exception as error:
        raise ModelFileBroken(
            folder, "its config.json cannot be used ({first_line}).", first_line=first_line(error)
        ) from error
    slices = _Slices(files, progress, cancel)
    with slices.opened() as tensors:
        model, found = _build(folder, model_class, config, tensors, dtype, slices)
    check_found(folder, files, found)
    try:
        model = model.to(device)
    except (torch.OutOfMemoryError, RuntimeError) as error:
        raise LoadFailed(
            folder, "it cannot be moved to {device} ({first_line}).", device=device, first_line=first_line(error)
        ) from error
    return LoadedModel(model, config, folder, device, context_length)


@contextmanager
def quiet() -> Iterator[None]:
    """Keep transformers' own messages, warnings and progress bars quiet in the block."""
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
    """Return the device of the model and its number format. Raises ModelTooLarge, NotAvailable.

    On a GPU the format is that of the files. On a CPU it is float32 also for files in 16 bits, which float32 holds
    exactly, as long as it fits: logits computed alone and in a batch then differ by 0.0002 at most, in bfloat16 by
    0.25 (measured), which changes the text. Where float32 does not fit, the format of the files is kept.
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
            if device.type == "cpu":
                needed += _head_bytes(config, dtype)
            choice = device, "auto" if quantised else dtype
            if needed <= free:
                return choice
    if not (wanted.trusted or wanted.despite_memory):
        raise ModelTooLarge(folder, needed, free)
    return choice


def _devices(wanted: LoadConfig) -> list[torch.device]:
    """Return the devices to be tried, in order."""
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
        raise NotAvailable(
            Translatable("The device {name}", name=name),
            "this computer has {known}. Choose one of these, or auto.",
            known=", ".join(known),
        )
    return [torch.device(name)]


def _free(device: torch.device) -> int:
    """Return bytes that can still be used on a device."""
    return int(torch.cuda.mem_get_info(device)[0]) if device.type == "cuda" else available_memory()


def _head_bytes(config: Any, dtype: torch.dtype) -> int:
    """Return bytes of the output layer where it shares its weights with the input.

    It has its own once it is laid out for products.
    """
    text = config.get_text_config(decoder=True)
    if not getattr(text, "tie_word_embeddings", False):
        return 0
    return int(getattr(text, "vocab_size", 0) * getattr(text, "hidden_size", 0) * dtype.itemsize)


def _cache_per_token(config: Any, dtype: torch.dtype) -> int:
    """Return bytes of cache for each token of context. An estimate."""
    text = config.get_text_config(decoder=True)

    def number(*names: str) -> int:
        # Not asked of the configuration itself: some refuse to name what differs from layer to layer.
        values = (vars(text).get(name) for name in names)
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
    """Read a tensor of a file when transformers asks for it, and report the progress."""

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
    """Hold all tensors of a model's files. Ends the loading when it is cancelled."""

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
        """Open the files: yield the tensors by name, as long as the files are open."""
        with ExitStack() as stack:
            found: dict[str, _Slice] = {}
            for path in self._files.files:
                # Read, not mapped: a mapped file that shrinks ends the process.
                opened = safetensors.safe_open(path, framework="pt", device="cpu", backend="pread")
                file = stack.enter_context(opened)
                names = file.keys()
                for name in names:
                    stored = self._files.tensors.get(name)
                    if stored is not None:
                        found[name] = _Slice(file.get_slice(name), stored.size, self)
            yield found

    def count(self, size: int) -> None:
        """Count some more bytes that were read, on any thread."""
        self.check()
        with self._lock:
            self._done += size
            if self._progress is not None:
                self._progress(min(1.0, self._done / max(self._files.weight_bytes, 1)))

    def check(self) -> None:
        """Raise Cancelled if that is asked for."""
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
    """Return the model with its weights, and transformers' report on their names."""
    slices.check()
    try:
        model, found = model_class.from_pretrained(
            None,
            config=config,
            state_dict=tensors,
            dtype=dtype,
            local_files_only=True,
            use_safetensors=True,
            output_loading_info=True,
            **OWN_KERNELS,
        )
    except Cancelled:
        raise
    except (ImportError, NotImplementedError) as error:
        raise ModelNotSupported(
            folder, "it needs a package that is not installed ({first_line}).", first_line=first_line(error)
        ) from error
    except (torch.OutOfMemoryError, MemoryError) as error:
        raise LoadFailed(
            folder, Translatable("the computer ran out of memory while reading it. Close other programs.")
        ) from error
    except Exception as error:
        slices.check()
        raise ModelFileBroken(
            folder, "transformers cannot load it ({first_line}).", first_line=first_line(error)
        ) from error
    slices.check()
    return model.eval(), found


def end_tokens(loaded: LoadedModel, own: frozenset[int], vocab_size: int) -> frozenset[int]:
    """Return every token that ends a text, as named by the tokenizer, the configuration and the generation settings."""
    path = loaded.folder / "generation_config.json"
    settings = read_json(path) if path.exists() else {}
    configs = (loaded.config, loaded.config.get_text_config(decoder=True))
    named = [settings.get("eos_token_id"), *own, *(getattr(config, "eos_token_id", None) for config in configs)]
    found: set[int] = set()
    for value in named:
        found.update(part for part in (value if isinstance(value, list | tuple) else (value,)) if type(part) is int)
    return frozenset(token for token in found if 0 <= token < vocab_size)
