"""Report within the child the reason why a document cannot be read."""

from __future__ import annotations

from collections.abc import Sequence

from engine.translatable import Translatable


class NotReadable(Exception):
    """Report a document that cannot be read. Attributes: reason, a clause ("it is encrypted"); scanned, as below."""

    def __init__(self, reason: Translatable, scanned: Sequence[int] = ()) -> None:
        self.reason = reason
        self.scanned = tuple(scanned)
        super().__init__(reason)
