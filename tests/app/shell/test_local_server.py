"""The switch of the local server: the models of the window answer other programs, beside the window itself."""

import asyncio
import json
import socket
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import openai
import pytest
from PySide6.QtWidgets import QLabel, QWidget
from pytestqt.qtbot import QtBot

from app.bridge.bridge import EngineBridge
from app.bridge.serving import ServerSwitch
from app.settings.settings import Settings
from app.state.models.selection import Loaded
from app.system.translation import fill
from app.views.settings.connect import ConnectPart
from app.views.settings.server import ServerPage
from engine import InvalidRequest, LocalServer, Message, ServerAddress, Translatable, bundled_pair
from engine.host import ServerFigures, ServerLine
from helpers.decoding.serving import asked
from helpers.window.app_window import OpenWindow, Window
from helpers.window.settings_window import open_settings


async def ask(url: str, path: str, body: dict[str, Any] | None = None, **headers: str) -> tuple[int, Any]:
    data = None if body is None else json.dumps(body).encode()
    return await asyncio.to_thread(lambda: asked(url.removesuffix("/v1"), path, data, **headers))


@pytest.mark.asyncio
async def test_the_models_of_the_window_answer_others_too() -> None:
    bridge = EngineBridge(asyncio.get_running_loop(), trusted=bundled_pair())
    switch = ServerSwitch(bridge)
    question = [{"role": "user", "content": "Tell me a story about a fox."}]
    try:
        switch.turn_on("127.0.0.1", 0, "")
        assert not switch.problem
        status, answer = await ask(switch.url, "/v1/chat/completions", {"messages": question})
        assert status == 503
        assert "target" in answer["error"]["message"]
        await bridge.load(Loaded(bundled_pair()[0], bundled_pair()[1:])).result
        own = bridge.reply([Message("user", question[0]["content"])], 0)

        def chat() -> tuple[str | None, str]:
            with openai.OpenAI(base_url=switch.url, api_key="none", max_retries=0) as client:
                reply = client.chat.completions.create(model="", messages=question, max_tokens=16)  # type: ignore[arg-type]
                return reply.choices[0].message.content, client.models.list().data[0].id

        (text, name), mine = await asyncio.gather(asyncio.to_thread(chat), own.result)
        assert mine.content.startswith(text or "?")
        assert name == Path(bundled_pair()[0]).stem
        figures = switch.figures()
        assert figures is not None
        assert (figures.replies, figures.emitted, figures.running) == (1, 16, 0)
        assert [(line.path, line.status) for line in switch.lines()][:2] == [
            ("/v1/chat/completions", 503),
            ("/v1/chat/completions", 200),
        ]
        first = switch.url
        switch.turn_on("127.0.0.1", 0, "secret", "desk.local, other.local")
        assert switch.url != first
        assert (await ask(switch.url, "/health", Host="other.local"))[0] == 200
        assert (await ask(switch.url, "/health", Host="evil.local"))[0] == 403
        assert (await ask(switch.url, "/v1/models"))[0] == 401
        assert (await ask(switch.url, "/v1/models", Authorization="Bearer secret"))[0] == 200
        switch.turn_on("127.0.0.1", 0, "", "http://desk")
        assert "is no name of a computer" in switch.problem
        switch.turn_on("0.0.0.0", 0, "")  # noqa: S104 - it must be refused
        assert not switch.url
        assert "set a key" in switch.problem
    finally:
        assert switch.turn_off(10)
        assert bridge.close(10)


def line(path: str, status: int) -> ServerLine:
    return ServerLine(datetime(2026, 1, 1, tzinfo=UTC), path, status, 0.5)


