"""Show the About window: the program, its parts' versions, its folders, all licences."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from PySide6 import __version__ as binding_version
from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QSize, Qt, QTimer, qVersion
from PySide6.QtGui import QGuiApplication, QImageReader, QPixmap
from PySide6.QtWidgets import (
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListWidget,
    QPlainTextEdit,
    QPushButton,
    QScrollArea,
    QSplitter,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from app.system.licences import Component, components, text_of, versions
from app.system.resources import ResourceDamaged, read_bytes
from app.system.translation import say_error
from app.views.widgets.boxes import in_column, in_row, wide
from app.views.widgets.keys import Dialog
from app.views.widgets.theme import keep_fixed

_ICON = 56
_SIZE = QSize(940, 600)
_LIST_WIDTH = 240
_COPIED_MS = 2_000


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Hold facts about this installation, and a line on each loaded model, the target's first.

    `flavour` is none if the program is not frozen.
    """

    flavour: str
    settings: str
    data: str
    logs: str
    models: tuple[str, ...] = ()


class AboutDialog(Dialog):
    """Describe the program. Everything is read when it is created, the licences when they are shown."""

    def __init__(self, place: Whereabouts, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("about")
        self.setWindowTitle(self.tr("About Outrider"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._place = place
        self.facts: list[QLineEdit] = []
        self._parts: tuple[Component, ...] | None = None
        self.versions = _versions()
        self.tabs = QTabWidget(self)
        self.tabs.addTab(self._make_program(), self.tr("Program"))
        self.tabs.addTab(self._make_licences(), self.tr("Licences"))
        self.copy_button = QPushButton(self.tr("Copy versions"), self)
        self.copy_button.setToolTip(self.tr("Copy the versions for a bug report"))
        self.copy_button.setAutoDefault(False)
        self.copy_button.clicked.connect(self._copy)
        self.close_button = QPushButton(self.tr("Close"), self)
        self.close_button.setDefault(True)
        self.close_button.clicked.connect(self.close)
        self._lay_out()
        self._set_order()

    # Building ---------------------------------------------------------------------------------------------------------

    def _lay_out(self) -> None:
        buttons = in_row(self.copy_button, ..., self.close_button)
        in_column(self._make_header(), wide(self.tabs), buttons, margins=(24, 24, 24, 16), spacing=16, parent=self)
        room = self.screen().availableSize()
        self.resize(_SIZE.boundedTo(room))

    def _make_header(self) -> QHBoxLayout:
        picture = QLabel(self)
        picture.setPixmap(_picture(_ICON, self.devicePixelRatio()))
        picture.setFixedSize(_ICON, _ICON)
        name = QLabel("Outrider", self)
        name.setObjectName("welcome")
        kind = self._kind()
        number = QLabel(self.tr("Version {number} · {kind}").format(number=self.versions[0][1], kind=kind), self)
        number.setObjectName("hint")
        sentence = QLabel(self.tr("A small model rides ahead, a large one decides: chat with local models."), self)
        sentence.setWordWrap(True)
        words = QVBoxLayout()
        words.setSpacing(4)
        for label in (name, number, sentence):
            words.addWidget(label)
        header = QHBoxLayout()
        header.setSpacing(16)
        header.addWidget(picture, 0, Qt.AlignmentFlag.AlignTop)
        header.addLayout(words, 1)
        return header

    def _kind(self) -> str:
        flavours = {
            "none": self.tr("run from source"),
            "standard": self.tr("standard, with llama.cpp"),
            "full": self.tr("full, with llama.cpp and PyTorch"),
        }
        return flavours.get(self._place.flavour, self.tr("installed"))

    def _make_program(self) -> QWidget:
        area = QScrollArea(self)
        area.setWidgetResizable(True)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        page = QWidget(area)
        page.setObjectName("page")
        area.setWidget(page)
        form = QFormLayout(page)
        form.setContentsMargins(0, 16, 0, 0)
        form.setHorizontalSpacing(24)
        form.setVerticalSpacing(8)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        for name, number in self.versions:
            form.addRow(self._caption(name, page), self._fact(name, number, page))
        places = (
            *self._models(),
            (self.tr("Settings"), self._place.settings),
            (self.tr("Data"), self._place.data),
            (self.tr("Log"), self._place.logs),
        )
        for name, path in places:
            form.addRow(self._caption(name, page), self._fact(name, path, page))
        return area

    def _models(self) -> list[tuple[str, str]]:
        return list(zip((self.tr("Target"), self.tr("Draft")), self._place.models, strict=False))

    def _caption(self, text: str, parent: QWidget) -> QLabel:
        label = QLabel(text, parent)
        label.setObjectName("hint")
        return label

    def _fact(self, name: str, text: str, parent: QWidget) -> QLineEdit:
        """Return a line that can be selected; a long path is scrolled, not wrapped."""
        line = QLineEdit(text, parent)
        line.setReadOnly(True)
        line.setFrame(False)
        line.setCursorPosition(0)
        line.setToolTip(text)
        line.setAccessibleName(name)
        self.facts.append(line)
        return line

    def _make_licences(self) -> QWidget:
        page = QWidget(self)
        layout = QVBoxLayout(page)
        layout.setContentsMargins(0, 16, 0, 0)
        self.notice = QLabel(page)
        self.notice.setWordWrap(True)
        self.notice.hide()
        self.list = QListWidget(page)
        self.list.setAccessibleName(self.tr("Components"))
        self.list.setUniformItemSizes(True)
        self.list.currentRowChanged.connect(self._show)
        self.splitter = QSplitter(Qt.Orientation.Horizontal, page)
        self.splitter.setChildrenCollapsible(False)
        self.splitter.setHandleWidth(12)
        self.splitter.addWidget(self.list)
        self.splitter.addWidget(self._make_reader(page))
        self.splitter.setSizes([_LIST_WIDTH, _SIZE.width() - _LIST_WIDTH])
        self.splitter.setStretchFactor(1, 1)
        layout.addWidget(self.notice, 0, Qt.AlignmentFlag.AlignTop)
        layout.addWidget(self.splitter, 1)
        self.tabs.currentChanged.connect(self._open_page)
        return page

    def _make_reader(self, parent: QWidget) -> QWidget:
        reader = QWidget(parent)
        self.licence = QLabel(reader)
        self.licence.setWordWrap(True)
        self.licence.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.home = QLabel(reader)
        self.home.setObjectName("hint")
        self.home.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.text = QPlainTextEdit(reader)
        self.text.setReadOnly(True)
        self.text.setTabChangesFocus(True)
        keep_fixed(self.text)
        self.text.setAccessibleName(self.tr("Licence text"))
        layout = in_column(self.licence, self.home, margins=(0, 0, 0, 0), spacing=4, parent=reader)
        layout.addSpacing(4)
        layout.addWidget(self.text, 1)
        return reader

    def _set_order(self) -> None:
        order: list[QWidget] = [
            self.tabs.tabBar(),
            *self.facts,
            self.list,
            self.text,
            self.copy_button,
            self.close_button,
        ]
        for one, following in pairwise(order):
            self.setTabOrder(one, following)
        self.close_button.setFocus()

    # Showing ----------------------------------------------------------------------------------------------------------

    def _open_page(self, page: int) -> None:
        """Read the list when it is shown for the first time."""
        if page == 0 or self._parts is not None:
            return
        try:
            self._parts = components()
        except ResourceDamaged as damage:
            self._parts = ()
            self.notice.setText(say_error(damage))
        self.notice.setVisible(not self._parts)
        self.splitter.setVisible(bool(self._parts))
        self.list.addItems([f"{part.name} {part.version}".strip() for part in self._parts])
        self.list.setCurrentRow(0 if self._parts else -1)

    def _show(self, row: int) -> None:
        if not self._parts or row < 0:
            return
        part = self._parts[row]
        self.licence.setText(part.licence)
        self.text.setAccessibleDescription(f"{part.name}: {part.licence}")
        self.home.setText(part.url)
        self.home.setVisible(bool(part.url))
        try:
            text = text_of(part)
        except ResourceDamaged as damage:
            text = say_error(damage)
        self.text.setPlainText(text or self.tr("No licence text was installed with this component."))

    def _copy(self) -> None:
        lines = [f"{name}: {number}" for name, number in (*self.versions, *self._models())]
        QGuiApplication.clipboard().setText("\n".join([*lines, f"{QGuiApplication.platformName()}, {self._kind()}"]))
        self.copy_button.setText(self.tr("Copied"))
        QTimer.singleShot(_COPIED_MS, self, lambda: self.copy_button.setText(self.tr("Copy versions")))


def _versions() -> list[tuple[str, str]]:
    found = versions()
    return [*found[:2], ("Qt", qVersion()), ("PySide6", binding_version), *found[2:]]


def _picture(size: int, ratio: float) -> QPixmap:
    """Return the program's icon, drawn at its display size; empty if it is damaged."""
    try:
        data = QBuffer()
        data.setData(QByteArray(read_bytes("icons", "outrider.svg")))
    except ResourceDamaged:
        return QPixmap()
    data.open(QIODevice.OpenModeFlag.ReadOnly)
    reader = QImageReader(data)
    reader.setScaledSize(QSize(size, size) * ratio)
    picture = QPixmap.fromImage(reader.read())
    picture.setDevicePixelRatio(ratio)
    return picture
