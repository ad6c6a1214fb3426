"""Read the files of folders that were named: list, read, search. Nothing is ever written.

A path is `folder/…`, with the name of one of the folders first. What a symbolic link leads to outside of the folders
is not there.
"""

from __future__ import annotations

import fnmatch
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import Any

from engine.cancel import CancelToken
from engine.tools.builtin.base import BuiltinTool, ToolRefused, number_argument, own_tool, text_argument
from engine.tools.tool import Tool, ToolOutput, one_line
from engine.translatable import Translatable

_MOST_BYTES = 4 * 2**20
"""The largest file that is read."""
_SEARCHED_BYTES = 2**20
"""The largest file that is searched."""
_MOST_LINES, _MOST_LISTED, _MOST_HITS = 400, 300, 60
_LONGEST_LINE = 300
_MOST_VISITED = 50_000
_SEARCH_S = 20.0
_DEEPEST = 30


class Folders:
    """Hold the folders by their names, and resolve paths in them."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self.roots: dict[str, Path] = {}
        for folder in folders:
            name, number = folder.name or "root", 2
            while name in self.roots:
                name, number = f"{folder.name}-{number}", number + 1
            self.roots[name] = folder

    def find(self, path: str) -> tuple[Path, str]:
        """Return the real path and its display name. Raises ToolRefused for paths outside the folders."""
        wanted = path.strip().strip("/\\")
        candidates = [root / wanted for root in self.roots.values()] if len(self.roots) == 1 else []
        name, _, rest = wanted.replace("\\", "/").partition("/")
        if name in self.roots:
            candidates.insert(0, self.roots[name] / rest)
        if Path(path.strip()).is_absolute():
            candidates.insert(0, Path(path.strip()))
        for candidate in candidates:
            called = self.name_of(candidate)
            if called is not None:
                return Path(os.path.realpath(candidate)), called
        there = ", ".join(self.roots)
        raise ToolRefused(f'There is no "{one_line(path)}" in the folders that may be read: {there}.')

    def name_of(self, path: Path) -> str | None:
        """Return the name of an existing path, None if it lies outside of the folders once links are followed."""
        try:
            real = Path(os.path.realpath(path, strict=True))
            for name, root in self.roots.items():
                base = Path(os.path.realpath(root, strict=True))
                if real == base or base in real.parents:
                    return "/".join((name, *real.relative_to(base).parts))
        except (OSError, ValueError):
            return None
        return None


def read_whole(path: Path, most: int) -> str:
    """Return the text of a regular file, its beginning if it is longer than `most` bytes. Raises ToolRefused."""
    try:
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))
        with os.fdopen(number, "rb") as file:
            if not stat.S_ISREG(os.fstat(number).st_mode):
                raise ToolRefused("That is no ordinary file.")
            data = file.read(most)
    except OSError as error:
        raise ToolRefused(f"It cannot be read: {error.strerror or error}.") from None
    text = decoded(data)
    if text is None:
        raise ToolRefused("It holds no text.")
    return text


def decoded(data: bytes) -> str | None:
    """Return bytes as text; None if they are none."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    if b"\0" in data:
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        cut = error.start >= len(data) - 3
        return data.decode("utf-8-sig", "ignore") if cut else data.decode("cp1252", "replace")


class ListFolderTool:
    """List a folder."""

    def __init__(self, folders: Folders) -> None:
        self._folders = folders
        self.tool = _tool(
            folders,
            "list_folder",
            Translatable("List a folder"),
            "List the files and folders in a folder.",
            path={"type": "string", "description": "The folder; left out: all folders.", "optional": True},
        )

    def call(self, arguments: Mapping[str, Any], cancel: CancelToken, _timeout: float) -> ToolOutput:
        """Return the names, folders first. Raises ToolRefused, Cancelled."""
        path = text_argument(arguments, "path", usual="", most=4_000)
        if path.strip(" ./\\") == "" and len(self._folders.roots) != 1:
            return ToolOutput("\n".join(f"{name}/" for name in self._folders.roots))
        found, called = self._folders.find(path.strip(" ./\\") and path)
        try:
            with os.scandir(found) as entries:
                lines = [line for entry in entries if (line := self._line(entry, cancel))]
        except NotADirectoryError:
            raise ToolRefused("That is a file: read it with read_file.") from None
        except OSError as error:
            raise ToolRefused(f"It cannot be listed: {error.strerror or error}.") from None
        lines.sort(key=lambda line: (not line.endswith("/"), line))
        more = f"\n… and {len(lines) - _MOST_LISTED:,} more" if len(lines) > _MOST_LISTED else ""
        return ToolOutput(f"{called}/\n" + ("\n".join(lines[:_MOST_LISTED]) or "(empty)") + more)

    def _line(self, entry: os.DirEntry[str], cancel: CancelToken) -> str:
        cancel.check()
        try:
            if entry.is_symlink() and self._folders.name_of(Path(entry.path)) is None:
                return ""
            name = one_line(entry.name)
            return f"{name}/" if entry.is_dir() else f"{name}  {entry.stat().st_size:,} bytes"
        except OSError:
            return ""


