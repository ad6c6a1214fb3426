"""Read the JSON values of a file one after the other, whatever stands between them: damaged ones are skipped.

A file of another program is an array, whose items are given, or any number of values, such as one on each line. Unlike
in `json_stream` a value is read as a whole and nothing that is invalid ends the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from app.state.conversations.json_stream import TextFile

LARGEST = 16 * 2**20
"""Characters of a value."""
_SIGN = re.compile(r'["{}\[\],\n]')
_MOST_UNCLOSED = 100
"""Values that may lack their ends where the one around them has its own."""
_OPENING, _CLOSING = "{[", {"}": "{", "]": "["}
_TEXT = re.compile(r'(?:[^"\\]|\\.)*+', re.DOTALL)


class DamagedDocument:
    """Stand in for a value that cannot be read."""


class Documents(TextFile):
    """Yield the values of a file, and DamagedDocument for each that is damaged or larger than `LARGEST`.

    `note` is called with the number of bytes read so far, and may raise an error to end it.
    """

    _BLANK = re.compile(r"[\s,]*")

    def __init__(self, file: BinaryIO, note: Callable[[int], None]) -> None:
        super().__init__(file, note, "replace")
        self._parser = json.JSONDecoder(parse_constant=lambda _: None)

    def __iter__(self) -> Iterator[Any]:
        listed = self.peek() == "["
        self._at += listed
        while sign := self.peek():
            if listed and sign == "]":
                return
            yield self._value(listed=listed)

    def _value(self, *, listed: bool) -> Any:
        while self._buffer[self._at] in "{[":
            try:
                found, self._at = self._parser.raw_decode(self._buffer, self._at)
            except (RecursionError, MemoryError):
                break
            except ValueError:
                size = len(self._buffer) - self._at
                if self._ended or size > LARGEST:
                    break
                # Twice as much each time: what is long is not parsed again and again.
                while len(self._buffer) - self._at < 2 * size and not self._ended:
                    self._fill()
            else:
                return found
        self._skip(listed=listed)
        return DamagedDocument()

    def _skip(self, *, listed: bool) -> None:
        """Pass over a value by its brackets alone: they may be as deep, and the value as long, as they like."""
        within: list[str] = []
        while True:
            found = _SIGN.search(self._buffer, self._at)
            if found is None:
                self._at = len(self._buffer)
                if self._ended:
                    return
                self._fill()
                continue
            sign, self._at = found.group(), found.end()
            if sign == '"':
                self._skip_text()
            elif sign in _OPENING:
                within.append(sign)
            elif within and sign in _CLOSING:
                _close(within, _CLOSING[sign])
                if not within:
                    return
            elif not within and (sign == ("," if listed else "\n") or (listed and sign == "]")):
                self._at -= sign == "]"
                return

    def _skip_text(self) -> None:
        while True:
            self._at = _TEXT.match(self._buffer, self._at).end()  # type: ignore[union-attr]  # it matches anything
            if self._at < len(self._buffer) and self._buffer[self._at] == '"':
                self._at += 1
                return
            if self._ended:
                self._at = len(self._buffer)
                return
            self._fill()


def _close(within: list[str], opening: str) -> None:
    """Close the innermost value that began with a bracket, and the unclosed values in it."""
    last = within.pop()
    if last != opening and opening in within[-_MOST_UNCLOSED:]:
        while within.pop() != opening:
            pass
