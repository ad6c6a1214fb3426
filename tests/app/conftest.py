"""The real window, with a scripted decoder or with real models, and a Qt event loop for asyncio."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import qasync
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

import app.bootstrap
from app.bootstrap import Parts, build
from app.settings import Settings, SettingsFile
from app.state.transcript import Exchange, Notice
from engine import SpeculativeDecoder
from helpers.scripted_decoder import Script, ScriptedDecoder


@pytest.fixture(scope="session")
def qapp_args() -> list[str]:
    """The program's name, as the real one has it."""
    return ["outrider"]


@pytest.fixture
def loop(qapp: QApplication) -> Iterator[asyncio.AbstractEventLoop]:
    """An asyncio loop on top of Qt's, which the test itself turns (`qtbot.waitUntil`)."""
    loop = qasync.QEventLoop(qapp, already_running=True)
    yield loop
    loop.stop()
    asyncio.events._set_running_loop(None)
    loop.close()


class Window:
    """A running program and what a test wants to know about it."""

    def __init__(self, parts: Parts, qtbot: QtBot, loop: asyncio.AbstractEventLoop) -> None:
        self.parts = parts
        self.qtbot = qtbot
        self.loop = loop
        self.main = parts.window
        self.controller = parts.controller
        self.desk = parts.desk
        self.prompt = parts.window.prompt

    def wait(self, condition: Callable[[], object], timeout: int = 10_000) -> None:
        """Let the window live until the condition holds (milliseconds)."""
        self.qtbot.waitUntil(lambda: bool(condition()), timeout=timeout)

    def ready(self) -> None:
        """Wait until everything that begins with the window is over."""
        self.wait(lambda: self.main.panel.plots is not None)
        self.wait(lambda: not self.desk.busy and self.controller.activity.work == "idle", 30_000)

    def ask(self, text: str, timeout: int = 30_000) -> Exchange:
        """Send a prompt and wait until its reply is drawn."""
        exchange = self.send(text)
        self.ended(exchange, timeout)
        return exchange

    def send(self, text: str) -> Exchange:
        """Send a prompt."""
        self.main.prompt_sent.emit(text)
        exchange = self.controller.transcript.entries[-1]
        assert isinstance(exchange, Exchange)
        return exchange

    def ended(self, exchange: Exchange, timeout: int = 30_000) -> None:
        """Wait until a reply has ended and is drawn."""
        self.wait(lambda: exchange.ended and not self.controller.busy, timeout)
        view = self.main.transcript.view_of(exchange)
        if view is not None and exchange.reply:
            self.wait(lambda: view.reply.is_settled)

    def shown(self, exchange: Exchange) -> str:
        """The text of a reply as the window shows it."""
        view = self.main.transcript.view_of(exchange)
        assert view is not None
        return view.reply.toPlainText()

    def notices(self) -> list[str]:
        """Problems that belong to no question."""
        return [entry.problem.text for entry in self.controller.transcript if isinstance(entry, Notice)]

    def close(self) -> bool:
        """End everything, as closing the window does. Whether the engine's thread has ended."""
        self.main.close()
        stopping = self.loop.create_task(self.controller.stop())
        self.wait(stopping.done)
        return app.bootstrap._end(self.parts)


OpenWindow = Callable[..., Window]


@pytest.fixture
def open_window(
    qapp: QApplication, qtbot: QtBot, loop: asyncio.AbstractEventLoop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[OpenWindow]:
    """Open windows: `open_window(script=…)` with a scripted decoder, without a script with the real engine."""
    opened: list[Window] = []

    def open_one(
        script: Script | None = None,
        *,
        pair: tuple[Path, Path] | None = None,
        settings: Settings | None = None,
        size: tuple[int, int] = (1280, 800),
        **more: Any,
    ) -> Window:
        file = SettingsFile(tmp_path / "settings.json")
        if settings is not None:
            assert file.save(settings)
        if script is not None and pair is None:
            pair = (tmp_path / "big.gguf", tmp_path / "small.gguf")
        if pair is not None:
            chosen = pair
            monkeypatch.setattr(app.bootstrap, "bundled_pair", lambda: chosen)
        make: Callable[[], Any] = SpeculativeDecoder if script is None else lambda: ScriptedDecoder(script)
        parts = build(qapp, loop, file, make_decoder=make, **more)
        window = Window(parts, qtbot, loop)
        opened.append(window)
        parts.window.resize(*size)
        parts.window.show()
        window.ready()
        return window

    yield open_one
    for window in opened:
        assert window.close(), "the engine's thread did not end"
        window.main.deleteLater()
    qapp.processEvents()


@pytest.fixture
def story_pair(shared_gguf: Callable[[str], Path]) -> tuple[Path, Path]:
    """A small real pair made by other people."""
    return shared_gguf("stories260K-F32"), shared_gguf("stories-draft43K-F32")


@pytest.fixture
def demo_pair(bundled_target: Path, bundled_draft: Path) -> tuple[Path, Path]:
    """The pair that comes with the program."""
    return bundled_target, bundled_draft
