"""llama.cpp's own server: run on this machine, asked over HTTP."""

import json
import os
import socket
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from tempfile import mkstemp
from time import monotonic, sleep
from types import TracebackType
from typing import Any, Self

import psutil

HOST = "127.0.0.1"
DEFAULT_LOOKAHEAD = 3
"""The server's default lookahead with a draft model (`--spec-draft-n-max`)."""
_LOAD_S = 120.0
_REPLY_S = 600.0


class ServerFailed(Exception):
    """The server does not run or does not answer; the message names the cause."""


@dataclass(frozen=True)
class Settings:
    """Settings of a server. `lookahead` 0: without a draft; `extra`: further command-line arguments.

    `draft`: a draft model or a head, None if the target's own file brings it; `kind`: what the server calls it.
    """

    target: Path
    draft: Path | None
    lookahead: int
    threads: int
    context: int
    extra: tuple[str, ...] = ()
    kind: str = "draft-simple"

    def arguments(self, port: int) -> list[str]:
        """The command line behind the program's name. What is not named stays as the server has it by default."""
        told = ["--host", HOST, "--port", str(port), "--offline", "--no-ui"]
        told += ["--model", str(self.target), "--threads", str(self.threads), "--ctx-size", str(self.context)]
        # One conversation, as on our side; and no copies of caches in memory, as many servers run at once.
        told += ["--parallel", "1", "--cache-ram", "0"]
        if self.lookahead:
            told += ["--model-draft", str(self.draft)] if self.draft is not None else []
            told += ["--spec-type", self.kind, "--spec-draft-n-max", str(self.lookahead)]
        return [*told, *self.extra]


@dataclass(frozen=True)
class Answer:
    """A reply of the server: its tokens, and tokens/s as the server itself gives it.

    That is every token but the first, over the time since the first was drawn, so that each counted token was paid
    for. `proposed` and `accepted` count draft tokens. `read_ms`: what reading the prompt took.
    """

    tokens: tuple[int, ...]
    speed: float
    proposed: int
    accepted: int
    read_ms: float = 0.0


class Server:
    """A server that runs, until `close`. Raises ServerFailed. Attributes: settings.

    `poll_s`: how often it is asked whether it is ready.
    """

    def __init__(self, program: Path, settings: Settings, poll_s: float = 0.1) -> None:
        self.settings = settings
        self._poll_s = poll_s
        self._port = _free_port()
        handle, name = mkstemp(prefix="llama-server-", suffix=".log")
        self._log = Path(name)
        command = [str(program), *settings.arguments(self._port)]
        # Without the proxies and settings of the one who measures: a variable can stand for any of its arguments.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("LLAMA_")}
        try:
            self._process = psutil.Popen(command, stdout=handle, stderr=subprocess.STDOUT, env=environment)
        finally:
            os.close(handle)
        try:
            self._wait()
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """Return the id of its process."""
        return int(self._process.pid)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def complete(
        self, prompt: Sequence[int], max_tokens: int, sampling: dict[str, Any], *, cached: bool = True
    ) -> Answer:
        """Continue token ids. `sampling`: temperature, top_k, top_p, min_p and seed. Raises ServerFailed.

        `cached`: what it has read of the prompt before is not read again.
        """
        request = {
            "prompt": list(prompt),
            "n_predict": max_tokens,
            "cache_prompt": cached,
            "return_tokens": True,
            # The order in which we do it. The server's own default applies the temperature last.
            "samplers": ["top_k", "temperature", "top_p", "min_p"],
            **sampling,
        }
        return read_answer(self._ask("POST", "/completion", request, _REPLY_S))

    def first_token(self, question: str) -> None:
        """Wait for the first token of the reply to a question. Raises ServerFailed."""
        messages = [{"role": "user", "content": question}]
        self._ask("POST", "/v1/chat/completions", {"messages": messages, "max_tokens": 1, "temperature": 0.0}, _REPLY_S)

    def processor_s(self) -> float:
        """Seconds of processor time that it has taken so far."""
        times = self._process.cpu_times()
        return float(times.user + times.system)

    def close(self) -> None:
        """End the server."""
        with suppress(psutil.NoSuchProcess):
            self._process.terminate()
            try:
                self._process.wait(20)
            except psutil.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._log.unlink(missing_ok=True)

    def _wait(self) -> None:
        """Until it has loaded its models."""
        given_up = monotonic() + _LOAD_S
        while monotonic() < given_up:
            if self._process.poll() is not None:
                raise ServerFailed(f"llama-server ended with {self._process.returncode}: {self._last_words()}")
            with suppress(OSError, HTTPException, ServerFailed):
                self._ask("GET", "/health", None, 5.0)
                return
            sleep(self._poll_s)
        raise ServerFailed(f"llama-server was not ready after {_LOAD_S:.0f} s: {self._last_words()}")

    def _ask(self, method: str, path: str, body: dict[str, Any] | None, patience_s: float) -> dict[str, Any]:
        connection = HTTPConnection(HOST, self._port, timeout=patience_s)
        try:
            connection.request(method, path, None if body is None else json.dumps(body))
            response = connection.getresponse()
            text = response.read().decode("utf-8", "replace")
        except (OSError, HTTPException) as error:
            raise ServerFailed(f"llama-server did not answer: {error!r}. {self._last_words()}") from error
        finally:
            connection.close()
        if response.status != 200:
            raise ServerFailed(f"llama-server answered {response.status}: {text[:300]}")
        found: dict[str, Any] = json.loads(text)
        return found

    def _last_words(self) -> str:
        return self._log.read_text("utf-8", "replace").strip()[-400:]


def read_answer(found: dict[str, Any]) -> Answer:
    """Parse an answer of `/completion`. Raises ServerFailed if a field is missing."""
    try:
        timings = found["timings"]
        counted = int(timings["predicted_n"]) - 1
        seconds = float(timings["predicted_ms"]) / 1000.0
        return Answer(
            tuple(found["tokens"]),
            counted / seconds if counted > 0 and seconds > 0.0 else 0.0,
            int(timings.get("draft_n", 0)),
            int(timings.get("draft_n_accepted", 0)),
            float(timings.get("prompt_ms", 0.0)),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ServerFailed(f"llama-server's answer has no {error}.") from error


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        return int(listener.getsockname()[1])
