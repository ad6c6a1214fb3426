"""`outrider-engine chat`: in a terminal and through pipes, its commands, and Ctrl+C."""

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rich.console import Console

from engine.cancel import CancelToken
from engine.cli.arguments.models import NamedModels
from engine.cli.arguments.words import in_options
from engine.cli.chat import Chat
from engine.config import SamplingConfig, SpeculationConfig
from engine.decoder import SpeculativeDecoder
from engine.errors import EngineError
from helpers.models.published import QWEN, published
from helpers.paths import ROOT

CHAT = (sys.executable, "-m", "engine", "chat", "--quiet", "-t", "1", "-c", "512", "-n", "12")


def _pipe(*lines: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """Run a chat whose questions and commands come through a pipe."""
    given = "".join(f"{line}\n" for line in lines)
    return subprocess.run(
        [*CHAT, *options], cwd=ROOT, input=given, capture_output=True, text=True, timeout=100, check=False
    )


def test_each_line_of_a_pipe_is_answered(bundled_target: Path, tmp_path: Path) -> None:
    saved = tmp_path / "chat.json"
    done = _pipe(
        *("Hello!", "", '"""Tell me', 'a joke."""', "/undo", "/system You are a pirate.", "Tell me a joke."),
        *(f"/save {saved}", "/set temperature=0.5", "/retry", f"/save {saved}", "/reset", "Hello!"),
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len([line for line in done.stdout.splitlines() if line]) == 5
    messages = json.loads(saved.read_text("utf-8"))
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "user", "assistant"]
    assert messages[3]["content"] == "Tell me a joke."
    assert messages[0]["content"] == "You are a pirate."
    again = _pipe("/undo", f"/save {saved}.2", options=("--messages", str(saved)))
    assert again.returncode == 0, again.stderr
    assert json.loads(saved.with_name("chat.json.2").read_text("utf-8")) == messages[:3]
    over = _pipe("Hello!", f"/save {saved}")
    assert over.returncode == 2
    assert "is there already" in over.stderr
    assert json.loads(saved.read_text("utf-8")) == messages


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("/rest", "There is no command /rest. Did you mean /reset? Type /help"),
        ("/undo", "There is no question yet."),
        ("/save", "Name a file behind the command."),
        ("/save nothing.json", "There is no message to write yet."),
        ("/load /nowhere/x.json", "Cannot read /nowhere/x.json"),
        ("/set temperature", "Type the name of an option"),
        ("/set temperature=hot", "temperature must be"),
        ("/set temp=1", "Did you mean 'temperature'?"),
        ("/set max-tokens=0", "max_tokens must be a whole number above 0, not 0."),
        ("/set nosuch=", "Unknown option 'nosuch'."),
    ],
)
def test_commands_that_make_no_sense(line: str, said: str) -> None:
    settings = NamedModels(None, None, SpeculationConfig(), SamplingConfig())
    chat = Chat(SpeculativeDecoder(), settings, {}, [], Console(stderr=True), CancelToken())
    with pytest.raises(EngineError) as told:
        chat._command(line[1:])
    assert said in in_options(told.value)
    assert chat.history == []


def test_what_was_set_is_undone_with_nothing_behind_the_sign() -> None:
    settings = NamedModels(None, None, SpeculationConfig(), SamplingConfig())
    chat = Chat(SpeculativeDecoder(), settings, {"max_tokens": 9}, [], Console(stderr=True), CancelToken())
    for line in (
        "set stop=###",
        "set max_tokens=4",
        "set --top-k=5",
        "set stop=none",
        "set max-tokens=",
        "set seed=null",
    ):
        chat._command(line)
    assert chat._options == {"max_tokens": 9, "top_k": 5}


pty = pytest.importorskip("pty", reason="there are no such terminals")


SLOW = """
import sys, time
from engine.generation.verifier import Verifier
verify = Verifier.verify
def slowly(*arguments):
    time.sleep(0.05)
    return verify(*arguments)
Verifier.verify = slowly
from engine.__main__ import main
sys.exit(main(["chat", *sys.argv[1:]]))
"""
"""A chat whose rounds take a while, so that a reply is there to be ended."""


