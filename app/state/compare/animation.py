"""Make an animated picture of a race: WebP or GIF, its frames at the times at which they were written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any, Literal

LARGEST = 10_000_000
"""The largest animation, in bytes, that forums and chats accept."""
HOLD_MS = 3_000
"""The duration of the last frame."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Hold a picture: RGB bytes, three a pixel, rows from the top, and its duration."""

    pixels: bytes
    milliseconds: int


def encode(frames: Sequence[Frame], size: tuple[int, int], kind: Literal["webp", "gif"]) -> bytes:
    """Return the animation, at most LARGEST bytes: if it is larger, every second picture is left out."""
    from PIL import Image  # noqa: PLC0415 - large, and seldom needed

    while True:
        images = [Image.frombytes("RGB", size, frame.pixels) for frame in frames]
        how: dict[str, Any] = {"quality": 85, "method": 3} if kind == "webp" else {"optimize": False}
        shown = [frame.milliseconds for frame in frames]
        kept = BytesIO()
        images[0].save(kept, kind.upper(), save_all=True, append_images=images[1:], duration=shown, loop=0, **how)
        content = kept.getvalue()
        if len(content) <= LARGEST or len(frames) <= 2:
            return content
        frames = _halved(frames)


def _halved(frames: Sequence[Frame]) -> list[Frame]:
    """Return every second frame, shown twice as long, and the last one."""
    found = [
        Frame(frames[place].pixels, sum(each.milliseconds for each in frames[place : place + 2]))
        for place in range(0, len(frames) - 1, 2)
    ]
    if len(frames) % 2 == 0:
        found[-1] = Frame(found[-1].pixels, frames[-2].milliseconds)
    return [*found, frames[-1]]
