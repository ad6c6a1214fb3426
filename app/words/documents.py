"""Describe documents, their places and the quoted parts."""

from __future__ import annotations

import re

from app.state.chat.attachments import Attachment
from app.state.chat.citations import CitedPart
from app.system.translation import number, say, tr
from app.words.figures import SEPARATOR, tokens

_PLACE = re.compile(r"(page|slide|sheet|chapter|message|file)(?: (.*))?$", re.DOTALL)


def file_words(file: Attachment) -> str:
    """Describe a file of a question: its pages, its tokens; "" where neither is known."""
    said = []
    if file.held is not None and file.held.document.pages > 1:
        said.append(tr("Documents", "%n page(s)", "", file.held.document.pages))
    if file.tokens is not None and (file.held is None or file.held.ready.may_be_whole):
        said.append(tokens(file.tokens))
    elif file.held is not None and not file.held.ready.may_be_whole:
        said.append(tr("Documents", "the parts that fit"))
    return SEPARATOR.join(said)


def note_words(file: Attachment) -> str:
    """List the unread parts of a document."""
    notes = () if file.held is None else file.held.document.notes
    return f"{file.name}: {' '.join(map(say, notes))}"


def place_words(place: str) -> str:
    """Return the place of a part, English in the prompt, in the language of the window: "page 3"."""
    found = _PLACE.match(place)
    if found is None:
        return place
    patterns = {
        "page": tr("Documents", "page {at}"),
        "slide": tr("Documents", "slide {at}"),
        "sheet": tr("Documents", "sheet {at}"),
        "chapter": tr("Documents", "chapter {at}"),
        "message": tr("Documents", "message"),
        "file": tr("Documents", "file {at}"),
    }
    at = found[2] or ""
    return patterns[found[1]].format(at=number(int(at)) if at.isdecimal() and len(at) < 7 else at).strip()


def source_words(source: CitedPart) -> str:
    """Return the words of a chip: its number, the document, the place."""
    return SEPARATOR.join(filter(None, (f"[{source.number}] {source.name}", place_words(source.place))))


def repeated_words() -> str:
    return tr("Documents", "word for word in the document")


def reader_title(name: str, place: str, pages: int) -> str:
    """Return the title of a document that is shown at a place."""
    where = place_words(place)
    if place.startswith("page ") and pages > 1:
        where = tr("Documents", "{place} of {pages}").format(place=where, pages=number(pages))
    return SEPARATOR.join(filter(None, (name, where)))


def part_words(source: CitedPart, score: float | None) -> str:
    """Return a part that was chosen for a question, with its score: "[3] page 7 (12.4)"; None: unknown."""
    said = f"[{source.number}] {place_words(source.place)}".strip()
    return said if score is None else f"{said} ({number(score, 1)})"


def given_words(name: str, chosen: list[str], parts: int) -> str:
    """Explain the choice of a document's parts for a model. `chosen`: the parts that fit; none: it reads all of it."""
    if not chosen:
        return tr("Documents", "All of {name} is read: it is short.").format(name=name)
    text = tr(
        "Documents",
        "Of {name} ({count} parts) these are read, as they fit the question best or stand beside those that do. "
        "In brackets: how well the words fit (BM25). {parts}",
    )
    return text.format(name=name, count=number(parts), parts=", ".join(chosen))


def parts_words(count: int) -> str:
    """Return a number of parts: 6 parts."""
    return tr("Documents", "%n part(s)", "", count)
