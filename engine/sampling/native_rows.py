"""Call the functions of kernels/rows.cpp, which `make setup` and the installers compile into llama.cpp's library."""

from __future__ import annotations

import ctypes
import threading
from math import isnan
from typing import Any

import numpy as np

from engine.config import SamplingConfig
from engine.errors import DegenerateDistribution
from engine.sampling.cuts import NO_MASS, NO_PEAK, Choice, Row, Weights
from engine.sampling.native_draw import NativeSampler
from engine.sampling.native_rules import MOST_TOP, Cuts, check_rules, cuts_of
from engine.sampling.rows import Sampler

_FLOAT, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
_Byte: Any = ctypes.c_char * 1
_Facts = ctypes.c_double * 2
_SIGNATURES: dict[str, tuple[list[Any], Any]] = {
    "outrider_best": ([ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p], ctypes.c_int64),
    "outrider_normaliser": ([ctypes.c_void_p, ctypes.c_int64], ctypes.c_double),
    "outrider_choose": (
        [
            *(ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(Cuts)),
            *(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p),
        ],
        ctypes.c_int64,
    ),
    "outrider_quantile": ([ctypes.c_void_p, ctypes.c_int64, ctypes.c_double], ctypes.c_int64),
    "outrider_quantile_double": ([ctypes.c_void_p, ctypes.c_int64, ctypes.c_double], ctypes.c_int64),
}


class _Room(threading.local):
    """Hold memory for the functions' results, one for each thread: often a little of a large room is used.

    And the rules of the last call, which the next one mostly repeats.
    """

    size = 0
    sampling: SamplingConfig | None = None
    cuts: Cuts

    def grow(self, size: int) -> None:
        """Make room for `size` tokens."""
        self.facts = _Facts()
        self.tokens = np.empty(size, np.intp)
        self.weights = np.empty(size, _FLOAT)
        self.tokens_place, self.weights_place = self.tokens.ctypes.data, self.weights.ctypes.data
        self.size = size


class NativeRows:
    """Call the rows' functions of a compiled library (see engine.sampling.rows.Rows).

    `library` must keep the interpreter lock during calls (ctypes.PyDLL): they take microseconds, and a thread that
    releases the lock may wait for milliseconds to get it back from a busy window. Raises AttributeError if it lacks
    one, and OtherRules.
    """

    def __init__(self, library: ctypes.PyDLL) -> None:
        check_rules(library)
        functions: dict[str, Any] = {}
        for name, (arguments, result) in _SIGNATURES.items():
            function = functions[name] = getattr(library, name)
            function.argtypes, function.restype = arguments, result
        self.library = library
        self._room = _Room()
        self._best = functions["outrider_best"]
        self._normaliser = functions["outrider_normaliser"]
        self._choose = functions["outrider_choose"]
        self._quantile = functions["outrider_quantile"]
        self._quantile_double = functions["outrider_quantile_double"]

    def best(self, row: Row) -> tuple[int, float]:
        facts = _Facts()
        token: int = self._best(_floats(row), len(row), facts)
        if token < 0:
            raise DegenerateDistribution(NO_PEAK)
        return token, facts[0]

    def logprob(self, row: Row, token: int) -> float:
        normaliser: float = self._normaliser(_floats(row), len(row))
        if isnan(normaliser):
            raise DegenerateDistribution(NO_PEAK)
        return float(row[token]) - normaliser

    def choose(self, row: Row, sampling: SamplingConfig) -> Choice:
        count, room = len(row), self._room
        if room.size < count:
            room.grow(count)
        if sampling is not room.sampling:
            room.sampling, room.cuts = sampling, cuts_of(sampling)
        facts = room.facts
        left = self._choose(_floats(row), count, room.cuts, room.tokens_place, room.weights_place, facts)
        if left < 0:
            raise DegenerateDistribution(NO_PEAK)
        tokens = None if left == count else room.tokens[:left].copy()
        return Choice(room.weights[:left].copy(), tokens, facts[0], facts[1])

    def quantile(self, weights: Weights, u: float) -> int:
        if weights.dtype is _FLOAT:
            place = self._quantile(_floats(weights), len(weights), u)
        else:
            place = self._quantile_double(_memory(weights, _DOUBLE), len(weights), u)
        if place < 0:
            raise DegenerateDistribution(NO_MASS)
        return int(place)

    def sampler(self, sampling: SamplingConfig, seed: int, least: float = 0.0, top: int = 0) -> Sampler | None:
        if top > MOST_TOP:  # It has no room for more.
            return None
        try:
            return NativeSampler(self.library, sampling, seed, least, top)
        except AttributeError:  # It was compiled without these.
            return None


def _floats(row: Any) -> Any:
    return _memory(row, _FLOAT)


def _memory(values: Any, kind: np.dtype[Any]) -> Any:
    """Return something that ctypes passes as the place of an array's first value, and that keeps the array.

    It costs a third of what `values.ctypes` does.
    """
    if values.dtype is kind:
        try:
            return _Byte.from_buffer(values)
        except (TypeError, ValueError):
            pass  # It is read-only, or its values do not lie side by side.
    return _Byte.from_buffer(np.array(values, kind, order="C"))
