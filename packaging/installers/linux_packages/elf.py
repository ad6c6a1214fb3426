"""Takes out of Linux libraries the folders of the build machine in which they would look for other libraries.

On another machine such a folder may be anyone's, and what lies in it would be run. PyInstaller's start-up code tells
the linker where the program's own libraries are.
"""

import struct
from pathlib import Path
from typing import BinaryIO

from bundle_files import entries
from messages import SetupError

_LOAD, _DYNAMIC, _NOTES = 1, 2, 4
_BUILD_ID = 3
_END, _STRINGS, _RPATH, _RUNPATH = 0, 5, 15, 29


def forget_build_folders(bundle: Path) -> list[str]:
    """Remove the search paths with absolute folders from all libraries of a bundle; gives the libraries' names.

    Files keep their size. Raises SetupError for a path that also has folders of the bundle: that must be built again.
    """
    files = [entry for entry in entries(bundle) if entry.link is None and entry.path.is_file()]
    return [entry.name for entry in files if _forget(entry.path)]


def forget_build_ids(folder: Path) -> None:
    """Write zeros over the build id of each library in a folder; files keep their size.

    The linker makes it of everything that it is given, debugging symbols too, in which the build's folder shows: it is
    all that differs between two builds of the same source. Source: the gABI's note sections, NT_GNU_BUILD_ID.
    """
    for entry in entries(folder):
        if entry.link is None and entry.path.is_file():
            with entry.path.open("r+b") as file:
                for start, size in _build_ids(file):
                    file.seek(start)
                    file.write(bytes(size))


def _build_ids(file: BinaryIO) -> list[tuple[int, int]]:
    """Find the build ids in an ELF file, as (offset, length)."""
    if file.read(64)[:6] != b"\x7fELF\x02\x01":
        return []
    found = []
    for kind, offset, _, size in _segments(file):
        place, end = (offset, offset + size) if kind == _NOTES else (0, 0)
        while place + 12 <= end:
            file.seek(place)
            name_size, length, note = struct.unpack("<III", file.read(12))
            start = place + 12 + _padded(name_size)
            if note == _BUILD_ID and file.read(4) == b"GNU\0":
                found.append((start, length))
            place = start + _padded(length)
    return found


def _padded(size: int) -> int:
    return -(-size // 4) * 4


def search_path(path: Path) -> str | None:
    """Read a library's search path (RUNPATH or RPATH); None without one, or if it is no 64-bit ELF file."""
    with path.open("rb") as file:
        found = _search_paths(file)
        return ":".join(text for _, text in found) if found else None


def _forget(path: Path) -> bool:
    with path.open("rb") as file:
        found = _search_paths(file)
    foreign = [text for _, text in found if any(not part.startswith("$ORIGIN") for part in text.split(":"))]
    if not foreign:
        return False
    if any("$ORIGIN" in text for _, text in found):
        raise SetupError(f"{path} looks for libraries in {':'.join(foreign)}: build it without absolute folders.")
    with path.open("r+b") as file:
        start, table = _dynamic_table(file)
        kept = [pair for pair in table if pair[0] not in {_RPATH, _RUNPATH}]
        kept += [(_END, 0)] * (len(table) - len(kept))
        file.seek(start)
        file.write(b"".join(struct.pack("<QQ", *pair) for pair in kept))
    return True


def _search_paths(file: BinaryIO) -> list[tuple[int, str]]:
    """Pairs of kind and text."""
    head = file.read(64)
    # 64 bits, least significant byte first: everything that we build for.
    if len(head) < 64 or head[:6] != b"\x7fELF\x02\x01":
        return []
    _, table = _dynamic_table(file)
    strings = dict(table).get(_STRINGS)
    found = []
    for kind, value in table:
        if kind in {_RPATH, _RUNPATH} and strings is not None:
            file.seek(_offset(file, strings + value))
            found.append((kind, file.read(4096).split(b"\0", 1)[0].decode(errors="replace")))
    return found


def _dynamic_table(file: BinaryIO) -> tuple[int, list[tuple[int, int]]]:
    """Return the dynamic section's offset, and its pairs of tag and value. Source: the ELF-64 object format."""
    for kind, offset, _, size in _segments(file):
        if kind == _DYNAMIC:
            file.seek(offset)
            data = file.read(size // 16 * 16)
            return offset, [(tag, value) for tag, value in struct.iter_unpack("<QQ", data)]
    return 0, []


def _offset(file: BinaryIO, address: int) -> int:
    for kind, offset, start, size in _segments(file):
        if kind == _LOAD and start <= address < start + size:
            return address - start + offset
    raise SetupError(f"{file.name} is damaged: its strings lie nowhere.")


def _segments(file: BinaryIO) -> list[tuple[int, int, int, int]]:
    """Kind, offset in the file, address and size in the file of each segment."""
    file.seek(32)
    (table,) = struct.unpack("<Q", file.read(8))
    file.seek(54)
    width, count = struct.unpack("<HH", file.read(4))
    found = []
    for number in range(count):
        file.seek(table + number * width)
        kind, _, offset, address, _, size = struct.unpack("<IIQQQQ", file.read(40))
        found.append((kind, offset, address, size))
    return found
