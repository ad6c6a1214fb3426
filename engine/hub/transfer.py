"""Download a file: by ranges, so that it resumes; checked before it gets its name among the models.

The partial file is `partial.py`'s. What a server says of a file (its ETag, its checksum, its size) is kept with it:
if it differs the next time, the file has changed: the download restarts, and the caller is notified.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event, Lock
from time import monotonic
from typing import Any

from engine.cancel import CancelToken
from engine.errors import DownloadFailed
from engine.hub import refusals
from engine.hub.hugging_face import as_digest
from engine.hub.names import path_inside
from engine.hub.partial import PartialFile, gone
from engine.hub.web import Head, Tries, Unfinished, Web, origin
from engine.translatable import Translatable

_LOOK_S = 0.5
"""The interval at which the folder's existence is checked."""
_MOST_CHANGES = 3
_GOES_ON = 2**16
"""So many bytes count as progress."""
_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18}|\*)")
_PAGE_NAMES = (".html", ".htm", ".xml")
_PAGES = (b"<!doctype html", b"<html", b"<?xml", b"<head")

Note = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Origin:
    """Describe a file's origin and its identity.

    `name`: its path in the folder, with `/`; `identity`: by which a later run knows that it is the same; `size`,
    `sha256` and `blob` (its name in git) as far as they are known; `start`: which byte of the address is its first.
    """

    name: str
    url: str
    identity: str
    size: int | None = None
    sha256: str | None = None
    blob: str | None = None
    start: int | None = None


@dataclass(frozen=True, slots=True)
class DownloadProgress:
    """Report a file's progress. `done` and `total`: bytes; `moved`: those that came over the network in this run."""

    name: str
    done: int
    total: int
    moved: int


class SpeedLimit:
    """Keep several downloads together below a speed. Attribute: speed (bytes a second, 0 for none), at any moment."""

    def __init__(self, speed: float = 0.0) -> None:
        self.speed = speed
        self._lock = Lock()
        self._free = monotonic()

    def take(self, count: int, cancel: CancelToken) -> None:
        """Wait until so many bytes may have come. Raises Cancelled."""
        with self._lock:
            if self.speed <= 0:
                return
            self._free = max(self._free, monotonic() - 0.25) + count / self.speed
            until = self._free
        while (left := until - monotonic()) > 0 and self.speed > 0:
            cancel.check("The download")
            Event().wait(min(left, 0.05))


