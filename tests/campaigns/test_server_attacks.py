"""The local server is attacked: malformed requests, slow connections, huge bodies, guessed keys, names of others.

It stays up within its memory, and good requests are answered meanwhile.
"""

import json
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Self

import psutil
import pytest

from helpers.campaigns import Campaign
from helpers.paths import ROOT

pytestmark = [pytest.mark.soak, pytest.mark.timeout(0)]
REQUESTS, SLOW = 10_000, 200
MINUTES, SILENT, LEAVING = 10, 600, 64
MOST_GROWTH_IN_MINUTES = 50 * 2**20
ANSWERED_WITHIN_S = 120.0
MOST_GROWTH = 100 * 2**20
KEY = "correct-horse"
GOOD = json.dumps({"messages": [{"role": "user", "content": "Hello!"}], "max_tokens": 3}).encode()
PATHS = [
    "/v1/chat/completions",
    "/v1/completions",
    "/v1/models",
    "/health",
    "/metrics",
    "/v1/responses",
    "/v1/messages",
    "/v1/messages/count_tokens",
    "/v1/embeddings",
    "/tokenize",
    "/detokenize",
    "/infill",
    "/v1/models/../../etc/passwd",
    "/../../etc/passwd",
    "/%2e%2e/",
]
VALUES: list[Any] = [
    None,
    True,
    -1,
    0,
    1e308,
    "x" * 5000,
    [],
    {},
    [[[]]],
    {"a": {"b": []}},
    "\u0000",
    "\ud800",
    2**70,
    float("nan"),
]
FIELDS = [
    *("messages", "prompt", "model", "stream", "temperature", "top_p", "max_tokens", "stop", "seed", "logit_bias", "n"),
    *("logprobs", "top_logprobs", "response_format", "tools", "tool_choice", "stream_options", "reasoning_effort"),
    *("input", "instructions", "text", "reasoning", "include", "system", "thinking", "stop_sequences", "content"),
    *("tokens", "input_prefix", "input_suffix", "input_extra", "n_predict", "encoding_format", "dimensions"),
]
NEARLY: list[dict[str, Any]] = [
    {"max_tokens": 1},
    {"input": [{"type": "message", "role": "user", "content": [{"type": "input_text"}]}], "max_output_tokens": 1},
    {"input": [{"type": "function_call"}, {"type": "function_call_output", "output": [{}]}, {"type": "reasoning"}]},
    {"messages": [{"role": "user", "content": [{"type": "tool_result", "content": [{"text": 1}]}]}], "max_tokens": 1},
    {"messages": [{"role": "assistant", "content": [{"type": "tool_use", "input": "x"}]}], "max_tokens": 1},
    {"messages": [{"role": "user", "content": "a"}], "tools": [{"name": 1, "input_schema": []}], "max_tokens": 1},
    {"tokens": [10**30, -1]},
    {"input": ["a", ["b"]], "model": "../../x"},
    {"input_prefix": "a", "input_extra": [{"filename": {}, "text": []}], "n_predict": 1},
]


class Address:
    """Where the server is, and how it is asked by hand."""

    def __init__(self, port: int) -> None:
        self.port = port

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), 20)

    def ask(self, data: bytes) -> str:
        try:
            with self.connect() as connection:
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
                answer = connection.recv(4096)
        except OSError as error:
            return type(error).__name__
        return answer[9:12].decode("ascii", "replace") if answer.startswith(b"HTTP/1.1 ") else "closed"

    def good(self) -> str:
        """Send a request that is to be answered."""
        return self._post(GOOD, f"Authorization: Bearer {KEY}\r\nUser-Agent: good\r\n")

    def leave(self, drawn: random.Random, name: str) -> None:
        """Ask for a reply, and go away at some moment: before it, in the middle, or when all of it has come."""
        body = json.dumps(json.loads(GOOD) | {"max_tokens": 24, "stream": drawn.random() < 0.7}).encode()
        head = (
            f"POST {PATHS[0]} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nUser-Agent: {name}\r\n"
        )
        sent = f"{head}Authorization: Bearer {KEY}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
        with self.connect() as connection:
            connection.sendall(sent if drawn.random() < 0.9 else sent[: drawn.randrange(len(sent))])
            connection.settimeout(drawn.choice([0.001, 0.1, 1.0, 5.0]))
            with suppress(TimeoutError):
                for _piece in range(drawn.choice([0, 1, 3, 50])):
                    if not connection.recv(4096):
                        break
            if drawn.random() < 0.5:  # Not with an orderly end.
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def _post(self, body: bytes, more: str = "", path: str = PATHS[0]) -> str:
        head = (
            f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n{more}"
        )
        with self.connect() as connection:
            connection.settimeout(120)
            connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            return connection.recv(4096)[9:12].decode()


