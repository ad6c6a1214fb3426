"""Draw SVG, HTML and Mermaid in the child. Once the letters are there no file and no connection can be opened."""

from __future__ import annotations

import base64
import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pkgutil import walk_packages
from typing import Any
from xml.etree.ElementTree import ParseError, fromstring, register_namespace, tostring

from PySide6.QtCore import QBuffer, QIODevice, QRectF, Qt
from PySide6.QtGui import QFont, QGuiApplication, QImage, QLinearGradient, QPainter, QTextDocument
from PySide6.QtSvg import QSvgRenderer

from engine import Translatable
from engine.host import Tell, answer_parent, close_doors, packed

_MEMORY_BYTES = 800 * 2**20
"""The memory of drawing beside the process itself; Qt and the fonts are most of it."""
_TALLEST = 6_000
_MOST_ELEMENTS = 20_000
_LETTERS = "".join(map(chr, range(32, 127)))
_OUTSIDE = re.compile(r"url\(\s*[\"']?\s*(?!#)|@import", re.IGNORECASE)
_ENTITIES = re.compile(r"<!ENTITY|<!DOCTYPE[^>]*\[", re.IGNORECASE)
_ARROW = re.compile(r"[ \t]*(-->|---|-\.->|==>)[ \t]*(\|[^|\n]*\|)?[ \t]*")
_SEE_THROUGH = re.compile(r"rgba\(([^(),]*,[^(),]*,[^(),]*),[^(),]*\)")
_SVG = "http://www.w3.org/2000/svg"
_BASE_LINE = 0.35
"""Times the size of letters, from their middle down to where Qt puts them."""


class NotDrawn(Exception):
    """Report a drawing error, with the reason."""


def run(_argument: str) -> int:
    """Answer one request, and give the exit code."""
    if sys.platform == "linux":
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
    return answer_parent(_answer, _MEMORY_BYTES)


def _answer(request: dict[str, Any], data: bytes, tell: Tell) -> None:
    try:
        picture = _draw(request["kind"], data.decode("utf-8", "replace"), request["width"], request["scale"])
    except NotDrawn as error:
        tell({"reason": packed(error.args[0])})
    except RecursionError:
        tell({"reason": packed(Translatable("it nests too deeply"))})
    else:
        tell({"picture": base64.b64encode(picture).decode()})


def _draw(kind: str, source: str, width: int, scale: float) -> bytes:
    """Return a PNG picture. Raises NotDrawn."""
    diagram = _diagrams() if kind == "mermaid" else None
    app = QGuiApplication(["outrider"])
    _load_letters(source)
    close_doors()
    if diagram is not None:
        source = _svg_of_mermaid(source, diagram)
    image = _html(source, width, scale) if kind == "html" else _svg(source, width, scale)
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")  # type: ignore[call-overload]  # it takes a device
    del app
    return bytes(buffer.data().data())


def _diagrams() -> Callable[[str], str]:
    """Import the drawing library for diagrams, with all modules that it would import later."""
    try:
        merm = import_module("merm")
        for module in walk_packages(merm.__path__, "merm."):
            if not module.name.endswith((".cli", "__main__")):
                import_module(module.name)
    except ImportError:
        raise NotDrawn(Translatable("what draws it is not installed")) from None
    render: Callable[[str], str] = merm.render_diagram
    return render


def _svg_of_mermaid(source: str, diagram: Callable[[str], str]) -> str:
    if re.match(r"\s*(graph|flowchart)\b", source):
        source = _ARROW.sub(r" \1\2 ", source)  # It knows no arrow without spaces.
    try:
        return diagram(source)
    except (MemoryError, RecursionError):
        raise
    except Exception as error:  # the library raises whatever Python can
        raise NotDrawn(Translatable("it is no diagram that can be drawn")) from error


