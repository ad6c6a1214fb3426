"""Report within the child the reason why a document cannot be read."""

from __future__ import annotations

from engine.translatable import Translatable


class NotReadable(Exception):
    """Report a document that cannot be read. Attribute: reason, a clause: "it is encrypted"."""

    def __init__(self, reason: Translatable) -> None:
        self.reason = reason
        super().__init__(reason)
