"""Find the chats of other programs in a file, a ZIP archive or a folder; nothing is written or unpacked anywhere."""

from __future__ import annotations

import contextlib
import io
import json
import os
import stat
import struct
import zipfile
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from app.state.chat.attachments import plain_name
from app.state.conversations.files import FORMAT, LARGEST_FILE, ConversationRefused, Note
from app.state.conversations.json_stream import CHUNK, Senseless
from app.state.conversations.other_programs.json_values import LARGEST, DamagedDocument, Documents
from app.state.conversations.other_programs.layouts import Layout, ParsedChat, is_line, is_session, is_thread, layout_of
from engine import Cancelled, Translatable

_SUFFIXES = (".json", ".jsonl")
_MOST_FILES = 100_000
_MOST_LINES = 100_000
_LARGEST_DIRECTORY = 16 * 2**20
_LARGEST_ARCHIVE = 8 * 2**30
"""Bytes of all texts of an archive together, unpacked."""
_LARGEST_RATIO = 250
_SMALL = 2**20
"""The size, in bytes, up to which a text's compression ratio does not matter."""
_LOOKED_AT = 2_000
"""Entries of a dropped folder: the window waits for the answer."""
_ZIP_END, _ZIP_END_SIZE, _ZIP_TAIL = b"PK\x05\x06", 22, 2**16
_ZIP64_LOCATOR, _ZIP64_END_SIZE, _ZIP64_LOCATOR_SIZE = b"PK\x06\x07", 56, 20
_ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, struct.error, ValueError)


@dataclass(frozen=True, slots=True)
class Found:
    """Hold a chat, or the reason why it cannot be read (`reason`). `name`: its title or its place, for a person.

    `own`: a chat that Outrider exported, as JSON.
    """

    name: str
    layout: str = ""
    chat: ParsedChat | None = None
    reason: str = ""
    own: bytes = b""


Opened = tuple[str, int, Callable[[], BinaryIO]]
"""A file: its name, its size, and the function that opens it."""


def is_source(path: Path, most: int | None = CHUNK) -> bool | None:
    """Return True if a file or folder is to be read here: it has chats of other programs, or may have.

    `most`: bytes of a file that are looked at, None for all; where they do not say, None is returned.
    """
    try:
        if path.is_dir() or zipfile.is_zipfile(path):
            return True
        with path.open("rb") as file:
            begun = file.read(CHUNK)
            if f'"{FORMAT}"'.encode() in begun[:1000]:
                return False
            cut = most is not None and bool(file.read(1))
            file.seek(0)
            values = Documents(io.BytesIO(begun) if most is not None else file, lambda _: None)
            first, second = islice(chain(values, (None, None)), 2)
    except OSError:
        return False
    listed = begun.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")
    layout = layout_of(first)
    if layout is None and cut and DamagedDocument in (type(first), type(second)):
        return None
    # A list whose first item is damaged may have others; messages alone are no list of chats.
    several = listed or path.suffix.lower() == ".jsonl"
    layout = layout or layout_of(second)
    return is_line(first) or is_session(first) or (layout is not None and (several or layout.name != "messages"))


def has_chats(folder: Path) -> bool:
    """Return True if a folder has files that may be chats, and no model, among those that come first."""
    waiting, looked_at, found = deque([str(folder)]), 0, False
    while waiting and looked_at < _LOOKED_AT:
        with contextlib.suppress(OSError), os.scandir(waiting.popleft()) as entries:
            for entry in islice(entries, _LOOKED_AT - looked_at):
                looked_at += 1
                name = entry.name.lower()
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                elif name == "config.json" or name.endswith((".gguf", ".safetensors")):
                    return False
                found |= name.endswith(_SUFFIXES)
    return found


def chats_in(path: Path, note: Note, opened: Callable[[], None] = lambda: None) -> Iterator[Found]:
    """Yield the chats in a file, an archive or a folder. Raises ConversationRefused, where nothing can be read.

    `opened` is called once nothing more is to be opened, which never comes for a folder.
    """
    name = plain_name(path.name)
    try:
        with contextlib.ExitStack() as held:
            files = _files(path, held, opened)
            total = sum(size for _, size, _ in files) or 1
            threads: dict[str, dict[str, object]] = {}
            done = 0
            for where, size, begin in files:
                report = _noting(note, done, total)
                own = _own(begin) if size > LARGEST // 4 else b""
                if own:
                    yield Found(plain_name(PurePosixPath(where).name), own=own)
                else:
                    yield from _in_file(where, begin, threads, report)
                done += size
    except Senseless as error:
        raise ConversationRefused(name, error.args[0]) from error
    except OSError as error:
        raise ConversationRefused(name, error.strerror or Translatable("it cannot be read")) from error
    except MemoryError as error:
        raise ConversationRefused(name, Translatable("there is not enough memory")) from error


