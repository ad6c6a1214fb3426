"""Clients that say nothing, take nothing or are gone: nobody waits for them, and they keep nobody out."""

import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any

import pytest

from engine.decoder import SpeculativeDecoder
from engine.server.connection import ConnectionLimits
from engine.server.guard import Limits
from helpers.decoding.serving import asked, served

LONG = {"prompt": "Once", "max_tokens": 1900, "logit_bias": {"4": -100}}
HEAD = b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
GOOD = json.dumps({"prompt": "Once", "max_tokens": 2}).encode()
MOST = 20


@pytest.fixture(scope="module")
def url(decoder: SpeculativeDecoder) -> Iterator[str]:
    limits = Limits(body_seconds=20.0)
    with served(decoder, limits, connections=ConnectionLimits(MOST, head=1.0, taken=1.0)) as address:
        for path, body in (("/v1/completions", GOOD), ("/tokenize", b'{"content": "a"}')):
            assert asked(address, path, body)[0] == 200
        yield address


def connected(url: str, *, receive_bytes: int | None = None) -> socket.socket:
    host, port = url.removeprefix("http://").rsplit(":", 1)
    made = socket.socket()
    if receive_bytes is not None:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    made.settimeout(20)
    made.connect((host, int(port)))
    return made


def request(body: Any) -> bytes:
    data = json.dumps(body).encode()
    return HEAD + f"Content-Length: {len(data)}\r\n\r\n".encode() + data


def is_over(connection: socket.socket) -> bool:
    """True if the server ends a connection, with or without a word."""
    with suppress(ConnectionError):
        while connection.recv(65_536):
            pass
    return True


def turns(url: str) -> tuple[int, int]:
    """How many replies run and wait."""
    lines = asked(url, "/metrics")[1].splitlines()
    told = [int(line.rsplit(" ", 1)[1]) for line in lines if line.startswith("vllm:num_requests_")]
    return told[0], told[1]


@pytest.mark.parametrize("begun", [b"", b"G", HEAD, HEAD + b"Content-Length: 50\r\n\r\n{"])
def test_silent_sockets_keep_nobody_out(url: str, begun: bytes) -> None:
    with ExitStack() as held:
        silent = [held.enter_context(connected(url)) for _ in range(3 * MOST)]
        for each in silent:
            with suppress(ConnectionError):
                each.sendall(begun)
        for _ in range(5):
            assert asked(url, "/health")[0] == 200
        assert asked(url, "/v1/completions", GOOD)[0] == 200
        if b"\r\n\r\n" not in begun:  # The body has a time of its own.
            assert all(is_over(each) for each in silent)


def test_connections_leave_files_for_the_rest_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    resource = pytest.importorskip("resource")
    for files, most in ((256, 128), (1024, 512), (10**6, 512), (-1, 512), (1, 1)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, files=files: (files, -1))
        assert ConnectionLimits().most == most


def test_a_head_must_come_in_time_however_it_drips(url: str) -> None:
    with connected(url) as first, connected(url) as again:
        again.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b" 200 " in again.recv(65_536)
        for dripping in (first, again):
            with pytest.raises(ConnectionError):  # noqa: PT012 - it is not known at which letter
                for letter in b"X" * 200:
                    dripping.sendall(bytes([letter]))
                    time.sleep(0.05)


def test_a_body_that_nobody_wants_holds_no_connection(url: str) -> None:
    with connected(url) as asking:
        asking.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n")
        assert is_over(asking)


def test_whoever_takes_nothing_of_an_answer_is_let_go(url: str) -> None:
    data = json.dumps({"content": "a b " * 60_000, "with_pieces": True}).encode()
    with connected(url, receive_bytes=2048) as asking:
        asking.sendall(HEAD.replace(b"/v1/completions", b"/tokenize"))
        asking.sendall(f"Content-Length: {len(data)}\r\n\r\n".encode() + data)
        first = asking.recv(1000)
        length = int(first.partition(b"content-length: ")[2].split(b"\r\n")[0])
        time.sleep(2.5)
        taken = len(first)
        with suppress(ConnectionError):
            while more := asking.recv(65_536):
                taken += len(more)
        assert taken < length


def test_whoever_takes_it_slowly_gets_all(url: str) -> None:
    data = json.dumps({"content": "a b " * 60_000, "with_pieces": True}).encode()
    with connected(url) as asking:
        asking.sendall(HEAD.replace(b"/v1/completions", b"/tokenize"))
        asking.sendall(f"Content-Length: {len(data)}\r\n\r\n".encode() + data)
        taken, rests = bytearray(), 0
        while b"max_model_len" not in taken[-100:]:
            more = asking.recv(65_536)
            assert more
            taken += more
            if len(taken) > 400_000 * rests:
                time.sleep(0.2)
                rests += 1
    assert rests * 0.2 > 1.0, "longer than nothing may be taken"
    assert json.loads(taken.partition(b"\r\n\r\n")[2])["count"] > 100_000


def test_where_all_are_at_work_new_connections_are_refused(decoder: SpeculativeDecoder) -> None:
    with (
        served(decoder, Limits(), connections=ConnectionLimits(2)) as address,
        connected(address) as first,
        connected(address) as second,
    ):
        first.sendall(request({**LONG, "stream": True}))
        assert b" 200 " in first.recv(1000)
        second.sendall(request(LONG))
        time.sleep(0.2)
        status, answer = asked(address, "/health")
        assert (status, answer["error"]["type"]) == (503, "server_error")
        second.close()
        deadline = time.monotonic() + 20
        while asked(address, "/health")[0] != 200:
            assert time.monotonic() < deadline


@pytest.mark.parametrize("stream", [False, True])
def test_requests_whose_clients_are_gone_leave_the_queue(url: str, stream: bool) -> None:
    with ExitStack() as held:
        writing = held.enter_context(connected(url))
        writing.sendall(request({**LONG, "stream": True}))
        assert b" 200 " in writing.recv(1000)
        waiting = [held.enter_context(connected(url)) for _ in range(5)]
        for each in waiting:
            each.sendall(request({**LONG, "stream": stream}))
        deadline = time.monotonic() + 20
        while turns(url)[1] < 5:
            assert time.monotonic() < deadline
        for each in waiting:
            each.close()
        while turns(url)[1]:
            assert time.monotonic() < deadline
        assert turns(url)[0] == 1, "the reply of the one who is there goes on"
    while turns(url) != (0, 0):
        assert time.monotonic() < deadline
