"""Cuts a growing Markdown text into blocks that are finished and one that is still open.

A finished block can be rendered once and for all; only the open one changes. So what a new token costs does not grow
with the reply. Long blocks are cut too, at a place where it shows least.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

PARAGRAPH_LIMIT = 2_000
LINES_LIMIT = 6_000

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_ITEM = re.compile(r" {0,3}([-*+]|\d{1,9}[.)])\s+\S")
_HEADING = re.compile(r" {0,3}#{1,6}\s")
_TABLE_RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(\|\s*:?-*:?\s*)*$")


@dataclass(frozen=True, slots=True)
class Block:
    """A finished piece of Markdown. `joined`: it goes on from the block before, so no gap belongs between them."""

    text: str
    joined: bool = False


@dataclass(slots=True)
class MarkdownBlocks:
    """Takes text as it comes; gives finished blocks. `open_text` is the block that is not finished yet."""

    _lines: list[str] = field(default_factory=list)
    _size: int = 0
    _partial: str = ""
    _kind: str = "paragraph"
    _fence: str = ""
    _blank_in_list: bool = False
    _joined: bool = False
    _done: list[Block] = field(default_factory=list)

    @property
    def open_text(self) -> str:
        """Source of the open block."""
        return "".join(self._lines) + self._partial

    def push(self, text: str) -> list[Block]:
        """Take more text; the blocks that it finished, in order."""
        *whole, self._partial = (self._partial + text).split("\n")
        for line in whole:
            self._take(line)
        self._cut_partial()
        return self._collect()

    def finish(self) -> list[Block]:
        """The text is complete: what was open, as blocks."""
        if self._partial:
            last, self._partial = self._partial, ""
            self._take(last)
        self._emit()
        return self._collect()

    def _collect(self) -> list[Block]:
        done, self._done = self._done, []
        return done

    def _take(self, line: str) -> None:
        """One complete line, without its line break."""
        if self._kind == "fence":
            self._take_code(line)
        elif not line.strip():
            self._take_blank()
        else:
            self._take_text(line)

    def _take_code(self, line: str) -> None:
        self._add(line)
        if _closes(line, self._fence):
            self._emit()
        elif self._size > LINES_LIMIT:
            opening = self._lines[0]
            self._add(self._fence)
            self._emit(cut=True)
            self._add(opening.rstrip("\n"))
            self._kind = "fence"

    def _take_blank(self) -> None:
        if self._kind == "list":
            self._blank_in_list = True
            self._add("")
        else:
            self._emit()

    def _take_text(self, line: str) -> None:
        item = _ITEM.match(line)
        fence = _FENCE.match(line)
        if self._kind == "list":
            inside = item is not None or line.startswith(("  ", "\t")) or not (self._blank_in_list or fence)
            if not inside:
                self._emit()
            elif item is not None and self._size > LINES_LIMIT and not line.startswith(" "):
                self._emit(cut=True)
                self._kind = "list"
            self._blank_in_list = False
        if self._kind != "list":
            self._begin(line, item is not None, fence)
        self._add(line)
        if self._kind == "heading":
            self._emit()
        elif self._kind == "paragraph" and self._size > PARAGRAPH_LIMIT:
            self._cut_lines()

    def _begin(self, line: str, is_item: bool, fence: re.Match[str] | None) -> None:
        """A line that may begin another kind of block than the open paragraph."""
        kind = "fence" if fence else "list" if is_item else "heading" if _HEADING.match(line) else "paragraph"
        if kind != "paragraph":
            self._emit()
            self._kind = kind
            self._fence = fence[1] if fence else ""

    def _add(self, line: str) -> None:
        self._lines.append(line + "\n")
        self._size += len(line) + 1

    def _cut_lines(self) -> None:
        """A paragraph or table of many lines: end the block here, and repeat a table's head."""
        if self._is_table():
            if self._size > LINES_LIMIT:
                head = self._lines[:2]
                self._emit(cut=True)
                for line in head:
                    self._add(line.rstrip("\n"))
        else:
            self._emit(cut=True)

    def _is_table(self) -> bool:
        return len(self._lines) > 1 and "|" in self._lines[0] and _TABLE_RULE.match(self._lines[1]) is not None

    def _cut_partial(self) -> None:
        """A paragraph that goes on and on in one line: cut it after a sentence, or at least between words."""
        if self._kind == "fence":
            return
        while self._size + len(self._partial) > PARAGRAPH_LIMIT and len(self._partial) > PARAGRAPH_LIMIT // 2:
            window = self._partial[: PARAGRAPH_LIMIT // 2]
            at = max(window.rfind(mark) for mark in (". ", "! ", "? ", "。")) + 1 or window.rfind(" ")
            at = at if at > 0 else len(window)
            self._lines.append(self._partial[:at])
            self._emit(cut=True)
            self._partial = self._partial[at:].lstrip(" ")

    def _emit(self, *, cut: bool = False) -> None:
        text = "".join(self._lines)
        if text.strip():
            if self._kind == "paragraph" and not self._is_table() and not text.startswith(("    ", "\t")):
                # What the model wrote on a line of its own stays on one: two spaces say so in Markdown.
                text = "  \n".join(line.rstrip() for line in text.strip("\n").split("\n")) + "\n"
            self._done.append(Block(text, self._joined))
            self._joined = cut
        self._lines, self._size, self._kind = [], 0, "paragraph"
        self._fence, self._blank_in_list = ("", False) if not cut else (self._fence, False)


def _closes(line: str, fence: str) -> bool:
    stripped = line.strip()
    return stripped.startswith(fence) and not stripped.strip(fence[0]) if fence else False
