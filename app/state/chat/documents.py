"""Select the parts of a chat's documents for a question: short ones whole, of long ones the fitting parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from app.state.chat.attachments import (
    LANGUAGES,
    LARGEST,
    Attachment,
    NotAttached,
    join_question,
    plain_name,
    read_attachment,
)
from app.state.chat.citations import CitedPart
from app.state.chat.pictures import KIND, held_picture, picture_in
from app.state.chat.stored_documents import ChatDocument, StoredDocument
from engine import DocumentRefused, read_document
from engine.host import LARGEST_DOCUMENT, ReadyDocuments, looks_like_picture, page_picture

SUFFIXES = frozenset(
    [
        *(".pdf", ".docx", ".docm", ".pptx", ".pptm", ".xlsx", ".xlsm", ".xlsb", ".xls", ".ods", ".odt", ".odp"),
        *(".epub", ".html", ".htm", ".xhtml", ".eml", ".zip", ".doc", ".ppt", ".rtf", ".ps"),
    ]
)
"""Files that are read as documents, whatever they begin with."""
TEXTS = SUFFIXES | {f".{each}" for each in (*LANGUAGES, "txt", "markdown", "rst", "log", "tsv")}
"""Files of a folder that may be read: documents and texts."""
DEFAULT_ROOM = 4_096
"""Tokens of a context that is not known yet."""
_BEGINNINGS = (b"%PDF-", b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"%!PS", b"{\\rtf")
_LONG_TEXT = 64_000
"""Bytes from which on a plain text is a document, quoted in parts."""
_MOST_PAGES, _PAGE_WIDTH = 4, 1_000
"""Pages of a scan that go as pictures, and their pixels: models see each as hundreds of tokens."""
_PROSE = (".txt", ".md", ".markdown", ".rst", ".log", ".tex", ".csv", ".tsv")


def is_document(path: Path) -> bool:
    """Return True if a file is read as a document, not as plain text. May wait for its disk."""
    if path.suffix.lower() in SUFFIXES:
        return True
    try:
        with path.open("rb") as file:
            beginning = file.read(16)
        begins = beginning.startswith(_BEGINNINGS) or looks_like_picture(beginning)
        size = path.stat().st_size
    except (OSError, ValueError):
        return False
    long = size > LARGEST or (size > _LONG_TEXT and path.suffix.lower() in _PROSE)
    return begins or long


def read_file(path: Path, *, sees: bool = False) -> Attachment:
    """Return a file of a question: a text, or the text of a document. Raises NotAttached.

    `sees`: pages without text can go as pictures instead.
    """
    try:
        regular = path.is_file()
    except (OSError, ValueError):
        regular = False
    if not regular or not is_document(path):
        return read_attachment(path)
    name = plain_name(path.name)
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_DOCUMENT + 1)
    except OSError as error:
        raise NotAttached(name, "unreadable", error.strerror or "") from error
    return read_data(data, name, sees=sees)


def read_data(data: bytes, name: str, *, sees: bool = False) -> Attachment:
    """Return a picture or a document, given as its bytes, that goes with a question. Raises NotAttached."""
    try:
        if looks_like_picture(data):
            return attached(held_picture(data, name))
        document = read_document(data, name)
    except DocumentRefused as error:
        first = error.scanned[: _MOST_PAGES if sees else 0]
        if pages := tuple(_pages(data, name, first)):
            told = ", ".join(map(str, first)) + (" …" if len(error.scanned) > len(first) else "")
            raise NotAttached(name, "scanned", told, pages) from error
        raise NotAttached(name, "refused", error.reason) from error
    return attached(ChatDocument.of(document, StoredDocument.of(document, data)))


def _pages(data: bytes, name: str, pages: Iterable[int]) -> Iterator[Attachment]:
    """Yield pages of a PDF file as pictures, those that can be drawn."""
    for page in pages:
        with suppress(DocumentRefused):
            yield attached(held_picture(page_picture(data, page, _PAGE_WIDTH), f"{name} ({page}).png"))


def attached(held: ChatDocument) -> Attachment:
    """Return a document as a file that goes with a question. Its text is counted where it may be given whole."""
    if held.document.kind == KIND:
        return Attachment(held.document.name, held.document.sections[0].text, held=held)
    text = held.ready.quoted(None if held.ready.may_be_whole else ())
    return Attachment(held.document.name, text, held=held)


def compose(
    typed: str,
    files: Sequence[Attachment],
    held: Mapping[str, ChatDocument],
    given: Sequence[CitedPart],
    room: int,
    shared: ReadyDocuments | None = None,
) -> str:
    """Return the question as the model reads it: files, fitting parts of documents, then the typed text.

    `held`: the documents of the chat by name, which are asked again where they were given in parts; `given`: the
    parts that it has read; `room`: the tokens of its context; `shared`: the files of its project, by which every
    question is asked.
    """
    number = 1 + max((each.number for each in given), default=0)
    quoted: list[Attachment] = []
    for file in files:
        if file.held is None or picture_in(file.text) is not None:
            quoted.append(file)
            continue
        ready = file.held.ready
        # Of a long one no text was counted: it has none before a question is asked.
        tokens = file.tokens if ready.may_be_whole else None
        chosen = None if ready.fits_whole(room, tokens) else ready.chosen_for(typed, room)
        quoted.append(Attachment(file.name, ready.quoted(chosen, number)))
        number += len(ready.parts) if chosen is None else len(chosen)
    attached_now = {file.name for file in files}
    for name, document in held.items() if typed.strip() else ():
        known = {each.part.text.strip() for each in given if each.name == name}
        if name not in attached_now and known and (new := document.ready.more_for(typed, room, known)):
            quoted.append(Attachment(name, document.ready.quoted(new, number)))
            number += len(new)
    if shared is not None and typed.strip():
        names = {each.document.name for each in shared.documents}
        known = {each.part.text.strip() for each in given if each.name in names}
        for ready, new in shared.chosen_for(typed, room, known).items():
            quoted.append(Attachment(ready.document.name, ready.quoted(new, number)))
            number += len(new)
    return join_question(typed, quoted)
