"""Select the parts of documents for a question and a context: short ones whole, of long ones the fitting parts."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from itertools import chain

from engine.backends.base import Embedder
from engine.cancel import CancelToken
from engine.documents.document import Document
from engine.documents.find import FoundPart, PartIndex, Vectors, with_neighbours
from engine.documents.parts import parts_of
from engine.documents.quoted import quote_document
from engine.documents.vectors import PartVectors, asking, vectors_of
from engine.messages.parts import FilePart

_LETTERS_A_TOKEN = 3.2
_WIDE = re.compile(r"[\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_WHOLE_SHARE, _MOST_WHOLE = 0.5, 16_000
"""The share of a context's tokens, and the most tokens, that one document may take as a whole."""
_PARTS_SHARE, _MOST_IN_PARTS = 0.4, 2_400
"""The same for the parts of one that does not fit whole: each token delays the first word."""
_FOUND = 5
_OPENING = 3


class ReadyDocument:
    """Hold a document in parts, with an index of them. Indexing a long one takes a moment.

    Attributes: document, parts, tokens (how many it has, about), vectors (of the parts, where there are).
    """

    vectors: Vectors | None = None

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
        """Return True if all of it fits into a context of `room` tokens; `tokens`: their counted number."""
        return (tokens or self.tokens) <= min(_WHOLE_SHARE * room, _MOST_WHOLE)

    def quoted(self, chosen: Iterable[int] | None = None, first: int = 1) -> str:
        """Quote it for a model: these parts (None: all), numbered from `first`."""
        return quote_document(self.document, self.parts, range(len(self.parts)) if chosen is None else chosen, first)

    def chosen_for(self, question: str, room: int) -> list[int]:
        """Return the parts that fit a question; if no words match, the document's beginning and a selection."""
        found = self._index.find(question, _FOUND, self.vectors)
        letters = _letters(room)
        if found:
            return with_neighbours(found, self.parts, letters)
        size = max(self.document.letters // max(len(self.parts), 1), 1)
        count = max(letters // size - _OPENING, 1)
        spread = range(_OPENING, len(self.parts), max((len(self.parts) - _OPENING) // count, 1))
        return [*range(min(_OPENING, len(self.parts))), *spread][: count + _OPENING]

    def more_for(self, question: str, room: int, known: Collection[str]) -> list[int]:
        """Return the parts that fit another question, without those already `known`."""
        found = with_neighbours(self._index.find(question, _FOUND, self.vectors), self.parts, _letters(room))
        return [place for place in found if self.parts[place].text.strip() not in known]

    def score_of(self, text: str, question: str) -> float | None:
        """Return by BM25 how well a part that says `text` fits; None for one that was found in another way."""
        places = {place for place, part in enumerate(self.parts) if part.text.strip() == text.strip()}
        return next((each.score for each in self._index.find(question, _FOUND) if each.number in places), None)


class ReadyDocuments:
    """Search several documents as one: the parts that fit a question best are chosen, wherever they stand."""

    def __init__(self, documents: Iterable[ReadyDocument]) -> None:
        self.documents = tuple(documents)
        self._places = [(ready, place) for ready in self.documents for place in range(len(ready.parts))]
        self._parts = [ready.parts[place] for ready, place in self._places]
        self._index = PartIndex(self._parts)

    def chosen_for(self, question: str, room: int, known: Collection[str]) -> dict[ReadyDocument, list[int]]:
        """Return the parts that fit a question, by document, without those already `known`.

        Short documents are given whole. Where nothing is known yet and no word fits, long ones by their beginnings.
        """
        most = min(_WHOLE_SHARE * room, _MOST_WHOLE) / max(len(self.documents), 1)
        short = {each for each in self.documents if each.tokens <= most}
        found = self._found(question, _letters(room - sum(each.tokens for each in short)))
        if not found and not known:
            if len(self.documents) == 1 and not short:
                return {each: each.chosen_for(question, room) for each in self.documents}
            begin = [FoundPart(n, 0.0) for n, (_, place) in enumerate(self._places) if place == 0]
            openings = {each.number for each in begin}
            found = [n for n in with_neighbours(begin, self._parts, _letters(room)) if n in openings]
        chosen, given = set(found), dict[ReadyDocument, list[int]]()
        for number, (ready, place) in enumerate(self._places):
            if (ready in short or number in chosen) and self._parts[number].text.strip() not in known:
                given.setdefault(ready, []).append(place)
        return given

    def _near(self, question: str) -> list[float]:
        """Return each part's cosine similarity to a question; -1 without vectors, empty if no document has any."""
        near = [(each.vectors(question) if each.vectors else ()) or [-1.0] * len(each.parts) for each in self.documents]
        told = [*chain.from_iterable(near)]
        return told if max(told, default=-1.0) > -1.0 else []

    def _found(self, question: str, letters: int) -> list[int]:
        found = self._index.find(question, _FOUND, self._near)
        hit = {self._places[each.number][0] for each in found}
        # What stands beside a hit in another document has nothing to do with it.
        return [n for n in with_neighbours(found, self._parts, letters) if self._places[n][0] in hit]


class GivenDocuments:
    """Give each question of a conversation the fitting parts of documents, and none twice.

    With an `embedder` the parts are found by what they mean too: their vectors are computed first.
    """

    def __init__(
        self, documents: Iterable[Document], embedder: Embedder | None = None, cancel: CancelToken | None = None
    ) -> None:
        self._documents = ReadyDocuments(map(ReadyDocument, documents))
        if embedder is not None:
            embed = asking(embedder)
            for each in self._documents.documents:
                each.vectors = PartVectors(vectors_of(each.parts, embedder, cancel), embed)
        self._known: set[str] = set()
        self._number = 1

    def files(self, question: str, room: int) -> list[FilePart]:
        """Choose the parts that the next question gives, as files of its message; `room`: tokens of the context."""
        files = []
        for ready, chosen in self._documents.chosen_for(question, room, self._known).items():
            files.append(FilePart(ready.document.name, ready.quoted(chosen, self._number)))
            self._number += len(chosen)
            self._known.update(ready.parts[place].text.strip() for place in chosen)
        return files


def _letters(room: int) -> int:
    return round(_LETTERS_A_TOKEN * min(_PARTS_SHARE * room, _MOST_IN_PARTS))