@contextmanager
def serving(folder: Path) -> Iterator[tuple[Address, psutil.Process]]:
    """Serve the bundled pair with a key."""
    key = folder / "key"
    key.write_text(KEY, "utf-8")
    command = [sys.executable, "-m", "engine", "serve", "--port", "0", "--api-key-file", str(key)]
    log = folder / "log"
    with log.open("wb") as errors, subprocess.Popen(command, cwd=ROOT, stderr=errors) as process:
        try:
            while not (found := re.search(r"http://127\.0\.0\.1:(\d+)/v1", log.read_text("utf-8"))):
                assert process.poll() is None, log.read_text("utf-8")
            yield Address(int(found[1])), psutil.Process(process.pid)
            assert process.poll() is None, log.read_text("utf-8")[-2000:]
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)
    said = log.read_text("utf-8")
    assert "Traceback" not in said, said[-2000:]
    assert KEY not in said


def malformed(drawn: random.Random) -> bytes:
    """Return a request that is wrong somewhere, or nearly right."""
    kind = drawn.randrange(5)
    if kind == 0:
        return drawn.randbytes(drawn.randrange(1, 400))
    body = json.dumps(
        {drawn.choice(FIELDS): drawn.choice(VALUES) for _ in range(drawn.randrange(1, 6))}
        | (
            {
                "messages": [{"role": drawn.choice(["user", "tool", "x"]), "content": drawn.choice(VALUES)}],
                "max_tokens": 1,
            }
            if drawn.random() < 0.5
            else drawn.choice(NEARLY)
        )
    ).encode()
    lines = [
        f"{drawn.choice(['POST', 'POST', 'GET', 'PUT', 'OPTIONS', 'X' * 50])} {drawn.choice(PATHS)} HTTP/1.1",
        f"Host: {drawn.choice(['localhost', 'localhost', 'evil.example', '', '[::1', '127.0.0.1:x'])}",
        f"Content-Type: {drawn.choice(['application/json', 'application/json', 'text/plain', ''])}",
        f"Authorization: Bearer {drawn.choice([KEY, KEY, 'guess', ''])}",
        f"Content-Length: {drawn.choice([len(body), len(body), len(body) + 9, 10**12, -1, 'x'])}",
    ]
    if drawn.random() < 0.1:
        lines.append("X: " + "y" * drawn.choice([10, 70_000]))
    data = "\r\n".join(lines).encode() + b"\r\n\r\n" + body
    if kind == 1:
        data = data[: drawn.randrange(len(data))]
    elif kind == 2:
        place = drawn.randrange(len(data))
        data = data[:place] + drawn.randbytes(3) + data[place + 3 :]
    return data


def test_the_server_stands(tmp_path: Path, campaign: Campaign) -> None:
    drawn, seen = random.Random(campaign.seed), Counter[str]()
    with serving(tmp_path) as (address, process):
        assert address.good() == "200"
        for _ in range(50):
            address.ask(malformed(drawn))
        before = process.memory_info().rss
        for number in range(campaign.tries(REQUESTS)):
            seen[address.ask(malformed(drawn))] += 1
            if number % 500 == 0:
                assert address.good() == "200"
        slow = [address.connect() for _ in range(SLOW)]
        for number, connection in enumerate(slow):
            connection.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n"[: 10 + number % 40])
        assert address.good() == "200"
        for connection in slow:
            connection.close()
        sent = _flood(address)
        assert address.good() == "200"
        guesses = Counter(address.ask(_guess(drawn)) for _ in range(300))
        grown = process.memory_info().rss - before
        campaign.note(answers=dict(seen), bytes_of_a_huge_body_that_were_taken=sent, grown_mib=round(grown / 2**20, 1))
        assert set(guesses) == {"401"}
        assert "500" not in seen
        assert grown < MOST_GROWTH


