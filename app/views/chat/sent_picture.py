"""Show a picture of a question: small, and large when it is clicked."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QIcon, QPixmap, QShowEvent
from PySide6.QtWidgets import QSizePolicy, QToolButton, QWidget

from app.state.chat.intents import ShowPicture
from app.views.widgets.flow_layout import FlowLayout
from app.views.widgets.icons import keep_icon
from app.views.widgets.theme import Theme

_SMALL = 240
"""Pixels of the longer side."""
_LARGE = 1_600
_KEEP = Qt.AspectRatioMode.KeepAspectRatio


class SentPicture(QToolButton):
    """Show a picture small. Signals: asked(ShowPicture), turned() (it has another size)."""

    intent_wanted = Signal(object)
    turned = Signal()

    def __init__(self, name: str, number: str, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._name, self._number, self._begun = name, number, False
        self._picture: QPixmap | None = None
        self._alive = [True]
        self.destroyed.connect(self._alive.clear)
        self.setObjectName("sentPicture")
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.setText(name.replace("&", "&&"))
        self.setAccessibleName(self.tr("Picture {name}").format(name=name))
        self.setToolTip(self.tr("Show {name} large").format(name=name))
        keep_icon(self, theme, "image", "muted")
        theme.changed.connect(self._draw)
        self.clicked.connect(lambda: self.intent_wanted.emit(ShowPicture(name, number, _LARGE)))

    @property
    def header(self) -> QToolButton:
        """Return the widget that takes the keyboard focus."""
        return self

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        """Request the picture when it is first seen: a long chat may have many."""
        super().showEvent(event)
        if not self._begun:
            self._begun, alive = True, self._alive
            size = round(_SMALL * self.devicePixelRatioF())

            def shown(data: bytes | None) -> None:
                if alive:
                    self._show(data)

            self.intent_wanted.emit(ShowPicture(self._name, self._number, size, shown))

    def _show(self, data: bytes | None) -> None:
        picture = QPixmap()
        if data is None or not picture.loadFromData(data, "PNG"):
            self.setToolTip(self.tr("{name} is not kept any more.").format(name=self._name))
            self.setEnabled(False)
            return
        picture.setDevicePixelRatio(self.devicePixelRatioF())
        self._picture = picture
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonIconOnly)
        self._draw()
        self.setIconSize(picture.deviceIndependentSize().toSize())
        self.turned.emit()

    def _draw(self) -> None:
        """Show the picture in the place of the icon, which is drawn anew in the colours of another theme."""
        if self._picture is not None:
            self.setIcon(QIcon(self._picture))

    def wanted(self, width: int) -> int:
        return min(self.sizeHint().width(), width)

    def fit_into(self, width: int) -> None:
        if self._picture is not None:
            whole = self._picture.deviceIndependentSize().toSize()
            room = QSize(max(width - 16, 16), whole.height())
            self.setIconSize(whole if whole.width() <= room.width() else whole.scaled(room, _KEEP))
        self.setFixedSize(self.sizeHint().boundedTo(QSize(max(width, 16), 10_000)))


class PictureRow(QWidget):
    """Show pictures side by side, in as many rows as they need."""

    def __init__(self, pictures: Iterable[SentPicture], parent: QWidget) -> None:
        super().__init__(parent)
        self._pictures = tuple(pictures)
        self._flow = FlowLayout(self)
        for each in self._pictures:
            self._flow.addWidget(each)
            self._flow.setAlignment(each, Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeading)

    def wanted(self, width: int) -> int:
        """Return the width of the longest row, of those that are at most this wide."""
        longest = row = 0
        for each in (picture.wanted(width) for picture in self._pictures):
            beside = row + self._flow.spacing() + each
            row = beside if row and beside <= width else each
            longest = max(longest, row)
        return longest

    def fit_into(self, width: int) -> None:
        for each in self._pictures:
            each.fit_into(width)
        self._flow.invalidate()
        self.setFixedSize(width, self._flow.heightForWidth(width))