class Terminal:
    """A chat in a terminal of its own."""

    def __init__(self, *options: str, settings: Path | None = None) -> None:
        self.seen = ""
        self._leader, follower = pty.openpty()
        self._process = subprocess.Popen(
            [sys.executable, "-c", SLOW, *CHAT[4:], *options],
            cwd=ROOT,
            stdin=follower,
            stdout=follower,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=os.environ | {"XDG_CONFIG_HOME": str(settings or "/nowhere")},
            preexec_fn=_take_terminal,  # noqa: PLW1509 - there is no other way to give it a terminal
        )
        os.close(follower)

    def until(self, *texts: str, seconds: float = 30) -> str:
        """Read until all these texts came, and give what came."""
        came, deadline = "", time.monotonic() + seconds
        while not all(text in came for text in texts):
            ready, _, _ = select.select([self._leader], [], [], 1.0)
            assert time.monotonic() < deadline, came
            if not ready:
                continue
            try:
                came += os.read(self._leader, 4096).decode("utf-8", "replace")
            except OSError:  # The other side is closed.
                raise AssertionError(f"it ended: {came}") from None
        self.seen += came
        return came

    def type(self, text: str) -> None:
        os.write(self._leader, text.encode())

    def press(self, key: str, until: str) -> None:
        """Press a key until this text comes: Python's line editor misses a signal that comes while it draws a key."""
        came = ""
        for _ in range(30):
            self.type(key)
            while select.select([self._leader], [], [], 1.0)[0]:
                came += os.read(self._leader, 4096).decode("utf-8", "replace")
                if until in came:
                    self.seen += came
                    return
        raise AssertionError(came)

    def close(self) -> int:
        try:
            return self._process.wait(30)
        finally:
            self._process.kill()
            self._process.wait()
            os.close(self._leader)


def _take_terminal() -> None:
    import fcntl  # noqa: PLC0415
    import termios  # noqa: PLC0415

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@pytest.fixture
def terminal(shared_gguf: Callable[[str], Path]) -> Iterator[Terminal]:
    """A chat with a small real model, whose replies would not end soon."""
    chat = Terminal("-m", str(shared_gguf("stories260K-F32")), "-n", "500", "--ignore-eos", "--lookahead", "0")
    try:
        yield chat
    finally:
        chat._process.kill()


def test_ctrl_c_ends_the_reply_and_not_the_chat(terminal: Terminal) -> None:
    terminal.until("> ")
    terminal.type("Once upon a time\r")
    terminal.until("Once upon a time", ", ")
    terminal.type("\x03")
    terminal.until("\n> ")
    assert len(terminal.seen) < 1500  # The whole reply has 2,000 characters.
    terminal.type("half a line")
    terminal.until("half a line")
    terminal.press("\x03", until="\n> ")  # At the prompt it drops the line.
    terminal.type("/nope\r")
    terminal.until("There is no command /nope")
    terminal.type("\x1b[A")  # The line before is there again.
    terminal.until("/nope")
    terminal.type("\x15/quit\r")
    assert terminal.close() == 0
    assert "Traceback" not in terminal.seen


def test_ctrl_d_leaves(terminal: Terminal) -> None:
    terminal.until("> ")
    terminal.type("\x04")
    assert terminal.close() == 0


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_a_model_calls_tools_that_are_asked_about(tmp_path: Path) -> None:
    """With a model that people use and three tools: its call is asked about and run, and its result is used."""
    (model,) = published(QWEN)
    server = {"command": sys.executable, "args": [str(ROOT / "tests" / "helpers" / "tools" / "example_server.py")]}
    listed = tmp_path / "servers.json"
    listed.write_text(json.dumps({"mcpServers": {"example": server}}))
    options = ("-m", str(model), "-n", "200", "-c", "2048", "--temperature", "0", "--mcp", str(listed))
    chat = Terminal(*options, settings=tmp_path)
    try:
        chat.until("> ", seconds=300)
        chat.type("Use the tool add to add 1734 and 2519.\r")
        seen = chat.until("Run it?", seconds=300)
        assert "a: 1734" in seen
        assert "4253" not in seen
        chat.type("o\r")
        assert "4,253" in chat.until("\n> ", seconds=300).replace("4253", "4,253")
        for number, answer in enumerate(("\x03", "n\r")):
            chat.type("/undo\r")
            chat.until("\n> ")
            chat.type("Use the tool add to add 1734 and 2519.\r")
            chat.until("cancels: ", seconds=300)  # What readline misses while it writes the question is no key.
            chat.type(answer)
            chat.until("\n> ", seconds=300)
            chat.type(f"/save {tmp_path / f'chat{number}.json'}\r")
            chat.until("\n> ")
        chat.type("/quit\r")
        assert chat.close() == 0
    finally:
        chat._process.kill()
    assert "Traceback" not in chat.seen
    for number, said in enumerate(("cancelled", "does not allow")):
        messages = json.loads((tmp_path / f"chat{number}.json").read_text("utf-8"))
        assert said in next(message["content"] for message in messages if message["role"] == "tool")
