"""Save the settings after each change, as soon as its event is over: the end of the program loses none of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from PySide6.QtCore import QObject, Qt, QTimer, Signal

from app.settings.settings import SETTINGS, Settings, SettingsFile, SettingsTrouble

LAYOUT_MS = 400
"""Sizes change with every pixel that the mouse goes: they are saved when it rests."""
_END_S = 1.0


class Aside(Protocol):
    """A thread that does one piece of work after the other."""

    def do(self, work: Callable[[], object]) -> None: ...

    def close(self, timeout: float) -> bool: ...


class Autosave(QObject):
    """Listen to the settings. Signals: changed(name), trouble(SettingsTrouble), once until it can be saved again.

    `aside`: where the file itself is written. The disk may take seconds, and the window does not wait for it.
    """

    changed = Signal(str)
    trouble = Signal(object)
    _settled = Signal()

    def __init__(self, settings: Settings, file: SettingsFile, aside: Aside) -> None:
        super().__init__()
        self._settings = settings
        self._file = file
        self._aside = aside
        self._reported: SettingsTrouble | None = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self.save)
        self._settling = self._newer = False
        self._settled.connect(self._go_on, Qt.ConnectionType.QueuedConnection)
        settings.listener = self._note

    def save(self) -> bool:
        """Save now what no end of the program takes away. False if it fails (that is reported)."""
        self._timer.stop()
        if not self._file.save_for_now(self._settings):
            return self._report()
        self._newer = True
        self._settle()
        return True

    def _settle(self) -> None:
        """Write the file beside the window: once for all that was saved while it is being written."""
        if self._newer and not self._settling:
            self._newer, self._settling = False, True
            self._aside.do(self._work)

    def _work(self) -> None:
        self._file.settle()
        self._settled.emit()

    def _go_on(self) -> None:
        self._settling = False
        if self._report() and not self._newer:
            self._file.clear_up()
        self._settle()

    def _report(self) -> bool:
        trouble = self._file.trouble
        if trouble is not None and trouble != self._reported:
            self.trouble.emit(trouble)
        self._reported = trouble
        return trouble is None

    def close(self) -> None:
        """Save for the last time, and listen no more."""
        self._settings.listener = None
        self._timer.stop()
        # Where the disk still does not answer, what lies beside the file counts at the next start.
        self._newer = not self._aside.close(_END_S)
        if self._newer:
            self._file.save_for_now(self._settings)
        else:
            self._file.save(self._settings)
        self._report()

    def _note(self, name: str) -> None:
        if SETTINGS[name].resting:
            if not self._timer.isActive() or self._timer.interval() == LAYOUT_MS:
                self._timer.start(LAYOUT_MS)
        else:
            self._timer.start(0)
        self.changed.emit(name)
