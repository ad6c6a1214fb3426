"""Run folders of config.json and safetensors with PyTorch and transformers."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from engine.backends.base import Backend, Logits, Rewind, StateReader
from engine.backends.pictures import PictureToken
from engine.backends.transformers.cache import CacheMemory, Memory
from engine.backends.transformers.check import CacheUse, LooksAhead, NotNumbers, feed, find_way
from engine.backends.transformers.config import first_line
from engine.backends.transformers.hidden import HookedRows, decoder_layers, hidden_states, last_norm, readable_tokens
from engine.backends.transformers.loading import LoadedModel, end_tokens, load_model, quiet
from engine.backends.transformers.packing import pack_weights, share_keys, watch_weights
from engine.backends.transformers.pictures import Eyes
from engine.backends.transformers.tokenizer import ClosedTokenizer, open_tokenizer
from engine.cancel import CancelToken
from engine.config import MAX_LOOKAHEAD, LoadConfig
from engine.errors import (
    BackendClosed,
    BackendFailure,
    ContextFull,
    EngineError,
    LoadFailed,
    ModelFileBroken,
    ModelNotSupported,
    RewindNotSupported,
    TokenOutOfRange,
)
from engine.formats.safetensors.model import folder_name, reads_pictures
from engine.messages.picture import Picture
from engine.system.machine import default_threads
from engine.translatable import Translatable

_LONGEST_REPLAY = 16
"""The longest replay that waits for the next forward, to be fed together with its tokens."""
_LONG = 32
"""Tokens in one forward from which on it can be broken off between two layers."""


class TransformersBackend(Backend):
    """Run a model of transformers with its cache (see engine.backends.base.Backend). Make one with `open`."""

    def __init__(self, loaded: LoadedModel, threads: int | None, template: str | None = None) -> None:
        self.parameters = sum(weight.numel() for weight in loaded.model.parameters())
        self.weight_bytes = sum(weight.numel() * weight.element_size() for weight in loaded.model.parameters())
        self.threads = threads or default_threads(self.weight_bytes)
        self._readable = readable_tokens(loaded.model)
        with _threads(self.threads), torch.inference_mode():
            way = _prepare(loaded)
        self._model: Any = loaded.model
        self._memory = way.memory
        self._feeding = way.feeding
        self._layers = decoder_layers(loaded.model)
        self._norm = last_norm(loaded.model)
        self.name = folder_name(loaded.folder)
        self.vocab_size = way.vocab_size
        self.context_length = loaded.context_length
        self.tokenizer = open_tokenizer(loaded.folder, loaded.config, way.vocab_size, template)
        self.eos_token_ids = end_tokens(loaded, self.tokenizer.eos_token_ids, way.vocab_size)
        self.rewind = Rewind("any") if way.memory.can_crop else Rewind("snapshots", 1)
        self.device = str(loaded.device)
        seeing = self._feeding == "together" and reads_pictures(loaded.folder)
        self._eyes = Eyes(loaded.folder) if seeing else None
        self.sees = self._eyes is not None and isinstance(way.memory, CacheMemory) and way.memory.can_crop
        self._tokens: list[int] = []
        self._replay: list[int] = []
        self._points: list[tuple[int, Any]] = []
        self._cancel: CancelToken | None = None
        self.hidden_states = hidden_states(loaded.model, self._layers)
        self._reader: StateReader | None = None
        self._shown: HookedRows | None = None
        self._trees: bool | None = None
        self._tree: tuple[int, ...] = ()
        """The tokens of a tree of which no path was kept yet."""

    @classmethod
    def open(
        cls,
        config: LoadConfig,
        *,
        progress: Callable[[float], None] | None = None,
        cancel: CancelToken | None = None,
    ) -> TransformersBackend:
        """Load the model in a folder, `config.path`. `progress` receives a fraction 0..1.

        Raises ModelFileBroken, ModelNotSupported, ModelTooLarge, LoadFailed, NotAvailable, Cancelled.
        """
        with quiet():
            loaded = load_model(Path(config.path), config, progress, cancel)
            return cls(loaded, config.threads, config.chat_template)

    @property
    def length(self) -> int:
        return len(self._tokens)

    @property
    def tokens(self) -> Sequence[int]:
        return self._tokens

    def watch(self, cancel: CancelToken | None) -> None:
        self._cancel = cancel

    def show_states(self, reader: StateReader | None) -> None:
        if reader is self._reader:
            return
        if reader is not None and self.hidden_states is None:
            super().show_states(reader)
        if self._shown is not None:
            self._shown.stop()
        self._shown = None if reader is None else HookedRows(self._layers, reader.state_layers)
        self._reader = reader

    @property
    def model(self) -> Any:
        """Return the model itself, for heads that are built of its kinds of layers."""
        return self._model

    @property
    def embeddings(self) -> torch.Tensor:
        """Return the token embeddings, shape (tokens, width), for heads that share them."""
        weight: torch.Tensor = self._model.get_input_embeddings().weight
        return weight

    def normed(self, states: torch.Tensor) -> torch.Tensor:
        """Return the state that the output layer reads, for heads that read it."""
        normed: torch.Tensor = self._norm(states)
        return normed

    def see(self, picture: Picture) -> list[int]:
        return super().see(picture) if self._eyes is None else self._eyes.tokens(picture)

    def _look(self, tokens: Sequence[int], eyes: Eyes) -> Logits:
        """Append a picture to the cache."""
        piece, memory = [token for token in tokens if isinstance(token, PictureToken)], self._memory
        self._check(())
        if [token.index for token in piece] != list(range(piece[0].count)) or len(piece) < len(tokens):
            raise BackendFailure(Translatable("a picture must be read whole"), self.length)
        if self.length + len(piece) > self.context_length:
            raise ContextFull(self.length + len(piece), self.context_length)
        ids, arguments = eyes.prepared(piece[0].picture)
        with self._computing(), self._interruptible(self._cancel or CancelToken()):
            if isinstance(memory, CacheMemory):
                kind, device = self.embeddings.dtype, self.embeddings.device
                given = {name: each.to(device) for name, each in arguments.items()}
                given = {name: each.to(kind) if each.is_floating_point() else each for name, each in given.items()}
                memory.run(ids, 0, **given)
            if self._shown is not None:
                self._shown.clear()
        self._tokens.extend(piece)
        return np.empty((0, self.vocab_size), np.float32)

    def forward(self, tokens: Sequence[int], n_outputs: int) -> Logits:
        if self._eyes is not None and tokens and isinstance(tokens[0], PictureToken):
            return self._look(tokens, self._eyes)
        self._check(tokens)
        if not tokens or not 0 <= n_outputs <= min(len(tokens), MAX_LOOKAHEAD + 1):
            raise BackendFailure(
                "{n_outputs} rows of logits were requested for {tokens} tokens",
                self.length,
                n_outputs=n_outputs,
                tokens=len(tokens),
            )
        with self._computing():
            rows = self._feed([*self._replay, *tokens], n_outputs)
            self._show([*self._replay, *tokens])
            read = _as_array(rows) if n_outputs else np.empty((0, self.vocab_size), np.float32)
        self._tokens.extend(tokens)
        self._replay = []
        return read

    def _check(self, tokens: Sequence[int]) -> None:
        """Check tokens before they are fed behind the cached ones; drop a tree that was not kept."""
        self._check_open()
        self._drop_tree()
        for token in tokens:
            if not 0 <= token < self._readable:
                raise TokenOutOfRange(token, self._readable)
        if self.length + len(tokens) > self.context_length:
            raise ContextFull(self.length + len(tokens), self.context_length)

    @contextmanager
    def _computing(self) -> Iterator[None]:
        """Compute in the block with this model's threads; the cache is mended where that fails."""
        try:
            with _threads(self.threads), torch.inference_mode():
                yield
        except EngineError:
            self._recover()
            raise
        except torch.OutOfMemoryError as error:
            self._recover()
            raise BackendFailure("the memory of {device} is full", self.length, device=self.device) from error
        except Exception as error:
            position = self.length
            self._recover()
            raise BackendFailure(first_line(error), position) from error

    @property
    def trees(self) -> bool:
        if self._trees is None and not self.closed and self.length + TRIED <= self.context_length:
            with _threads(self.threads), torch.inference_mode():
                self._trees = self._feeding == "together" and try_trees(self._memory)
            if self._shown is not None:
                self._shown.clear()
        return bool(self._trees)

    def forward_tree(self, tokens: Sequence[int], parents: Sequence[int]) -> Logits:
        memory = self._memory
        if not self.trees or not isinstance(memory, CacheMemory):
            return super().forward_tree(tokens, parents)
        self._check(tokens)
        with self._computing():
            read = _as_array(run_tree(memory, tokens, parents))
        self._tree = tuple(tokens)
        return read

    def keep_path(self, path: Sequence[int]) -> None:
        self._check_open()
        memory = self._memory
        if not self._tree or not isinstance(memory, CacheMemory):
            return
        kept, first = [self._tree[index] for index in path], self.length
        self._tree = ()
        with self._computing():
            memory.keep_path(first, path)
            if self._shown is not None and self._reader is not None:
                place = first - self._pictured(first)
                self._reader.read_states(place, kept, self._shown.rows()[list(path)])
        self._tokens.extend(kept)

    def _drop_tree(self) -> None:
        if self._tree:
            self._tree = ()
            self._recover()

    def _show(self, tokens: list[int]) -> None:
        """Show the states of the tokens that were fed last."""
        if self._shown is not None and self._reader is not None:
            first = self.length - len(self._replay)
            self._reader.read_states(first - self._pictured(first), tokens, self._shown.rows())

    def _pictured(self, length: int) -> int:
        """Count the tokens of pictures before a place: readers of states count words alone."""
        return sum(token < 0 for token in self._tokens[:length]) if self.sees else 0

    def _feed(self, tokens: list[int], n_outputs: int) -> torch.Tensor:
        memory, cancel = self._memory, self._cancel
        if self._feeding == "together" or len(tokens) == 1 or (self._feeding == "first" and memory.length == 0):
            self._add_point(n_outputs)
            if cancel is None or len(tokens) < _LONG:
                return memory.run(tokens, n_outputs)
            with self._interruptible(cancel):
                return memory.run(tokens, n_outputs)
        found = []
        for index, token in enumerate(tokens):
            if cancel is not None:
                cancel.check()
            self._add_point(n_outputs)
            found.append(memory.run([token], int(index >= len(tokens) - n_outputs)))
        return torch.cat(found[len(tokens) - n_outputs :]) if n_outputs else found[-1]

    @contextmanager
    def _interruptible(self, cancel: CancelToken) -> Iterator[None]:
        """Allow a forward in the block to stop before its next layer when `cancel` is set."""

        def check(_layer: object, _inputs: object) -> None:
            cancel.check()

        hooks = [layer.register_forward_pre_hook(check) for layer in self._layers]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    def _check_open(self) -> None:
        if self.closed:
            raise BackendClosed

    def truncate(self, length: int) -> None:
        self._check_open()
        self._drop_tree()
        if not 0 <= length <= self.length:
            raise RewindNotSupported(length, self.length)
        if length == self.length:
            return
        if isinstance(cut := self._tokens[length], PictureToken) and cut.index:
            raise RewindNotSupported(length, self.length)  # Half a picture is none.
        held = self.length - len(self._replay)
        if length >= held:
            self._replay = self._replay[: length - held]
        elif length == 0:
            self._clear()
        elif self._memory.can_crop:
            self._memory.crop(length)
        else:
            self._restore(length)
        del self._tokens[length:]

    def mark(self) -> None:
        self._check_open()
        self._drop_tree()
        if self._memory.can_crop:
            return
        if len(self._replay) >= _LONGEST_REPLAY:
            with _threads(self.threads), torch.inference_mode():
                feed(self._memory, self._feeding, self._replay, 0)
                self._show(self._replay)
            self._replay = []
        held = self._memory.length
        if not self._points or self._points[-1][0] != held:
            with torch.inference_mode():
                self._points.append((held, self._memory.save()))
        del self._points[:-1]

    def _add_point(self, n_outputs: int) -> None:
        """Add a restore point behind a mark, before each forward whose tokens may be taken back."""
        if not self._points or not n_outputs or len(self._points) > MAX_LOOKAHEAD + 1:
            return
        held = self._memory.length
        if self._points[-1][0] != held:
            self._points.append((held, self._memory.save()))

    def _restore(self, length: int) -> None:
        """Restore the last restore point before `length`; the next forward replays what lies between."""
        usable = [point for point in self._points if point[0] <= length]
        if not usable:
            raise RewindNotSupported(length, self.length)
        self._points = usable
        held, saved = usable[-1]
        with torch.inference_mode():
            self._memory.restore(saved)
        self._replay = self._tokens[held:length]

    def _recover(self) -> None:
        """Repair the cache after a forward that failed half-way: it is as before, or empty."""
        if self._shown is not None:
            self._shown.clear()
        held = self.length - len(self._replay)
        if self._memory.can_crop:
            self._memory.crop(held)
        elif any(place <= self.length for place, _ in self._points):
            self._restore(self.length)
        else:
            self._clear()
            self._tokens.clear()

    def _clear(self) -> None:
        self._memory.reset()
        self._replay = []
        self._points = []

    def close(self) -> None:
        if self.closed:
            return
        self.closed = True
        self.tokenizer = ClosedTokenizer()
        self.show_states(None)
        for name in ("_model", "_memory", "_layers", "_norm", "_points"):
            setattr(self, name, None)
        gc.collect()
        if self.device.startswith("cuda"):
            torch.cuda.empty_cache()


