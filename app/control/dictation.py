"""Dictate into the prompt: record, write it down aside, hand over the words. Nothing is sent by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from app.system.microphone import Microphone
from app.system.translation import say
from engine import EngineError
from engine.host import find_speech_model, write_down

Aside = Callable[[Callable[[], Any], Callable[[Any], None]], None]


class Dictation(QObject):
    """Record from one command to the next.

    Signals, each with words for the window but the last: listening, writing, failed; heard (what was dictated).
    """

    listening = Signal(str)
    writing = Signal(str)
    failed = Signal(str)
    heard = Signal(str)

    def __init__(self, aside: Aside, folders: Callable[[], Iterable[Path]], parent: QObject) -> None:
        super().__init__(parent)
        self._aside, self._folders = aside, folders
        self._microphone = Microphone(self)
        self._microphone.full.connect(self.toggle)
        self._model = Path()
        self._busy = False

    def toggle(self) -> None:
        """Begin to record, or end it and have it written down."""
        if self._busy:
            return
        self._busy = True
        if self._microphone.recording:
            self._write_down(self._microphone.stop())
        else:
            folders = tuple(self._folders())
            self._aside(lambda: find_speech_model(folders), self._begin)

    def _begin(self, model: Path | None) -> None:
        """Record once it is known what will write it down."""
        self._busy = False
        if model is None:
            self.failed.emit(self.tr("Dictation needs a Whisper model: put a file ggml-….bin into a models folder."))
        elif reason := self._microphone.start():
            self.failed.emit(reason)
        else:
            self._model = model
            self.listening.emit(self.tr("Listening. Choose Dictate again to write it down (Ctrl+Shift+D)."))

    def _write_down(self, sound: bytes) -> None:
        model = self._model

        def work() -> tuple[str, str]:
            try:
                return write_down(model, sound), ""
            except EngineError as error:
                return "", say(error.message)

        self.writing.emit(self.tr("Writing it down…"))
        self._aside(work, self._written)

    def _written(self, found: tuple[str, str] | None) -> None:
        self._busy = False
        text, trouble = found or ("", "")
        if text:
            self.heard.emit(text)
        else:
            self.failed.emit(trouble or self.tr("Nothing was heard."))
