"""Write down speech in a child process: a Whisper model (ggml) may crash there, and no other of llama.cpp's is near."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path

from engine.cancel import CancelToken
from engine.chat.limited_child import OutOfTime, ask_child
from engine.errors import ChatTemplateFailed, NotAvailable
from engine.system.hidden_commands import DICTATION
from engine.translatable import Translatable, unpacked

SPEECH_RATE = 16_000
"""Samples a second: 16 bits each, one channel, as Whisper takes them."""
MOST_SPEECH_S = 120
"""Seconds of speech that are written down at once."""
_DICTATION = Translatable("Dictation")
_MARK, _HEAD = b"lmgg", struct.Struct("<4s11i")
_SIZES, _SIZE = struct.Struct("<2i"), struct.Struct("<I")
_SECONDS, _MEMORY_BYTES = 300.0, 8 * 2**30


def find_speech_model(folders: Iterable[Path]) -> Path | None:
    """Return the smallest Whisper model (ggml-….bin) in some folders; None if there is none. Waits for their disks."""
    found = list[tuple[int, Path]]()
    for folder in folders:
        with suppress(OSError):
            found += [(path.stat().st_size, path) for path in folder.glob("ggml-*.bin") if _is_speech_model(path)]
    return min(found)[1] if found else None


def _is_speech_model(path: Path) -> bool:
    """Return True if a file has Whisper's numbers, filters and words: the library trusts them, and reads on for ever.

    Raises OSError.
    """
    with path.open("rb") as file:
        try:
            mark, vocabulary, *numbers = _HEAD.unpack(file.read(_HEAD.size))
            bins, width = _SIZES.unpack(file.read(_SIZES.size))
            if mark != _MARK or not all(0 <= number < 2**13 for number in (*numbers, bins, width)):
                return False
            file.seek(4 * bins * width, os.SEEK_CUR)
            (words,) = _SIZE.unpack(file.read(_SIZE.size))
            if not 0 < words <= vocabulary < 2**17:
                return False
            for _ in range(words):
                (length,) = _SIZE.unpack(file.read(_SIZE.size))
                if length >= 2**10:
                    return False
                file.seek(length, os.SEEK_CUR)
        except struct.error:
            return False
        return bool(file.read(1))


def write_down(model: Path, sound: bytes, cancel: CancelToken | None = None) -> str:
    """Return the words of some sound (see SPEECH_RATE). Raises NotAvailable, in a sentence, and Cancelled."""
    try:
        if not _is_speech_model(model):
            raise NotAvailable(_DICTATION, "{name} is no Whisper model, or it is damaged.", name=model.name)
    except OSError as error:
        raise NotAvailable(_DICTATION, error.strerror or str(error)) from None
    asked = {"model": str(model), "threads": max((os.cpu_count() or 2) // 2, 1), "seconds": _SECONDS}
    sound = sound[: 2 * SPEECH_RATE * MOST_SPEECH_S]
    answers = ask_child(DICTATION, asked, sound[: len(sound) // 2 * 2], _MEMORY_BYTES, cancel)
    try:
        with closing(answers):
            said = next(answers)
    except OutOfTime:
        raise NotAvailable(_DICTATION, Translatable("it takes too long.")) from None
    except ChatTemplateFailed:
        raise NotAvailable(_DICTATION, "{name} crashed the program that reads it.", name=model.name) from None
    if "reason" in said:
        raise NotAvailable(_DICTATION, unpacked(said["reason"]))
    return " ".join(str(said["text"]).split())
