"""Make a page of the settings from the register: each setting with its values to choose from."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QGridLayout, QLabel, QVBoxLayout, QWidget

from app.settings.entry import Page
from app.settings.settings import SETTINGS, Settings
from app.views.settings.fields import OptionField

_LABELS = 140
_ROWS = 3
"""The rows of the form for each setting: the value, its meaning, and room."""


class OptionPage(QWidget):
    """Show the settings that the register puts on a page. Attribute: fields (by name). Signal: changed(name, value)."""

    changed = Signal(str, object)

    def __init__(self, page: Page, parent: QWidget, introduction: str = "") -> None:
        super().__init__(parent)
        self.fields = {name: OptionField(each, self) for name, each in SETTINGS.items() if each.page == page}
        grid = QGridLayout()
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(4)
        grid.setColumnMinimumWidth(0, _LABELS)
        grid.setColumnStretch(2, 1)
        for place, field in enumerate(self.fields.values()):
            field.put_into(grid, _ROWS * place)
            grid.setRowMinimumHeight(_ROWS * place + 2, 4)
            field.changed.connect(self.changed)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 12, 12, 12)
        column.setSpacing(16)
        if introduction:
            said = QLabel(introduction, self)
            said.setObjectName("hint")
            said.setWordWrap(True)
            column.addWidget(said)
        column.addLayout(grid)
        column.addStretch(1)

    def show_settings(self, settings: Settings) -> None:
        """Show the values of the settings."""
        for name, field in self.fields.items():
            field.show_value(getattr(settings, name))

    def reset(self) -> None:
        """Choose the default of each setting."""
        usual = Settings()
        for name in self.fields:
            self.changed.emit(name, getattr(usual, name))
        self.show_settings(usual)
