"""Place the panels beside the conversation: shown or hidden, as wide as the user made them, folded in little room."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QSplitter, QWidget

from app.settings.settings import Settings
from app.views.widgets.theme import Theme

NARROW = 1_000
CHAT_LEAST = 420
LEFT_LEAST, RIGHT_LEAST = 204, 272
LEFT_MOST, RIGHT_MOST = 360, 480


class SidePanels(QObject):
    """Manage both panels. `room`: the smallest width of the window. Signal: changed() (one was shown or hidden)."""

    changed = Signal()

    def __init__(
        self, splitter: QSplitter, left: QWidget, right: QWidget, settings: Settings, theme: Theme, room: int
    ) -> None:
        """Set up the panels; in the splitter the chat stands between them."""
        super().__init__(splitter)
        self._splitter = splitter
        self._left, self._right = left, right
        self._settings = settings
        self._theme = theme
        self._room = room
        self._narrow: bool | None = None
        self._scale = theme.scale
        splitter.splitterMoved.connect(self.note_widths)
        theme.changed.connect(self._follow_font)

    def show(self, panel: QWidget, *, shown: bool) -> None:
        """Show or hide one; without room for both panels, the other one is hidden."""
        self.note_widths()
        other = self._right if panel is self._left else self._left
        if self._narrow and shown:
            other.hide()
        panel.setVisible(shown)
        self._set_widths()
        if not self._narrow:
            self._settings.left_shown = not self._left.isHidden()
            self._settings.right_shown = not self._right.isHidden()
        self.changed.emit()

    def fit_font(self) -> None:
        """Fit the widths of the panels to the letters: large ones need wide panels."""
        scale = max(self._theme.scale, 1.0)
        for panel, least, most in ((self._left, LEFT_LEAST, LEFT_MOST), (self._right, RIGHT_LEAST, RIGHT_MOST)):
            panel.setMinimumWidth(min(round(least * scale), self._room - CHAT_LEAST - 10))
            panel.setMaximumWidth(round(most * scale))
        self.fold()
        self._set_widths()

    def _follow_font(self) -> None:
        """Grow and shrink with the font: the panels are as wide as before, counted in letters."""
        before, self._scale = self._scale, self._theme.scale
        if before != self._scale:
            self.note_widths()
            self._settings.left_width = round(self._settings.left_width * self._scale / before)
            self._settings.right_width = round(self._settings.right_width * self._scale / before)
            self.fit_font()

    def fold(self) -> None:
        """Fold the side panels below 1,000 px (with letters of the usual size), unless one is asked for."""
        narrow = self._window_width() < NARROW * max(self._theme.scale, 1.0)
        if narrow == self._narrow:
            return
        self.note_widths()
        self._narrow = narrow
        self._left.setVisible(not narrow and self._settings.left_shown)
        self._right.setVisible(not narrow and self._settings.right_shown)
        self._set_widths()
        self.changed.emit()

    def note_widths(self) -> None:
        """Store the panel widths that the user chose; without enough space they mean nothing."""
        if self._narrow is not False:
            return
        left, _, right = self._splitter.sizes()
        if left and not self._left.isHidden():
            self._settings.left_width = left
        if right and not self._right.isHidden():
            self._settings.right_width = right

    def _set_widths(self) -> None:
        left = 0 if self._left.isHidden() else self._settings.left_width
        right = 0 if self._right.isHidden() else self._settings.right_width
        self._splitter.setSizes([left, max(self._window_width() - left - right, CHAT_LEAST), right])

    def _window_width(self) -> int:
        return self._splitter.window().width()
