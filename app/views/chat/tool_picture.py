"""Show a plot that a tool of ours drew. Any other picture is left out: nothing is fetched, nothing foreign drawn."""

from __future__ import annotations

import base64
import binascii
import re

from PySide6.QtCore import QByteArray, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QSizePolicy, QWidget

_BEGIN = "data:image/svg+xml;base64,"
_MOST = 700_000
_ELEMENT = re.compile(r"<(svg|rect|text|path|polyline)((?: [a-z-]+[a-zA-Z]*=\"[^\"<>&]*\")*)/?>|</(svg|text)>")
_ATTRIBUTES = {
    *("xmlns", "width", "height", "viewBox", "font-family", "font-size", "fill", "x", "y", "d", "dy", "text-anchor"),
    *("points", "stroke", "stroke-width", "stroke-linecap"),
}


def plot_of(address: str) -> bytes | None:
    """Return the SVG of a plot in an address; None if we could not have drawn it."""
    if not address.startswith(_BEGIN) or len(address) > _MOST:
        return None
    try:
        data = base64.b64decode(address[len(_BEGIN) :], validate=True)
        text = data.decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return None
    for found in _ELEMENT.finditer(text):
        names = re.findall(r" ([a-zA-Z-]+)=", found[2] or "")
        if not _ATTRIBUTES.issuperset(names) or "url" in (found[2] or ""):
            return None
    left = _ELEMENT.sub("", text)
    return data if "<" not in left and text.startswith("<svg ") else None


class ToolPicture(QWidget):
    """Show a plot, as wide as there is room for, at most as wide as it was drawn."""

    def __init__(self, svg: bytes, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._renderer = QSvgRenderer(QByteArray(svg), self)
        self._size = self._renderer.defaultSize().boundedTo(QSize(2_000, 2_000))
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setAccessibleName(self.tr("Plot"))

    def hasHeightForWidth(self) -> bool:  # noqa: N802 - Qt's name
        """Keep the proportions."""
        return True

    def heightForWidth(self, width: int) -> int:  # noqa: N802 - Qt's name
        """Return the height at a width."""
        across = min(width, self._size.width())
        return round(self._size.height() * across / max(self._size.width(), 1))

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return the size as it was drawn."""
        return self._size

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw it."""
        across = min(self.width(), self._size.width())
        left = self.width() - across if self.layoutDirection() == Qt.LayoutDirection.RightToLeft else 0
        painter = QPainter(self)
        self._renderer.render(painter, QRectF(left, 0, across, self.heightForWidth(across)))
        painter.end()
