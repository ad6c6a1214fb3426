"""Hold a document of a conversation in its stored form: its text, packed, and the file if it has pages."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from engine import Document
from engine.host import LARGEST_DOCUMENT

_LARGEST_TEXT = 64 * 2**20
"""The largest unpacked text, in bytes."""
MOST_TOLD = 48 * 2**20
"""Bytes of all files in one export; beyond that the text alone is exported."""


@dataclass(frozen=True, slots=True)
class KeptDocument:
    """Hold a document.

    `text`: its text, packed; `source`: the file itself, b"" if its text is enough; `vectors`: of its parts, made by
    the embedding model `vectors_of`, b"" if there are none.
    """

    name: str
    text: bytes
    source: bytes
    vectors: bytes = b""
    vectors_of: str = ""

    @classmethod
    def of(cls, document: Document, source: bytes) -> KeptDocument:
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


def documents_to_json(documents: Iterable[KeptDocument]) -> list[dict[str, str]]:
    """Return documents as JSON says them."""
    entries, left = [], MOST_TOLD
    for each in documents:
        source = each.source if len(each.source) <= left else b""
        left -= len(source)
        said = {"name": each.name, "text": base64.b64encode(each.text).decode("ascii")}
        entries.append(said | ({"source": base64.b64encode(source).decode("ascii")} if source else {}))
    return entries


def document_from_json(data: Any) -> KeptDocument:
    """Restore a document from JSON. Raises ValueError if it makes no sense."""
    try:
        text, source = (base64.b64decode(data.get(name, ""), validate=True) for name in ("text", "source"))
        name = data["name"]
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError("not a document") from error
    if not isinstance(name, str) or len(source) > LARGEST_DOCUMENT:
        raise ValueError("not a document")
    found = KeptDocument(name, text, source)
    found.read()
    return found
