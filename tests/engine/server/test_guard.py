"""Keys, web pages, ports and bodies that the server takes or refuses: each with a status and words of its own."""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.cli.main import main
from engine.decoder import SpeculativeDecoder
from engine.errors import InvalidRequest
from engine.server.guard import Limits
from engine.server.local import ServerAddress
from engine.server.registry import ModelRegistry
from engine.system import ports
from helpers.decoding.serving import asked, served
from helpers.paths import ROOT

QUESTION: Any = [{"role": "user", "content": "Hi"}]
HALF = "\ud83d"


@pytest.fixture(scope="module")
def url(decoder: SpeculativeDecoder) -> Iterator[str]:
    with served(decoder, Limits()) as address:
        for path, body in (("/v1/completions", {"prompt": "a", "max_tokens": 1}), ("/tokenize", {"content": "a"})):
            assert asked(address, path, json.dumps(body).encode())[0] == 200
        yield address


def raw(url: str, head: bytes) -> tuple[int, dict[str, str], bytes]:
    """Ask with bytes of one's own; return the status, the headers and the body."""
    host, port = url.removeprefix("http://").rsplit(":", 1)
    with socket.create_connection((host, int(port)), 20) as connection:
        connection.sendall(head + b"Connection: close\r\n\r\n")
        data = b""
        while more := connection.recv(65_536):
            data += more
    told, _, body = data.partition(b"\r\n\r\n")
    first, *lines = told.decode("latin-1").split("\r\n")
    return int(first.split(" ")[1]), dict(line.lower().split(": ", 1) for line in lines), body


@pytest.mark.parametrize("key", ["schlüssel", "clé à moi", "ключ", "鍵", "€uro", " blanks around ", "plain"])
def test_a_key_fits_in_whatever_letters_it_is_written(key: str) -> None:
    with served(ModelRegistry(), Limits(key=key)) as address:
        ask = b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\n"
        sent = [key.strip().encode()]
        if all(ord(letter) < 256 for letter in key):
            sent.append(key.strip().encode("latin-1"))
        for form in sent:
            assert raw(address, ask + b"Authorization: Bearer " + form + b"\r\n")[0] == 200
            assert raw(address, ask + b"X-Api-Key: " + form + b"\r\n")[0] == 200
            for wrong in (form[:-1], form + b"x", b"?" + form[1:]):
                assert raw(address, ask + b"Authorization: Bearer " + wrong + b"\r\n")[0] == 401
        assert raw(address, ask)[0] == 401


def test_keys_that_no_request_can_have_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "key").write_text("one\ntwo\n")
    assert main(["serve", "--port", "0", "--api-key-file", str(tmp_path / "key")]) == 2
    assert "in one line" in capsys.readouterr().err
    for host, key in (("127.0.0.1", "one\ntwo"), ("0.0.0.0", "   ")):  # noqa: S104 - it is refused
        with pytest.raises(InvalidRequest):
            ServerAddress(host, 0, key)


@pytest.mark.parametrize(
    ("allowed", "origin"),
    [
        ("https://example.org/", "https://example.org"),
        ("HTTPS://Example.ORG", "https://example.org"),
        ("https://example.org:443", "https://example.org"),
        ("http://example.org:80/", "http://example.org"),
        ("http://localhost:3000/", "http://localhost:3000"),
        ("https://münchen.example", "https://xn--mnchen-3ya.example"),
        ("http://[::1]:3000", "http://[::1]:3000"),
        ("app://obsidian.md", "app://obsidian.md"),
        ("null", "null"),
        ("*", "https://whoever.example"),
        ("*", "null"),
    ],
)
def test_a_page_that_is_allowed_reads_answers_and_refusals(allowed: str, origin: str) -> None:
    ask = f"GET /v1/models HTTP/1.1\r\nHost: localhost\r\nOrigin: {origin}\r\n".encode()
    with served(ModelRegistry(), Limits(key="right", origins=(allowed,))) as address:
        for more, status in ((b"Authorization: Bearer right\r\n", 200), (b"", 401)):
            told, headers, _ = raw(address, ask + more)
            assert told == status
            assert headers["access-control-allow-origin"] in (origin, "*")
        posts = ask.replace(b"GET", b"POST") + b"Authorization: Bearer right\r\nContent-Length: 0\r\n"
        told, headers, _ = raw(address, posts)
        assert (told, "access-control-allow-origin" in headers) == (415, True)
        before = ask.replace(b"GET", b"OPTIONS") + b"Access-Control-Request-Method: POST\r\n"
        assert raw(address, before + b"Access-Control-Request-Headers: authorization\r\n")[0] == 200


def test_other_pages_stay_out() -> None:
    ask = b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\nOrigin: "
    with served(ModelRegistry(), Limits(origins=("https://example.org/",))) as address:
        for origin in (
            b"https://example.org.evil.example",
            b"http://example.org",
            b"null",
            b"*",
            b"https://example.org/",
        ):
            status, headers, _ = raw(address, ask + origin + b"\r\n")
            assert (status, headers.get("access-control-allow-origin")) == (403, None)