def test_the_page_shows_what_the_server_does(qtbot: QtBot) -> None:
    parent = QWidget()
    qtbot.addWidget(parent)
    page = ServerPage(parent)
    told: list[tuple[str, object]] = []
    page.changed.connect(lambda name, value: told.append((name, value)))
    parent.show()
    assert page.figures.isHidden(), "it has done nothing"
    assert all(label.text() for label in page.findChildren(QLabel, "hint") if not label.isHidden())
    page.show_settings(Settings(server_on=True, server_port=9000))
    assert told == []
    assert page.switch.isChecked()
    page.switch.setChecked(False)
    page.hosts.setCurrentIndex(1)
    assert told == [("server_on", False), ("server_host", "0.0.0.0")]  # noqa: S104
    page.port.setText("8080")
    page.port.editingFinished.emit()
    assert told[-1] == ("server_port", 8080)
    page.names.setText(" desk.local ")
    page.names.editingFinished.emit()
    named: list[tuple[str, object]] = [("server_names", "desk.local")]
    assert told[-1:] == named
    page.show_state("http://127.0.0.1:9000/v1", "")
    assert "http://127.0.0.1:9000/v1" in page.state.text()
    page.show_state("", "Other computers could use this address: set a key.")
    assert page.state.objectName() == "fieldError"
    page.show_work(ServerFigures(1, 2, 3, 10, 4, 1234, 8, 6), (line("/health", 200), line("/v1/models", 401)))
    assert not page.figures.isHidden()
    assert "1,234" in page.figures.text()
    assert "75 %" in page.figures.text()
    assert page.log.toPlainText().splitlines()[0].endswith("/v1/models"), "the newest first"


def _connect_programs(
    window: Window, part: ConnectPart, port: int, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Show a program's settings, ask as it would, and write them beside those that are there."""
    monkeypatch.setattr(Path, "home", lambda: home)
    for name in ("CODEX_HOME", "CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    (home / ".claude").mkdir()
    part.programs.setCurrentIndex(part.programs.findData("claude-code"))
    assert f"ANTHROPIC_BASE_URL='http://127.0.0.1:{port}'" in part.text.toPlainText()
    part.test.click()
    window.wait(lambda: "/v1/messages: demo-target" in part.state.text(), 60_000)
    assert part.state.objectName() == "hint"
    settings = home / ".claude" / "settings.json"
    settings.write_text('{"env": {"A": "b"}}')
    part.write.click()
    assert json.loads(settings.read_text())["env"] | {"A": "b"} == json.loads(settings.read_text())["env"]
    assert settings.with_name("settings.json.before-outrider").read_text() == '{"env": {"A": "b"}}'
    assert "What was there is in" in part.state.text()
    settings.write_text("{")
    part.write.click()
    assert (part.state.objectName(), settings.read_text()) == ("fieldError", "{")
    part.programs.setCurrentIndex(part.programs.findData("cline"))
    assert not part.write.isEnabled()


@pytest.mark.timeout(120)
def test_the_switch_in_the_settings(
    open_window: OpenWindow, demo_pair: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    window = open_window(pair=demo_pair, settings=Settings(server_port=port))
    page = open_settings(window, "program.settings").server
    assert page.state.text() == "Off"
    page.switch.click()
    assert f"http://127.0.0.1:{port}/v1" in page.state.text()
    told: list[int] = []

    def ask() -> None:
        body = {"messages": [{"role": "user", "content": "Hello!"}], "max_tokens": 4}
        told.append(asked(f"http://127.0.0.1:{port}", "/v1/chat/completions", json.dumps(body).encode())[0])

    thread = threading.Thread(target=ask)
    thread.start()
    window.wait(lambda: bool(told), 60_000)
    thread.join()
    assert told == [200]
    window.wait(lambda: "/v1/chat/completions" in page.log.toPlainText())
    assert "4 tokens written" in page.figures.text()
    _connect_programs(window, page.apps, port, tmp_path, monkeypatch)
    page.key.setText("secret")
    page.key.editingFinished.emit()
    assert "secret" in page.apps.text.toPlainText()
    assert asked(f"http://127.0.0.1:{port}", "/v1/models")[0] == 401
    key = window.program.settings_file.path
    assert key is not None
    key = key.with_name("server-key")
    assert key.read_text() == "secret"
    assert key.stat().st_mode & 0o077 == 0
    page.switch.click()
    assert page.state.text() == "Off"
    assert not window.program.settings.server_on
    page.apps.test.click()
    assert page.apps.state.text() == "Switch the server on first, above."


def test_a_port_that_is_taken_can_be_said_in_another_language() -> None:
    """In words for the window and the command line alike; the number stays as it is."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InvalidRequest) as told:
            LocalServer(ServerAddress("127.0.0.1", port), lambda: None, lambda _work: None)
    assert isinstance(told.value.message, Translatable)
    assert str(port) in fill(told.value.message.template, **told.value.message.fields)
    assert "--" not in told.value.message
