"""A tool server that means harm, met in the window: nothing waits for it, and nothing runs without a question."""

import sys
from collections.abc import Sequence

import psutil
import pytest

from app.settings.settings import Settings
from engine import Message, ToolCall
from engine.host import ServerConfig
from helpers.decoding.scripted_decoder import Script
from helpers.paths import ROOT
from helpers.window.app_window import OpenWindow, Window
from helpers.window.gap_probe import GapProbe

HOSTILE = str(ROOT / "tests" / "helpers" / "tools" / "hostile_server.py")
CALLS = ("flood", "trickle", "controls", "crash", "deep", "wrong", "picture", "echo", "beg", "never")
MODES = ("many", "heavy", "deep", "names", "pages", "talk", "start", "abyss", "stay")
_FREEZE_MS, _MEMORY = 100.0, 100 * 2**20

pytestmark = [pytest.mark.soak, pytest.mark.alone]


def _calls(prompt: Sequence[Message]) -> tuple[ToolCall, ...]:
    """Call the tool that the question names, and then what its result begs for."""
    asked = max(n for n, each in enumerate(prompt) if each.role == "user")
    results = [each.content for each in prompt[asked:] if each.role == "tool"]
    if not results:
        return (ToolCall("1", prompt[asked].content, {}),)
    return (ToolCall("2", "crash", {}),) if "Now call crash" in results[-1] and len(results) == 1 else ()


def _is_asked(window: Window) -> bool:
    question = window.last().tools
    return question is not None and question.stage == "asking"


def _rested(window: Window) -> bool:
    return window.last().ended and not window.controller.busy and not _is_asked(window)


@pytest.mark.timeout(600)
def test_a_hostile_server_stops_no_window(open_window: OpenWindow) -> None:
    said = Script(lambda prompt: "" if _calls(prompt) else "So be it.", tool_calls=_calls)
    window = open_window(said, settings=Settings())
    desk, probe, before = window.controller.tools, GapProbe(), psutil.Process().memory_info().rss
    probe.start()
    for mode in ("calls", *MODES):
        desk.add([ServerConfig(f"hostile {mode}", sys.executable, (HOSTILE, mode))])
    window.wait(lambda: all(host.stage in ("ready", "failed") for host in desk.hosts()[1:]))
    problems = {host.name: host.problem for host in desk.hosts() if host.problem}
    assert set(problems) == {"hostile start", "hostile abyss"}
    assert all("\n" not in each and each.isprintable() and each.endswith(".") for each in problems.values())
    window.type("A question beside two thousand tools")
    window.prompt.edit.clear()
    for mode in MODES:
        desk.remove(f"hostile {mode}")
    for name in CALLS:
        window.controller.new_chat()
        window.send(name)
        asked = 0
        while asked < 1 + (name == "beg"):
            window.wait(lambda: _is_asked(window))
            card = window.view(window.last()).card
            assert card is not None
            window.press("Once", card)
            asked += 1
            if name == "never":
                window.wait(lambda: window.controller.busy)
                window.press("Cancel", window.view(window.last()).card)  # type: ignore[arg-type]
            window.wait(lambda: not window.controller.busy and window.last().ended)
        window.wait(lambda: _rested(window))
        told = [each.text for entry in window.controller.transcript.entries for each in entry.calls[1::2]]  # type: ignore[union-attr]
        assert len(told) == asked, "nothing ran that nobody was asked about"
        if name in ("flood", "crash", "deep", "wrong", "never"):
            assert "\n" not in told[0]
            assert told[0].endswith("."), told
    probe.stop()
    report, grown = probe.report(), psutil.Process().memory_info().rss - before
    print(report, grown)
    # Other programs make the ticks late, too: these are what this thread, and this program, computed in one.
    assert max(report["most_work"], report["most_held"]) < _FREEZE_MS, report
    assert grown < _MEMORY
    for child in psutil.Process().children():
        assert child.memory_info().rss < 2 * _MEMORY, child.cmdline()
