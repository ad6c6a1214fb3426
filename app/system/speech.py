"""Read sentences aloud with the voices of the system, by Qt's text to speech where that is installed."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QCoreApplication, QObject, Signal

_MODULE = "PySide6.QtTextToSpeech"
_NO_VOICE = "mock"
"""Qt's engine for tests, which says nothing."""


class Speech(QObject):
    """Read sentences one after the other. Signal: reading(int), which one; -1: none any more."""

    reading = Signal(int)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engine: Any = None
        self._sentences: Sequence[str] = ()
        self._place = -1
        self._speaking = False

    def read(self, sentences: Sequence[str]) -> str:
        """Begin to read them; return why that cannot be, or ""."""
        self.stop()
        if reason := self._open():
            return reason
        self._sentences = sentences
        self._next()
        return ""

    def stop(self) -> None:
        if self._place >= 0:
            self._place, self._speaking = -1, False
            self._engine.stop()
            self.reading.emit(-1)

    def _open(self) -> str:
        try:
            module: Any = importlib.import_module(_MODULE)
        except ImportError:
            return QCoreApplication.translate(
                "Speech", "Reading aloud needs Qt's text to speech. Install the Python package PySide6-Addons."
            )
        if not set(module.QTextToSpeech.availableEngines()) - {_NO_VOICE}:
            return QCoreApplication.translate("Speech", "Reading aloud needs a voice, and the system has none.")
        if self._engine is None:
            self._engine = module.QTextToSpeech(self)
            self._engine.stateChanged.connect(self._changed)
        return ""

    def _changed(self, state: Any) -> None:
        if state.name == "Speaking":
            self._speaking = True
        elif self._speaking and state.name == "Ready":
            self._speaking = False
            self._next()
        elif state.name == "Error":
            self.stop()

    def _next(self) -> None:
        self._place += 1
        if self._place == len(self._sentences):
            self.stop()
        else:
            self.reading.emit(self._place)
            self._engine.say(self._sentences[self._place])
