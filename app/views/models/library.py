"""Show the library: all models in the chosen folders, their needs, and their actions."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QModelIndex, QSize, Qt, Signal
from PySide6.QtGui import QAction, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QFrame,
    QLabel,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QSizePolicy,
    QStackedWidget,
    QWidget,
)

from app.state.chat.activity import Activity
from app.state.models.library import LibraryRow, Narrowing, Subset
from app.state.models.selection import PickerLine
from app.views.models.details import LibraryDetails
from app.views.models.rows import LibraryFilter, LibraryModel
from app.views.models.table import LibraryTable
from app.views.widgets.boxes import in_column, in_row, wide
from app.views.widgets.flow_layout import FlowLayout
from app.views.widgets.icons import icon, icon_button, keep_icon
from app.views.widgets.keys import Dialog
from app.views.widgets.labels import ltr
from app.views.widgets.notices import LoadNotice
from app.views.widgets.picker import PATH_ROLE, Picker
from app.views.widgets.progress_strip import ProgressStrip
from app.views.widgets.theme import Theme
from app.words.library import COLUMNS, free_words, heading, size_words, subset_words

_SIZE = QSize(1_040, 680)
_WIDE = 900
"""Pixels: in a narrower window the details stand below the table."""
_DETAILS = 260
_ASCENDING, _DESCENDING = Qt.SortOrder.AscendingOrder, Qt.SortOrder.DescendingOrder


class LibraryDialog(Dialog):
    """Show the models, and emit the user's wishes for them; wishes for the folders come from `folders`.

    Signals: target_wanted(Path), draft_wanted(Path), options_wanted(Path), load_wanted(), unload_wanted(),
    favourite_wanted(Path, bool), shown() (it is to be filled), cancel_wanted().
    """

    target_wanted = Signal(object)
    draft_wanted = Signal(object)
    options_wanted = Signal(object)
    load_wanted = Signal()
    unload_wanted = Signal()
    favourite_wanted = Signal(object, bool)
    shown = Signal()
    cancel_wanted = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("library")
        self.setWindowTitle(self.tr("Models"))
        self._theme = theme
        self._busy = False
        self.folders = FolderList(self)
        self.model = LibraryModel(theme, self)
        self.filter = LibraryFilter(self)
        self.filter.setSourceModel(self.model)
        self.table = LibraryTable(self.filter, theme, self)
        self._make_tools()
        self.narrowing = NarrowingBar(self.free, self)
        self.details = LibraryDetails(theme, self)
        self._make_buttons()
        self.strip = ProgressStrip(theme, self)
        self.strip.cancel.connect(self.cancel_wanted)
        self.announcement = LoadNotice(theme, self)
        self._lay_out()
        self._connect()
        self.resize(_SIZE.boundedTo(self.screen().availableSize()))
        self.table.sortByColumn(COLUMNS.index("name"), _ASCENDING)
        self._show_chosen()

    # Building ---------------------------------------------------------------------------------------------------------

    def _draw_glass(self) -> None:
        self._glass.setIcon(icon(self._theme, "magnifying-glass", "muted"))

    def _make_tools(self) -> None:
        self.search = QLineEdit(self)
        self.search.setObjectName("search")
        self.search.setPlaceholderText(self.tr("Filter by name, family, size, quantisation, state…"))
        self.search.setAccessibleName(self.tr("Filter the models"))
        self.search.setClearButtonEnabled(True)
        self._glass = self.search.addAction(
            icon(self._theme, "magnifying-glass", "muted"), QLineEdit.ActionPosition.LeadingPosition
        )
        self._theme.changed.connect(self._draw_glass)
        self.sorting = Picker(self.tr("Sort by"), self)
        self.sorting.fill([PickerLine(None, heading(column)) for column in COLUMNS], None, "")
        for place in range(len(COLUMNS)):
            self.sorting.setItemData(place, place, PATH_ROLE)
        self.sorting.setMinimumContentsLength(10)
        self.sort_label = QLabel(self.tr("Sort by"), self)
        self.sort_label.setObjectName("hint")
        self.sort_label.setBuddy(self.sorting)
        self.direction = icon_button(self._theme, "sort-ascending", self.tr("Reverse the order"), self)
        self.free = QLabel(self)
        self.free.setObjectName("hint")
        self.empty = QLabel(self)
        self.empty.setObjectName("hint")
        self.empty.setWordWrap(True)
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)

    def _make_buttons(self) -> None:
        self.target_button = QPushButton(self.tr("Use as target"), self)
        self.target_button.setObjectName("primary")
        self.draft_button = QPushButton(self.tr("Use as draft"), self)
        self.options_button = QPushButton(self.tr("Options…"), self)
        self.options_button.setToolTip(self.tr("Load options of this model: context, threads, GPU layers, cache type"))
        self.load_button = QPushButton(self.tr("Load"), self)
        self.close_button = QPushButton(self.tr("Close"), self)
        for button in (
            self.target_button,
            self.draft_button,
            self.options_button,
            self.load_button,
            self.close_button,
        ):
            button.setAutoDefault(False)
        self._copy = QAction(self.tr("Copy the path"), self)
        self._copy.triggered.connect(self.details.copy_path)

    def _lay_out(self) -> None:
        tools = in_row(wide(self.search), self.sort_label, self.sorting, self.direction, spacing=8)
        self.pages = QStackedWidget(self)
        self.pages.addWidget(self.table)
        self.pages.addWidget(self.empty)
        self._middle = in_row(wide(self.pages), self.details, spacing=16)
        buttons = FlowLayout()
        for button in (self.target_button, self.draft_button, self.load_button, self.options_button):
            buttons.addWidget(button)
        buttons.add_stretch()
        buttons.addWidget(self.close_button)
        in_column(
            self.folders,
            tools,
            self.narrowing,
            wide(self._middle),
            self.announcement,
            self.strip,
            buttons,
            margins=(16, 16, 16, 12),
            spacing=8,
            parent=self,
        )
        self._place_details()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Move the details below the table if there is no room beside it."""
        super().resizeEvent(event)
        self._place_details()

    def _place_details(self) -> None:
        wide_enough = self.width() >= _WIDE
        direction = QBoxLayout.Direction.LeftToRight if wide_enough else QBoxLayout.Direction.TopToBottom
        self._middle.setDirection(direction)
        self._middle.setSpacing(16 if wide_enough else 8)
        self.details.setMinimumWidth(_DETAILS if wide_enough else 0)
        self.details.setMaximumWidth(_DETAILS if wide_enough else 16_777_215)
        self.details.set_upright(wide_enough)

    def _connect(self) -> None:
        self.search.textChanged.connect(self._seek)
        self.search.returnPressed.connect(self.table.setFocus)
        self.table.typed.connect(self._type)
        self.table.wanted.connect(self._use_as_target)
        self.table.selectionModel().currentRowChanged.connect(lambda _now, _before: self._show_chosen())
        self.table.horizontalHeader().sortIndicatorChanged.connect(lambda _column, _order: self._show_sorting())
        self.sorting.chosen.connect(lambda place: self.table.sortByColumn(int(place), _ASCENDING))
        self.direction.clicked.connect(self._turn_round)
        self.narrowing.changed.connect(self._narrow)
        self.details.favourite_wanted.connect(self.favourite_wanted)
        self.target_button.clicked.connect(self._use_as_target)
        self.draft_button.clicked.connect(self._use_as_draft)
        self.options_button.clicked.connect(self._ask_options)
        self.load_button.clicked.connect(self._load_or_unload)
        self.close_button.clicked.connect(self.close)
        self.table.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self.table.addAction(self._copy)

    # Rendering --------------------------------------------------------------------------------------------------------

    def show_library(self, rows: Sequence[LibraryRow], folders: Sequence[Path], away: Iterable[Path]) -> None:
        """Show these models; the one that was chosen stays chosen."""
        kept = self.chosen
        self.model.show_rows(rows)
        self.narrowing.show_rows(rows)
        self.folders.show_folders(folders, away)
        free = next((row.free for row in rows if row.free), 0)
        self.free.setText(free_words(free))
        path = kept.path if kept is not None else next((row.path for row in rows if row.chosen), None)
        self._choose(path)
        self._show_page()
        self._show_chosen()

    def show_activity(self, activity: Activity) -> None:
        shown = activity.work in ("loading", "checking", "scanning")
        self._busy = activity.work in ("loading", "checking")
        self.strip.show_activity(activity if shown else Activity())
        self._show_chosen()

    @property
    def chosen(self) -> LibraryRow | None:
        return self.filter.row_at(self.table.currentIndex())

    def _choose(self, path: Path | None) -> None:
        place = self.model.place_of(path)
        index = self.filter.mapFromSource(self.model.index(place, 0)) if place >= 0 else QModelIndex()
        if not index.isValid() and self.filter.rowCount():
            index = self.filter.index(0, 0)
        if index.isValid() and index.row() != self.table.currentIndex().row():
            self.table.choose(index)

    def _show_chosen(self) -> None:
        row = self.chosen
        usable = row is not None and row.state in ("ok", "large")
        self.details.show_row(row)
        self.target_button.setEnabled(usable)
        self.draft_button.setEnabled(usable)
        self.options_button.setEnabled(usable)
        unload = row is not None and bool(row.loaded)
        self.load_button.setText(self.tr("Unload") if unload else self.tr("Load"))
        self.load_button.setEnabled(not self._busy and row is not None and bool(row.loaded or (row.chosen and usable)))
        self.load_button.setToolTip(self.tr("Free its memory") if unload else self.tr("Load the chosen models now"))
        self._copy.setEnabled(row is not None)

    def _show_page(self) -> None:
        if self.model.rowCount() == 0:
            self.empty.setText(
                self.tr("There are no models yet. Add a folder with GGUF models, or drop a model onto the window.")
            )
        else:
            subset = self.narrowing.narrowing.subset
            self.empty.setText(
                self.tr("No favourites yet. The star beside a model's name makes it one.")
                if subset == "favourites" and not any(row.favourite for row in self.model.rows)
                else self.tr("No model matches the filter.")
            )
        self.pages.setCurrentWidget(self.table if self.filter.rowCount() else self.empty)

    def _show_sorting(self) -> None:
        header = self.table.horizontalHeader()
        self.sorting.setCurrentIndex(header.sortIndicatorSection())
        up = header.sortIndicatorOrder() == _ASCENDING
        keep_icon(self.direction, self._theme, "sort-ascending" if up else "sort-descending")

    # Intents ----------------------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Open the library in front, with all its models: a filter of some time ago would hide them."""
        if self.isVisible():
            self.raise_()
        else:
            self.search.clear()
            self.narrowing.clear()
        self.shown.emit()
        self.show()
        self.activateWindow()
        self.table.setFocus()

    def _seek(self, text: str) -> None:
        kept = self.chosen
        self.filter.seek(text)
        self._after_filter(kept)

    def _narrow(self, narrowing: Narrowing) -> None:
        kept = self.chosen
        by_column = narrowing.subset != "recent"
        for control in (self.sorting, self.sort_label, self.table.horizontalHeader()):
            control.setEnabled(by_column)
        self.filter.narrow(narrowing)
        self._after_filter(kept)

    def _after_filter(self, kept: LibraryRow | None) -> None:
        self._choose(kept.path if kept is not None else None)
        self._show_page()
        self._show_chosen()

    def _type(self, text: str) -> None:
        self.search.setFocus()
        self.search.setText(self.search.text() + text)

    def _turn_round(self) -> None:
        header = self.table.horizontalHeader()
        down = header.sortIndicatorOrder() == _ASCENDING
        self.table.sortByColumn(header.sortIndicatorSection(), _DESCENDING if down else _ASCENDING)

    def _use_as_target(self) -> None:
        row = self.chosen
        if row is not None and self.target_button.isEnabled():
            self.target_wanted.emit(row.path)

    def _use_as_draft(self) -> None:
        row = self.chosen
        if row is not None:
            self.draft_wanted.emit(row.path)

    def _ask_options(self) -> None:
        row = self.chosen
        if row is not None:
            self.options_wanted.emit(row.path)

    def _load_or_unload(self) -> None:
        row = self.chosen
        if row is not None and row.loaded:
            self.unload_wanted.emit()
        else:
            self.load_wanted.emit()


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


