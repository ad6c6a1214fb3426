"""Split a growing reply into the model's thought (`<think>…</think>`) and its answer.

A thought begins where `<think>` begins a line, outside of a fence; a reply may also begin within one, where the prompt
held the opening tag: then everything before the first `</think>` was thought.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

OPENING = "<think>"
CLOSING = "</think>"

_QUOTES = tuple("\"'(\u201c\u2018\u00ab\u300c")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")

Happening = Literal["said", "thought", "begins", "ends", "was thought"]
"""`was thought`: all text until now was a thought, and has ended."""


@dataclass(frozen=True, slots=True)
class ReplyPiece:
    """Hold the next piece of a reply; `text` of the answer or the thought."""

    what: Happening
    text: str = ""


@dataclass(slots=True)
class Thoughts:
    """Take text as it comes and return pieces. What may become a tag is held back."""

    _held: str = ""
    _thinking: bool = False
    _line: str = ""
    _fence: str = ""
    _may_have_begun_within: bool = True
    _fresh: bool = False
    _found: list[ReplyPiece] = field(default_factory=list)

    def push(self, text: str) -> list[ReplyPiece]:
        """Take more text; return its pieces."""
        rest = self._held + text
        self._held = ""
        while rest:
            rest = self._think(rest) if self._thinking else self._say(rest)
            if rest and rest == self._held:
                break
        return self._collect()

    def finish(self) -> list[ReplyPiece]:
        """End the text; return the held text, and the end of a thought that is still open."""
        if self._held:
            self._give("thought" if self._thinking else "said", self._held)
            self._held = ""
        if self._thinking:
            self._give("ends")
            self._thinking = False
        return self._collect()

    def _collect(self) -> list[ReplyPiece]:
        found, self._found = self._found, []
        return found

    def _give(self, what: Happening, text: str = "") -> None:
        if what == "said":
            # The empty lines after a thought are of no use.
            text = text.lstrip("\n") if self._fresh else text
            if not text:
                return
            self._fresh = False
        if self._found and text and self._found[-1].what == what:
            text = self._found.pop().text + text
        self._found.append(ReplyPiece(what, text))

    def _think(self, rest: str) -> str:
        """Take a thought up to its end, and return the text that is left to be read."""
        at = rest.find(CLOSING)
        if at < 0:
            keep = _beginning_of(CLOSING, rest)
            if len(rest) > keep:
                self._give("thought", rest[: len(rest) - keep])
            self._held = rest[len(rest) - keep :]
            return self._held
        if at:
            self._give("thought", rest[:at])
        self._give("ends")
        self._thinking = False
        self._line = ""
        self._fresh = True
        return rest[at + len(CLOSING) :]

    def _say(self, rest: str) -> str:
        """Take one line outside of a thought, or as much as has come, and return the unread text."""
        line, newline, after = rest.partition("\n")
        whole = self._line + line
        if not self._fence:
            if not self._line.strip() and (tag := self._opening(line)) is not None:
                return tag + newline + after if tag else newline + after
            if not newline and _may_open(whole) and len(whole) < 40:
                self._held = rest
                return rest
            at = line.find(CLOSING)
            before, behind = self._line + line[: max(at, 0)], line[at + len(CLOSING) :]
            open_within = at >= 0 and self._may_have_begun_within and not before.count("`") % 2
            if open_within and not (behind.strip() or newline) and before[-1:].isspace():
                self._give("said", line[:at])
                self._line, self._held = before, line[at:]
                return self._held
            if open_within and _is_mentioned(before, behind):
                self._may_have_begun_within = False
            elif open_within:
                self._give("said", line[:at])
                self._give("was thought")
                self._may_have_begun_within = False
                self._line, self._fresh = "", True
                return behind + newline + after
            keep = _beginning_of(CLOSING, line) if not newline and self._may_have_begun_within else 0
            if keep:
                self._held = line[len(line) - keep :]
                line, after = line[: len(line) - keep], self._held
        self._advance(line, newline)
        if line or newline:
            self._give("said", line + newline)
        return after

    def _opening(self, line: str) -> str | None:
        """Return the rest of the line if it opens a thought."""
        stripped = line.lstrip()
        if not stripped.startswith(OPENING):
            return None
        self._give("begins")
        self._thinking = True
        self._may_have_begun_within = False
        return stripped[len(OPENING) :]

    def _advance(self, line: str, newline: str) -> None:
        """Keep as much of the line as is needed to recognise a fence, and an open code span."""
        whole = self._line + line
        if not newline:
            # A long line is neither a fence nor a tag: what counts is how many backticks it has.
            end = " " if whole[-1:].isspace() else ""
            self._line = whole if len(whole) < 400 else "x" + "`" * (whole.count("`") % 2) + end
            return
        self._line = ""
        if self._fence:
            stripped = whole.strip()
            if stripped.startswith(self._fence) and not stripped.strip(self._fence[0]):
                self._fence = ""
        elif (fence := _FENCE.match(whole)) and "`" not in whole[fence.end() :]:
            self._fence = fence[1]


def _may_open(line: str) -> bool:
    """Return True if a line that is not complete may become one that opens a thought."""
    stripped = line.lstrip()
    return bool(stripped) and OPENING.startswith(stripped)


def _is_mentioned(before: str, behind: str) -> bool:
    """Return True if a line is about the closing tag that stands in it, and ends no thought with it."""
    spaced = before[-1:].isspace() and behind.strip()
    return bool(spaced) or OPENING in before or before[-1:] in _QUOTES


def _beginning_of(tag: str, text: str) -> int:
    """Return the number of characters at the end of a text that may begin a tag."""
    for size in range(min(len(tag) - 1, len(text)), 0, -1):
        if text.endswith(tag[:size]):
            return size
    return 0
