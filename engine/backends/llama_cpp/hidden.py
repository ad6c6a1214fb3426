"""Reach llama.cpp's functions for hidden states, which it declares unstable (its src/llama-ext.h).

They are C++ functions, exported under the names that compilers give them. A library that lacks one of them says so in
words when heads are asked for; nothing else of Outrider needs them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from contextlib import suppress
from functools import cache, lru_cache
from typing import Any

import llama_cpp
import numpy as np
from numpy.typing import NDArray

from engine.backends.base import HiddenStates
from engine.backends.llama_cpp.library import llama_library, text_entry
from engine.errors import NotAvailable
from engine.formats.draft_head import readable_states
from engine.translatable import Translatable

_CONTEXT = _MODEL = _ADDRESS = ctypes.c_void_p
_UNSIGNED, _INT, _FLAG = ctypes.c_uint32, ctypes.c_int32, ctypes.c_bool
_FUNCTIONS: dict[str, tuple[str, str, Any, tuple[Any, ...]]] = {
    "set_embeddings_nextn": ("P13llama_contextbb", "YAXPEAUllama_context@@_N1", None, (_CONTEXT, _FLAG, _FLAG)),
    "get_embeddings_nextn": ("P13llama_context", "YAPEAMPEAUllama_context@@", _ADDRESS, (_CONTEXT,)),
    "get_embeddings_nextn_ith": ("P13llama_contexti", "YAPEAMPEAUllama_context@@H", _ADDRESS, (_CONTEXT, _INT)),
    "set_nextn_layer_offset": ("P13llama_contexti", "YAXPEAUllama_context@@H", None, (_CONTEXT, _INT)),
    "set_embeddings_layer_inp": (
        "P13llama_contextjb",
        "YAXPEAUllama_context@@I_N",
        None,
        (_CONTEXT, _UNSIGNED, _FLAG),
    ),
    "get_embeddings_layer_inp": ("P13llama_contextj", "YAPEAMPEAUllama_context@@I", _ADDRESS, (_CONTEXT, _UNSIGNED)),
    "model_target_layer_ids": ("PK11llama_model", "YAPEBHPEBUllama_model@@", _ADDRESS, (_MODEL,)),
    "model_target_layer_ids_n": ("PK11llama_model", "YAIPEBUllama_model@@", _UNSIGNED, (_MODEL,)),
}
"""By name without `llama_`: how compilers write the arguments (Itanium's way, Microsoft's), the result, the arguments.
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
        Translatable(
            "this build of llama.cpp lacks its function {name}. Install Outrider from its sources (make setup) or "
            "with an installer.",
            name=plain,
        ),
    )


@cache
def functions() -> Functions:
    """Return the unstable functions of the loaded library. Raises NotAvailable where one is missing."""
    return Functions(llama_library())


def hidden_states(model: Any) -> HiddenStates | None:
    """Return which hidden states of a model can be read, None where none can."""
    layers = int(llama_cpp.llama_model_n_layer(model))
    readable = readable_states(text_entry(model, "general.architecture"), layers)
    return HiddenStates(readable, layers, int(llama_cpp.llama_model_n_embd(model))) if readable else None


class HiddenRows:
    """Read the hidden states that a context computes, from its next decode on until `stop`.

    `layers`: which ones (see engine.backends.base.HiddenStates); each must be readable.
    """

    def __init__(self, context: Any, states: HiddenStates, layers: Sequence[int]) -> None:
        self._call = functions().call
        self._context = context
        self._states = states
        self._layers = tuple(layers)
        self._switch(on=True)

    def rows(self, count: int) -> NDArray[np.float32]:
        """Return the states of the `count` tokens of the last decode, shape (count, layers * width): a copy."""
        width = self._states.width
        found = np.empty((count, len(self._layers) * width), np.float32)
        for place, layer in enumerate(self._layers):
            if layer < self._states.layers:
                address = self._call["get_embeddings_layer_inp"](self._context, layer)
            else:
                address = self._call["get_embeddings_nextn"](self._context)
            found[:, place * width : (place + 1) * width] = floats_at(address, count, width)
        return found

    def stop(self) -> None:
        """Compute them no more."""
        self._switch(on=False)

    def _switch(self, *, on: bool) -> None:
        for layer in self._layers:
            if layer < self._states.layers:
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
