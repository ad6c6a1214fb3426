"""Store the keys, values and states of a transformers model so that a cache can be rolled back.

transformers' own attention layers grow by copying all that they hold at every token, and forget what has left a
sliding window. Ours write into a buffer with room, return views of it, and go back by setting a length: sliding layers
too keep everything, and show the model no more than its window. Recurrent states are copied at a mark and put back.
The C library keeps what it is given back, so a cache that grew by copying held up to twice its size. A mapping of its
own goes back to the system at once; and the system lends its pages only when they are written, so that room for tokens
to come costs nothing. Measured with a model of 6,144 bytes of keys and values a token, fed 8 tokens at a time: at 1,100
tokens the program held 6,207 bytes for each, before 10,702; at 2,048 tokens 6,178, before 8,734; as fast as before.

Source of the layers' contract: transformers.cache_utils, 5.23 (update, get_mask_sizes, get_seq_length).
"""

from __future__ import annotations

import copy
import mmap
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from math import prod
from typing import Any

import torch
import transformers
from transformers.cache_utils import (
    Cache,
    DummyLayer,
    DynamicIndexedLayer,
    DynamicLayer,
    DynamicSlidingWindowLayer,
)

_FIRST = 256
"""The first room, in tokens."""
_SEQUENCE = -2
"""The dimension of tokens in keys and values of shape (batch, heads, tokens, width)."""


class _GrowingLayer(DynamicLayer):  # type: ignore[no-untyped-call]
    """Hold keys and values of full attention, (1, heads, room, width), of which the first `filled` tokens count."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.filled = 0
        self._room = 0
        self._all_keys: torch.Tensor
        self._all_values: torch.Tensor

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Append; return views of the keys and values that the model may attend to."""
        begin, count = self.filled, key_states.shape[_SEQUENCE]
        end = begin + count
        if end > self._room:
            self._grow(key_states, value_states, end)
        self._all_keys.narrow(_SEQUENCE, begin, count).copy_(key_states)
        self._all_values.narrow(_SEQUENCE, begin, count).copy_(value_states)
        self.filled = end
        first = self._first_visible(begin)
        self.keys = self._all_keys.narrow(_SEQUENCE, first, end - first)
        self.values = self._all_values.narrow(_SEQUENCE, first, end - first)
        return self.keys, self.values

    def _grow(self, keys: torch.Tensor, values: torch.Tensor, needed: int) -> None:
        room = next_room(self._room, needed, keys.device)
        old = (self._all_keys, self._all_values) if self.filled else (None, None)
        self._all_keys, self._all_values = (
            self._moved(part, before, room) for part, before in zip((keys, values), old, strict=True)
        )
        self._room = room
        self.dtype, self.device, self.is_initialized = keys.dtype, keys.device, True

    def _moved(self, like: torch.Tensor, before: torch.Tensor | None, room: int) -> torch.Tensor:
        """Return room for so many tokens, with the previous ones in it."""
        new = new_room((*like.shape[:_SEQUENCE], room, like.shape[-1]), like.dtype, like.device)
        if before is not None:
            new.narrow(_SEQUENCE, 0, self.filled).copy_(before.narrow(_SEQUENCE, 0, self.filled))
        return new

    def _first_visible(self, begin: int) -> int:
        """Return the first token that one at `begin`, and those behind it, may look at."""
        return 0

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Return the number of tokens a forward of `query_length` will see, and which is the first of them."""
        first = self._first_visible(self.filled)
        return self.filled + query_length - first, first

    def get_seq_length(self) -> int:
        """Return tokens in this layer."""
        return self.filled

    def go_back(self, length: int) -> None:
        """Truncate to `length` tokens."""
        self.filled = min(self.filled, length)

    def keep_path(self, first: int, path: torch.Tensor) -> None:
        """Keep the tokens from `first` on at the ascending places of `path`, and drop the others."""
        for part in (self._all_keys, self._all_values):
            part.narrow(_SEQUENCE, first, len(path)).copy_(part.index_select(_SEQUENCE, first + path))
        self.filled = first + len(path)


class _GrowingSlidingLayer(_GrowingLayer):  # type: ignore[no-untyped-call]
    """Hold the same for attention within a window: all is kept, the last `window` tokens are shown."""

    is_sliding = True

    def __init__(self, window: int) -> None:
        super().__init__()
        self.sliding_window = window

    def _first_visible(self, begin: int) -> int:
        return max(begin - self.sliding_window + 1, 0)


def single_layer(config: Any) -> tuple[Cache, _GrowingLayer] | None:
    """Return the cache of one layer with such a configuration, and the layer; None if it is not plain attention.

    That can be cut with `go_back`, and `filled` tells how many tokens it holds.
    """
    cache = transformers.DynamicCache(config=config)
    cache.layers = [_own_layer(layer) for layer in cache.layers]
    (layer,) = cache.layers
    return (cache, layer) if type(layer) is _GrowingLayer else None


def _own_layer(layer: Any) -> Any:
    """Return our layer in place of one of transformers', where we have one of the kind, else that one."""
    if type(layer) is DynamicLayer:
        return _GrowingLayer()
    if type(layer) is DynamicSlidingWindowLayer:
        return _GrowingSlidingLayer(layer.sliding_window)
    return layer


