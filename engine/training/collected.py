"""Collect what a head learns from: a target's own replies with its hidden states, on disk, a record a token.

`states.bin` has the records one behind another, `replies.jsonl` a line for each reply that is whole: whoever goes on
after a kill cuts off what is behind the last one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.backends.base import Backend
from engine.cancel import CancelToken
from engine.decoder import SpeculativeDecoder
from engine.errors import Cancelled, ModelNotLoaded
from engine.events import GenerationResult
from engine.training.questions import mixed

TOP = 32
"""So many of a place's likeliest tokens are kept, with their probabilities: the others are hardly ever drafted."""
LONGEST_REPLY = 256
_TOGETHER = 4
"""Replies that are written at once, where that can be."""
_PIECE = 32
_MOST = 65000.0
"""Larger numbers than float16 has occur in the states of some models' first tokens."""


@dataclass(frozen=True, slots=True)
class Reply:
    """Say where a reply is: its first record, how many there are with its prompt's, and how many places are learned.

    `number`: which reply it is; `held`: it is for measuring only; `greedy`: it was written at temperature 0.
    """

    number: int
    first: int
    count: int
    learned: int
    held: bool
    greedy: bool


def record_type(read: int) -> np.dtype[Any]:
    """Return the type of a record, of which `read` numbers are hidden states."""
    tops = [("tops", "<i4", (TOP,)), ("shares", "<f2", (TOP,))]
    return np.dtype([("token", "<i4"), ("learn", "?"), *tops, ("states", "<f2", (read,))])


class Collected:
    """Hold the replies in a folder. Attributes: replies, read (numbers in a token's states)."""

    def __init__(self, folder: Path, read: int) -> None:
        self._data, self._index, self.read = folder / "states.bin", folder / "replies.jsonl", read
        self._type = record_type(read)
        self.replies: list[Reply] = []
        lines = self._index.read_bytes().splitlines(keepends=True) if self._index.exists() else []
        whole = [line for line in lines if line.endswith(b"\n")]
        for line in whole:
            self.replies.append(Reply(**json.loads(line)))
        with self._index.open("ab") as index, self._data.open("ab") as data:
            index.truncate(sum(map(len, whole)))
            data.truncate(self.records * self._type.itemsize)

    @property
    def records(self) -> int:
        """Return the number of records."""
        last = self.replies[-1] if self.replies else None
        return 0 if last is None else last.first + last.count

    @property
    def learned(self) -> int:
        """Return the number of places that a head learns from: those of replies that are not held out."""
        return sum(reply.learned for reply in self.replies if not reply.held)

    def add(self, records: NDArray[Any], number: int, *, held: bool, greedy: bool) -> None:
        """Append a reply."""
        reply = Reply(number, self.records, len(records), int(records["learn"].sum()), held, greedy)
        with self._data.open("ab") as data:
            data.write(records.tobytes())
        with self._index.open("ab") as index:
            index.write(json.dumps(asdict(reply)).encode() + b"\n")
        self.replies.append(reply)

    def rows(self, reply: Reply) -> NDArray[Any]:
        """Return the records of a reply. They are read: a file that is mapped counts as memory of this program."""
        return np.fromfile(self._data, self._type, reply.count, offset=reply.first * self._type.itemsize)


class _Shown:
    """Keep the hidden states that a target shows (see engine.backends.base.StateReader)."""

    def __init__(self, layers: Sequence[int]) -> None:
        self.state_layers = layers
        self.states: list[NDArray[np.float16]] = []

    def read_states(self, first: int, tokens: Sequence[int], states: NDArray[np.float32]) -> None:
        """Copy them."""
        self.states.append(np.clip(states, -_MOST, _MOST).astype(np.float16))


def look_at(target: Backend, tokens: Sequence[int], begun: int, layers: Sequence[int]) -> NDArray[Any]:
    """Return the records of a text, of which the target wrote the tokens from `begun` on. It is read anew."""
    shown = _Shown(layers)
    target.truncate(0)
    target.show_states(shown)
    tops, shares = np.zeros((len(tokens), TOP), np.int32), np.zeros((len(tokens), TOP), np.float16)
    try:
        for start in range(0, begun - 1, _PIECE):
            target.forward(tokens[start : min(start + _PIECE, begun - 1)], 0)
        for start in range(begun - 1, len(tokens), _PIECE):
            piece = tokens[start : start + _PIECE]
            rows = target.forward(piece, len(piece))
            best = np.argpartition(rows, -TOP, axis=1)[:, -TOP:]
            best = np.take_along_axis(best, np.argsort(-np.take_along_axis(rows, best, 1), 1, kind="stable"), 1)
            exact = np.exp(rows - rows.max(axis=1, keepdims=True))
            tops[start : start + len(piece)] = best
            shares[start : start + len(piece)] = np.take_along_axis(exact, best, 1) / exact.sum(1, keepdims=True)
    finally:
        target.show_states(None)
    states = np.concatenate(shown.states)
    records = np.zeros(len(tokens), record_type(states.shape[1]))
    records["token"], records["tops"], records["shares"], records["states"] = tokens, tops, shares, states
    records["learn"][begun - 1 :] = True
    return records


def collect(
    decoder: SpeculativeDecoder,
    into: Collected,
    questions: Sequence[tuple[str, bool]],
    layers: Sequence[int],
    *,
    seed: int,
    cancel: CancelToken,
) -> Iterator[int]:
    """Have replies written and add them, without an end; yield behind each how many places there are to learn from.

    Which reply is written does not depend on when this was begun. Raises Cancelled, and what replies raise.
    """
    target = decoder.target
    if target is None:
        raise ModelNotLoaded("target")
    writers = decoder.open_streams(_TOGETHER) or (decoder,)
    with ThreadPoolExecutor(len(writers)) as pool:
        number = into.replies[-1].number + 1 if into.replies else 0
        while True:
            numbers = range(number, number + len(writers))
            tasks = [mixed(questions, seed, each) for each in numbers]
            results = list(pool.map(partial(_reply, cancel=cancel), writers, tasks))
            if cancel.cancelled or any(result.finish_reason == "cancelled" for result in results):
                raise Cancelled
            for each, (question, held, temperature, _), result in zip(numbers, tasks, results, strict=True):
                prompt = decoder.prompt_tokens([{"role": "user", "content": question}])
                if len(result.tokens) > 1:
                    with decoder.apart():
                        records = look_at(target, [*prompt, *result.tokens], len(prompt), layers)
                    into.add(records, each, held=held, greedy=not temperature)
                yield into.learned
            number += len(writers)


def _reply(writer: SpeculativeDecoder, task: tuple[str, bool, float, int], cancel: CancelToken) -> GenerationResult:
    question, _, temperature, seed = task
    return writer.generate(
        [{"role": "user", "content": question}],
        cancel=cancel,
        temperature=temperature,
        seed=seed,
        lookahead=0,
        max_tokens=LONGEST_REPLY,
    )
