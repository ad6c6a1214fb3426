"""Write down speech in the child: samples come in, words go out."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np

from engine.system.child_side import Tell, answer_parent
from engine.translatable import Translatable, packed

_MEMORY_BYTES = 8 * 2**30


def run(_argument: str) -> int:
    """Answer one request, and give the exit code."""
    return answer_parent(_answer, _MEMORY_BYTES)


def _answer(asked: dict[str, Any], sound: bytes, tell: Tell) -> None:
    path = Path(asked["model"])
    try:
        whisper: Any = importlib.import_module("pywhispercpp.model")
    except (ImportError, OSError):
        tell({"reason": packed(Translatable("install the Python package pywhispercpp."))})
        return
    samples = np.frombuffer(sound, "<i2").astype(np.float32) / 32_768
    try:
        model = whisper.Model(str(path), n_threads=asked["threads"], language="auto", print_progress=False)
        tell({"text": " ".join(each.text for each in model.transcribe(samples))})
    except Exception:  # noqa: BLE001 - libraries raise whatever Python can over what is damaged
        tell({"reason": packed(Translatable("{name} is no Whisper model, or it is damaged.", name=path.name))})
