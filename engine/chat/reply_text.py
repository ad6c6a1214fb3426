"""Make the text of a reply from its tokens as they arrive."""

from __future__ import annotations

import codecs
from collections.abc import Sequence

from engine.backends.base import Tokenizer


class ReplyText:
    """Turn the tokens of a reply into text as they come.

    Half a character is held back until it is whole, and so is what may be the beginning of a stop string. Attribute:
    stopped, the stop string that was met, or None; the text ends before it.
    """

    def __init__(self, tokenizer: Tokenizer, stop: Sequence[str] = ()) -> None:
        self._tokenizer = tokenizer
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._stop = tuple(stop)
        self._held = ""
        self._whole = not self._stop
        """True if neither half a character nor the beginning of a stop string may be held back."""
        self._shown: list[str] = []
        self._length = 0
        self._markers: list[tuple[int, str]] = []
        """Control tokens whose place in the text was not released yet, with that place."""
        self.stopped: str | None = None

    def follow(self, tokens: Sequence[int]) -> None:
        """Begin behind these tokens, whose text is not its own: half a character at their end is completed here."""
        for token in tokens:
            self._decoder.decode(self._tokenizer.piece(token))
        self._whole = not (self._stop or self._decoder.getstate()[0])

    @property
    def text(self) -> str:
        """Return all that was released so far."""
        return "".join(self._shown)

    def push(self, token: int) -> str:
        """Return the text that one more token releases; may be empty."""
        piece = self._tokenizer.piece(token)
        if self._whole and piece.isascii():  # Nothing waits, and nothing needs to.
            text = piece.decode("ascii")
            if text:
                self._shown.append(text)
                self._length += len(text)
            else:
                self._note(token)
            return text
        self._held += self._decoder.decode(piece)
        if not piece:
            self._note(token)
        released = self._release(self._cut())
        self._whole = not (self._stop or self._held or self._decoder.getstate()[0])
        return released

    def finish(self) -> str:
        """Return the rest that was held back for a stop string that did not come. Half a character is dropped."""
        return self._release(len(self._held))

    def marked(self, released: str) -> str:
        """Return the text that was released last, with the control tokens that stand in it, which have no text."""
        if not self._markers:
            return released
        pieces, start, done = [], self._length - len(released), 0
        while self._markers and self._markers[0][0] <= self._length:
            place, marker = self._markers.pop(0)
            pieces += [released[done : place - start], marker]
            done = max(place - start, 0)
        return "".join([*pieces, released[done:]])

    def _note(self, token: int) -> None:
        marker = self._tokenizer.marker(token)
        if marker:
            self._markers.append((self._length + len(self._held), marker))

    def _cut(self) -> int:
        """Return the length of held text that can be released; sets `stopped`."""
        found = [(place, stop) for stop in self._stop if (place := self._held.find(stop)) >= 0]
        if found:
            place, self.stopped = min(found)
            self._held = self._held[:place]
            return len(self._held)
        return len(self._held) - max((self._overlap(stop) for stop in self._stop), default=0)

    def _overlap(self, stop: str) -> int:
        """Return the length of the longest end of the held text that is a beginning of `stop`."""
        longest = min(len(stop) - 1, len(self._held))
        return next((size for size in range(longest, 0, -1) if stop.startswith(self._held[-size:])), 0)

    def _release(self, count: int) -> str:
        released, self._held = self._held[:count], self._held[count:]
        if released:
            self._shown.append(released)
            self._length += len(released)
        return released
