"""Give a model of documents what fits a question and its context: short ones whole, of long ones the parts that fit."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from engine.documents.document import Document
from engine.documents.find import PartIndex, with_neighbours
from engine.documents.parts import parts_of
from engine.documents.quoted import quote_document
from engine.messages.parts import FilePart

_LETTERS_A_TOKEN = 3.2
_WIDE = re.compile(r"[\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_WHOLE_SHARE, _MOST_WHOLE = 0.5, 16_000
"""Of a context's tokens, and tokens at most, that one document may take as a whole."""
_PARTS_SHARE, _MOST_IN_PARTS = 0.4, 2_400
"""The same for the parts of one that does not fit whole: what is read costs time before the first word."""
_FOUND = 5
_OPENING = 3


class ReadyDocument:
    """Hold a document in parts, with an index of them. Making one takes a moment where it is long.

    Attributes: document, parts, tokens (how many it has, about).
    """

    def __init__(self, document: Document) -> None:
        self.document = document
        self.parts = tuple(parts_of(document))
        wide = sum(len(_WIDE.findall(each.text)) for each in document.sections)
        self.tokens = round(wide + (document.letters - wide) / _LETTERS_A_TOKEN) + 1
        self._index = PartIndex(self.parts)

    @property
    def may_be_whole(self) -> bool:
        """Return True if it is short enough for a large context."""
        return self.tokens <= _MOST_WHOLE

    def fits_whole(self, room: int, tokens: int | None = None) -> bool:
        """Return True if all of it goes into a context of `room` tokens; `tokens`: how many were counted."""
        return (tokens or self.tokens) <= min(_WHOLE_SHARE * room, _MOST_WHOLE)

    def quoted(self, chosen: Iterable[int] | None = None, first: int = 1) -> str:
        """Quote it for a model: these parts (None: all), numbered from `first`."""
        return quote_document(self.document, self.parts, range(len(self.parts)) if chosen is None else chosen, first)

    def chosen_for(self, question: str, room: int) -> list[int]:
        """Return the parts that fit a question; of one whose words it does not have, its beginning and a selection."""
        found = self._index.find(question, _FOUND)
        letters = _letters(room)
        if found:
            return with_neighbours(found, self.parts, letters)
        size = max(self.document.letters // max(len(self.parts), 1), 1)
        count = max(letters // size - _OPENING, 1)
        spread = range(_OPENING, len(self.parts), max((len(self.parts) - _OPENING) // count, 1))
        return [*range(min(_OPENING, len(self.parts))), *spread][: count + _OPENING]

    def more_for(self, question: str, room: int, known: Collection[str]) -> list[int]:
        """Return the parts that fit another question, without those that say what is `known`."""
        found = with_neighbours(self._index.find(question, _FOUND), self.parts, _letters(room))
        return [place for place in found if self.parts[place].text.strip() not in known]

    def score_of(self, text: str, question: str) -> float | None:
        """Return the score of a part that says `text` for a question; None for one that only stands beside others."""
        places = {place for place, part in enumerate(self.parts) if part.text.strip() == text.strip()}
        return next((each.score for each in self._index.find(question, _FOUND) if each.number in places), None)


class GivenDocuments:
    """Give a conversation of documents what fits each of its questions, and nothing twice."""

    def __init__(self, documents: Iterable[Document]) -> None:
        self._known: dict[ReadyDocument, set[str]] = {ReadyDocument(each): set() for each in documents}
        self._number = 1

    def files(self, question: str, room: int) -> list[FilePart]:
        """Choose the parts that the next question gives, as files of its message; `room`: tokens of the context."""
        files = []
        for ready, known in self._known.items():
            chosen: Iterable[int]
            if known:
                chosen = ready.more_for(question, room, known)
            elif ready.fits_whole(room // len(self._known)):
                chosen = range(len(ready.parts))
            else:
                chosen = ready.chosen_for(question, room)
            if chosen := list(chosen):
                files.append(FilePart(ready.document.name, ready.quoted(chosen, self._number)))
                self._number += len(chosen)
                known.update(ready.parts[place].text.strip() for place in chosen)
        return files


def _letters(room: int) -> int:
    return round(_LETTERS_A_TOKEN * min(_PARTS_SHARE * room, _MOST_IN_PARTS))
