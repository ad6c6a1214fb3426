"""What the program remembers between two runs, in one JSON file. A damaged file counts as none."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from app.places import settings_path
from app.state.models import Lookahead
from engine import MAX_LOOKAHEAD

THEMES = ("system", "light", "dark")
_LARGEST = 2**20


@dataclass(slots=True)
class Settings:
    """Remembered choices. `target` "" is the bundled one; `draft` "" is none, None the bundled one.

    `models_folder` "" is none; `geometry` is Qt's own form in base64; `left_width`, `right_width` in pixels;
    `conversation` is the number of the one that is open, 0 for none.
    """

    models_folder: str = ""
    target: str = ""
    draft: str | None = None
    lookahead: Lookahead = "auto"
    theme: str = "system"
    geometry: str = ""
    left_shown: bool = True
    right_shown: bool = True
    left_width: int = 220
    right_width: int = 300
    conversation: int = 0
    tokens_colored: bool = False

    @classmethod
    def from_mapping(cls, data: object) -> Settings:
        """Settings from what a file said; every value that makes no sense is replaced by the default."""
        settings = cls()
        if not isinstance(data, Mapping):
            return settings
        for field in fields(cls):
            value: Any = data.get(field.name)
            if _sensible(field.name, value):
                setattr(settings, field.name, value)
        return settings


def _sensible(name: str, value: object) -> bool:
    if name == "draft":
        return value is None or (isinstance(value, str) and "\0" not in value)
    if name in ("left_shown", "right_shown", "tokens_colored"):
        return isinstance(value, bool)
    if name == "lookahead" and value == "auto":
        return True
    if name == "conversation":
        return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63
    if name in ("lookahead", "left_width", "right_width"):
        most = MAX_LOOKAHEAD if name == "lookahead" else 4_000
        return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most
    if name == "theme":
        return value in THEMES
    return isinstance(value, str) and "\0" not in value


class SettingsFile:
    """Reads and writes the file. `path` None: remember nothing."""

    def __init__(self, path: Path | None) -> None:
        self.path = path

    @classmethod
    def default(cls) -> SettingsFile:
        """The file in the user's configuration folder."""
        return cls(settings_path())

    def load(self) -> Settings:
        """The remembered settings, or the defaults."""
        if self.path is None:
            return Settings()
        try:
            with self.path.open(encoding="utf-8") as file:
                return Settings.from_mapping(json.loads(file.read(_LARGEST)))
        except (OSError, ValueError, RecursionError):
            return Settings()

    def save(self, settings: Settings) -> bool:
        """Write all of it, or nothing. False where the file cannot be written: then this run is not remembered."""
        if self.path is None:
            return True
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=".settings-", suffix=".json")
        except OSError:
            return False
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(asdict(settings), file, indent=2)
            Path(name).replace(self.path)
        except OSError:
            with contextlib.suppress(OSError):
                Path(name).unlink()
            return False
        return True
