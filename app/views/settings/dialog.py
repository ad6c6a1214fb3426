"""Show the settings: pages, each of which takes effect at once."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import QSize, Signal
from PySide6.QtWidgets import QLabel, QPushButton, QTabWidget, QWidget

from app.settings.entry import Page
from app.settings.settings import SETTINGS, Settings
from app.state.settings.presets import GenerationPreset, SavedItems, SystemPrompt
from app.views.settings.fields import OptionField
from app.views.settings.generation import GenerationPage
from app.views.settings.server import ServerPage
from app.views.settings.tools import ToolsPage
from app.views.widgets.boxes import in_column, in_grid, in_row, wide
from app.views.widgets.keys import Dialog
from app.views.widgets.scroll_page import ScrollPage
from app.views.widgets.theme import Theme

PageName = Literal["general", "generation", "speculation", "tools", "server"]
PAGES: tuple[PageName, ...] = ("general", "generation", "speculation", "tools", "server")
_SIZE = QSize(760, 680)
_LINE, _LONGEST = 120, 40
"""The longest line, and the longest name of a change to undo, in characters."""


class SettingsDialog(Dialog):
    """Show the settings and emit their changes.

    Attributes: general, generation, speculation, tools, server (the pages), tabs.
    Signals: shown() (it is to be filled), replacing(words), replaced() (before and after many values are set at once),
    undo_wanted().
    """

    shown = Signal()
    replacing = Signal(str)
    replaced = Signal()
    undo_wanted = Signal()

    def __init__(
        self,
        theme: Theme,
        presets: SavedItems[GenerationPreset],
        prompts: SavedItems[SystemPrompt],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("settings")
        self.setWindowTitle(self.tr("Settings"))
        self.tabs = QTabWidget(self)
        self.tabs.setAccessibleName(self.tr("Settings"))
        self.general = OptionPage("general", self)
        self.generation = GenerationPage(theme, presets, prompts, self)
        promise = self.tr(
            "No option on this page is lossy: replies are always exactly what the target would have written "
            "alone, and only the speed changes. You choose the target, the draft and the lookahead in the "
            "window; choosing n-gram or none as the draft there overrides the method."
        )
        self.speculation = OptionPage("speculation", self, promise)
        self.tools = ToolsPage(self)
        self.server = ServerPage(self)
        for page, words in (
            (self.general, self.tr("General")),
            (self.generation, self.tr("Generation")),
            (self.speculation, self.tr("Speculation")),
            (self.tools, self.tr("Tools")),
            (self.server, self.tr("Local server")),
        ):
            self.tabs.addTab(_scrolled(page), words)
        self.reset_button = QPushButton(self.tr("Reset to defaults"), self)
        self.reset_button.setToolTip(self.tr("Resets only this page; your saved entries stay"))
        self.reset_button.setAutoDefault(False)
        self.reset_button.clicked.connect(self._reset)
        self.undo_button = QPushButton(self)
        self.undo_button.setAutoDefault(False)
        self.undo_button.clicked.connect(self.undo_wanted)
        self.undo_button.hide()
        self.generation.replacing.connect(self.replacing)
        self.generation.replaced.connect(self.replaced)
        self.close_button = QPushButton(self.tr("Close"), self)
        self.close_button.setAutoDefault(False)
        self.close_button.clicked.connect(self.close)
        buttons = in_row(self.reset_button, self.undo_button, ..., self.close_button, spacing=12)
        in_column(wide(self.tabs), buttons, margins=(24, 16, 24, 16), spacing=12, parent=self)
        self._fit_font()
        theme.changed.connect(self._fit_font)
        self.resize(_SIZE.boundedTo(self.screen().availableSize()))

    def _fit_font(self) -> None:
        """Limit the length of lines: longer ones are hard to read; the room beside them is empty."""
        for page in (self.general, self.generation, self.speculation, self.tools, self.server):
            page.setMaximumWidth(page.fontMetrics().averageCharWidth() * _LINE)

    def open_at(self, page: PageName | None = None) -> None:
        """Open in front, at a page (None: where it was)."""
        if self.isVisible():
            self.raise_()
        else:
            self.shown.emit()
        if page is not None:
            self.tabs.setCurrentIndex(PAGES.index(page))
        self.show()
        self.activateWindow()

    def show_settings(self, settings: Settings) -> None:
        """Show the settings of the pages that are made of the register."""
        self.general.show_settings(settings)
        self.speculation.show_settings(settings)
        self.server.show_settings(settings)

    def show_undo(self, what: str) -> None:
        """Offer to undo this; "": nothing."""
        shown = what if len(what) <= _LONGEST else f"{what[:_LONGEST]}…"
        self.undo_button.setText(self.tr("Undo: {what}").format(what=shown).replace("&", "&&"))
        self.undo_button.setVisible(bool(what))

    def _reset(self) -> None:
        self.replacing.emit(self.reset_button.text())
        (self.general, self.generation, self.speculation, self.tools, self.server)[self.tabs.currentIndex()].reset()
        self.replaced.emit()


def _scrolled(page: QWidget) -> ScrollPage:
    area = ScrollPage()
    page.setObjectName("page")
    area.setWidget(page)
    return area


_LABELS = 140
_ROWS = 3
"""The rows of the form for each setting: the value, its meaning, and room."""


class OptionPage(QWidget):
    """Show the settings that the register puts on a page. Attribute: fields (by name). Signal: changed(name, value)."""

    changed = Signal(str, object)

    def __init__(self, page: Page, parent: QWidget, introduction: str = "") -> None:
        super().__init__(parent)
        self.fields = {name: OptionField(each, self) for name, each in SETTINGS.items() if each.page == page}
        grid = in_grid(across=12, down=4, stretch=2)
        grid.setColumnMinimumWidth(0, _LABELS)
        for place, field in enumerate(self.fields.values()):
            field.put_into(grid, _ROWS * place)
            grid.setRowMinimumHeight(_ROWS * place + 2, 4)
            field.changed.connect(self.changed)
        column = in_column(spacing=16, margins=(0, 12, 12, 12), parent=self)
        if introduction:
            said = QLabel(introduction, self)
            said.setObjectName("hint")
            said.setWordWrap(True)
            column.addWidget(said)
        column.addLayout(grid)
        column.addStretch(1)

    def show_settings(self, settings: Settings) -> None:
        for name, field in self.fields.items():
            field.show_value(getattr(settings, name))

    def reset(self) -> None:
        usual = Settings()
        for name in self.fields:
            self.changed.emit(name, getattr(usual, name))
        self.show_settings(usual)