def threads_of(backend: TransformersBackend) -> AbstractContextManager[None]:
    """Set PyTorch's threads to a loaded model's number within the block."""
    return _threads(backend.threads)


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """Set PyTorch's threads within the block. The number is the whole process's: it is put back."""
    before = torch.get_num_threads()
    if before == count:
        yield
        return
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _prepare(loaded: LoadedModel) -> CacheUse:
    """Return the function that feeds the model; on a CPU its weights are laid out for that."""
    model, on_processor = loaded.model, loaded.device.type == "cpu"
    if on_processor:
        share_keys(model)
        watch_weights(model)
    way = _try(loaded)
    if on_processor:
        pack_weights(model)
    return way


def _try(loaded: LoadedModel) -> CacheUse:
    try:
        return find_way(loaded.model, readable_tokens(loaded.model))
    except NotNumbers:
        raise ModelFileBroken(
            loaded.folder, Translatable("its weights are damaged: it computes values that are not numbers.")
        ) from None
    except LooksAhead:
        raise ModelNotSupported(
            loaded.folder, Translatable("it attends to later tokens: it encodes text and cannot generate any.")
        ) from None
    except torch.OutOfMemoryError as error:
        raise LoadFailed(
            loaded.folder, "the memory of {device} is full. Choose a smaller model.", device=loaded.device
        ) from error
    except Exception as error:
        raise LoadFailed(
            loaded.folder, "transformers cannot run it ({first_line}).", first_line=first_line(error)
        ) from error


