"""Messages that are sent while a reply is written, with a real mouse and a real keyboard."""

import shutil
from pathlib import Path

import pytest

from helpers import xvfb
from helpers.window.walker import Walker

pytestmark = [
    pytest.mark.alone,
    pytest.mark.soak,
    pytest.mark.skipif(not (xvfb.available() and shutil.which("xdotool")), reason="Xvfb or xdotool is not installed"),
]
MESSAGES = [f"Tell me of animal number {number}." for number in range(6)]


def _enter(walker: Walker, words: str) -> None:
    walker.click(object="prompt")
    walker.type(words)
    walker.wait(lambda: walker.find(object="prompt").text == words, words)
    walker.key("Return")
    walker.wait(lambda: walker.find(object="prompt").text == "", "the empty box")


def _asked(walker: Walker) -> list[str]:
    return [part.text for part in walker.all(object="questionText")]


@pytest.mark.timeout(600)
def test_six_messages_wait_and_one_is_sent_at_once(tmp_path: Path) -> None:
    with xvfb.x_server("1280x1000x24") as display:
        walker = Walker(display, tmp_path / "home", round_s=0.4, patience=60.0)
        try:
            walker.start()
            walker.click("Try the demo pair")
            walker.wait(lambda: not walker.sees(object="progress"), "the models loaded")
            _enter(walker, "Tell me a story about a shy dragon.")
            for message in MESSAGES:
                _enter(walker, message)
            walker.reads("and 2 more")
            walker.shot(tmp_path / "waiting.png")
            row = [part for part in walker.all("Stop and send now") if part.on][2]
            walker.click_on(row)
            walker.wait(lambda: MESSAGES[2] in _asked(walker), "the third message, sent at once")
            walker.reads("cancelled")
            for message in (*MESSAGES[:2], *MESSAGES[3:]):
                walker.wait(lambda message=message: _asked(walker)[-1:] == [message], message, 240.0)  # type: ignore[misc]
            walker.wait(lambda: walker.sees("Send"), "the end of the last reply", 240.0)
        except AssertionError:
            walker.shot(tmp_path / "last-seen.png")
            raise
        finally:
            walker.kill()
