"""Hold a document of a chat: in searchable parts, and in its stored form."""

from __future__ import annotations

from dataclasses import dataclass, replace

from app.state.chat.kept_document import KeptDocument
from engine import Document
from engine.host import ReadyDocument


@dataclass(frozen=True, slots=True, eq=False)
class HeldDocument:
    """Hold a document of a chat: ready for questions, and in its stored form."""

    ready: ReadyDocument
    kept: KeptDocument

    @property
    def document(self) -> Document:
        """Return the text that was read."""
        return self.ready.document

    @classmethod
    def of(cls, document: Document, kept: KeptDocument) -> HeldDocument:
        """Make a document ready: on a thread that may take a moment."""
        return cls(ReadyDocument(document), kept)

    def named(self, name: str) -> HeldDocument:
        """Return the same under another name."""
        return HeldDocument.of(replace(self.document, name=name), replace(self.kept, name=name))
