"""Read a large JSON object piece by piece: no step holds the interpreter for long, and little of the text is kept."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from engine import Translatable
from engine.host import filled

CHUNK = 2**18
"""Bytes that are read at a time."""
LARGEST_VALUE = 2**20
"""Characters of a value that is parsed in one step; texts may be longer, see `JsonStream.text`."""
_LONGEST_KEY = 1_000
_LONGEST_NAME = 20
"""The longest key that is named to a person."""
_MOST_KEYS = 100
_MOST_ITEMS = 256
_LARGEST_INSIDE = 2**16
_DEEPEST = 8
"""The deepest nesting of a value whose texts may be large; its keys, items and characters are limited above."""
_NUMBER_PART = 3
"""Characters after a whole number that may make it longer if one more follows."""
_ESCAPE = 6
"""Characters of the longest escape, \\uXXXX."""
_PIECE = re.compile(r'(?:[^"\\]+|\\u[0-9a-fA-F]{4}|\\[^u])*+', re.DOTALL)
"""A text as far as it has come, up to its end or to an incomplete escape."""


class Senseless(ValueError):
    """Report an invalid part of a file, in words. A message with fields is the template of a Translatable."""

    def __init__(self, message: str, /, **fields: object) -> None:
        super().__init__(filled(message, fields))


class ValueTooLarge(Senseless):
    """Report a value that is longer than it may be."""


class TextFile:
    """Hold the unread part of a file of bytes in UTF-8 while it is read.

    `note` is called with the number of bytes read so far, and may raise an error to end it.
    """

    _BLANK = re.compile(r"[ \t\n\r]*")

    def __init__(self, file: BinaryIO, note: Callable[[int], None], errors: str = "strict") -> None:
        self._file = file
        self._note = note
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")(errors)
        self._buffer = ""
        self._at = self._read = 0
        self._ended = False

    def peek(self) -> str:
        """Return the next character that is not white space, and stay before it; "" at the end."""
        while True:
            self._at = self._BLANK.match(self._buffer, self._at).end()  # type: ignore[union-attr]  # it matches anything
            if self._at < len(self._buffer) or self._ended:
                return self._buffer[self._at : self._at + 1]
            self._fill()

    def _fill(self) -> None:
        data = self._file.read(CHUNK)
        self._read += len(data)
        self._note(self._read)
        self._ended = not data
        self._buffer = self._buffer[self._at :] + self._decoder.decode(data, final=self._ended)
        self._at = 0


class JsonStream(TextFile):
    """Read JSON from a file of bytes in UTF-8, in the order in which it stands there.

    Every method raises ValueError where the file holds something else: Senseless with what is invalid, where that can
    be said, UnicodeDecodeError where it is not UTF-8. `note` is called with the number of bytes read so far, and may
    raise an error to end it.
    """

    def __init__(self, file: BinaryIO, note: Callable[[int], None]) -> None:
        super().__init__(file, note)
        self._parser = json.JSONDecoder(object_pairs_hook=_no_key_twice, parse_constant=_no_constant)

    def take(self, sign: str) -> bool:
        """Pass over `sign` if it comes next."""
        found = self.peek() == sign
        self._at += found
        return found

    def members(self) -> Iterator[str]:
        """Yield the keys of an object, each once. Whoever asks for the next one has read the value of the last one."""
        self._pass("{")
        if self.take("}"):
            return
        while True:
            key = self.text(_LONGEST_KEY)
            self._pass(":")
            yield key
            if self.take("}"):
                return
            self._pass(",")

    def items(self) -> Iterator[int]:
        """Yield the numbers of the items of an array, from 1; each is read before the next one is asked for."""
        self._pass("[")
        if self.take("]"):
            return
        number = 1
        while True:
            yield number
            if self.take("]"):
                return
            self._pass(",")
            number += 1

    def value(self, largest: int = LARGEST_VALUE) -> Any:
        """Return a value of any kind. Raises ValueTooLarge beyond `largest` characters: then it still comes next."""
        self.peek()
        while True:
            try:
                found, end = self._parser.raw_decode(self._buffer, self._at)
            except Senseless:
                raise
            except ValueError:
                if self._ended:
                    raise
            else:
                # A number near the end of the buffer may go on: "1", "1.", "1e+".
                if self._ended or len(self._buffer) - end >= _NUMBER_PART:
                    self._at = end
                    return found
            if len(self._buffer) - self._at > largest:
                raise ValueTooLarge(Translatable("a value is too large"))
            self._fill()

    def text(self, most: int) -> str:
        """Return a text of at most `most` characters. Raises ValueTooLarge."""
        self._pass('"')
        parts: list[str] = []
        size = 0
        while True:
            stop = _PIECE.match(self._buffer, self._at).end()  # type: ignore[union-attr]  # it matches anything
            closed = self._buffer.startswith('"', stop)
            if not closed and (self._ended or len(self._buffer) - stop >= _ESCAPE):
                raise ValueError("a text does not end")
            piece = str(self._parser.decode(f'"{self._buffer[self._at : stop]}"'))
            if not closed and "\ud800" <= piece[-1:] <= "\udbff":
                # The first half of a pair: the other half may come.
                piece, stop = piece[:-1], stop - _ESCAPE
            parts.append(piece)
            size += len(piece)
            if size > most:
                raise ValueTooLarge(Translatable("a value is too large"))
            self._at = stop + closed
            if closed:
                return "".join(parts)
            self._fill()

    def end(self) -> None:
        """Make sure that nothing more comes."""
        if self.peek():
            raise ValueError("there is more after the end")

    def _pass(self, sign: str) -> None:
        if not self.take(sign):
            raise ValueError(f"{sign} is missing")


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Senseless(Translatable("an object has a duplicate key"))
    return found


def _no_constant(constant: str) -> None:
    raise Senseless("{constant} is not a number", constant=constant)


def read_members(stream: JsonStream) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the keys of an object that may be large, each with where its value is to be put."""
    members: dict[str, Any] = {}
    for name in stream.members():
        if name in members:
            raise Senseless(Translatable("an object has a duplicate key"))
        if len(members) == _MOST_KEYS:
            raise Senseless(Translatable("an object has too many keys"))
        yield name, members


def large_value(stream: JsonStream, longest: int, largest: int = LARGEST_VALUE, depth: int = _DEEPEST) -> Any:
    """Return a value whose texts may be large, `longest` characters each: an image in a message is one.

    Raises ValueTooLarge if it is large in another way.
    """
    try:
        return stream.text(longest) if stream.peek() == '"' else stream.value(largest)
    except ValueTooLarge:
        sign = stream.peek()
        if not depth or sign not in ("{", "["):
            raise
    # What is no text takes far more memory than its characters.
    inside = (stream, longest, _LARGEST_INSIDE, depth - 1)
    if sign == "[":
        found = []
        for number in stream.items():
            if number > _MOST_ITEMS:
                raise ValueTooLarge(Translatable("a value is too large"))
            found.append(large_value(*inside))
        return found
    for name, member in read_members(stream):
        member[name] = large_value(*inside)
    return member


def member_value(stream: JsonStream, name: str, longest: int) -> Any:
    """Return the value of a member; `longest`: characters of a text. Raises ValueTooLarge."""
    try:
        return stream.text(longest) if stream.peek() == '"' else stream.value()
    except ValueTooLarge as error:
        if not name.isidentifier() or len(name) > _LONGEST_NAME:
            raise
        raise ValueTooLarge("“{name}” is too large", name=name) from error
