"""The demo pair that ships with the program."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from engine.errors import LoadFailed
from engine.translatable import Phrase

TARGET_NAME = "demo-target.Q8_0.gguf"
DRAFT_NAME = "demo-draft.Q8_0.gguf"


def bundled_pair() -> tuple[Path, Path]:
    """The files of the bundled target and draft. Raises LoadFailed where they are missing."""
    folder = Path(str(files("resources").joinpath("models")))
    pair = folder / TARGET_NAME, folder / DRAFT_NAME
    for path in pair:
        if not path.is_file():
            raise LoadFailed(path, Phrase("it is part of Outrider, but it is missing. Reinstall Outrider."))
    return pair
