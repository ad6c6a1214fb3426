"""Pack columns of numbers into JSON texts, and read them again without trusting them."""

from __future__ import annotations

import base64
import binascii
import sys
from array import array
from collections.abc import Iterator
from typing import Any

VERSION = 1
NUMBERS = 15_000
"""Numbers that become base64 at once: a multiple of three, so that the pieces can be joined."""


class DamagedTrace(ValueError):
    """Report a stored record that cannot be read, or that another version of the program wrote."""

    def __init__(self, version: object = VERSION) -> None:
        if version == VERSION:
            super().__init__("The record of the reply's tokens is damaged.")
        else:
            super().__init__("The record of the reply's tokens was written by another version of the program.")


def pack(column: array[Any], end: int) -> Iterator[str]:
    """Return the little-endian bytes of the first `end` numbers in base64, in pieces of less than a millisecond."""
    for start in range(0, end, NUMBERS):
        piece = column[start : min(start + NUMBERS, end)]
        if sys.byteorder == "big":
            piece.byteswap()
        yield base64.b64encode(piece.tobytes()).decode("ascii")


def unpack(text: object, code: str, size: int) -> array[Any]:
    """Return the column of `size` numbers that `pack` gave. Raises DamagedTrace."""
    column: array[Any] = array(code)
    if not isinstance(text, str):
        raise DamagedTrace
    try:
        column.frombytes(base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError) as error:
        raise DamagedTrace from error
    if len(column) != size:
        raise DamagedTrace
    if sys.byteorder == "big":
        column.byteswap()
    return column
