"""Turn the local server on and off by the settings, and show its work."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QTimer

from app.shell.program import Program
from app.shell.servers.connect import ConnectControl
from engine import Translatable
from engine.host import write_whole

if TYPE_CHECKING:
    from app.views.settings.server import ServerPage

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
        """Return the key, '' if there is none."""
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
        """Show the server on this page."""
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
