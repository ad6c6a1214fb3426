"""Keep the settings in one JSON file. Damaged values are replaced by their defaults."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from app.settings.entry import (
    Setting,
    either,
    flag,
    folders,
    kept,
    missing,
    one_of,
    options_by_path,
    path_text,
    paths,
    plain_list,
    setting,
    shown,
    text_like,
    whole,
)
from app.state.models.selection import DRAFTINGS, Lookahead
from app.state.settings.fields import Option
from app.state.settings.generation import CHOSEN, GENERATION, GenerationChoice
from app.state.tools.choice import ToolChoice
from app.system.places import settings_path
from app.system.resources import ResourceDamaged, read_text
from app.system.translation import LANGUAGES
from engine import MAX_LOOKAHEAD, THINKING_MODES, Translatable
from engine.host import private_folder, write_whole

FONT_POINTS = (6, 40)
"""The smallest and the largest size of the font that can be chosen."""
_LISTED_POINTS = (8, 9, 10, 11, 12, 13, 14, 16, 18, 20, 24, 28, 32)
_WIDTH = whole(0, 4_000)
_LANGUAGE = r"|[A-Za-z]{2,3}([_-][A-Za-z0-9]{1,8}){0,3}"
_LARGEST = 2**30
"""Bytes: more than all that can be kept, with every preset and prompt as long as it may be."""
_OLD_S, _MOMENT_S = 60.0, 10.0


def _points(size: int) -> str:
    return Translatable("{size} pt", size=size)


def _sampling(value: object) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not value:
        return {}
    chosen = {CHOSEN: True} if value.get(CHOSEN) is True else {}
    return {**GenerationChoice.from_mapping(value).to_mapping(), **chosen}


def _tools(value: object) -> dict[str, Any]:
    return ToolChoice.from_mapping(value).to_mapping()


def _thinking(value: object) -> dict[str, str]:
    if isinstance(value, Mapping):
        return {path: mode for path, mode in value.items() if isinstance(path, str) and mode in THINKING_MODES}
    raise ValueError(value)


def _speculation(name: str, default: str) -> Any:
    """Return a setting that is a field of every GenerationChoice."""
    known = GENERATION[name]
    read = one_of(*(each.value for each in known.options))
    return shown(default, "speculation", read, known.label, known.options, known.hint)


_SYSTEM = Translatable("Follow system")
_THEMES = (
    Option("system", _SYSTEM),
    Option("light", Translatable("Light")),
    Option("dark", Translatable("Dark")),
    Option("contrast", Translatable("High contrast")),
)
_LANGUAGES = (Option("", _SYSTEM), *(Option(code, each.name) for code, each in LANGUAGES.items()))
_SIZES = (Option(0, _SYSTEM), *(Option(size, _points(size)) for size in _LISTED_POINTS))
_NOTIFY = (
    Option(True, Translatable("When a long reply finishes in the background")),
    Option(False, Translatable("Never")),
)
_CACHES = (Option(True, Translatable("Keep on disk, up to 2 GB")), Option(False, Translatable("Don’t keep")))
_TEXTS = (Option(True, Translatable("Draft from my chats")), Option(False, Translatable("Don’t use them")))
_EXPORTS = (
    Option("off", Translatable("Never")),
    Option("daily", Translatable("Every day")),
    Option("weekly", Translatable("Every week")),
)


@dataclass(slots=True)
class Settings:
    """Hold the remembered choices and the register of all settings; the metadata of a field describe it (see SETTINGS).

    `target` "" is the bundled one; `sources`: the files of what proposes, None: the bundled draft;
    `drafting`: how the draft was chosen (`Drafting` in app.state.models.selection), "" in old files;
    `models_folders`: in their order; `favourites`, `recent_models`: paths of models, those loaded last first;
    `files_folder`: where a file was opened or saved last;
    `servers`: those that can be the target (app.state.models.targets), without keys;
    `measured_speeds`: tokens/s of a target by its path, plain and drafted; `drafts`: what drafted for it last;
    `load_options`: how a model is loaded, `thinking`: how it is to think, `model_choices`: what new conversations with
    it begin with (GenerationChoice.to_mapping), `template_variables`: of its chat template; all by its path;
    `geometry` is Qt's own form in base64; `left_width`, `right_width` in pixels; `conversation` is the number of the
    one that is open, 0 for none; `font_points` 0: the platform's size; `language` "": the system's; `notify`: when a
    long reply has ended behind other windows;
    `own_texts`: whether replies are drafted from the chats that are kept;
    `chat_exports`: how often all chats are written into an archive;
    `keep_caches`: whether what models have read of chats is kept on disk;
    `first_launch`: the program was never used; `method`, `acceptance`, `overlap`: of every reply; `sampling`: what new
    conversations begin with (GenerationChoice.to_mapping); `next_sampling`: what was chosen for the one that has no
    question yet, {}: nothing; `tools`: those of ours that models may call (ToolChoice.to_mapping);
    `server_on`, `server_host`, `server_port`, `server_names`: of the local server;
    `presets`, `prompts`: the user's own (app.state.settings.presets).

    Lists and mappings in it are replaced, never changed in place: each change of a setting is reported to
    the `listener` by the setting's name, and it saves all of them (see app.settings.autosave).
    """

    models_folders: list[str] = field(default_factory=list, metadata=kept(folders))
    target: str = field(default="", metadata=kept(path_text))
    sources: list[str] | None = field(default=None, metadata=kept(either(missing, paths)))
    drafting: str = field(default="", metadata=kept(one_of("", *DRAFTINGS)))
    lookahead: Lookahead = field(default="auto", metadata=kept(either(one_of("auto"), whole(0, MAX_LOOKAHEAD))))
    favourites: list[str] = field(default_factory=list, metadata=kept(paths))
    recent_models: list[str] = field(default_factory=list, metadata=kept(paths))
    servers: list[dict[str, Any]] = field(default_factory=list, metadata=kept(plain_list))
    files_folder: str = field(default="", metadata=kept(path_text))
    load_options: dict[str, dict[str, Any]] = field(default_factory=dict, metadata=kept(options_by_path))
    measured_speeds: dict[str, dict[str, Any]] = field(default_factory=dict, metadata=kept(options_by_path))
    drafts: dict[str, dict[str, Any]] = field(default_factory=dict, metadata=kept(options_by_path))
    model_choices: dict[str, dict[str, Any]] = field(default_factory=dict, metadata=kept(options_by_path))
    template_variables: dict[str, dict[str, Any]] = field(default_factory=dict, metadata=kept(options_by_path))
    theme: str = shown("system", "general", one_of(*(each.value for each in _THEMES)), Translatable("Theme"), _THEMES)
    language: str = shown(
        "",
        "general",
        text_like(_LANGUAGE),
        Translatable("Language"),
        _LANGUAGES,
        Translatable("Takes effect after restart"),
    )
    font_points: int = shown(
        0,
        "general",
        either(whole(0, 0), whole(*FONT_POINTS)),
        Translatable("Font size"),
        _SIZES,
        Translatable("Also: Ctrl + and Ctrl −"),
        unlisted=_points,
    )
    notify: bool = shown(True, "general", flag, Translatable("Notifications"), _NOTIFY)
    keep_caches: bool = shown(
        True,
        "general",
        flag,
        Translatable("Chat caches"),
        _CACHES,
        Translatable("A kept chat answers at once after restart"),
    )
    own_texts: bool = shown(
        True,
        "general",
        flag,
        Translatable("Your own texts"),
        _TEXTS,
        Translatable("What you wrote before comes faster. The index stays on this computer"),
    )
    chat_exports: str = shown(
        "off",
        "general",
        one_of(*(each.value for each in _EXPORTS)),
        Translatable("Export all chats"),
        _EXPORTS,
        Translatable("As a ZIP of Markdown and JSON in your documents; the last ten are kept"),
    )
    first_launch: bool = field(default=True, metadata=kept(flag))
    geometry: str = field(default="", metadata=kept(path_text, resting=True))
    left_shown: bool = field(default=True, metadata=kept(flag))
    right_shown: bool = field(default=True, metadata=kept(flag))
    left_width: int = field(default=220, metadata=kept(_WIDTH, resting=True))
    right_width: int = field(default=300, metadata=kept(_WIDTH, resting=True))
    conversation: int = field(default=0, metadata=kept(whole(0, 2**63 - 1)))
    tokens_colored: bool = field(default=False, metadata=kept(flag))
    tokens_unsure: bool = field(default=False, metadata=kept(flag))
    thinking: dict[str, str] = field(default_factory=dict, metadata=kept(_thinking))
    method: str = _speculation("method", "auto")
    acceptance: str = _speculation("acceptance", "rejection")
    overlap: str = _speculation("overlap", "auto")
    sampling: dict[str, Any] = field(default_factory=dict, metadata=kept(_sampling))
    next_sampling: dict[str, Any] = field(default_factory=dict, metadata=kept(_sampling))
    presets: list[dict[str, Any]] = field(default_factory=list, metadata=kept(plain_list))
    prompts: list[dict[str, Any]] = field(default_factory=list, metadata=kept(plain_list))
    tools: dict[str, Any] = field(default_factory=lambda: ToolChoice().to_mapping(), metadata=kept(_tools))
    server_on: bool = field(default=False, metadata=kept(flag))
    server_host: str = field(default="127.0.0.1", metadata=kept(one_of("127.0.0.1", "0.0.0.0")))  # noqa: S104 - a key is demanded
    server_port: int = field(default=8642, metadata=kept(whole(1, 65_535)))
    server_names: str = field(default="", metadata=kept(text_like(r"[^\x00-\x1f]{0,500}")))
    listener: Callable[[str], None] | None = field(default=None, init=False, repr=False, compare=False)

    def __setattr__(self, name: str, value: object) -> None:
        before = getattr(self, name, None)
        object.__setattr__(self, name, value)
        listener = getattr(self, "listener", None)
        if listener is not None and name in SETTINGS and value != before:
            listener(name)

    @property
    def models_folder(self) -> str:
        """Return the first of the models folders; "" is none. Setting it replaces all of them."""
        return self.models_folders[0] if self.models_folders else ""

    @models_folder.setter
    def models_folder(self, folder: str) -> None:
        self.models_folders = [folder] if folder else []

    @classmethod
    def from_mapping(cls, data: object) -> Settings:
        """Return settings from the content of a file; the default replaces every value that makes no sense."""
        settings = cls()
        if not isinstance(data, Mapping):
            return settings
        data = under_new_names(data)
        for name, each in SETTINGS.items():
            if name in data:
                with contextlib.suppress(ValueError):
                    setattr(settings, name, each.read(data[name]))
        return settings

    def to_mapping(self) -> dict[str, Any]:
        """Return the settings as written to the file."""
        return {name: getattr(self, name) for name in SETTINGS}


def under_new_names(data: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Return the content of a file with the settings that an older version named otherwise: lists of one path each."""
    renamed = {}
    with contextlib.suppress(ResourceDamaged, ValueError):
        renamed = json.loads(read_text("renamed_settings.json"))
    found = {}
    for name, before in renamed.items():
        values = [data[each] for each in before if each in data]
        if name not in data and values and (values[0] is None or all(isinstance(value, str) for value in values)):
            found[name] = None if values[0] is None else [value for value in values if value]
    return {**data, **found}


