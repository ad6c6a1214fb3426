"""Take a recurrent or hybrid model of llama.cpp back: by its own snapshots, or by a saved state and a replay.

A recurrent layer keeps one state, into which every token is mixed; the past cannot be cut off it. Two ways lead back:

- *Snapshots* (`n_rs_seq`). llama.cpp keeps the states behind each of the last tokens of a batch and can go back to one
  of them, once between two decodes. It does so for some architectures, at the price of as many states in memory.
- *A saved state*. The state is copied before a draft is verified and copied back after a rejection; the tokens accepted
  since are fed again, together with the next ones. Only the recurrent part is copied: attention can be cut off.

The copies cost next to nothing, because a state is small beside the weights. Measured with one thread and Q8_0 weights:
mamba of 170 M parameters, state 2.8 MB: 0.06 ms to save, 0.07 ms to restore, 9 ms for the forward of one token; rwkv7
of 140 M, 2.4 MB: 0.05, 0.06 and 6 ms; mamba2 of 140 M, 19 MB: 0.7, 0.8 and 7.5 ms; qwen35 of 290 M, 6.7 MB: 0.14, 0.19
and 13 ms. Verifying one token at a time (N = 1) gains nothing over plain decoding, so that going back is the faster way
as soon as speculation pays at all, unless a state is as large as the weights that a forward reads: see `worth_saving`.
"""

from __future__ import annotations

import ctypes
from typing import Any

import llama_cpp

from engine.backends.llama_cpp.library import text_entry

_DEPTHS = {
    **dict.fromkeys(("lfm2", "qwen35", "qwen35moe"), 8),
    **dict.fromkeys(("lfm2moe", "nemotron_h", "nemotron_h_moe"), 4),
}
"""Snapshots by architecture; none if it was not tried.

A decode's graph has nodes for each of them, and llama.cpp ends the process where a graph has more nodes than it
reserved: for most architectures eight times the number of tensors. With the layers of published models there is room
for 13 at least; with all layers but one recurrent for 10 (lfm2), 4 (lfm2moe, eight experts in use) and 6 (nemotron_h,
nemotron_h_moe); for qwen35, which reserves four times as much, for more than 60.

Measured at lookaheads 2, 4 and 8: 12 to 26 % less time a token than with a saved state, as far as the snapshots reach.
A token decoded alone takes 4 % more with qwen35, which copies all its snapshots every time, no more with the others.
"""
_SHARE = 4
"""The snapshots take at most this part (a quarter) of the memory of the weights."""
_LONGEST_WAY = 64
"""Tokens: a state is saved anew when the last one lies further back, even where snapshots make that needless."""


def snapshot_depth(model: Any, batch_size: int) -> int:
    """Return the number of snapshots to ask llama.cpp for; 0 if it has none, or they would take too much memory.

    `batch_size`: tokens that the context takes at once. llama.cpp asserts that there are more of them.
    """
    state = state_bytes(model)
    if not state or not _recurrent(model):
        return 0
    affordable = int(llama_cpp.llama_model_size(model)) // (_SHARE * state)
    return max(0, min(_DEPTHS.get(text_entry(model, "general.architecture"), 0), affordable, batch_size - 2))


def state_bytes(model: Any) -> int:
    """Return the most bytes one recurrent state can have, as if no layer were an attention layer. 0 if not known."""
    architecture = text_entry(model, "general.architecture")

    def number(key: str) -> int:
        text = text_entry(model, f"{architecture}.{key}")
        return int(text) if text.isdecimal() else 0

    width, inner, state = number("embedding_length"), number("ssm.inner_size"), number("ssm.state_size")
    numbers = inner * state + max(number("ssm.conv_kernel") - 1, 0) * (inner + 2 * number("ssm.group_count") * state)
    numbers += max(number("shortconv.l_cache") - 1, 0) * width
    if number("wkv.head_size"):
        numbers += (number("wkv.head_size") + 2) * width
    return ctypes.sizeof(ctypes.c_float) * number("block_count") * numbers


