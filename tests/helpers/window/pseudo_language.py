"""A language that no text of ours is in by chance: «Çöþý» for Copy. What reads as English was never translated."""

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from html import unescape
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from PySide6.QtCore import (
    QAbstractItemModel,
    QAbstractListModel,
    QBuffer,
    QModelIndex,
    QObject,
    QPoint,
    Qt,
    QTranslator,
)
from PySide6.QtGui import QAction, QPainter
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QComboBox,
    QGraphicsScene,
    QGraphicsSimpleTextItem,
    QGraphicsTextItem,
    QGraphicsView,
    QMenu,
    QTabBar,
    QWidget,
)
from update_translations import find_texts

from app.shell import bootstrap
from app.shell.files import CHAT_PROGRAMS
from app.system.resources import starter_prompts
from app.system.translation import install
from app.words.get_models import short_name
from engine.host import PROGRAMS, packaged_models
from engine.hub.catalogue import catalogue

_PLAIN = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_OTHER = "ÅƁÇÐÉƑĜĤÎĴĶĻṀÑÖÞǪŔŠŢÛṼŴẊÝŽåƀçðéƒĝĥîĵķļɱñöþǫŕšţûṽŵẋýž"
_LETTERS = str.maketrans(_PLAIN, _OTHER)
_KEPT = re.compile(r"\{[^{}]*\}|%L?n|%[1-9]|<[^<>]*>|&(?:amp|lt|gt|quot|nbsp|#\d+);")
"""Fields, numbers, tags and entities stay as they are."""
_NOT_TEXT = frozenset({"objectName", "styleSheet", "windowFilePath", "windowRole", "inputMask", "markdown", "html"})
_ROLES = (
    Qt.ItemDataRole.DisplayRole,
    Qt.ItemDataRole.ToolTipRole,
    Qt.ItemDataRole.AccessibleTextRole,
    Qt.ItemDataRole.AccessibleDescriptionRole,
    Qt.ItemDataRole.StatusTipRole,
)
_MOST_ROWS = 60
_UNITS = r"\b(?:[kKMGT]i?B|[KMBT]|px|pt)\b"
_NAMES = (
    r"xx\w*(?:\.gguf|\.txt)?|\bzz+\b|\bcpu\b|python|Outrider|outrider|RuntimeError|Deutsch|English|Qt|PySide6|https"
    r"|token␣\d+|thinking: default"
)


