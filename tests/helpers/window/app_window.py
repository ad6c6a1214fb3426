"""A running window and what a test wants to know about it."""

import asyncio
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt
from PySide6.QtWidgets import QPushButton, QWidget
from pytestqt.qtbot import QtBot

import app.shell.bootstrap
from app.shell.program import Program
from app.state.chat.transcript import Exchange, Notice
from app.views.chat.exchange import ExchangeView, ProblemView
from engine import GenerationStats


class Window:
    """A running program and what a test wants to know about it."""

    def __init__(self, program: Program, qtbot: QtBot, loop: asyncio.AbstractEventLoop) -> None:
        self.program = program
        self.qtbot = qtbot
        self.loop = loop
        self.main = program.window
        self.controller = program.controller
        self.models = program.models
        self.prompt = program.window.prompt

    def wait(self, condition: Callable[[], object], timeout: int = 60_000) -> None:
        """Let the window live until the condition holds (milliseconds)."""
        self.qtbot.waitUntil(lambda: bool(condition()), timeout=timeout)

    def ready(self) -> None:
        """Wait until everything that begins with the window is over."""
        self.wait(lambda: self.main.panel.plots is not None)
        self.wait(lambda: self.models.settled and self.controller.activity.work == "idle")

    def ask(self, text: str, timeout: int = 60_000) -> Exchange:
        """Send a prompt and wait until its reply is drawn."""
        exchange = self.send(text)
        self.ended(exchange, timeout)
        return exchange

    def send(self, text: str) -> Exchange:
        """Send a prompt."""
        self.main.prompt_sent.emit(text)
        return self.last()

    def ended(self, exchange: Exchange, timeout: int = 60_000) -> None:
        """Wait until a reply has ended and is drawn."""
        self.wait(lambda: exchange.ended and not self.controller.busy, timeout)
        view = self.main.transcript.view_of(exchange)
        if view is not None and exchange.reply:
            self.wait(lambda: view.reply.is_settled)

    def import_(self, path: Path, timeout: int = 60_000) -> None:
        """Import a chat and wait until it is shown, or refused."""
        self.controller.import_(path)
        self.wait(lambda: self.program.conversations.files.activity.work == "idle", timeout)

    def export(self, conversation: int, kind: str, path: Path) -> None:
        """Export a chat and wait until it is written."""
        self.program.conversations.export(conversation, kind, path)
        self.wait(lambda: self.program.conversations.files.activity.work == "idle")

    def shown(self, exchange: Exchange) -> str:
        """The text of a reply as the window shows it."""
        return self.view(exchange).reply.toPlainText()

    def view(self, exchange: Exchange) -> ExchangeView:
        """How an exchange is shown."""
        view = self.main.transcript.view_of(exchange)
        assert view is not None
        return view

    def problem(self, exchange: Exchange) -> ProblemView:
        """The problem that is shown under a reply."""
        problem = self.view(exchange).problem
        assert problem is not None
        return problem

    def said(self, exchange: Exchange) -> str:
        """What the problem under a reply says."""
        return self.problem(exchange).text.toPlainText()

    def stats(self, exchange: Exchange) -> GenerationStats:
        """The figures of a reply."""
        assert exchange.stats is not None
        return exchange.stats

    def press(self, words: str, where: QWidget) -> None:
        """Press the button of these words."""
        next(button for button in where.findChildren(QPushButton) if button.text() == words).click()

    def first(self) -> Exchange:
        """The first exchange of the chat."""
        exchange = self.controller.transcript.entries[0]
        assert isinstance(exchange, Exchange)
        return exchange

    def last(self) -> Exchange:
        """The last exchange of the chat."""
        exchange = self.controller.transcript.entries[-1]
        assert isinstance(exchange, Exchange)
        return exchange

    def attach(self, *paths: Path) -> None:
        """Give these files, and wait until they are read and counted."""
        self.program.attachments.add(paths)
        self.wait(lambda: not self.program.attachments.pending)
        self.wait(lambda: self.program.context.settled)

    def key(self, code: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        """Press a key in the prompt box."""
        self.qtbot.keyClick(self.prompt.edit, code, modifiers)  # type: ignore[no-untyped-call]

    def type(self, text: str) -> None:
        """Type into the prompt box."""
        self.qtbot.keyClicks(self.prompt.edit, text)  # type: ignore[no-untyped-call]

    def click(self, widget: QWidget) -> None:
        """Click a widget."""
        self.qtbot.mouseClick(widget, Qt.MouseButton.LeftButton)  # type: ignore[no-untyped-call]

    def notices(self) -> list[str]:
        """Problems that belong to no question."""
        return [entry.problem.text for entry in self.controller.transcript if isinstance(entry, Notice)]

    def close(self) -> bool:
        """End everything, as closing the window does. Whether the engine's thread has ended."""
        self.main.close()
        stopping = self.loop.create_task(self.controller.stop())
        self.wait(stopping.done)
        return app.shell.bootstrap._end(self.program)

    def delete(self) -> None:
        """Delete the built objects of a closed window: connections hold them, and the next window would style them."""
        for part in fields(self.program):
            built = getattr(self.program, part.name)
            if isinstance(built, QObject):
                built.deleteLater()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


OpenWindow = Callable[..., Window]
