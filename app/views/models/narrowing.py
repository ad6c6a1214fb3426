"""Filter the library's models: favourites or those used last, a family, a size, a quantisation."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.state.models.library import LibraryRow, Narrowing, Subset
from app.state.models.selection import PickerLine
from app.views.widgets.flow_layout import FlowLayout
from app.views.widgets.picker import PATH_ROLE, Picker
from app.words.library import size_words, subset_words

_SUBSETS: tuple[Subset, ...] = ("", "favourites", "recent")


class NarrowingBar(QWidget):
    """Choose by four pickers; values that no model has are not offered. `free`: stands at the end of the row.

    Signal: changed(Narrowing).
    Attributes: shelf, family, size_picker, quantisation (the pickers), narrowing.
    """

    changed = Signal(object)

    def __init__(self, free: QWidget, parent: QWidget) -> None:
        super().__init__(parent)
        self.narrowing = Narrowing()
        self.subset = Picker(self.tr("Show"), self)
        self.family = Picker(self.tr("Family"), self)
        self.size_picker = Picker(self.tr("Size"), self)
        self.quantisation = Picker(self.tr("Quantisation"), self)
        row = FlowLayout(self)
        for picker in self.pickers:
            picker.chosen.connect(lambda _key: self._read())
            row.addWidget(picker)
        row.add_stretch()
        row.addWidget(free)
        _fill(self.subset, [(each, subset_words(each)) for each in _SUBSETS])
        self.show_rows(())

    @property
    def pickers(self) -> tuple[Picker, ...]:
        """Return the pickers, from left to right."""
        return self.subset, self.family, self.size_picker, self.quantisation

    def show_rows(self, rows: Sequence[LibraryRow]) -> None:
        """Offer the values of these rows. A chosen value stays, unless no model has it any more."""
        families, sizes, quantisations = Narrowing.values(rows)
        _fill(self.family, [("", self.tr("All families")), *_named(families, str)])
        _fill(self.size_picker, [(None, self.tr("All sizes")), *_named(sizes, size_words)])
        _fill(self.quantisation, [("", self.tr("All quantisations")), *_named(quantisations, str)])
        self._read()

    def clear(self) -> None:
        """List all models."""
        for picker in self.pickers:
            picker.setCurrentIndex(0)
        self._read()

    def _read(self) -> None:
        chosen: list[Any] = [picker.currentData(PATH_ROLE) for picker in self.pickers]
        narrowing = Narrowing(*chosen)
        if narrowing != self.narrowing:
            self.narrowing = narrowing
            self.changed.emit(narrowing)


def _named(values: Iterable[Any], words: Callable[[Any], str]) -> list[tuple[Hashable, str]]:
    return [(value, words(value)) for value in values]


def _fill(picker: Picker, choices: Sequence[tuple[Hashable, str]]) -> None:
    before = picker.currentData(PATH_ROLE)
    keys = [key for key, _ in choices]
    if [picker.itemData(row, PATH_ROLE) for row in range(picker.count())] == keys:
        return
    picker.fill([PickerLine(None, words) for _, words in choices], None, "")
    for row, key in enumerate(keys):
        picker.setItemData(row, key, PATH_ROLE)
    # That nothing is left out is never cut; a long family's name may be.
    picker.setMinimumContentsLength(len(choices[0][1]))
    picker.setCurrentIndex(keys.index(before) if before in keys else 0)