_MOST_LINES = 3


class _Folders(QListWidget):
    """Show as many lines as there are, up to three. Signal: delete_pressed()."""

    delete_pressed = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Delete takes the chosen folder off the list."""
        if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.delete_pressed.emit()
        else:
            super().keyPressEvent(event)

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        lines = min(max(self.count(), 1), _MOST_LINES)
        row = self.sizeHintForRow(0) if self.count() else self.fontMetrics().height() + 6
        return QSize(200, lines * row + 12)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        return QSize(120, self.sizeHint().height())


class FolderList(QFrame):
    """Show the models folders. Signals: add_wanted(), remove_wanted(Path)."""

    add_wanted = Signal()
    remove_wanted = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.list = _Folders(self)
        self.list.setAccessibleName(self.tr("Model folders"))
        self.list.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.list.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.add_button = QPushButton(self.tr("Add folder…"), self)
        self.add_button.setAutoDefault(False)
        self.add_button.clicked.connect(self.add_wanted)
        self.remove_button = QPushButton(self.tr("Remove"), self)
        self.remove_button.setToolTip(self.tr("Remove the chosen folder from this list; its files are not deleted"))
        self.remove_button.setAutoDefault(False)
        self.remove_button.clicked.connect(self._remove)
        self.list.delete_pressed.connect(self._remove)
        self.list.currentRowChanged.connect(lambda _row: self._show_button())
        layout = in_row(spacing=8, margins=(0, 0, 0, 0), parent=self)
        layout.addWidget(self.list, 1, Qt.AlignmentFlag.AlignTop)
        for button in (self.add_button, self.remove_button):
            layout.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        self._shown: object = None
        self.show_folders((), ())

    def show_folders(self, folders: Sequence[Path], away: Iterable[Path]) -> None:
        """Show these; those that are not there at present say so."""
        gone = frozenset(away)
        if self._shown == (tuple(folders), gone):
            return
        self._shown = (tuple(folders), gone)
        kept = self._chosen()
        self.list.clear()
        for folder in folders:
            words = ltr(str(folder))
            if folder in gone:
                words = self.tr("{folder} · not available").format(folder=words)
            item = QListWidgetItem(words, self.list)
            item.setData(Qt.ItemDataRole.UserRole, folder)
            item.setToolTip(words)
            if folder == kept:
                self.list.setCurrentItem(item)
        if not folders:
            item = QListWidgetItem(self.tr("There is no folder yet. Add one with GGUF models."), self.list)
            item.setFlags(Qt.ItemFlag.NoItemFlags)
        self.list.updateGeometry()
        self._show_button()

    def _chosen(self) -> Path | None:
        folder = self.list.currentIndex().data(Qt.ItemDataRole.UserRole)
        return folder if isinstance(folder, Path) else None

    def _show_button(self) -> None:
        self.remove_button.setEnabled(self._chosen() is not None)

    def _remove(self) -> None:
        folder = self._chosen()
        if folder is not None:
            self.remove_wanted.emit(folder)