class PseudoTranslator(QTranslator):
    """Translate texts that are translatable in the right context, and nothing else."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._known = _known_texts()

    def translate(self, context: str, source: str, disambiguation: str | None = None, n: int = -1) -> str | None:
        """The text, with other letters and in «»; None if it is not known."""
        if source == "QT_LAYOUT_DIRECTION" or not (context.startswith("Q") or (context, source) in self._known):
            return None
        return pseudo(source)

    def isEmpty(self) -> bool:  # noqa: N802 - the name is Qt's
        """Never: else Qt would not install it."""
        return False


@cache
def _known_texts() -> frozenset[tuple[str, str]]:
    return frozenset((text.context, text.source) for text in find_texts().texts)


def pseudo(source: str) -> str:
    """A text in the pseudo-language."""
    pieces: list[str] = []
    end = 0
    for kept in _KEPT.finditer(source):
        pieces += [source[end : kept.start()].translate(_LETTERS), kept[0]]
        end = kept.end()
    return "«" + "".join([*pieces, source[end:].translate(_LETTERS)]) + "»"


@contextmanager
def speaking_pseudo(app: QApplication) -> Iterator[None]:
    """Speak it, whatever the settings say."""
    translator = PseudoTranslator(app)
    assert app.installTranslator(translator)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bootstrap, "install", lambda *_arguments: None)
            yield
    finally:
        app.removeTranslator(translator)
        install(app, "en")


def data_of(folder: Path) -> list[str]:
    """Return regular expressions for texts that are not ours: names, data of the program, a folder of tests."""
    # What a model is asked to begin with is in the language of the bundled pair, and may be cut.
    prompts = [re.escape(starter.prompt) for starter in starter_prompts()]
    cut = r"(?:" + "|".join(re.escape(starter.prompt[:12]) for starter in starter_prompts()) + r").*…"
    models = [re.escape(text) for model in packaged_models() for text in (model.title, model.licence)]
    # Other programs, the lines of their settings, and where these are kept.
    programs = [rf"\b{re.escape(program.title)}\b" for program in PROGRAMS]
    programs += [rf"\b{program}\b" for program in CHAT_PROGRAMS]
    settings = [r"export \w+='[^']*'", r"\S*/\.claude/settings\.json"]
    # Models that are recommended, under what licence, and where they were seen.
    known = catalogue()
    entries = [*known["targets"], *known["drafts"].values()]
    names = [short_name(f"{each['repository']}:{each['quantisation']}") for each in entries]
    names += [each[key] for each in entries for key in ("source", "licence") if key in each]
    recommended = [re.escape(name) for name in names]
    paths = [rf"\S*{folder.name}\S*", rf"{re.escape(str(folder)[:4])}\S*…\S*"]
    return [*settings, *prompts, *models, cut, *paths, *programs, *recommended, _NAMES, _UNITS]


class LeftOut:
    """Collects texts that were never translated. `data`: what is no text of ours, as regular expressions."""

    def __init__(self, data: Iterable[str]) -> None:
        self._data = re.compile("|".join(f"(?:{each})" for each in data))
        self.found: dict[str, str] = {}
        """Each text, and where it was seen first."""
        self.seen = 0
        self._checked: set[str] = set()

    def look(self, *, shown: bool = False) -> None:
        """Look at everything that there is in all windows now, whether it is on screen or not, or only what is."""
        for widget in QApplication.allWidgets():
            if (shown and not widget.isVisible()) or _of_pyqtgraph(widget):
                continue
            for where, text in texts_of(widget):
                if text in self._checked:
                    self.seen += 1
                else:
                    self.check(text, f"{_path(widget)}: {where}")

    def check(self, text: str, where: str) -> None:
        """One text; a text is the same wherever it stands."""
        self.seen += 1
        self._checked.add(text)
        bare = re.sub(r"(?s)<style.*?</style>|<[^<>]*>", " ", text) if "<" in text and ">" in text else text
        if re.search(r"[A-Za-z]{2}", self._data.sub(" ", bare)):
            self.found.setdefault(text, where)

    def __str__(self) -> str:
        return "\n".join(f"{text!r}  ({where})" for text, where in sorted(self.found.items()))


class Painted:
    """Looks at the texts that windows really paint, whoever paints them.

    Attributes: texts; reached (file and line of each call in Python that has painted one).
    """

    def __init__(self, left_out: LeftOut) -> None:
        self.texts: list[str] = []
        self.reached: set[tuple[str, int]] = set()
        self._left_out = left_out

    def look(self) -> None:
        """At all windows that are shown: each is painted as a drawing in which texts stay texts."""
        for window in QApplication.topLevelWidgets():
            if window.isVisible():
                for text in self._painted(window):
                    self.texts.append(text)
                    self._left_out.check(text, f"painted in {_path(window)}")

    def _painted(self, window: QWidget) -> list[str]:
        drawing = QBuffer()
        paper = QSvgGenerator()
        paper.setOutputDevice(drawing)
        paper.setSize(window.size())
        painter = QPainter(paper)
        with self.noting():
            window.render(painter, QPoint(0, 0))
        painter.end()
        return [
            unescape(text)
            for text in re.findall(r"(?s)<text [^>]*>(.*?)</text>", bytes(drawing.data().data()).decode())
        ]

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Note the calls that paint texts, wherever they paint them."""
        before = sys.getprofile()
        sys.setprofile(self._note_call)
        yield
        sys.setprofile(before)

    def _note_call(self, frame: FrameType, event: str, called: Any) -> None:
        if event == "c_call" and getattr(called, "__name__", "") in _PAINTING:
            self.reached.add((frame.f_code.co_filename, frame.f_lineno))

    def not_reached(self, folder: Path) -> list[str]:
        """Calls in the sources of a folder that paint a text, and have not."""
        found = []
        for path in sorted(folder.rglob("*.py")):
            for call in painting_calls(path.read_text(encoding="utf-8")):
                lines = range(call.lineno, (call.end_lineno or call.lineno) + 1)
                if not any((str(path), line) in self.reached for line in lines):
                    found.append(f"{path.name}:{call.lineno}")
        return found