@dataclass(slots=True)
class Transfer:
    """Download one file into a folder.

    `renew`: asks again what the file is, where it has changed; `note`: receives notes for the user; `limit`: of
    the speed.
    """

    source: Origin
    folder: Path
    web: Web
    cancel: CancelToken
    progress: Callable[[DownloadProgress], None] | None = None
    renew: Callable[[], Origin] | None = None
    note: Note | None = None
    limit: SpeedLimit | None = None
    packed: bool = False
    moved: int = 0
    _renewed: int = 0
    _wrong_ranges: int = 0
    _contradicted: bool = False

    def run(self, finish: Callable[[PartialFile], None] | None = None) -> Path:
        """Download it, check it, and return its path. `finish`: in place of giving the part its name.

        Raises DownloadFailed, Cancelled; then what came is kept, if it can be used, and nothing is among the models.
        """
        path = path_inside(self.folder, self.source.name)
        with PartialFile(self.folder, path) as part:
            self._resume(part)
            self._fetch(part)
            self._check(part)
            (finish or PartialFile.finish)(part)
        return path

    # What is here --------------------------------------------------------------------------------------------------

    def _resume(self, part: PartialFile) -> None:
        """Resume the part if it is the beginning of this file; else begin anew."""
        if not part.length:
            return
        kept, source = part.record, self.source
        same = kept.get("identity") == source.identity and kept.get("start") == source.start
        known = kept.get("sha256"), kept.get("size")
        alike = (source.sha256 in (None, known[0])) and (source.size in (None, known[1]))
        if same and alike and isinstance(known[1], int) and part.length <= known[1]:
            self.source = replace(source, size=known[1], sha256=source.sha256 or known[0])
            part.reread(self.cancel, known[1])
            return
        if same:
            self._say_changed()
        part.restart({}, 0)

    def _fetch(self, part: PartialFile) -> None:
        tries = Tries(self.web.patience, self.cancel)
        while self.source.size is None or part.length < self.source.size:
            before = part.length
            try:
                self._once(part)
            except Unfinished as problem:
                if part.length - before >= _GOES_ON:
                    tries.went_on()
                tries.wait(problem)
            except _Changed:
                self._begin_anew(part)

    def _once(self, part: PartialFile) -> None:
        """Read one answer to its end."""
        with closing(self.web.pieces(self.source.url, self.cancel, self._headers(part))) as pieces:
            head = next(pieces)
            if not isinstance(head, Head):
                raise TypeError
            if head.status == 416 and part.length:
                raise _Changed
            if head.status not in (200, 206):
                raise self._refused(head, pieces)
            self._judge(head, part)
            self._take(part, pieces, head)

    def _headers(self, part: PartialFile) -> dict[str, str]:
        start = self.source.start
        if not part.length and start is None:
            return {}
        end = "" if start is None or self.source.size is None else str(start + self.source.size - 1)
        headers = {"Range": f"bytes={(start or 0) + part.length}-{end}"}
        tag = part.record.get("etag")
        if part.length and isinstance(tag, str) and tag.startswith('"'):
            headers["If-Range"] = tag
        return headers

    def _refused(self, head: Head, pieces: Iterator[Head | memoryview]) -> Exception:
        body = b"".join(
            bytes(piece) for piece, _ in zip(pieces, range(2), strict=False) if isinstance(piece, memoryview)
        )
        with_token = self.web.authorization is not None and origin(head.url) == self.web.home
        what = self.source.name
        said = refusals.refused(head.url, head.status, head.headers, body, what, with_token=with_token)
        # A signed address that has expired, or is not known any more: the next try asks for a new one.
        elsewhere = head.url != self.source.url
        return Unfinished(said) if elsewhere and head.status in (400, 401, 403, 404, 410) else said

    # Answers ------------------------------------------------------------------------------------------------------

    def _judge(self, head: Head, part: PartialFile) -> None:
        """Compare an answer's facts of the file with the known ones. Raises _Changed, Unfinished, DownloadFailed."""
        facts = FileFacts.of(head, self.source)
        if head.status == 206 and facts.first != (self.source.start or 0) + part.length:
            self._wrong_ranges += 1
            if self._wrong_ranges > _MOST_CHANGES and part.length and self.source.start is None:
                self._say_anew()
                part.restart({}, 0)
                self._ask_anew()
            raise Unfinished(self._two_things())
        page = head.headers.get_content_type() == "text/html" and not self.source.name.casefold().endswith(_PAGE_NAMES)
        if part.length and head.status == 200 and page:  # Of a network's login, or of what is in between.
            raise Unfinished(refusals.broke_off(head.url))
        if head.status == 200 and self.source.start is not None:
            if part.length:
                raise _Changed
            raise refusals.no_parts(head.url)
        if part.length:
            if self._has_changed(part.record, facts):
                if head.status == 206:
                    raise _Changed
                self._start(head, part, facts, changed=True)
            elif head.status == 200:
                self._say_anew()
                self._start(head, part, facts)
        else:
            self._start(head, part, facts)

    def _has_changed(self, record: dict[str, Any], facts: FileFacts) -> bool:
        for name in ("etag", "linked", "whole"):
            before, now = record.get(name), getattr(facts, name)
            if before is not None and now is not None and before != now:
                return True
        return False

    def _start(self, head: Head, part: PartialFile, facts: FileFacts, *, changed: bool = False) -> None:
        """Begin with the first byte of an answer. Raises _Changed if the file is another one than the listed."""
        if changed:
            self._say_changed()
            part.restart({}, 0)
            self._ask_anew()
        linked_sha, _ = as_digest(facts.linked)
        source = self.source
        other = linked_sha is not None and source.sha256 not in (None, linked_sha) and source.start is None
        size = source.size if source.start is not None else facts.whole
        if other or (None not in (size, source.size) and size != source.size):
            if self._contradicted:
                raise self._two_things()
            # It may have changed between two questions; then the next answers agree.
            self._contradicted = True
            self._ask_anew()
            raise _Changed
        size = source.size if size is None else size
        if size is None:
            raise refusals.not_understood(head.url)
        self.source = source = replace(source, size=size, sha256=source.sha256 or linked_sha)
        record = {"identity": source.identity, "start": source.start, "size": size, "sha256": source.sha256}
        record |= {"blob": source.blob, "etag": facts.etag, "linked": facts.linked, "whole": facts.whole}
        part.check_room(size)
        part.restart(record, size)

    def _begin_anew(self, part: PartialFile) -> None:
        if part.length:
            self._say_changed()
            part.restart({}, 0)
            self._ask_anew()

    def _ask_anew(self) -> None:
        """Ask for the file's current identity. Raises DownloadFailed if it changes all the time."""
        self._renewed += 1
        if self._renewed > _MOST_CHANGES:
            raise DownloadFailed("{name} keeps changing during the download. Try again later.", name=self.source.name)
        if self.renew is not None:
            self.source = self.renew()

    # What comes -----------------------------------------------------------------------------------------------------

    def _take(self, part: PartialFile, pieces: Iterator[Head | memoryview], head: Head) -> None:
        size = self.source.size or 0
        part.check_room(size - part.length)
        looked = monotonic()
        for piece in pieces:
            if not isinstance(piece, memoryview):
                continue
            if not part.length and not self.packed:
                self._look_at(piece, part, head)
            if part.length + len(piece) > size:
                raise Unfinished(self._two_things())
            part.append(piece)
            self.moved += len(piece)
            if self.progress is not None:
                self.progress(DownloadProgress(self.source.name, part.length, size, self.moved))
            if self.limit is not None:
                self.limit.take(len(piece), self.cancel)
            if monotonic() - looked > _LOOK_S:
                looked = monotonic()
                if not part.is_there:
                    raise gone(self.folder)
            if part.length == size:
                return
        raise Unfinished(refusals.broke_off(head.url))

    def _look_at(self, piece: memoryview, part: PartialFile, head: Head) -> None:
        """Check the first bytes. Raises DownloadFailed if they are not those of such a file."""
        why = why_no_such_file(self.source.name, bytes(piece[:512]))
        if why is not None:
            part.discard()
            raise DownloadFailed(
                "What {server} sends as {name} is {why}. Nothing was kept.",
                server=refusals.place(head.url),
                name=self.source.name,
                why=why,
            )

    def _check(self, part: PartialFile) -> None:
        """Check the whole file. Raises DownloadFailed, and keeps nothing of a wrong one."""
        if not part.is_there:
            raise gone(self.folder)
        source = self.source
        wrong = part.sha256 != source.sha256 if source.sha256 else bool(source.blob) and part.blob != source.blob
        if wrong:
            part.discard()
            raise DownloadFailed(
                "{name} came with a wrong checksum and was thrown away. Ask again; if it is wrong again, the file "
                "at {server} is damaged.",
                name=source.name,
                server=refusals.place(source.url),
            )

    def _two_things(self) -> DownloadFailed:
        return DownloadFailed(
            "{server} says two things of {name}: its listing and the file itself differ. Ask again later.",
            server=refusals.place(self.source.url),
            name=self.source.name,
        )

    def _say_anew(self) -> None:
        self._say(Translatable("{name} starts again: the server cannot resume.", name=self.source.name))

    def _say_changed(self) -> None:
        self._say(
            Translatable(
                "{name} has changed at {server} since its download began, so it begins anew.",
                name=self.source.name,
                server=refusals.place(self.source.url),
            )
        )

    def _say(self, text: str) -> None:
        if self.note is not None:
            self.note(text)


