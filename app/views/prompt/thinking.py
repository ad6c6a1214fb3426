"""Switch the model's thinking, beside the prompt: a button with a menu."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtGui import QActionGroup
from PySide6.QtWidgets import QMenu, QToolButton, QWidget

from app.views.widgets.icons import keep_icon
from app.views.widgets.theme import Theme

DEFAULT = "default"


class ThinkingButton(QToolButton):
    """Choose one of the ways to think that the model knows; hidden where it knows none. Signal: chosen(mode)."""

    chosen = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("thinking")
        self.setAutoRaise(True)
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.setFixedSize(36, 36)
        self.setToolTip(self.tr("Thinking"))
        self._theme = theme
        self._shown: tuple[tuple[str, ...], str] = ((), "")
        self._menu = QMenu(self)
        self.setMenu(self._menu)
        self.show_modes((), DEFAULT)

    def show_modes(self, modes: Sequence[str], chosen: str) -> None:
        """Offer these modes, and the model's default; `chosen` is ticked."""
        if (tuple(modes), chosen) == self._shown:
            return
        self._shown = tuple(modes), chosen
        self.setVisible(bool(modes))
        self._menu.clear()
        group = QActionGroup(self._menu)
        for mode in (DEFAULT, *modes):
            action = self._menu.addAction(self._word(mode))
            action.setCheckable(True)
            action.setChecked(mode == chosen)
            action.triggered.connect(lambda _on, mode=mode: self.chosen.emit(mode))
            group.addAction(action)
        said = self.tr("Thinking: {mode}").format(mode=self._word(chosen))
        self.setToolTip(said)
        self.setAccessibleName(said)
        keep_icon(self, self._theme, "brain", "muted" if chosen in (DEFAULT, "off") else "accent")

    def _word(self, mode: str) -> str:
        words = {
            DEFAULT: self.tr("as the model does"),
            "off": self.tr("off"),
            "on": self.tr("on"),
            "low": self.tr("low"),
            "medium": self.tr("medium"),
            "high": self.tr("high"),
        }
        return words[mode]
