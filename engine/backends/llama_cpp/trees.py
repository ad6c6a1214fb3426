"""Compute a tree of tokens in one decode of llama.cpp: a sequence for each leaf, all of which share the text's cells.

Sequence 0 is the text. A tree's nodes stand in the sequences of the leaves behind them, so that each sees its own path.
The first path of a tree is decoded first, so that its cells follow those of the text in order, as a chain's do: what is
kept of it stays. What is kept of another path is fed again in front of the next tokens, in the same forward: were its
cells left where they are, sums over the text would be added up in another order from then on, and rows would no longer
be those of plain decoding to the bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import llama_cpp

from engine.config import MAX_LOOKAHEAD

SEQUENCES = MAX_LOOKAHEAD
"""The sequences of a context: a tree of MAX_LOOKAHEAD nodes has as many leaves at most; the first is in sequence 0."""
SPARE = SEQUENCES - 1
"""The last one, which is free where no sequence but 0 has any cells."""


class TreeSequences:
    """Hold the sequences of one context, and the batch in which trees are decoded."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self._memory: Any = llama_cpp.llama_get_memory(context)
        self._batch = llama_cpp.llama_batch_init(2 * SEQUENCES, 0, SEQUENCES)
        self._shared = 0
        """The length of the text that each sequence up to `_used` shares."""
        self._used = 1
        self.tokens: tuple[int, ...] = ()
        self.moved: set[int] = set()

    def decode(self, tokens: Sequence[int], parents: Sequence[int], held: int, silent: int, unmarked: int) -> int:
        """Decode a tree behind `held` tokens of the text, with a row for each node; return llama.cpp's status.

        The first `silent` nodes, tokens of the text, do not count among `tokens` then, and the first `unmarked` nodes
        have no row.
        """
        sequences = leaves(parents)
        count = max(map(max, sequences)) + 1
        self._share(count, held)
        batch, depths = self._batch, list[int]()
        batch.n_tokens = len(tokens)
        for index, (token, parent) in enumerate(zip(tokens, parents, strict=True)):
            depths.append(0 if parent < 0 else depths[parent] + 1)
            batch.token[index] = token
            batch.pos[index] = held + depths[index]
            batch.n_seq_id[index] = len(sequences[index])
            for place, sequence in enumerate(sequences[index]):
                batch.seq_id[index][place] = sequence
            batch.logits[index] = index >= unmarked
        self.tokens = tuple(tokens[silent:])
        return int(llama_cpp.llama_decode(self._context, batch))

    def _share(self, count: int, held: int) -> None:
        """Share the text with the first `count` sequences."""
        for sequence in range(1, max(count, self._used)):
            begin = self._shared if sequence < self._used else 0
            llama_cpp.llama_memory_seq_cp(self._memory, 0, sequence, begin, held)
        self._shared, self._used = held, max(count, self._used)

    def keep(self, end: int) -> None:
        """Keep the first path of the decoded tree up to a position, and forget the rest."""
        llama_cpp.llama_memory_seq_rm(self._memory, 0, end, -1)
        for sequence in range(1, self._used):
            llama_cpp.llama_memory_seq_rm(self._memory, sequence, self._shared, -1)
        self.tokens = ()

    def cut(self, length: int) -> None:
        """Cut the text to so many tokens: the sequences drop the rest, and a tree."""
        self.tokens = ()
        for sequence in range(1, self._used):
            llama_cpp.llama_memory_seq_rm(self._memory, sequence, length, -1)
        self._shared = min(self._shared, length)

    def clear(self) -> None:
        """Reset after the context was emptied."""
        self.tokens, self._shared, self._used = (), 0, 1

    def close(self) -> None:
        """Free the batch."""
        llama_cpp.llama_batch_free(self._batch)


def leaves(parents: Sequence[int]) -> list[list[int]]:
    """Return for each node the numbers of the leaves behind it, ascending; a leaf has its own."""
    found: list[list[int]] = [[] for _ in parents]
    inner = set(parents)
    for number, leaf in enumerate(node for node in range(len(parents)) if node not in inner):
        node = leaf
        while node >= 0:
            found[node].append(number)
            node = parents[node]
    return found


def moved(parents: Sequence[int], held: int, group: int) -> set[int]:
    """Return the nodes of a tree behind `held` cells that stand in another group of cells than they would alone.

    Attention adds up each `group` of cells alone: the rows of these nodes, and of those behind them, may have other
    last bits than in plain decoding.
    """
    found, depths = set[int](), list[int]()
    for index, parent in enumerate(parents):
        depths.append(0 if parent < 0 else depths[parent] + 1)
        if parent in found or (held + index) // group != (held + depths[index]) // group:
            found.add(index)
    return found
