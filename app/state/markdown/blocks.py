"""Cut a growing Markdown text into blocks that are finished and one that is still open.

A finished block can be rendered once and for all; only the open one changes. So what a new token costs does not grow
with the reply. Long blocks are cut too, at a place where it shows least: no block is longer than a parser and a
document can take in a few milliseconds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Literal

from app.state.markdown.formulas import LONGEST, closes_display, opens_display

PARAGRAPH_LIMIT = 2_000
LINES_LIMIT = 3_000
"""Characters of a list, table or quote."""
MOST_ITEMS = 100
"""Lines of a list: Qt counts its points again and again."""
MOST_CELLS = 200
"""The most cells of a table: Qt lays a table out as a whole."""
CODE_LIMIT = 2_500
LINE_LIMIT = 1_000
"""Characters of one line, and of one piece of it."""
PARAGRAPH_MOST = 40_000
"""Characters after which even a paragraph without an end gets one: Qt lays a paragraph out as a whole."""

_FENCE = re.compile(r"( {0,3})(?:(`{3,})([^`]*)|(~{3,})(.*))$")
_ITEM = re.compile(r"( *)([-*+]|\d{1,9}[.)])(\s+\S|\s*$)")
_HEADING = re.compile(r" {0,3}#{1,6}(\s|$)")
_QUOTE = re.compile(r" {0,3}>")
_RULE = re.compile(r" {0,3}([-*_])[ \t]*(\1[ \t]*){2,}$")
_TABLE_RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(\|\s*:?-*:?\s*)*$")
_MARKED = re.compile(
    r"\*\*[^\s*][^*]*\*\*|(?<!`)`[^`\s][^`]*`|\[[^\]]+\]\(https?:|^#{2,6} \S|^[-*] \S|^\d+[.)] \S|^> \S|^\|.*\|$"
    r"|\$[^\s$][^$]*[\\^_=][^$]*\$|\\\(.+\\\)|^\\\[|^\$\$"
)
_ENDS = re.compile(r"[.!?](?= )|。")
_JSON = {"{": "}", "[": "]"}
"""A line that is nothing but one of these begins JSON without a fence, which ends with a line of the other."""
_PAIRED = ("**", "`", "$", "~~")

Kind = Literal["text", "code"]


@dataclass(frozen=True, slots=True)
class Block:
    """Hold a finished piece. `text`: Markdown, or only the code of a fence, as it was written.

    `joined`: it goes on from the block before, so no gap belongs between them. `glue`: it is the rest of the paragraph
    with which the block before ended, and this stands between them. `language`: what stands after a fence.
    `lines`: for pieces of the text, in order, where each begins in it and in the source; -1 for what is repeated.
    """

    text: str
    joined: bool = False
    kind: Kind = "text"
    language: str = ""
    lines: tuple[tuple[int, int], ...] = field(default=(), compare=False)
    glue: str | None = None


@dataclass(slots=True)
class MarkdownBlocks:
    """Take text as it comes and return finished blocks. `open_text` is the block that is not finished yet."""

    _lines: list[str] = field(default_factory=list)
    _starts: list[int] = field(default_factory=list)
    """The place in the source where each of them begins."""
    _at: int = 0
    """The place in the source where the partial line begins."""
    _size: int = 0
    _partial: str = ""
    _kind: str = "paragraph"
    _fence: str = ""
    _language: str = ""
    _indent: int = 0
    _blank_in_list: bool = False
    _in_line: bool = False
    _joined: bool = False
    _glue: str | None = None
    _rest_of: str = ""
    """The kind of block in the middle of a line of which it was cut."""
    _paragraph: int = 0
    """Characters of the open paragraph that are in finished blocks."""
    _done: list[Block] = field(default_factory=list)

    @property
    def open_text(self) -> str:
        """Return the source of the open block; of a fence the code alone."""
        return "".join(self._lines) + self._partial

    @property
    def open_block(self) -> Block | None:
        """Return the open block as if it ended here, or None."""
        if self._kind == "fence":
            partial = "" if self._may_end(self._partial) else self._partial
            return Block("".join(self._lines) + partial, self._joined, "code", self._language, self._places())
        text = self.open_text
        return Block(text, self._joined, lines=self._places(), glue=self._glue) if text.strip() else None

    def push(self, text: str) -> list[Block]:
        """Take more text; the blocks that it finished, in order."""
        *whole, last = (self._partial + text).split("\n")
        for line in whole:
            self._partial = line
            self._cut_long_line()
            self._take(self._partial)
            self._at += len(self._partial) + 1
        self._partial = last
        self._cut_long_line()
        return self._collect()

    def finish(self) -> list[Block]:
        """End the text; return the open blocks."""
        if self._partial:
            last, self._partial = self._partial, ""
            if self._kind == "fence" and self._fence not in _JSON.values() and not _closes(last, self._fence):
                self._append(self._undented(last), last)
            else:
                self._take(last)
        self._emit()
        return self._collect()

    def _cut_long_line(self) -> None:
        if self._kind == "fence":
            self._cut_code_line()
        else:
            self._cut_partial()

    def _collect(self) -> list[Block]:
        done, self._done = self._done, []
        return done

    def _take(self, line: str) -> None:
        """Take one complete line, without its line break."""
        if self._kind == "fence":
            self._take_code(line)
        elif self._rest_of:
            self._take_rest(line.removesuffix("\r"))
        elif not line.strip():
            self._take_blank()
        else:
            self._take_text(line.removesuffix("\r"))

    # Code -------------------------------------------------------------------------------------------------------------

    def _take_code(self, line: str) -> None:
        json = self._fence in _JSON.values()
        if not json and not self._in_line and _closes(line, self._fence):
            self._emit()
            return
        self._add(line if self._in_line else self._undented(line), line)
        if json and not self._in_line and line.rstrip() == self._fence:
            self._emit()
            return
        self._in_line = False
        # A blank line, or one that begins at the left, is where a new state of the highlighter hurts least.
        calm = not line.strip() or (self._size > CODE_LIMIT * 0.9 and not line.startswith((" ", "\t")))
        if self._size > CODE_LIMIT or (calm and self._size > CODE_LIMIT * 0.75):
            self._emit_code_piece()

    def _may_end(self, line: str) -> bool:
        """Return True if a line that is not complete may yet become the end of a fence."""
        return self._fence not in _JSON.values() and bool(line) and not line.strip().strip(self._fence[0])

    def _undented(self, line: str) -> str:
        """Return a line of a fence that was itself indented."""
        spaces = len(line) - len(line.lstrip(" "))
        return line[min(spaces, self._indent) :]

    def _cut_code_line(self) -> None:
        while len(self._partial) > LINE_LIMIT:
            piece, self._partial = self._partial[:LINE_LIMIT], self._partial[LINE_LIMIT:]
            self._append(piece if self._in_line else self._undented(piece), piece)
            self._at += len(piece)
            self._size += len(piece)
            self._in_line = True
            if self._size > CODE_LIMIT:
                self._emit_code_piece()

    def _emit_code_piece(self) -> None:
        kept = (self._fence, self._language, self._indent, self._in_line)
        self._emit(cut=True)
        self._kind = "fence"
        self._fence, self._language, self._indent, self._in_line = kept

    # Text -------------------------------------------------------------------------------------------------------------

    def _take_rest(self, line: str) -> None:
        """Take the rest of a line that was cut: whatever it looks like, it begins nothing."""
        kind, self._rest_of = self._rest_of, ""
        if line.strip():
            self._add(line)
        else:
            self._glue = "\n"
        if kind == "list":
            # What follows is parsed by itself.
            self._emit(cut=True)
            self._kind, self._size = "list", 2 * LINES_LIMIT

    def _take_blank(self) -> None:
        if self._kind == "list":
            self._blank_in_list = True
            self._add("")
        elif self._kind == "formula" and self._size < LONGEST:
            self._add("")
        else:
            self._emit()

    def _take_text(self, line: str) -> None:
        written = line
        if self._kind == "formula" and self._size < LONGEST:
            self._add(line)
            if closes_display(line, self._fence):
                self._emit()
            return
        fence = _FENCE.match(line)
        item = None if fence or _RULE.match(line) else _ITEM.match(line)
        if self._kind == "list":
            line = self._undented(line)
            if not self._goes_on(line, item, fence):
                self._emit()
            elif self._is_long_list() and (item is not None or self._size > LINES_LIMIT * 1.5):
                self._cut_list(line)
                line = self._undented(line)
            self._blank_in_list = False
        if self._kind != "list" and self._begin(line, item, fence):
            return
        self._add(line, written)
        if self._kind == "heading":
            self._emit()
        elif self._kind == "quote" and self._size > LINES_LIMIT:
            self._emit(cut=True)
        elif self._kind == "paragraph":
            self._cut_lines()

    def _goes_on(self, line: str, item: re.Match[str] | None, fence: re.Match[str] | None) -> bool:
        """Return True if a line belongs to the open list."""
        if item is not None or line.startswith(("  ", "\t")):
            return True
        return not (self._blank_in_list or fence or _HEADING.match(line) or _RULE.match(line) or opens_display(line))

    def _is_long_list(self) -> bool:
        return self._size > LINES_LIMIT or len(self._lines) > MOST_ITEMS

    def _cut_list(self, line: str) -> None:
        """End a long list here; later lines are parsed by themselves, so this line must stand at the left."""
        spaces = self._indent + len(line) - len(line.lstrip(" "))
        self._emit(cut=True)
        self._kind, self._indent = "list", spaces

    def _begin(self, line: str, item: re.Match[str] | None, fence: re.Match[str] | None) -> bool:
        """Begin another kind of block with a line that may do so.

        True if the line is nothing but a beginning.
        """
        if fence:
            self._emit()
            self._kind = "fence"
            self._indent = len(fence[1])
            self._fence, self._language = fence[2] or fence[4], (fence[3] or fence[5] or "").strip()
            return True
        if line.rstrip() in _JSON:
            self._emit()
            self._kind, self._fence, self._language = "fence", _JSON[line.rstrip()], "json"
            return False
        kind = "paragraph"
        if item is not None and len(item[1]) < 4 and (item[3].strip() or self._kind == "paragraph"):
            kind = "list"
        elif _HEADING.match(line):
            kind = "heading"
        elif _QUOTE.match(line):
            kind = "quote"
        elif (end := opens_display(line)) and not closes_display(line, end, first=True):
            self._emit()
            self._kind, self._fence = "formula", end
            return False
        # A number other than 1 does not begin a list in the middle of a paragraph, nor does an empty item.
        goes_on = bool(self._lines) or self._glue is not None
        if kind == "list" and goes_on and item is not None and not _may_interrupt(item):
            kind = "paragraph"
        if kind not in {"paragraph", self._kind}:
            self._emit()
            self._kind = kind
        return False

    def _add(self, line: str, written: str | None = None) -> None:
        self._append(line + "\n", line if written is None else written)
        self._size += len(line) + 1

    def _append(self, text: str, written: str) -> None:
        """Keep a piece. `written`: its line, or the rest of it, as it stands in the source."""
        self._lines.append(text)
        self._starts.append(self._at + len(written) - len(text.removesuffix("\n")))

    def _places(self) -> tuple[tuple[int, int], ...]:
        """Return the beginnings of the pieces, in the block and in the source."""
        lengths = accumulate((len(line) for line in self._lines), initial=0)
        return tuple(zip(lengths, (*self._starts, self._at), strict=True))

    def _cut_lines(self) -> None:
        """Cut a paragraph or table of many lines: end the block here, and repeat a table's head."""
        if self._is_table():
            cells = self._lines[0].count("|") * len(self._lines)
            if self._size > LINES_LIMIT or cells > max(MOST_CELLS, 3 * self._lines[0].count("|")):
                head = self._lines[:2]
                self._emit(cut=True)
                if len(head[0]) + len(head[1]) < LINE_LIMIT:
                    for line in head:
                        self._add(line.rstrip("\n"))
                    self._starts = [-1, -1]
        elif self._size > PARAGRAPH_LIMIT:
            self._emit(cut=True, glue="\n")

    def _is_table(self) -> bool:
        return len(self._lines) > 1 and "|" in self._lines[0] and _TABLE_RULE.match(self._lines[1]) is not None

    def _cut_partial(self) -> None:
        """Cut a paragraph that goes on and on in one line: after a sentence, or at least between words."""
        while self._size + len(self._partial) > PARAGRAPH_LIMIT and len(self._partial) > LINE_LIMIT:
            kind = self._rest_of or self._kind_of_line(self._partial)
            at = _place_to_cut(self._partial[:LINE_LIMIT])
            piece = self._partial[:at]
            self._append(piece if self._rest_of else self._undented(piece), piece)
            rest = self._partial[at:].lstrip(" ")
            self._emit(cut=True, glue=" " if len(rest) + at < len(self._partial) else "")
            self._rest_of = kind
            self._at += len(self._partial) - len(rest)
            self._partial = rest

    def _kind_of_line(self, line: str) -> str:
        """Return the kind of block of a line that is cut before it is complete."""
        item = _ITEM.match(line)
        if self._kind == "list" and not self._goes_on(line, item, None):
            self._emit()
        within = bool(self._lines) or self._glue is not None
        if item is not None and (not within or _may_interrupt(item)):
            return "list"
        return self._kind

    def _emit(self, *, cut: bool = False, glue: str | None = None) -> None:
        """End the block. `cut`: it goes on in the next one; `glue`: so does its paragraph, see `Block`."""
        text = "".join(self._lines)
        if self._kind == "fence":
            self._done.append(Block(text, self._joined, "code", self._language, self._places()))
            self._joined = cut
        elif text.strip():
            self._done.append(Block(text, self._joined, lines=self._places(), glue=self._glue))
            self._joined = cut
        self._joined = self._joined and cut
        self._paragraph = self._paragraph + len(text) if glue is not None else 0
        self._glue = glue if self._paragraph < PARAGRAPH_MOST else None
        self._lines, self._starts, self._size, self._kind = [], [], 0, "paragraph"
        self._fence = self._language = ""
        self._indent, self._blank_in_list, self._in_line = 0, False, False


