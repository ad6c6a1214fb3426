"""Pass the hidden states of a transformers model, layer by layer, to their readers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from engine.backends.base import HiddenStates


class HookedRows:
    """Collect the hidden states of some layers, from the next forward on until `stop`.

    `decoder_layers`: the model's; `layers`: which inputs of them, where their number stands for what leaves the last.
    """

    def __init__(self, decoder_layers: Sequence[Any], layers: Sequence[int]) -> None:
        self._found: dict[int, list[torch.Tensor]] = {layer: [] for layer in layers}
        self._layers = tuple(layers)
        self._hooks = [self._hook(decoder_layers, layer) for layer in self._found]

    def _hook(self, decoder_layers: Sequence[Any], layer: int) -> Any:
        found = self._found[layer]

        def before(_layer: object, inputs: tuple[Any, ...], named: dict[str, Any]) -> None:
            found.append(inputs[0] if inputs else named["hidden_states"])

        def after(_layer: object, _inputs: object, output: Any) -> None:
            found.append(output[0] if isinstance(output, tuple) else output)

        if layer == len(decoder_layers):
            return decoder_layers[-1].register_forward_hook(after)
        return decoder_layers[layer].register_forward_pre_hook(before, with_kwargs=True)

    def clear(self) -> None:
        """Drop the collected states."""
        for found in self._found.values():
            found.clear()

    def rows(self) -> NDArray[np.float32]:
        """Return the states of the tokens that were fed, and forget them. Shape (tokens, layers * width)."""
        columns = [torch.cat([part.reshape(-1, part.shape[-1]) for part in self._found[each]]) for each in self._layers]
        self.clear()
        found: NDArray[np.float32] = torch.cat(columns, dim=1).float().cpu().numpy()
        return found

    def stop(self) -> None:
        """Collect nothing more."""
        for hook in self._hooks:
            hook.remove()


def decoder_layers(model: Any) -> list[Any]:
    """Return the layers that a forward goes through one by one."""
    count = getattr(model.config.get_text_config(decoder=True), "num_hidden_layers", None)
    lists = (module for module in model.modules() if isinstance(module, torch.nn.ModuleList))
    return list(next((found for found in lists if len(found) == count), ()))


def hidden_states(model: Any, layers: Sequence[Any]) -> HiddenStates | None:
    """Return the readable hidden states: all of a model whose layers are found."""
    width = getattr(model.config.get_text_config(decoder=True), "hidden_size", None)
    if not layers or not isinstance(width, int):
        return None
    return HiddenStates(frozenset(range(len(layers) + 1)), len(layers), width)


def readable_tokens(model: Any) -> int:
    """Return the number of token ids that a model can read."""
    return int(model.get_input_embeddings().weight.shape[0])


def last_norm(model: Any) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return the norm behind the last layer, as the families call it."""
    names = dict(model.base_model.named_children())
    found = next(
        (names[name] for name in ("norm", "final_layernorm", "final_layer_norm", "ln_f") if name in names), None
    )
    return found if found is not None else torch.nn.Identity()


def output_layer(model: Any) -> Callable[[torch.Tensor], torch.Tensor] | None:
    """Return the layer from the last norm's output to logits, for heads that share it; None: it has none."""
    found: Callable[[torch.Tensor], torch.Tensor] | None = model.get_output_embeddings()
    return found
