"""Draw a draft's token, and judge a whole draft, in one call each of llama_cpp/kernels/draw.cpp.

What is done is engine.sampling.distribution and engine.sampling.acceptance, with the same random numbers: up to the
rounding of float32 the tokens are the same. Array by array in Python it takes longer than a small model does.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.config import MAX_LOOKAHEAD, SamplingConfig
from engine.errors import DegenerateDistribution, TokenOutOfRange
from engine.sampling.candidates import Candidates, Drawn
from engine.sampling.cuts import NO_PEAK
from engine.sampling.history import History, counter
from engine.sampling.masking import Mask, Masks
from engine.sampling.native_rules import Counted, Named, Work, rules_of
from engine.sampling.rows import Judged, Proposal, Top

_PROPOSAL = struct.Struct("@qqPPdd")
"""Token, number of weights, where its tokens are (0: all ids from 0 on) and its weights, their sum, log-probability."""
_CHUNK = 1 << 18
"""Bytes in which drafts' distributions are put one behind the other."""
_ALIGNED = 64
_FLOAT, _TOKEN = 4, 8
_BEHIND = 4 * MAX_LOOKAHEAD
"""Tokens behind the committed ones that the functions take: more than a draft and the tokens drafted ahead of it."""
_POINTER, _INT = ctypes.c_void_p, ctypes.c_int64
_SIGNATURES: dict[str, list[Any]] = {
    "outrider_work_size": [],
    "outrider_draw_proposal": [_POINTER, _POINTER, _INT, _INT, _POINTER, _INT, _POINTER],
    "outrider_judge_draft": [_POINTER, _POINTER, _INT, _INT, _INT, _INT, _POINTER, _INT, _POINTER],
}


class NativeCandidates(Candidates):
    """Hold a distribution that lies where the compiled functions have put it; arrays are made on demand."""

    __slots__ = ("_chunk", "place")

    def __init__(self, size: int, place: int, chunk: _Chunk) -> None:
        self._size = size
        self.place = place
        self._chunk = chunk

    def __getattr__(self, name: str) -> Any:
        """Compute an attribute at its first use."""
        if name not in ("_weights", "_tokens", "_mass", "normaliser"):
            raise AttributeError(name)
        chunk = self._chunk
        _, left, tokens, weights, self._mass, _ = _PROPOSAL.unpack_from(chunk.memory.data, self.place - chunk.place)
        self._weights = chunk.view(weights, left, np.float32)
        self._tokens = chunk.view(tokens, left, np.intp) if tokens else None
        self.normaliser = None
        return getattr(self, name)


class _Chunk:
    """Hold memory for distributions; each of them keeps the whole alive."""

    def __init__(self, size: int) -> None:
        self.memory = np.empty(size + _ALIGNED, np.uint8)
        self.place: int = self.memory.ctypes.data
        self.used = -self.place % _ALIGNED
        self.size = self.used + size

    def view(self, place: int, count: int, kind: type[Any]) -> NDArray[Any]:
        """Return the values that lie there."""
        return np.frombuffer(self.memory, kind, count, place - self.place)