_properties_of: dict[tuple[type[QObject], str], tuple[str, ...]] = {}
_PAINTING = frozenset({"drawText", "drawStaticText", "drawItemText", "drawGlyphRun", "addText"})


def painting_calls(source: str) -> list[ast.Call]:
    """Where a source paints texts by itself."""
    calls = [each for each in ast.walk(ast.parse(source)) if isinstance(each, ast.Call)]
    return [each for each in calls if isinstance(each.func, ast.Attribute) and each.func.attr in _PAINTING]


def texts_of(widget: QWidget) -> Iterator[tuple[str, str]]:
    """All that a widget says, with what it says it by."""
    yield from _properties(widget)
    for action in widget.actions():
        yield from _properties(action)
    yield from _choices(widget)
    if isinstance(widget, QAbstractItemView) and widget.model() is not None:
        yield from _rows(widget, QModelIndex())
        for section in range(_columns(widget.model(), QModelIndex())):
            yield from _one("header", widget.model().headerData(section, Qt.Orientation.Horizontal))
    if isinstance(widget, QGraphicsView):
        yield from _drawn(widget.scene())


def _choices(widget: QWidget) -> Iterator[tuple[str, str]]:
    if isinstance(widget, QComboBox):
        for place in range(widget.count()):
            for role in _ROLES:
                yield from _one(f"item {place}", widget.itemData(place, role))
    if isinstance(widget, QTabBar):
        for place in range(widget.count()):
            yield from _one("tab", widget.tabText(place))
            yield from _one("tab", widget.tabToolTip(place))


def _drawn(scene: QGraphicsScene | None) -> Iterator[tuple[str, str]]:
    for item in () if scene is None else scene.items():
        if isinstance(item, QGraphicsTextItem):
            yield from _one("item", item.toPlainText())
        elif isinstance(item, QGraphicsSimpleTextItem):
            yield from _one("item", item.text())


def _properties(thing: QWidget | QAction) -> Iterator[tuple[str, str]]:
    for name in _text_properties(thing):
        yield from _one(name, thing.property(name))
    if isinstance(thing, QAction) and thing.shortcut().toString():
        yield from _one("shortcut", thing.shortcut().toString(thing.shortcut().SequenceFormat.NativeText))


def _text_properties(thing: QObject) -> tuple[str, ...]:
    """Names of the properties of its class that are texts."""
    kinds = thing.metaObject()
    kind = type(thing), kinds.className()
    if kind not in _properties_of:
        each = [kinds.property(place) for place in range(kinds.propertyCount())]
        _properties_of[kind] = tuple(
            name
            for found in each
            if str(found.typeName()) == "QString" and (name := str(found.name())) not in _NOT_TEXT
        )
    return _properties_of[kind]


def _rows(view: QAbstractItemView, parent: QModelIndex) -> Iterator[tuple[str, str]]:
    model = view.model()
    for row in range(min(model.rowCount(parent), _MOST_ROWS)):
        for column in range(_columns(model, parent)):
            index = model.index(row, column, parent)
            for role in _ROLES:
                yield from _one(f"row {row}", index.data(role))
        yield from _rows(view, model.index(row, 0, parent))


def _columns(model: QAbstractItemModel, parent: QModelIndex) -> int:
    # Qt keeps that of a list to itself.
    return 1 if isinstance(model, QAbstractListModel) else model.columnCount(parent)


def _one(where: str, text: object) -> Iterator[tuple[str, str]]:
    if isinstance(text, str) and text:
        yield where, text


def _of_pyqtgraph(widget: QWidget) -> bool:
    """Its plots make menus, and ours never show them."""
    each: QWidget | None = widget
    while each is not None:
        if isinstance(each, QMenu) and (
            each.title() == "Plot Options" or type(each).__module__.startswith("pyqtgraph")
        ):
            return True
        each = each.parentWidget()
    return False


def _path(widget: QWidget) -> str:
    names: list[str] = []
    each: QWidget | None = widget
    while each is not None and len(names) < 4:
        names.append(type(each).__name__)
        each = each.parentWidget()
    return " in ".join(names)


def open_menus(widget: QWidget) -> list[QMenu]:
    """Show every menu once, as some are only filled then; gives them."""
    menus = [menu for menu in widget.findChildren(QMenu) if not menu.isVisible()]
    for menu in menus:
        menu.aboutToShow.emit()
    return menus