class Crowd:
    """Whoever does something to a server on threads of their own, until the block ends."""

    def __init__(self) -> None:
        self._over = threading.Event()
        self._threads: list[threading.Thread] = []
        self.failed: list[BaseException] = []

    def let(self, act: Callable[[], None], pause_s: float = 0.0) -> None:
        """Have something done again and again. A server that is too busy for a connection refuses it: no failure."""

        def go_on() -> None:
            while not self._over.wait(pause_s):
                try:
                    act()
                except OSError:
                    continue
                except BaseException as error:  # noqa: BLE001 - the test looks at it
                    self.failed.append(error)
                    return

        self._threads.append(threading.Thread(target=go_on, daemon=True))
        self._threads[-1].start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_failure: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(ANSWERED_WITHIN_S)
        assert not any(thread.is_alive() for thread in self._threads)
        assert not self.failed, self.failed[0]


class Silent:
    """Sockets that say nothing, or begin and say no more; those that the server closes are opened again."""

    def __init__(self, address: Address, count: int, drawn: random.Random) -> None:
        self._address, self._drawn = address, drawn
        self._sockets: list[socket.socket | None] = [None] * count
        self._place = 0
        self.opened = 0

    def tend(self) -> None:
        """Look at the next one."""
        self._place = (self._place + 1) % len(self._sockets)
        now = self._sockets[self._place]
        if now is not None:
            now.setblocking(False)
            try:
                if now.recv(4096):
                    return
            except BlockingIOError:
                return
            except OSError:
                pass
            now.close()
        self._sockets[self._place] = None
        made = self._address.connect()
        begun = b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{"
        made.sendall(begun[: self._drawn.choice([0, 0, 1, 30, 60, len(begun)])])
        self._sockets[self._place] = made
        self.opened += 1

    def close(self) -> None:
        for each in self._sockets:
            if each is not None:
                each.close()


def test_ten_minutes_of_everything_at_once(tmp_path: Path, campaign: Campaign) -> None:
    """Good requests are answered in their turn all the while, and memory is what it was."""
    drawn = [random.Random(f"{campaign.seed} {name}") for name in range(LEAVING + 2)]
    seconds, attacks = 60 * MINUTES * campaign.share, campaign.tries(REQUESTS)
    seen, waits = Counter[str](), list[float]()
    with serving(tmp_path) as (address, process):
        silent = Silent(address, SILENT, drawn[0])

        def attack() -> None:
            seen[address.ask(malformed(drawn[1]))] += 1

        def leave(number: int) -> None:
            address.leave(drawn[number + 2], f"leaving {number}")

        def crowd(seconds: float) -> int:
            """Have everything done for so long; return the most memory that was held."""
            most, end = 0, time.monotonic() + seconds
            with Crowd() as them:
                them.let(silent.tend, 0.002)
                them.let(attack, seconds / attacks / 2)
                for number in range(LEAVING):
                    them.let(partial(leave, number), 0.05)
                while time.monotonic() < end or sum(seen.values()) < attacks:
                    began = time.monotonic()
                    assert address.good() == "200"
                    waits.append(time.monotonic() - began)
                    most = max(most, process.memory_info().rss)
                    time.sleep(0.5)
            return most

        seen["warm"] += attacks
        crowd(min(30.0, seconds / 4))
        seen.clear()
        waits.clear()
        before = process.memory_info().rss
        most = crowd(seconds)
        silent.close()
        assert address.good() == "200"
        grown, after = most - before, process.memory_info().rss - before
    campaign.note(
        answers=dict(seen),
        silent_sockets=silent.opened,
        good=len(waits),
        longest_wait_s=round(max(waits), 1),
        most_grown_mib=round(grown / 2**20, 1),
        grown_mib=round(after / 2**20, 1),
    )
    assert "500" not in seen
    assert max(waits) < ANSWERED_WITHIN_S
    assert grown < MOST_GROWTH_IN_MINUTES


def _flood(address: Address) -> int:
    """Send a body of a gigabyte in chunks, and return how much of it was taken."""
    head = f"POST {PATHS[0]} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    head += f"Authorization: Bearer {KEY}\r\n"
    sent, chunk = 0, b"10000\r\n" + b"a" * 65536 + b"\r\n"
    with address.connect() as connection, suppress(OSError):
        connection.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        while sent < 2**30:
            connection.sendall(chunk)
            sent += 65536
    return sent


def _guess(drawn: random.Random) -> bytes:
    guess = "".join(drawn.choices("abcdefgh-", k=len(KEY)))
    return f"GET /v1/models HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {guess}\r\n\r\n".encode()
