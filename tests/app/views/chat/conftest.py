"""Share a transcript among the tests of the chat."""

from collections.abc import Iterator

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.views.chat.transcript import TranscriptView
from helpers.window.transcript import transcript_in_window


@pytest.fixture
def view(qapp: QApplication, qtbot: QtBot) -> Iterator[TranscriptView]:
    """A transcript in a window of its own, with a field before it and one after it."""
    yield from transcript_in_window(qapp, qtbot)
