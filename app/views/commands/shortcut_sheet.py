"""Show the shortcut sheet: all keys of the program on one page."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QFrame, QLabel, QPushButton, QScrollArea, QVBoxLayout, QWidget

from app.views.commands.commands import Commands
from app.views.widgets.boxes import in_column, in_grid, in_row, wide
from app.views.widgets.keys import Dialog

_SIZE = QSize(760, 560)
Group = tuple[str, list[tuple[str, str]]]
"""A heading, and under it actions with their keys."""


class ShortcutSheet(Dialog):
    """List the commands with keys; others are in the palette. Attribute: groups."""

    def __init__(self, commands: Commands, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setObjectName("sheet")
        self.setWindowTitle(self.tr("Keyboard shortcuts"))
        self.groups = [*_groups(commands), *self._elsewhere()]
        self._blocks: list[QWidget] = []
        self._area = QScrollArea(self)
        self._area.setObjectName("sheetArea")
        self._area.setAccessibleName(self.tr("Keyboard shortcuts"))
        self._area.setWidgetResizable(True)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._area.setFocusPolicy(Qt.FocusPolicy.StrongFocus)  # so that the arrows scroll it
        self._area.setWidget(self._make_page())
        self.close_button = QPushButton(self.tr("Close"), self)
        self.close_button.clicked.connect(self.close)
        row = in_row(..., self.close_button)
        in_column(wide(self._area), row, margins=(16, 16, 16, 16), spacing=12, parent=self)
        room = parent.screen().availableSize()
        self.resize(_SIZE.boundedTo(QSize(room.width() - 40, room.height() - 80)))
        self.close_button.setFocus()

    def _elsewhere(self) -> list[Group]:
        """List the keys that belong to a part of the window, not to a command."""
        enter = self.tr("Enter")

        def key(keys: str) -> str:
            # As the prompt calls it; Qt has no German word.
            return _key_words(keys).replace("Return", enter)

        return [
            (
                self.tr("In the prompt"),
                [
                    (self.tr("Send"), key("Return")),
                    (self.tr("New line"), key("Shift+Return")),
                    (self.tr("Recall the last prompt"), key("Up")),
                ],
            ),
            (
                self.tr("In the chat"),
                [
                    (self.tr("Next or previous message"), f"{key('Tab')}, {key('Shift+Tab')}"),
                    (self.tr("Scroll"), f"{key('Up')}, {key('Down')}, {key('PgUp')}, {key('PgDown')}"),
                    (self.tr("Go to the beginning or the end"), f"{key('Home')}, {key('End')}"),
                    (self.tr("Next or previous token (with coloured tokens)"), f"{key('Left')}, {key('Right')}"),
                ],
            ),
            (
                self.tr("In the chat list"),
                [
                    (self.tr("Open"), key("Return")),
                    (self.tr("Rename"), key("F2")),
                    (self.tr("Delete"), key("Del")),
                    (self.tr("Undo delete"), key("Ctrl+Z")),
                ],
            ),
        ]

    def _make_page(self) -> QWidget:
        page = QWidget()
        page.setObjectName("page")
        columns = in_row(spacing=32, margins=(0, 0, 12, 0), parent=page)
        for groups in _halves(self.groups):
            column = QVBoxLayout()
            column.setSpacing(16)
            for heading, lines in groups:
                block = self._make_block(heading, lines, page)
                self._blocks.append(block)
                column.addWidget(block)
            column.addStretch(1)
            columns.addLayout(column, 1)
        return page

    def _make_block(self, heading: str, lines: Sequence[tuple[str, str]], parent: QWidget) -> QWidget:
        block = QFrame(parent)
        grid = in_grid(across=16, down=6, stretch=0, margins=(0, 0, 0, 0), parent=block)
        title = QLabel(heading, block)
        title.setObjectName("sheetHeading")
        grid.addWidget(title, 0, 0, 1, 2)
        for row, (text, keys) in enumerate(lines, 1):
            word = QLabel(text, block)
            word.setWordWrap(True)
            key = QLabel(keys, block)
            key.setObjectName("sheetKeys")
            grid.addWidget(word, row, 0)
            grid.addWidget(key, row, 1, Qt.AlignmentFlag.AlignTrailing | Qt.AlignmentFlag.AlignTop)
        return block


def _key_words(keys: str) -> str:
    return QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText)


def _groups(commands: Commands) -> list[Group]:
    groups: list[Group] = []
    for section in commands.sections():
        lines = [(each.text.rstrip("…"), ", ".join(each.shortcuts)) for each in commands.of(section) if each.shortcuts]
        if lines:
            groups.append((commands.section_words(section), lines))
    return groups


def _halves(groups: Sequence[Group]) -> tuple[list[Group], list[Group]]:
    """Split the groups into two columns of about the same height, the order kept."""
    heights = [len(lines) + 2 for _, lines in groups]
    cut = min(range(len(groups) + 1), key=lambda place: abs(sum(heights[:place]) - sum(heights[place:])))
    return list(groups[:cut]), list(groups[cut:])
