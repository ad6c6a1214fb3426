"""Read ZIP archives: each document in them, by its name."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import replace

from engine.documents.document import Document
from engine.documents.kinds import Budget, open_zip
from engine.documents.kinds.mail import _at
from engine.documents.kinds.members import read_members
from engine.documents.refused import NotReadable
from engine.translatable import Translatable

_MOST_FILES = 500
_LARGEST = 64 * 2**20


def read(data: bytes, name: str, budget: Budget) -> Document:
    """Return the documents of an archive as one. Raises NotReadable."""
    found, notes = read_members(_members(open_zip(data)), budget)
    if not found:
        raise NotReadable(Translatable("there is nothing in it that can be read"))
    sections = [
        replace(each, place="file", at=_at(document.name, each)) for document in found for each in document.sections
    ]
    return Document(name, "ZIP", tuple(sections), pages=len(found), notes=notes)


def _members(archive: zipfile.ZipFile) -> Iterator[tuple[str, bytes | Translatable]]:
    """Yield names with bytes. Nothing is ever written anywhere, so a name is a label, but one that lies is refused."""
    files = [each for each in archive.infolist() if not each.is_dir()]
    for number, each in enumerate(files):
        name = each.filename
        if number >= _MOST_FILES:
            yield name, Translatable("there are more than {count} files", count=_MOST_FILES)
            return
        if name.startswith(("/", "\\")) or ":" in name[:3] or ".." in name.replace("\\", "/").split("/"):
            yield name, Translatable("its name leads out of the archive")
        elif each.flag_bits & 1:
            yield name, Translatable("it is encrypted")
        elif each.file_size > _LARGEST:
            yield name, Translatable("it is larger than {count} MiB", count=_LARGEST // 2**20)
        elif not name.startswith("__MACOSX/"):
            yield name, _bytes(archive, each)


def _bytes(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes | Translatable:
    try:
        return archive.read(member)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError):
        return Translatable("it is damaged")