@pytest.mark.parametrize("origin", ["example.org", "", "https://", "https://a/b", "https://a?b", "https://u@a", "a b"])
def test_what_is_no_origin_is_refused(origin: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--port", "0", "--allow-origin", origin]) == 2
    said = capsys.readouterr().err
    assert "Write it like https://example.org" in said
    assert len(said.splitlines()) == 1


class Noted:
    """A socket that notes what is asked of it."""

    def __init__(self) -> None:
        self.options: list[int] = []

    def setsockopt(self, _: int, option: int, value: int) -> None:
        assert value == 1
        self.options.append(option)

    def bind(self, address: tuple[str, int]) -> None:
        self.bound = address


def test_a_port_is_never_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    noted: Any = Noted()
    ports.claim(noted, "127.0.0.1", 5)
    assert (noted.options, noted.bound) == ([socket.SO_REUSEADDR], ("127.0.0.1", 5))
    monkeypatch.setattr(ports.sys, "platform", "win32")  # type: ignore[attr-defined]
    monkeypatch.setattr(ports.socket, "SO_EXCLUSIVEADDRUSE", ~socket.SO_REUSEADDR, raising=False)  # type: ignore[attr-defined]
    noted = Noted()
    ports.claim(noted, "127.0.0.1", 5)
    assert noted.options == [~socket.SO_REUSEADDR], "there the other option shares it"


def test_a_second_server_says_that_the_port_is_taken(url: str) -> None:
    port = url.rsplit(":", 1)[1]
    for command in ("serve", "rpc-server"):
        done = subprocess.run(
            [sys.executable, "-m", "engine", command, "--port", port],
            cwd=ROOT, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 2
        assert "Choose another port" in done.stderr


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


PATHS: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"messages": QUESTION, "max_tokens": 1},
    "/v1/completions": {"prompt": "Hi", "max_tokens": 1},
    "/v1/responses": {"input": "Hi", "max_output_tokens": 1},
    "/v1/messages": {"messages": QUESTION, "max_tokens": 1},
    "/v1/messages/count_tokens": {"messages": QUESTION},
    "/tokenize": {"content": "Hi"},
    "/detokenize": {"tokens": [5]},
    "/infill": {"input_prefix": "Hi"},
    "/v1/embeddings": {"input": "Hi"},
}
PARTS = ("metadata", "tools", "tool_choice", "response_format", "instructions", "text", "user", "frobnicate", "system")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("stream", [b"false", b"true"])
def test_what_json_does_not_have_is_refused_everywhere(url: str, path: str, stream: bytes) -> None:
    whole = json.dumps(PATHS[path])[:-1].encode() + b', "stream": ' + stream
    for name in PARTS:
        for value in ("NaN", "Infinity", "-Infinity", "1e999", r'"\ud800"', r'{"\udfff": 1}', nested(900), nested(101)):
            for told in (value, f'{{"a": [{value}]}}'):
                status, answer = asked(url, path, whole + f', "{name}": {told}}}'.encode())
                assert status == 400, (name, told[:40])
                assert isinstance(answer["error"]["message"], str)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/responses", {"input": [{"type": HALF}]}),
        ("/v1/messages", {"max_tokens": 1, "messages": [{"role": "user", "content": [{"type": HALF}]}]}),
        ("/v1/responses", {"input": "Hi", "tools": [{"type": HALF}]}),
        ("/v1/chat/completions", {"messages": QUESTION, "model": HALF}),
        (
            "/v1/chat/completions",
            {
                "messages": [
                    *QUESTION,
                    {
                        "role": "assistant",
                        "content": None,
                        "tool_calls": [
                            {"id": "a", "type": "function", "function": {"name": "f", "arguments": nested(900)}}
                        ],
                    },
                ]
            },
        ),
    ],
)
def test_bodies_that_were_failures_of_the_server(url: str, path: str, body: Any) -> None:
    for stream in (False, True):
        status, answer = asked(url, path, json.dumps({**body, "stream": stream}).encode())
        assert status == 400
        assert answer["error"]["message"]


def test_what_json_can_say_is_taken(url: str) -> None:
    told = {"a": json.loads(nested(90)), "b": "😀 ü", "c": 1e308, "d": -0.0, "e": 10**300}
    for stream in (False, True):
        body = {**PATHS["/v1/responses"], "metadata": told, "stream": stream}
        status, answer = asked(url, "/v1/responses", json.dumps(body).encode())
        assert status == 200
        if not stream:
            assert answer["metadata"] == told


def test_numbers_beyond_all_bounds_are_the_clients_fault(url: str) -> None:
    numbers = [-1, 2**31, 2**32, 2**40, 2**64, 10**30, 10**400, -(10**400), 1e308, 0.5, True, "1", None, [], {}]
    names = (
        *("max_tokens", "temperature", "top_p", "top_k", "min_p", "typical", "seed", "n", "lookahead", "logprobs"),
        *(
            "top_logprobs",
            "logit_bias",
            "repeat_penalty",
            "presence_penalty",
            "penalty_window",
            "banned_tokens",
            "stop",
        ),
    )
    for path in ("/v1/completions", "/v1/chat/completions"):
        for name in names:
            for number in numbers:
                bodies = [{name: number}]
                bodies += [{name: {"5": number}}, {name: {str(number): 1}}] if name == "logit_bias" else []
                bodies += [{name: [number]}] if name in ("banned_tokens", "stop") else []
                for body in bodies:
                    asking = json.dumps({**PATHS[path], **body}).encode()
                    status, answer = asked(url, path, asking)
                    assert status in (200, 400), (name, number, answer)
