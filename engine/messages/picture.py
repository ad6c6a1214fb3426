"""Hold the pictures of messages: their identities, and their pixels."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pixels:
    """Hold a decoded picture: `data` has three bytes a pixel, red, green and blue, row by row."""

    width: int
    height: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Picture:
    """Hold a picture by its address, which says all of it. `decode`: makes its pixels, in a moment."""

    address: str
    decode: Callable[[], Pixels]

    @property
    def number(self) -> int:
        """Return a number that no other picture has: of SHA-256, 160 bits."""
        return int.from_bytes(hashlib.sha256(self.address.encode("utf-8", "surrogatepass")).digest()[:20], "big")
