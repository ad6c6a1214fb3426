"""Takes the pictures of a gallery, and says what is cut in them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from app.shell.program import Program
from app.state.chat.transcript import Exchange
from app.views.chat.exchange import ExchangeView
from helpers.gallery.cut import cut_parts

_SETTLED_S = 0.12
_PATIENCE_S = 40.0


class Gallery:
    """Takes the pictures."""

    def __init__(self, program: Program, folder: Path, look: str) -> None:
        self._program = program
        self._folder = folder
        self._look = look
        self._number = 0

    async def shot(self, name: str, widget: QWidget | None = None) -> None:
        """A picture of a window, and what is cut in it."""
        await asyncio.sleep(_SETTLED_S)
        shown = widget or self._program.window
        self._number += 1
        shown.grab().save(str(self._folder / f"{self._number:02}-{name}-{self._look}.png"))
        print(json.dumps({"view": name, "look": self._look, "cut": sorted(set(cut_parts(shown)))}), flush=True)

    def others(self) -> list[QWidget]:
        """The windows that are shown besides the main one."""
        found = [
            each for each in QApplication.topLevelWidgets() if each.isVisible() and each is not self._program.window
        ]
        return [each for each in found if each.width() > 1]

    async def windows(self, name: str) -> None:
        """A picture of the window that is shown besides the main one; all of them are closed then."""
        await until(self.others)
        found = self.others()
        for number, each in enumerate(found):
            await self.shot(name if not number else f"{name}-{number}", each)
        for each in found:
            each.close()
        await asyncio.sleep(0)
        await self.front()

    async def front(self) -> None:
        """The main window has the keyboard."""
        self._program.window.activateWindow()
        await until(self._program.window.isActiveWindow)


async def until(condition: Callable[[], object]) -> None:
    """Let the window live until this holds."""
    async with asyncio.timeout(_PATIENCE_S):
        while not condition():  # noqa: ASYNC110 - as a person looks at it
            await asyncio.sleep(0.01)


def press(key: Qt.Key, times: int = 1) -> None:
    """A key, where the keyboard is."""
    focused = QApplication.focusWidget()
    assert focused is not None
    for _ in range(times):
        QTest.keyClick(focused, key)


def type_words(words: str) -> None:
    """Type into the widget with the keyboard focus."""
    focused = QApplication.focusWidget()
    assert focused is not None
    QTest.keyClicks(focused, words)


def last(program: Program) -> Exchange:
    """The last question of the conversation, with its reply."""
    found = program.controller.transcript.entries[-1]
    assert isinstance(found, Exchange)
    return found


def view_of(program: Program, exchange: Exchange | None = None) -> ExchangeView:
    """How an exchange is shown, the last one if none is given."""
    view = program.window.transcript.view_of(exchange or last(program))
    assert view is not None
    return view


async def answered(program: Program) -> None:
    """Until the reply is there, and all that it is told by is drawn."""
    await until(lambda: not program.controller.busy)
    await until(lambda: last(program).ended and view_of(program).is_drawn)
    await asyncio.sleep(0.3)  # the figures beside it are drawn now and then
