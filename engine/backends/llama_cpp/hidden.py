"""Read the hidden states that llama.cpp computes.

Those behind the last norm are what it calls embeddings. For those of layers it has functions that it declares unstable
(its src/llama-ext.h): C++ functions, exported under the names that compilers give them. A library that lacks one of
them says so in words when heads are asked for that need it; nothing else of Outrider does.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import llama_cpp
import numpy as np
from numpy.typing import NDArray

from engine.backends.base import HiddenStates
from engine.backends.llama_cpp.library import llama_library, text_entry
from engine.config import MAX_LOOKAHEAD
from engine.errors import LoadFailed, NotAvailable
from engine.formats.draft_head import NORMED, readable_states
from engine.formats.gguf.assistant import ITS_TARGET, shared_keys
from engine.formats.gguf.reader import read_gguf
from engine.translatable import Translatable

MOST_ROWS = MAX_LOOKAHEAD + 1 + 8
"""Rows of logits of a decode at most: of a pending token and its draft, and of a path of a tree that is fed again."""
_MOST_UNASKED = 16
"""The most unrequested rows of logits that are computed for states behind the norm. With more, as in
a long prompt, they would cost what a draft gains: there the first round goes without one."""
_CONTEXT = _MODEL = _ADDRESS = ctypes.c_void_p
_UNSIGNED, _INT, _FLAG = ctypes.c_uint32, ctypes.c_int32, ctypes.c_bool
_FUNCTIONS: dict[str, tuple[str, str, Any, tuple[Any, ...]]] = {
    "set_embeddings_nextn": ("P13llama_contextbb", "YAXPEAUllama_context@@_N1", None, (_CONTEXT, _FLAG, _FLAG)),
    "get_embeddings_nextn": ("P13llama_context", "YAPEAMPEAUllama_context@@", _ADDRESS, (_CONTEXT,)),
    "get_embeddings_nextn_ith": ("P13llama_contexti", "YAPEAMPEAUllama_context@@H", _ADDRESS, (_CONTEXT, _INT)),
    "set_nextn_layer_offset": ("P13llama_contexti", "YAXPEAUllama_context@@H", None, (_CONTEXT, _INT)),
    "set_embeddings_layer_inp": ("P13llama_contextjb", "YAXPEAUllama_context@@I_N", None, (_CONTEXT, _UNSIGNED, _FLAG)),
    "get_embeddings_layer_inp": ("P13llama_contextj", "YAPEAMPEAUllama_context@@I", _ADDRESS, (_CONTEXT, _UNSIGNED)),
    "model_dflash_selector_top_k": ("PK11llama_model", "YAHPEBUllama_model@@", _INT, (_MODEL,)),
    "model_target_layer_ids": ("PK11llama_model", "YAPEBHPEBUllama_model@@", _ADDRESS, (_MODEL,)),
    "model_target_layer_ids_n": ("PK11llama_model", "YAIPEBUllama_model@@", _UNSIGNED, (_MODEL,)),
}
"""Functions by name without `llama_`: the mangled arguments (Itanium's way, Microsoft's), the result, the arguments.
"""


class Functions:
    """Hold the unstable functions of a library: `call[name]`, named as in llama.cpp but for `llama_`."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.call = {name: _find(library, name, *how) for name, how in _FUNCTIONS.items()}


def _find(
    library: ctypes.CDLL, name: str, itanium: str, microsoft: str, result: Any, arguments: tuple[Any, ...]
) -> Any:
    plain = f"llama_{name}"
    kind = ctypes.CFUNCTYPE(result, *arguments)
    for symbol in (plain, f"_Z{len(plain)}{plain}{itanium}", f"?{plain}@@{microsoft}@Z"):
        with suppress(AttributeError):
            return kind((symbol, library))
    raise NotAvailable(
        Translatable("Drafting with heads"),
        "this build of llama.cpp lacks its function {name}. Install Outrider from its sources (make setup) or "
        "with an installer.",
        name=plain,
    )


@cache
def functions() -> Functions:
    """Return the unstable functions of the loaded library. Raises NotAvailable if one is missing."""
    return Functions(llama_library())


