"""Hold a document that a chat has: in parts that can be asked, and as it is kept."""

from __future__ import annotations

from dataclasses import dataclass, replace

from app.state.chat.kept_document import KeptDocument
from engine import Document, ReadyDocument


@dataclass(frozen=True, slots=True, eq=False)
class HeldDocument:
    """Hold a document that a chat has: ready to be asked, and as it is kept."""

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
