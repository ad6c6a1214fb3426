"""Keep the caches of conversations on disk, in parts of some tokens each, so that a restart need not read them again.

A part is named by the text in front of it and by its own tokens: conversations that begin alike find the same parts,
and what is added to a conversation is one more file. Files are for their owner alone. Each carries a checksum that is
keyed by a secret beside them, over the model, the text and the data: a part that is damaged, was made elsewhere, or is
of another model, other settings or another version is never shown to a library below.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import re
import secrets
import shutil
import stat
import struct
import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path

import numpy as np

from engine.backends.base import Backend, CacheCopy
from engine.backends.prefix import common_prefix
from engine.cancel import CancelToken
from engine.errors import BackendFailure, InvalidRequest, RewindNotSupported
from engine.system.files import private_folder, write_whole

MOST_DISK_BYTES = 2 * 2**30
_NOBODY = "unnamed"
"""The owner of caches without a name."""
_OWNER = re.compile(r"[A-Za-z0-9_]{1,64}")
_SUFFIX, _KEY = ".kv", "key"
_MAGIC = b"outrider cache 1"
_HEAD = struct.Struct("<16s32sI")
_NAME_BYTES, _KEY_BYTES = 16, 32
_MOST_TOKENS, _MOST_PART_BYTES = 4096, 2**30
_LEAST = 64
"""Tokens that are read again rather than kept or brought back."""
_SHARE = 2
"""A part takes at most this share (half) of the free space on the disk."""
_OLD_S = 60.0
_DAMAGED = "it is damaged, or was made elsewhere"
_log = logging.getLogger("outrider.caches")


@dataclass(frozen=True, slots=True)
class KeptPart:
    """Locate a stored part of a text. `parent`: the text before it; `alike`: how many of its tokens are wanted."""

    path: Path
    parent: bytes
    tokens: tuple[int, ...]
    alike: int

    @property
    def name(self) -> bytes:
        """Return the name of the text that ends with it."""
        return _name(self.parent, self.tokens)

    @property
    def file_name(self) -> str:
        """Return the name of its file."""
        return f"{self.parent.hex()}-{self.name.hex()}{_SUFFIX}"


class DiskCaches:
    """Keep the caches of one model in a folder, `most_bytes` of all models at most, those that were used last.

    `model`: what tells it, and how it computes, from any other. Nothing here raises OSError: what cannot be kept or
    read is logged, in one line, and read anew by the model.
    """

    def __init__(self, folder: Path, model: str, most_bytes: int = MOST_DISK_BYTES) -> None:
        self.folder, self.most_bytes = folder, most_bytes
        self._model = hashlib.blake2b(model.encode("utf-8", "surrogatepass"), digest_size=_NAME_BYTES).digest()

    def bring_back(self, backend: Backend, tokens: Sequence[int]) -> None:
        """Load the stored parts of a prompt into the cache, where they are much longer than its common prefix."""
        if not backend.part_length():
            return
        shared = common_prefix(backend.tokens, tokens)
        parts = self._find(tokens) if len(tokens) - shared >= _LEAST else []
        if sum(part.alike for part in parts) - shared < _LEAST:
            return
        place, begun = 0, False
        for part in parts:
            place += len(part.tokens)
            if place <= shared and not begun:
                continue
            copy = self._read(part) if place <= backend.context_length else None
            if copy is None:
                break
            try:
                if not begun:
                    backend.truncate(place - len(part.tokens))
                backend.append_part(copy)
            except (BackendFailure, RewindNotSupported) as error:
                self._drop([part.path], str(error))
                break
            begun = True
        _touch([part.path for part in parts])

    def keep(self, backend: Backend, owner: str = "", cancel: CancelToken | None = None) -> None:
        """Store the cached tokens that are not stored yet, for `owner`: they are deleted with it.

        Raises Cancelled between two parts; the next call goes on.
        """
        length = backend.part_length()
        held = tuple(takewhile(lambda token: token >= 0, backend.tokens)) if length else ()  # No pictures.
        known = [part for part in self._find(held) if part.alike == len(part.tokens)]
        place = sum(part.alike for part in known)
        parent = known[-1].name if known else self._model
        mine = [part.path for part in known]
        if len(held) - place < _LEAST:
            _touch(mine)
            return
        try:
            private_folder(self.folder / (owner or _NOBODY))
            for first in range(place, len(held), length):
                if cancel is not None:
                    cancel.check()
                copy = backend.copy_part(first, min(first + length, len(held)))
                if copy is None or not self._make_room(copy, mine):
                    return
                mine.append(self._write(owner or _NOBODY, parent, copy))
                parent = _name(parent, copy.tokens)
        except OSError as error:
            _log.warning("The cache of a conversation could not be kept: %s", error.strerror or error)
        finally:
            _touch(mine)

    def _find(self, tokens: Sequence[int]) -> list[KeptPart]:
        """Return the parts that a text begins with; the last one may be alike only at its beginning."""
        tokens = list(takewhile(lambda token: token >= 0, tokens))
        by_parent: defaultdict[str, list[Path]] = defaultdict(list)
        for path in _files(self.folder):
            by_parent[path.name.partition("-")[0]].append(path)
        parts, parent, place, damaged = list[KeptPart](), self._model, 0, list[Path]()
        while place < len(tokens):
            wanted = tokens[place : place + _MOST_TOKENS]
            there = [_part(path, parent, wanted) for path in by_parent[parent.hex()]]
            found = [part for part in there if part.path.name == part.file_name]
            damaged += [part.path for part in there if part not in found]
            best = max(found, key=lambda part: part.alike, default=None)
            if best is None or not best.alike:
                break
            parts.append(best)
            parent, place = best.name, place + best.alike
            if best.alike < len(best.tokens):
                break
        if damaged:
            self._drop(damaged, _DAMAGED)
        return parts

    def _read(self, part: KeptPart) -> CacheCopy | None:
        """Read a part; None, and it is deleted, if it was changed."""
        try:
            size = part.path.stat().st_size
            content = part.path.read_bytes() if size <= _MOST_PART_BYTES else b""
        except OSError:
            return None
        begin, secret = _HEAD.size + 4 * len(part.tokens), self._secret()
        _, checksum, _ = _HEAD.unpack_from(content) if len(content) > begin else (b"", b"", 0)
        data = memoryview(content)[begin:]
        if secret is None or not hmac.compare_digest(checksum, _checksum(secret, part.parent, part.tokens, data)):
            self._drop([part.path], _DAMAGED)
            return None
        return CacheCopy(part.tokens, np.frombuffer(data, np.uint8))

    def _write(self, owner: str, parent: bytes, copy: CacheCopy) -> Path:
        """Write a part, whole or not at all. Raises OSError."""
        path = self.folder / owner / KeptPart(Path(), parent, copy.tokens, 0).file_name
        data = copy.data.data
        secret = self._secret()
        if secret is None:
            secret = secrets.token_bytes(_KEY_BYTES)
            write_whole(self.folder / _KEY, secret, private=True)
        head = _HEAD.pack(_MAGIC, _checksum(secret, parent, copy.tokens, data), len(copy.tokens))
        write_whole(path, b"".join((head, _packed(copy.tokens), data)), lasting=False, private=True)
        return path

    def _secret(self) -> bytes | None:
        path = self.folder / _KEY
        with suppress(OSError):
            if path.stat().st_size == _KEY_BYTES:
                return path.read_bytes()
        return None

    def _make_room(self, copy: CacheCopy, mine: Collection[Path]) -> bool:
        """Delete the least recently used parts, but none of this text; return True if one more part has room."""
        size, now = copy.data.nbytes + 4 * len(copy.tokens) + _HEAD.size, datetime.now(UTC).timestamp()
        there = list[tuple[os.stat_result, Path]]()
        for path in (*_files(self.folder), *_files(self.folder, ".*.part")):
            with suppress(OSError):
                there.append((path.stat(), path))
                if path.suffix != _SUFFIX and now - there[-1][0].st_mtime > _OLD_S:  # A killed program's.
                    path.unlink()
        total = size + sum(status.st_size for status, _ in there)
        for status, path in sorted(there, key=lambda each: each[0].st_mtime_ns):
            if total <= self.most_bytes:
                break
            if path not in mine and path.suffix == _SUFFIX:
                path.unlink(missing_ok=True)
                total -= status.st_size
        if total > self.most_bytes:
            return False
        if size > shutil.disk_usage(self.folder).free // _SHARE:
            _log.warning("The cache of a conversation could not be kept: there is too little room on the disk.")
            return False
        return True

    def _drop(self, paths: Sequence[Path], why: str) -> None:
        _log.warning("A kept cache was not used, and its conversation is read anew: %s", why)
        for path in paths:
            with suppress(OSError):
                path.unlink()


def check_owner(owner: str) -> str:
    """Return a name under which caches are kept ('' none). Raises InvalidRequest."""
    if owner and not _OWNER.fullmatch(owner):
        raise InvalidRequest("A name for kept caches has 1 to 64 letters, digits and underscores.")
    return owner


def forget_caches(folder: str | Path, owner: str) -> None:
    """Delete the caches that were kept in a folder under a name. Raises InvalidRequest."""
    _remove(Path(folder) / (check_owner(owner) or _NOBODY))


def forget_other_caches(folder: str | Path, owners: Collection[str]) -> None:
    """Delete the caches in a folder but for those that were kept under these names."""
    with suppress(OSError):
        for place in list(Path(folder).iterdir()):
            if place.is_dir() and place.name not in owners and _OWNER.fullmatch(place.name):
                _remove(place)


def _remove(place: Path) -> None:
    """Remove a folder of ours, and nothing in it that is not ours."""
    with suppress(OSError):
        for path in (*place.glob(f"*{_SUFFIX}"), *place.glob(".*.part")):
            path.unlink(missing_ok=True)
        place.rmdir()


def _files(folder: Path, pattern: str = f"*-*{_SUFFIX}") -> Iterator[Path]:
    """Yield the parts in a folder, of all owners (whose folders may go): no pipe, for which one would wait."""
    places = list[Path]()
    with suppress(OSError):
        places = list(folder.iterdir())
    for place in places:
        with suppress(OSError):
            if place.is_dir() and not place.is_symlink():
                yield from (path for path in place.glob(pattern) if stat.S_ISREG(path.lstat().st_mode))


def _part(path: Path, parent: bytes, wanted: Sequence[int]) -> KeptPart:
    """Return a part by its file's tokens. A damaged one has another name than they tell."""
    held = _tokens_of(path)
    return KeptPart(path, parent, held, common_prefix(held, wanted))


