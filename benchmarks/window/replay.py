"""Measure the replay of a reply of 2,000 tokens: played, stepped and scrubbed, in one long paragraph and in many.

    make bench ARGS="replay [--tokens N] [--seconds S] [--json]"

Prints the gaps of a 10 ms timer (milliseconds) in the window's thread, and how many of them it worked. Gives 1 if the
must is not met: no gap over 50 ms.
"""

import argparse
import gc
import json
import os
import sys
from importlib.resources import files
from time import perf_counter
from typing import Any

os.environ["QT_API"] = "pyside6"
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.settings.settings import Settings
from app.state.chat.trace import TokenTrace
from app.state.replay.timeline import Replay
from app.system.resources import read_text
from app.views.replay.dialog import ReplayDialog
from app.views.widgets.icons import icon
from app.views.widgets.theme import Theme
from engine import Origin, RoundEvent, TokenEvent
from helpers.window.gap_probe import GapProbe

LONGEST_MS = 50.0
_WORDS = (
    " the",
    " dragon",
    " looked",
    " at",
    " a",
    " small",
    " broom",
    ",",
    " and",
    " then",
    " it",
    " was",
    " gone",
    ".",
)
_ROUND: tuple[Origin, ...] = ("accepted", "accepted", "accepted", "correction")


def record(tokens: int, paragraph: int) -> TokenTrace:
    """A record of rounds of four tokens and a rejected guess; a line ends after so many tokens (0: never)."""
    trace = TokenTrace()
    names = {9: " elsewhere", 8: " and"}
    for index in range(tokens):
        text = "\n" if paragraph and index % paragraph == paragraph - 1 else _WORDS[index % len(_WORDS)]
        number = index // 4 + 1
        trace.add(TokenEvent(index % 500, text, _ROUND[index % 4], number, index, -0.1, -0.2), names)
        if index % 4 == 3:
            rejected = ((9, -0.9), (8, -1.2))
            trace.add_round(RoundEvent(number, "draft-model", 5, 5, 3, 4.0, 30.0, None, rejected), names)
    return trace


def warmed_theme(app: QApplication) -> Theme:
    """The theme, and all that the window has done long before a replay can be opened."""
    theme = Theme(
        app, read_text("styles", "window.qss"), str(files("resources").joinpath("icons")), Settings(theme="light")
    )
    icon(theme, "play").pixmap(18, 18)
    # Lists, sliders and buttons have been seen before: the first of a kind takes longer.
    first = ReplayDialog(Replay(record(40, 0), "A short one", 30.0), theme)
    first.begin()
    QTest.qWait(200)
    first.close()
    # As the window does when it is shown: what stays is not searched for garbage again and again.
    gc.collect(1)
    gc.freeze()
    return theme


def measure(app: QApplication, trace: TokenTrace, seconds: float) -> dict[str, dict[str, float]]:
    """Open it, play it at 4x from its middle, step through it, scrub over all of it."""
    theme = warmed_theme(app)
    found: dict[str, dict[str, float]] = {}

    def during(name: str, act: Any) -> None:
        probe = GapProbe()
        probe.start()
        QTest.qWait(100)
        act()
        QTest.qWait(100)
        probe.stop()
        found[name] = probe.report()

    dialogs: list[ReplayDialog] = []

    def show() -> None:
        dialogs.append(ReplayDialog(Replay(trace, "All of it", 30.0), theme))
        dialogs[0].show()

    def play() -> None:
        player = dialogs[0].player
        player.choose_pace(4.0)
        player.slider.setValue(len(trace) // 8)
        player.start()
        QTest.qWait(int(1000 * seconds))
        player.pause()

    def step() -> None:
        for _ in range(60):
            QTest.keyClick(dialogs[0].player, Qt.Key.Key_Right)
            QTest.qWait(10)

    def scrub() -> None:
        slider, began = dialogs[0].player.slider, perf_counter()
        while perf_counter() - began < seconds / 2:
            share = (perf_counter() - began) / (seconds / 2)
            slider.setValue(1 + int(share * (slider.maximum() - 1)))
            QTest.qWait(8)

    for name, act in (("opened", show), ("played", play), ("stepped", step), ("scrubbed", scrub)):
        during(name, act)
    dialogs[0].close()
    return found


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=2_000)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    app = QApplication.instance() or QApplication([])
    assert isinstance(app, QApplication)
    shapes = {"one paragraph": 0, "paragraphs of 40 tokens": 40}
    report = {name: measure(app, record(args.tokens, size), args.seconds) for name, size in shapes.items()}
    if args.json:
        print(json.dumps(report))
    else:
        print(f"Replay of {args.tokens:,} tokens; gaps of a 10 ms timer, ms\n")
        print("| text | act | longest | p99 | median | most work |\n|---|---|---|---|---|---|")
        for name, acts in report.items():
            for act, gaps in acts.items():
                figures = " | ".join(str(gaps[key]) for key in ("longest", "p99", "median", "most_work"))
                print(f"| {name} | {act} | {figures} |")
    return 0 if all(gaps["longest"] <= LONGEST_MS for acts in report.values() for gaps in acts.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