def _register() -> Mapping[str, Setting]:
    found = {each.name: setting(each.metadata) for each in fields(Settings)}
    return {name: replace(entry, name=name) for name, entry in found.items() if entry is not None}


SETTINGS = _register()
"""The register of the settings, by name."""


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
    """Return the JSON object in a file. None if it is invalid."""
    if len(data) > _LARGEST:
        return None
    try:
        parsed = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError, MemoryError):
        return None
    return parsed if isinstance(parsed, dict) else None


def _content(path: Path) -> bytes:
    """Read a file. Raises OSError, also for one that never ends."""
    mode = path.stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    with path.open("rb") as file:
        return file.read(_LARGEST + 1)


class SettingsFile:
    """Read and write the file. `path` None: remember nothing.

    Attribute: trouble (with the last reading or writing, None if there was none).
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.trouble: SettingsTrouble | None = None
        self._keep_off = False

    @classmethod
    def default(cls) -> SettingsFile:
        """Return the file in the user's configuration folder."""
        return cls(settings_path())

    def load(self) -> Settings:
        """Return the stored settings, or the defaults: then `trouble` is the reason, if there was a file."""
        self.trouble, self._keep_off = None, False
        if self.path is None:
            return Settings()
        self._sweep(self.path)
        if (stored := self._unsettled(self.path)) is not None:
            return Settings.from_mapping(stored)
        try:
            data = _content(self.path)
        except (FileNotFoundError, NotADirectoryError):
            return Settings()
        except OSError as error:
            self._keep_off = True
            self.trouble = SettingsTrouble("unreadable", self.path, reason=error.strerror or "")
            return Settings()
        stored = _object(data)
        if stored is None:
            self.trouble = SettingsTrouble("damaged", self.path, self._put_aside(self.path))
            return Settings()
        return Settings.from_mapping(stored)

    def _unsettled(self, path: Path) -> dict[str, Any] | None:
        """Return what was saved for now, if that was the last: the program ended before the file was written."""
        beside = _beside(path)
        with contextlib.suppress(OSError):
            # `settle` may have written what came before it a moment later; others write the file much later.
            if not path.exists() or beside.stat().st_mtime + _MOMENT_S > path.stat().st_mtime:
                return _object(_content(beside))
        return None

    def _sweep(self, path: Path) -> None:
        """Remove half-written files of a killed program, old enough that nobody is writing them."""
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
        """Write all of it, or nothing. False if the file cannot be written: then this run is not remembered.

        When it returns, the end of this program, or of the power, however it comes, takes nothing of it away.
        """
        saved = self.save_for_now(settings) and self.settle()
        if saved:
            self.clear_up()
        return saved

    def save_for_now(self, settings: Settings) -> bool:
        """Write it beside the file: the end of the program takes nothing away, that of the power could until `settle`.

        It never waits for the disk, which may take seconds where much is written. False as with `save`.
        """
        if self.path is None:
            return True
        if self._keep_off:
            return False
        try:
            private_folder(self.path.parent)
            data = json.dumps(settings.to_mapping(), indent=2).encode()
            write_whole(_beside(self.path), data, lasting=False, private=True)
        except OSError as error:
            return self._failed(self.path, error)
        return True

    def settle(self) -> bool:
        """Write the file itself with what was saved for now. On any thread. False as with `save`."""
        if self.path is None:
            return True
        try:
            with contextlib.suppress(FileNotFoundError):
                write_whole(self.path, _beside(self.path).read_bytes(), private=True)
        except OSError as error:
            return self._failed(self.path, error)
        self.trouble = None
        return True

    def clear_up(self) -> None:
        """Remove what was saved for now, once it is settled."""
        if self.path is not None:
            with contextlib.suppress(OSError):
                _beside(self.path).unlink()

    def _failed(self, path: Path, error: OSError) -> bool:
        self.trouble = SettingsTrouble("unwritable", path, reason=error.strerror or "")
        return False


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.new")
