"""Dictation: what is recorded is written down at the cursor; what is missing is one sentence."""

import re
import struct
import sys
from enum import Enum
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PySide6.QtCore import QObject, Signal

from engine import NotAvailable
from engine.host import SPEECH_RATE, find_speech_model, write_down
from engine.speech import dictated_child
from engine.translatable import unpacked
from helpers.decoding.scripted_decoder import Script
from helpers.models.random_whisper import HEAD, random_whisper
from helpers.window.app_window import OpenWindow, Window

WHISPER = HEAD + struct.pack("<2i4xII5s", 1, 1, 1, 5, b"whale") + struct.pack("<4i7s", 1, 7, 0, 9, b"unknown")
SECOND = bytes(2 * SPEECH_RATE)


class Stream(QObject):
    """Stand for a microphone's sound: a second of silence at each reading."""

    readyRead = Signal()  # noqa: N815 - Qt's name

    def readAll(self) -> bytes:  # noqa: N802 - Qt's name
        return SECOND


class Source(QObject):
    """Qt's source of sound, as far as it is used."""

    streams: list[Stream] = []  # noqa: RUF012 - of all of them

    def __init__(self, _device: object, _format: object, parent: QObject) -> None:
        super().__init__(parent)

    def start(self) -> Stream:
        self.streams.append(Stream(self))
        return self.streams[-1]

    def stop(self) -> None:
        pass


class Format:
    """Qt's format of sound."""

    SampleFormat = Enum("SampleFormat", ["Int16"])

    def __getattr__(self, name: str) -> Any:
        return lambda _value: None


def multimedia(*, silent: bool = False) -> SimpleNamespace:
    device = SimpleNamespace(isNull=lambda: silent, isFormatSupported=lambda _format: True)
    devices = SimpleNamespace(defaultAudioInput=lambda: device)
    return SimpleNamespace(QMediaDevices=devices, QAudioFormat=Format, QAudioSource=Source)


def dictate(window: Window, said: str = "") -> None:
    """Choose *Dictate*, and wait until the window says this."""
    window.main.commands.run("chat.dictate")
    window.wait(lambda: said in window.main.notice.text.text())


def test_words_are_written_at_the_cursor_and_nothing_is_sent(
    open_window: OpenWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[tuple[Path, bytes]] = []

    def written(model: Path, sound: bytes) -> str:
        heard.append((model, sound))
        if len(heard) == 1:
            raise NotAvailable("Dictation", "it is no Whisper model.")
        return "blue whales" if len(heard) == 2 else ""

    monkeypatch.setattr("app.control.dictation.write_down", written)
    script = Script()
    window = open_window(script)
    notice = window.main.notice
    dictate(window, "needs a Whisper model")  # Before anything is recorded.
    (tmp_path / "models").mkdir()
    model = tmp_path / "models" / "ggml-tiny.bin"
    model.write_bytes(WHISPER)
    window.models.add_folder(tmp_path / "models")
    window.wait(lambda: tmp_path / "models" in window.models.list.folders)
    for module, said in ((None, "Install the Python package"), (multimedia(silent=True), "needs a microphone")):
        monkeypatch.setitem(sys.modules, "PySide6.QtMultimedia", module)
        dictate(window, said)
    monkeypatch.setitem(sys.modules, "PySide6.QtMultimedia", multimedia())
    window.prompt.set_text("Are big?")
    cursor = window.prompt.edit.textCursor()
    cursor.setPosition(3)
    window.prompt.edit.setTextCursor(cursor)
    for over in (
        lambda: "is no Whisper model" in notice.text.text(),
        notice.isHidden,
        lambda: "Nothing was heard" in notice.text.text(),
    ):
        dictate(window, "Listening")
        Source.streams[-1].readyRead.emit()
        dictate(window)
        window.wait(over, 5_000)
    assert heard == [(model, 2 * SECOND)] * 3
    assert window.prompt.edit.toPlainText() == "Are blue whales big?"
    # It ends by itself.
    dictate(window, "Listening")
    for _ in range(130):
        Source.streams[-1].readyRead.emit()
    window.wait(lambda: len(heard) == 4)
    assert len(heard[-1][1]) == 120 * len(SECOND)
    assert not script.prompts


def test_the_smallest_whisper_model_is_taken(tmp_path: Path) -> None:
    (tmp_path / "ggml-a.bin").write_bytes(WHISPER + bytes(9))
    (tmp_path / "ggml-b.bin").write_bytes(WHISPER)
    (tmp_path / "ggml-c.bin").write_bytes(b"lmgg" + b"\x7f" * 999)
    assert find_speech_model([tmp_path / "none", tmp_path]) == tmp_path / "ggml-b.bin"


def test_the_child_hands_samples_to_whisper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Whisper:
        def __init__(self, path: str, **options: object) -> None:
            self.path, self.options = path, options

        def transcribe(self, samples: Any) -> list[SimpleNamespace]:
            assert (str(samples.dtype), samples.tolist()) == ("float32", [0.5, -1.0])
            return [SimpleNamespace(text=" Hello"), SimpleNamespace(text=" there. ")]

    monkeypatch.setitem(sys.modules, "pywhispercpp.model", SimpleNamespace(Model=Whisper))
    (tmp_path / "ggml-a.bin").write_bytes(b"lmgg")
    told: list[Any] = []
    sound = struct.pack("<2h", 16_384, -32_768)
    asked = {"model": str(tmp_path / "ggml-a.bin"), "threads": 1}
    dictated_child._answer(asked, sound, told.append)
    assert told[0]["text"].split() == ["Hello", "there."]
    monkeypatch.setitem(sys.modules, "pywhispercpp.model", None)
    dictated_child._answer(asked, sound, told.append)
    assert unpacked(told[1]["reason"]) == "install the Python package pywhispercpp."


def test_a_model_writes_words_down(tmp_path: Path) -> None:
    """Random weights hear words of their own."""
    pytest.importorskip("pywhispercpp")
    model = random_whisper(tmp_path / "ggml-random.bin")
    assert find_speech_model([tmp_path]) == model
    assert re.fullmatch(r"w\d+( w\d+)*", write_down(model, SECOND * 2))


LONG = HEAD + struct.pack("<2i4x2I", 1, 1, 1, 2**31) + bytes(9)
MANY = HEAD + struct.pack("<2i4xI", 1, 1, 51_865) + bytes(99)
DAMAGED = {"cut": HEAD, "zeros": HEAD + bytes(9_999), "long word": LONG, "few words": MANY, "other weights": WHISPER}


@pytest.mark.parametrize("data", DAMAGED.values(), ids=DAMAGED)
def test_what_is_no_model_is_a_sentence(data: bytes, tmp_path: Path) -> None:
    """Also without the package, and where the library crashes."""
    (tmp_path / "ggml-a.bin").write_bytes(data)
    with pytest.raises(NotAvailable, match=r"^Dictation is not available: [^\n]+\.$"):
        write_down(tmp_path / "ggml-a.bin", SECOND)