def _as_array(rows: torch.Tensor) -> Logits:
    """Return rows as float32 in memory, without a copy where they are that already."""
    array: Logits = rows.float().cpu().numpy()
    return array


_TEXT, _TREE, _PARENTS = (3, 1, 4, 1, 5), (2, 6, 5, 3, 5), (-1, 0, 0, 1, 2)
"""A tree of two branches that is tried: the same token stands in both, behind different ones."""
TRIED = len(_TEXT) + len(_TREE)
"""Tokens that there must be room for."""
_TOLERANCE = {torch.float32: 1e-3, torch.float64: 1e-6}
_COARSE = 0.1
"""Differences from the chain's rows that count as rounding, in standard deviations of a row."""


# A tree of tokens in one forward, by positions and a mask of ancestors: a node stands at the position of its depth, and
# sees the text and the nodes on its own path. Source of the mask: Miao et al., "SpecInfer" (2023), section 4.2. Whether
# a model obeys positions and mask is tried, as its way to remember is.


def ancestors(parents: Sequence[int]) -> NDArray[np.bool_]:
    """Return the mask of the nodes that each node of a tree sees, itself included: shape (nodes, nodes)."""
    seen = np.eye(len(parents), dtype=np.bool_)
    for node, parent in enumerate(parents):
        if parent >= 0:
            seen[node] |= seen[parent]
    return seen


