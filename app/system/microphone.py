"""Record what somebody says, by Qt's multimedia where that is installed."""

from __future__ import annotations

import importlib
from typing import Any

from PySide6.QtCore import QCoreApplication, QObject, Signal

from engine.host import MOST_SPEECH_S, SPEECH_RATE

_MODULE = "PySide6.QtMultimedia"
_MOST_BYTES = 2 * SPEECH_RATE * MOST_SPEECH_S


class Microphone(QObject):
    """Record from the system's microphone. Signal: full(), no more is recorded."""

    full = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._source: Any = None
        self._stream: Any = None
        self._heard = bytearray()

    @property
    def recording(self) -> bool:
        """Return True between `start` and `stop`."""
        return self._source is not None

    def start(self) -> str:
        """Begin to record; return why that cannot be, or ""."""
        try:
            qt: Any = importlib.import_module(_MODULE)
        except ImportError:
            return QCoreApplication.translate(
                "Microphone", "Dictation needs Qt's multimedia. Install the Python package PySide6-Addons."
            )
        device = qt.QMediaDevices.defaultAudioInput()
        wanted = qt.QAudioFormat()
        wanted.setSampleRate(SPEECH_RATE)
        wanted.setChannelCount(1)
        wanted.setSampleFormat(qt.QAudioFormat.SampleFormat.Int16)
        if device.isNull() or not device.isFormatSupported(wanted):
            return QCoreApplication.translate("Microphone", "Dictation needs a microphone, and the system has none.")
        self._heard.clear()
        self._source = qt.QAudioSource(device, wanted, self)
        self._stream = self._source.start()
        self._stream.readyRead.connect(self._read)
        return ""

    def stop(self) -> bytes:
        """Stop, and return what was recorded: 16 bits a sample, one channel."""
        source, stream = self._source, self._stream
        self._source = self._stream = None
        if source is not None:
            self._heard += bytes(stream.readAll())
            source.stop()
        return bytes(self._heard[:_MOST_BYTES])

    def _read(self) -> None:
        if self._stream is None:
            return
        self._heard += bytes(self._stream.readAll())
        if len(self._heard) >= _MOST_BYTES:
            self.full.emit()
