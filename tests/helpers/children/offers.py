"""A window of another program, out of which files and a picture are dragged, and which has copied another picture.

Run as `python -m helpers.children.offers PICTURE COPIED FILE…`: it stands in the lower left corner of the screen. Its
upper half is dragged as a picture out of a browser is, its lower half as the files are. It prints where each is.
"""

import sys

from PySide6.QtCore import QMimeData, QUrl
from PySide6.QtGui import QDrag, QGuiApplication, QImage, QMouseEvent
from PySide6.QtWidgets import QApplication, QLabel

WIDTH, HEIGHT = 120, 60


class Offer(QLabel):
    """Offer a picture above, and files below."""

    def __init__(self, picture: str, files: list[str]) -> None:
        super().__init__("picture\n\nfiles")
        self._image, self._files = QImage(picture), files

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """Begin to drag."""
        data, drag = QMimeData(), QDrag(self)
        if event.position().y() < HEIGHT / 2:
            # As browsers do: the picture, and where it is on the web.
            data.setImageData(self._image)
            data.setUrls([QUrl("https://example.com/cat.png")])
        else:
            data.setUrls([QUrl.fromLocalFile(each) for each in self._files])
        drag.setMimeData(data)
        drag.exec()


def main(picture: str, copied: str, *files: str) -> None:
    """Offer until the end comes from outside."""
    app = QApplication(["offers"])
    offer = Offer(picture, list(files))
    screen = QGuiApplication.primaryScreen().geometry()
    offer.setGeometry(0, screen.height() - HEIGHT, WIDTH, HEIGHT)
    offer.show()
    QGuiApplication.clipboard().setImage(QImage(copied))
    ratio = QGuiApplication.primaryScreen().devicePixelRatio()
    places = [(WIDTH / 2, screen.height() - HEIGHT * (1 - share)) for share in (0.25, 0.75)]
    sys.stdout.write(f"{[[round(ratio * x), round(ratio * y)] for x, y in places]}\n")
    sys.stdout.flush()
    app.exec()


if __name__ == "__main__":
    main(*sys.argv[1:])
