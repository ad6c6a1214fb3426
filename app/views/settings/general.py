"""The general page of the settings: theme, language, letters, notifications."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QGridLayout, QLabel, QVBoxLayout, QWidget

from app.settings.settings import Settings
from app.state.models.models import PickerLine
from app.views.widgets.picker import PATH_ROLE, Picker

_LABELS = 140
_SIZES = (8, 9, 10, 11, 12, 13, 14, 16, 18, 20, 24, 28, 32)
NAMES = ("theme", "language", "font_points", "notify")


class GeneralPage(QWidget):
    """Attributes: theme, language, font_size, notify (pickers). Signal: changed(name, value), names as in Settings."""

    changed = Signal(str, object)

    def __init__(self, languages: Mapping[str, str], parent: QWidget) -> None:
        super().__init__(parent)
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(12)
        self._grid.setVerticalSpacing(12)
        self._grid.setColumnMinimumWidth(0, _LABELS)
        self._grid.setColumnStretch(2, 1)
        themes = [("system", self.tr("Follow system")), ("light", self.tr("Light")), ("dark", self.tr("Dark"))]
        self.theme = self._picker("theme", self.tr("Theme"), themes)
        spoken = [("", self.tr("Follow system")), *languages.items()]
        self.language = self._picker("language", self.tr("Language"), spoken, self.tr("Takes effect after restart"))
        sizes = [(size, self.tr("{size} pt").format(size=size)) for size in _SIZES]
        letters: list[tuple[object, str]] = [(0, self.tr("Follow system")), *sizes]
        self.font_size = self._picker("font_points", self.tr("Font size"), letters, self.tr("Also: Ctrl + and Ctrl −"))
        told = [(True, self.tr("When a long reply finishes in the background")), (False, self.tr("Never"))]
        self.notify = self._picker("notify", self.tr("Notifications"), told, wide=True)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 12, 12, 12)
        column.setSpacing(16)
        column.addLayout(self._grid)
        column.addStretch(1)

    def _picker(
        self, name: str, words: str, lines: Sequence[tuple[object, str]], hint: str = "", *, wide: bool = False
    ) -> Picker:
        label = QLabel(words, self)
        picker = Picker(words, self)
        self._fill(picker, lines)
        picker.setMinimumContentsLength(12 if wide else max(len(line) for _, line in lines))
        picker.chosen.connect(lambda value: self.changed.emit(name, value))
        label.setBuddy(picker)
        row = self._grid.rowCount()
        self._grid.addWidget(label, row, 0)
        self._grid.addWidget(picker, row, 1, 1, 2 if wide else 1)
        if hint:
            more = QLabel(hint, self)
            more.setObjectName("hint")
            more.setWordWrap(True)
            self._grid.addWidget(more, row + 1, 1, 1, 2)
        return picker

    def _fill(self, picker: Picker, lines: Sequence[tuple[object, str]]) -> None:
        picker.fill([PickerLine(None, line) for _, line in lines], None, "")
        for row, (value, _) in enumerate(lines):
            picker.setItemData(row, value, PATH_ROLE)

    def show_settings(self, settings: Settings) -> None:
        """Show what is set."""
        self.theme.setCurrentIndex(self.theme.findData(settings.theme, PATH_ROLE))
        self.language.setCurrentIndex(max(self.language.findData(settings.language, PATH_ROLE), 0))
        row = self.font_size.findData(settings.font_points, PATH_ROLE)
        self.font_size.setCurrentIndex(row)
        # A size between those of the list, chosen by keys.
        self.font_size.setPlaceholderText(self.tr("{size} pt").format(size=settings.font_points) if row < 0 else "")
        self.notify.setCurrentIndex(self.notify.findData(settings.notify, PATH_ROLE))

    def reset(self) -> None:
        """All as where nothing was chosen."""
        usual = Settings()
        for name in NAMES:
            self.changed.emit(name, getattr(usual, name))
        self.show_settings(usual)