def checked_svg(source: str) -> bytes:
    """Return a drawing as Qt draws it. What leads out of it, or makes much of little, is refused: raises NotDrawn."""
    if _ENTITIES.search(source):
        raise NotDrawn(Translatable("it declares entities"))
    try:
        root = fromstring(source.strip())  # noqa: S314 - as above
    except (ParseError, ValueError):
        raise NotDrawn(Translatable("it is no valid SVG")) from None
    for number, element in enumerate(root.iter()):
        if number > _MOST_ELEMENTS:
            raise NotDrawn(Translatable("it has more than {count} elements", count=_MOST_ELEMENTS))
        kind = str(element.tag).rpartition("}")[2]
        values = [(element.text or "") if kind == "style" else ""]
        for name, value in element.attrib.items():
            link = name.rpartition("}")[2].lower() == "href" and kind != "a"
            if link and not value.strip().startswith("#"):
                raise NotDrawn(Translatable("it refers to something outside of itself"))
            values.append(value)
            element.set(name, _SEE_THROUGH.sub(r"rgb(\1)", value))
        if any(map(_OUTSIDE.search, values)):
            raise NotDrawn(Translatable("it refers to something outside of itself"))
        if element.get("dominant-baseline") in ("central", "middle"):
            with suppress(ValueError):
                size = float(element.get("font-size", "16").removesuffix("px"))
                element.set("y", str(float(element.get("y", "0")) + _BASE_LINE * size))
    register_namespace("", _SVG)
    return tostring(root)


def _load_letters(source: str) -> None:
    """Open the fonts of all characters, since no file can be opened later."""
    letters = _LETTERS + "".join(sorted(set(source)))[:20_000]
    image = QImage(16, 16, QImage.Format.Format_ARGB32_Premultiplied)
    painter = QPainter(image)
    for family in ("", "sans-serif", "serif", "monospace"):
        for bold in (False, True):
            for italic in (False, True):
                font = QFont(family) if family else QFont()
                font.setBold(bold)
                font.setItalic(italic)
                painter.setFont(font)
                painter.drawText(QRectF(0, 0, 1e6, 100), letters)
    painter.end()
    _start_threads()


def _start_threads() -> None:
    """Start the thread with which Qt draws large areas: each takes a file. It must not want more than one."""
    allowed = os.sched_getaffinity(0) if sys.platform == "linux" else ()
    if sys.platform == "linux":
        os.sched_setaffinity(0, {min(allowed)})
    image = QImage(1_000, 1_000, QImage.Format.Format_ARGB32_Premultiplied)
    painter = QPainter(image)
    painter.fillRect(image.rect(), QLinearGradient(0, 0, 1_000, 1_000))
    painter.end()
    image.scaled(500, 500, mode=Qt.TransformationMode.SmoothTransformation)
    if sys.platform == "linux":
        os.sched_setaffinity(0, allowed)


def _paper(width: float, height: float, scale: float) -> tuple[QImage, QPainter]:
    size = max(round(width * scale), 1), max(round(height * scale), 1)
    image = QImage(*size, QImage.Format.Format_ARGB32_Premultiplied)
    if image.isNull():
        raise NotDrawn(Translatable("it is too large"))
    image.fill(Qt.GlobalColor.white)
    painter = QPainter(image)
    painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform)
    painter.scale(scale, scale)
    return image, painter


def _svg(source: str, width: int, scale: float) -> QImage:
    renderer = QSvgRenderer(checked_svg(source))
    size = renderer.defaultSize()
    if not renderer.isValid() or size.isEmpty():
        raise NotDrawn(Translatable("it is no valid SVG"))
    shrink = min(1.0, width / size.width(), _TALLEST / size.height())
    wide, tall = size.width() * shrink, size.height() * shrink
    image, painter = _paper(wide, tall, scale)
    renderer.render(painter, QRectF(0, 0, wide, tall))
    painter.end()
    return image


class _Page(QTextDocument):
    def loadResource(self, kind: int, name: object) -> object:  # noqa: N802 - Qt's name
        return None


def _html(source: str, width: int, scale: float) -> QImage:
    page = _Page()
    page.setDefaultStyleSheet("body { color: black; background: white }")
    page.setHtml(source)
    page.setTextWidth(width)
    if not page.toPlainText().strip():
        raise NotDrawn(Translatable("it shows nothing without scripts and the network"))
    tall = min(page.size().height(), _TALLEST)
    image, painter = _paper(width, tall, scale)
    page.drawContents(painter, QRectF(0, 0, width, tall))
    painter.end()
    return image
