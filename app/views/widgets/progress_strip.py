"""Show the thin progress bar with a word and a cancel button."""

from __future__ import annotations

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QFrame, QLabel, QProgressBar, QWidget

from app.state.chat.activity import Activity
from app.views.widgets.boxes import in_row, wide
from app.views.widgets.icons import icon_button
from app.views.widgets.theme import Theme
from app.words.figures import activity_word

PATIENCE_MS = 250
"""Work that is done sooner shows no bar: nothing blinks."""


class ProgressStrip(QFrame):
    """Show work that takes a while. Signal: cancel()."""

    cancel = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("progress")
        self.word = QLabel(self)
        self.word.setObjectName("progressWord")
        self.bar = QProgressBar(self)
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName(self.tr("Progress"))
        self.button = icon_button(theme, "x", self.tr("Cancel (Esc)"), self)
        self.button.clicked.connect(self.cancel)
        in_row(self.word, wide(self.bar), self.button, spacing=8, margins=(4, 0, 4, 0), parent=self)
        self._patience = QTimer(self)
        self._patience.setSingleShot(True)
        self._patience.timeout.connect(self.show)
        self.hide()

    def show_activity(self, activity: Activity) -> None:
        """Show this, after a moment; or nothing."""
        word = activity_word(activity)
        if not word:
            self._patience.stop()
            self.hide()
            return
        self.word.setText(word)
        if activity.fraction is None:
            self.bar.setRange(0, 0)
        else:
            self.bar.setRange(0, 1000)
            self.bar.setValue(round(1000 * activity.fraction))
        if self.isHidden() and not self._patience.isActive():
            self._patience.start(PATIENCE_MS)
