"""Read pictures in the child that reads documents: the pixels for a model, and a safe copy to show."""

from __future__ import annotations

import base64
import binascii
import re
from pathlib import Path

from engine.cancel import CancelToken
from engine.documents.read import PICTURE_S, ask_reader, file_bytes
from engine.errors import DocumentRefused, InvalidRequest
from engine.messages.parts import ImagePart
from engine.messages.picture import Pixels
from engine.translatable import Translatable

LARGEST_PICTURE = 20 * 2**20
"""Bytes of a file."""
_ADDRESS = re.compile(r"data:image/[a-z0-9.+-]{1,40}(?:;[a-z0-9=._-]{1,40})*;base64,", re.IGNORECASE)
_KINDS = {b"\x89PNG": "png", b"\xff\xd8": "jpeg", b"RIFF": "webp", b"GIF8": "gif", b"BM": "bmp"}


def decode_picture(address: str) -> Pixels:
    """Return the pixels of a picture by its address, which holds all of it (data:image/png;base64,…).

    Raises InvalidRequest (in one sentence: it is damaged, too large …).
    """
    try:
        said = ask_reader({"work": "pixels", "seconds": PICTURE_S}, picture_bytes(address), "", None)
    except DocumentRefused as refused:
        raise InvalidRequest(Translatable("Cannot read a picture: {reason}.", reason=refused.reason)) from None
    pixels = Pixels(said["width"], said["height"], base64.b64decode(said["pixels"]))
    if len(pixels.data) != 3 * pixels.width * pixels.height:
        raise InvalidRequest(Translatable("Cannot read a picture: {reason}.", reason=Translatable("it is damaged")))
    return pixels


def picture_bytes(address: str) -> bytes:
    """Return the file that an address holds. Raises InvalidRequest."""
    head = _ADDRESS.match(address)
    if head is None:
        raise InvalidRequest(
            Translatable(
                "Pictures are not fetched: send the picture itself, as data:image/png;base64,… in its address."
            )
        )
    if (len(address) - head.end()) * 3 // 4 > LARGEST_PICTURE:
        raise InvalidRequest(
            Translatable("A picture is larger than {count} MiB: make it smaller.", count=LARGEST_PICTURE // 2**20)
        )
    try:
        return base64.b64decode(address[head.end() :], validate=True)
    except (binascii.Error, ValueError):
        raise InvalidRequest(Translatable("A picture's address is no valid base64.")) from None


def show_picture(address: str, most: int) -> bytes:
    """Return a picture as PNG, no side of it longer than `most` pixels. Raises DocumentRefused, InvalidRequest."""
    said = ask_reader({"work": "shown", "most": most, "seconds": PICTURE_S}, picture_bytes(address), "", None)
    return base64.b64decode(said["picture"])


def read_picture(data: bytes | Path, name: str = "", cancel: CancelToken | None = None) -> ImagePart:
    """Return a picture, given as the bytes of its file or as its path, as a part of a message: it was read once.

    Raises DocumentRefused (in one sentence), Cancelled.
    """
    if isinstance(data, Path):
        name = name or data.name
        data = file_bytes(data, name)
    if len(data) > LARGEST_PICTURE:
        raise DocumentRefused(name, Translatable("it is larger than {count} MiB", count=LARGEST_PICTURE // 2**20))
    ask_reader({"work": "shown", "most": 16, "seconds": PICTURE_S}, data, name, cancel)
    return picture_part(data)


def picture_part(data: bytes) -> ImagePart:
    """Return the file of a picture, which was read once, as a part of a message."""
    kind = next((kind for mark, kind in _KINDS.items() if data.startswith(mark)), "png")
    return ImagePart(f"data:image/{kind};base64,{base64.b64encode(data).decode('ascii')}")


def looks_like_picture(data: bytes) -> bool:
    """Return True if the beginning of a file is that of a picture of a known kind."""
    return any(data.startswith(mark) for mark in _KINDS) and (not data.startswith(b"RIFF") or data[8:12] == b"WEBP")
