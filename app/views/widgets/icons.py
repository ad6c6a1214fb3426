"""Draw icons: Phosphor, regular weight, in the colours of the theme."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontDatabase, QIcon, QIconEngine, QPainter, QPixmap
from PySide6.QtWidgets import QAbstractButton, QToolButton, QWidget

from app.views.widgets.theme import Theme, package_folder

if TYPE_CHECKING:
    import qtawesome  # noqa: F401 - only its fonts are used; what makes installers looks here for what to take along

SIZE = 18
_LETTER = 0.875
"""The height of the letters, of that of an icon: so a font's own margins leave the picture whole."""


def icon(theme: Theme, name: str, color: str = "text") -> QIcon:
    """Return the icon `name` of the Phosphor set, in a token's colour."""
    return _drawn(name, getattr(theme.tokens, color), theme.tokens.muted)


@cache
def _drawn(name: str, color: str, disabled: str) -> QIcon:
    family, letters = _font()
    return QIcon(_Letter(family, chr(int(letters[name], 16)), QColor(color), QColor(disabled)))


@cache
def _font() -> tuple[str, dict[str, str]]:
    """Load Phosphor from the package that keeps it; return its family, and the letter (hexadecimal) of each icon.

    The package itself is not imported: that takes longer than the whole window.
    """
    fonts = package_folder("qtawesome") / "fonts"
    shapes, names = (next(fonts.glob(pattern)) for pattern in ("phosphor-*.ttf", "phosphor-charmap-*.json"))
    number = QFontDatabase.addApplicationFont(str(shapes))
    return QFontDatabase.applicationFontFamilies(number)[0], json.loads(names.read_text(encoding="utf-8"))


_KEPT: list[QIconEngine] = []
"""Qt is given these, while Python would take them away again as soon as nobody here holds them."""


class _Letter(QIconEngine):
    """Draw a letter of a font, sharp at every size."""

    def __init__(self, family: str, letter: str, color: QColor, disabled: QColor) -> None:
        super().__init__()
        self._family, self._letter = family, letter
        self._color, self._disabled = color, disabled

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, state: QIcon.State) -> None:
        font = QFont()
        font.setFamily(self._family)
        font.setPixelSize(max(round(_LETTER * rect.height()), 1))
        painter.save()
        painter.setFont(font)
        painter.setPen(self._disabled if mode == QIcon.Mode.Disabled else self._color)
        painter.drawText(rect, Qt.AlignmentFlag.AlignCenter, self._letter)
        painter.restore()

    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        """Draw it on a transparent ground; if a button is too narrow for it, the picture is empty."""
        picture = QPixmap(size)
        if size.isEmpty():
            return picture
        picture.fill(Qt.GlobalColor.transparent)
        painter = QPainter(picture)
        self.paint(painter, QRect(QPoint(0, 0), size), mode, state)
        painter.end()
        return picture

    def clone(self) -> QIconEngine:
        """Return another one of these, for an icon that is changed."""
        copy = _Letter(self._family, self._letter, self._color, self._disabled)
        _KEPT.append(copy)
        return copy


class _IconKeeper(QObject):
    """Draw the icon of a button anew when the theme changes, as long as the button lives."""

    def __init__(self, button: QAbstractButton, theme: Theme) -> None:
        super().__init__(button)
        self.name = self.color = ""
        self._button = button
        self._theme = theme
        button.setIconSize(QSize(SIZE, SIZE))
        theme.changed.connect(self.draw)

    def draw(self) -> None:
        """Draw the icon in the current colours."""
        self._button.setIcon(icon(self._theme, self.name, self.color))


def keep_icon(button: QAbstractButton, theme: Theme, name: str, color: str = "text") -> None:
    """Set a button's icon, which follows the theme. Call again to change it."""
    keeper = button.findChild(_IconKeeper) or _IconKeeper(button, theme)
    keeper.name, keeper.color = name, color
    keeper.draw()


def icon_button(theme: Theme, name: str, text: str, parent: QWidget | None = None) -> QToolButton:
    """Return a flat button with an icon; `text` is its tooltip and its accessible name."""
    button = QToolButton(parent)
    button.setAutoRaise(True)
    button.setToolTip(text)
    button.setAccessibleName(text)
    keep_icon(button, theme, name)
    return button
