"""Drawing a draft's token, and judging a whole draft, in one call each of engine/kernels/draw.cpp.

What is done is engine.sampling and engine.acceptance, with the same random numbers: up to the rounding of float32 the
tokens are the same. Array by array in Python it takes longer than a small model does.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.candidates import Candidates, Drawn
from engine.config import MAX_LOOKAHEAD, SamplingConfig
from engine.errors import DegenerateDistribution
from engine.history import History, counter
from engine.rows import NO_PEAK

_RECORD = struct.Struct("@qqPPdd")
"""Token, number of weights, where its tokens are (0: all ids from 0 on) and its weights, their sum, log-probability."""
_CHUNK = 1 << 18
"""Bytes in which drafts' distributions are put one behind the other."""
_ALIGNED = 64
_FLOAT, _TOKEN = 4, 8
_MOST = MAX_LOOKAHEAD + 2
_POINTER, _INT, _DOUBLE = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double
_Byte: Any = ctypes.c_char * 1
_SIGNATURES: dict[str, list[Any]] = {
    "outrider_propose": [_POINTER, _INT, _POINTER, _INT, _POINTER, _POINTER, _POINTER, _POINTER],
    "outrider_judge": [
        *(_POINTER, _INT, _INT, _POINTER, _INT, _POINTER),
        *(_POINTER, _INT, _POINTER, _POINTER, _POINTER, _POINTER),
    ],
}


class _Rules(ctypes.Structure):
    """How the distribution is made of a row (draw.cpp: Rules)."""

    _fields_ = (
        *(("temperature", _DOUBLE), ("top_k", _INT), ("top_p", _DOUBLE), ("min_p", _DOUBLE)),
        *(("repeat", ctypes.c_float), ("presence", ctypes.c_float), ("frequency", ctypes.c_float)),
        *(("penalised", ctypes.c_int32), ("seed", ctypes.c_uint64), ("least", _DOUBLE)),
    )


class _Counted(ctypes.Structure):
    """The tokens that are penalised, and how often each came."""

    _fields_ = (("count", _INT), ("tokens", _POINTER), ("numbers", _POINTER))


class Proposal(NamedTuple):
    """A drafted token, the distribution that it was drawn from (None: no draw), and its own log-probability."""

    token: int
    probs: Candidates | None
    logprob: float


class Judged(NamedTuple):
    """The tokens of a round as far as they were judged, how many of them are proposals, and log-probabilities."""

    tokens: list[int]
    kept: int
    logprobs: list[float]


class NativeCandidates(Candidates):
    """A distribution that lies where the compiled functions have put it; arrays are made when somebody asks."""

    __slots__ = ("_chunk", "record")

    def __init__(self, size: int, record: bytes, chunk: _Chunk) -> None:
        self._size = size
        self.record = record
        self._chunk = chunk

    def __getattr__(self, name: str) -> Any:
        """What was not asked for before."""
        if name not in ("_weights", "_tokens", "_mass", "normaliser"):
            raise AttributeError(name)
        _, left, tokens, weights, self._mass, _ = _RECORD.unpack(self.record)
        self._weights = self._chunk.view(weights, left, np.float32)
        self._tokens = self._chunk.view(tokens, left, np.intp) if tokens else None
        self.normaliser = None
        return getattr(self, name)


class _Chunk:
    """Memory for distributions; who has one of them keeps all of it."""

    def __init__(self, size: int) -> None:
        self.memory = np.empty(size + _ALIGNED, np.uint8)
        self.place: int = self.memory.ctypes.data
        self.used = -self.place % _ALIGNED
        self.size = self.used + size

    def view(self, place: int, count: int, kind: type[Any]) -> NDArray[Any]:
        """The values that lie there."""
        return np.frombuffer(self.memory, kind, count, place - self.place)


