"""The real window, with a scripted decoder or with real models, and a Qt event loop for asyncio."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import qasync
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

import app.shell.bootstrap
from app.settings.settings import Settings, SettingsFile
from app.shell.bootstrap import build
from app.system.translation import install
from engine import SpeculativeDecoder
from helpers.decoding.scripted_decoder import Script, ScriptedDecoder
from helpers.window.app_window import OpenWindow, Window

PATIENCE_MS = 60_000
"""So long a test waits for what has to come: a wait ends when it comes, and a loaded machine is slow."""
for _wait in (QtBot.waitUntil, QtBot.waitSignal, QtBot.waitExposed, QtBot.waitActive):
    (_wait.__kwdefaults__ or {})["timeout"] = PATIENCE_MS


@pytest.fixture(scope="session")
def qapp_args() -> list[str]:
    """The program's name, as the real one has it."""
    return ["outrider"]


@pytest.fixture(scope="session")
def qapp(qapp: QApplication) -> QApplication:
    """The application, which speaks English to parts of the window that are tested without the rest of it too."""
    install(qapp, "en")
    return qapp


@pytest.fixture
def loop(qapp: QApplication) -> Iterator[asyncio.AbstractEventLoop]:
    """An asyncio loop on top of Qt's, which the test itself turns (`qtbot.waitUntil`)."""
    qapp.setQuitOnLastWindowClosed(False)
    loop = qasync.QEventLoop(qapp, already_running=True)
    yield loop
    # Not loop.stop(): it would tell Qt to leave every event loop, those of later tests too.
    loop._QEventLoop__is_running = False
    asyncio.events._set_running_loop(None)
    loop.close()


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
        size: tuple[int, int] | None = (1280, 800),
        ready: bool = True,
        **more: Any,
    ) -> Window:
        file = SettingsFile(tmp_path / "settings.json")
        if settings is not None:
            assert file.save(settings)
        if script is not None and pair is None:
            pair = (tmp_path / "big.gguf", tmp_path / "small.gguf")
        if pair is not None:
            chosen = pair
            monkeypatch.setattr(app.shell.bootstrap, "bundled_pair", lambda: chosen)
        more.setdefault("store", tmp_path / "conversations.sqlite3")
        make: Callable[[], Any] = SpeculativeDecoder if script is None else lambda: ScriptedDecoder(script)
        program = build(qapp, loop, file, make_decoder=make, **more)
        window = Window(program, qtbot, loop)
        opened.append(window)
        if size is not None:
            program.window.resize(*size)
        program.window.show()
        if ready:
            window.ready()
        return window

    yield open_one
    for window in opened:
        assert window.close(), "the engine's thread did not end"
        window.delete()
    qapp.processEvents()


@pytest.fixture
def story_pair(shared_gguf: Callable[[str], Path]) -> tuple[Path, Path]:
    """A small real pair made by other people."""
    return shared_gguf("stories260K-F32"), shared_gguf("stories-draft43K-F32")


@pytest.fixture
def demo_pair(bundled_target: Path, bundled_draft: Path, tried_pair: None) -> tuple[Path, Path]:
    """The pair that comes with the program, which was loaded before."""
    return bundled_target, bundled_draft
