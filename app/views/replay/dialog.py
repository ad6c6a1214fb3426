"""Show the replay of a kept reply in a window of its own."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QLabel, QPushButton, QWidget

from app.state.replay.timeline import Replay
from app.views.replay.player import ReplayPlayer
from app.views.widgets.boxes import in_column, in_row, wide
from app.views.widgets.keys import Dialog
from app.views.widgets.plain_style import plain_title
from app.views.widgets.theme import Theme

_SIZE = QSize(760, 520)
_LONGEST = 60


class ReplayDialog(Dialog):
    """Play a reply again. Attribute: player."""

    def __init__(self, replay: Replay, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("proof")
        line = " ".join(replay.title.split())
        title = line if len(line) <= _LONGEST else line[:_LONGEST] + "…"
        words = self.tr("Replay of “{title}”").format(title=title) if title else self.tr("Replay")
        self.setWindowTitle(plain_title(words))
        heading = QLabel(words, self)
        heading.setObjectName("cardTitle")
        heading.setWordWrap(True)
        self.player = ReplayPlayer(theme, self)
        close = QPushButton(self.tr("Close"), self)
        close.setAutoDefault(False)
        close.clicked.connect(self.close)
        buttons = in_row(..., close)
        in_column(heading, wide(self.player), buttons, margins=(24, 24, 24, 16), spacing=12, parent=self)
        self.resize(_SIZE.boundedTo(self.screen().availableSize()))
        self.player.show_replay(replay)

    def begin(self) -> None:
        self.show()
        self.player.setFocus()
        self.player.start()
