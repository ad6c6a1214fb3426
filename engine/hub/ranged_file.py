"""Read a file at a server like one on disk: at any place, and only the requested bytes."""

from __future__ import annotations

import io
import re
from contextlib import closing

from engine.cancel import CancelToken
from engine.errors import DownloadFailed
from engine.hub import refusals
from engine.hub.web import Head, Tries, Unfinished, Web

_LEAST = 64 * 2**10
_MOST = 16 * 2**20
_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})")


class NoRanges(DownloadFailed):
    """Report a server that gives files only whole."""


class RangedFile(io.RawIOBase):
    """Read a file by ranges, its end first. Attribute: size. Raises NoRanges, DownloadFailed, Cancelled."""

    def __init__(self, web: Web, url: str, cancel: CancelToken, what: str) -> None:
        super().__init__()
        self._web, self._url, self._cancel, self._what = web, url, cancel, what
        self._place = 0
        self.size = 0
        self._first, self._held = self._ask(f"bytes=-{_LEAST}")

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the place where is read next."""
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Set the place, before the end."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self.size}[whence]
        self._place = max(base + offset, 0)
        return self._place

    def read(self, count: int = -1) -> bytes:
        """Return so many bytes; fewer at the end."""
        end = self.size if count < 0 else min(self._place + count, self.size)
        if end <= self._place:
            return b""
        if end - self._place > _MOST:
            raise refusals.too_long(self._url)
        if not (self._first <= self._place and end <= self._first + len(self._held)):
            last = min(max(end, self._place + 4096), self.size) - 1
            self._first, self._held = self._ask(f"bytes={self._place}-{last}")
        start = self._place - self._first
        found = self._held[start : start + end - self._place]
        self._place += len(found)
        return found

    def _ask(self, span: str) -> tuple[int, bytes]:
        """Return the first byte of a range, and its bytes."""
        tries = Tries(self._web.patience, self._cancel)
        while True:
            try:
                return self._ask_once(span)
            except Unfinished as problem:
                tries.wait(problem)

    def _ask_once(self, span: str) -> tuple[int, bytes]:
        with closing(self._web.pieces(self._url, self._cancel, {"Range": span})) as pieces:
            head = next(pieces)
            if not isinstance(head, Head):
                raise TypeError
            if head.status == 200:
                raise NoRanges(refusals.no_parts(self._url).message)
            match = _RANGE.fullmatch((head.headers.get("Content-Range") or "").strip())
            if head.status != 206 or match is None:
                raise refusals.refused(head.url, head.status, head.headers, b"", self._what, with_token=False)
            first, last, size = map(int, match.groups())
            found = b"".join(bytes(piece) for piece in pieces if isinstance(piece, memoryview))
            if len(found) != last + 1 - first or (self.size and size != self.size):
                raise Unfinished(refusals.broke_off(head.url))
            self.size = size
            return first, found
