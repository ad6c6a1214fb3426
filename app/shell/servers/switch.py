"""Turn the local server on and off by the settings, and show its work."""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QLocale, QObject, QTimer

from app.bridge.job import Job
from app.control.problems import describe
from app.shell.program import Program
from app.system.translation import tr
from engine import Cancelled, EngineError, Translatable, host
from engine.host import write_whole

if TYPE_CHECKING:
    from app.views.settings.connect import ConnectPart
    from app.views.settings.server import ServerPage
    from engine.host import OtherProgram, RoundTrip, ServerPlace

_LIVE_MS, _LATER_MS = 1_000, 2_500
_KEY_FILE = "server-key"


class ServerControl(QObject):
    """Hold the switch of the local server, and its page while that is shown.

    The key lies in a file of its own beside the settings, which only its owner may read.
    """

    def __init__(self, program: Program) -> None:
        super().__init__(program.window)
        self._program = program
        self._page: ServerPage | None = None
        file = program.settings_file.path
        self._key_path = None if file is None else file.with_name(_KEY_FILE)
        self._key = ""
        self._trouble = ""
        self._live = QTimer(self, interval=_LIVE_MS)
        self._live.timeout.connect(self._tick)
        self._connect = ConnectControl(program, lambda: self.key)
        if program.settings.server_on:  # Not while the window and its models come.
            program.window.painted.connect(lambda: QTimer.singleShot(_LATER_MS, self, self.obey))

    @property
    def key(self) -> str:
        if self._key_path is not None:
            with suppress(OSError, ValueError):
                return self._key_path.read_text(encoding="utf-8").strip()
        return self._key

    def obey(self) -> None:
        """Turn it on or off as the settings say."""
        settings, server = self._program.settings, self._program.server
        if settings.server_on:
            server.turn_on(settings.server_host, settings.server_port, self.key, settings.server_names)
        else:
            server.turn_off()
        self._show()
        self._connect.follow()

    def attach(self, page: ServerPage) -> None:
        self._page = page
        page.changed.connect(self._set)
        page.key_changed.connect(self._set_key)
        self._connect.attach(page.apps)

    def follow(self) -> None:
        """Show the state of the server, and update it as long as the dialog is open."""
        self._show()
        self._connect.follow()
        self._live.start()

    def _tick(self) -> None:
        if self._page is None or not self._page.window().isVisible():
            self._live.stop()
        else:
            self._show()

    def _set(self, name: str, value: Any) -> None:
        setattr(self._program.settings, name, value)
        self.obey()

    def _set_key(self, key: str) -> None:
        self._trouble = ""
        if key == self.key:
            return
        self._key = key
        try:
            if self._key_path is None:
                pass
            elif key:
                write_whole(self._key_path, key.encode(), private=True)
            else:
                self._key_path.unlink(missing_ok=True)
        except OSError as error:
            reason = error.strerror or error
            self._trouble = Translatable("The key cannot be saved ({reason}).", reason=reason)
        self.obey()

    def _show(self) -> None:
        page, server = self._page, self._program.server
        if page is not None:
            page.show_key(self.key)
            page.show_state(server.url, self._trouble or server.problem)
            page.show_work(server.figures(), server.lines())


_ANY_MODEL = "outrider"
"""Any name means the model that is loaded."""


class ConnectControl(QObject):
    """Fill the part of the page that connects programs. `key` returns the server's key, '' for none."""

    def __init__(self, program: Program, key: Callable[[], str]) -> None:
        super().__init__(program.window)
        self._program, self._key = program, key
        self._part: ConnectPart | None = None
        self._test: Job[RoundTrip] | None = None

    def attach(self, part: ConnectPart) -> None:
        self._part = part
        part.chosen.connect(lambda _name: self._show())
        part.write_wanted.connect(lambda _name: self._write())
        part.test_wanted.connect(lambda _name: self._ask())

    def follow(self) -> None:
        """List the programs on this machine."""
        if self._part is not None:
            here = [(each.name, each.title, each.found) for each in host.PROGRAMS]
            self._part.show_programs(
                [(name, title) for name, title, found in here if found],
                [(name, title) for name, title, found in here if not found],
            )
            self._show()

    @property
    def _chosen(self) -> OtherProgram:
        name = "" if self._part is None else self._part.name
        return next((each for each in host.PROGRAMS if each.name == name), host.PROGRAMS[0])

    @property
    def _place(self) -> ServerPlace:
        program = self._program
        decoder = program.bridge.current_decoder()
        name = "" if decoder is None or decoder.target is None else decoder.target.name
        plain = name.isprintable() and not {'"', "'"} & {*name}
        root = program.server.url.removesuffix("/v1") or f"http://127.0.0.1:{program.settings.server_port}"
        return host.ServerPlace(root, name if name and plain else _ANY_MODEL, self._key())

    def _show(self, said: str = "", *, wrong: bool = False) -> None:
        if self._part is not None:
            program, where = self._chosen, self._chosen.file
            file = "" if where is None or program.written is None else str(where())
            self._part.show_text(program.text(self._place), program.note, file)
            self._part.say(said, wrong=wrong)

    def _write(self) -> None:
        words = tr("Connect", "Written to {path}.")
        copied = tr("Connect", "Written to {path}. What was there is in {copy}.")
        try:
            path, copy = self._chosen.write(self._place)
        except EngineError as error:
            self._show(describe(error).text, wrong=True)
        else:
            self._show((copied if copy else words).format(path=path, copy=copy))

    def _ask(self) -> None:
        place, interface = self._place, self._chosen.interface
        if self._test is not None:
            self._test.cancel()
        if not self._program.server.url:
            self._show(tr("Connect", "Switch the server on first, above."), wrong=True)
            return
        job = self._test = self._program.controller.tools.bench.start(
            lambda cancel: host.ask_as_program(place, interface, cancel=cancel)
        )
        job.result.add_done_callback(lambda done: self._answered(job, done))
        self._show(tr("Connect", "Asking {address}…").format(address=place.root))

    def _answered(self, job: Job[RoundTrip], done: Future[RoundTrip]) -> None:
        error = done.exception()
        if job is not self._test or self._part is None or isinstance(error, Cancelled):
            return
        self._test = None
        if error is not None:
            self._show(describe(error).text, wrong=True)
            return
        answer = done.result()
        words = tr("Connect", "{path}: {model} answered in {seconds} s: {text}")
        seconds = QLocale().toString(answer.seconds, "f", 1)
        text = " ".join(answer.text.split()) or tr("Connect", "(nothing)")
        self._show(words.format(path=answer.path, model=answer.model, seconds=seconds, text=text))
