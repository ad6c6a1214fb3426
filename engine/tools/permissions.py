"""Decide on tool calls: a person is asked, and an answer that holds for longer than once is kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

from engine.errors import InvalidRequest
from engine.system.cache_files import read_json
from engine.system.files import private_folder, write_whole
from engine.tools.tool import Tool


class Permission(Enum):
    """Define the scope of a permission for a tool. `never` refuses it, this time and later."""

    once = "once"
    chat = "chat"
    always = "always"
    never = "never"


Ask = Callable[[Tool, Mapping[str, Any]], Permission]
"""Ask a person for permission to call a tool with these arguments. May block until there is an answer, on the thread of
the caller; who goes away instead raises Cancelled."""


class Permissions:
    """Hold the answers: always and never in a file, per tool; in this chat, in memory.

    An answer is for the tool as it was when it was given: one that says something else of itself is asked about anew.
    `path` None: nothing is kept.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        kept = {} if path is None else read_json(path)
        self._kept: dict[str, dict[str, str]] = {
            str(key): {str(name): str(each) for name, each in value.items()}
            for key, value in kept.items()
            if isinstance(value, dict)
        }
        self._chats: dict[str, str] = {}

    def given(self, tool: Tool) -> Permission | None:
        """Return the answer for the tool: chat, always or never; None: a person is to be asked."""
        kept = self._kept.get(tool.key, {})
        said = kept.get("permission")
        if said == Permission.never.value:
            return Permission.never
        if said == Permission.always.value and _is_of(kept.get("digest"), tool) and self.may_be_always(tool):
            return Permission.always
        return Permission.chat if _is_of(self._chats.get(tool.key), tool) else None

    def may_be_always(self, tool: Tool) -> bool:
        """Return True if *always* may be answered: not for tools that write, unless allowed on the tool's page."""
        kept = self._kept.get(tool.key, {})
        return not tool.writes or _is_of(kept.get("writing"), tool)

    def choices(self, tool: Tool) -> tuple[Permission, ...]:
        """Return the answers that a person can give."""
        return tuple(each for each in Permission if each is not Permission.always or self.may_be_always(tool))

    def keep(self, tool: Tool, permission: Permission) -> None:
        """Keep an answer. Raises InvalidRequest for a forbidden *always*, and if the file cannot be written.

        Answering *once* forgets nothing.
        """
        if permission is Permission.always and not self.may_be_always(tool):
            raise InvalidRequest(
                "{name} may change something or start a program: allow it always on its own page first.",
                name=tool.title,
            )
        if permission is Permission.chat:
            self._chats[tool.key] = tool.digest
        elif permission is not Permission.once:
            kept = self._kept.setdefault(tool.key, {})
            self._kept[tool.key] = kept | {"permission": permission.value, "digest": tool.digest}
            self._write()

    def allow_writing_always(self, tool: Tool, *, allowed: bool) -> None:
        """Allow or forbid *always* for a tool that writes, from its own page. Raises InvalidRequest."""
        kept = self._kept.setdefault(tool.key, {})
        if allowed:
            kept["writing"] = tool.digest
        else:
            kept.pop("writing", None)
        self._write()

    def forget(self, tool: Tool | str) -> None:
        """Drop the answer for a tool, or that of a key: a person is asked again. Raises InvalidRequest."""
        key = tool if isinstance(tool, str) else tool.key
        self._chats.pop(key, None)
        if self._kept.pop(key, None) is not None:
            self._write()

    def begin_chat(self) -> None:
        """Drop the answers of the previous chat."""
        self._chats.clear()

    def asking(self, ask: Ask) -> Ask:
        """Return an Ask that asks only if no answer is kept, and keeps new ones."""

        def asked(tool: Tool, arguments: Mapping[str, Any]) -> Permission:
            given = self.given(tool)
            if given is None:
                given = ask(tool, arguments)
                self.keep(tool, given)
            return given

        return asked

    def _write(self) -> None:
        if self._path is None:
            return
        self._kept = {key: value for key, value in self._kept.items() if value}
        try:
            private_folder(self._path.parent)
            write_whole(self._path, (json.dumps(self._kept, indent=1) + "\n").encode(), private=True)
        except OSError as error:
            raise InvalidRequest(
                "Cannot write {path}: {said}.", path=self._path, said=error.strerror or str(error)
            ) from None


def _is_of(digest: str | None, tool: Tool) -> bool:
    """Return True if an answer is for the tool as it is. A digest is slow: it is made only to be compared."""
    return digest is not None and digest == tool.digest
