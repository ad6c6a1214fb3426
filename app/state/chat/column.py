"""Place the entries of a conversation in a column, most heights estimated, with the visible ones kept in place.

Pixels; the first entry begins at 0. The heights are in a Fenwick tree (P. M. Fenwick, 1994), so that correcting one of
thousands, and finding the entry at a position, take logarithmic time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.state.chat.attachments import split_question
from app.state.chat.transcript import Entry, Exchange

_QUESTION_SHARE = 0.85
_REPLY_LINE = 1.45
_NOTICE = 64
_QUESTION_ROOM, _REPLY_ROOM = 60, 52
"""The height of an exchange beside its text: the box, the actions, the line below."""
_FILE = 30
"""A file of a question, folded."""
_MANY = 1_000
"""Entries whose heights are estimated one by one: for many more the reader would have to wait."""
_SHOWN = 20_000
"""Characters of a question that are shown at most."""


@dataclass(frozen=True, slots=True)
class TextSize:
    """Hold the measures for estimating a text's height: its width, and a letter's width and height, in pixels."""

    width: int
    letter: float
    line: float

    def height_of(self, entry: Entry) -> int:
        if not isinstance(entry, Exchange):
            return _NOTICE
        typed, files = split_question(entry.question)
        question = self._lines(typed[:_SHOWN], self.width * _QUESTION_SHARE) * self.line + _QUESTION_ROOM
        question += len(files) * _FILE
        reply = entry.reply
        if not reply and entry.problem is None:
            return int(question)
        below = _NOTICE if entry.problem is not None else 0
        return int(question + self._lines(reply, self.width) * self.line * _REPLY_LINE + _REPLY_ROOM) + below

    def _lines(self, text: str, width: float) -> float:
        # A paragraph's last line is half full, as is a gap between two of them.
        breaks = text.count("\n")
        return max(len(text) * self.letter / max(width, 1.0) + 0.6 * breaks + 0.4, 1.0)


class Column:
    """Place entries one below the other with a gap between them. Attribute: entries."""

    def __init__(self, gap: int, text_size: TextSize) -> None:
        self.entries: list[Entry] = []
        self._gap = gap
        self._text_size = text_size
        self._places: dict[int, int] = {}
        self._heights: list[int] = []
        self._tree: list[int] = [0]
        self._measured: dict[int, tuple[int, int]] = {}

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def text_size(self) -> TextSize:
        """Return the letters that heights are estimated from."""
        return self._text_size

    @property
    def total(self) -> int:
        return max(self.top(len(self.entries)) - self._gap, 0)

    def fill(self, entries: Sequence[Entry], same: Mapping[int, int] | None = None) -> None:
        """Show other entries. `same` (old number → new number): those whose measured heights still hold."""
        kept = {id(entries[new]): self._measured.get(id(self.entries[old])) for old, new in (same or {}).items()}
        self._measured = {key: size for key, size in kept.items() if size is not None}
        self.entries = list(entries)
        self._places = {id(entry): place for place, entry in enumerate(self.entries)}
        self._build(self._guesses())

    def append(self, entry: Entry) -> None:
        self._places[id(entry)] = len(self.entries)
        self.entries.append(entry)
        self._push(self._guess(entry))

    def set_text_size(self, text_size: TextSize) -> None:
        """Set another width or font; every height is estimated anew."""
        if text_size != self._text_size:
            self._text_size = text_size
            self._build(self._guesses())

    def place_of(self, entry: Entry) -> int | None:
        """Return the number of an entry, None if it isn't here."""
        return self._places.get(id(entry))

    def top(self, place: int) -> int:
        """Return the top of an entry; for the index after the last, the top that one more would have."""
        total = 0
        while place > 0:
            total += self._tree[place]
            place &= place - 1
        return total

    def height(self, place: int) -> int:
        """Return the height of an entry, measured or estimated."""
        return self._heights[place]

    def measured(self, place: int) -> int:
        """Return the measured height of an entry at this width, 0 if it was not measured."""
        width, height = self._measured.get(id(self.entries[place]), (0, 0))
        return height if width == self._text_size.width else 0

    def correct(self, place: int, height: int, *, measured: bool = True) -> int:
        """Set the height of an entry; returns its growth. `measured`: it holds as long as the width does."""
        if measured:
            self._measured[id(self.entries[place])] = (self._text_size.width, height)
        grown = height - self._heights[place]
        if grown:
            self._heights[place] = height
            node = place + 1
            while node < len(self._tree):
                self._tree[node] += grown
                node += node & -node
        return grown

    def at(self, y: float) -> int:
        """Return the number of the entry at a height, or in the gap below it.

        Beyond the ends it is the first or the last one.
        """
        place, rest = 0, y
        step = 1 << max(len(self.entries).bit_length() - 1, 0)
        while step:
            following = place + step
            if following < len(self._tree) and self._tree[following] <= rest:
                place = following
                rest -= self._tree[following]
            step >>= 1
        return min(place, max(len(self.entries) - 1, 0))

    def _guess(self, entry: Entry) -> int:
        width, height = self._measured.get(id(entry), (0, 0))
        return height if width == self._text_size.width else self._text_size.height_of(entry)

    def _guesses(self) -> list[int]:
        """Estimate the heights of all entries: of very many, by a sample."""
        entries = self.entries
        if len(entries) <= _MANY:
            return [self._guess(entry) for entry in entries]
        sample = entries[:: len(entries) // _MANY]
        heights = [sum(map(self._text_size.height_of, sample)) // len(sample)] * len(entries)
        for place in (self._places[key] for key in self._measured):
            heights[place] = self._guess(entries[place])
        return heights

    def _build(self, heights: list[int]) -> None:
        self._heights = heights
        self._tree = [0, *(height + self._gap for height in heights)]
        for node, total in enumerate(self._tree):
            above = node + (node & -node)
            if node and above < len(self._tree):
                self._tree[above] += total

    def _push(self, height: int) -> None:
        self._heights.append(height)
        node = len(self._heights)
        total = height + self._gap
        child, least = node - 1, node - (node & -node)
        while child > least:
            total += self._tree[child]
            child &= child - 1
        self._tree.append(total)


def same_entries(old: Sequence[Entry], new: Sequence[Entry]) -> dict[int, int]:
    """Map the old entries that are among the new ones: old index → new index.

    They are the same object, or were kept as the same messages in the store.
    """
    objects = {id(entry): place for place, entry in enumerate(new)} if old else {}
    questions = {entry.question_id for entry in old if isinstance(entry, Exchange)} - {None}
    kept = {
        (entry.question_id, entry.reply_id): place
        for place, entry in enumerate(new if questions else ())
        if isinstance(entry, Exchange) and entry.question_id in questions
    }
    found: dict[int, int] = {}
    for place, entry in enumerate(old):
        same = objects.get(id(entry))
        if same is None and isinstance(entry, Exchange):
            same = kept.get((entry.question_id, entry.reply_id))
        if same is not None:
            found[place] = same
    return found


def like_entry(entry: Entry, among: Sequence[Entry]) -> int | None:
    """Return the number of the entry that asks the same question (with another reply), or None."""
    if isinstance(entry, Exchange) and entry.question_id is not None:
        for place, other in enumerate(among):
            if isinstance(other, Exchange) and other.question_id == entry.question_id:
                return place
    return None
