"""Show code as a picture drawn by a child process; a live page only in the system's browser."""

from __future__ import annotations

import contextlib
import hashlib
import re
from importlib.util import find_spec
from pathlib import Path

from PySide6.QtCore import QDir, QSize, Qt, QTemporaryDir, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QPixmap
from PySide6.QtWidgets import QLabel, QWidget

from app.system.drawing import Drawing, Kind
from app.system.translation import say
from app.views.markdown.link_question import LinkQuestion
from engine.host import write_whole

_LARGEST = 500_000
"""Characters of code that are drawn."""
_SVG = re.compile(r"\s*(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)*(<!doctype svg[^>]*>\s*)?<svg\b", re.IGNORECASE | re.DOTALL)
_KINDS: dict[str, Kind] = {
    "svg": "svg",
    "html": "html",
    "htm": "html",
    "xhtml": "html",
    "mermaid": "mermaid",
    "mmd": "mermaid",
}
_pages: list[QTemporaryDir] = []
"""Folders of opened pages; they are deleted with the program."""


def kind_of(language: str, code: str) -> Kind | None:
    """Return the kind of picture in code, None if there is none."""
    kind = _KINDS.get(language.lower())
    if language.lower() in ("", "xml", "html") and _SVG.match(code[:10_000]):
        kind = "svg"
    if len(code) > _LARGEST or (kind == "mermaid" and find_spec("merm") is None):
        return None
    return kind


class Preview(QLabel):
    """Show the picture, no wider than its place. Signal: drawn(reason) ("": it is there, else the reason why not)."""

    drawn = Signal(str)

    def __init__(self, kind: Kind, code: str, width: int, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("codePreview")
        self.setAccessibleName(self.tr("Preview"))
        self.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        self.setContentsMargins(12, 4, 12, 4)
        self.hide()
        self._drawing = Drawing(kind, code, max(width - 24, 100), self.devicePixelRatioF(), self)
        self._drawing.done.connect(self._take)

    def _take(self, picture: bytes, reason: object) -> None:
        found = QPixmap()
        if not reason and found.loadFromData(picture, "PNG"):
            found.setDevicePixelRatio(self.devicePixelRatioF())
            self.setPixmap(found)
            self.drawn.emit("")
        else:
            self.drawn.emit(say(reason if isinstance(reason, str) else "") or self.tr("it cannot be drawn"))

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return the size of the picture with its margins."""
        margins = self.contentsMargins()
        size = self.pixmap().deviceIndependentSize().toSize()
        return size + QSize(margins.left() + margins.right(), margins.top() + margins.bottom())


class PageQuestion(LinkQuestion):
    """Ask before a page that a model wrote is opened in the browser, where its scripts run."""

    def __init__(self, page: str, parent: QWidget) -> None:
        super().__init__(page, parent)
        self.setAccessibleName(self.tr("Open this page?"))

    def _question(self) -> str:
        return self.tr("Open this page in your browser? Its scripts run there and may use the network.")

    def _open(self) -> None:
        self.close()
        if not _pages:
            _pages.append(QTemporaryDir(f"{QDir.tempPath()}/outrider-XXXXXX"))
        path = Path(_pages[0].filePath(f"{hashlib.sha256(self.address.encode()).hexdigest()[:16]}.html"))
        with contextlib.suppress(OSError):
            write_whole(path, self.address.encode("utf-8", "replace"))
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(path)))