def _place_to_cut(text: str) -> int:
    """Find the best cut of a paragraph: after a sentence, or between words, and within no bold text or code."""
    ends = [match.end() for match in _ENDS.finditer(text)]
    spaces = [match.start() for match in re.finditer(" ", text)]
    whole = (at for at in [*reversed(ends), *reversed(spaces)] if at and _is_whole(text[:at]))
    return next(whole, 0) or max(ends, default=0) or max(spaces, default=0) or len(text)


def _is_whole(text: str) -> bool:
    """Return True if nothing is open at the end of a text that is marked in pairs."""
    if any(text.count(mark) % 2 for mark in _PAIRED):
        return False
    return text.rfind("[") <= text.rfind("]") and text.rfind("](") <= text.rfind(")")


def is_markdown(text: str) -> bool:
    """Return True if typed text is meant as Markdown. In pasted text, spaces often mean something."""
    fenced, found, open_fence = False, False, ""
    for line in text.split("\n"):
        fence = _FENCE.match(line)
        if open_fence:
            open_fence = "" if _closes(line, open_fence) else open_fence
        elif fence:
            fenced, open_fence = True, fence[2] or fence[4]
        elif line.startswith(("  ", "\t")) and line.strip() and not _ITEM.match(line):
            return False
        else:
            found = found or _MARKED.search(line) is not None
    return found or (fenced and not open_fence)


def _may_interrupt(item: re.Match[str]) -> bool:
    return bool(item[3].strip()) and (item[2] in "-*+" or item[2][:-1] == "1")


def _closes(line: str, fence: str) -> bool:
    stripped = line.lstrip(" ")
    if len(line) - len(stripped) > 3:
        return False
    stripped = stripped.rstrip()
    return len(stripped) >= len(fence) and not stripped.strip(fence[0])
