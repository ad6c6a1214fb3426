"""Read a document in a child process with limits of memory and time: no file and no network are open to it."""

from __future__ import annotations

import base64
import stat
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from engine.cancel import CancelToken
from engine.chat.limited_child import OutOfTime, ask_child
from engine.documents.document import LARGEST_DOCUMENT, Document
from engine.errors import ChatTemplateFailed, DocumentRefused
from engine.system.hidden_commands import READING
from engine.translatable import Translatable, unpacked

READING_S, PICTURE_S = 4.5, 3.0
"""Processor time of the child."""
MEMORY_BYTES = 800 * 2**20
"""All of the child, where it cannot limit itself."""


def read_document(data: bytes | Path, name: str = "", cancel: CancelToken | None = None) -> Document:
    """Read a file, given as its bytes and its name, or as its path.

    Raises DocumentRefused (in one sentence: it is damaged, encrypted, too large, of no known kind …), Cancelled.
    """
    if isinstance(data, Path):
        name = name or data.name
        data = file_bytes(data, name)
    if len(data) > LARGEST_DOCUMENT:
        raise DocumentRefused(name, Translatable("it is larger than {count} MiB", count=LARGEST_DOCUMENT // 2**20))
    said = ask_reader({"work": "read", "name": name, "seconds": READING_S}, data, name, cancel)
    try:
        return Document.from_dict(said["document"] | {"name": name})
    except ValueError:
        raise DocumentRefused(name, Translatable("it is damaged")) from None


def page_picture(data: bytes, page: int, width: int, cancel: CancelToken | None = None) -> bytes:
    """Return a page of a PDF file as a PNG picture, `width` pixels wide; pages count from 1.

    Raises DocumentRefused, Cancelled.
    """
    asked = {"work": "picture", "page": page, "width": width, "name": "", "seconds": PICTURE_S}
    return base64.b64decode(ask_reader(asked, data, "", cancel)["picture"])


def file_bytes(path: Path, name: str) -> bytes:
    """Return the bytes of a file that may be a document. Raises DocumentRefused."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            # A pipe or a device would be waited for without end.
            raise DocumentRefused(name, Translatable("it is not a file"))
        with path.open("rb") as file:
            return file.read(LARGEST_DOCUMENT + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or Translatable("it cannot be read")
        raise DocumentRefused(name, reason) from None


def ask_reader(asked: Mapping[str, object], data: bytes, name: str, cancel: CancelToken | None) -> dict[str, Any]:
    """Return the answer of a fresh child. Raises as above."""
    answers = ask_child(READING, asked, data, MEMORY_BYTES, cancel)
    try:
        with closing(answers):
            said = next(answers)
    except OutOfTime:
        raise DocumentRefused(name, Translatable("reading it takes too long")) from None
    except ChatTemplateFailed:
        raise DocumentRefused(name, Translatable("the program that reads it crashed")) from None
    if "reason" in said:
        raise DocumentRefused(name, unpacked(said["reason"]), said.get("scanned", ()))
    return said