def _own(opened: Callable[[], BinaryIO]) -> bytes:
    """Return a large file that Outrider exported, which may hold documents; b"" for another one."""
    try:
        with opened() as file:
            begun = file.read(1_000)
            return begun + file.read(LARGEST_FILE) if f'"{FORMAT}"'.encode() in begun else b""
    except (*_ZIP_ERRORS, OSError):
        return b""  # Whoever reads it next says so.


def _noting(note: Note, before: int, total: int) -> Callable[[int], None]:
    return lambda read: note(min((before + read) / total, 1.0))


def _files(path: Path, held: contextlib.ExitStack, done: Callable[[], None]) -> list[Opened]:
    if path.is_dir():
        return _of_folder(path)
    if not stat.S_ISREG(path.stat().st_mode):
        raise Senseless(Translatable("it cannot be read"))
    file = held.enter_context(path.open("rb"))
    if not zipfile.is_zipfile(file):
        size = path.stat().st_size
        done()
        return [(path.name, size, lambda: _again(file))]
    try:
        zip_directory(file)
        archive = held.enter_context(zipfile.ZipFile(file))
        done()
        return _of_archive(archive)
    except Senseless:
        raise
    except _ZIP_ERRORS as error:
        raise Senseless(Translatable("it is no ZIP archive that can be read")) from error


def _again(file: BinaryIO) -> BinaryIO:
    """Read an open file from its beginning: another one may not be opened any more."""
    os.lseek(file.fileno(), 0, os.SEEK_SET)
    return open(file.fileno(), "rb", closefd=False)


def _of_folder(folder: Path) -> list[Opened]:
    found: list[Opened] = []
    walked = 0
    for where, _, names in os.walk(folder):
        walked += 1 + len(names)
        if walked > _MOST_FILES:
            raise Senseless("it has more than {count} files", count=_MOST_FILES)
        for each in names:
            path = Path(where, each)
            with contextlib.suppress(OSError):
                # Neither pipes nor links: they may lead anywhere.
                if path.suffix.lower() in _SUFFIXES and stat.S_ISREG(path.lstat().st_mode):
                    found.append((str(path), path.lstat().st_size, _opener(path)))
    return sorted(found, key=_order)


def _opener(path: Path) -> Callable[[], BinaryIO]:
    return lambda: path.open("rb")


def _order(opened: Opened) -> tuple[str, bool, str]:
    # What describes a chat comes before its messages.
    path = PurePosixPath(opened[0])
    return str(path.parent), path.suffix.lower() == ".jsonl", path.name


def _of_archive(archive: zipfile.ZipFile) -> list[Opened]:
    entries = archive.infolist()
    if len(entries) > _MOST_FILES:
        raise Senseless("it has more than {count} files", count=_MOST_FILES)
    if any(_leads_out(each.filename) for each in entries):
        raise Senseless(Translatable("it names a file outside of its own folder"))
    wanted = [each for each in entries if each.filename.lower().endswith(_SUFFIXES)]
    bomb = any(each.file_size > max(_SMALL, _LARGEST_RATIO * each.compress_size) for each in wanted)
    if bomb or sum(each.file_size for each in wanted) > _LARGEST_ARCHIVE:
        raise Senseless(Translatable("it would unpack to far more than a chat has"))
    if any(each.flag_bits & 1 for each in wanted):
        raise Senseless(Translatable("it is protected by a password"))
    opened: list[Opened] = [(each.filename, each.file_size, _entry_opener(archive, each)) for each in wanted]
    return sorted(opened, key=_order)


