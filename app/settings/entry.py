"""Describe a setting: the reading of its value, and its field in the settings dialog."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from app.state.settings.fields import Option
from app.state.settings.plain import plain_mapping

Page = Literal["general", "speculation"]
"""The pages of the dialog that are made of the register."""
Read = Callable[[object], Any]
"""Return the value that a file holds. Raises ValueError if it makes no sense."""
_KEY = "setting"
_MOST_FOLDERS = 64
_MOST_OPTIONS = 10_000


@dataclass(frozen=True, slots=True)
class Setting:
    """Describe a setting.

    `read`: how its value is read. `page`: where the dialog shows it, None: nowhere; what is shown has a `label` and
    `options`, and may have a `hint` (phrases). `options` is a function where only the running program knows them.
    `unlisted`: names a value that is not among the options; None: the first one is shown for it. `resting`: it changes
    with every pixel that the mouse moves, so it is saved when the mouse rests.
    """

    read: Read
    page: Page | None = None
    label: str = ""
    hint: str = ""
    options: tuple[Option, ...] | Callable[[], tuple[Option, ...]] = ()
    unlisted: Callable[[Any], str] | None = None
    resting: bool = False
    name: str = ""

    def choices(self) -> tuple[Option, ...]:
        return self.options() if callable(self.options) else self.options


def kept(read: Read, *, resting: bool = False) -> Mapping[str, Setting]:
    """Return a setting that no page shows, as the metadata of its field."""
    return {_KEY: Setting(read, resting=resting)}


def shown(
    default: Any,
    page: Page,
    read: Read,
    label: str,
    options: tuple[Option, ...] | Callable[[], tuple[Option, ...]],
    hint: str = "",
    *,
    unlisted: Callable[[Any], str] | None = None,
) -> Any:
    """Return the field of a setting that a page of the dialog shows."""
    return field(default=default, metadata={_KEY: Setting(read, page, label, hint, options, unlisted)})


def setting(metadata: Mapping[str, Any]) -> Setting | None:
    """Return the setting that a field describes, None if it describes none."""
    return metadata.get(_KEY)


# Reading ------------------------------------------------------------------------------------------------------------


def flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise ValueError(value)


def path_text(value: object) -> str:
    """Read a path, or another text that no file system minds."""
    if isinstance(value, str) and "\0" not in value:
        return value
    raise ValueError(value)


def missing(value: object) -> None:
    """Read null."""
    if value is not None:
        raise ValueError(value)


def one_of(*values: str) -> Read:
    def read(value: object) -> str:
        if isinstance(value, str) and value in values:
            return value
        raise ValueError(value)

    return read


def whole(least: int, most: int) -> Read:
    def read(value: object) -> int:
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
            return value
        raise ValueError(value)

    return read


def text_like(pattern: str) -> Read:
    """Read a text that matches a regular expression as a whole."""
    wanted = re.compile(pattern)

    def read(value: object) -> str:
        if isinstance(value, str) and wanted.fullmatch(value) is not None:
            return value
        raise ValueError(value)

    return read


def either(*reads: Read) -> Read:
    """Combine readers: the first one that accepts a value reads it."""

    def read(value: object) -> Any:
        for each in reads:
            try:
                return each(value)
            except ValueError:
                continue
        raise ValueError(value)

    return read


def folders(value: object) -> list[str]:
    """Read a list of folders: those that make sense, each once."""
    listed = value if isinstance(value, list) else []
    return list(dict.fromkeys(each for each in listed if each and _is_path(each)))[:_MOST_FOLDERS]


def paths(value: object) -> list[str]:
    """Read a list of paths: those that make sense, each once."""
    if not isinstance(value, list):
        raise ValueError(value)  # noqa: TRY004 - as of every entry
    return list(dict.fromkeys(each for each in value if each and _is_path(each)))[:_MOST_OPTIONS]


def options_by_path(value: object) -> dict[str, dict[str, Any]]:
    """Read plain options by path; their meaning is judged where they are used."""
    if not isinstance(value, Mapping):
        return {}
    found = {path: plain_mapping(each) for path, each in value.items() if path and _is_path(path)}
    return dict([(path, each) for path, each in found.items() if each][:_MOST_OPTIONS])


def plain_list(value: object) -> list[dict[str, Any]]:
    """Read a list of plain mappings."""
    listed = value if isinstance(value, list) else []
    return [each for each in map(plain_mapping, listed) if each]


def _is_path(value: object) -> bool:
    return isinstance(value, str) and "\0" not in value
