"""Show a picture of a question large."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPixmap
from PySide6.QtWidgets import QLabel, QPushButton, QScrollArea, QWidget

from app.views.widgets.boxes import in_column, wide
from app.views.widgets.keys import Dialog

_SIZE = QSize(900, 680)


class LargePicture(Dialog):
    """Show a picture, as large as there is room for."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("largePicture")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(name)
        self._alive = [True]
        self.destroyed.connect(self._alive.clear)
        self.picture = QLabel(self.tr("reading…"), self)
        self.picture.setAccessibleName(name)
        self.picture.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.area = QScrollArea(self)
        self.area.setWidgetResizable(True)
        self.area.setWidget(self.picture)
        close = QPushButton(self.tr("Close"), self)
        close.clicked.connect(self.close)
        layout = in_column(wide(self.area), spacing=12, margins=(16, 16, 16, 16), parent=self)
        layout.addWidget(close, 0, Qt.AlignmentFlag.AlignRight)
        self.resize(_SIZE)

    def show_picture(self, data: bytes | None) -> None:
        """Show the picture; None: it is deleted."""
        picture = QPixmap()
        if not self._alive:
            return
        if data is None or not picture.loadFromData(data, "PNG"):
            self.picture.setText(self.tr("This picture is not kept any more."))
            return
        room, ratio = self.area.viewport().size() * self.devicePixelRatioF(), self.devicePixelRatioF()
        size = picture.size() * ratio  # A pixel of it is one of the window, however many of the screen that is.
        if size.width() > room.width() or size.height() > room.height():
            size.scale(room, Qt.AspectRatioMode.KeepAspectRatio)
        smooth = Qt.TransformationMode.SmoothTransformation
        picture = picture.scaled(size, Qt.AspectRatioMode.IgnoreAspectRatio, smooth)
        picture.setDevicePixelRatio(ratio)
        self.picture.setPixmap(picture)
