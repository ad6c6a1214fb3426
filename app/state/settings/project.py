"""Hold a project's settings for its chats: instructions, a choice of models, and a folder of files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from app.state.conversations.conversation import clean
from app.state.models.selection import DRAFTINGS, Selection
from app.state.models.targets import Server, read_target, write_target
from app.state.settings.generation import LONGEST_SYSTEM
from engine import Translatable

PROJECT_ACTIONS = {
    "chat": Translatable("New chat in this project"),
    "edit": Translatable("Instructions, files and model…"),
    "export": Translatable("Export the project…"),
    "delete": Translatable("Delete the project and its chats"),
}
"""The actions on a project, by name."""
_LONGEST_PATH, _MOST_FILES = 4_096, 10_000


@dataclass(frozen=True, slots=True)
class ProjectChoice:
    """Hold it as the settings of a project keep it.

    `target`: as the settings of the program write one, "": the models are chosen as for all chats; `sources`,
    `drafting`: as in a Selection; `folder`: "" for none; `files`: those that came from there, each with the time of
    its last change (nanoseconds) and its size; `folded`: the list does not show its chats.
    """

    instructions: str = ""
    target: str = ""
    sources: tuple[str, ...] = ()
    drafting: str = "automatic"
    folder: str = ""
    files: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    folded: bool = False

    def to_mapping(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_mapping(cls, data: Mapping[str, Any]) -> ProjectChoice:
        """Read the stored settings; invalid values are the defaults."""
        sources, files = data.get("sources"), data.get("files")
        return cls(
            _text(data.get("instructions"), LONGEST_SYSTEM),
            _text(data.get("target")),
            tuple(filter(None, map(_text, sources[:10]))) if isinstance(sources, list) else (),
            drafting if (drafting := data.get("drafting")) in DRAFTINGS else "automatic",
            _text(data.get("folder")),
            _files(files) if isinstance(files, Mapping) and len(files) <= _MOST_FILES else {},
            data.get("folded") is True,
        )

    def with_models(self, chosen: Selection | None) -> ProjectChoice:
        """Return it with these models for its chats; None: those that are chosen for all chats."""
        if chosen is None or chosen.target is None:
            return replace(self, target="", sources=(), drafting="automatic")
        sources = tuple(map(str, chosen.sources))
        return replace(self, target=write_target(chosen.target), sources=sources, drafting=chosen.drafting)

    def selection(self, before: Selection, servers: Sequence[Server]) -> Selection | None:
        """Return the models of its chats, the rest as in `before`; None: they have none of their own.

        A server that is not one of ours is none: who wrote the file of a project must not send its chats anywhere.
        """
        if not self.target:
            return None
        target = read_target(self.target, servers)
        if isinstance(target, Server) and target not in servers:
            return None
        return replace(before, target=target, sources=tuple(map(Path, self.sources)), drafting=self.drafting)


def _text(value: object, longest: int = _LONGEST_PATH) -> str:
    return clean(value) if isinstance(value, str) and len(value) <= longest else ""


def _files(data: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    pairs = {name: pair for name, pair in data.items() if isinstance(pair, list) and len(pair) == 2}
    return {name: (pair[0], pair[1]) for name, pair in pairs.items() if all(type(each) is int for each in pair)}
