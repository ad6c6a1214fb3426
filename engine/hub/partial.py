"""Store a partly downloaded file apart from the models, with a record from which the download resumes.

Beside the models lies a hidden folder, which no scan looks into. In it are the bytes that came and a small record of
what they are the beginning of. Only a file that is whole and was checked gets its name among the models.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any, Final, Self

from engine.cancel import CancelToken
from engine.errors import DownloadFailed
from engine.system.cache_files import read_json
from engine.system.files import lock_alone, write_whole

PARTIAL: Final = ".outrider-partial"
_PIECE = 2**20
_BEHIND = 16
"""So many pieces may wait to be hashed: on a busy computer the threads seldom run at the same time."""
_SYNC_EACH = 2**25
"""So many bytes at a time are brought to the disk while others come: at the end there is little to wait for."""
_FULL = frozenset({errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)})


class PartialFile:
    """Hold a file of which a part is here. Attributes: length (bytes that are here), record, path (its later place).

    What is appended is hashed on another thread, which may fall behind a little.
    """

    def __init__(self, folder: Path, path: Path) -> None:
        """Take the part that an earlier run left, if any. Raises DownloadFailed, also where another program has it."""
        self.path = path
        self._folder = folder
        self._home = folder / PARTIAL
        self._part = _place(folder, path)
        self._note = self._part.with_suffix(".json")
        try:
            self._file = _opened(self._part)
            self.length = os.fstat(self._file.fileno()).st_size
        except OSError as error:
            raise trouble(folder, error) from None
        self.record: dict[str, Any] = read_json(self._note) if self.length else {}
        self._digests = self._blob = hashlib.sha256()
        self._helper = ThreadPoolExecutor(1, "outrider-download-check")
        self._hashing: deque[Future[None]] = deque()
        self._synced: Future[None] | None = None
        self._sync_at = self.length + _SYNC_EACH
        self._begin()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the part, which stays."""
        self._close()
        if not self.length:
            self._remove()

    def _begin(self, size: int = 0) -> None:
        self._settle()
        self._digests = hashlib.sha256()
        self._blob = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)

    def reread(self, cancel: CancelToken, size: int) -> None:
        """Read the stored bytes again, for the checksums. Raises DownloadFailed, Cancelled."""
        self._begin(size)
        buffer = memoryview(bytearray(_PIECE))
        try:
            self._file.seek(0)
            left = self.length
            while left > 0:
                cancel.check("The download")
                count = self._file.readinto(buffer[: min(left, _PIECE)])
                self._hash(buffer[:count])
                left -= count or left  # Cut short meanwhile: the checksum will tell.
        except OSError as error:
            raise trouble(self._folder, error) from None

    def restart(self, record: Mapping[str, Any], size: int) -> None:
        """Begin anew, with a record of the new file. Raises DownloadFailed."""
        self.record, self.length = dict(record), 0
        self._begin(size)
        try:
            self._file.seek(0)
            self._file.truncate()
            write_whole(self._note, _json(self.record), lasting=False, private=True)
        except OSError as error:
            raise trouble(self._folder, error) from None

    def append(self, piece: memoryview) -> None:
        """Put the next bytes behind those that are here; nobody changes them any more. Raises DownloadFailed."""
        self._hashing.append(self._helper.submit(self._hash, piece))
        self._settle(_BEHIND)
        rest = piece
        try:
            if self.length >= self._sync_at and (self._synced is None or self._synced.done()):
                self._sync()
            self._file.seek(self.length)
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            with suppress(OSError):
                self._file.truncate(self.length)
            raise trouble(self._folder, error) from None
        self.length += len(piece)

    def _sync(self) -> Future[None]:
        """Begin to bring what is here to the disk, on another thread. Raises OSError, of the last time."""
        if self._synced is not None:
            self._synced.result()
        synced: Future[None] = Future()
        # A thread that nothing waits for at the program's end: a disk may hang.
        Thread(target=_bring_to_disk, args=(self._file.fileno(), synced), daemon=True).start()
        self._synced, self._sync_at = synced, self.length + _SYNC_EACH
        return synced

    def _close(self) -> None:
        self._helper.shutdown()
        wait([] if self._synced is None else [self._synced])  # Until then the file is locked.
        self._file.close()

    def _settle(self, behind: int = 0) -> None:
        """Wait until all that was appended is hashed, but for so many pieces."""
        while len(self._hashing) > behind:
            self._hashing.popleft().result()

    def _hash(self, piece: memoryview) -> None:
        self._digests.update(piece)
        if self.record.get("blob"):
            self._blob.update(piece)

    @property
    def sha256(self) -> str:
        """Return the checksum of the stored bytes."""
        self._settle()
        return self._digests.hexdigest()

    @property
    def blob(self) -> str:
        """Return the name of the stored bytes in git."""
        self._settle()
        return self._blob.hexdigest()

    @property
    def is_there(self) -> bool:
        """Return True if the part still has its name: its folder may have gone."""
        try:
            return os.fstat(self._file.fileno()).st_ino == self._part.stat().st_ino
        except OSError:
            return False

    def check_room(self, needed: int) -> None:
        """Raise DownloadFailed if the disk has no room for so many bytes more."""
        check_room(self._home, needed)

    @property
    def part(self) -> Path:
        """Return the path of the bytes."""
        return self._part

    def finish(self, made: Path | None = None) -> None:
        """Rename the file to its place among the models. `made`: a file made of the part, to be taken in place of it.

        Raises DownloadFailed.
        """
        try:
            if made is None:
                self._sync().result()
            self._close()
            self.path.parent.mkdir(parents=True, exist_ok=True)
            (made or self._part).replace(self.path)
            with suppress(OSError):
                descriptor = os.open(self.path.parent, os.O_RDONLY)
                os.fsync(descriptor)
                os.close(descriptor)
        except OSError as error:
            raise trouble(self._folder, error) from None
        self._remove()

    def discard(self) -> None:
        """Throw the part away."""
        self.length = 0
        self._close()
        self._remove()

    def _remove(self) -> None:
        for path in (self._part, self._note):
            with suppress(OSError):
                path.unlink()
        with suppress(OSError):
            self._home.rmdir()  # Only when nothing else is in it.


