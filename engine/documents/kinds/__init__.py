"""Readers, one a kind of document: the kind of some bytes, and their text; run in the child alone.

Door: reader_of, picture_renderer, image_reader and Budget. A reader is a function of bytes, name and budget.
Never imported here: a library before a document of its kind is asked for, and then before files are closed.
"""

from __future__ import annotations

import importlib
import re
import zipfile
from collections.abc import Callable
from io import BytesIO
from time import process_time
from typing import Any

from engine.documents.document import Document
from engine.documents.refused import NotReadable
from engine.translatable import Translatable

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_MAIL = re.compile(rb"(?:[A-Za-z][A-Za-z0-9-]{1,40}:[^\n]*\r?\n(?:[ \t][^\n]*\r?\n)*){2,}")
_MAIL_FIELD = re.compile(rb"^(?:From|Received|Return-Path|MIME-Version|Message-ID):", re.IGNORECASE | re.MULTILINE)
_PAGE = re.compile(rb"\s*(?:<!--(?>.*?-->)\s*)*+<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL)
_PAGE_NAMES, _MAIL_NAMES = (".html", ".htm", ".xhtml"), (".eml",)
_OFFICE = (("word/document.xml", "word"), ("ppt/presentation.xml", "slides"), ("xl/workbook.", "sheets"))
_REFUSED = (
    (b"%!PS", Translatable("it is a PostScript file: save it as PDF")),
    (b"{\\rtf", Translatable("it is an RTF file: save it as .docx, PDF or text")),
)
_LIMIT_UNPACKED, _MOST_MEMBERS = 300 * 2**20, 20_000
_ARCHIVE_KINDS = ("plain", "pdf", "word", "slides", "sheets", "web", "book", "mail", "archive")


class Budget:
    """Hold the processor time that reading may take: readers stop by themselves at the end of it."""

    def __init__(self, seconds: float) -> None:
        self._until = process_time() + seconds

    @property
    def spent(self) -> bool:
        """Return True if it is used up."""
        return process_time() > self._until


Reader = Callable[[bytes, str, Budget], Document]


def reader_of(data: bytes, name: str) -> Reader:
    """Return the reader of a document, everything that it needs imported. Raises NotReadable."""
    kind = kind_of(data, name)
    if kind in ("archive", "mail"):
        for other in _ARCHIVE_KINDS:
            importlib.import_module(f"engine.documents.kinds.{other}")
    read: Reader = importlib.import_module(f"engine.documents.kinds.{kind}").read
    return read


def picture_renderer() -> Callable[[bytes, int, int], bytes]:
    """Return the function that draws a page of a PDF file."""
    render: Callable[[bytes, int, int], bytes] = importlib.import_module("engine.documents.kinds.pdf").picture
    return render


def image_reader() -> Any:
    """Return the module that reads pictures."""
    return importlib.import_module("engine.documents.kinds.image")


def kind_of(data: bytes, name: str) -> str:
    """Return the module that reads some bytes, from their beginning, then from their name. Raises NotReadable."""
    name = name.lower()
    head = data[:4096]
    for mark, reason in _REFUSED:
        if head.startswith(mark):
            raise NotReadable(reason)
    if head.startswith(_OLE):
        return _kind_of_ole(data)
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _kind_of_zip(data)
    if b"%PDF-" in head[:1024]:
        return "pdf"
    if name.endswith(_PAGE_NAMES) or _PAGE.match(head):
        return "web"
    if name.endswith(_MAIL_NAMES) or (_MAIL.match(head) and len(_MAIL_FIELD.findall(head)) > 1):
        return "mail"
    return "plain"


def open_zip(data: bytes) -> zipfile.ZipFile:
    """Return an archive whose unpacked contents are not too large. Raises NotReadable."""
    try:
        archive = zipfile.ZipFile(BytesIO(data))
    except (zipfile.BadZipFile, ValueError, NotImplementedError, EOFError):
        raise NotReadable(Translatable("it is damaged")) from None
    members = archive.infolist()
    if len(members) > _MOST_MEMBERS or sum(each.file_size for each in members) > _LIMIT_UNPACKED:
        raise NotReadable(
            Translatable("what is packed in it is larger than {count} MiB", count=_LIMIT_UNPACKED // 2**20)
        )
    return archive


def _kind_of_ole(data: bytes) -> str:
    if "EncryptedPackage".encode("utf-16-le") in data:
        raise NotReadable(Translatable("it is encrypted: open it with its password and save it without one"))
    if any(name.encode("utf-16-le") in data for name in ("Workbook", "Book")):
        return "sheets"
    raise NotReadable(Translatable("it has an old format of Office: save it as .docx, .pptx or PDF"))


def _kind_of_zip(data: bytes) -> str:
    archive = open_zip(data)
    names = archive.namelist()
    for part, kind in _OFFICE:
        if any(name.startswith(part) for name in names):
            return kind
    if "mimetype" in names:
        try:
            said = archive.read("mimetype")[:100]
        except (zipfile.BadZipFile, RuntimeError, NotImplementedError):
            said = b""
        if said.startswith(b"application/epub"):
            return "book"
        if b"opendocument.spreadsheet" in said:
            return "sheets"
        if b"opendocument.text" in said or b"opendocument.presentation" in said:
            return "opendocument"
    return "archive"