def run_tree(memory: CacheMemory, tokens: Sequence[int], parents: Sequence[int]) -> torch.Tensor:
    """Append the nodes of a tree to the cache in one forward; the logits behind each, shape (nodes, vocabulary)."""
    seen = ancestors(parents)
    visible = np.concatenate([np.ones((len(tokens), memory.length), np.bool_), seen], axis=1)
    mask = np.where(visible, 0.0, -np.inf).astype(np.float32)
    dtype = memory.model.dtype
    lowest = torch.finfo(dtype).min
    shown = torch.from_numpy(mask).clamp(min=lowest).to(dtype).to(memory.model.device)
    places = memory.length + seen.sum(axis=1) - 1
    return memory.run_placed(tokens, torch.from_numpy(places).to(memory.model.device), shown[None, None])


def try_trees(memory: Memory) -> bool:
    """Return True if a model gives the rows of its chains for a tree too. The memory is as before then."""
    if not isinstance(memory, CacheMemory) or not memory.takes_trees:
        return False
    before = memory.length
    try:
        memory.run(_TEXT, 1)
        rows = run_tree(memory, _TREE, _PARENTS).float()
        memory.keep_path(len(_TEXT) + before, [0, 2, 4])
        kept = memory.run([7], 1).float()
        memory.crop(before + len(_TEXT))
        first = memory.run([2, 6, 3], 3).float()
        memory.crop(before + len(_TEXT))
        second = memory.run([2, 5, 5, 7], 4).float()
        expected = torch.stack([first[0], first[1], second[1], first[2], second[2]])
        allowed = _TOLERANCE.get(memory.model.dtype, _COARSE) * expected.std(1)
        return bool(
            ((rows - expected).abs().amax(1) <= allowed).all() and (kept[0] - second[3]).abs().max() <= allowed.max()
        )
    except (RuntimeError, ValueError, TypeError, IndexError, AttributeError, KeyError, NotImplementedError):
        return False
    finally:
        memory.crop(before)