def _bring_to_disk(descriptor: int, synced: Future[None]) -> None:
    try:
        os.fsync(descriptor)
        synced.set_result(None)
    except OSError as error:
        synced.set_exception(error)


def _place(folder: Path, path: Path) -> Path:
    """Return the path of a file's part."""
    key = hashlib.blake2b(os.fsencode(path.relative_to(folder)), digest_size=12).hexdigest()
    return folder / PARTIAL / f"{key}.part"


def bytes_here(folder: Path, path: Path) -> int:
    """Return the size of the part that an earlier run left."""
    try:
        return _place(folder, path).stat().st_size
    except OSError:
        return 0


def check_room(folder: Path, needed: int) -> None:
    """Raise DownloadFailed if the disk of a folder has no room for so many bytes."""
    import shutil  # noqa: PLC0415 - it brings much, for one call

    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise trouble(folder, error) from None
    if needed > free:
        raise DownloadFailed(
            "{folder} has no room: {needed:.1f} MB more are needed, and {free:.1f} MB are free. Make room, or "
            "choose another folder.",
            folder=folder.parent if folder.name == PARTIAL else folder,
            needed=needed / 1e6,
            free=free / 1e6,
        )


def trouble(folder: Path, error: OSError) -> DownloadFailed:
    """Return the error for a folder that cannot be written to."""
    if error.errno in _FULL:
        return DownloadFailed(
            "The disk of {folder} is full. The part that came is kept: free space, then ask again.", folder=folder
        )
    if isinstance(error, BlockingIOError):
        return DownloadFailed("This file is being downloaded into {folder} already, by another program.", folder=folder)
    if isinstance(error, FileNotFoundError):
        return gone(folder)
    return DownloadFailed(
        "Cannot write to {folder}: {reason}. Choose another folder.",
        folder=folder,
        reason=error.strerror or type(error).__name__,
    )


def gone(folder: Path) -> DownloadFailed:
    """Return the error for a folder that is not there any more."""
    return DownloadFailed(
        "The folder {folder} is gone. Choose another one, or ask again when it is back.", folder=folder
    )


def _json(record: Mapping[str, Any]) -> bytes:
    import json  # noqa: PLC0415 - beside its one use

    return json.dumps(record).encode()


def _opened(path: Path) -> Any:
    """Open a part, in a folder that is created if missing. Raises OSError."""
    for _ in range(20):
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):  # Another download has ended, and took the empty folder away.
            return _locked(path)
    return _locked(path)


def _locked(path: Path) -> Any:
    """Open a file for this process alone, and create it if missing. Raises OSError; BlockingIOError."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o644)
        file = os.fdopen(descriptor, "r+b", buffering=0)
        try:
            lock_alone(descriptor)
            # Whoever had it may have finished meanwhile: then this is a model by now.
            if path.exists() and os.fstat(descriptor).st_ino == path.stat().st_ino:
                return file
        except BaseException:
            file.close()
            raise
        file.close()
