"""Read pictures with a model in a folder: its processor cuts them up, the model itself computes them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any

import transformers

from engine.backends.pictures import PictureToken
from engine.backends.transformers.config import first_line
from engine.errors import LoadFailed
from engine.messages.picture import Picture

_MOST = 4
"""Pictures that are kept prepared: a few megabytes each."""


class Eyes:
    """Turn pictures into a model's input: tokens with the pixels of a picture, which the model takes at once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._processor: Any = None
        self._cut: OrderedDict[int, tuple[list[int], dict[str, Any]]] = OrderedDict()

    def tokens(self, picture: Picture) -> list[int]:
        """Return a picture's tokens: one piece. Raises LoadFailed, InvalidRequest."""
        count = len(self.prepared(picture)[0])
        return [*PictureToken.of_piece(picture, 0, count, count, 0)]

    def prepared(self, picture: Picture) -> tuple[list[int], dict[str, Any]]:
        """Return the tokens read for a picture, and the arguments that go with them. Raises as above."""
        with self._lock:
            if picture.number not in self._cut:
                self._cut[picture.number] = self._prepare(picture)
            self._cut.move_to_end(picture.number)
            while len(self._cut) > _MOST:
                self._cut.popitem(last=False)
            return self._cut[picture.number]

    def _prepare(self, picture: Picture) -> tuple[list[int], dict[str, Any]]:
        from PIL import Image  # noqa: PLC0415 - only pictures need it

        pixels = picture.decode()
        image = Image.frombytes("RGB", (pixels.width, pixels.height), pixels.data)
        try:
            if self._processor is None:
                library: Any = transformers.AutoProcessor
                self._processor = library.from_pretrained(self._folder, local_files_only=True, trust_remote_code=False)
            mark = self._processor.image_token
            made = dict(self._processor(text=mark, images=[image], add_special_tokens=False, return_tensors="pt"))
        except Exception as error:
            raise LoadFailed(
                self._folder, "its pictures' processor cannot be used ({first_line}).", first_line=first_line(error)
            ) from error
        made.pop("attention_mask", None)
        return made.pop("input_ids")[0].tolist(), made
