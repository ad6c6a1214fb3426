"""Check the layout of a copied part of a cache before llama.cpp reads it.

llama.cpp compares number types, sizes and layers with its own, and reads nothing past the end. Positions it takes as
they come, and a part may hold several caches, one of which a header could make a reader skip. So all of it is walked.
"""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

_HEAD, _CACHE, _DATA = struct.Struct("<Ii"), struct.Struct("<II"), struct.Struct("<II")
_ROWS, _COLUMNS = struct.Struct("<iQ"), struct.Struct("<iII")
_CELL = np.dtype([("position", "<i4"), ("sequences", "<u4"), ("sequence", "<i4")])


def caches_in(size: int) -> int:
    """Return the number of caches of a context, by the size of a copy of a sequence that has no cells.

    One of all layers, or one of those that see everything and one of those with a sliding window.
    """
    return (size - _HEAD.size) // _CACHE.size


def is_state_of(data: NDArray[np.uint8], first: int, count: int, caches: int) -> bool:
    """Return True if `data` is of one sequence with `count` tokens, which stand from position `first` on.

    False too for what is laid out in another way, such as cells with several positions each.
    """
    content, place = data.data, _HEAD.size
    try:
        for _ in range(caches):
            place = _walk(content, place, first, count)
    except (struct.error, ValueError):
        return False
    return place == len(content)


def _walk(content: memoryview, place: int, first: int, count: int) -> int:
    """Find the end of a cache that begins at `place`. Raises struct.error, ValueError if there is no cache."""
    streams, cells = _CACHE.unpack_from(content, place)
    place += _CACHE.size
    if (streams, cells) != (1, count):
        raise ValueError(cells)
    found = np.frombuffer(content, _CELL, count, place)
    if not np.array_equal(found["position"], np.arange(first, first + count)) or (found["sequences"] != 1).any():
        raise ValueError(place)
    place += count * _CELL.itemsize
    transposed, layers = _DATA.unpack_from(content, place)
    place += _DATA.size
    for _ in range(layers):
        place = _over_rows(content, place, count)
    for _ in range(layers):
        place = _over_columns(content, place, count) if transposed else _over_rows(content, place, count)
    return place


def _over_rows(content: memoryview, place: int, count: int) -> int:
    _, size = _ROWS.unpack_from(content, place)
    return _within(content, place + _ROWS.size + count * size)


def _over_columns(content: memoryview, place: int, count: int) -> int:
    _, size, width = _COLUMNS.unpack_from(content, place)
    return _within(content, place + _COLUMNS.size + count * size * width)


def _within(content: memoryview, place: int) -> int:
    if place > len(content):
        raise ValueError(place)
    return place
