"""Compare two texts line by line, and merge them by the reader's choices."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

_MOST_LINES = 4_000
"""The most lines of both texts: beyond that all is one change, as comparing takes the square of it."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Hold lines of the old text, without their ends, and those in their place in the new one."""

    old: tuple[str, ...]
    new: tuple[str, ...]

    @property
    def changed(self) -> bool:
        return self.old != self.new


def compare(old: str, new: str, *, ended: bool = True) -> list[Piece]:
    """Return the pieces of two texts in order. `ended` False: the new one still grows, so its last line is open."""
    before, after = old.split("\n"), new.split("\n")
    if not ended:
        after.pop()
    if len(before) + len(after) > _MOST_LINES:
        return [Piece(tuple(before), tuple(after))]
    pieces = [
        Piece(tuple(before[a:b]), tuple(after[c:d]))
        for _, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    ]
    if not ended and pieces and pieces[-1].changed:
        # What is missing at the end has not been written yet; it is not taken away.
        rest = pieces.pop()
        pieces += [Piece((), rest.new)] if rest.new else []
        pieces += [Piece(rest.old, rest.old)] if rest.old else []
    return pieces


def put_together(pieces: Sequence[Piece], undone: Collection[int]) -> str:
    """Return the new text; of the pieces with these numbers the old lines."""
    return "\n".join(line for n, piece in enumerate(pieces) for line in (piece.old if n in undone else piece.new))