# Room -----------------------------------------------------------------------------------------------------------------


def next_room(room: int, needed: int, device: torch.device) -> int:
    """Return the next room in tokens, if there is room for `room` and `needed` have to fit.

    Twice as much where room costs nothing until it is used; an eighth more on devices, which lend all at once. Either
    way a token is copied a few times in all, however many follow.
    """
    return max(_FIRST, needed, 2 * room if _is_paged(device) else room + room // 8)


def new_room(shape: Sequence[int], dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """Return a tensor whose content is not set. Raises OSError or torch.OutOfMemoryError if memory is short."""
    size = prod(shape) * dtype.itemsize
    if not size or not _is_paged(device):
        return torch.empty(tuple(shape), dtype=dtype, device=device)
    pages = mmap.mmap(-1, size)
    if sys.platform == "linux":
        # Some systems lend 2 MiB at the first byte: with each head's tokens apart that would be most of the room.
        with suppress(OSError):  # The kernel may have no such pages.
            pages.madvise(mmap.MADV_NOHUGEPAGE)
    return torch.frombuffer(pages, dtype=dtype).view(tuple(shape))


def _is_paged(device: torch.device) -> bool:
    return device.type == "cpu"


# Memories -------------------------------------------------------------------------------------------------------------


class Memory(ABC):
    """Hold a model and its fed tokens. Attributes: length (tokens held); can_crop (True if it can go to any length).

    Where it cannot be cropped, it goes back to a place at which `save` was called.
    """

    can_crop = False

    def __init__(self, model: Any, takes: frozenset[str]) -> None:
        self.model = model
        self._device = model.device
        self._keeps_logits = "logits_to_keep" in takes
        self.length = 0

    @abstractmethod
    def run(self, tokens: Sequence[int], rows: int) -> torch.Tensor:
        """Append `tokens` in one forward; the logits behind the last `rows` of them, shape (rows, vocabulary)."""

    @abstractmethod
    def crop(self, length: int) -> None:
        """Forget everything from `length` on, where `can_crop`; also after a forward that broke off."""

    @abstractmethod
    def reset(self) -> None:
        """Forget everything."""

    def save(self) -> Any:
        """Return a copy of the present state."""
        raise NotImplementedError

    def restore(self, saved: Any) -> None:
        """Put a saved state back. It may be restored again later."""
        raise NotImplementedError

    def _forward(self, tokens: Sequence[int], rows: int, **arguments: Any) -> Any:
        """Return the model's output, whose logits end with `rows` rows."""
        if self._keeps_logits:
            arguments["logits_to_keep"] = max(rows, 1)
        ids = torch.tensor((tokens,), dtype=torch.long, device=self._device)
        return self.model(input_ids=ids, **arguments)

    @staticmethod
    def _rows(output: Any, rows: int) -> torch.Tensor:
        logits: torch.Tensor = output.logits[0]
        return logits[logits.shape[0] - rows :]


class CacheMemory(Memory):
    """Hold a model with transformers' cache, in which the attention layers are ours.

    `argument`: by what name it takes the cache; `placed`: pass it the positions of the tokens. Some take
    wrong ones otherwise (Bamba). Attribute: takes_trees (whether tokens may be given places and a mask of their own).
    """

    def __init__(self, model: Any, takes: frozenset[str], argument: str, *, placed: bool) -> None:
        super().__init__(model, takes)
        self._argument = argument
        self._placed = placed
        self.reset()
        self.can_crop = all(
            isinstance(layer, _GrowingLayer | DummyLayer | DynamicIndexedLayer) for layer in self._layers
        )

        self.takes_trees = (
            placed
            and "attention_mask" in takes
            and all(type(layer) in (_GrowingLayer, DummyLayer) for layer in self._layers)
            and any(type(layer) is _GrowingLayer for layer in self._layers)
        )

    def reset(self) -> None:
        self._cache: Cache = transformers.DynamicCache(config=self.model.config.get_text_config(decoder=True))
        self._layers = self._cache.layers = [_own_layer(layer) for layer in self._cache.layers]
        if not self._layers:
            raise ValueError("its cache has no layers")
        self.length = 0

    def run(self, tokens: Sequence[int], rows: int, **more: Any) -> torch.Tensor:
        """Do as every memory does; `more`: arguments that go with the tokens, such as a picture's pixels."""
        arguments: dict[str, Any] = {self._argument: self._cache, **more}
        end = self.length + len(tokens)
        if self._placed:
            arguments["position_ids"] = torch.arange(self.length, end, device=self._device).unsqueeze(0)
        output = self._forward(tokens, rows, use_cache=True, **arguments)
        self.length = end
        return self._rows(output, rows)

    def run_placed(self, tokens: Sequence[int], places: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Append tokens at positions of their own, under the mask, (1, 1, tokens, held); return all rows.

        They have to be brought in order before anything else is fed: see `keep_path` and `crop`.
        """
        arguments: dict[str, Any] = {self._argument: self._cache, "attention_mask": mask}
        output = self._forward(tokens, len(tokens), use_cache=True, position_ids=places.unsqueeze(0), **arguments)
        self.length += len(tokens)
        return self._rows(output, len(tokens))

    def keep_path(self, first: int, path: Sequence[int]) -> None:
        """Keep the tokens from `first` on at the ascending places of `path`, and drop the others."""
        places = torch.tensor(path, dtype=torch.long, device=self._device)
        for layer in self._layers:
            if isinstance(layer, _GrowingLayer):
                layer.keep_path(first, places)
        self.length = first + len(path)

    def crop(self, length: int) -> None:
        for layer in self._layers:
            if isinstance(layer, _GrowingLayer):
                layer.go_back(length)
            elif isinstance(layer, DynamicIndexedLayer):
                layer.crop(min(length - layer.get_seq_length(), 0))
        self.length = length

    def save(self) -> Any:
        return self.length, [_saved_layer(layer) for layer in self._layers]

    def restore(self, saved: Any) -> None:
        self.length, layers = saved
        for layer, kept in zip(self._layers, layers, strict=True):
            _restore_layer(layer, kept)


class StateMemory(Memory):
    """Hold a model that makes its state itself and gives it out with each output (RWKV, xLSTM, MiniMax).

    `name`: of the argument by which it takes the state back, and of the state in its output.
    """

    def __init__(self, model: Any, takes: frozenset[str], name: str) -> None:
        super().__init__(model, takes)
        self._name = name
        self._state: Any = None

    def reset(self) -> None:
        self._state = None
        self.length = 0

    def run(self, tokens: Sequence[int], rows: int) -> torch.Tensor:
        output = self._forward(tokens, rows, use_cache=True, **{self._name: self._state})
        self._state = output[self._name]
        self.length += len(tokens)
        return self._rows(output, rows)

    def crop(self, length: int) -> None:
        raise NotImplementedError

    def save(self) -> Any:
        return self.length, copy.deepcopy(self._state)

    def restore(self, saved: Any) -> None:
        self.length, state = saved
        self._state = copy.deepcopy(state)


class Recomputing(Memory):
    """Hold a model whose cache has no known rules: it reads everything anew for each requested row."""

    can_crop = True

    def __init__(self, model: Any, takes: frozenset[str]) -> None:
        super().__init__(model, takes)
        self._without_cache = {"use_cache": False} if "use_cache" in takes else {}
        self._tokens: list[int] = []

    def reset(self) -> None:
        self.crop(0)

    def run(self, tokens: Sequence[int], rows: int) -> torch.Tensor:
        everything = [*self._tokens, *tokens]
        # A row that is not asked for need not be computed: it would be computed again.
        logits = (
            torch.empty(0) if rows == 0 else self._rows(self._forward(everything, rows, **self._without_cache), rows)
        )
        self._tokens = everything
        self.length = len(everything)
        return logits

    def crop(self, length: int) -> None:
        del self._tokens[length:]
        self.length = len(self._tokens)


def memories(model: Any, takes: frozenset[str]) -> list[Callable[[], Memory]]:
    """Return the ways in which a model may remember, the best first; which of them it obeys has to be tried.

    `takes`: the names of the arguments of its forward.
    """
    names = [name for name in ("past_key_values", "cache_params", "state", "mems") if name in takes]
    places = (True, False) if "position_ids" in takes else (False,)
    caches = [partial(CacheMemory, model, takes, name, placed=placed) for name in names[:2] for placed in places]
    return [*caches, *(partial(StateMemory, model, takes, name) for name in names)]


def _saved_layer(layer: Any) -> Any:
    if isinstance(layer, _GrowingLayer):
        return layer.filled
    # Plain attention makes new tensors when it grows; all other states are changed in place.
    apart = ("keys", "values") if isinstance(layer, DynamicLayer) else ()
    return {name: value if name in apart else _copied(value) for name, value in vars(layer).items()}


def _restore_layer(layer: Any, saved: Any) -> None:
    if isinstance(layer, _GrowingLayer):
        layer.go_back(saved)
        return
    vars(layer).clear()
    apart = ("keys", "values") if isinstance(layer, DynamicLayer) else ()
    vars(layer).update({name: value if name in apart else _copied(value) for name, value in saved.items()})


def _copied(value: Any) -> Any:
    """Return the same with tensors of its own."""
    if isinstance(value, torch.Tensor):
        return value.clone()
    if isinstance(value, dict):
        return {key: _copied(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_copied(part) for part in value)
    return value
