"""Stand for pictures in lists of tokens: a number below 0 for each position, told by what the picture is made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Self

from engine.messages.picture import Picture

_PLACES = 24
"""Bits of a position within its picture; above them stands the picture's own number."""


class PictureToken(int):
    """Stand for one of the positions that a piece of a picture takes in a text.

    It is below 0, and the same number only for the same place of the same picture: what two texts have in common is
    found as it is of words. Attributes: picture; piece (its number among the pieces of the picture); index (of this
    position in its piece); count (positions of the piece); steps (by how much the numbers of later positions grow with
    the piece: less than `count` where a model numbers positions of pictures in two dimensions).
    """

    picture: Picture
    piece: int
    index: int
    count: int
    steps: int

    @classmethod
    def of_piece(cls, picture: Picture, piece: int, count: int, steps: int, first: int) -> list[Self]:
        """Return the positions of a piece; `first`: how many there are of the picture before it."""
        made = []
        for index in range(count):
            token = cls(-1 - (picture.number << _PLACES | first + index))
            token.picture, token.piece, token.index, token.count, token.steps = picture, piece, index, count, steps
            made.append(token)
        return made


def without_pictures(tokens: Iterable[int]) -> list[int]:
    """Return the tokens that are words: what reads text alone is given these."""
    return [token for token in tokens if token >= 0]


def with_pictures(tokens: Sequence[int], words: Sequence[int]) -> Sequence[int]:
    """Return the leading ones of the tokens whose words begin as `words` do, with the pictures among them."""
    place = 0
    for index, token in enumerate(tokens):
        if token >= 0:
            if words[place : place + 1] != [token]:
                return tokens[:index]
            place += 1
    return tokens
