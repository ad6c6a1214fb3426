"""Find the tokens of a record in rendered Markdown: token ↔ reply ↔ shown text ↔ position in a document."""

from __future__ import annotations

from array import array
from bisect import bisect_right

from app.state.chat.shown import shown_pieces
from app.state.chat.trace import TokenTrace
from app.views.markdown.source_map import SourceMap


class TokenOffsets:
    """Map the tokens of a record to the reply, and the reply's parts to their shown places.

    `head`: characters of the reply before the record.
    """

    def __init__(self, trace: TokenTrace, head: int = 0) -> None:
        self.trace = trace
        self._ends = array("L")
        self._head = head
        self._pieces: list[tuple[int, int, int]] = []
        self.catch_up()

    def __len__(self) -> int:
        return len(self._ends)

    def catch_up(self) -> None:
        """Take the tokens that the record got meanwhile."""
        end = self._ends[-1] if self._ends else self._head
        for index in range(len(self._ends), len(self.trace)):
            end += len(self.trace.text_of(index))
            self._ends.append(end)

    def match(self, reply: str, shown: str) -> None:
        """Match the shown text with the reply, in which a thought split from the answer has other markers."""
        self._pieces = shown_pieces(reply, shown)

    def token_at(self, shown: int) -> int | None:
        """Return the token that wrote a character of the shown text."""
        for begin, reply, length in self._pieces:
            if begin <= shown < begin + length:
                place = shown - begin + reply
                index = bisect_right(self._ends, place)
                return index if self._head <= place and index < len(self._ends) else None
        return None

    def span(self, index: int) -> tuple[int, int]:
        """Return the beginning and end of a token in the shown text; equal if it is hidden."""
        begin = self._ends[index - 1] if index else self._head
        end = self._ends[index]
        last = 0
        for shown, reply, length in self._pieces:
            if end <= reply:
                return shown, shown
            last = shown + length
            if begin < reply + length:
                return shown + max(begin, reply) - reply, shown + min(end, reply + length) - reply
        return last, last


class PagePlaces:
    """Map tokens to positions in one document. `is_last`: True if the reply ends in it."""

    def __init__(self, shown: SourceMap, base: int, offsets: TokenOffsets, *, is_last: bool) -> None:
        self._map = shown
        self._base = base
        self._offsets = offsets
        self._is_last = is_last

    def __len__(self) -> int:
        return len(self._offsets)

    def span(self, index: int) -> tuple[int, int]:
        """Return the beginning and the end of a token."""
        begin, end = self._offsets.span(index)
        return self._map.shown_of(begin - self._base, end - self._base)

    def at(self, position: int) -> int | None:
        """Return the token to which the character behind this position belongs."""
        for part in self._map.between(position, position + 1):
            return self._offsets.token_at(part.source(position) + self._base)
        return None

    def first_from(self, position: int) -> int:
        """Return the first token that ends behind this position; their number if there is none."""
        for part in self._map.between(position, 2**31):
            found = self._offsets.token_at(part.source(max(position, part.begin)) + self._base)
            if found is not None:
                return found
        return len(self)

    def holds(self, index: int) -> bool:
        """Return True if a token is shown in this document, or would be if it had a text that is shown."""
        begin, _ = self._offsets.span(index)
        at = begin - self._base
        return bool(len(self._map)) and 0 <= at < self._map.source_end + (2**31 if self._is_last else 0)

    @property
    def silent_end(self) -> int | None:
        """Return the last token, where it adds no text: mostly the one that ends the reply."""
        last = len(self) - 1
        return last if self._is_last and last >= 0 and not self._offsets.trace.text_of(last) else None
