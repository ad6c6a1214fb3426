"""Save the settings after each change, as soon as its event is over: the end of the program loses none of them."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer, Signal

from app.settings.settings import SETTINGS, Settings, SettingsFile, SettingsTrouble

LAYOUT_MS = 400
"""Sizes change with every pixel that the mouse goes: they are saved when it rests."""


class Autosave(QObject):
    """Listen to the settings. Signals: changed(name), trouble(SettingsTrouble), once until it can be saved again."""

    changed = Signal(str)
    trouble = Signal(object)

    def __init__(self, settings: Settings, file: SettingsFile) -> None:
        super().__init__()
        self._settings = settings
        self._file = file
        self._reported: SettingsTrouble | None = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self.save)
        settings.listener = self._note

    def save(self) -> bool:
        """Save now. False if it fails (that is reported)."""
        self._timer.stop()
        saved = self._file.save(self._settings)
        trouble = None if saved else self._file.trouble
        if trouble is not None and trouble != self._reported:
            self.trouble.emit(trouble)
        self._reported = trouble
        return saved

    def close(self) -> None:
        """Save for the last time, and listen no more."""
        self._settings.listener = None
        self.save()

    def _note(self, name: str) -> None:
        if SETTINGS[name].resting:
            if not self._timer.isActive() or self._timer.interval() == LAYOUT_MS:
                self._timer.start(LAYOUT_MS)
        else:
            self._timer.start(0)
        self.changed.emit(name)
