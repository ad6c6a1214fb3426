"""Save the settings after each change, as soon as its event is over: the end of the program loses none of them."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

from PySide6.QtCore import QObject, Qt, QTimer, Signal

from app.settings.settings import SETTINGS, Settings, SettingsFile, SettingsTrouble

LAYOUT_MS = 400
"""Sizes change with every pixel that the mouse goes: they are saved when it rests."""


class Autosave(QObject):
    """Listen to the settings. Signals: changed(name), trouble(SettingsTrouble), once until it can be saved again."""

    changed = Signal(str)
    trouble = Signal(object)
    _settled = Signal()

    def __init__(self, settings: Settings, file: SettingsFile) -> None:
        super().__init__()
        self._settings = settings
        self._file = file
        self._reported: SettingsTrouble | None = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._save_for_now)
        # The disk may take seconds: the window does not wait for it.
        self._disk = ThreadPoolExecutor(1, "outrider-settings")
        self._settling: Future[bool] | None = None
        self._settled.connect(self._report, Qt.ConnectionType.QueuedConnection)
        settings.listener = self._note

    def save(self) -> bool:
        """Save now. False if it fails (that is reported)."""
        self._timer.stop()
        if self._settling is not None:
            self._settling.result()
        self._file.save(self._settings)
        return self._report()

    def _save_for_now(self) -> None:
        self._timer.stop()
        if not self._file.save_for_now(self._settings):
            self._report()
            return
        if self._settling is not None:
            self._settling.cancel()  # One that has not begun would write the same.
        self._settling = self._disk.submit(self._file.settle)
        self._settling.add_done_callback(lambda _: self._settled.emit())

    def _report(self) -> bool:
        trouble = self._file.trouble
        if trouble is not None and trouble != self._reported:
            self.trouble.emit(trouble)
        self._reported = trouble
        if trouble is None and self._settling is not None and self._settling.done():
            self._file.clear_up()
        return trouble is None

    def close(self) -> None:
        """Save for the last time, and listen no more."""
        self._settings.listener = None
        self.save()
        self._disk.shutdown()
        self._settling = None  # What comes late clears nothing up.

    def _note(self, name: str) -> None:
        if SETTINGS[name].resting:
            if not self._timer.isActive() or self._timer.interval() == LAYOUT_MS:
                self._timer.start(LAYOUT_MS)
        else:
            self._timer.start(0)
        self.changed.emit(name)