def worth_saving(model: Any) -> bool:
    """Return True if copying the state and back takes less time than the forward that it saves.

    A copy and a forward are both bound by the memory they go through, so the sizes tell, and the same at every start,
    where a measurement would not.
    """
    return state_bytes(model) <= int(llama_cpp.llama_model_size(model))


class RecurrentState:
    """Lead sequence 0 of a context back. Positions count tokens from the beginning.

    Attributes: depth (snapshots that llama.cpp keeps, 0 if it keeps none).
    """

    def __init__(self, model: Any, context: Any) -> None:
        self.depth = int(llama_cpp.llama_n_rs_seq(context))
        self._context = context
        self._memory: Any = llama_cpp.llama_get_memory(context)
        self._flags = llama_cpp.LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY
        if not llama_cpp.llama_model_n_swa(model):
            # Left where the model computes: no way to the host and back, and half the time even there. Not for sliding
            # windows, whose part of a state may lie in pieces, which llama.cpp refuses by ending the process.
            self._flags |= llama_cpp.LLAMA_STATE_SEQ_FLAGS_ON_DEVICE
        self._buffer = (ctypes.c_uint8 * 0)()
        self._saved: int | None = None
        self._marked = False
        self._reach = 0

    def mark(self) -> None:
        """Mark the place: tokens decoded from now on may be taken back."""
        self._marked = True

    def prepare(self, held: int, count: int) -> bool:
        """Prepare to decode `count` tokens behind `held` ones: save the state if need be. False if that failed."""
        if not self._marked:
            return True
        self._marked = False
        close = self._saved is not None and held - self._saved <= _LONGEST_WAY
        if (close and 1 < count <= self.depth + 1) or self._saved == held:
            return True
        return self._save(held)

    def decoded(self, count: int) -> None:
        """Record a last piece of `count` tokens: llama.cpp has kept the states behind its last tokens, one each."""
        self._reach = min(count - 1, self.depth)

    def go_back(self, held: int, length: int) -> int | None:
        """Go back from `held` tokens to `length`, or to the saved state before; return the number held, or None."""
        if 0 < held - length <= self._reach and llama_cpp.llama_memory_seq_rm(self._memory, 0, length, -1):
            self._reach = 0
            return length
        self._reach = 0
        if self._saved is None or self._saved > length:
            return None
        return self._restore(self._saved)

    def recover(self, length: int) -> int:
        """Restore a state of at most `length` tokens after a decode that failed half-way; return the number held."""
        self._reach = 0
        saved = self._saved
        return self._restore(saved if saved is not None and saved <= length else 0)

    def clear(self) -> None:
        """Forget all tokens."""
        llama_cpp.llama_memory_clear(self._memory, True)
        self._saved = None
        self._marked = False
        self._reach = 0

    def _save(self, held: int) -> bool:
        size = llama_cpp.llama_state_seq_get_size_ext(self._context, 0, self._flags)
        if size != len(self._buffer):
            self._buffer = (ctypes.c_uint8 * size)()
        self._saved = None
        if held and llama_cpp.llama_state_seq_get_data_ext(self._context, self._buffer, size, 0, self._flags) != size:
            return False
        self._saved = held
        return True

    def _restore(self, held: int) -> int:
        """Restore the saved state; where llama.cpp cannot, go to the beginning, from where all is to be fed again."""
        if (
            held
            and llama_cpp.llama_state_seq_set_data_ext(self._context, self._buffer, len(self._buffer), 0, self._flags)
            # Attention still holds what came after.
            and llama_cpp.llama_memory_seq_rm(self._memory, 0, held, -1)
        ):
            return held
        self.clear()
        return 0


def _recurrent(model: Any) -> bool:
    return bool(llama_cpp.llama_model_is_recurrent(model) or llama_cpp.llama_model_is_hybrid(model))
