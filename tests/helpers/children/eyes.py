"""Starts the program as `python -m app` does, and tells on request what its windows show. It touches nothing.

In a process of its own: `python -m helpers.children.eyes [the program's arguments]`. Requests are lines on stdin,
answers are lines of JSON on stdout: `look` gives the windows with their parts, `shot [PATH, TITLE]` saves a picture of
the screen, or of a window. OUTRIDER_TEST_ROUND_S: seconds that each round of speculation takes longer, so that small
models seem large.
"""

import functools
import json
import os
import sys
import time
from collections.abc import Generator, Iterator
from typing import Any

# Before anything imports Qt.
os.environ["QT_API"] = "pyside6"
os.environ["PYQTGRAPH_QT_LIB"] = "PySide6"

from PySide6.QtCore import QPoint, QRect, QSocketNotifier, Qt
from PySide6.QtGui import QAccessible, QAccessibleInterface, QGuiApplication
from PySide6.QtWidgets import QAbstractItemView, QApplication, QMenu, QWidget

import app.shell.bootstrap
from app.__main__ import main
from engine import SpeculativeDecoder
from engine.events import RoundEvent

ROUND_S = float(os.environ.get("OUTRIDER_TEST_ROUND_S", "0"))
MOST_ROWS = 200


class SlowDecoder(SpeculativeDecoder):
    """The real engine, each of whose rounds takes a while longer."""

    def stream(self, *arguments: Any, **more: Any) -> Generator[Any, Any, None]:
        for event in super().stream(*arguments, **more):
            if isinstance(event, RoundEvent):
                time.sleep(ROUND_S)
            yield event

    def generate(self, *arguments: Any, **more: Any) -> Any:
        time.sleep(5 * ROUND_S)
        return super().generate(*arguments, **more)


def look() -> dict[str, Any]:
    """All windows with everything that can be seen in them; places in pixels of the screen."""
    ratio = QGuiApplication.primaryScreen().devicePixelRatio()
    windows = [window for window in QApplication.topLevelWidgets() if window.isVisible()]
    wanted = QApplication.activeModalWidget() or next(
        (window for window in reversed(windows) if window.windowType() in (Qt.WindowType.Dialog, Qt.WindowType.Window)),
        None,
    )
    return {
        "focused": QApplication.focusWindow() is not None,
        "wanted": int(wanted.winId()) if wanted is not None else 0,
        "parts": [part for window in windows for part in _parts(window, ratio)],
    }


def _parts(window: QWidget, ratio: float) -> Iterator[dict[str, Any]]:
    for widget in (window, *window.findChildren(QWidget)):
        if widget.window() is not window or not widget.isVisible():
            continue
        seen = widget.visibleRegion().boundingRect()
        if seen.isEmpty():
            continue
        part = _tell(widget, seen, ratio)
        part["window"] = window.windowTitle()
        yield part
        for words, place, enabled in _rows(widget):
            yield part | {
                "kind": "row",
                "name": words,
                "text": words,
                "on": enabled,
                "place": _place(_mouse_ground(widget), place, ratio),
            }


def _tell(widget: QWidget, seen: QRect, ratio: float) -> dict[str, Any]:
    interface = _accessible(widget)
    # On Unix the name of a combo box, as Qt tells it, is what is chosen in it.
    name = widget.accessibleName()
    if not name and interface is not None and interface.isValid():
        name = interface.text(QAccessible.Text.Name)
    checked = getattr(widget, "isChecked", None)
    return {
        "kind": type(widget).__name__,
        "object": widget.objectName(),
        "name": name,
        "text": _text(widget),
        "on": widget.isEnabled(),
        "checked": bool(checked()) if callable(checked) else False,
        "place": _place(widget, seen, ratio),
    }


def _accessible(widget: QWidget) -> QAccessibleInterface | None:
    return QAccessible.queryAccessibleInterface(widget)


def _text(widget: QWidget) -> str:
    for name in ("toPlainText", "currentText", "text"):
        give = getattr(widget, name, None)
        if callable(give):
            text = give()
            return text if isinstance(text, str) else ""
    return ""


def _rows(widget: QWidget) -> Iterator[tuple[str, QRect, bool]]:
    """The lines of a list or a menu: words, place in the widget, whether it can be chosen."""
    if isinstance(widget, QMenu):
        for action in widget.actions():
            if action.isVisible() and not action.isSeparator():
                yield action.text().replace("&", ""), widget.actionGeometry(action), action.isEnabled()
    elif isinstance(widget, QAbstractItemView) and widget.model() is not None:
        model, ground = widget.model(), widget.viewport().rect()
        for row in range(min(model.rowCount(widget.rootIndex()), MOST_ROWS)):
            index = model.index(row, 0, widget.rootIndex())
            place = widget.visualRect(index) & ground
            if not place.isEmpty():
                enabled = bool(model.flags(index) & Qt.ItemFlag.ItemIsEnabled)
                yield str(index.data(Qt.ItemDataRole.DisplayRole)), place, enabled


def _mouse_ground(widget: QWidget) -> QWidget:
    return widget.viewport() if isinstance(widget, QAbstractItemView) else widget


def _place(widget: QWidget, rect: QRect, ratio: float) -> list[int]:
    corner = widget.mapToGlobal(QPoint(0, 0)) + rect.topLeft()
    return [round(ratio * number) for number in (corner.x(), corner.y(), rect.width(), rect.height())]


def shot(path: str, title: str) -> dict[str, Any]:
    """A picture of the screen, or of the place of the window with this title, as PNG."""
    place = QGuiApplication.primaryScreen().geometry()
    for window in QApplication.topLevelWidgets():
        if title and window.isVisible() and window.windowTitle() == title:
            place &= window.geometry()
    picture = QGuiApplication.primaryScreen().grabWindow(0, place.x(), place.y(), place.width(), place.height())
    return {"saved": picture.save(path, "PNG")}


class _Answers(QSocketNotifier):
    """Answer the requests on stdin, at any time."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(sys.stdin.fileno(), QSocketNotifier.Type.Read, parent)
        self._rest = b""
        self.activated.connect(self._read)

    def _read(self) -> None:
        data = os.read(sys.stdin.fileno(), 4096)
        if not data:
            self.setEnabled(False)
            return
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            word, _, more = line.decode().partition(" ")
            answer = look() if word == "look" else shot(*json.loads(more))
            print(json.dumps(answer), flush=True)


def watched(build: Any) -> Any:
    """`build` of the program, with somebody who looks."""

    @functools.wraps(build)
    def build_and_watch(*arguments: Any, **more: Any) -> Any:
        if ROUND_S:
            more["make_decoder"] = SlowDecoder
        program = build(*arguments, **more)
        _Answers(program.window)
        return program

    return build_and_watch


if __name__ == "__main__":
    app.shell.bootstrap.build = watched(app.shell.bootstrap.build)
    sys.exit(main(sys.argv[1:]))