def _tokens_of(path: Path) -> tuple[int, ...]:
    """Return the tokens of a part's file; none if its head makes no sense."""
    with suppress(OSError, struct.error), path.open("rb") as file:
        magic, _, count = _HEAD.unpack(file.read(_HEAD.size))
        if magic == _MAGIC and 0 < count <= _MOST_TOKENS:
            return struct.unpack(f"<{count}i", file.read(4 * count))
    return ()


def _checksum(secret: bytes, parent: bytes, tokens: Sequence[int], data: memoryview) -> bytes:
    checksum = hashlib.blake2b(_MAGIC + parent + _packed(tokens), key=secret, digest_size=32)
    checksum.update(data)
    return checksum.digest()


def _packed(tokens: Sequence[int]) -> bytes:
    return struct.pack(f"<{len(tokens)}i", *tokens)


def _name(parent: bytes, tokens: Sequence[int]) -> bytes:
    return hashlib.blake2b(parent + _packed(tokens), digest_size=_NAME_BYTES).digest()


def _touch(paths: Sequence[Path]) -> None:
    """Mark the parts of a text as used: the first ones last, without which the others are worth nothing."""
    now = time.time_ns()
    for place, path in enumerate(paths):
        with suppress(OSError):
            os.utime(path, ns=(now - place, now - place))
