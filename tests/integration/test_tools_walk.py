"""A model that people use calls tools in a real window: asked about by the window, allowed with a real mouse."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from helpers import xvfb
from helpers.models.published import QWEN, published
from helpers.window.walker import Walker

PATIENCE_S = 300.0
SERVER = """
import time
from mcp.server.mcpserver import MCPServer

server = MCPServer("Numbers")

@server.tool()
def add(a: int, b: int) -> int:
    "Add two numbers."
    return a + b

@server.tool()
def multiply(a: int, b: int) -> int:
    "Multiply two numbers."
    return a * b

@server.tool()
def subtract(a: int, b: int) -> int:
    "Subtract the second number from the first. Takes a minute."
    time.sleep(60)
    return a - b

server.run()
"""

pytestmark = [
    pytest.mark.alone,
    pytest.mark.soak,
    pytest.mark.skipif(not (xvfb.available() and shutil.which("xdotool")), reason="Xvfb or xdotool is not installed"),
]


class Chat:
    """A chat in the window, used by mouse and keyboard."""

    def __init__(self, walker: Walker) -> None:
        self.walker = walker

    def send(self, words: str) -> None:
        """Type a message, and send it."""
        self.walker.click(object="prompt")
        self.walker.type(words)
        self.walker.wait(lambda: self.walker.find(object="prompt").text == words, "the message in the box")
        self.walker.key("Return")
        self.walker.wait(lambda: not self.walker.sees("Send"), "the reply begins")

    def asked(self) -> None:
        """Wait for the question about a call."""
        self.walker.wait(lambda: self.walker.sees("Once", kind="QPushButton", on=True), "the question", PATIENCE_S)

    def rested(self) -> str:
        """Wait until nothing is written and nothing asked; gives what can be read."""
        walker = self.walker
        walker.wait(lambda: walker.sees("Send") and not walker.sees("Once"), "the end of the reply", PATIENCE_S)
        return walker.texts()

    def anew(self) -> None:
        """Begin another chat."""
        self.walker.key("ctrl+n")
        self.walker.reads("What would you like to talk about?")


def _a_call_is_allowed(walker: Walker, chat: Chat) -> None:
    chat.send("Use the tool add to add 1734 and 2519.")
    chat.asked()
    assert [part.text for part in walker.look() if part.kind == "ArgumentField"] == ["1734", "2519"]
    assert "4253" not in walker.texts()
    walker.click("Once")
    walker.wait(lambda: "4253" in walker.texts().replace(",", ""), "the result in the reply", PATIENCE_S)
    chat.rested()
    chat.send("Which number did the tool give?")
    assert chat.rested().replace(",", "").count("4253") > 1


def _a_call_is_cancelled(walker: Walker, chat: Chat) -> None:
    chat.send("Use the tool subtract to subtract 17 from 59.")
    chat.asked()
    walker.click("Once")
    walker.click("Cancel")
    chat.rested()
    chat.send("Say hello.")
    chat.rested()


def _a_call_is_refused(walker: Walker, chat: Chat) -> None:
    chat.send("Use the tool multiply to multiply 41 by 12.")
    chat.asked()
    walker.click("Never")
    chat.rested()
    chat.send("What is the capital of France? Answer in one word.")
    assert "Paris" in chat.rested()


@pytest.mark.timeout(2400)
def test_a_model_calls_tools_in_the_window(tmp_path: Path) -> None:
    (model,) = published(QWEN)
    home, server = tmp_path / "home", tmp_path / "sums_server.py"
    server.write_text(SERVER)
    kept = home / "config" / "outrider"
    kept.mkdir(parents=True)
    listed = {"Numbers": {"command": sys.executable, "args": [str(server)]}}
    (kept / "mcp.json").write_text(json.dumps({"mcpServers": listed}))
    with xvfb.x_server("1280x800x24") as display:
        walker = Walker(display, home, patience=60.0)
        chat = Chat(walker)
        try:
            walker.start(str(model))
            walker.wait(lambda: not walker.sees(object="progress"), "the model loaded", PATIENCE_S)
            _a_call_is_allowed(walker, chat)
            chat.anew()
            _a_call_is_cancelled(walker, chat)
            chat.anew()
            _a_call_is_refused(walker, chat)
        except AssertionError:
            walker.shot(tmp_path / "last-seen.png")
            raise
        finally:
            walker.kill()
