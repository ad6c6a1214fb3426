"""A server that answers as a test writes it down: byte by byte, slowly, wrongly, or not at all."""

import json
import socket
import struct
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

CUT = object()
"""The connection is reset here."""
HANG = object()
"""Nothing more comes, until the other side or the test ends."""
Step = bytes | float | object
"""Bytes to send, seconds to wait, CUT or HANG."""
MODELS: dict[str, Any] = {"object": "list", "data": [{"id": "one", "object": "model"}]}


@dataclass
class Asked:
    """A request as it came."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


def answer(content: bytes, *, status: int = 200, kind: str = "application/json", more: str = "") -> bytes:
    head = f"HTTP/1.1 {status} Told\r\nContent-Type: {kind}\r\nContent-Length: {len(content)}\r\n{more}\r\n"
    return head.encode() + content


def as_json(value: Any, status: int = 200, more: str = "") -> list[Step]:
    return [answer(json.dumps(value).encode(), status=status, more=more)]


def stream(pieces: Iterable[Any], *, done: bool = True) -> list[Step]:
    """A stream of events that ends properly; what is no JSON value of ours is a step of its own."""
    steps: list[Step] = [b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"]
    steps += [each if isinstance(each, float) or each in (CUT, HANG) else chunk(each) for each in pieces]
    return [*steps, chunk("[DONE]"), b"0\r\n\r\n"] if done else steps


def chunk(value: Any) -> bytes:
    """One event in one chunk; text and bytes as they are."""
    said = value if isinstance(value, str) else value.decode() if isinstance(value, bytes) else json.dumps(value)
    data = (said if isinstance(value, bytes) else f"data: {said}\n\n").encode()
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def piece(text: str = "", *, finish: str | None = None, thought: str = "", **more: Any) -> dict[str, Any]:
    """A piece of a chat as OpenAI's interface has it."""
    delta = {"content": text} | ({"reasoning_content": thought} if thought else {})
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}


@dataclass
class Scripted:
    """A server on a free port of this machine. `script`: the steps of the answer to each path; asked: what came."""

    script: dict[str, Sequence[Step]] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)

    def __enter__(self) -> Self:
        self.script.setdefault("/v1/models", as_json(MODELS))
        self._over = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._threads = [threading.Thread(target=self._serve)]
        self._threads[0].start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for thread in self._threads:
            thread.join(10)
            assert not thread.is_alive()

    def chats(self, *steps: Step) -> None:
        """Answer chats so."""
        self.script["/v1/chat/completions"] = steps

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._answer, args=(client,))
            self._threads.append(thread)
            thread.start()

    def _answer(self, client: socket.socket) -> None:
        with client, suppress(OSError):
            client.settimeout(10)
            asked = _read(client)
            if asked is None:
                return
            self.asked.append(asked)
            for step in self.script.get(asked.path, as_json({"error": {"message": "no such path"}}, 404)):
                if step is CUT:
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    return
                if step is HANG:
                    self._hang(client)
                    return
                if isinstance(step, float):
                    self._over.wait(step)
                elif isinstance(step, bytes):
                    client.sendall(step)
            client.shutdown(socket.SHUT_WR)

    def _hang(self, client: socket.socket) -> None:
        client.settimeout(0.05)
        while not self._over.is_set():
            with suppress(TimeoutError):
                if not client.recv(1):
                    return


def _read(client: socket.socket) -> Asked | None:
    data = b""
    while b"\r\n\r\n" not in data:
        more = client.recv(65_536)
        if not more:
            return None
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    while len(body) < int(headers.get("content-length", "0")):
        body += client.recv(65_536)
    method, path, _ = first.split(" ")
    return Asked(method, path, headers, json.loads(body) if body else None)
