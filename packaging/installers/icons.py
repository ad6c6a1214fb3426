"""Draws the program's icon in the sizes and formats that operating systems want.

`python icons.py FOLDER` writes what all of them need: `<size>.png`, `outrider.ico` and `outrider.icns`. QtSvg
draws, without an application or a display; the same SVG and the same Qt give the same bytes.
"""

import struct
import sys
from collections.abc import Iterable
from pathlib import Path

from PySide6.QtCore import QBuffer, QIODeviceBase, Qt
from PySide6.QtGui import QImage, QImageWriter, QPainter
from PySide6.QtSvg import QSvgRenderer

SOURCE = Path(__file__).resolve().parents[2] / "resources" / "icons" / "outrider.svg"

# The hicolor theme's square folders that launchers and docks ask for.
PNG_SIZES = (16, 24, 32, 48, 64, 128, 256, 512)
ICO_SIZES = (16, 20, 24, 32, 40, 48, 64, 128, 256)
# Type codes of the PNG entries of Apple's icon container, by their edge in pixels; the doubled
# ones are for displays with two pixels to a point.
ICNS_TYPES = (
    (b"icp4", 16),
    (b"icp5", 32),
    (b"ic07", 128),
    (b"ic08", 256),
    (b"ic09", 512),
    (b"ic10", 1024),
    (b"ic11", 32),
    (b"ic12", 64),
    (b"ic13", 256),
    (b"ic14", 512),
)


def main(arguments: list[str]) -> int:
    """Write all icons into the one folder named."""
    if len(arguments) != 1:
        print("usage: icons.py FOLDER", file=sys.stderr)
        return 2
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    write_pngs(folder)
    write_ico(folder / "outrider.ico")
    write_icns(folder / "outrider.icns")
    return 0


def write_pngs(folder: Path, sizes: Iterable[int] = PNG_SIZES, *, source: Path = SOURCE) -> None:
    """Write `<size>.png` for each size into an existing folder."""
    for size in sizes:
        (folder / f"{size}.png").write_bytes(render_png(size, source=source))


def write_ico(target: Path, *, source: Path = SOURCE) -> None:
    """Write a Windows icon.

    Only the largest image is a PNG: resource compilers and installers that know no others still read
    the small ones, which are bitmaps with an alpha channel.
    """
    images = [render_png(size, source=source) if size >= 256 else _bitmap(size, source) for size in ICO_SIZES]
    offset = 6 + 16 * len(images)
    head = struct.pack("<3H", 0, 1, len(images))
    for size, data in zip(ICO_SIZES, images, strict=True):
        edge = size % 256  # 0 stands for 256
        head += struct.pack("<4B2H2I", edge, edge, 0, 0, 1, 32, len(data), offset)
        offset += len(data)
    target.write_bytes(head + b"".join(images))


def write_icns(target: Path, *, source: Path = SOURCE) -> None:
    """Write an icon for macOS (10.7 and newer, where all entries may be PNG)."""
    images = [(code, render_png(size, source=source)) for code, size in ICNS_TYPES]
    body = b"".join(code + struct.pack(">I", 8 + len(data)) + data for code, data in images)
    target.write_bytes(b"icns" + struct.pack(">I", 8 + len(body)) + body)


def render_png(size: int, *, source: Path = SOURCE) -> bytes:
    """The icon as a square PNG with an alpha channel, `size` pixels wide."""
    buffer = QBuffer()
    buffer.open(QIODeviceBase.OpenModeFlag.WriteOnly)
    if not QImageWriter(buffer, b"png").write(_draw(size, source)):
        raise OSError(f"Qt could not write {source.name} as a PNG of {size} pixels.")
    return bytes(buffer.data().data())


def _bitmap(size: int, source: Path) -> bytes:
    """An icon image as a device-independent bitmap: header, colours from the bottom row up, mask."""
    image = _draw(size, source).convertToFormat(QImage.Format.Format_ARGB32)
    pixels = bytes(image.constBits())
    rows = [pixels[start : start + 4 * size] for start in range(0, len(pixels), 4 * size)]
    # The alpha channel decides; the old mask of one bit per pixel, in rows of whole 32 bits, stays 0.
    mask = bytes((size + 31) // 32 * 4 * size)
    # The height counts the mask's rows as well.
    header = struct.pack("<I2i2H6I", 40, size, 2 * size, 1, 32, 0, 4 * size * size + len(mask), 0, 0, 0, 0)
    return header + b"".join(reversed(rows)) + mask


def _draw(size: int, source: Path) -> QImage:

    renderer = QSvgRenderer(str(source)) if source.is_file() else None
    if renderer is None or not renderer.isValid():
        raise OSError(f"{source} is missing or no SVG; it comes with the source.")
    image = QImage(size, size, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    renderer.render(painter)
    painter.end()
    return image


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
