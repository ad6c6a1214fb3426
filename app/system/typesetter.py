r"""Set mathematics into outlines with ziamath, on a thread of its own: a formula takes some ten milliseconds.

`Typesetter.formula` never waits. It tells what is known of a formula; what is not yet known is set meanwhile. The
thread ends when nothing is left to be set.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict, deque
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from PySide6.QtGui import QPainterPath, QPainterPathStroker, QTransform

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from ziafont.font import Font

KEPT = 400
"""Formulas that are remembered."""
_SIZE = 16.0
_LARGEST = 200.0
"""Times the size of the letters: nothing that a person would write is wider or taller."""
_RAISED_MATRIX = re.compile(r"(\\begin\{([pbBvV]?matrix)\}(?:(?!\\begin).)*?\\end\{\2\})(?=\s*[\^_])", re.DOTALL)
_LABELS = re.compile(r"\\(?:label\{[^{}]*\}|nonumber|notag)")
_UNSET = re.compile(
    r"\\(?:tag|color|textcolor|unicode|class|href|url|require|def|newcommand|hspace|not|hline|rule|includegraphics)(?![a-zA-Z])"
)
_NUMBERED = re.compile(r"\\(begin|end)\{(align|equation|gather|multline|eqnarray)\}")
_NAMED = re.compile(r"\\(det|gcd|inf|max|min|sup|Pr)[ \t]+(?=[a-zA-Z])")
_PATH = re.compile(r"[MLQCZ]|-?[\d.]+(?:e-?\d+)?")


@dataclass(frozen=True)
class Formula:
    """Hold a formula as an outline around the origin, which is on the base line. Sizes in times of its letters."""

    outline: QPainterPath
    left: float
    width: float
    ascent: float
    descent: float


class Typesetter:
    """Set formulas. Each is identified by its TeX and by its style: displayed or in a line."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, bool], Formula | None] = OrderedDict()
        self._waiting: deque[tuple[str, bool]] = deque()
        self._lock = threading.Lock()
        self._runs = False

    @property
    def works(self) -> bool:
        with self._lock:
            return self._runs

    def formula(self, tex: str, *, display: bool) -> Formula | None:
        """Return a formula that is set; None if it cannot be, or is not yet."""
        with self._lock:
            return self._known.get((tex, display))

    def is_known(self, tex: str, *, display: bool) -> bool:
        """Return True if the result of a formula is known; if not, queue it."""
        key = (tex, display)
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return True
            if key not in self._waiting:
                self._waiting.append(key)
            if not self._runs:
                self._runs = True
                threading.Thread(target=self._work, name="outrider-formulas", daemon=True).start()
        return False

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._runs = False
                    return
                key = self._waiting[0]
            made = set_formula(*key)
            with self._lock:
                self._waiting.popleft()
                self._known[key] = made
                while len(self._known) > KEPT:
                    self._known.popitem(last=False)


@cache
def typesetter() -> Typesetter:
    return Typesetter()


def set_formula(tex: str, display: bool) -> Formula | None:
    """Set a formula; None if a part of it cannot be set correctly."""
    if _UNSET.search(tex):
        return None
    # Nothing refers to the numbers of its lines.
    # The library leaves no space behind these names.
    tex = _NAMED.sub(r"\\\1\\,", tex)
    tex = _NUMBERED.sub(r"\\\1{\2*}", _RAISED_MATRIX.sub(r"{\1}", _LABELS.sub("", tex)))
    try:
        from ziamath.config import config  # noqa: PLC0415 - the window is on the screen before it is needed
        from ziamath.zmath import Latex  # noqa: PLC0415 - see above

        config.svg2 = False
        made = Latex(tex, size=_SIZE, inline=not display)
        if not _is_whole(made.mathml, made.font):
            return None
        drawn = made.svgxml()
        box = made.node.bbox
    except Exception:  # noqa: BLE001 - whatever the library makes of what a model wrote: then the source is shown
        return None
    outline = QPainterPath()
    for element in drawn.iter():
        _add(outline, element)
    size = (box.xmax - box.xmin) / _SIZE, max(box.ymax, 0.0) / _SIZE, max(-box.ymin, 0.0) / _SIZE
    if outline.isEmpty() or max(size) > _LARGEST:
        return None
    outline = QTransform.fromScale(1 / _SIZE, 1 / _SIZE).map(outline)
    return Formula(outline, box.xmin / _SIZE, *size)


def _is_whole(mathml: Element, font: Font) -> bool:
    """Return True if each command became something, and the font has each character.

    Commands that nobody knows are left as their names, and lines within a table are left out.
    """
    for element in mathml.iter():
        text = element.text or ""
        lines = element.tag == "mtable" and (element.get("columnlines") or element.get("rowlines"))
        if "\\" in text or lines or not all(font.glyphindex(sign) for sign in text if not sign.isspace()):
            return False
    return True


def _add(outline: QPainterPath, element: Element) -> None:
    path = QPainterPath()
    path.setFillRule(outline.fillRule())
    if element.tag == "path":
        _follow(path, element.get("d", ""))
    elif element.tag == "rect":
        x, y, width, height = (float(element.get(name, "0")) for name in ("x", "y", "width", "height"))
        path.addRect(x, y, width, height)
    if path.isEmpty():
        return
    if (width := float(element.get("stroke-width", "0"))) and element.get("stroke", "none") != "none":
        stroker = QPainterPathStroker()
        stroker.setWidth(width)
        outline.addPath(stroker.createStroke(path))
    if element.get("fill", "black") != "none" and not (element.get("stroke") and element.tag == "path"):
        outline.addPath(path)


def _follow(path: QPainterPath, steps: str) -> None:
    """Draw the steps of a path of SVG, all of them absolute."""
    words = _PATH.findall(steps)
    at, command = 0, "M"
    while at < len(words):
        if words[at].isalpha():
            command = words[at]
            at += 1
            if command == "Z":
                path.closeSubpath()
                continue
        count = {"M": 2, "L": 2, "Q": 4, "C": 6}[command]
        figures = [float(word) for word in words[at : at + count]]
        at += count
        match command:
            case "M":
                path.moveTo(*figures)
            case "L":
                path.lineTo(*figures)
            case "Q":
                path.quadTo(*figures)
            case _:
                path.cubicTo(*figures)
