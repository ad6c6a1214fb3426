"""Place widgets in a row that wraps if there is no room."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import QLayout, QLayoutItem, QSizePolicy, QSpacerItem, QStyle, QWidget


class FlowLayout(QLayout):
    """Place items in rows, as wide as may be, as high as that makes it. A stretch moves the rest to its row's end."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._items: list[QLayoutItem] = []
        self.setContentsMargins(0, 0, 0, 0)
        self.setSpacing(8)

    def addItem(self, item: QLayoutItem) -> None:  # noqa: N802 - Qt's name
        self._items.append(item)

    def add_stretch(self) -> None:
        """Put everything that follows at the end."""
        self.addItem(QSpacerItem(0, 0, QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum))

    def count(self) -> int:
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:  # noqa: N802 - Qt's name
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:  # noqa: N802 - Qt's name
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def expandingDirections(self) -> Qt.Orientation:  # noqa: N802 - Qt's name
        return Qt.Orientation.Horizontal

    def hasHeightForWidth(self) -> bool:  # noqa: N802 - Qt's name
        return True

    def heightForWidth(self, width: int) -> int:  # noqa: N802 - Qt's name
        rows = self._rows(width)
        return sum(self._height(row) for row in rows) + self.spacing() * max(len(rows) - 1, 0)

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        shown = [item.sizeHint().width() for item in self._items if not item.isEmpty()]
        return QSize(sum(shown) + self.spacing() * max(len(shown) - 1, 0), self._height(self._items))

    def minimumSize(self) -> QSize:  # noqa: N802 - Qt's name
        return QSize(max((item.sizeHint().width() for item in self._items), default=0), self._height(self._items))

    def setGeometry(self, place: QRect) -> None:  # noqa: N802 - Qt's name
        super().setGeometry(place)
        parent = self.parentWidget()
        direction = Qt.LayoutDirection.LeftToRight if parent is None else parent.layoutDirection()
        top = place.top()
        for row in self._rows(place.width()):
            height = self._height(row)
            left, free = place.left(), place.width() - self._width(row)
            for item in row:
                if item.spacerItem() is not None:
                    left += free
                elif not item.isEmpty():
                    there = QRect(QPoint(left, top), QSize(item.sizeHint().width(), height))
                    item.setGeometry(QStyle.visualRect(direction, place, there))
                    left += there.width() + self.spacing()
            top += height + self.spacing()

    def _rows(self, width: int) -> list[list[QLayoutItem]]:
        rows: list[list[QLayoutItem]] = [[]]
        for item in self._items:
            if item.spacerItem() is None and item.isEmpty():
                continue
            if item.spacerItem() is None and rows[-1] and self._width([*rows[-1], item]) > width:
                # A stretch stays with what it pushes.
                last = rows[-1][-1]
                pushed = [rows[-1].pop()] if last.spacerItem() is not None else []
                rows.append(pushed)
            rows[-1].append(item)
        return rows

    def _width(self, row: list[QLayoutItem]) -> int:
        shown = [item.sizeHint().width() for item in row if item.spacerItem() is None]
        return sum(shown) + self.spacing() * max(len(shown) - 1, 0)

    def _height(self, row: list[QLayoutItem]) -> int:
        return max((item.sizeHint().height() for item in row), default=0)
