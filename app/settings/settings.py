"""Keep the settings in one JSON file. Damaged values are replaced by their defaults."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from app.state.models.models import Lookahead
from app.state.settings.generation import ACCEPTANCES, METHODS, OVERLAPS, GenerationChoice
from app.state.settings.plain import plain_mapping
from app.system.file_writing import write_whole
from app.system.places import settings_path
from engine import MAX_LOOKAHEAD

THEMES = ("system", "light", "dark")
DRAFTINGS = ("", "model", "automatic", "ngram", "none")
FONT_POINTS = (6, 40)
"""The smallest and the largest size of the font that can be chosen."""
_LARGEST = 2**30
"""Bytes: more than all that can be kept, with every preset and prompt as long as it may be."""
_MOST_FOLDERS = 64
_OLD_S = 60.0
_MOST_OPTIONS = 10_000
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}([_-][A-Za-z0-9]{1,8}){0,3}")


@dataclass(slots=True)
class Settings:
    """Remembered choices. `target` "" is the bundled one; `draft` "" is none, None the bundled one.

    `drafting`: how the draft was chosen (`Drafting` in app.state.models.models), "" in old files;
    `models_folders`: in their order;
    `load_options`: how a model is loaded, by its path; `geometry` is Qt's own form in base64; `left_width`,
    `right_width` in pixels; `conversation` is the number of the one that is open, 0 for none; `font_points` 0: the
    platform's size; `language` "": the system's; `notify`: when a long reply has ended behind other windows;
    `first_launch`: the program was never used; `method`, `acceptance`, `overlap`: of every reply; `sampling`: what new
    conversations begin with (GenerationChoice.to_mapping); `next_sampling`: what was chosen for the one that has no
    question yet, {}: nothing; `presets`, `prompts`: the user's own (app.state.settings.presets).

    Lists and mappings in it are replaced, never changed in place: each setting that is set to another value is told to
    the `listener` by its name, which saves all of them (see app.settings.keeper).
    """

    models_folders: list[str] = field(default_factory=list)
    target: str = ""
    draft: str | None = None
    drafting: str = ""
    lookahead: Lookahead = "auto"
    load_options: dict[str, dict[str, Any]] = field(default_factory=dict)
    theme: str = "system"
    language: str = ""
    font_points: int = 0
    notify: bool = True
    first_launch: bool = True
    geometry: str = ""
    left_shown: bool = True
    right_shown: bool = True
    left_width: int = 220
    right_width: int = 300
    conversation: int = 0
    tokens_colored: bool = False
    method: str = "auto"
    acceptance: str = "rejection"
    overlap: str = "auto"
    sampling: dict[str, Any] = field(default_factory=dict)
    next_sampling: dict[str, Any] = field(default_factory=dict)
    presets: list[dict[str, Any]] = field(default_factory=list)
    prompts: list[dict[str, Any]] = field(default_factory=list)
    listener: Callable[[str], None] | None = field(default=None, init=False, repr=False, compare=False)

    def __setattr__(self, name: str, value: object) -> None:
        before = getattr(self, name, None)
        object.__setattr__(self, name, value)
        listener = getattr(self, "listener", None)
        if listener is not None and name in NAMES and value != before:
            listener(name)

    @property
    def models_folder(self) -> str:
        """The first of the models folders; "" is none. Setting it replaces all of them."""
        return self.models_folders[0] if self.models_folders else ""

    @models_folder.setter
    def models_folder(self, folder: str) -> None:
        self.models_folders = [folder] if folder else []

    @classmethod
    def from_mapping(cls, data: object) -> Settings:
        """Settings from what a file said; every value that makes no sense is replaced by the default."""
        settings = cls()
        if not isinstance(data, Mapping):
            return settings
        for name in NAMES:
            value: Any = data.get(name)
            if name in _READERS:
                setattr(settings, name, _READERS[name](value))
            elif _sensible(name, value):
                setattr(settings, name, value)
        old = data.get("models_folder")
        if "models_folders" not in data and isinstance(old, str) and _is_path(old):
            settings.models_folder = old
        return settings

    def to_mapping(self) -> dict[str, Any]:
        """Return the settings as written to the file."""
        return {name: getattr(self, name) for name in NAMES}


NAMES = tuple(each.name for each in fields(Settings) if each.name != "listener")
_FLAGS = ("left_shown", "right_shown", "tokens_colored", "notify", "first_launch")
_ONE_OF = {"theme": THEMES, "drafting": DRAFTINGS, "method": METHODS, "acceptance": ACCEPTANCES, "overlap": OVERLAPS}
_RANGES = {
    "conversation": (0, 2**63 - 1),
    "lookahead": (0, MAX_LOOKAHEAD),
    "left_width": (0, 4_000),
    "right_width": (0, 4_000),
}


def _sensible(name: str, value: object) -> bool:
    if name == "draft" and value is None:
        return True
    if name == "lookahead" and value == "auto":
        return True
    if name in _FLAGS:
        return isinstance(value, bool)
    if name in _ONE_OF:
        return isinstance(value, str) and value in _ONE_OF[name]
    if name == "font_points":
        return _is_whole(value, 0, 0) or _is_whole(value, *FONT_POINTS)
    if name in _RANGES:
        return _is_whole(value, *_RANGES[name])
    if name == "language":
        return isinstance(value, str) and (value == "" or _LANGUAGE.fullmatch(value) is not None)
    return _is_path(value)


def _is_whole(value: object, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _is_path(value: object) -> bool:
    return isinstance(value, str) and "\0" not in value


def _folders(value: object) -> list[str]:
    """The folders that make sense, each once."""
    listed = value if isinstance(value, list) else []
    return list(dict.fromkeys(each for each in listed if each and _is_path(each)))[:_MOST_FOLDERS]


def _options(value: object) -> dict[str, dict[str, Any]]:
    """Plain options by path; what they mean is judged where they are used."""
    if not isinstance(value, Mapping):
        return {}
    found = {path: plain_mapping(each) for path, each in value.items() if path and _is_path(path)}
    return dict([(path, each) for path, each in found.items() if each][:_MOST_OPTIONS])


def _sampling(value: object) -> dict[str, Any]:
    return GenerationChoice.from_mapping(value).to_mapping() if isinstance(value, Mapping) and value else {}


def _plain_list(value: object) -> list[dict[str, Any]]:
    listed = value if isinstance(value, list) else []
    return [each for each in map(plain_mapping, listed) if each]


_READERS: dict[str, Callable[[object], Any]] = {
    "models_folders": _folders,
    "load_options": _options,
    "sampling": _sampling,
    "next_sampling": _sampling,
    "presets": _plain_list,
    "prompts": _plain_list,
}


@dataclass(frozen=True, slots=True)
class SettingsTrouble:
    """Describe a problem with the settings file.

    `kind`: damaged (it was put `aside`; None: it could not be moved), unreadable (nothing is saved in this run, so that
    what is in it is not lost), unwritable. `reason`: in the system's words.
    """

    kind: Literal["damaged", "unreadable", "unwritable"]
    path: Path
    aside: Path | None = None
    reason: str = ""


def _object(data: bytes) -> dict[str, Any] | None:
    """The JSON object in a file. None where it is none."""
    if len(data) > _LARGEST:
        return None
    try:
        told = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError, MemoryError):
        return None
    return told if isinstance(told, dict) else None


def _content(path: Path) -> bytes:
    """Read a file. Raises OSError, also for one that never ends."""
    mode = path.stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    with path.open("rb") as file:
        return file.read(_LARGEST + 1)


class SettingsFile:
    """Reads and writes the file. `path` None: remember nothing.

    Attribute: trouble (with the last reading or writing, None if there was none).
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.trouble: SettingsTrouble | None = None
        self._keep_off = False

    @classmethod
    def default(cls) -> SettingsFile:
        """The file in the user's configuration folder."""
        return cls(settings_path())

    def load(self) -> Settings:
        """The remembered settings, or the defaults: then `trouble` says why, where there was a file."""
        self.trouble, self._keep_off = None, False
        if self.path is None:
            return Settings()
        self._sweep(self.path)
        try:
            data = _content(self.path)
        except (FileNotFoundError, NotADirectoryError):
            return Settings()
        except OSError as error:
            self._keep_off = True
            self.trouble = SettingsTrouble("unreadable", self.path, reason=error.strerror or "")
            return Settings()
        told = _object(data)
        if told is None:
            self.trouble = SettingsTrouble("damaged", self.path, self._put_aside(self.path))
            return Settings()
        return Settings.from_mapping(told)

    def _sweep(self, path: Path) -> None:
        """Take away what a killed program had half written, long ago enough that nobody is writing it."""
        now = datetime.now(UTC).timestamp()
        with contextlib.suppress(OSError):
            for part in path.parent.glob(f".{path.stem[:32]}-*.part"):
                if now - part.stat().st_mtime > _OLD_S:
                    part.unlink()

    def _put_aside(self, path: Path) -> Path | None:
        """Rename a damaged file, over no other one. None: it could not be done; the next save replaces it."""
        for number in range(1, 1_000):
            aside = path.with_name(f"{path.name}.damaged{'' if number == 1 else f'-{number}'}")
            if aside.exists():
                continue
            with contextlib.suppress(OSError):
                path.rename(aside)
                return aside
            return None
        return None

    def save(self, settings: Settings) -> bool:
        """Write all of it, or nothing. False where the file cannot be written: then this run is not remembered.

        When it returns, the end of this program, however it comes, takes nothing of it away.
        """
        if self.path is None:
            return True
        if self._keep_off:
            return False
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self.path, json.dumps(settings.to_mapping(), indent=2).encode())
        except OSError as error:
            self.trouble = SettingsTrouble("unwritable", self.path, reason=error.strerror or "")
            return False
        self.trouble = None
        return True
