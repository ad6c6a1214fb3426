"""Hold documents of a conversation: as stored, and in searchable parts."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from engine import Document
from engine.host import LARGEST_DOCUMENT, ReadyDocument

_LARGEST_TEXT = 64 * 2**20
"""The largest unpacked text, in bytes."""
MOST_TOLD = 48 * 2**20
"""Bytes of all files in one export; beyond that the text alone is exported."""


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """Hold a document as the store has it.

    `text`: its text, packed; `source`: the file itself, b"" if its text is enough; `vectors`: of its parts, made by
    the embedding model `vectors_of`, b"" if there are none.
    """

    name: str
    text: bytes
    source: bytes
    vectors: bytes = b""
    vectors_of: str = ""

    @classmethod
    def of(cls, document: Document, source: bytes) -> StoredDocument:
        """Pack a document; the file is kept of pictures, and of those whose pages can be shown."""
        encoded = json.dumps(document.to_dict(), ensure_ascii=False).encode("utf-8", "replace")
        return cls(document.name, zlib.compress(encoded, 1), source if document.kind in ("PDF", "Picture") else b"")

    @property
    def checksum(self) -> int:
        """Return the CRC-32 of all of it."""
        return zlib.crc32(self.source, zlib.crc32(self.text, zlib.crc32(self.name.encode("utf-8", "replace"))))

    def read(self) -> Document:
        """Return its text. Raises ValueError if it makes no sense."""
        try:
            unpack = zlib.decompressobj()
            data = unpack.decompress(self.text, _LARGEST_TEXT)
            if unpack.unconsumed_tail:
                raise ValueError("too large")
            return Document.from_dict(json.loads(data) | {"name": self.name})
        except (zlib.error, RecursionError, TypeError) as error:
            raise ValueError("not a document") from error


@dataclass(frozen=True, slots=True, eq=False)
class ChatDocument:
    """Hold a document of a chat: ready for questions, and in its stored form."""

    ready: ReadyDocument
    kept: StoredDocument

    @property
    def document(self) -> Document:
        return self.ready.document

    @classmethod
    def of(cls, document: Document, kept: StoredDocument) -> ChatDocument:
        """Make a document ready: on a thread that may take a moment."""
        return cls(ReadyDocument(document), kept)

    def named(self, name: str) -> ChatDocument:
        return ChatDocument.of(replace(self.document, name=name), replace(self.kept, name=name))


def documents_to_json(documents: Iterable[StoredDocument]) -> list[dict[str, str]]:
    entries, left = [], MOST_TOLD
    for each in documents:
        source = each.source if len(each.source) <= left else b""
        left -= len(source)
        said = {"name": each.name, "text": base64.b64encode(each.text).decode("ascii")}
        entries.append(said | ({"source": base64.b64encode(source).decode("ascii")} if source else {}))
    return entries


def document_from_json(data: Any) -> StoredDocument:
    """Restore a document from JSON. Raises ValueError if it makes no sense."""
    try:
        text, source = (base64.b64decode(data.get(name, ""), validate=True) for name in ("text", "source"))
        name = data["name"]
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError("not a document") from error
    if not isinstance(name, str) or len(source) > LARGEST_DOCUMENT:
        raise ValueError("not a document")
    found = StoredDocument(name, text, source)
    found.read()
    return found