def _entry_opener(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Callable[[], BinaryIO]:
    return lambda: archive.open(entry)  # type: ignore[return-value]  # it reads as one


def _leads_out(name: str) -> bool:
    parts = name.replace("\\", "/").split("/")
    return ".." in parts or name.startswith(("/", "\\")) or ":" in parts[0]


def zip_directory(file: BinaryIO) -> bytes:
    """Return an archive's list of files, as it stands there. Raises Senseless, before it is read, for a huge one."""
    size = file.seek(0, os.SEEK_END)
    begin = max(0, size - _ZIP_TAIL - _ZIP_END_SIZE - _ZIP64_LOCATOR_SIZE - _ZIP64_END_SIZE)
    file.seek(begin)
    tail = file.read()
    at = tail.rfind(_ZIP_END)
    count, directory = struct.unpack_from("<HL", tail, at + 10)
    locator = at - _ZIP64_LOCATOR_SIZE
    if locator >= _ZIP64_END_SIZE and tail.startswith(_ZIP64_LOCATOR, locator):
        at = locator - _ZIP64_END_SIZE
        count, directory = struct.unpack_from("<QQ", tail, at + 32)
    if count > _MOST_FILES or directory > _LARGEST_DIRECTORY:
        raise Senseless("it has more than {count} files", count=_MOST_FILES)
    file.seek(max(begin + at - directory, 0))
    return file.read(directory)


def _in_file(
    where: str, opened: Callable[[], BinaryIO], threads: dict[str, dict[str, object]], note: Callable[[int], None]
) -> Iterator[Found]:
    """Yield the chats of one file, and the damaged ones in their places; nothing of a file without any chat."""
    name, any_chat = plain_name(PurePosixPath(where).name), False
    damaged: list[Found] = []
    try:
        with opened() as file:
            for each in _gathered(Documents(file, note), threads):
                place, value = each
                found = _read(value, f"{name}, {place}")
                if found is None or found.reason:
                    damaged.append(found or Found(f"{name}, {place}", reason=Translatable("it is damaged")))
                else:
                    yield found
                any_chat |= found is not None
    except (Cancelled, ConversationRefused):
        raise
    except (*_ZIP_ERRORS, OSError) as error:
        reason = (error.strerror if isinstance(error, OSError) else "") or Translatable("it is damaged")
        damaged.append(Found(name, reason=reason))
        any_chat = True
    if any_chat:
        yield from damaged


def _sessions(values: Iterable[object]) -> Iterator[object]:
    """Yield values; the lines of each chat of llama.cpp's window, a head and messages, together as one."""
    messages: list[object] | None = None
    chat: dict[str, object] = {}
    for value in values:
        if is_session(value):
            if messages is not None:
                yield chat
            messages = []
            chat = {"conv": value, "messages": messages}
        elif messages is None:
            yield value
        elif isinstance(value, dict) and value.get("type") == "message" and len(messages) < _MOST_LINES:
            messages.append(value.get("message"))
    if messages is not None:
        yield chat


def _gathered(values: Iterable[object], threads: dict[str, dict[str, object]]) -> Iterator[tuple[int, object]]:
    """Yield chats with their places; lines, of which each is one message, together as one."""
    lines: list[object] = []
    for place, value in enumerate(_sessions(values), 1):
        if is_line(value) and len(lines) < _MOST_LINES:
            lines.append(value)
        elif is_thread(value) and isinstance(value, dict) and not value.get("messages"):
            threads[str(value.get("id"))] = value
        elif not lines or not isinstance(value, DamagedDocument):
            yield place, value
    by_thread: dict[str, list[object]] = {}
    for line in lines:
        by_thread.setdefault(str(line.get("thread_id", "")) if isinstance(line, dict) else "", []).append(line)
    for number, (thread, its) in enumerate(by_thread.items(), 1):
        yield number, {"lines": its, "thread": threads.get(thread, {"id": thread})}


def _read(value: object, place: str) -> Found | None:
    """Return the chat in a value, or the reason why it cannot be read; None if it is none."""
    if isinstance(value, dict) and value.get("format") == FORMAT:
        return Found(place, own=json.dumps(value).encode())
    layout: Layout | None = layout_of(value)
    if layout is None or not isinstance(value, dict):
        return None
    try:
        chat = layout.read(value)
    except (TypeError, ValueError, KeyError, AttributeError, IndexError, RecursionError):
        # It has the shape of a chat, and something within is of no kind that anybody thought of.
        return Found(place, reason=Translatable("it is damaged"))
    return Found(chat.title or place, layout.name, chat)