class NativeSampler:
    """Draws and judges by fixed rules and a seed. For one model and one thread at a time.

    `least`: a draft's token is not proposed where the likeliest one's probability is below it. Raises AttributeError
    where the library lacks the functions.
    """

    def __init__(self, library: ctypes.PyDLL, sampling: SamplingConfig, seed: int, least: float = 0.0) -> None:
        functions: dict[str, Any] = {}
        for name, arguments in _SIGNATURES.items():
            function = functions[name] = getattr(library, name)
            function.argtypes, function.restype = arguments, _INT
        self._call_propose, self._call_judge = functions["outrider_propose"], functions["outrider_judge"]
        self._draws = not sampling.greedy
        self._penalised, self._window = sampling.penalised, sampling.penalty_window
        self._rules = _Rules(
            *(sampling.temperature, sampling.top_k, sampling.top_p, sampling.min_p),
            *(sampling.repeat_penalty, sampling.presence_penalty, sampling.frequency_penalty),
            *(sampling.penalised, seed, least),
        )
        self._counted = _Counted()
        self._history: History | None = None
        self._found = ctypes.create_string_buffer(_RECORD.size)
        self._tokens, self._logprobs, self._kept = (_INT * _MOST)(), (_DOUBLE * _MOST)(), _INT()
        self._places = [
            ctypes.addressof(each)
            for each in (self._rules, self._counted, self._found, self._tokens, self._logprobs, self._kept)
        ]
        self._chunk = _Chunk(_CHUNK)
        self._rows: NDArray[np.float32] | None = None
        self._held: Any = None
        self._rows_place = 0

    def propose(
        self, rows: NDArray[np.float32], count: int, size: int, position: int, history: Sequence[int] = ()
    ) -> Proposal | None:
        """The draft's token at `position` of the reply, or None where the model is not sure enough.

        `rows`: shape (1, n), of which the first `count` logits count. `size`: of the vocabulary that the token is for.
        `history`: all tokens before this one, for the penalties. Raises DegenerateDistribution.
        """
        place = self._rows_place if rows is self._rows else self._find(rows)
        chunk = self._chunk
        if chunk.used + (_FLOAT + _TOKEN) * count > chunk.size:
            chunk = self._chunk = _Chunk(max(_CHUNK, 4 * (_FLOAT + _TOKEN) * count))
        if self._penalised:
            self._count(history)
        weights = chunk.place + chunk.used
        rules, counted, found, *_ = self._places
        tokens = weights + (_FLOAT * count + _TOKEN - 1) // _TOKEN * _TOKEN
        drawn = self._call_propose(place, count, rules, position, counted, tokens, weights, found)
        if drawn <= 0:
            if drawn:
                raise DegenerateDistribution(NO_PEAK)
            return None
        record = self._found.raw
        token, left, tokens, _, _, share = _RECORD.unpack(record)
        if not self._draws:
            return Proposal(token, None, share)
        end = tokens + _TOKEN * left if tokens else weights + _FLOAT * left
        chunk.used = (end - chunk.place + _ALIGNED - 1) // _ALIGNED * _ALIGNED
        return Proposal(token, NativeCandidates(size, record, chunk), share)

    def judge(
        self,
        rows: NDArray[np.float32],
        part: range,
        proposed: Sequence[int],
        records: bytes | None,
        position: int,
        history: History | None,
    ) -> Judged:
        """Judge a part of the rows, up to the first token that is no proposal.

        `proposed`: the tokens that belong to the rows from 0 on; `records`: their distributions (see `records_of`), or
        None where a proposal is kept if the target draws the same. `position`: of row 0's token in the reply.
        `history`: where there are penalties, the tokens before the part; those that are judged are put behind it.
        Raises DegenerateDistribution with the position.
        """
        if not self._penalised or history is None:
            return self._judge(rows, part, proposed, records, position)
        all_of = Judged([], 0, [])
        for index in part:
            self._count(history)
            tokens, kept, logprobs = self._judge(rows, range(index, index + 1), proposed, records, position)
            history.append(tokens[0])
            all_of = Judged([*all_of.tokens, *tokens], all_of.kept + kept, [*all_of.logprobs, *logprobs])
            if not kept:
                break
        return all_of

    def _judge(
        self, rows: NDArray[np.float32], part: range, proposed: Sequence[int], records: bytes | None, position: int
    ) -> Judged:
        place = self._rows_place if rows is self._rows else self._find(rows)
        first, size = part.start, rows.shape[1]
        judged = proposed[first : part.stop]
        tokens = struct.pack(f"{len(judged)}q", *judged)
        if first and records is not None:
            records = records[_RECORD.size * first :]
        rules, counted, _, into, logprobs, kept = self._places
        found: int = self._call_judge(
            *(place + _FLOAT * size * first, size, len(part), rules, position + first, counted),
            *(tokens, len(judged), records, into, logprobs, kept),
        )
        if found < 0:
            raise DegenerateDistribution(NO_PEAK, position + first + self._kept.value)
        return Judged(self._tokens[:found], self._kept.value, self._logprobs[:found])

    def _count(self, history: Sequence[int]) -> None:
        """Tell the functions what is penalised."""
        counted = self._counted
        self._history = counter(history, self._window)  # The functions read its arrays.
        counted.count, counted.tokens, counted.numbers = self._history.places

    def _find(self, rows: NDArray[np.float32]) -> int:
        """Where the rows begin. A view that comes again and again is looked up once."""
        if rows.dtype == np.float32 and rows.flags.c_contiguous:
            self._rows = self._held = rows
            self._rows_place = rows.ctypes.data
            return self._rows_place
        self._rows = None
        self._held = np.ascontiguousarray(rows, np.float32)
        place: int = self._held.ctypes.data
        return place


def records_of(probs: object, count: int) -> bytes | None:
    """What `judge` is told of a draft's distributions; None where not all `count` were made by such a sampler."""
    if not isinstance(probs, Drawn):
        return None
    records = [each.record for each in probs.candidates if isinstance(each, NativeCandidates)]
    return b"".join(records) if len(records) == count else None