class ReadFileTool:
    """Read a text file, some lines at a time."""

    def __init__(self, folders: Folders) -> None:
        self._folders = folders
        self.tool = _tool(
            folders,
            "read_file",
            Translatable("Read a file"),
            "Read a text file.",
            path={"type": "string", "description": "The file, as list_folder and search_files name it."},
            first_line={"type": "integer", "description": "The line to begin with, from 1.", "optional": True},
        )

    def call(self, arguments: Mapping[str, Any], _cancel: CancelToken, _timeout: float) -> ToolOutput:
        """Return the lines. Raises ToolRefused."""
        found, called = self._folders.find(text_argument(arguments, "path", most=4_000))
        if found.is_dir():
            raise ToolRefused("That is a folder: list it with list_folder.")
        lines = read_whole(found, _MOST_BYTES).splitlines()
        first = number_argument(arguments, "first_line", 1, 1, 10**9)
        shown = lines[first - 1 : first - 1 + _MOST_LINES]
        if not shown and lines:
            raise ToolRefused(f"It has only {len(lines):,} lines.")
        last = first - 1 + len(shown)
        more = f"\n[{len(lines) - last:,} more lines: go on with first_line {last + 1}]" if last < len(lines) else ""
        return ToolOutput(f"{called}\n" + ("\n".join(shown) or "(empty)") + more)


class SearchFilesTool:
    """Search files by name or by text."""

    def __init__(self, folders: Folders) -> None:
        self._folders = folders
        self.tool = _tool(
            folders,
            "search_files",
            Translatable("Search files"),
            "Find files by their name, or the lines of text files that contain a text.",
            text={"type": "string", "description": "Text that a line contains.", "optional": True},
            name={"type": "string", "description": "A file name, with * for anything.", "optional": True},
        )

    def call(self, arguments: Mapping[str, Any], cancel: CancelToken, timeout: float) -> ToolOutput:
        """Return the files, or the lines with their files. Raises ToolRefused, Cancelled."""
        text = text_argument(arguments, "text", usual="", most=500).strip().casefold()
        name = text_argument(arguments, "name", usual="", most=500).strip().casefold()
        if not (text or name):
            raise ToolRefused('Say "text" or "name".')
        pattern = name if any(sign in name for sign in "*?") else f"*{name}*"
        ends = monotonic() + min(timeout, _SEARCH_S)
        hits: list[str] = []
        why = ""
        for found, called in self._files(cancel):
            if name and not fnmatch.fnmatchcase(found.name.casefold(), pattern):
                continue
            hits += _lines_with(found, called, text) if text else [called]
            if len(hits) >= _MOST_HITS:
                why = f"\n[only the first {_MOST_HITS} are shown]"
                break
            if monotonic() > ends:
                why = "\n[the search was ended: it took too long]"
                break
        return ToolOutput(("\n".join(hits[:_MOST_HITS]) or "Nothing was found.") + why)

    def _files(self, cancel: CancelToken) -> Iterator[tuple[Path, str]]:
        visited = 0
        for name, root in self._folders.roots.items():
            for place, folders, files in os.walk(root):
                cancel.check()
                inside = Path(place).relative_to(root)
                folders[:] = sorted(each for each in folders if not each.startswith("."))
                if len(inside.parts) >= _DEEPEST:
                    folders.clear()
                for file in sorted(files):
                    visited += 1
                    if visited > _MOST_VISITED:
                        return
                    path = Path(place, file)
                    if not path.is_symlink():
                        yield path, "/".join((name, *inside.parts, file))


def _lines_with(path: Path, called: str, text: str) -> list[str]:
    try:
        lines = read_whole(path, _SEARCHED_BYTES).splitlines()
    except ToolRefused:
        return []
    found = ((number, line) for number, line in enumerate(lines, 1) if text in line.casefold())
    return [f"{called}:{number}: {line.strip()[:_LONGEST_LINE]}" for number, line in found][:_MOST_HITS]


def folder_tools(folders: Sequence[Path]) -> Sequence[BuiltinTool]:
    """Return the tools that read these folders."""
    named = Folders(folders)
    makers: tuple[Callable[[Folders], BuiltinTool], ...] = (ListFolderTool, ReadFileTool, SearchFilesTool)
    return [make(named) for make in makers]


def _tool(folders: Folders, name: str, title: str, description: str, /, **arguments: Mapping[str, Any]) -> Tool:
    there = ", ".join(map(one_line, folders.roots))
    return own_tool(name, title, f"{description} The folders that may be read: {there}.", **arguments)