class _Changed(Exception):
    """Report that a file is not the one whose part is here."""


@dataclass(frozen=True, slots=True)
class FileFacts:
    """Hold an answer's facts of its file: `first` byte, bytes of the `whole`, ETag, and that of the linked file."""

    first: int
    whole: int | None
    etag: str | None
    linked: str | None

    @classmethod
    def of(cls, head: Head, source: Origin) -> FileFacts:
        linked = head.first.get("X-Linked-ETag")
        if linked is None and as_digest(head.first.get("ETag"))[0] is not None:
            linked = head.first.get("ETag")  # A mirror that has the file itself.
        first, whole = 0, head.number("Content-Length")
        if head.status == 206:
            match = _RANGE.fullmatch((head.headers.get("Content-Range") or "").strip())
            if match is None:
                raise Unfinished(refusals.not_understood(head.url))
            first, whole = int(match[1]), int(match[3]) if match[3] != "*" else None
        elif whole is None:
            length = (head.first.get("X-Linked-Size") or "").strip()
            whole = int(length) if length.isdecimal() and len(length) < 19 else source.size
        return cls(first, whole, head.headers.get("ETag"), linked)


def why_no_such_file(name: str, beginning: bytes) -> Translatable | None:
    """Name the true kind of a file whose first bytes are not those of its kind; None if they are."""
    lower = name.casefold()
    if lower.endswith(".gguf") and beginning.startswith(b"GGUF"):
        return None
    if beginning.lstrip().lower().startswith(_PAGES) and not lower.endswith(_PAGE_NAMES):
        return Translatable("a web page, no model")
    if lower.endswith(".gguf"):
        if beginning.startswith(b"version https://git-lfs"):
            return Translatable("a pointer to the model, not the model")
        return Translatable("no GGUF file")
    if lower.endswith(".safetensors") and not (
        len(beginning) > 8 and int.from_bytes(beginning[:8], "little") < 2**27 and beginning[8:9] == b"{"
    ):
        return Translatable("no safetensors file")
    return None
