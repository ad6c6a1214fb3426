"""Run the MTP layers of a target's own folder with PyTorch, built of the target's kind of layers.

Source of the formulas: DeepSeek-AI 2024, arXiv:2412.19437, section 2.2; of the names: the layouts that
engine.formats.safetensors.mtp reads. The state that the first layer reads, and that each hands to the next, is the one
that an output layer would read: behind the final norm. A block of the target's own class computes what that
architecture means by a layer: its attention, its experts, its norms. transformers leaves these tensors out when it
loads the model, so they are read here.
"""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from engine.backends.base import Backend, Logits
from engine.backends.heads import HeadBackend, HeadLayers, States
from engine.backends.transformers.backend import TransformersBackend, threads_of
from engine.backends.transformers.cache import single_layer
from engine.backends.transformers.config import first_line
from engine.backends.transformers.head_tensors import gathered, read_some, torch_target
from engine.backends.transformers.hidden import decoder_layers, last_norm
from engine.backends.transformers.packing import pack_weights, watch_weights
from engine.config import LoadConfig
from engine.errors import ModelFileBroken, ModelNotSupported
from engine.formats.draft_head import DraftHead
from engine.formats.model_file import printable
from engine.formats.safetensors.mtp import MtpLayer, MtpLayout, check_shape, read_mtp

_SAME = {torch.float32: 1e-5}
_COARSE = 1e-2

Tensors = Mapping[str, torch.Tensor]


class LayerForLater(torch.nn.Module):
    """Compute an MTP layer, with a cache of its own.

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
        """Return the number of entries it holds."""
        return self._held.filled

    def cut(self, count: int) -> None:
        """Forget the entries behind the first `count`."""
        self._held.go_back(count)

    def forward(
        self, tokens: torch.Tensor, states: torch.Tensor, places: torch.Tensor, mask: torch.Tensor | None
    ) -> torch.Tensor:
        """Append the entries of tokens, from the states before them; return the normed output: (tokens, width).

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


