"""Build layers for later tokens (MTP) from a target's own kind of decoder layer and the tensors of its files.

A block of the target's own class computes what that architecture means by a layer: its attention, its experts, its
norms. transformers leaves these tensors out when it loads the model, so they are read here.
"""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import safetensors
import torch
from torch.nn import functional

from engine.backends.transformers.backend import TransformersBackend, threads_of
from engine.backends.transformers.cache import single_layer
from engine.backends.transformers.config import first_line
from engine.backends.transformers.hidden import decoder_layers, last_norm
from engine.backends.transformers.packing import pack_weights, watch_weights
from engine.errors import LoadFailed, ModelFileBroken, ModelNotSupported
from engine.formats.model_file import printable
from engine.formats.safetensors.mtp import MtpLayer, MtpLayout, check_shape
from engine.translatable import Translatable

_EXPERTS = re.compile(r"(.*\bexperts\.)(gate_up_proj|down_proj)")
"""Experts as transformers holds them, all in one tensor; files mostly have one tensor for each."""
_SAME = {torch.float32: 1e-5}
_COARSE = 1e-2

Tensors = Mapping[str, torch.Tensor]


class LayerForLater(torch.nn.Module):
    """Compute a layer for later tokens, with a cache of its own.

    Attributes: parameters_held and bytes_held (of what it does not share with the target).
    """

    def __init__(self, parts: Mapping[str, torch.Tensor], block: Any, config: Any, target: TransformersBackend) -> None:
        super().__init__()
        held = single_layer(config)
        if held is None:
            raise ValueError("its cache is not one of plain attention")
        self._cache, self._held = held
        self._names = frozenset(inspect.signature(type(block).forward).parameters)
        self._target = target
        self._embedding = parts.get("embedding")
        # In a tuple: they are parts of the target, not of this layer.
        self._shared = (getattr(target.model.get_decoder(), "rotary_emb", None), target.model.get_output_embeddings())
        self.block = block
        self.token_norm, self.state_norm, self.norm = (
            _norm_with(target, parts[name]) for name in ("token_norm", "state_norm", "norm")
        )
        self.projection = _linear(parts["projection"])
        self.output = _linear(parts["output"]) if "output" in parts else None
        own = [*parts.values(), *block.state_dict().values()]
        self.parameters_held = sum(each.numel() for each in own)
        self.bytes_held = sum(each.numel() * each.element_size() for each in own)

    @property
    def dtype(self) -> torch.dtype:
        """Return the number format that it computes in."""
        return self._target.embeddings.dtype

    @property
    def filled(self) -> int:
        """Return how many entries it holds."""
        return self._held.filled

    def cut(self, count: int) -> None:
        """Forget the entries behind the first `count`."""
        self._held.go_back(count)

    def forward(
        self, tokens: torch.Tensor, states: torch.Tensor, places: torch.Tensor, mask: torch.Tensor | None
    ) -> torch.Tensor:
        """Append the entries of tokens, from the states before them; what leaves it, behind its norm: (tokens, width).

        `places`: the positions that their keys turn by; `mask`: which entries each of them sees, None: all.
        """
        embedding = self._target.embeddings if self._embedding is None else self._embedding
        embedded = self.token_norm(embedding[tokens].to(states.dtype))
        hidden = self.projection(torch.cat([embedded, self.state_norm(states)], dim=1))[None]
        positions, (rotation, _) = places[None], self._shared
        options: dict[str, Any] = {"attention_mask": mask, "position_ids": positions}
        options["cache" if "cache" in self._names else "past_key_values"] = self._cache
        if rotation is not None:
            options["position_embeddings"] = rotation(hidden, positions)
        found = self.block(hidden, **options)
        left: torch.Tensor = self.norm((found[0] if isinstance(found, tuple) else found)[0])
        return left

    def logits(self, states: torch.Tensor) -> torch.Tensor:
        """Return the logits behind states that left it: by its own output layer, or the target's."""
        rows: torch.Tensor = (self._shared[1] if self.output is None else self.output)(states)
        return rows.float()


def build_layers(folder: Path, layout: MtpLayout, target: TransformersBackend) -> list[LayerForLater]:
    """Return the layers of a folder, built for a loaded target.

    Raises ModelFileBroken, ModelNotSupported, LoadFailed.
    """
    stored = _read(folder, layout)
    with threads_of(target), torch.inference_mode():
        layers = [_build(folder, layer, stored, target) for layer in layout.layers]
        stored.clear()  # What is laid out anew below is freed one by one.
        for layer in layers:
            _settle(folder, layer, target)
    return layers


def _build(folder: Path, layer: MtpLayer, stored: Tensors, target: TransformersBackend) -> LayerForLater:
    tensors = {short: stored[name] for short, name in layer.block.items()}
    config = _configuration(target, sparse=any("experts." in name for name in tensors))
    kind = type(decoder_layers(target.model)[-1])
    try:
        with torch.device("meta"), _default_dtype(target.embeddings.dtype):
            block = kind(config, 0).eval()
        wanted = block.state_dict()
    except Exception as error:
        raise _unknown(folder, target, error) from error
    found = {}
    for name, like in wanted.items():
        tensor = _gathered(name, tensors)
        if tensor is None:
            raise ModelFileBroken(folder, Translatable("it lacks the tensor {name!r}.", name=layer.prefix + name))
        check_shape(folder, layer.prefix + name, tuple(tensor.shape), tuple(like.shape))
        found[name] = tensor.to(like.dtype).to(target.embeddings.device)
    parts = {short: _placed(stored[name], target) for short, name in layer.parts.items()}
    if "embedding" in parts and torch.equal(parts["embedding"], target.embeddings):
        del parts["embedding"]
    if "output" in parts and _is_output(parts["output"], target):
        del parts["output"]
    for short in {"embedding", "output"} & parts.keys():
        shape = (target.vocab_size if short == "output" else len(target.embeddings), target.embeddings.shape[1])
        check_shape(folder, layer.parts[short], tuple(parts[short].shape), shape)
    try:
        block.load_state_dict(found, assign=True)
        return LayerForLater(parts, block, config, target)
    except Exception as error:
        raise _unknown(folder, target, error) from error