def hidden_states(model: Any, context: Any) -> HiddenStates | None:
    """Return the readable hidden states of a model, or None."""
    layers, width = int(llama_cpp.llama_model_n_layer(model)), int(llama_cpp.llama_model_n_embd(model))
    readable = readable_states(text_entry(model, "general.architecture"), layers)
    pooled = llama_cpp.llama_pooling_type(context) != llama_cpp.LLAMA_POOLING_TYPE_NONE
    if pooled or int(llama_cpp.llama_model_n_embd_out(model)) != width:
        readable -= {NORMED}
    return HiddenStates(readable, layers, width) if readable else None


def with_shared_keys(states: HiddenStates | None, model: Any, path: Path) -> HiddenStates | None:
    """Return the states with the shared part of the cache: from the file's header, as llama.cpp does not report it."""
    if states is not None and text_entry(model, "general.architecture") == ITS_TARGET:
        with suppress(LoadFailed, OSError):
            return replace(states, shared=shared_keys(read_gguf(path)))
    return states


class HiddenRows:
    """Read the hidden states that a context computes, from its next decode on until `stop`.

    `layers`: which ones (see engine.backends.base.HiddenStates); each must be readable.
    """

    def __init__(self, context: Any, states: HiddenStates, layers: Sequence[int]) -> None:
        self._call = functions().call if {*layers} - {NORMED} else {}
        self._context = context
        self._states = states
        self._layers = tuple(layers)
        self._normed = False
        self._switch(on=True)

    def unmarked(self, count: int, n_outputs: int) -> int:
        """Prepare a decode of `count` tokens, of which the last `n_outputs` are to have rows of logits.

        Returns of how many of the first ones there must be no row: of none where states behind the norm are read,
        which llama.cpp hands out of tokens with a row alone, and only of all or none.
        """
        if NORMED not in self._layers:
            return count - n_outputs
        self._set_normed(on=count <= MOST_ROWS and count - n_outputs <= _MOST_UNASKED)
        return 0 if self._normed else count - n_outputs

    def rows(self, count: int) -> NDArray[np.float32]:
        """Return the states of the `count` tokens of the last decode, shape (count, layers * width): a copy.

        States behind the norm are NaN where they were not computed.
        """
        width = self._states.width
        found = np.empty((count, len(self._layers) * width), np.float32)
        for place, layer in enumerate(self._layers):
            if layer == NORMED:
                if not self._normed:
                    found[:, place * width : (place + 1) * width] = np.nan
                    continue
                address = ctypes.cast(llama_cpp.llama_get_embeddings(self._context), _ADDRESS).value
            elif layer < self._states.layers:
                address = self._call["get_embeddings_layer_inp"](self._context, layer)
            else:
                address = self._call["get_embeddings_nextn"](self._context)
            found[:, place * width : (place + 1) * width] = floats_at(address, count, width)
        return found

    def stop(self) -> None:
        """Compute them no more."""
        self._switch(on=False)

    def _set_normed(self, *, on: bool) -> None:
        if on != self._normed:
            self._normed = on
            llama_cpp.llama_set_embeddings(self._context, on)

    def _switch(self, *, on: bool) -> None:
        for layer in self._layers:
            if layer == NORMED:
                self._set_normed(on=False)  # Each decode says.
            elif layer < self._states.layers:
                self._call["set_embeddings_layer_inp"](self._context, layer, on)
            else:
                self._call["set_embeddings_nextn"](self._context, on, False)


@lru_cache
def floats_at(address: int | None, count: int, width: int) -> NDArray[np.float32]:
    """Return a view of numbers that llama.cpp holds, shape (count, width).

    It is kept: making one costs more than a small head's pass. Only who just got the address may read it.
    """
    if not address:
        raise RuntimeError("llama.cpp returned no hidden states")
    memory = (ctypes.c_char * (ctypes.sizeof(ctypes.c_float) * count * width)).from_address(address)
    return np.frombuffer(memoryview(memory), np.float32).reshape(count, width)
