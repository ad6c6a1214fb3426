"""Take files and folders that are dropped onto the window."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, QObject, Qt, Signal
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDragMoveEvent, QDropEvent
from PySide6.QtWidgets import QFrame, QLabel, QWidget

from app.state.conversations.dropped import sort_out
from app.views.prompt.box import picture_of
from app.views.widgets.boxes import in_column


class FileDrops(QObject):
    """Accept drops anywhere on a window, and classify them.

    Signals: dropped(Dropped), picture(bytes) (out of a browser), foreign() (addresses of things that are not on this
    computer).
    """

    dropped = Signal(object)
    picture = Signal(object)
    foreign = Signal()

    def __init__(self, window: QWidget, *writing: QWidget) -> None:
        """Watch the window. `writing`: widgets that take text, and so would take the names of files as text."""
        super().__init__(window)
        self._window = window
        self.veil: DropVeil | None = None
        window.setAcceptDrops(True)
        for place in (window, *writing):
            place.installEventFilter(self)

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Show the veil when files come over the window: from here on it looks after them."""
        if event.type() == QEvent.Type.Drop and isinstance(event, QDropEvent) and event.mimeData().hasUrls():
            # Dropped before the veil was under the pointer.
            if self.veil is not None:
                self.veil.hide()
            event.setDropAction(Qt.DropAction.CopyAction)
            event.accept()
            self.take(event.mimeData())
            return True
        if event.type() != QEvent.Type.DragEnter or not isinstance(event, QDragEnterEvent):
            return False
        if not event.mimeData().hasUrls():
            return False
        if self.veil is None:
            self.veil = DropVeil(self._window)
            self.veil.dropped.connect(self.take)
        self.veil.cover()
        event.setDropAction(Qt.DropAction.CopyAction)
        event.accept()
        return True

    def take(self, data: QMimeData) -> None:
        """Emit the dropped data as files, a picture, or foreign."""
        paths = [Path(url.toLocalFile()) for url in data.urls() if url.isLocalFile()]
        if paths:
            self.dropped.emit(sort_out(paths))
        elif picture := picture_of(data):
            self.picture.emit(picture)
        else:
            self.foreign.emit()


class DropVeil(QFrame):
    """Cover the window while files are dragged, and name the accepted kinds. Signal: dropped(QMimeData)."""

    dropped = Signal(object)

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self.setObjectName("veil")
        self.setAcceptDrops(True)
        title = QLabel(self.tr("Drop here"), self)
        title.setObjectName("panelTitle")
        text = QLabel(
            self.tr(
                "A model becomes the target, a folder is searched for models, chats (.json, .zip, a folder with them) "
                "are imported, and documents, pictures and text files are attached to your message."
            ),
            self,
        )
        text.setObjectName("hint")
        text.setWordWrap(True)
        layout = in_column(..., spacing=8, margins=(32, 32, 32, 32), parent=self)
        for label in (title, text):
            label.setAlignment(Qt.AlignmentFlag.AlignHCenter)
            layout.addWidget(label)
        layout.addStretch(1)
        self.hide()

    def cover(self) -> None:
        self.setGeometry(self._window.rect())
        self.raise_()
        self.show()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:  # noqa: N802 - Qt's name
        """Accept the files as a copy: a file stays where it was."""
        self._accept(event)

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:  # noqa: N802 - Qt's name
        """Accept the files anywhere: the whole window is one place."""
        self._accept(event)

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:  # noqa: N802 - Qt's name
        """Hide the veil: the files went elsewhere."""
        super().dragLeaveEvent(event)
        self.hide()

    def dropEvent(self, event: QDropEvent) -> None:  # noqa: N802 - Qt's name
        """Hide the veil, and emit `dropped` with the files."""
        self.hide()
        self._accept(event)
        self.dropped.emit(event.mimeData())

    def _accept(self, event: QDropEvent) -> None:
        event.setDropAction(Qt.DropAction.CopyAction)
        event.accept()
