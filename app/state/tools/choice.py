"""Hold the choice of built-in tools, as the settings keep it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

Builtin = Literal["clock", "calculator", "pages", "chats", "files"]
BUILTINS: tuple[Builtin, ...] = ("files", "chats", "pages", "calculator", "clock")
"""The groups of tools that are switched on together."""
TOOLS_OFF = "tools_off"
"""The key of the tools that a conversation may not use, in its settings."""
_MOST_FOLDERS, _MOST_OFF = 50, 2_000


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """Hold the choice of tools. `folders`: those whose files may be read; `off`: keys of our tools that are off.

    `limit`: how many calls a model may make for one question before a person is asked to go on.
    """

    on: frozenset[Builtin] = frozenset()
    folders: tuple[str, ...] = ()
    off: frozenset[str] = frozenset()
    limit: int = 8

    def switched(self, name: Builtin, *, on: bool) -> ToolChoice:
        return replace(self, on=self.on | {name} if on else self.on - {name})

    def to_mapping(self) -> dict[str, Any]:
        on, off = sorted(self.on), sorted(self.off)
        return {"on": on, "folders": list(self.folders), "off": off, "limit": self.limit}

    @classmethod
    def from_mapping(cls, data: object) -> ToolChoice:
        """Read a stored choice; invalid or missing values are off."""
        if not isinstance(data, Mapping):
            return cls()
        limit = data.get("limit")
        good = isinstance(limit, int) and not isinstance(limit, bool) and 1 <= limit <= 100
        on = frozenset(name for name in BUILTINS if name in _texts(data.get("on")))
        folders = tuple(dict.fromkeys(each for each in _texts(data.get("folders")) if Path(each).is_absolute()))
        off = frozenset(_texts(data.get("off"))[:_MOST_OFF])
        return cls(on, folders[:_MOST_FOLDERS], off, limit if good else 8)  # type: ignore[arg-type]


def tools_off(settings: Mapping[str, Any]) -> frozenset[str]:
    """Return the keys of the tools that a conversation with these settings may not use."""
    return frozenset(_texts(settings.get(TOOLS_OFF))[:_MOST_OFF])


def _texts(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str) and "\0" not in each] if isinstance(value, list) else []