def _settle(folder: Path, layer: LayerForLater, target: TransformersBackend) -> None:
    """Try a layer with two entries; on a CPU its weights are laid out for few rows then."""
    device = target.embeddings.device
    if device.type == "cpu":
        watch_weights(layer)
    try:
        states = torch.zeros(2, target.embeddings.shape[1], dtype=layer.dtype, device=device)
        mask = torch.zeros(1, 1, 2, 2, dtype=layer.dtype, device=device)
        places = torch.arange(1, 3, device=device)
        layer(torch.zeros(2, dtype=torch.long, device=device), states, places, mask).reshape(states.shape)
        layer.cut(0)
    except Exception as error:
        raise _unknown(folder, target, error) from error
    if device.type == "cpu":
        pack_weights(layer)


def _unknown(folder: Path, target: TransformersBackend, error: Exception) -> ModelNotSupported:
    return ModelNotSupported(
        folder,
        Translatable(
            "its layers for later tokens (MTP) cannot be run as {kind} layers ({first_line}).",
            kind=printable(str(target.model.config.model_type)),
            first_line=first_line(error),
        ),
    )


def _configuration(target: TransformersBackend, *, sparse: bool) -> Any:
    """Return the target's configuration as of one layer with full attention, with experts or without."""
    config = copy.deepcopy(target.model.config.get_text_config(decoder=True))
    changes = {
        "num_hidden_layers": 1,
        "layer_types": ["full_attention"],
        "mlp_layer_types": ["sparse" if sparse else "dense"],
        "first_k_dense_replace": 0 if sparse else 1,
        "mlp_only_layers": [] if sparse else [0],
        "decoder_sparse_step": 1,
    }
    for name, value in changes.items():
        if getattr(config, name, None) is not None:
            setattr(config, name, value)
    for name in ("_attn_implementation", "_experts_implementation"):
        if hasattr(target.model.config, name):
            setattr(config, name, getattr(target.model.config, name))
    return config


@contextmanager
def _default_dtype(dtype: torch.dtype) -> Iterator[None]:
    """Make new weights in the block of this number format, as transformers does: some have one of their own."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype if dtype.is_floating_point else before)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def _gathered(name: str, tensors: Tensors) -> torch.Tensor | None:
    """Return a tensor of the block, or all experts in one from a tensor for each; None where it is not there."""
    match = _EXPERTS.fullmatch(name)
    if name in tensors or match is None:
        return tensors.get(name)
    parts = ("gate_proj", "up_proj") if match[2] == "gate_up_proj" else ("down_proj",)
    found: list[torch.Tensor] = []
    while f"{match[1]}{len(found)}.{parts[0]}.weight" in tensors:
        each = [tensors.get(f"{match[1]}{len(found)}.{part}.weight") for part in parts]
        there = [part for part in each if part is not None]
        if len(there) < len(parts):
            return None
        found.append(torch.cat(there))
    alike = len({part.shape for part in found}) == 1
    return torch.stack(found) if alike else None


def _linear(weight: torch.Tensor) -> torch.nn.Linear:
    """Return a linear layer with these weights."""
    rows, columns = weight.shape
    layer = torch.nn.Linear(columns, rows, bias=False, device="meta")
    layer.weight = torch.nn.Parameter(weight, requires_grad=False)
    return layer


def _norm_with(target: TransformersBackend, weight: torch.Tensor) -> Any:
    """Return a norm as the target's last one, with other weights."""
    norm: Any = copy.deepcopy(last_norm(target.model))
    norm.weight = torch.nn.Parameter(weight, requires_grad=False)
    return norm


def _placed(tensor: torch.Tensor, target: TransformersBackend) -> torch.Tensor:
    return tensor.to(target.embeddings.dtype).to(target.embeddings.device)


def _is_output(weight: torch.Tensor, target: TransformersBackend) -> bool:
    """Return whether an output layer is the target's own, whose weights may lie in another order."""
    width = target.embeddings.shape[1]
    rows = torch.linspace(-1.0, 1.0, 2 * width).sin().reshape(2, -1).to(weight)
    if weight.shape != (target.vocab_size, width):
        return False
    expected = target.model.get_output_embeddings()(rows)
    allowed = _SAME.get(weight.dtype, _COARSE) * expected.abs().max()
    return bool((functional.linear(rows, weight) - expected).abs().max() <= allowed)


def _read(folder: Path, layout: MtpLayout) -> dict[str, torch.Tensor]:
    """Return the tensors of all layers, as they are stored. Raises LoadFailed."""
    names = {name for layer in layout.layers for name in (*layer.parts.values(), *layer.block.values())}
    found: dict[str, torch.Tensor] = {}
    try:
        for path in layout.files:
            # Read, not mapped: a mapped file that shrinks ends the process.
            with safetensors.safe_open(path, framework="pt", device="cpu", backend="pread") as file:
                there: Sequence[str] = file.keys()
                found |= {name: file.get_tensor(name) for name in there if name in names}
    except (OSError, RuntimeError, ValueError, safetensors.SafetensorError) as error:
        raise LoadFailed(folder, Translatable("it cannot be read ({error}).", error=error)) from error
    return found
