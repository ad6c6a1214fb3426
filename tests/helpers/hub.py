"""A hub on this machine that speaks Hugging Face's protocol; a second server has the files, and faults."""

import hashlib
import json
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self, cast
from urllib.parse import parse_qs, unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"
_PIECE = 65536


@dataclass
class Fault:
    """What goes wrong with one answer of the server that has the files.

    `status`: with these headers, in place of the file; `cut`: after so many bytes, by a reset where `reset`; `speed`:
    bytes a second; `body`: in place of the file's; `whole`: ranges are not known; `changes`: what the file is from
    then on; `lies`: the ranges' headers are those of the file before.
    """

    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: int | None = None
    reset: bool = False
    speed: float | None = None
    body: bytes | None = None
    whole: bool = False
    changes: bytes | None = None


@dataclass
class Asked:
    """A request as it came. `server`: hub or files."""

    server: str
    path: str
    headers: Mapping[str, str]


@dataclass
class LocalHub:
    """Both servers. `files`: what each repository has; `faults`: of the next answers with files; `asked`: what came.

    `sent`: for each file the ranges that went out, as first byte and count; `lfs`: whether files have a sha256;
    `mirror`: it knows less than the public hub;
    `token`: needed for files, where it is not None; `listed`: checksums that the listing tells in place of the right.
    """

    files: dict[str, dict[str, bytes]] = field(default_factory=dict)
    faults: deque[Fault] = field(default_factory=deque)
    asked: list[Asked] = field(default_factory=list)
    sent: list[tuple[str, int, int]] = field(default_factory=list)
    listed: dict[str, str] = field(default_factory=dict)
    token: str | None = None
    linked: bool = True
    pages: int = 0
    mirror: bool = False
    out: int = 0
    licence: str = "apache-2.0"
    hub_faults: deque[Fault] = field(default_factory=deque)
    other: dict[str, Callable[[], tuple[int, dict[str, str], bytes]]] = field(default_factory=dict)

    def __enter__(self) -> Self:
        self._servers = [_Server(("127.0.0.1", 0), handler) for handler in (_HubHandler, _FilesHandler)]
        for server in self._servers:
            server.hub = self
        self._threads = [
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}) for server in self._servers
        ]
        for thread in self._threads:
            thread.start()
        self.url, self.files_url = (f"http://127.0.0.1:{server.server_port}" for server in self._servers)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for server, thread in zip(self._servers, self._threads, strict=True):
            server.shutdown()
            thread.join(10)
            server.server_close()

    def most_again(self, path: str) -> int:
        """Bytes of a file that one answer sent though an earlier one had sent them, at most."""
        again, reached = 0, 0
        for start, end in sorted((start, start + count) for name, start, count in self.sent if name == path):
            again = max(again, min(reached, end) - start)
            reached = max(reached, end)
        return again


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    hub: LocalHub

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Whoever went away is no news."""


class _Handler(BaseHTTPRequestHandler):
    name = ""

    @property
    def hub(self) -> LocalHub:
        return cast("_Server", self.server).hub

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name there
        """Say nothing."""

    def note(self) -> None:
        self.hub.asked.append(Asked(self.name, self.path, dict(self.headers.items())))

    def answer(self, status: int, headers: Mapping[str, str], body: bytes = b"") -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def tell(self, value: Any, headers: Mapping[str, str] | None = None) -> None:
        self.answer(200, {"Content-Type": "application/json", **(headers or {})}, json.dumps(value).encode())


class _HubHandler(_Handler):
    name = "hub"

    def do_GET(self) -> None:
        self.note()
        if self.hub.hub_faults:
            fault = self.hub.hub_faults.popleft()
            if fault.status:
                return self.answer(fault.status, fault.headers, fault.body or b"")
        parts = urlsplit(self.path)
        path = unquote(parts.path)
        if path in self.hub.other:
            return self.answer(*self.hub.other[path]())
        if path == "/api/models":
            return self._search(parse_qs(parts.query).get("search", [""])[0])
        name, found = self._repository(path.removeprefix("/api/models/"))
        if found is None:
            error = {"X-Error-Code": "RepoNotFound", "X-Error-Message": "Repository not found"}
            return self.answer(401, error, b'{"error":"Repository not found"}')
        if path.startswith("/api/models/"):
            return self._listing(path, name, found, parts.query)
        return self._resolve(path, name, found)

    def _repository(self, path: str) -> tuple[str, dict[str, bytes] | None]:
        name = "/".join(path.strip("/").split("/")[:2])
        return name, self.hub.files.get(name)

    def _search(self, words: str) -> None:
        found = [name for name in self.hub.files if all(word in name.lower() for word in words.lower().split())]
        self.tell([{
            "id": name, "downloads": 1000 - place, "likes": 3, "gated": "auto" if self.hub.token else False,
            "tags": ["gguf", f"license:{self.hub.licence}"],
            "siblings": [{"rfilename": path} for path in self.hub.files[name]],
        } for place, name in enumerate(found)])  # fmt: skip

    def _listing(self, path: str, name: str, files: dict[str, bytes], query: str) -> None:
        base = f"/api/models/{name}"
        if self.hub.mirror and path == base:
            return self.tell({"id": name, "sha": COMMIT, "siblings": [{"rfilename": each} for each in files]})
        if self.hub.mirror and path == f"{base}/tree/main":
            return self.tell([
                {"type": "file", "path": each, "size": len(data), "lfs": {"oid": sha256(data), "size": len(data)}}
                for each, data in files.items()
            ])  # fmt: skip
        if self.hub.mirror:
            return self.answer(404, {}, b"{}")
        if path.startswith(f"{base}/revision/"):
            told = {"id": name, "sha": COMMIT, "gated": False, "cardData": {"license": self.hub.licence}}
            siblings = [self._sibling(each, data) for each, data in files.items()]
            if self.hub.pages:
                siblings = [{"rfilename": each["rfilename"]} for each in siblings]
            return self.tell({**told, "siblings": siblings})
        if path == f"{base}/tree/{COMMIT}":
            first = int(parse_qs(query).get("cursor", ["0"])[0])
            entries = [
                {"type": "file", "path": each, "size": len(data), "oid": _blob(data), "lfs": self._lfs(each, data)}
                for each, data in files.items()
            ][first : first + self.hub.pages]
            after = first + self.hub.pages
            link = f'<{self.hub.url}{base}/tree/{COMMIT}?recursive=true&cursor={after}>; rel="next"'
            return self.tell(entries, {"Link": link} if after < len(files) else {})
        return self.answer(404, {}, b"{}")

    def _sibling(self, path: str, data: bytes) -> dict[str, Any]:
        told: dict[str, Any] = {"rfilename": path, "size": len(data), "blobId": _blob(data)}
        return told | ({"lfs": self._lfs(path, data)} if path.endswith((".gguf", ".safetensors")) else {})

    def _lfs(self, path: str, data: bytes) -> dict[str, Any]:
        return {"sha256": self.hub.listed.get(path, sha256(data)), "size": len(data), "pointerSize": 134}

    def _resolve(self, path: str, name: str, files: dict[str, bytes]) -> None:
        if self.hub.token is not None and self.headers.get("Authorization") != f"Bearer {self.hub.token}":
            return self.answer(401, {"X-Error-Code": "GatedRepo", "X-Error-Message": "Access to it is restricted."})
        inside = path.removeprefix(f"/{name}/resolve/").partition("/")[2]
        data = files.get(inside)
        if data is None:
            return self.answer(404, {"X-Error-Code": "EntryNotFound"})
        headers = {
            "X-Repo-Commit": COMMIT,
            "Location": f"{self.hub.files_url}/{name}/{inside}?signature={time.time_ns()}",
        }
        if self.hub.linked:
            headers |= {"X-Linked-Size": str(len(data)), "X-Linked-ETag": f'"{sha256(data)}"'}
        return self.answer(302, headers)


class _FilesHandler(_Handler):
    name = "files"

    def do_GET(self) -> None:
        self.note()
        owner, repository, inside = unquote(urlsplit(self.path).path).strip("/").split("/", 2)
        held = self.hub.files[f"{owner}/{repository}"]
        fault = self.hub.faults.popleft() if self.hub.faults else Fault()
        if fault.changes is not None:
            held[inside] = fault.changes
        if fault.status:
            return self.answer(fault.status, fault.headers)
        data = held[inside] if fault.body is None else fault.body
        tag = f'"{hashlib.md5(data, usedforsecurity=False).hexdigest()}"'
        first, last = self._range(len(data), tag, whole=fault.whole)
        if first is not None and first >= len(data):
            return self.answer(416, {"Content-Range": f"bytes */{len(data)}"})
        start = first or 0
        headers = {"ETag": tag, "Accept-Ranges": "bytes", "Content-Length": str(last + 1 - start), **fault.headers}
        if first is not None:
            headers.setdefault("Content-Range", f"bytes {start}-{last}/{len(data)}")
        self.send_response(200 if first is None else 206)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self._send(inside, data[start : last + 1], start, fault)
        return None

    def _range(self, size: int, tag: str, *, whole: bool) -> tuple[int | None, int]:
        told = self.headers.get("Range")
        if told is None or whole or self.headers.get("If-Range", tag) != tag:
            return None, size - 1
        first, _, last = told.removeprefix("bytes=").partition("-")
        if not first:
            return max(size - int(last), 0), size - 1
        return int(first), min(int(last or size - 1), size - 1)

    def _send(self, inside: str, data: bytes, start: int, fault: Fault) -> None:
        end = len(data) if fault.cut is None else min(fault.cut, len(data))
        done = 0
        with suppress(OSError):
            while done < end:
                piece = data[done : min(done + _PIECE, end)]
                self.wfile.write(piece)
                done += len(piece)
                self.hub.out += len(piece)
                if fault.speed:
                    time.sleep(len(piece) / fault.speed)
        self.hub.sent.append((inside, start, done))
        if fault.cut is not None:
            if fault.reset:
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True


def sha256(data: bytes) -> str:
    """The checksum of a file."""
    return hashlib.sha256(data).hexdigest()


def _blob(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