class NativeSampler:
    """Sample with compiled functions (see rows.Sampler). Raises AttributeError if the library lacks them."""

    def __init__(
        self, library: ctypes.PyDLL, sampling: SamplingConfig, seed: int, least: float = 0.0, top: int = 0
    ) -> None:
        functions: dict[str, Any] = {}
        for name, arguments in _SIGNATURES.items():
            function = functions[name] = getattr(library, name)
            function.argtypes, function.restype = arguments, _INT
        if functions["outrider_work_size"]() != ctypes.sizeof(Work):
            raise AttributeError("the library was compiled with other functions")
        self._call_draw, self._call_judge = functions["outrider_draw_proposal"], functions["outrider_judge_draft"]
        self._draws = not sampling.greedy
        self._penalised, self._window, self._top = sampling.penalised, sampling.penalty_window, top
        self._named = Named(sampling)
        self._highest_named = self._named.highest
        self._work = Work(rules_of(sampling, seed, least, self._named), Counted(), top=top)
        self._place = ctypes.addressof(self._work)
        self._logprobs, self._tokens = self._work.logprobs, self._work.tokens
        self._history: History | None = None
        self._changes = -1
        self._behind: Any = (_INT * _BEHIND)()
        self._copied_from: Sequence[int] = ()
        self._copied = 0
        self._chunk = _Chunk(_CHUNK)
        self._rows: NDArray[np.float32] | None = None
        self._held: Any = None
        self._rows_place = 0

    def reseed(self, seed: int) -> None:
        self._work.rules.seed = seed

    def propose(
        self,
        rows: NDArray[np.float32],
        count: int,
        size: int,
        position: int,
        history: Sequence[int] = (),
        behind: Sequence[int] = (),
        *,
        mask: Mask | None = None,
    ) -> Proposal | None:
        place = self._rows_place if rows is self._rows else self._find(rows)
        chunk = self._chunk
        if chunk.used + (_FLOAT + _TOKEN) * count + 2 * _ALIGNED > chunk.size:
            chunk = self._chunk = _Chunk(max(_CHUNK, 4 * (_FLOAT + _TOKEN) * count + 2 * _ALIGNED))
        more = self._count(history, behind) if self._penalised else 0
        if self._highest_named >= count:
            raise TokenOutOfRange(self._highest_named, count)
        found = chunk.place + chunk.used
        self._tell_masks(mask)
        used = self._call_draw(self._place, place, count, position, self._behind, more, found)
        if used <= 0:
            if used:
                raise DegenerateDistribution(NO_PEAK)
            return None
        work = self._work
        if not self._draws:
            return Proposal(work.token, None, work.logprob)
        chunk.used += used
        return Proposal(work.token, NativeCandidates(size, found, chunk), work.logprob)

    def certain(self, token: int, size: int) -> Proposal:
        chunk, room = self._chunk, 2 * _ALIGNED
        if chunk.used + room > chunk.size:
            chunk = self._chunk = _Chunk(_CHUNK)
        first = chunk.used
        tokens, weights = first + _PROPOSAL.size, first + _PROPOSAL.size + _TOKEN
        place = chunk.place
        _PROPOSAL.pack_into(chunk.memory.data, first, token, 1, place + tokens, place + weights, 1.0, 0.0)
        struct.pack_into("@qf", chunk.memory.data, tokens, token, 1.0)
        chunk.used += room
        return Proposal(token, NativeCandidates(size, place + first, chunk), 0.0)

    def judge(
        self,
        rows: NDArray[np.float32],
        part: range,
        proposed: Sequence[int],
        records: bytes | None,
        position: int,
        history: Sequence[int] = (),
        *,
        masks: Masks | None = None,
    ) -> Judged:
        place = self._rows_place if rows is self._rows else self._find(rows)
        size = rows.shape[1]
        if self._highest_named >= size:
            raise TokenOutOfRange(self._highest_named, size)
        if self._penalised:
            self._count(history)
        count = len(proposed)
        tokens = struct.pack(f"{count}q", *proposed)
        work = self._work
        self._tell_masks(masks)
        found: int = self._call_judge(self._place, place, size, part.start, part.stop, position, tokens, count, records)
        if found < 0:
            raise DegenerateDistribution(NO_PEAK, position + part.start + work.kept)
        top = self._best_of_rows(found, min(self._top, size)) if self._top else []
        return Judged(self._tokens[:found], work.kept, self._logprobs[:found], top)

    def _tell_masks(self, masks: Masks | None) -> None:
        """Pass the masks' address to the functions; the array is kept until the next call."""
        work = self._work
        if masks is not None:
            self._masks = masks = np.ascontiguousarray(masks)
            work.masks, work.mask_words = masks.ctypes.data, masks.shape[-1]
        elif work.masks:
            work.masks = None

    def _best_of_rows(self, rows: int, count: int) -> list[Top]:
        work, together = self._work, rows * count
        pairs = list(zip(work.top_tokens[:together], work.top_logprobs[:together], strict=True))
        return [tuple(pairs[first : first + count]) for first in range(0, together, count)]

    def _count(self, history: Sequence[int], behind: Sequence[int] = ()) -> int:
        """Pass the penalised tokens to the functions; return how many tokens behind the history they count."""
        more = len(behind)
        if more > _BEHIND:
            history, more = [*history, *behind], 0
        if history is not self._history or self._history.changes != self._changes:
            past = self._history = counter(history, self._window)  # The functions read its arrays.
            self._changes = past.changes
            counted = self._work.counted
            counted.count, counted.tokens, counted.numbers = past.places
            counted.oldest, counted.held = past.oldest
        if behind is self._copied_from and more == self._copied + 1:  # A draft's tokens come one by one.
            self._behind[self._copied] = behind[-1]
        else:
            self._behind[:more] = behind[:more]
        self._copied_from, self._copied = behind, more
        return more

    def _find(self, rows: NDArray[np.float32]) -> int:
        """Return the address of the rows. A view that comes again and again is looked up once."""
        if rows.dtype == np.float32 and rows.flags.c_contiguous:
            self._rows = self._held = rows
            self._rows_place = rows.ctypes.data
            return self._rows_place
        self._rows = None
        self._held = np.ascontiguousarray(rows, np.float32)
        place: int = self._held.ctypes.data
        return place


def records_of(probs: object, count: int) -> bytes | None:
    """Return the form of a draft's distributions for `judge`; None unless such a sampler made all `count` of them."""
    if not isinstance(probs, Drawn):
        return None
    try:
        places = [each.place for each in probs.candidates]  # type: ignore[attr-defined]
    except AttributeError:
        return None
    return struct.pack(f"{count}P", *places) if len(places) == count else None
