"""How many calls between modules one message takes on the window's thread, from Enter until the engine has the job."""

from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt

from app.bridge.job import Job
from app.settings.settings import Settings
from app.state.chat.transcript import Exchange
from helpers.decoding.scripted_decoder import Script
from helpers.window.app_window import OpenWindow, Window
from helpers.window.call_counter import CallCounter

MOST = 1_000
"""Calls between different modules. The promise is 2,000."""
MOST_OF_ALL = 2_000
"""Calls of any function of ours."""
TOKENS = 24


def count_second_message(window: Window, monkeypatch: pytest.MonkeyPatch) -> CallCounter:
    """Send two messages from the keyboard; count what the second one takes until the engine's thread has it."""
    counter = CallCounter()
    replies: list[Job[Any]] = []
    taken: list[Job[Any]] = []
    bridge, run = window.program.bridge, Job.run

    def reply(*given: Any, **more: Any) -> Job[Any]:
        replies.append(type(bridge).reply(bridge, *given, **more))
        return replies[-1]

    def note(job: Job[Any]) -> Any:
        if any(job is each for each in replies):
            taken.append(job)
            counter.stop()
        return run(job)

    window.ask("How are you?")
    window.type("And what is speculative decoding?")
    window.wait(lambda: window.program.context.settled)
    monkeypatch.setattr(bridge, "reply", reply)
    monkeypatch.setattr(Job, "run", note)
    with counter:
        window.key(Qt.Key.Key_Return)
        window.wait(lambda: taken)
    exchange = window.controller.transcript.entries[-1]
    assert isinstance(exchange, Exchange)
    window.ended(exchange)
    assert exchange.question == "And what is speculative decoding?"
    assert exchange.reply
    return counter


def check(counter: CallCounter) -> None:
    """Few, but so many that it was really counted; `pytest -s` shows them."""
    print(f"\n{counter.table()}")
    assert 100 < counter.total < MOST, counter.table()
    assert counter.total < counter.ours < MOST_OF_ALL


@pytest.mark.parametrize("lookahead", ["auto", 4])
def test_a_message_takes_few_calls(open_window: OpenWindow, monkeypatch: pytest.MonkeyPatch, lookahead: Any) -> None:
    """With a scripted engine, a reply of 24 tokens."""
    window = open_window(Script("word" * TOKENS), settings=Settings(lookahead=lookahead))
    counter = count_second_message(window, monkeypatch)
    check(counter)


def test_a_message_to_the_bundled_pair_takes_few_calls(
    open_window: OpenWindow, demo_pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the real engine, a reply of 24 tokens."""
    window = open_window(pair=demo_pair, settings=Settings(lookahead=4, sampling={"max_tokens": TOKENS}))
    counter = count_second_message(window, monkeypatch)
    exchange = window.controller.transcript.entries[-1]
    assert isinstance(exchange, Exchange)
    assert window.stats(exchange).proposed
    check(counter)