class MtpLayers(HeadLayers):
    """Compute MTP layers (see engine.backends.heads.HeadLayers): one again and again, or one a token.

    Of several, layer k makes the entry of the token at p from layer k - 1's state at p - 1, so its first entry stands k
    places behind the first layer's.
    """

    method = "mtp"

    def __init__(self, layout: MtpLayout, layers: Sequence[LayerForLater], target: TransformersBackend) -> None:
        self.name = layout.name
        self.tokenizer = target.tokenizer
        self.layers = layout.head.layers
        self.width = layout.head.width
        self.vocab_size = target.vocab_size
        self.branches = len(layers) == 1
        self.parameters = sum(layer.parameters_held for layer in layers)
        self.weight_bytes = sum(layer.bytes_held for layer in layers)
        self._target = target
        self._layers = list(layers)
        self._states = [torch.empty(0)] * (len(layers) - 1)
        """The outputs of all layers but the last, by position."""

    def combine(self, states: States) -> States:
        """Return the target's states behind its final norm."""
        with threads_of(self._target), torch.inference_mode():
            found: States = self._array(self._target.normed(self._tensor(states)))
            return found

    def feed(self, first: int, tokens: Sequence[int], states: States, *, wanted: bool) -> tuple[Logits, States] | None:
        with threads_of(self._target), torch.inference_mode():
            lowest = min(self.ahead, len(self._layers) - 1)
            end, below, found = first + len(tokens), self._tensor(states), None
            for depth in range(lowest, len(self._layers)):
                begin = max(first, self.first + depth)
                if begin >= end:
                    break
                if depth > lowest:
                    below = self._states[depth - 1][begin - 1 : end - 1]
                given = self._layers[depth]
                given.cut(begin - self.first - depth)
                places = torch.arange(begin, end, device=below.device)
                hidden = given(self._ids(tokens[begin - first :]), below, places, self._causal(given, end - begin))
                if depth < len(self._states):
                    self._keep(depth, begin, hidden)
                if depth == lowest and wanted:
                    found = self._array(given.logits(hidden[-1:])), self._array(hidden)[-1]
            return found

    def branch(
        self, positions: Sequence[int], tokens: Sequence[int], states: States, seen: NDArray[np.bool_]
    ) -> tuple[Logits, States]:
        with threads_of(self._target), torch.inference_mode():
            (layer,) = self._layers
            text = layer.filled + len(tokens) - seen.shape[1]
            shown = np.concatenate([np.ones((len(tokens), text), np.bool_), seen], axis=1)
            below = self._tensor(states)
            mask = self._mask(torch.from_numpy(shown))
            hidden = layer(self._ids(tokens), below, torch.tensor(positions, device=below.device), mask)
            return self._array(layer.logits(hidden)), self._array(hidden)

    def cut(self, position: int) -> None:
        for depth, layer in enumerate(self._layers):
            layer.cut(max(position - self.first - depth, 0))

    def close(self) -> None:
        self._layers = []
        self._states = []

    def _causal(self, layer: LayerForLater, count: int) -> torch.Tensor | None:
        """Return the mask of `count` entries behind those that are held; None if it would hide nothing."""
        if count == 1:
            return None
        places = torch.arange(layer.filled + count)
        return self._mask(places[None, :] <= places[layer.filled :, None])

    def _mask(self, shown: torch.Tensor) -> torch.Tensor:
        """Return an additive attention mask, shape (1, 1, entries, held), from the visible places of each."""
        some = self._target.embeddings
        mask = torch.zeros(shown.shape, dtype=some.dtype).masked_fill(~shown, torch.finfo(some.dtype).min)
        return mask.to(some.device)[None, None]

    def _keep(self, depth: int, begin: int, hidden: torch.Tensor) -> None:
        """Store a layer's output at the positions from `begin` on."""
        held, end = self._states[depth], begin + len(hidden)
        if end > len(held):
            grown = hidden.new_zeros(2 ** math.ceil(math.log2(max(end, 64))), hidden.shape[1])
            grown[: len(held)] = held.reshape(len(held), -1) if len(held) else grown[:0]
            held = self._states[depth] = grown
        held[begin:end] = hidden

    def _ids(self, tokens: Sequence[int]) -> torch.Tensor:
        return torch.tensor(list(tokens), device=self._target.embeddings.device)

    def _tensor(self, states: States) -> torch.Tensor:
        some = self._target.embeddings
        return torch.from_numpy(np.ascontiguousarray(states)).to(some.dtype).to(some.device)

    @staticmethod
    def _array(rows: torch.Tensor) -> NDArray[np.float32]:
        array: NDArray[np.float32] = rows.float().cpu().numpy()
        return array


def open_head(config: LoadConfig, head: DraftHead, target: Backend) -> Backend:
    """Load the MTP layers in a folder for a loaded target.

    Raises ModelFileBroken, ModelNotSupported, LoadFailed.
    """
    path = Path(config.path)
    model = torch_target(path, target)
    layout = replace(read_mtp(path), head=head)
    layers = _build_layers(path, layout, model)
    opened = HeadBackend(MtpLayers(layout, layers, model), model)
    if len(layers) > 1:
        opened.most = len(layers)
    return opened


def _build_layers(folder: Path, layout: MtpLayout, target: TransformersBackend) -> list[LayerForLater]:
    """Return the layers of a folder, built for a loaded target.

    Raises ModelFileBroken, ModelNotSupported, LoadFailed.
    """
    names = {name for layer in layout.layers for name in (*layer.parts.values(), *layer.block.values())}
    stored = read_some(folder, layout.files, names)
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
        tensor = gathered(name, tensors)
        if tensor is None:
            raise ModelFileBroken(folder, "it lacks the tensor {name!r}.", name=layer.prefix + name)
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
        "its MTP layers cannot be run as {kind} layers ({first_line}).",
        kind=printable(str(target.model.config.model_type)),
        first_line=first_line(error),
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
    """Return True if an output layer is the target's own, whose weights may lie in another order."""
    width = target.embeddings.shape[1]
    rows = torch.linspace(-1.0, 1.0, 2 * width).sin().reshape(2, -1).to(weight)
    if weight.shape != (target.vocab_size, width):
        return False
    expected = target.model.get_output_embeddings()(rows)
    allowed = _SAME.get(weight.dtype, _COARSE) * expected.abs().max()
    return bool((functional.linear(rows, weight) - expected).abs().max() <= allowed)
