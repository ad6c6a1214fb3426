"""Ask before a link is opened: a small card beside it, with the whole address."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication, QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPlainTextEdit, QPushButton, QVBoxLayout, QWidget

from app.state.markdown.parser import is_safe_link

_WIDTH = 420
_MARGIN = 12
_LONGEST_HOST = 60
"""The most characters of the host that are shown: its end names the owner."""
_SHOWN = 4_000
"""Characters of an address that are shown."""


class LinkQuestion(QFrame):
    """Ask the question in the window. It closes with Escape or a click beside it; then nothing is opened."""

    def __init__(self, address: str, parent: QWidget) -> None:
        super().__init__(parent.window())
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setObjectName("linkQuestion")
        self.setAccessibleName(self.tr("Open this link?"))
        self.address = address
        mail = address.lower().startswith("mailto:")
        title = QLabel(self.tr("Write to this address?") if mail else self._question(), self)
        title.setObjectName("linkTitle")
        title.setWordWrap(True)
        self._text = QPlainTextEdit(address if len(address) <= _SHOWN else f"{address[:_SHOWN]}…", self)
        self._text.setReadOnly(True)
        self._text.setObjectName("linkAddress")
        self._text.setAccessibleName(self.tr("Address"))
        self._text.setTabChangesFocus(True)
        self._text.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        lines = min(1 + len(address) // 48, 6)
        self._text.setFixedHeight(lines * self._text.fontMetrics().lineSpacing() + 20)
        self.open_button = QPushButton(self.tr("Open"), self)
        self.copy_button = QPushButton(self.tr("Copy"), self)
        self.cancel_button = QPushButton(self.tr("Cancel"), self)
        self.open_button.clicked.connect(self._open)
        self.copy_button.clicked.connect(self._copy)
        self.cancel_button.clicked.connect(self.close)
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addStretch(1)
        for button in (self.cancel_button, self.copy_button, self.open_button):
            row.addWidget(button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 12, 12, 12)
        layout.setSpacing(8)
        layout.addWidget(title)
        layout.addWidget(self._text)
        layout.addLayout(row)
        self.setFixedWidth(_WIDTH)

    def _question(self) -> str:
        """Return the question, with the host of the address: it may begin with the name of another site."""
        host = QUrl(self.address).host(QUrl.ComponentFormattingOption.FullyEncoded)
        host = host if len(host) <= _LONGEST_HOST else f"…{host[-_LONGEST_HOST:]}"
        return self.tr("Open this link to {host} in your browser?").format(host=host)

    def ask_at(self, place: QPoint) -> None:
        """Show it near a place on the screen, whole."""
        self.adjustSize()
        window = self.parentWidget()
        if window is None:
            return
        area = window.rect()
        point = window.mapFromGlobal(place)
        x = max(min(point.x(), area.right() - self.width() - _MARGIN), _MARGIN)
        y = point.y() + _MARGIN
        if y + self.height() > area.bottom():
            y = max(point.y() - self.height() - _MARGIN, _MARGIN)
        self.move(x, y)
        self.show()
        self.raise_()
        self.cancel_button.setFocus()
        QGuiApplication.instance().installEventFilter(self)  # type: ignore[union-attr]

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Return a click anywhere else: no."""
        if event.type() == QEvent.Type.MouseButtonPress and isinstance(watched, QWidget):
            inside = watched is self or self.isAncestorOf(watched)
            if not inside and watched.window() is self.window():
                self.close()
        return super().eventFilter(watched, event)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Close on Escape: the answer is no."""
        if event.key() == Qt.Key.Key_Escape:
            self.close()
        else:
            super().keyPressEvent(event)

    def _open(self) -> None:
        self.close()
        if is_safe_link(self.address):
            QDesktopServices.openUrl(QUrl(self.address))

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.address)
        self.close()
