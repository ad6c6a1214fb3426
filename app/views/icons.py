"""Icons: Phosphor, regular weight, in the colours of the theme."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import qtawesome
from PySide6.QtCore import QObject, QSize
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QAbstractButton, QToolButton, QWidget
from qtawesome.iconic_font import IconicFont

from app.views.theme import Theme

SIZE = 18
_SET = "ph"


def icon(theme: Theme, name: str, color: str = "text") -> QIcon:
    """The icon `name` of the Phosphor set, in a token's colour."""
    colors = {"color": getattr(theme.tokens, color), "color_disabled": theme.tokens.muted}
    picture: QIcon = _font().icon(f"{_SET}.{name}", **colors)
    return picture


@cache
def _font() -> IconicFont:
    """Phosphor alone: asked for an icon, qtawesome would load all of its twelve sets, and need them all to be there."""
    fonts = Path(qtawesome.__file__).parent / "fonts"
    shapes, names = (next(fonts.glob(pattern)).name for pattern in ("phosphor-*.ttf", "phosphor-charmap-*.json"))
    return IconicFont((_SET, shapes, names))


class _IconKeeper(QObject):
    """Lives with a button and draws its icon anew when the theme changes."""

    def __init__(self, button: QAbstractButton, theme: Theme) -> None:
        super().__init__(button)
        self.name = self.color = ""
        self._button = button
        self._theme = theme
        button.setIconSize(QSize(SIZE, SIZE))
        theme.changed.connect(self.draw)

    def draw(self) -> None:
        """Draw the icon in the colours of now."""
        self._button.setIcon(icon(self._theme, self.name, self.color))


def keep_icon(button: QAbstractButton, theme: Theme, name: str, color: str = "text") -> None:
    """Give a button an icon that follows the theme. Call again to change it."""
    keeper = button.findChild(_IconKeeper) or _IconKeeper(button, theme)
    keeper.name, keeper.color = name, color
    keeper.draw()


def icon_button(theme: Theme, name: str, text: str, parent: QWidget | None = None) -> QToolButton:
    """A flat button with an icon; `text` is its tooltip and its accessible name."""
    button = QToolButton(parent)
    button.setAutoRaise(True)
    button.setToolTip(text)
    button.setAccessibleName(text)
    keep_icon(button, theme, name)
    return button
